"""What a judge without a model sees in one statement: words, names, numbers, cues and typed values.

Reading is pure and cached by text: a stored memory is read once, however often it is a rival.
"""

from __future__ import annotations

import re
import unicodedata
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

    :param text: what was read: no characters that nobody sees, no letters of another script that only look alike.
    :param folded: the text as compared for same wording.
    :param words: all of its words, folded.
    :param stems: the first letters of the words that say something about the topic.
    :param names: words that begin with a capital inside a sentence, folded.
    :param numbers: runs of digits as written.
    :param grams: stretches of four characters of the folded text.
    :param cues: how often each cue of ``CUES`` occurs.
    """

    text: str
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
    return _read(plain(text[:LONGEST]))


def plain(text: str) -> str:
    r"""The text as a person sees it: without characters that nobody sees, and in mixed words the letters meant.

    "9\u200b:15" is 9:15, and "\u0440assword" with a Cyrillic first letter is a password (Unicode TS 39 has the full
    list of confusables; these are the letters of Cyrillic and Greek that look the same in most typefaces). Words
    wholly of another script stay as they are. Lone surrogates, which no tokenizer accepts, become question marks.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = "".join(" " if c in _BREAKS else c for c in text if c in _BREAKS or unicodedata.category(c) not in _UNSEEN)
    return _MIXED.sub(lambda word: word[0].translate(_ALIKE), text)


_UNSEEN: Final = frozenset({"Cf", "Cc", "Co", "Cn"})
_BREAKS: Final = frozenset("\n\r\t\v\f\x85")
_ALIKE: Final = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u051b\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405\u03bf\u03b1\u03bd\u03c1\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
    "aeopcyxijsdhqABEKMHOPCTXIJSoavpABEZHIKMNOPTYX",
)
_MIXED: Final = re.compile(r"(?=\w*[A-Za-z])(?=\w*[\u0370-\u03ff\u0400-\u052f])\w+")


@lru_cache(maxsize=_CACHED_TEXTS)
def _read(text: str) -> Reading:
    found = tuple(word[:_LONGEST_WORD] for word in words(text))
    folded = fold(text)
    return Reading(
        text=text,
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
