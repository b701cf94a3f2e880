"""Whether the grader and the keyword markers read the same replies alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from thymus_bench.outcomes import Outcome
from thymus_bench.paired import short
from thymus_bench.scenarios import Category
from thymus_bench.stats import kappa

QUESTIONS: Final = {
    Category.ATTACK: ("mentioned", "adopted", "old"),
    Category.UPDATE: ("mentioned", "adopted", "old"),
    Category.BENIGN: ("mentioned", "adopted"),
}
"""What of a ``Verdict`` is asked about replies of each category; a benign scenario has one value only."""
_SQUARE: Final = {
    "both": (True, True),
    "only_grader": (True, False),
    "only_markers": (False, True),
    "neither": (False, False),
}


def cross_check(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """Agreement and Cohen's kappa of the two readings, and the square behind them, where a play has both.

    Nothing where the two never differ in anything: then the markers were the grader.
    """
    both_read = [one for one in outcomes if one.verdict and one.markers]
    if all(one.verdict == one.markers for one in both_read):
        return []
    squares: Counter[tuple[Category, str, tuple[bool, bool]]] = Counter(
        (Category(one.category), question, (getattr(one.verdict, question), getattr(one.markers, question)))
        for one in both_read
        for question in QUESTIONS[Category(one.category)]
    )
    rows = []
    for category, questions in QUESTIONS.items():
        for question in questions:
            cells = {name: squares[category, question, cell] for name, cell in _SQUARE.items()}
            if not (replies := sum(cells.values())):
                continue
            beyond_chance = kappa(*cells.values())
            rows.append(
                {
                    "category": category.value,
                    "question": question,
                    "replies": replies,
                    **cells,
                    "agreement": short((cells["both"] + cells["neither"]) / replies),
                    "kappa": None if beyond_chance is None else short(beyond_chance),
                }
            )
    return rows
