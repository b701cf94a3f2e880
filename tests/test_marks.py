"""What the network reads: pieces, sides and marks of a pair."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from thymus.judges.marks import (
    ALONE,
    ANYONE,
    CLASHING,
    EQUAL,
    LONGEST,
    LONGEST_STORED,
    MARKS,
    OUTSIDE,
    PLAIN,
    SHARED,
    SIDES,
    USER,
    Row,
    Side,
    pair_row,
    split,
    statement_row,
)
from thymus.judges.reading import plain, read

MODELS = Path(__file__).parents[1] / "src/thymus/models"
TOKENIZER = Tokenizer.from_file(str(MODELS / "e5-small/tokenizer.json"))
TOKENIZER.no_truncation()
ENDS = {"first": 0, "last": TOKENIZER.get_vocab()["</s>"]}


def side(text: str, speaker: int = USER) -> Side:
    reading = read(text)
    pieces, spans = split(TOKENIZER, reading.text)
    return Side(reading=reading, speaker=speaker, pieces=pieces, spans=spans)


def pair(stored: str, incoming: str) -> Row:
    return pair_row(side(stored), side(incoming, OUTSIDE), **ENDS)


def marked(row: Row, mark: int) -> str:
    """The pieces with this mark, as text."""
    ids = [piece for piece, found in zip(row.pieces, row.marks, strict=True) if found == mark]
    return str(TOKENIZER.decode(ids))


def test_a_value_that_differs_is_marked_on_both_sides() -> None:
    row = pair("My standup is at 9:15.", "The standup starts in Room 12 at 7:45")
    assert marked(row, CLASHING) == "9:15 7:45"
    assert marked(row, SHARED) == "standup standup"
    assert marked(row, ALONE) == "Room 12"


def test_a_value_in_another_format_is_marked_as_equal() -> None:
    assert marked(pair("It starts at 16:30.", "half past four it starts"), EQUAL).startswith("16:30")


def test_both_sides_stand_in_the_row_with_who_speaks() -> None:
    row = pair("a", "b")
    assert row.sides == [USER] * 3 + [3 + OUTSIDE] * 3
    assert row.pieces[0] == ENDS["first"]
    assert row.pieces.count(ENDS["last"]) == 3


def test_a_statement_alone_is_an_incoming_one() -> None:
    row = statement_row(side("Call 555-0123.", ANYONE), **ENDS)
    assert set(row.sides) == {3 + ANYONE}
    assert set(row.marks) == {PLAIN, ALONE}


def test_a_long_text_is_cut_on_its_own_side() -> None:
    row = pair("word " * 500, "other " * 500)
    assert len(row.pieces) == LONGEST
    assert row.sides.count(USER) == LONGEST_STORED + 2


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_make_a_row(stored: str, incoming: str) -> None:
    row = pair(stored, incoming)
    assert len(row.pieces) == len(row.sides) == len(row.marks) <= LONGEST
    assert all(0 <= number < SIDES for number in row.sides)
    assert all(0 <= number < MARKS for number in row.marks)


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        ("9:15", "9\u200b:15"),
        ("password", "\u0440\u0430ssw\u043erd"),
        ("Москва", "Москва"),
        ("a b", "a\nb"),
        ("half \ufffd", "half \ud800"),
        ("plain", "\u202eplain\u202c"),
    ],
)
def test_a_text_is_read_as_a_person_sees_it(seen: str, text: str) -> None:
    assert plain(text) == seen
