"""``python -m thymus_bench FILE …``: whether files of scenarios can be used."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from thymus_bench.scenarios import ScenarioError, read_file

if __name__ == "__main__":
    failed = False
    for name in sys.argv[1:]:
        try:
            found = read_file(Path(name), suite="checked")
        except ScenarioError as error:
            failed = True
            print(f"refused  {error}")
        else:
            kinds = Counter(f"{one.category}/{one.kind}" for one in found)
            print(f"ok       {name}: {len(found)} scenarios: {', '.join(f'{k} {n}' for k, n in sorted(kinds.items()))}")
    sys.exit(failed)
