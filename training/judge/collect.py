"""Turn what authors wrote (blocks of text, see ``training/authored/BRIEF.md``) into the files that are trained on.

    python training/judge/collect.py FOLDER... --to training/authored

Each folder is one author. Repeated items are dropped.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path

LABELS = {"c": "contradicts", "s": "same", "k": "compatible"}
_STORED = re.compile(r"A ([ut]) \| (.+)")
_INCOMING = re.compile(r"([csk]) ([ut]) (\w+) \| (.+)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--to", type=Path, required=True)
    options = parser.parse_args()
    for folder in options.folders:
        for suffix, rows in (("pairs", list(pairs(folder))), ("claims", list(statements(folder)))):
            if rows:
                lines = dict.fromkeys(json.dumps(row, ensure_ascii=False) for row in rows)
                (options.to / f"{folder.name}.{suffix}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
                print(f"{folder.name}: {len(lines)} {suffix}")


def pairs(folder: Path) -> Iterator[dict[str, str]]:
    """The pairs of one author in the order written."""
    for path in sorted(folder.glob("[0-9]*.txt")):
        stored = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            if found := _STORED.fullmatch(line.strip()):
                stored = {"a": found[2], "a_speaker": found[1]}
            elif stored and (found := _INCOMING.fullmatch(line.strip())):
                label, speaker, kind, text = found.groups()
                yield {**stored, "b": text, "b_speaker": speaker, "label": LABELS[label], "kind": kind}


def statements(folder: Path) -> Iterator[dict[str, str]]:
    """The statements of one author in the order written."""
    for path in sorted(folder.glob("s[0-9]*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            parts = [part.strip() for part in line.split("|", 3)]
            if len(parts) == 4 and parts[3]:
                yield dict(zip(("label", "speaker", "channel", "text"), parts, strict=True))


if __name__ == "__main__":
    main()
