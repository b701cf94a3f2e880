"""One side against another on the same scenarios: what differs, by how much, and how surely.

A pair is one play of each side of the same scenario and repeat by the same reader and model. Repeats of a scenario are
averaged (each scenario counts once) and families are clusters, so nothing is taken for independent that is not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from thymus_bench.outcomes import Outcome
from thymus_bench.stats import SEED, cluster_bootstrap, holm, mcnemar_exact, newcombe_paired, sign_flip

Counts: TypeAlias = Callable[[Outcome], tuple[int, int]]
"""Of one play: hits, and out of how many (``metrics.Metric.count``)."""
Pair: TypeAlias = tuple[Outcome, Outcome]
Group: TypeAlias = tuple[str, str, str]
"""Reader, model and gate."""


def pairs(
    ours: Iterable[Outcome], theirs: Iterable[Outcome], *, by: Callable[[Outcome], Hashable] | None = None
) -> list[Pair]:
    """The plays that both sides have, in the order of scenarios.

    :param by: what makes two plays a pair; by default the scenario, the repeat, the reader and the model.
    """
    key = by or (lambda one: (one.scenario, one.repeat, one.reader, one.model))
    others = {key(one): one for one in theirs if not one.error}
    found = [(one, others[key(one)]) for one in ours if not one.error and key(one) in others]
    return sorted(found, key=lambda pair: (pair[0].scenario, pair[0].repeat, pair[0].reader, pair[0].model))


def compare(couples: Sequence[Pair], count: Counts, *, seed: int = SEED) -> dict[str, Any] | None:
    """How the sides differ in one yes-or-no metric; ``None`` where no pair bears on it.

    ``both`` … ``neither`` are scenarios (repeats averaged); ``low``, ``high`` bound the difference (ours less theirs)
    by Newcombe's method 10 for pairs, ``cluster_low``, ``cluster_high`` by a seeded bootstrap over families; ``p`` is
    McNemar's exact test over scenarios (of a scenario with repeats, which side has more), ``p_family`` the exact
    sign-flip test over families.
    """
    scenarios: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    family: dict[str, str] = {}
    for ours, theirs in couples:
        (hit, of), (other, _) = count(ours), count(theirs)
        if of:
            scenarios[ours.scenario].append((hit, other))
            family[ours.scenario] = ours.family
    if not scenarios:
        return None
    cells: defaultdict[tuple[int, int], float] = defaultdict(float)
    for played in scenarios.values():
        for cell in played:
            cells[cell] += 1 / len(played)
    nets = {name: sum(hit - other for hit, other in played) for name, played in scenarios.items()}
    families: defaultdict[str, int] = defaultdict(int)
    totals: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for name, net in nets.items():
        families[family[name]] += net
        totals[family[name]][0] += net / len(scenarios[name])
        totals[family[name]][1] += 1
    square = [cells[cell] for cell in ((1, 1), (1, 0), (0, 1), (0, 0))]
    bounds = cluster_bootstrap(list(totals.values()), lambda sums: sums[:, 0] / sums[:, 1], seed=seed)
    low, high = newcombe_paired(*square)
    return {
        "scenarios": len(scenarios),
        "families": len(families),
        **dict(zip(("both", "only_ours", "only_theirs", "neither"), map(short, square), strict=True)),
        "difference": short((square[1] - square[2]) / len(scenarios)),
        "low": short(low),
        "high": short(high),
        "cluster_low": short(bounds[0]) if bounds else None,
        "cluster_high": short(bounds[1]) if bounds else None,
        "p": short(mcnemar_exact(sum(net > 0 for net in nets.values()), sum(net < 0 for net in nets.values()))),
        "p_family": short(sign_flip(families.values())),
    }


def short(value: float) -> float:
    """Six significant digits: what a file keeps of a figure, the same on every machine."""
    return float(f"{value:.6g}")


def named(group: Group) -> dict[str, str]:
    """The names of a group's reader, model and gate, as a summary has them."""
    return dict(zip(("reader", "model", "gate"), group, strict=True))


def against(
    groups: Mapping[Group, Sequence[Outcome]],
    metrics: Mapping[str, Counts],
    before: Mapping[str, Callable[[str], str]],
    *,
    seed: int = SEED,
) -> list[dict[str, Any]]:
    """Every gate against another by the same reader and model; one table for each entry of ``before``.

    :param before: by title, which gate a gate is compared with; ``""`` for none.
    """
    found = []
    for title, other_of in before.items():
        rows: list[dict[str, Any]] = []
        for (reader, model, gate), outcomes in groups.items():
            other = (reader, model, other_of(gate))
            if other in groups and other[2] != gate:
                couples = pairs(outcomes, groups[other])
                compared = {name: compare(couples, count, seed=seed) for name, count in metrics.items()}
                names = {**named((reader, model, gate)), "baseline": other[2]}
                rows += [{**names, "metric": name, **row} for name, row in compared.items() if row]
        if rows:
            found.append({"against": title, "rows": adjust(rows)})
    return found


def adjust(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of one table with ``holm``: their ``p_family``, adjusted for how many rows the table has."""
    listed = [dict(row) for row in rows]
    for row, chance in zip(listed, holm([row["p_family"] for row in listed]), strict=True):
        row["holm"] = short(chance)
    return listed
