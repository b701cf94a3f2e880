"""A text as the readers of stakes see it: folded, spelt digits as digits, with cues and typed values, spans kept."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cache
from typing import Final

from thymus.core.values import Email, Phone, Url
from thymus.recognizers import links, numbers, phones
from thymus.recognizers.guises import Folded
from thymus.recognizers.page import Page, alternatives, scan, words
from thymus.recognizers.stake_cues import CUES
from thymus.recognizers.stake_words import CLASSES
from thymus.recognizers.wordings import Wordings

_PIECE: Final = 4_000
"""Characters read at once: a padded text cannot use up what a rule may find (`wordings.MOST_FOUND`)."""
_DIGIT_WORDS: Final = alternatives(
    words(
        "zero oh one two three four five six seven eight nine ten twenty thirty forty fifty sixty seventy "
        "eighty ninety hundred double"
    )
)
_SPELT: Final = re.compile(rf"(?<!\w)(?:{_DIGIT_WORDS}[ ,-]{{1,2}}){{3,40}}{_DIGIT_WORDS}(?!\w)")
_SPELT_MAIL: Final = re.compile(
    r"(?<![\w.@])[\w.+-]{1,64} ?(?:@|[\[({]at[\])}]) ?[\w-]{2,60}(?: ?(?:\.|[\[({]dot[\])}]) ?[\w-]{2,60}){1,4}"
    r"|(?<![\w.@])[\w.+-]{1,64} at [\w-]{2,60} dot (?:com|org|net|info|example|co dot uk|de|fr|es|in|io)(?!\w)"
)
_STOP: Final = re.compile(r"(?<=[\w)\]\"'#])[.!?;\u0964](?=\s|$)|\n\s{0,80}\n")
_LEAD: Final = 12
"""Characters before a value that are no sentence of their own."""
_ABBREVIATION: Final = re.compile(r"(?<!\w)(?:dr|mr|mrs|ms|st|no|nr|tel|ext|acct|acc|ltd|inc|bzw|sr|sra|dott|str)$")


class Reading:
    """One piece of a text. `text` is folded (`guises.Folded`); spans are in it, `source` leads back to the original.

    :ivar links: web addresses; :ivar mails: e-mail addresses; :ivar phones: telephone numbers. Spans, in order.
    """

    def __init__(self, folded: str, start: int = 0) -> None:
        self._start = start
        self._page = Page(folded)
        if _SPELT.search(folded):
            numbers.spell_numbers(self._page)
        self.text = self._page.text
        values = Page(self.text)
        links.read_links(values)
        if any(map(str.isdigit, self.text)):
            phones.read_phones(values)
        self.links = [value.span for value in values.values if isinstance(value, Url)]
        self.mails = [value.span for value in values.values if isinstance(value, Email)]
        if "dot" in self.text:
            self.mails += self.find(_SPELT_MAIL)
        self.phones = [value.span for value in values.values if isinstance(value, Phone)]
        self._cues: dict[str, list[tuple[int, int]]] = {}
        for name, first, end in _cues().find(self.text):
            self._cues.setdefault(name, []).append((first, end))
        for spans in self._cues.values():
            spans.sort()
        self._stops = [
            match.start()
            for match in _STOP.finditer(self.text)
            if not _ABBREVIATION.search(self.text, max(0, match.start() - 6), match.start())
        ]

    def source(self, span: tuple[int, int]) -> tuple[int, int]:
        """The span in the folded text that the reading was made from."""
        start, end = self._page.source(*span)
        return start + self._start, end + self._start

    def cues(self, name: str) -> list[tuple[int, int]]:
        """Where a cue stands, in order."""
        return self._cues.get(name, [])

    def sentence(self, span: tuple[int, int], before: int, after: int) -> tuple[int, int]:
        """What stands around a passage within its sentence: at most so many characters before and behind."""
        left = bisect_left(self._stops, span[0])
        right = bisect_left(self._stops, span[1])
        start = self._stops[left - 1] + 1 if left else 0
        if left and span[0] - start < _LEAD:  # "I changed phones! It's 07700 …" goes with what it answers
            start = self._stops[left - 2] + 1 if left > 1 else 0
        end = self._stops[right] if right < len(self._stops) else len(self.text)
        return max(start, span[0] - before), min(end, span[1] + after)

    def near(self, span: tuple[int, int], *names: str, before: int = 100, after: int = 60) -> bool:
        """Whether one of these cues stands beside the passage, in its sentence."""
        start, end = self.sentence(span, before, after)
        return any(self._within(name, start, end) for name in names)

    def _within(self, name: str, start: int, end: int) -> bool:
        spans = self._cues.get(name)
        if not spans:
            return False
        first = bisect_left(spans, (start, -1))
        return first < bisect_right(spans, (end, -1))

    def find(self, pattern: re.Pattern[str], group: str | int = 0) -> Iterator[tuple[int, int]]:
        """Where a pattern matches: the span of the group."""
        for match in scan(pattern, self.text):
            yield match.span(group)


def read(folded: Folded) -> Iterator[Reading]:
    """The readings of a text, one after the other, divided at a line's or a sentence's end where there is one."""
    text, start = folded.text, 0
    while len(text) - start > _PIECE:
        middle = start + _PIECE // 2
        ends = (text.rfind(end, middle, start + _PIECE) for end in ("\n", ". ", " "))
        end = next((end + 1 for end in ends if end > 0), start + _PIECE)
        yield Reading(text[start:end], start)
        start = end
    if start < len(text):
        yield Reading(text[start:], start)


@cache
def _cues() -> Wordings:
    return Wordings(CLASSES, CUES)
