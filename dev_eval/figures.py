"""Figures from labels: precision, recall, F1 and bootstrap intervals. Standard library and numpy only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from thymus_bench.stats import mcnemar as mcnemar
from thymus_bench.stats import share as share
from thymus_bench.stats import wilson as wilson

SEED = 7
RESAMPLES = 1_000

Answers: TypeAlias = Sequence[tuple[str, str]] | Counter[tuple[str, str]]
"""(true label, given label) of each item, or how often each such couple occurs."""


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
    """What one measurement found: tables to print, the same as plain data, what went wrong, in words, and what is to be
    known to read the tables."""

    name: str
    sheets: list[Sheet]
    figures: dict[str, Any]
    misses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a JSON-lines file.

    :raises DataMissingError: where it is not there.
    """
    path = folder / name
    if not path.is_file():
        raise DataMissingError(f"{path} is not there: pass the folder with the labelled data as --data FOLDER")
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def count(answers: Answers) -> Counter[tuple[str, str]]:
    """How often each (true, given) occurs."""
    return Counter(answers)


def scores(answers: Answers, label: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of one label."""
    counts = count(answers)
    right = counts[label, label]
    claimed = sum(number for (_, given), number in counts.items() if given == label)
    there = sum(number for (true, _), number in counts.items() if true == label)
    precision = right / claimed if claimed else 0.0
    recall = right / there if there else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0


def accuracy(answers: Answers) -> float:
    """The share of right answers."""
    counts = count(answers)
    return sum(number for (true, given), number in counts.items() if true == given) / max(counts.total(), 1)


def macro_f1(answers: Answers, labels: Sequence[str]) -> float:
    """The plain mean of the labels' F1."""
    counts = count(answers)
    return sum(scores(counts, label)[2] for label in labels) / len(labels)


def interval(answers: Answers, figure: Callable[[Answers], float]) -> tuple[float, float]:
    """The 95% percentile interval of a figure when items are drawn again (Efron 1979), seeded.

    Items with the same labels are alike, so what is drawn is how many there are of each couple (true, given): a figure
    is handed these counts.
    """
    counts = count(answers)
    if not counts.total():
        return 0.0, 0.0
    couples = sorted(counts)
    shares = np.array([counts[couple] for couple in couples]) / counts.total()
    drawn = np.random.default_rng(SEED).multinomial(counts.total(), shares, RESAMPLES)
    found = [figure(Counter(dict(zip(couples, row, strict=True)))) for row in drawn.tolist()]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def with_interval(answers: Answers, figure: Callable[[Answers], float]) -> str:
    """A figure as ``0.71 [0.63, 0.79]``."""
    low, high = interval(answers, figure)
    return f"{figure(answers):.2f} [{low:.2f}, {high:.2f}]"


def of(some: int, all_: int) -> str:
    """``3 of 12 (25%)``; a dash where there are none."""
    return f"{some} of {all_} ({some / all_:.0%})" if all_ else "–"


def confusion(title: str, answers: Answers, labels: Sequence[str]) -> Sheet:
    """True labels down, given labels across; other answers have a column where there are any."""
    counts = count(answers)
    across = (*labels, *sorted({given for _, given in counts} - {*labels}))
    return Sheet(
        title=title,
        columns=("true \\ given", *across),
        rows=[(true, *(str(counts[true, given]) for given in across)) for true in labels],
    )
