"""Statistics of shares: intervals, paired tests, clusters, agreement. Standard library and numpy only.

Every function names the paper behind it. Counts may be fractional where they are means over repeats. Nothing measured
is never an error: it gives the widest interval, and no difference gives a probability of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import NormalDist
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Z: Final = NormalDist().inv_cdf(0.975)
"""How many standard errors reach to either side of a 95% interval."""
SEED: Final = 7
RESAMPLES: Final = 10_000

Interval: TypeAlias = tuple[float, float]
Columns: TypeAlias = NDArray[np.float64]
"""One row a resample, one column a total."""


def wilson(hits: float, of: float) -> Interval:
    """The 95% score interval of a share (Wilson 1927); nothing measured gives the whole range."""
    if not of:
        return 0.0, 1.0
    share = hits / of
    middle, spread = share + Z * Z / (2 * of), Z * math.sqrt(share * (1 - share) / of + Z * Z / (4 * of * of))
    low, high = (middle - spread) / (1 + Z * Z / of), (middle + spread) / (1 + Z * Z / of)
    return 0.0 if hits <= 0 else max(0.0, low), 1.0 if hits >= of else min(1.0, high)


def share(hits: int, of: int) -> str:
    """A share with its Wilson interval, as a cell of a table: ``3 of 12 [9%, 53%]``."""
    low, high = wilson(hits, of)
    return f"{hits} of {of} [{low:.0%}, {high:.0%}]"


def newcombe_unpaired(hits: float, of: float, other_hits: float, other_of: float) -> Interval:
    """The 95% interval of the difference of two independent shares, the first less the second.

    Hybrid score interval without continuity correction: Newcombe 1998, *Statistics in Medicine* 17:873-890 (paper II),
    method 10.
    """
    if not of or not other_of:
        return -1.0, 1.0
    first, second = hits / of, other_hits / other_of
    (low, high), (other_low, other_high) = wilson(hits, of), wilson(other_hits, other_of)
    return _around(
        first - second, math.hypot(first - low, other_high - second), math.hypot(high - first, second - other_low)
    )


def newcombe_paired(both: float, only_first: float, only_second: float, neither: float) -> Interval:
    """The 95% interval of the difference of two shares of the same items, the first less the second.

    Square-and-add of score intervals with the continuity-corrected correlation: Newcombe 1998, *Statistics in Medicine*
    17:2635-2650 (paper III), method 10.
    """
    of = both + only_first + only_second + neither
    if not of:
        return -1.0, 1.0
    hits, other_hits = both + only_first, both + only_second
    first, second = hits / of, other_hits / of
    (low, high), (other_low, other_high) = wilson(hits, of), wilson(other_hits, of)
    margins = hits * (of - hits) * other_hits * (of - other_hits)
    excess = both * neither - only_first * only_second
    corrected = max(excess - of / 2, 0.0) if excess > 0 else excess
    phi = corrected / math.sqrt(margins) if margins > 0 else 0.0

    def root(one: float, other: float) -> float:
        return math.sqrt(max(one * one - 2 * phi * one * other + other * other, 0.0))

    return _around(first - second, root(first - low, other_high - second), root(high - first, second - other_low))


def _around(middle: float, below: float, above: float) -> Interval:
    return max(-1.0, middle - below), min(1.0, middle + above)


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """The exact two-sided probability of paired outcomes that differ so unevenly (McNemar 1947).

    The binomial tail of the discordant pairs alone, doubled.
    """
    many, few = only_first + only_second, min(only_first, only_second)
    tail = ways = 1
    for number in range(few):
        ways = ways * (many - number) // (number + 1)
        tail += ways
    return min(1.0, 2 * tail / (1 << many))


def mcnemar(ours: Sequence[bool], theirs: Sequence[bool]) -> tuple[int, int, float]:
    """Where only the one and where only the other holds, of paired outcomes, and ``mcnemar_exact`` of these."""
    only_ours = sum(one and not other for one, other in zip(ours, theirs, strict=True))
    only_theirs = sum(other and not one for one, other in zip(ours, theirs, strict=True))
    return only_ours, only_theirs, mcnemar_exact(only_ours, only_theirs)


def sign_flip(differences: Iterable[int]) -> float:
    """The exact two-sided probability of so large a sum if each cluster's difference could as well be its negative.

    Randomisation over clusters (Fisher 1935; Gail et al. 1996): what is in one cluster may depend on each other in any
    way. Where every cluster is one pair it is McNemar's exact test. Exact, by convolution of whole numbers.

    :param differences: of each cluster, hits of the one side less hits of the other.
    """
    given = list(differences)
    sizes = [abs(one) for one in given if one]
    extreme, total = abs(sum(given)), sum(sizes)
    ways = [1]  # ways[s]: how many choices of clusters sum to s
    for size in sizes:
        longer = [*ways, *[0] * size]
        for place, number in enumerate(ways):
            longer[place + size] += number
        ways = longer
    tail = sum(number for chosen, number in enumerate(ways) if abs(2 * chosen - total) >= extreme)
    return tail / (1 << len(sizes))


def holm(chances: Sequence[float]) -> list[float]:
    """The probabilities adjusted for how many there are (Holm 1979), in the order given."""
    adjusted, least = [0.0] * len(chances), 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        least = max(least, min(1.0, (len(chances) - rank) * chances[place]))
        adjusted[place] = least
    return adjusted


def kappa(both: int, only_first: int, only_second: int, neither: int) -> float | None:
    """Agreement of two readers beyond chance (Cohen 1960); ``None`` where chance alone would agree on everything."""
    of = both + only_first + only_second + neither
    if not of:
        return None
    first, second = both + only_first, both + only_second
    chance = first * second + (of - first) * (of - second)
    return None if chance == of * of else ((both + neither) * of - chance) / (of * of - chance)


def effective_size(clusters: Iterable[tuple[float, float]], units: float) -> float:
    """How many independent units a share of clustered units is worth, at most all of them.

    Linearised (sandwich) variance of a ratio over clusters, against the binomial one (Kish 1965; Korn and Graubard
    1998); where all agree and no variance shows, each cluster counts as one.

    :param clusters: of each, hits and out of how many.
    :param units: how many units would count if none depended on another.
    """
    found = [(hits, of) for hits, of in clusters if of]
    total = sum(of for _, of in found)
    if not total:
        return 0.0
    rate = sum(hits for hits, _ in found) / total
    if rate <= 0 or rate >= 1:
        return min(units, float(len(found)))
    variance = math.fsum((hits - rate * of) ** 2 for hits, of in found) / (total * total)
    binomial = rate * (1 - rate) / units
    return units if variance <= binomial else units * binomial / variance


def cluster_bootstrap(
    totals: Sequence[Sequence[float]],
    figure: Callable[[Columns], NDArray[np.float64]],
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """The 95% percentile interval of a figure when whole clusters are drawn again (Davison and Hinkley 1997, 3.8).

    :param totals: of each cluster, what is summed up over those drawn.
    :param figure: from the sums (one row a resample) to the figure; ``nan`` where a resample has none.
    :returns: ``None`` for fewer than two clusters, or where no resample has the figure.
    """
    if len(totals) < 2:
        return None
    many = len(totals)
    drawn = np.random.default_rng(seed).multinomial(many, np.full(many, 1 / many), resamples)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = figure(drawn.astype(np.float64) @ np.asarray(totals, dtype=np.float64))
    found = found[~np.isnan(found)]
    if not len(found):
        return None
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)
