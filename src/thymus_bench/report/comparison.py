"""Two runs side by side: paired where they share scenarios, independent where they do not, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thymus_bench.metrics import MAIN, METRICS, by_group, figure
from thymus_bench.outcomes import Outcome
from thymus_bench.paired import Group, Pair, adjust, compare, pairs, short
from thymus_bench.report.accounts import paired_cells, paired_columns, words
from thymus_bench.report.runs import ReportError, Run
from thymus_bench.report.table import NOTHING, Column, Share, Table, points
from thymus_bench.scenarios import Category
from thymus_bench.stats import newcombe_unpaired


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A group of the first run and the group of the second that it is compared with."""

    title: str
    first: list[Outcome]
    second: list[Outcome]

    def pairs(self) -> list[Pair]:
        """The plays of the same scenario and repeat."""
        return pairs(self.first, self.second, by=_place)


def _place(one: Outcome) -> Hashable:
    return one.scenario, one.repeat


def matches(first: Run, second: Run) -> list[Match]:
    """Groups of the same gate, reader and model; where two runs have one reader and model each, those of the same gate;
    where they have one group each, these.

    :raises ReportError: where nothing fits.
    """
    ours, theirs = by_group(first.outcomes), by_group(second.outcomes)
    for key in (_whole, _gate, _nothing):
        left, right = _keyed(ours, key), _keyed(theirs, key)
        if left is None or right is None:
            continue
        if found := [
            Match(title=_title(left[name], right[name]), first=ours[left[name]], second=theirs[right[name]])
            for name in left
            if name in right
        ]:
            return found
    raise ReportError(
        "the runs have no gate, reader and model in common: compare runs that differ in one of them, or in the version"
    )


def _whole(group: Group) -> Hashable:
    return group


def _gate(group: Group) -> Hashable:
    return group[2]


def _nothing(_: Group) -> Hashable:
    return ""


def _keyed(groups: Mapping[Group, Any], key: Callable[[Group], Hashable]) -> dict[Hashable, Group] | None:
    """The groups by what is to be alike; ``None`` where that does not tell them apart."""
    found = {key(group): group for group in groups}
    return found if len(found) == len(groups) else None


def _title(one: Group, other: Group) -> str:
    if one == other or one[2] == other[2]:
        return one[2]
    return f"{one[2]} / {other[2]}"


def rows(match: Match) -> list[dict[str, Any]]:
    """The main metrics of both sides and their difference (first less second)."""
    found: list[dict[str, Any]] = []
    couples = match.pairs()
    for name in MAIN:
        metric = METRICS[name]
        paired = compare(couples, metric.count)
        sides = ([one for one, _ in couples], [one for _, one in couples]) if paired else (match.first, match.second)
        first, second = (figure([one for one in side if not one.error], metric) for side in sides)
        if not first["n"] or not second["n"]:
            continue
        found.append(
            {
                "title": match.title,
                "metric": name,
                "first": first,
                "second": second,
                "paired": paired is not None,
                **(paired or _independent(first, second)),
            }
        )
    return found


def _independent(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """By Newcombe's method 10 for independent shares; scenarios, not repeats, are counted."""
    one, other = first["share"], second["share"]
    low, high = newcombe_unpaired(
        one * first["scenarios"], first["scenarios"], other * second["scenarios"], second["scenarios"]
    )
    return {"difference": short(one - other), "low": short(low), "high": short(high)}


def state(one: Outcome) -> str:
    """What became of a play's target, in a word or two."""
    if one.adopted:
        return "in the reply" if one.category != Category.ATTACK else "adopted"
    return "in the notice" if one.disclosed else "not told"


def differing(match: Match) -> list[tuple[Outcome, Outcome]]:
    """The pairs that did not come to the same."""
    return [(one, other) for one, other in match.pairs() if state(one) != state(other)]


def comparison_tables(first: Run, second: Run, *, most: int | None = None) -> list[Table]:
    """The figures of both runs, and the scenarios that differ.

    :param most: how many scenarios to list; all by default.
    :raises ReportError: where the runs have nothing in common.
    """
    found = matches(first, second)
    lines = [row for match in found for row in rows(match)]
    paired = iter(adjust([row for row in lines if row["paired"]]))
    lines = [next(paired) if row["paired"] else row for row in lines]
    return [_figures(lines), _differences(found, most)]


def _figures(lines: Sequence[Mapping[str, Any]]) -> Table:
    shared = sum(row["paired"] for row in lines)
    return Table(
        name="compare",
        title="A against B",
        columns=(
            *words("gate", "metric"),
            Column(title="A"),
            Column(title="B"),
            *paired_columns("only A", "only B", "A less B"),
        ),
        rows=tuple(
            (
                row["title"],
                METRICS[row["metric"]].title,
                Share.of_figure(row["first"], tell=True),
                Share.of_figure(row["second"], tell=True),
                *(paired_cells(row) if row["paired"] else (NOTHING, NOTHING, NOTHING, points(row), *[NOTHING] * 4)),
            )
            for row in lines
        ),
        note="Pairs are plays of the same scenario and repeat; a row without any compares independent plays, by "
        f"Newcombe's method 10 for these. Holm: of p by family, for the {shared} paired rows.",
    )


def _differences(found: Sequence[Match], most: int | None) -> Table:
    listed = [(match.title, one, other) for match in found for one, other in differing(match)]
    cut = listed if most is None else listed[:most]
    repeated = any(one.repeat for _, one, _ in listed)
    left = f" {len(listed) - len(cut)} more: --all lists them." if len(cut) < len(listed) else ""
    return Table(
        name="differences",
        title=f"{len(listed)} plays that differ",
        columns=(*words("scenario", *(("repeat",) if repeated else ()), "gate", "category", "kind", "A", "B"),),
        rows=tuple(
            (
                one.scenario,
                *((str(one.repeat),) if repeated else ()),
                title,
                one.category,
                one.kind,
                state(one),
                state(other),
            )
            for title, one, other in cut
        ),
        note=f"What became of the value that a scenario is about.{left}",
    )
