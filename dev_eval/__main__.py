"""Print the figures of the judges, the embedders and the gates on labelled data. Nothing here is tuned on it."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dev_eval import (
    attacks,
    claims,
    cost,
    curve,
    families,
    hazards,
    heldout,
    pairs,
    public,
    recall,
    robustness,
    sketches,
    stakes,
    worlds,
)
from dev_eval.figures import DataMissingError, Part, Sheet
from dev_eval.labelled import Pair, read_pairs

DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "dev"
EXIT_NO_DATA = 2
JUDGES = ("local", "typed")
PARTS = (
    "pairs", "claims", "heldout", "robustness", "cost", "recall", "families", "worlds", "attacks", "curve", "hazards",
    "stakes", "public", "sketches",
)  # fmt: skip
ASKED_ONLY = ("hazards", "stakes", "public", "sketches")
"""Parts that take a minute or two; most read the public sets. They are measured with ``--public`` or by name."""
_WIDE = 120  # columns, where nobody says how wide a line may be


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for; returns the exit code."""
    options = _options(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # the texts are of many scripts
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDE)
    parts = _parts(options)
    figures = {}
    for name in options.part or [name for name in PARTS if options.public or name not in ASKED_ONLY]:
        try:
            found = parts[name]()
        except DataMissingError as error:
            print(f"dev-eval: {name}: {error}", file=sys.stderr)
            continue
        figures[name] = found.figures
        _show(console, found, verbose=options.verbose)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0 if figures else EXIT_NO_DATA


def _parts(options: argparse.Namespace) -> dict[str, Callable[[], Part]]:
    judges = list(dict.fromkeys([*JUDGES, *options.judge]))
    held, root = options.heldout, options.data.parent
    return {
        "pairs": lambda: pairs.measure(options.data, judges),
        "claims": lambda: claims.measure(options.data, judges),
        "heldout": lambda: heldout.measure(held, judges),
        "robustness": lambda: robustness.measure(_all_pairs(options), judges[:1], most=options.changed),
        "cost": lambda: cost.measure(_all_pairs(options), judges),
        "recall": lambda: recall.measure(options.data),
        "families": lambda: families.measure(options.data, options.gate or families.GATES),
        "sketches": sketches.measure,
        "worlds": lambda: worlds.measure(options.gate or families.GATES),
        "attacks": lambda: attacks.measure(options.gate or ()),
        "curve": curve.measure,
        "hazards": lambda: hazards.measure(root),
        "stakes": lambda: stakes.measure(root),
        "public": lambda: public.measure(root / "public", judges),
    }


def _all_pairs(options: argparse.Namespace) -> list[Pair]:
    try:
        dev = read_pairs(options.data, "pairs.jsonl")
    except DataMissingError:
        dev = []
    return dev + heldout.held_pairs(options.heldout)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m dev_eval", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the labelled data (default: %(default)s)")
    parser.add_argument(
        "--heldout", type=Path, default=heldout.FOLDER, help="folder of the held-out authors (default: %(default)s)"
    )
    parser.add_argument("--part", action="append", choices=PARTS, help="only this; may be repeated")
    parser.add_argument("--public", action="store_true", help="also the public sets beside the labelled data")
    parser.add_argument("--judge", action="append", default=[], help="one more judge, by name; may be repeated")
    parser.add_argument(
        "--changed", type=int, default=robustness.PAIRS, help="pairs changed by robustness (default: %(default)s)"
    )
    parser.add_argument(
        "--gate", action="append", help="a gate to play families (default: v3 and v4) and attacks (default: all) under"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file, too")
    parser.add_argument("--verbose", action="store_true", help="list everything that went wrong, with its texts")
    return parser.parse_args(arguments)


def _show(console: Console, part: Part, *, verbose: bool) -> None:
    for sheet in part.sheets:
        console.print(Text(f"\n{sheet.title}", style="bold"))
        if sheet.rows:
            console.print(_table(sheet))
    for note in part.notes:
        console.print(note, markup=False, highlight=False)
    if verbose:
        for miss in part.misses:
            console.print(miss, markup=False, highlight=False)


def _table(sheet: Sheet) -> Table:
    table = Table()
    texts = any("\n" in cell for row in sheet.rows for cell in row)
    for place, column in enumerate(sheet.columns):
        table.add_column(column, justify="left" if texts or place == 0 else "right", overflow="fold")
    for row in sheet.rows:
        table.add_row(*map(Text, row), end_section=texts)  # a text is data: its brackets are no markup
    return table


if __name__ == "__main__":
    sys.exit(main())
