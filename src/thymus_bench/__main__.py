"""``python -m thymus_bench FILE …``: whether files of scenarios can be used."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from thymus_bench.ending import printable
from thymus_bench.scenarios import ScenarioError, read_file

if __name__ == "__main__":
    failed = False
    for name in sys.argv[1:]:
        try:
            found = read_file(Path(name), suite="checked")
        except ScenarioError as error:
            failed = True
            print(printable(f"refused  {error}"))
        else:
            kinds = Counter(f"{one.category}/{one.kind}" for one in found)
            told = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
            print(printable(f"ok       {name}: {len(found)} scenarios: {told}"))
    sys.exit(failed)
