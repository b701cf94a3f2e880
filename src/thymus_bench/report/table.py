"""A table as data: written once, shown on a terminal, in Markdown, in LaTeX and in HTML (``report.render``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

NOTHING = "–"
"""The cell of what was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share with its 95% interval; ``of`` stands in the cell where a column's shares are not all of the same number.

    :param share: between 0 and 1.
    """

    share: float
    low: float
    high: float
    of: str = ""

    @classmethod
    def of_figure(cls, figure: Mapping[str, Any], *, tell: bool = False) -> Self:
        """From a figure of a summary.

        :param tell: whether the cell says of how many.
        """
        return cls(share=figure["share"], low=figure["low"], high=figure["high"], of=counted(figure) if tell else "")

    def __str__(self) -> str:
        told = f"{percent(self.share)} [{bound(self.low)}, {bound(self.high)}]"
        return f"{told} of {self.of}" if self.of else told


Cell: TypeAlias = str | Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its heading, what stands smaller below it (``n = 85``), and whether it holds numbers."""

    title: str
    below: str = ""
    number: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table.

    :param name: a short name without spaces, for links and labels.
    :param note: what is to be known to read it, in a sentence or two.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


def percent(share: float) -> str:
    """``12%``; what is neither nothing nor everything is never shown as that."""
    if 0 < share < 0.005:
        return "<1%"
    if 0.995 <= share < 1:
        return ">99%"
    return f"{share:.0%}"


def bound(share: float) -> str:
    """A bound of an interval, in percent without the sign."""
    return f"{100 * share:.0f}"


def counted(figure: Mapping[str, Any]) -> str:
    """Of how many: ``85``, or ``255 in 85`` where scenarios were repeated."""
    n, scenarios = figure["n"], figure["scenarios"]
    return f"{n}" if n == scenarios else f"{n} in {scenarios}"


def points(row: Mapping[str, Any], low: str = "low", high: str = "high", middle: str = "difference") -> str:
    """A difference in percentage points with its interval: ``−38 [−48, −27]``."""
    if row[low] is None:
        return f"{signed(row[middle])}"
    return f"{signed(row[middle])} [{signed(row[low])}, {signed(row[high])}]"


def signed(share: float) -> str:
    """In percentage points, with a true minus sign."""
    return f"{100 * share:+.0f}".replace("-", "−").replace("+0", "0").replace("−0", "0")


def chance(p: float) -> str:
    """A probability: ``0.031``, or ``<0.001``."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def number(value: float | None, places: int = 2) -> str:
    """A number with thousands separated, or a dash."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.{places}f}"
