"""Identifiers that stand in memories, found in a text whatever stands around their letters, or between them.

A recogniser reads a value where its surroundings look like writing: in ``x_GB33BUKB…`` or ``<a>GB33<b>BUKB…`` it sees
none. So the question is turned round: of the passages of memories that look like identifiers, which occur in the text
once everything but letters and digits is gone from both? No punctuation, markup or encoding that is undone here can
hide one. An index by the first letters keeps it linear in the text, whatever the number of memories.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property, lru_cache
from typing import Final
from urllib.parse import unquote

from thymus.core.provenance import UNPRINTABLE
from thymus.core.values import Account, Code, Email, Number, Phone, Url, Value
from thymus.recognizers import recognize

SHORTEST: Final = 6
"""Letters and digits of an identifier; shorter ones are everywhere."""
MOST_READ: Final = 200
"""Passages of memories whose ends are unclear and that are read to find them, in one search."""
_PIECE: Final = 300
_OVERLAP: Final = 100
_ROUNDS: Final = 3
"""Encodings one inside the other that are undone."""
_PLACES: Final = 64
_MOST_ENDS: Final = 24
_STRONG: Final = 6
"""Digits from which on an identifier is one even where letters are glued to it."""
_MARKED: Final = re.compile(r"[\d@]|\w[.:/_]+\w")
_FILLING: Final = 4
"""Letters of a word that may stand inside an identifier, as the bank does in an IBAN."""
_NO_SIGN: Final = re.compile(r"[\W_]+")
_JOINTS: Final = re.compile(r"([\W_]+)")
_TAG: Final = re.compile(r"<[^<>]{0,300}>")
_NEVER: Final = re.compile(r"(?!)")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|[nrtbf])")
_TRUNK: Final = re.compile(r"(?:\+|(?<!\d)00)\d{1,3}$|(?<!\d)0$")
_GLUED: Final = frozenset("@.-_/+&%")
_MORE_DIGITS: Final = re.compile(r"[ ().\-/]*\w{0,12}\d")


@lru_cache(maxsize=8_192)
def _signs(char: str) -> str:
    """What of a character counts: its small letters, or its digit in the Latin script."""
    digit = unicodedata.decimal(char, None)
    return "".join(filter(str.isalnum, char.casefold())) if digit is None else str(digit)


class Passage:
    """A text and its signs, the letters and digits in it; ``places[i]`` is where in the text sign ``i`` stands."""

    def __init__(self, text: str) -> None:
        self.text = unicodedata.normalize("NFKC", text)
        self.signs = "".join(_NO_SIGN.split(self.text.lower())) if text.isascii() else "".join(map(_signs, self.text))

    @cached_property
    def places(self) -> list[int]:
        """Where each sign stands."""
        return [place for place, char in enumerate(self.text) for _ in _signs(char)]

    def slice(self, start: int, end: int) -> str:
        """The text from one sign up to another."""
        return self.text[self.places[start] : self.places[end - 1] + 1]

    def beside(self, start: int, end: int) -> tuple[str, str]:
        """The characters right before and right after some signs; "" at the ends of the text."""
        first, last = self.places[start], self.places[end - 1]
        return self.text[max(first - 1, 0) : first], self.text[last + 1 : last + 2]

    def dialled_from(self, start: int) -> bool:
        """Whether only a trunk zero or the code of a country stands between a sign and what is no digit."""
        return bool(_TRUNK.search(self.text[max(self.places[start] - 6, 0) : self.places[start]]))


class Stretch(Passage):
    """A passage of a memory that looks like identifiers, and where such may start and end in it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        starts: dict[int, None] = {}
        self.ends = []
        at = 0
        joint = ""
        parts = iter(_JOINTS.split(self.text))
        for word in parts:
            if word and not (joint in _GLUED and at and word.isalpha()):  # the domain of an address starts nothing
                starts[at] = None
            at += len(word) if word.isascii() else sum(map(len, map(_signs, word)))
            self.ends.append(at)
            joint = next(parts, "")
        self.starts = _starts(self.signs, starts, "+" in self.text)

    def openings(self) -> set[str]:
        """The first signs of whatever may start here."""
        last = len(self.signs) - SHORTEST
        return {self.signs[start : start + SHORTEST] for start in self.starts if start <= last}


_stretch = lru_cache(maxsize=16_384)(Stretch)


def _starts(signs: str, starts: dict[int, None], abroad: bool) -> tuple[int, ...]:
    """These, and where a number goes on after a trunk zero or a country's code, either of which may be missing."""
    more = dict(starts)
    for start in starts if abroad or "0" in signs else ():
        if signs.startswith("0", start):
            more |= dict.fromkeys(range(start + 1, start + 6 if signs.startswith("00", start) else start + 2))
        elif abroad:
            more |= dict.fromkeys(range(start + 1, start + 4))
    return tuple(more)


def stretches(text: str) -> Iterator[str]:
    """The passages of a memory that hold a digit, an address or a path, with the short words between such."""
    if not _MARKED.search(text):
        return
    run: list[str] = []
    marked = 0
    for chunk in text.split():
        if _MARKED.search(chunk):
            run.append(chunk)
            marked = len(run)
        elif len(chunk) <= _FILLING and chunk.isalpha():
            run = [*run, chunk] if marked else [chunk]
        elif run:
            yield from _pieces(run[:marked])
            run, marked = [], 0
    yield from _pieces(run[:marked])


def _pieces(run: Sequence[str]) -> Iterator[str]:
    whole = " ".join(run)
    if len(whole) >= SHORTEST:
        for at in range(0, max(len(whole) - _OVERLAP, 1), _PIECE - _OVERLAP):
            yield whole[at : at + _PIECE]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """An identifier of a memory that occurs in a text.

    :param text: as the memory writes it.
    :param signs: its letters and digits.
    :param readings: what it is; empty where no recogniser knows its shape.
    """

    text: str
    signs: str
    readings: tuple[Value, ...]


class Index:
    """The stretches of many memories by their first signs; equal ones are kept once."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[str, ...]] = {}
        self._told: Counter[str] = Counter()
        self._keyed: dict[str, dict[str, None]] = {}

    def add(self, memory: str, text: str) -> None:
        """Take in the text of a memory."""
        found = {one: openings for one in stretches(text) if (openings := Stretch(one).openings())}
        if not found:
            return
        self._of[memory] = tuple(found)
        for one, openings in found.items():
            self._told[one] += 1
            for key in openings:
                self._keyed.setdefault(key, {})[one] = None

    def drop(self, memory: str) -> None:
        """Forget what only this memory said."""
        for one in self._of.pop(memory, ()):
            self._told[one] -= 1
            if not self._told[one]:
                del self._told[one]
                for key in Stretch(one).openings():
                    del self._keyed[key][one]
                    if not self._keyed[key]:
                        del self._keyed[key]

    def find(self, text: str) -> tuple[tuple[Run, ...], bool]:
        """The identifiers of memories that occur in a text, and whether those are all."""
        views = [Passage(view) for view in decoded(text)]
        wanted = {view.signs[at : at + SHORTEST] for view in views for at in range(len(view.signs) - SHORTEST + 1)}
        found: dict[tuple[str, tuple[Value, ...]], Run] = {}
        seen: dict[str, bool] = {}
        read: set[str] = set()
        unclear = 0
        for key in sorted(wanted & self._keyed.keys()):
            for stretch in map(_stretch, self._keyed[key]):
                for start, end in _shared(stretch, key, views):
                    signs = stretch.signs[start:end]
                    if signs not in seen:
                        seen[signs] = any(_stands(signs, view) for view in views)
                    if not seen[signs] or (ends := _ends_of(stretch, start, end)) is _Ends.INSIDE:
                        continue
                    clear = ends is _Ends.CLEAR
                    if clear and signs in read:
                        continue
                    read |= {signs} if clear else set()
                    unclear += not clear
                    if not clear and unclear > MOST_READ:
                        continue
                    for run in _read(stretch, start, end, clear=clear):
                        found.setdefault((run.signs, run.readings), run)
        return tuple(found.values()), unclear <= MOST_READ


def decoded(text: str) -> tuple[str, ...]:
    """A text as it is, with percent signs (RFC 3986), entities of HTML and escapes of JSON undone, and without tags.

    Characters that nobody sees may stand inside an encoding, or between two words: both are tried.
    """
    views = {text: None}
    for hidden in (UNPRINTABLE, _NEVER):
        plain = text
        for _ in range(_ROUNDS):
            before, plain = plain, hidden.sub("", unicodedata.normalize("NFKC", plain).replace("\n", " "))
            plain = unquote(html.unescape(_ESCAPE.sub(_unescaped, plain))).encode("utf-8", "replace").decode()
            if plain == before:
                break
            views[plain] = None
        views[_TAG.sub("", plain)] = None
    return tuple(views)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else " "


def _shared(stretch: Stretch, key: str, views: Iterable[Passage]) -> Iterator[tuple[int, int]]:
    """What starts with these signs in a stretch, ends at an end, and occurs in a view, the longest first."""
    for start in stretch.starts:
        if stretch.signs.startswith(key, start):
            longer = stretch.signs[start - 1 : start + SHORTEST] if start - 1 in stretch.starts else ""
            if longer and any(longer in view.signs for view in views):
                continue
            found: list[tuple[int, int]] = []
            for end in stretch.ends:
                if end - start >= SHORTEST:
                    if len(found) >= _MOST_ENDS or not any(stretch.signs[start:end] in view.signs for view in views):
                        break
                    found.append((start, end))
            yield from reversed(found)


def _stands(signs: str, view: Passage) -> bool:
    """Whether the signs occur in a view as no part of a longer number or, where they are mostly letters, word.

    Where they occur too often to look at each place, they count as found.
    """
    strong = _is_strong(signs)
    at = -1
    for _ in range(_PLACES):
        at = view.signs.find(signs, at + 1)
        if at < 0:
            return False
        before, after = view.beside(at, at + len(signs))
        free = not _same_sort(before, signs[0], strong) or (strong and view.dialled_from(at))
        if free and not _same_sort(after, signs[-1], strong):
            return True
    return True


def _same_sort(beside: str, sign: str, strong: bool) -> bool:
    if not beside.isalnum():
        return False
    return beside.isdigit() if sign.isdigit() else not strong


class _Ends(Enum):
    """Whether what stands beside a run in its memory can belong to it."""

    CLEAR = auto()
    UNCLEAR = auto()
    """More digits follow, or it is a number that is joined to something."""
    INSIDE = auto()
    """It is a part of a word, an address or a path."""


def _ends_of(stretch: Stretch, start: int, end: int) -> _Ends:
    first, last = stretch.places[start], stretch.places[end - 1]
    before, after = stretch.text[max(first - 2, 0) : first], stretch.text[last + 1 : last + 40]
    joined = before[-1:].isalnum() or after[:1].isalnum()
    joined = joined or (len(before) == 2 and before[0].isalnum() and before[1] in _GLUED)
    joined = joined or (after[:1] in _GLUED and after[1:2].isalnum())
    if joined and not _is_strong(stretch.signs[start:end]):
        return _Ends.INSIDE
    return _Ends.UNCLEAR if joined or _MORE_DIGITS.match(after) else _Ends.CLEAR


def _is_strong(signs: str) -> bool:
    return sum(map(str.isdigit, signs)) >= _STRONG


def _read(stretch: Stretch, start: int, end: int, *, clear: bool) -> Iterator[Run]:
    """What stands there: as the recognisers see it in its stretch, or by itself where its ends are clear."""
    signs, text = stretch.signs[start:end], stretch.slice(start, end)
    values = [value for value in _values(stretch.text) if signs in _spellings(value)]
    if clear and not values:
        values = [value for value in _values(text) if signs in _spellings(value)]
    for value in values:
        yield Run(text=value.text, signs=signs, readings=(value,))
    grouped = _is_strong(signs) and all(isinstance(one, Code | Number) for one in _values(text))
    plain = len(text) == len(signs) or ("@" in text and " " not in text) or grouped
    if clear and not values and plain and re.search(r"\d.*\d|@", text):
        yield Run(text=text, signs=signs, readings=())


@lru_cache(maxsize=4_096)
def _values(text: str) -> tuple[Value, ...]:
    return recognize(text)


def _spellings(value: Value) -> set[str]:
    """The signs of an identifier, in its usual spellings; none for other values."""
    match value:
        case Account() if not value.partial:
            found = [value.number]
        case Phone():
            bare = value.digits.lstrip("0")
            found = [value.digits, bare, *(bare[lead:] for lead in ((1, 2, 3) if value.international else ()))]
        case Email():
            found = [value.local + value.domain]
        case Url():
            found = [value.host + value.path]
        case Code():
            found = [value.code]
        case _:
            return set()
    return {signs for one in (value.text, *found) if len(signs := Passage(one).signs) >= SHORTEST}
