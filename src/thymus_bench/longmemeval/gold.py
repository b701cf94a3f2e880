"""Gold markers: the ways in which LongMemEval's gold answer may be written, made when a run begins.

The answers are not ours to copy, so no marker of them is kept. *"21 days. 22 days (including the last day) is also
acceptable."* gives ``21 days``, ``twenty-one days``, ``22 days`` and ``twenty-two days``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from thymus_bench.markers import first_held, pieces

_SMALL: Final = tuple(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "  # noqa: SIM905
    "eighteen nineteen".split()
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS: Final = {
    number: _SMALL[number]
    if number < 20
    else _TENS[number // 10 - 2] + (f"-{_SMALL[number % 10]}" if number % 10 else "")
    for number in range(100)
}
_BRACKETS: Final = re.compile(r"\([^()]{0,200}\)")
_ALSO: Final = re.compile(r"\s*\b(?:is|are) also acceptable\b|\banswers ranging from\b", re.IGNORECASE)
_OPENING: Final = re.compile(
    r"^(?:(?:an?|the|my|your|in|at|on|from|to|with|it was|it is|the answer is)\s+)+", re.IGNORECASE
)
_SENTENCE: Final = re.compile(r"[.;]\s+|\.$")
_LONGEST: Final = 60
"""Characters beyond which an answer is an explanation that stands literally nowhere."""


def markers(answer: str) -> tuple[str, ...]:
    """The ways to write a gold answer, the most literal first; empty where it is an explanation, not a value."""
    if answer.strip(" .").casefold() in ("yes", "no"):
        return ()
    plain = _BRACKETS.sub(" ", answer).strip().strip("'\"")
    found: list[str] = []
    for part in _alternatives(plain):
        bare = _OPENING.sub("", part.strip(" '\"\t.")).strip(" '\"")
        if bare and len(bare) <= _LONGEST:
            found += [bare, *_spelt(bare)]
    return tuple(dict.fromkeys(one for one in found if pieces(one)))


def _alternatives(answer: str) -> Iterator[str]:
    """Every acceptable answer: the first sentence, and what later ones call acceptable too."""
    first, *rest = [part for part in _SENTENCE.split(answer) if part.strip()] or [""]
    yield first
    for part in rest:
        if _ALSO.search(part):
            yield from re.split(r"\s+(?:to|or|and)\s+", _ALSO.sub(" ", part).strip())


def _spelt(text: str) -> Iterator[str]:
    """The same with its numbers in digits, and in words."""
    words = {word: str(number) for number, word in NUMBER_WORDS.items()}
    digits = re.sub(
        r"[a-z]+(?:-[a-z]+)?", lambda found: words.get(found[0].lower(), found[0]), text, flags=re.IGNORECASE
    )
    spelt = re.sub(r"(?<![\w.,$:/-])\d{1,2}(?![\w.,:/%-])", lambda found: NUMBER_WORDS[int(found[0])], text)
    yield from (one for one in (digits, spelt) if one != text)


def literal(answer: str, texts: Iterable[str]) -> bool:
    """Whether the gold answer stands literally in one of the texts."""
    ways = markers(answer)
    return any(first_held(text, ways) for text in texts)
