"""``python -m thymus_bench.real FOLDER``: what the corpora of a folder give, and what was skipped for which reason."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from thymus import ThymusError
from thymus_bench.real import build


def main(arguments: list[str]) -> int:
    """Print the counts; 2 where there is nothing to count."""
    if len(arguments) != 1:
        print("usage: python -m thymus_bench.real FOLDER")
        return 2
    try:
        built = build(Path(arguments[0]))
    except ThymusError as error:
        print(error)
        return 2
    made = Counter((one.origin["dataset"], one.category, one.kind) for one in built.scenarios)
    for (corpus, category, kind), number in sorted(made.items()):
        print(f"{number:5}  {corpus}: {category}, {kind}")
    for corpus, skipped in built.skipped.items():
        for reason, number in skipped.most_common():
            if number:
                print(f"{number:5}  {corpus}: skipped: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
