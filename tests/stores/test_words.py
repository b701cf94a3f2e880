"""Words are found whatever their form, script or punctuation, and nothing written can make it slow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thymus.stores.words import LONGEST_WORD, MOST_WORDS, terms, words
from timing import cpu_seconds


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("moved", "moves"),
        ("Moving", "move"),
        ("parties", "party"),
        ("planned", "plan"),
        ("AI-302", "ai302"),
        ("9:15", "915"),
        ("asha@example.org", "ASHA@EXAMPLE.ORG"),
        ("Ｆｕｌｌ", "full"),
        ("STRASSE", "straße"),
        ("Asha's", "asha"),
        ("room 15mg", "room 15 mg"),
        ("東京都", "東京"),
        ("हिन्दी", "हिन्दी।"),
    ],
)
def test_forms_of_one_word_meet(one: str, other: str) -> None:
    assert set(words(one)) & set(words(other))


def test_keeps_identifiers_whole_and_in_parts() -> None:
    assert words("Mail asha@example.org") == ("mail", "ashaexampleorg", "asha", "exampl", "org")
    assert words("flight AI-302") == ("flight", "ai302", "ai", "302")


def test_leaves_out_common_words() -> None:
    assert words("Where is the standup and when will it be?") == ("standup",)


def test_order_and_repetition() -> None:
    assert words("one two one") == ("one", "two")
    assert len(terms("one two one")) == 2


@given(st.text(st.characters()))
def test_every_string_has_words(text: str) -> None:
    found = words(text)
    assert len(set(found)) == len(found) <= MOST_WORDS
    assert all(word and len(word) <= LONGEST_WORD for word in found)
    assert all(0 <= term < 1 << 64 for term in terms(text))


@pytest.mark.parametrize(
    "text", ["a" * 10**6, "a." * 10**6, "東" * 10**6, "\ufdfa" * 10**5, "x1" * 10**6, "e\u0301" * 10**6]
)
def test_is_linear_and_bounded(text: str) -> None:
    assert len(words(text)) <= MOST_WORDS
    assert cpu_seconds(lambda: words(text), enough=1) < 1
