"""Judges' answers: the two thresholds, and that no answer is the careful one."""

from __future__ import annotations

import pytest
from hypothesis import given

from builders import relations
from thymus.core.relations import CONFIRMED, DETECTED, Label, Relation


@pytest.mark.parametrize(
    ("label", "confidence", "detected", "confirmed"),
    [
        (Label.CONTRADICTS, 0.95, True, True),
        (Label.CONTRADICTS, CONFIRMED, True, True),
        (Label.CONTRADICTS, CONFIRMED - 0.01, True, False),
        (Label.CONTRADICTS, DETECTED, True, False),
        (Label.CONTRADICTS, DETECTED - 0.01, False, False),
        (Label.SAME, 0.9, False, False),
        (Label.SAME, 1 - 2 * DETECTED, True, False),
        (Label.COMPATIBLE, 0.9, False, False),
        (Label.COMPATIBLE, 1 - 2 * DETECTED, True, False),
        (Label.UNKNOWN, 0.0, True, False),
    ],
)
def test_thresholds(label: Label, confidence: float, detected: bool, confirmed: bool) -> None:
    relation = Relation(label=label, confidence=confidence)
    assert (detected, confirmed) == (relation.detected, relation.confirmed)


def test_a_likely_contradiction_is_only_confirmed_where_it_is_also_the_answer() -> None:
    assert not Relation(label=Label.COMPATIBLE, confidence=0.3, contradiction=0.7).confirmed


def test_an_answer_may_be_a_plain_string() -> None:
    assert Label.SAME is Relation(label="same", confidence=1).label  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("confidence", "contradiction"), [(1.1, 0.5), (-0.1, 0.5), (0.5, 1.1), (float("nan"), 0.5), (0.5, float("nan"))]
)
def test_what_is_no_probability_is_refused(confidence: float, contradiction: float) -> None:
    with pytest.raises(ValueError, match="probabilities"):
        Relation(label=Label.SAME, confidence=confidence, contradiction=contradiction)


def test_a_failed_judge_counts_as_detected_and_not_confirmed() -> None:
    relation = Relation.unknown("timed out", judge="llm")
    assert (relation.detected, relation.confirmed) == (True, False)
    assert (relation.because, relation.judge, relation.contradiction) == ("timed out", "llm", 0.0)


@given(relations)
def test_confirmed_implies_detected(relation: Relation) -> None:
    assert relation.detected or not relation.confirmed
    assert 0 <= relation.contradiction <= 1
