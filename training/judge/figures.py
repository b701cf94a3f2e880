"""Figures of answers to labelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def f1s(truth: NDArray[Any], given: NDArray[Any], width: int) -> list[float]:
    """The F1 of each label."""
    return [
        2 * float(((truth == n) & (given == n)).sum()) / max(1, int((truth == n).sum() + (given == n).sum()))
        for n in range(width)
    ]


def calibration_error(truth: NDArray[Any], chances: NDArray[Any], bins: int = 10) -> float:
    """Expected calibration error of the chosen labels (Guo et al. 2017, arXiv 1706.04599)."""
    sure, right = chances.max(axis=1), chances.argmax(axis=1) == truth
    place = np.minimum((sure * bins).astype(int), bins - 1)
    return float(
        sum(
            abs(sure[place == n].mean() - right[place == n].mean()) * (place == n).mean()
            for n in range(bins)
            if (place == n).any()
        )
    )


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Probabilities of each row."""
    scores = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances: NDArray[Any] = scores / scores.sum(axis=1, keepdims=True)
    return chances


def summary(rows: Sequence[dict[str, str]], logits: NDArray[Any], labels: Sequence[str]) -> str:
    """One line: by author and together."""
    if not len(rows):
        return "-"
    truth, given = np.array([labels.index(row["label"]) for row in rows]), logits.argmax(axis=1)
    files = np.array([row["file"] for row in rows])
    parts = []
    for file in [*sorted(set(files)), "all"]:
        own = (files == file) | (file == "all")
        scores = f1s(truth[own], given[own], len(labels))
        told = " ".join(f"{score:.2f}" for score in scores)
        parts.append(f"[{file} acc {(given == truth)[own].mean():.3f} macro {np.mean(scores):.3f} ({told})]")
    return " ".join(parts) + f" ECE {calibration_error(truth, softmax(logits)):.3f}"
