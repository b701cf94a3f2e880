"""The tables of a summary, in the order in which a reader wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from thymus_bench.metrics import MAIN, METRICS
from thymus_bench.report import accounts
from thymus_bench.report.accounts import Row, who, words
from thymus_bench.report.table import NOTHING, Cell, Column, Share, Table, counted, points

BREAKDOWNS: Final = ("kind", "domain", "suite")
_ATTACKS: Final = ("attack_stored", "attack_retrieved", "attack_success", "attack_flagged", "old_kept")
_UPDATES: Final = ("update_accuracy", "update_told", "stale", "beside", "benign_accuracy", "over_disclosure")
ARROWS: Final = {"lower": " ↓", "higher": " ↑", "": ""}
_SHARES: Final = "Percent with the 95% Wilson interval."
_MOST_ACROSS: Final = 6
"""Values that stand side by side; more of them stand below each other, with the gates side by side."""


def tables(
    summary: Mapping[str, Any], by: Sequence[str] = BREAKDOWNS, *, cost: bool = True, whole: bool = True
) -> list[Table]:
    """All tables of a summary that have a row.

    :param by: what to break the main metrics down by: ``kind``, ``domain``, ``suite``.
    :param cost: whether to tell calls, tokens and time.
    :param whole: whether to compare gates, and tell the user's burden, in every section or in the first alone.
    """
    found: list[Table] = []
    for section in summary["sections"]:
        title = _title(section)
        told = whole or section is summary["sections"][0]
        found += [
            _figures(section, _ATTACKS, "attacks", f"Attacks: {title}"),
            _figures(section, _UPDATES, "updates", f"Updates and plain facts: {title}", trade_off=True),
            *(table for part in by for table in _breakdown(section, part, title)),
            *(accounts.accounts(section, title) if told else ()),
        ]
    if cost:
        found += [accounts.cost(summary), accounts.times(summary)]
    found.append(accounts.cross_check(summary))
    return [table for table in found if table.rows]


def notes(summary: Mapping[str, Any]) -> list[str]:
    """What is to be known before reading the tables, a sentence or two each."""
    errors = summary["errors"]
    told = [
        f"{summary['plays']:,} plays of {summary['scenarios']:,} scenarios in {summary['families']:,} families.",
        f"Gates: {', '.join(summary['gates'])}.",
    ]
    if errors["count"]:
        why = "; ".join(f"{reason} ({times})" for reason, times in errors["by"].items())
        told.append(f"Failed, and in no table: {errors['count']:,} of the plays: {why}.")
    if summary["repeats"] > 1:
        told.append(f"Scenarios were played up to {summary['repeats']} times; repeats count as one in every interval.")
    return told


def legend() -> Table:
    """What each metric means."""
    return Table(
        name="metrics",
        title="What is counted",
        columns=words("metric", "meaning", "better"),
        rows=tuple((one.title, one.says, one.better or NOTHING) for one in METRICS.values()),
    )


def _title(section: Row) -> str:
    return " and ".join(section["suites"])


def _figures(section: Row, names: Iterable[str], name: str, title: str, *, trade_off: bool = False) -> Table:
    rows = section["rows"]
    used = [one for one in names if any(one in row["figures"] for row in rows)]
    balanced = trade_off and any(row["trade_off"] for row in rows)
    first, lead = who(rows)
    shown = [row["figures"] for row in rows]
    columns = [_column(one, METRICS[one].title + ARROWS[METRICS[one].better], shown) for one in used]
    extra = (Column(title="trade-off ↑", below="points"),) if balanced else ()
    return Table(
        name=f"{section['name']}-{name}",
        title=title,
        columns=(*first, *(column for column, _ in columns), *extra),
        rows=tuple(
            (*lead(row), *(cell(row["figures"]) for _, cell in columns), *(_balance(row) for _ in extra))
            for row in rows
            if used
        ),
        note=_SHARES
        + (" n = 10 in 5: ten of them, in five scenarios." if any(" in " in one.below for one, _ in columns) else "")
        + (" Trade-off: update in the reply less attack success, resampled by family." if balanced else ""),
    )


def _balance(row: Row) -> str:
    return points(row["trade_off"], middle="value") if row["trade_off"] else NOTHING


def _column(
    name: str, title: str, among: Iterable[Mapping[str, Row]]
) -> tuple[Column, Callable[[Mapping[str, Row]], Cell]]:
    """A column of shares: it says of how many where all cells agree, each cell does where not."""
    sizes = {counted(figures[name]) for figures in among if name in figures}
    same = len(sizes) == 1

    def cell(figures: Mapping[str, Row]) -> Cell:
        return Share.of_figure(figures[name], tell=not same) if name in figures else NOTHING

    return Column(title=title, below=f"n = {sizes.pop()}" if same else ""), cell


def _breakdown(section: Row, part: str, title: str) -> list[Table]:
    found = []
    for name in MAIN:
        rows = [row for row in section["by"][part] if name in row["figures"]]
        values = sorted({row["value"] for row in rows})
        if len(values) < 2:
            continue
        cells = {(_key(row), row["value"]): row["figures"] for row in rows}
        groups = [row for row in section["rows"] if any((_key(row), value) in cells for value in values)]
        first, lead = who(groups)
        grid = [[cells.get((_key(row), value), {}) for value in values] for row in groups]
        leads, heads = [lead(row) for row in groups], values
        if len(values) > max(_MOST_ACROSS, len(groups)):
            first, grid = words(part), [list(line) for line in zip(*grid, strict=True)]
            leads, heads = [(value,) for value in values], [" ".join(one) for one in leads]
        columns = [_column(name, head, line) for head, line in zip(heads, zip(*grid, strict=True), strict=True)]
        metric = METRICS[name]
        found.append(
            Table(
                name=f"{section['name']}-{name}-by-{part}".replace("_", "-"),
                title=f"{metric.title.capitalize()}{ARROWS[metric.better]} by {part}: {title}",
                columns=(*first, *(column for column, _ in columns)),
                rows=tuple(
                    (*names, *(cell(one) for (_, cell), one in zip(columns, line, strict=True)))
                    for names, line in zip(leads, grid, strict=True)
                ),
                note=_SHARES,
            )
        )
    return found


def _key(row: Row) -> tuple[str, ...]:
    return row["reader"], row["model"], row["gate"]
