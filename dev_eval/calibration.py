"""Calibration: of the answers given with a probability of 0.8, are 80% right? Reliability tables and their error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dev_eval.figures import RESAMPLES, SEED, Sheet
from thymus.core.relations import Relation

BINS = 10
Floats = NDArray[np.float64]


def calibrate(title: str, truth: Sequence[str], relations: Sequence[Relation]) -> tuple[Sheet, dict[str, Any]]:
    """The reliability of ``confidence`` (is the label right?) and of ``contradiction`` (is it one?), side by side."""
    sides = {
        "confidence": (
            [one.confidence for one in relations],
            [one.label == true for one, true in zip(relations, truth, strict=True)],
        ),
        "contradiction": ([one.contradiction for one in relations], [true == "contradicts" for true in truth]),
    }
    figures = {
        name: _reliability(np.array(chances, np.float64), np.array(hits, np.float64))
        for name, (chances, hits) in sides.items()
    }
    rows = []
    for place in range(BINS):
        cells = [cell for side in figures.values() for cell in _cells(side["bins"][place])]
        rows.append((f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}", *cells))
    for what, key in (("ECE, 95% interval", "ece"), ("a perfect judge of as many", "ece_if_perfect")):
        rows.append((what, *(cell for side in figures.values() for cell in (_error(side, key), "", ""))))
    sheet = Sheet(
        title=f"{title}: calibration",
        columns=("probability", "of the label", "mean", "right", "of a contradiction", "mean", "is one"),
        rows=rows,
    )
    return sheet, figures


def _cells(found: dict[str, Any]) -> tuple[str, str, str]:
    return (str(found["n"]), f"{found['mean']:.2f}", f"{found['share']:.2f}") if found["n"] else ("0", "", "")


def _error(side: dict[str, Any], key: str) -> str:
    return f"{side[key]:.3f}" + (" [{:.3f}, {:.3f}]".format(*side["ece_interval"]) if key == "ece" else "")


def _reliability(chances: Floats, hits: Floats) -> dict[str, Any]:
    """Ten bins of equal width and the expected calibration error (Guo et al. 2017, arXiv 1706.04599).

    The error of few items is never 0, not even a perfect judge's, and drawing them again makes it greater: it means
    something where it exceeds ``ece_if_perfect``, what a judge would have whose probabilities are exact.
    """
    total = max(len(chances), 1)
    bins = np.eye(BINS)[np.minimum((chances * BINS).astype(int), BINS - 1)].reshape(-1, BINS)
    chance = np.random.default_rng(SEED)

    def error(gaps: Floats) -> Floats:
        summed: Floats = np.abs(gaps @ bins).sum(axis=-1) / total
        return summed

    if len(chances):
        weights = chance.multinomial(total, np.full(total, 1 / total), RESAMPLES)
        perfect = chance.random((RESAMPLES, total)) < chances
        low, high = np.quantile(error(weights * (chances - hits)), [0.025, 0.975])
        exact = float(error(chances - perfect).mean())
    else:
        low = high = exact = 0.0
    sizes = bins.sum(axis=0)
    some = np.maximum(sizes, 1)
    return {
        "ece": float(error(chances - hits)),
        "ece_interval": (float(low), float(high)),
        "ece_if_perfect": exact,
        "bins": [
            {"n": int(n), "mean": float(mean), "share": float(share)}
            for n, mean, share in zip(sizes, chances @ bins / some, hits @ bins / some, strict=True)
        ],
    }
