"""Who is meant by "my" and "your", for models that read two statements without knowing who speaks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from thymus.core.provenance import Source


def third_person(text: str, speaker: Source | None) -> str:
    """The text with the user called *the user*, as far as the pronouns of English tell.

    A model takes "my" and "your" for two people, where the user's "my" and a sender's "your" are one. So *I, me, my,
    we, our* of the user, and *you, your* of anybody else, are rewritten; where nobody knows who speaks, both are. What
    a sender says of itself ("our office") stays. Verbs follow where they are part of the phrase ("I am", "you've").
    Nothing inside an address, a file name or the like is touched, and no other language.
    """
    pattern = _BOTH if speaker is None else _OF_USER if speaker.names_user else _TO_USER
    return pattern.sub(_rename, text)


_FIRST: Final = {
    "i am": "is",
    "i'm": "is",
    "i have": "has",
    "i've": "has",
    "i will": "will",
    "i'll": "will",
    "i'd": "would",
    "we are": "is",
    "we're": "is",
    "we have": "has",
    "we've": "has",
    "we will": "will",
    "we'll": "will",
    "i do": "does",
    "i don't": "doesn't",
    "i": "",
    "we": "",
    "me": "",
    "myself": "",
    "my": "'s",
    "our": "'s",
}
_SECOND: Final = {
    "you are": "is",
    "you're": "is",
    "you have": "has",
    "you've": "has",
    "you will": "will",
    "you'll": "will",
    "you'd": "would",
    "you": "",
    "yourself": "",
    "your": "'s",
    "yours": "'s",
}
_THIRD: Final = {**_FIRST, **_SECOND}


def _pattern(phrases: Sequence[str]) -> re.Pattern[str]:
    longest_first = "|".join(sorted(phrases, key=len, reverse=True)).replace("'", "['\u2019]")
    return re.compile(rf"(?<![\w.@/'\u2019&=#-])(?:{longest_first})(?![.@/'\u2019&=-]?\w)", re.IGNORECASE)


_OF_USER: Final = _pattern(tuple(_FIRST))
_TO_USER: Final = _pattern(tuple(_SECOND))
_BOTH: Final = _pattern(tuple(_THIRD))


def _rename(found: re.Match[str]) -> str:
    written = found[0]
    if written == "i" or (written.isupper() and len(written) == 2):  # "i" is a word of other languages, ME is Maine
        return written
    rest = _THIRD[written.lower().replace("\u2019", "'")]
    user = "The user" if found.start() == 0 else "the user"
    return f"{user}{rest}" if rest in {"", "'s"} else f"{user} {rest}"
