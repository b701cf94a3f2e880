"""Figures from labels: precision, recall, F1 and bootstrap intervals. Standard library and numpy only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SEED = 7
RESAMPLES = 1_000

Answers = Sequence[tuple[str, str]]
"""(true label, given label) of each item."""


class DataMissingError(Exception):
    """The labelled data is not where it was looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One table: cells are ready to print."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one measurement found: tables to print, the same as plain data, and what went wrong, in words."""

    name: str
    sheets: list[Sheet]
    figures: dict[str, Any]
    misses: list[str] = field(default_factory=list)


def read_rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a JSON-lines file.

    :raises DataMissingError: where it is not there.
    """
    path = folder / name
    if not path.is_file():
        raise DataMissingError(f"{path} is not there: pass the folder with the labelled data as --data FOLDER")
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def scores(answers: Answers, label: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of one label."""
    right = sum(true == given == label for true, given in answers)
    claimed = sum(given == label for _, given in answers)
    there = sum(true == label for true, _ in answers)
    precision = right / claimed if claimed else 0.0
    recall = right / there if there else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0


def accuracy(answers: Answers) -> float:
    """The share of right answers."""
    return sum(true == given for true, given in answers) / len(answers) if answers else 0.0


def macro_f1(answers: Answers, labels: Sequence[str]) -> float:
    """The plain mean of the labels' F1."""
    return sum(scores(answers, label)[2] for label in labels) / len(labels)


def interval(answers: Answers, figure: Callable[[Answers], float]) -> tuple[float, float]:
    """The 95% percentile interval of a figure when items are drawn again (Efron 1979), seeded."""
    chance = np.random.default_rng(SEED)
    drawn = chance.integers(0, len(answers), (RESAMPLES, len(answers)))
    low, high = np.quantile([figure([answers[place] for place in places]) for places in drawn], [0.025, 0.975])
    return float(low), float(high)


def with_interval(answers: Answers, figure: Callable[[Answers], float]) -> str:
    """A figure as ``0.71 [0.63, 0.79]``."""
    low, high = interval(answers, figure)
    return f"{figure(answers):.2f} [{low:.2f}, {high:.2f}]"


def confusion(title: str, answers: Answers, labels: Sequence[str]) -> Sheet:
    """True labels down, given labels across."""
    counts = Counter(answers)
    return Sheet(
        title=title,
        columns=("true \\ given", *labels),
        rows=[(true, *(str(counts[true, given]) for given in labels)) for true in labels],
    )
