"""What a judge without a model sees in one statement: words, names, numbers, cues and typed values.

Reading is pure and cached by text: a stored memory is read once, however often it is a rival.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from thymus.core.claims import fold
from thymus.core.values import Value
from thymus.judges.cues import CUES, STOPWORDS, count_cues, words

LONGEST: Final = 4_000
"""Characters of a statement that are read; the extractor's statements are far shorter."""
_CACHED_TEXTS: Final = 2_048
STEM: Final = 5  # letters: enough to join "cancelled" with "cancels", in most of the languages read
_LONGEST_WORD: Final = 40

_NUMBER: Final = re.compile(r"\d{1,24}(?:[.,:]\d{1,24}){0,4}")
_NAME: Final = re.compile(r"(?<=[\w,;)] )[^\W\d_a-z][\w']{1,30}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A statement as read.

    :param folded: the text as compared for same wording.
    :param words: all of its words, folded.
    :param stems: the first letters of the words that say something about the topic.
    :param names: words that begin with a capital inside a sentence, folded.
    :param numbers: runs of digits as written.
    :param grams: stretches of four characters of the folded text.
    :param cues: how often each cue of ``CUES`` occurs.
    """

    folded: str
    words: tuple[str, ...]
    vocabulary: frozenset[str]
    stems: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    grams: frozenset[str]
    cues: tuple[int, ...]
    questions: int
    asks: bool
    starts_small: bool
    exclaims: bool
    values: tuple[Value, ...]

    def has(self, cue: str) -> bool:
        """Whether the cue of this name occurs."""
        return self.cues[_PLACE[cue]] > 0


_PLACE: Final = {cue: place for place, cue in enumerate(CUES)}


def read(text: str) -> Reading:
    """Read a statement of any content: empty, binary and broken text gives an empty or odd reading, never an error."""
    return _read(text[:LONGEST])


@lru_cache(maxsize=_CACHED_TEXTS)
def _read(text: str) -> Reading:
    found = tuple(word[:_LONGEST_WORD] for word in words(text))
    folded = fold(text)
    return Reading(
        folded=folded,
        words=found,
        vocabulary=frozenset(found),
        stems=frozenset(
            word[:STEM] for word in found if len(word) > 2 and word not in STOPWORDS and not word[0].isdigit()
        ),
        names=frozenset(match[0].casefold() for match in _NAME.finditer(text)),
        numbers=frozenset(_NUMBER.findall(text)),
        grams=frozenset(folded[start : start + 4] for start in range(len(folded) - 3)),
        cues=tuple(count_cues(found)),
        questions=text.count("?"),
        asks=text.rstrip().endswith("?"),
        starts_small=text[:1].islower(),
        exclaims="!" in text,
        values=_values(text),
    )


def _values(text: str) -> tuple[Value, ...]:
    from thymus.recognizers import recognize

    return recognize(text)
