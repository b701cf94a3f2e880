"""Same wording: what ``fold`` sets aside, and what it must keep apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import a_claim
from thymus.core.claims import Kind, fold


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The gate is B4.", "The gate is B4"),
        ("The gate is  B4", " The\tgate is\nB4 "),
        ("the gate is B4", "The gate is B4"),
        ("caf\u00e9 at 5", "cafe\u0301 at 5"),
    ],
)
def test_same_wording(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pay to account 1O", "pay to account 10"),
        ("write to ravi@shop.example", "write to r\u0430vi@shop.example"),
        ("the gate is B4", "the gate is \uff224"),
        ("the code is 8\u00b2", "the code is 82"),
        ("is it 5?", "is it 5"),
        ("the password is hunter!", "the password is hunter"),
        ("", "a"),
    ],
)
def test_another_wording(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Wi-Fi password is Sunny42", "The Wi-Fi password is SUNNY42"),
        ("The door code is aB17", "The door code is Ab17"),
        ("The repository is at host.example/Team/x7Q", "The repository is at host.example/team/x7q"),
    ],
)
def test_identifiers_are_kept_to_the_letter(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(text) == fold(fold(text))


@pytest.mark.parametrize(
    ("kind", "speaks"),
    [(Kind.FACT, False), (Kind.PREFERENCE, True), (Kind.INSTRUCTION, True), (Kind.NOT_A_CLAIM, False)],
)
def test_what_speaks_for_the_user(kind: Kind, speaks: bool) -> None:
    assert speaks is a_claim(kind=kind).speaks_for_user
