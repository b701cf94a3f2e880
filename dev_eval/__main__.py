"""Print the figures of the judges, the embedders and the gates on labelled data. Nothing here is tuned on it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from dev_eval import claims, families, pairs, recall
from dev_eval.figures import DataMissingError, Part, Sheet

DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "dev"
EXIT_NO_DATA = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for; returns the exit code."""
    options = _options(arguments)
    console = Console()
    parts: dict[str, Callable[[], Part]] = {
        "pairs": lambda: pairs.measure(options.data),
        "claims": lambda: claims.measure(options.data),
        "recall": lambda: recall.measure(options.data),
        "families": lambda: families.measure(options.data, options.gate or ["thymus-v3"]),
    }
    figures = {}
    try:
        for name in options.part or parts:
            found = parts[name]()
            figures[name] = found.figures
            _show(console, found, verbose=options.verbose)
    except DataMissingError as error:
        print(f"dev-eval: {error}", file=sys.stderr)
        return EXIT_NO_DATA
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m dev_eval", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the labelled data (default: %(default)s)")
    parser.add_argument("--part", action="append", choices=("pairs", "claims", "recall", "families"), help="only this")
    parser.add_argument("--gate", action="append", help="a gate to play the families under (default: thymus-v3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file, too")
    parser.add_argument("--verbose", action="store_true", help="list what went wrong, with its texts")
    return parser.parse_args(arguments)


def _show(console: Console, part: Part, *, verbose: bool) -> None:
    for sheet in part.sheets:
        console.print(_table(sheet))
    if verbose:
        for miss in part.misses:
            console.print(miss, markup=False, highlight=False)


def _table(sheet: Sheet) -> Table:
    table = Table(title=sheet.title, title_justify="left")
    for place, column in enumerate(sheet.columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    for row in sheet.rows:
        table.add_row(*row)
    return table


if __name__ == "__main__":
    sys.exit(main())
