"""What a run found, as tables, figures and a page: ``thymus-report``, and what the engine writes beside its results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from thymus_bench.metrics import summarise
from thymus_bench.report import render
from thymus_bench.report.table import Table
from thymus_bench.report.tables import BREAKDOWNS, legend, notes, tables
from thymus_bench.stats import SEED

if TYPE_CHECKING:
    from rich.console import Console

    from thymus_bench.outcomes import Outcome

__all__ = ["BREAKDOWNS", "Table", "legend", "notes", "print_summary", "summarise", "summary_markdown", "tables"]


def summary_markdown(summary: Mapping[str, Any], by: Iterable[str] = BREAKDOWNS) -> str:
    """``summary.md``: all tables of a summary, without times, so that two runs of the same thing can be compared."""
    shown = [*tables({**summary, "times": []}, tuple(by)), legend()]
    told = "\n".join(f"- {render.escape_markdown(note)}" for note in notes(summary))
    return f"# Thymus benchmark\n\n{told}\n\n" + "\n".join(render.markdown(table) for table in shown)


def print_summary(outcomes: Iterable[Outcome], console: Console, *, cost: bool = False, seed: int = SEED) -> None:
    """The tables of a run on a terminal, those by domain and suite left to ``thymus-report``."""
    print_tables(summarise(outcomes, seed=seed), console, by=("kind",), cost=cost)


def print_tables(
    summary: Mapping[str, Any], console: Console, *, by: Iterable[str] = ("kind",), cost: bool = True
) -> None:
    """The notes and tables of a summary on a terminal."""
    from rich.text import Text

    for note in notes(summary):
        console.print(Text(render.plain(note)))
    for table in tables(summary, tuple(by), cost=cost, whole=False):
        console.print()
        console.print(render.terminal(table))
