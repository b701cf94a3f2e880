"""A pair of statements, or one statement, as the bundled encoder reads it: pieces, and what is known about each piece.

Small models misjudge what rules compare well: numbers, dates, identifiers, and whether a word occurs on the other side.
So every piece carries two small numbers beside its own: its *side* (stored or incoming, and who speaks) and its *mark*
(a word that the other side has too; a typed value that the other side repeats, contradicts or lacks). The encoder has
an embedding for each and adds them up. ``training/judge`` makes its rows with this module too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from thymus.core.values import Comparison, Value, compare
from thymus.judges.cues import STOPWORDS
from thymus.judges.reading import STEM, Reading

if TYPE_CHECKING:
    from collections.abc import Iterable

LAYOUT: Final = 1
"""Which rows these are; written into the weights' card, and other weights are refused."""

SIDES: Final = 6
"""Stored, then incoming; within each: by somebody else, by the user, by nobody knows whom."""
OUTSIDE, USER, ANYONE = range(3)

PLAIN, SHARED, EQUAL, CLASHING, ALONE = range(5)
MARKS: Final = 5

LONGEST_STORED: Final = 72
LONGEST: Final = 208
"""Pieces of the stored side and of both together; what comes after is not read."""

_VALUES_COMPARED: Final = 12
_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Row:
    """Three numbers a piece, all of one length."""

    pieces: list[int]
    sides: list[int]
    marks: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One statement: its reading, who speaks, and its pieces with [start, end) of each in the text that was read."""

    reading: Reading
    speaker: int
    pieces: Sequence[int]
    spans: Sequence[tuple[int, int]]


def pair_row(stored: Side, incoming: Side, *, first: int, last: int) -> Row:
    """The row of a pair; ``first`` and ``last`` are the pieces that begin and end a statement."""
    ours = _marks(stored, incoming)[:LONGEST_STORED]
    room = LONGEST - len(ours) - 4
    theirs = _marks(incoming, stored)[:room]
    pieces = [first, *stored.pieces[:LONGEST_STORED], last, last, *incoming.pieces[:room], last]
    sides = [stored.speaker] * (len(ours) + 2) + [3 + incoming.speaker] * (len(theirs) + 2)
    return Row(pieces, sides, [PLAIN, *ours, PLAIN, PLAIN, *theirs, PLAIN])


def statement_row(statement: Side, *, first: int, last: int) -> Row:
    """The row of a statement alone: an incoming one, in which only typed values are marked."""
    room = LONGEST - 2
    marks = _marks(statement, None)[:room]
    pieces = [first, *statement.pieces[:room], last]
    return Row(pieces, [3 + statement.speaker] * len(pieces), [PLAIN, *marks, PLAIN])


def split(tokenizer: Any, text: str) -> tuple[Sequence[int], Sequence[tuple[int, int]]]:
    """The pieces of a text without any that begin or end it, and the [start, end) of each."""
    encoding = tokenizer.encode(text, add_special_tokens=False)
    return encoding.ids, encoding.offsets


def _marks(side: Side, other: Side | None) -> list[int]:
    marked: list[tuple[int, int, int]] = []
    if other:
        known = other.reading.stems | other.reading.numbers
        marked += [
            (found.start(), found.end(), SHARED)
            for found in _WORD.finditer(side.reading.text)
            if (word := found[0].casefold()) not in STOPWORDS and (word[:STEM] in known or word in known)
        ]
    theirs = other.reading.values if other else ()
    marked += [(*value.span, _standing(value, theirs)) for value in side.reading.values]
    marks = [PLAIN] * len(side.spans)
    for start, end, mark in marked:
        for place in _touched(side.spans, start, end):
            marks[place] = max(marks[place], mark) if mark == SHARED else mark
    return marks


def _touched(spans: Sequence[tuple[int, int]], start: int, end: int) -> Iterable[int]:
    from bisect import bisect_left

    place = bisect_left(spans, start, key=lambda span: span[1] - 1 if span[1] > span[0] else span[1])
    while place < len(spans) and spans[place][0] < end:
        yield place
        place += 1


def _standing(value: Value, others: Sequence[Value]) -> int:
    verdicts = {compare(value, other) for other in others[:_VALUES_COMPARED] if other.kind is value.kind}
    if Comparison.SAME in verdicts:
        return EQUAL
    return CLASHING if Comparison.DIFFERENT in verdicts else ALONE
