"""The text as the recognisers see it: folded, number words as digits, claimed passages blanked out, spans kept."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice

from thymus.core.values import Value

BLANK = "\x00"
"""Stands in place of every character that a value has claimed: no pattern matches it, and none reaches across it."""

MAX_MATCHES = 2_000
"""Matches that one pattern may have in one text. Comparison gives up long before (`MAX_VALUES_PER_KIND`)."""

_INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]+")
_DASHES = dict.fromkeys("‐‑‒–—−﹣", "-")
_QUOTES = dict.fromkeys("’‘ʼ′", "'") | dict.fromkeys("“”„″", '"')


class _Folding(dict[int, str]):
    """Digits of every script as ASCII digits, full-width forms as ASCII, spaces, dashes and quotes as the plain ones.

    Letters of other scripts stay as they are: a Cyrillic look-alike must not become the Latin letter. "µ" has two
    code points for one unit. Filled as characters occur; reading the whole Unicode database would slow the import.
    """

    def __missing__(self, code: int) -> str:
        char = chr(code)
        decimal = unicodedata.decimal(char, None)
        if decimal is not None:
            folded = str(decimal)
        elif 0xFF01 <= code <= 0xFF5E:
            folded = chr(code - 0xFEE0)
        else:
            folded = " " if unicodedata.category(char) == "Zs" else char
        if len(self) < 4096:
            self[code] = folded
        return folded


_FOLDING = _Folding({ord(char): plain for char, plain in {**_DASHES, **_QUOTES, "μ": "µ", "İ": "I"}.items()})


class _Rewrite:
    """Maps positions in a rewritten text back: (start, end) of each changed piece, there and here."""

    def __init__(self, text: str, pieces: Iterable[tuple[int, int, str]]) -> None:
        parts: list[str] = []
        self.starts: list[int] = []
        self._pieces: list[tuple[int, int, int]] = []
        at = length = 0
        for start, end, new in pieces:
            parts += (text[at:start], new)
            length += start - at
            self.starts.append(length)
            length += len(new)
            self._pieces.append((length, start, end))
            at = end
        parts.append(text[at:])
        self.text = "".join(parts)

    def back(self, position: int, *, is_end: bool) -> int:
        """The position before rewriting. Within a changed piece: its start, or its end for the end of a span."""
        index = bisect_right(self.starts, position - is_end) - 1
        if index < 0:
            return position
        new_end, start, end = self._pieces[index]
        if position < new_end or (is_end and position == new_end):
            return end if is_end else start
        return position - new_end + end


class Page:
    """A text being read. Families scan `text` or `low` (the same, lower case) and `claim` what they recognise."""

    def __init__(self, original: str, *, observed_at: datetime | None = None, region: str | None = None) -> None:
        self.original = original
        self.observed_at = observed_at
        self.region = region
        self.values: list[Value] = []
        self.spelt: frozenset[int] = frozenset()
        self._rewrites: list[_Rewrite] = []
        self._blanks: list[tuple[int, int]] = []
        self.text = original
        if not original.isascii():
            if _INVISIBLE.search(original):
                self._rewrite((match.start(), match.end(), "") for match in _INVISIBLE.finditer(original))
            self.text = self.text.translate(_FOLDING)
        self.low = self._lowered()

    def _lowered(self) -> str:
        low = self.text.lower()
        if len(low) == len(self.text):
            return low
        return "".join(small if len(small := char.lower()) == 1 else char for char in self.text)

    def _rewrite(self, pieces: Iterable[tuple[int, int, str]]) -> _Rewrite:
        rewrite = _Rewrite(self.text, pieces)
        self._rewrites.append(rewrite)
        self.text = rewrite.text
        return rewrite

    def spell(self, numerals: list[tuple[int, int, str]]) -> None:
        """Write these passages (start, end, numeral) as numerals; `spelt` then holds where such numerals start."""
        if numerals:
            self.spelt = frozenset(self._rewrite(numerals).starts)
            self.low = self._lowered()

    def source(self, start: int, end: int) -> tuple[int, int]:
        """The span in the original text of a span in `text`."""
        for rewrite in reversed(self._rewrites):
            start, end = rewrite.back(start, is_end=False), rewrite.back(end, is_end=True)
        return start, max(start, end)

    def claim(self, start: int, end: int, value: Callable[..., Value], /, **fields: object) -> None:
        """Record a value with these fields; its passage is blanked when the family has finished (`settle`)."""
        span = self.source(start, end)
        self.values.append(value(span=span, text=self.original[span[0] : span[1]], **fields))
        self._blanks.append((start, end))

    def has(self, clues: Iterable[str]) -> bool:
        """Whether one of these pieces of text (lower case) occurs: cheaper than a pattern that needs it."""
        return any(map(self.low.__contains__, clues))

    def settle(self) -> None:
        """Blank what has been claimed, so that later families do not see it."""
        if not self._blanks:
            return
        self._blanks.sort()
        self.text, self.low = blank(self.text, self._blanks), blank(self.low, self._blanks)
        self._blanks.clear()


def blank(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with these passages, in order, blanked out."""
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += (text[at:start], BLANK * (end - start))
        at = end
    return "".join(parts) + text[at:]


def words(text: str) -> list[str]:
    """The words of a table's cell."""
    return text.split()


def scan(pattern: re.Pattern[str], text: str, most: int = MAX_MATCHES) -> Iterator[re.Match[str]]:
    """The first `most` matches."""
    return islice(pattern.finditer(text), most)


def alternatives(spellings: Iterable[str]) -> str:
    """A pattern that matches any of the words, the longest that fits, branching by letter: fast for any number."""
    tree: dict[str, dict[str, object]] = {}
    for word in spellings:
        node = tree
        for char in word:
            node = node.setdefault(char, {})  # type: ignore[assignment]
        node[""] = {}
    return _branch(tree)


def _branch(tree: dict[str, dict[str, object]]) -> str:
    branches = [re.escape(char) + _branch(node) for char, node in tree.items() if char]  # type: ignore[arg-type]
    if not branches:
        return ""
    joined = branches[0] if len(branches) == 1 and "" not in tree else f"(?:{'|'.join(branches)})"
    return joined + "?" if "" in tree else joined
