"""The statistics: against scipy and statsmodels over random counts, published examples, and the edges 0/0, 0/n, n/n."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thymus_bench import stats

proportion = pytest.importorskip("statsmodels.stats.proportion", reason="compares with statsmodels: uv sync")
contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
multitest = pytest.importorskip("statsmodels.stats.multitest")
raters = pytest.importorskip("statsmodels.stats.inter_rater")

linear = pytest.importorskip("statsmodels.regression.linear_model")

SMALL = st.integers(0, 60)
SQUARE = st.tuples(SMALL, SMALL, SMALL, SMALL).filter(any)


@st.composite
def shares(draw: st.DrawFn) -> tuple[int, int]:
    """Hits, and out of how many."""
    of = draw(st.integers(1, 500))
    return draw(st.integers(0, of)), of


@given(shares())
def test_wilson_is_that_of_statsmodels(counted: tuple[int, int]) -> None:
    expected = proportion.proportion_confint(*counted, method="wilson")

    assert stats.wilson(*counted) == pytest.approx(expected, abs=1e-9)


@given(shares())
def test_wilson_holds_the_share_and_ends_where_shares_end(counted: tuple[int, int]) -> None:
    hits, of = counted
    low, high = stats.wilson(hits, of)

    assert 0 <= low <= hits / of <= high <= 1
    assert (low == 0) == (hits == 0)
    assert (high == 1) == (hits == of)


def test_nothing_measured_gives_the_whole_range() -> None:
    assert stats.wilson(0, 0) == (0.0, 1.0)
    assert stats.newcombe_unpaired(0, 0, 3, 4) == (-1.0, 1.0)
    assert stats.newcombe_unpaired(3, 4, 0, 0) == (-1.0, 1.0)
    assert stats.newcombe_paired(0, 0, 0, 0) == (-1.0, 1.0)
    assert stats.mcnemar_exact(0, 0) == 1.0
    assert stats.sign_flip([]) == 1.0
    assert stats.holm([]) == []
    assert stats.kappa(0, 0, 0, 0) is None
    assert stats.effective_size([], 0) == 0.0


@given(shares(), shares())
def test_newcombe_for_independent_shares_is_that_of_statsmodels(one: tuple[int, int], other: tuple[int, int]) -> None:
    expected = proportion.confint_proportions_2indep(*one, *other, method="newcomb", compare="diff")

    assert stats.newcombe_unpaired(*one, *other) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("expected", "counts"),
    [
        ((0.0524, 0.3339), (56, 70, 48, 80)),
        ((0.1705, 0.8090), (9, 10, 3, 10)),
        ((-0.0381, 0.1926), (5, 56, 0, 29)),
        ((0.6075, 1.0000), (10, 10, 0, 10)),
    ],
)
def test_newcombes_own_examples_of_paper_ii(expected: tuple[float, float], counts: tuple[int, int, int, int]) -> None:
    assert stats.newcombe_unpaired(*counts) == pytest.approx(expected, abs=5e-5)


def test_a_published_example_of_pairs() -> None:
    """Airway hyper-responsiveness before and after a transplantation (Bentur et al. 2009, in Fagerland et al. 2017)."""
    assert stats.newcombe_paired(1, 1, 7, 12) == pytest.approx((-0.507, -0.026), abs=5e-4)


@given(SQUARE)
def test_newcombe_for_pairs_holds_the_difference_and_turns_round_with_the_sides(square: tuple[int, ...]) -> None:
    both, first, second, neither = square
    low, high = stats.newcombe_paired(both, first, second, neither)

    assert -1 <= low <= (first - second) / sum(square) <= high <= 1
    assert stats.newcombe_paired(both, second, first, neither) == pytest.approx((-high, -low), abs=1e-12)


@given(SQUARE)
def test_newcombe_for_pairs_without_correlation_is_that_for_independent_shares(square: tuple[int, ...]) -> None:
    both, first, second, neither = square
    of = sum(square)
    excess = both * neither - first * second
    independent = stats.newcombe_unpaired(both + first, of, both + second, of)
    paired = stats.newcombe_paired(*square)
    wider, narrower = independent[1] - independent[0], paired[1] - paired[0]

    if 0 <= excess <= of / 2:
        assert paired == pytest.approx(independent, abs=1e-9)
    elif excess > 0:
        assert narrower <= wider + 1e-9
    else:
        assert narrower >= wider - 1e-9


@given(SQUARE)
def test_mcnemar_is_that_of_statsmodels(square: tuple[int, ...]) -> None:
    both, first, second, neither = square
    expected = contingency.mcnemar([[both, first], [second, neither]], exact=True).pvalue

    assert stats.mcnemar_exact(first, second) == pytest.approx(expected, abs=1e-12)


def test_mcnemar_counts_pairs_that_differ() -> None:
    ours, theirs = [True, True, True, False, False], [False, False, True, True, False]

    assert stats.mcnemar(ours, theirs) == (2, 1, 1.0)


def test_mcnemar_bears_many_pairs() -> None:
    assert 0 < stats.mcnemar_exact(3_000, 1_000) < 1e-200
    assert stats.mcnemar_exact(2_000, 2_000) == 1.0


@given(st.integers(0, 40), st.integers(0, 40))
def test_sign_flips_of_single_pairs_are_mcnemars_test(first: int, second: int) -> None:
    assert stats.sign_flip([1] * first + [-1] * second + [0]) == pytest.approx(stats.mcnemar_exact(first, second))


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_sign_flips_are_all_of_them(differences: list[int]) -> None:
    seen = abs(sum(differences))
    flips = [
        abs(sum(sign * one for sign, one in zip(signs, differences, strict=True))) >= seen
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]

    assert stats.sign_flip(differences) == pytest.approx(float(Fraction(sum(flips), len(flips))))


@settings(max_examples=15)  # multipletests collects garbage each time
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(chances: list[float]) -> None:
    expected = multitest.multipletests(chances, method="holm")[1]

    assert stats.holm(chances) == pytest.approx(list(expected), abs=1e-12)


@given(SQUARE)
def test_kappa_is_that_of_statsmodels(square: tuple[int, ...]) -> None:
    both, first, second, neither = square
    found = stats.kappa(*square)
    certain = {0, sum(square)}

    if {both + first, both + second} <= certain and both + first == both + second:
        assert found is None
    else:
        expected = raters.cohens_kappa([[both, first], [second, neither]]).kappa
        assert found == pytest.approx(expected, abs=1e-9)
        assert found is not None
        assert -1 <= found <= 1


CLUSTERS = st.lists(
    st.integers(1, 6).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))), min_size=1, max_size=30
)


@settings(max_examples=40)
@given(CLUSTERS)
def test_the_effective_size_is_that_of_a_cluster_robust_mean(clusters: list[tuple[int, int]]) -> None:
    units = sum(of for _, of in clusters)
    rate = sum(hits for hits, _ in clusters) / units
    found = stats.effective_size(clusters, units)

    assert 0 < found <= units
    if rate in (0, 1):
        assert found == len(clusters)
        return
    answers = np.array([float(place < hits) for hits, of in clusters for place in range(of)])
    groups = np.array([place for place, (_, of) in enumerate(clusters) for _ in range(of)])
    fitted = linear.OLS(answers, np.ones(units)).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False, "df_correction": False}
    )
    variance = float(fitted.cov_params()[0, 0])
    assert found == pytest.approx(min(units, rate * (1 - rate) / variance if variance > 1e-12 else units), rel=1e-6)


def test_clusters_that_agree_count_once() -> None:
    single = [(1, 1)] * 6 + [(0, 1)] * 4
    doubled = [(2, 2)] * 6 + [(0, 2)] * 4

    assert stats.effective_size(single, 10) == pytest.approx(10)
    assert stats.effective_size(doubled, 20) == pytest.approx(10)
    assert stats.effective_size([(0, 3)] * 10, 30) == 10


def test_the_bootstrap_is_seeded_and_about_right() -> None:
    totals = [(float(place % 5 == 0), 1.0) for place in range(400)]

    def share(sums: stats.Columns) -> stats.Columns:
        return sums[:, 0] / sums[:, 1]

    found = stats.cluster_bootstrap(totals, share, seed=3)

    assert found == stats.cluster_bootstrap(totals, share, seed=3)
    assert found == pytest.approx((0.2 - 1.96 * math.sqrt(0.16 / 400), 0.2 + 1.96 * math.sqrt(0.16 / 400)), abs=0.005)


def test_the_bootstrap_of_one_cluster_or_of_nothing_is_none() -> None:
    def share(sums: stats.Columns) -> stats.Columns:
        return sums[:, 0] / sums[:, 1]

    assert stats.cluster_bootstrap([(1.0, 1.0)], share) is None
    assert stats.cluster_bootstrap([], share) is None
    assert stats.cluster_bootstrap([(0.0, 0.0)] * 3, share) is None


def test_a_share_is_a_cell() -> None:
    assert stats.share(3, 12) == "3 of 12 [9%, 53%]"
    assert stats.share(0, 0) == "0 of 0 [0%, 100%]"
