"""Markers find a value however it is written, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thymus_bench.markers import first_held, holds, pieces


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("call +1 555 0199 now", "555-0199"),
        ("call +15550199 now", "555-0199"),
        ("at 10.40am", "10:40"),
        ("PETRA  LUND signs", "Petra Lund"),
        ("Petra-Lund", "petra lund"),
        ("£1,250.00", "1250"),
        ("in Room ２Ａ", "room 2a"),
        ("zero\u200bwidth", "zerowidth"),
        ("明天下午三点见", "三点"),
        ("Größe XXL", "grösse"),
    ],
)
def test_a_value_is_found_however_it_is_written(text: str, marker: str) -> None:
    assert holds(text, marker)


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("at 110:405", "10:40"),
        ("at 9:49", "49"),
        ("room B71", "B7"),
        ("the petrol station", "Petr"),
        ("anything", ""),
        ("anything", "…"),
        ("", "10:40"),
    ],
)
def test_a_part_of_something_else_is_no_value(text: str, marker: str) -> None:
    assert not holds(text, marker)


def test_the_first_marker_that_is_held_is_named() -> None:
    assert first_held("moved to Friday", ["Thursday", "Friday", "moved"]) == "Friday"
    assert first_held("moved to Friday", ["Monday"]) == ""


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_a_text_holds_what_it_was_made_around(before: str, value: str, after: str) -> None:
    if pieces(value):
        assert holds(f"{before} | {value} | {after}", value)


@given(st.text(max_size=80), st.text(max_size=12))
def test_case_spaces_and_punctuation_make_no_difference(text: str, marker: str) -> None:
    spaced = text.replace(" ", " , ")
    assert holds(text, marker) == holds(spaced, marker) == holds(text, f"-{marker}-")
