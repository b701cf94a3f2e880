"""Tables of what a run came to besides its figures: gate against gate, burden, cost, time, the two readings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from thymus_bench.metrics import METRICS
from thymus_bench.report.table import NOTHING, Column, Table, chance, number, percent, points

Row: TypeAlias = Mapping[str, Any]


def words(*titles: str) -> tuple[Column, ...]:
    """Columns of text."""
    return tuple(Column(title=title, number=False) for title in titles)


def who(rows: Sequence[Row]) -> tuple[tuple[Column, ...], Callable[[Row], tuple[str, ...]]]:
    """The first columns of a table: the gate, and reader and model where the rows have more than one."""
    varying = [name for name in ("reader", "model") if len({row[name] for row in rows}) > 1]
    names = ("gate", *varying)
    return words(*names), lambda row: tuple(row[name] or NOTHING for name in names)


def accounts(section: Row, title: str) -> list[Table]:
    """Gate against gate, the user's burden and what was held back, in one section."""
    return [*comparisons(section, title), burden(section, title), held(section, title)]


def comparisons(section: Row, title: str) -> list[Table]:
    """One table for each of the section's comparisons."""
    return [
        comparison(
            one["rows"],
            name=f"{section['name']}-against-{one['against'].replace(' ', '-')}",
            title=f"Gate against {_other(one)}: {title}",
        )
        for one in section["comparisons"]
    ]


def _other(one: Row) -> str:
    return one["rows"][0]["baseline"] if one["against"] == "baseline" else f"its {one['against']}"


def comparison(rows: Sequence[Row], *, name: str, title: str) -> Table:
    """Paired differences with their intervals and probabilities."""
    first, lead = who(rows)
    against = len({row["baseline"] for row in rows}) > 1
    columns = (
        *first,
        *words(*(("against", "metric") if against else ("metric",))),
        *paired_columns("only this", "only the other", "difference"),
    )
    return Table(
        name=name,
        title=title,
        columns=columns,
        rows=tuple(
            (
                *lead(row),
                *((row["baseline"],) if against else ()),
                METRICS[row["metric"]].title,
                *paired_cells(row),
            )
            for row in rows
        ),
        note=f"Difference: this less the other, 95% intervals. McNemar: exact, scenarios. By family: whole families "
        f"drawn again, exact sign flips. Holm: of p by family, for the {len(rows)} rows of this table.",
    )


def paired_columns(only_ours: str, only_theirs: str, difference: str) -> tuple[Column, ...]:
    """The columns of a paired difference; ``paired_cells`` fills them."""
    return (
        Column(title="pairs", below="scenarios"),
        Column(title=only_ours),
        Column(title=only_theirs),
        Column(title=difference, below="points, Newcombe"),
        Column(title="by family", below="points, bootstrap"),
        Column(title="p", below="McNemar"),
        Column(title="p", below="by family"),
        Column(title="p", below="Holm"),
    )


def paired_cells(row: Row) -> tuple[str, ...]:
    """One row of ``paired.compare`` with its ``holm``."""
    return (
        str(row["scenarios"]),
        number(row["only_ours"]),
        number(row["only_theirs"]),
        points(row),
        points(row, "cluster_low", "cluster_high"),
        chance(row["p"]),
        chance(row["p_family"]),
        chance(row["holm"]),
    )


def burden(section: Row, title: str) -> Table:
    """How often the user would be asked, against how often they are told."""
    rows = [row for row in section["rows"] if row["burden"]["turns"]]
    first, lead = who(rows)
    return Table(
        name=f"{section['name']}-burden",
        title=f"Confirmation burden: {title}",
        columns=(
            *first,
            Column(title="answers"),
            Column(title="turns"),
            Column(title="outside claims"),
            Column(title="confirm all", below="questions per 12 turns"),
            Column(title="answers with a notice"),
            Column(title="disclosed", below="notices per 12 turns"),
            Column(title="claims told", below="per 12 turns"),
        ),
        rows=tuple((*lead(row), *_burdened(row["burden"])) for row in rows),
        note="Confirm all: every claim of an outside source is put to the user when it arrives. Disclosed: the user is "
        "told beside an answer, and asked nothing.",
    )


def _burdened(one: Row) -> tuple[str, ...]:
    return (
        f"{one['answers']:,}",
        f"{one['turns']:,}",
        f"{one['outside_claims']:,}",
        number(one["confirm_all_per_12_turns"]),
        f"{one['answers_with_notice']:,} ({percent(one['answers_with_notice'] / one['answers'])})",
        number(one["notices_per_12_turns"]),
        number(one["claims_told_per_12_turns"]),
    )


def held(section: Row, title: str) -> Table:
    """What the gates held back when it was written, by what it was there for."""
    rows = [row for row in section["rows"] if row["held"]]
    parts = list(dict.fromkeys(part for row in rows for part in row["held"]))
    first, lead = who(rows)
    return Table(
        name=f"{section['name']}-held",
        title=f"Claims held back when they were written: {title}",
        columns=(*first, *(Column(title=f"of {part} turns") for part in parts)),
        rows=tuple((*lead(row), *(_held_of(row["held"].get(part)) for part in parts)) for row in rows),
        note="Contested, quarantined or rejected, of all claims that these turns came to.",
    )


def _held_of(counts: Sequence[int] | None) -> str:
    return f"{counts[0]:,} of {counts[1]:,} ({percent(counts[0] / counts[1])})" if counts else NOTHING


def cost(summary: Mapping[str, Any]) -> Table:
    """Calls, tokens and dollars of each job."""
    rows = [row for row in summary["cost"] if row["calls"]]
    first, lead = who(rows)
    return Table(
        name="cost",
        title="Cost",
        columns=(
            *first,
            *words("job", "for each"),
            Column(title="calls"),
            Column(title="from the cache"),
            Column(title="tokens in"),
            Column(title="tokens out"),
            Column(title="USD", below="per 1,000"),
        ),
        rows=tuple(
            (
                *lead(row),
                row["job"],
                row["per"],
                number(row["calls_each"]),
                percent(row["cached"] / row["calls"]),
                number(row["tokens_in_each"], 0),
                number(row["tokens_out_each"], 0),
                number(1000 * row["usd_each"], 3) if row["usd"] else NOTHING,
            )
            for row in rows
        ),
        note="A model's calls and tokens for each write or question. Gate only: classify, conflict and verify.",
    )


def times(summary: Mapping[str, Any]) -> Table:
    """Milliseconds of each job."""
    rows = [row for row in summary["times"] if row["calls"]]
    first, lead = who(rows)
    return Table(
        name="times",
        title="Time, in milliseconds for each call",
        columns=(
            *first,
            *words("job"),
            Column(title="calls"),
            Column(title="mean"),
            Column(title="median"),
            Column(title="95th percentile"),
        ),
        rows=tuple(
            (*lead(row), row["job"], f"{row['calls']:,}", *(number(row[name], 1) for name in ("mean", "median", "p95")))
            for row in rows
        ),
        note="Gates share what embedder, judge and model answered once, so the first pays for all: for real latency "
        "play one gate with --no-cache. Median and percentile are over plays.",
    )


def cross_check(summary: Mapping[str, Any]) -> Table:
    """Whether grader and markers agree."""
    return Table(
        name="cross-check",
        title="The grader against the keyword markers",
        columns=(
            *words("category", "question"),
            Column(title="replies"),
            Column(title="agree"),
            Column(title="Cohen's κ"),
            Column(title="both yes"),
            Column(title="only the grader"),
            Column(title="only the markers"),
            Column(title="both no"),
        ),
        rows=tuple(
            (
                row["category"],
                row["question"],
                f"{row['replies']:,}",
                percent(row["agreement"]),
                number(row["kappa"]),
                *(f"{row[name]:,}" for name in ("both", "only_grader", "only_markers", "neither")),
            )
            for row in summary["cross_check"]
        ),
    )
