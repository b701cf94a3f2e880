"""From a text to the words it is found by, the same in every store and for any script.

Words are case folded and in Unicode NFKC, without the commonest English words and endings. An identifier counts whole
(``AI-302`` and ``ai302`` are one word, so are ``9:15`` and ``915``) and by its parts. Scripts written without spaces
are cut into pairs of characters. Everything is linear in the length of the text, and bounded.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b
from typing import Final

LONGEST_TEXT: Final = 20_000
"""Characters read of a text; what follows is not found by its words."""
MOST_WORDS: Final = 256
"""Different words kept of one text."""
LONGEST_WORD: Final = 64

_COMMON = (
    "a about above after again all also am an and any are as at be because been before being below between both but "
    "by can could did do does doing don down during each every few for from further had has have having he her here "
    "hers him his how i if in into is it its itself just let ll me more most my myself no nor not now of off on once "
    "only or other our ours out over own please re s same she should so some such t tell than that the their theirs "
    "them then there these they this those through to too under until up us ve very was we were what when where which "
    "while who whom whose why will with would you your yours yourself "
)
STOP_WORDS: Final = frozenset(_COMMON.split())

_MIXED = re.compile(r"[0-9]+|[^\W\d_]+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]+"
)


class _Separators(dict[int, str]):
    """Maps all but letters, digits and the marks on them to a space; learns each character once."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kept = char if char.isalnum() or unicodedata.category(char)[0] == "M" else " "
        if len(self) < 100_000:
            self[code] = kept
        return kept


_SEPARATORS = _Separators()


def words(text: str) -> tuple[str, ...]:
    """The different words of a text, in order of appearance."""
    text = unicodedata.normalize("NFKC", text[:LONGEST_TEXT]).casefold()[: 2 * LONGEST_TEXT]
    found: dict[str, None] = {}
    for chunk in text.split():
        parts = chunk.translate(_SEPARATORS).split()
        if len(parts) == 2 or (len(parts) > 2 and ("@" in chunk or "." in chunk or any(map(str.isdigit, parts)))):
            whole = "".join(parts)
            if len(whole) <= LONGEST_WORD and whole not in STOP_WORDS:
                found[whole] = None
        for part in parts:
            for word in _split(part):
                if word not in STOP_WORDS:
                    found[_stem(word)] = None
        if len(found) >= MOST_WORDS:
            return tuple(found)[:MOST_WORDS]
    return tuple(found)


def terms(text: str) -> tuple[int, ...]:
    """The words of a text as 64-bit numbers (BLAKE2b), in order of appearance."""
    return tuple(
        int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
        for word in words(text)
    )


def _split(part: str) -> list[str]:
    """A run of letters and digits as its words: itself, its letters and digits apart, or pairs where unspaced."""
    if part.isascii():
        if part.isalpha() or part.isdigit():
            return [part[:LONGEST_WORD]]
        return [part[:LONGEST_WORD], *_MIXED.findall(part[:LONGEST_WORD])]
    if _UNSPACED.search(part):
        pairs = [part[i : i + 2] for i in range(len(part) - 1)]
        return pairs or [part]
    return [part[:LONGEST_WORD]]


def _stem(word: str) -> str:
    """An English word without plural, past and progressive endings: moves, moved, moving, move are one."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word[-1] == "s" and word[-2] not in "su":
        word = word[:-1]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= 3 and any(vowel in stem for vowel in "aeiouy"):
            word = stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in "lsz" else stem
            break
    return word[:-1] if word[-1] == "e" and len(word) > 3 else word
