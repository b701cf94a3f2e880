"""Whose words a stretch of a message is, beside its sender's: what was forwarded, and what the user only asks about.

Who forwards a mail passes on what somebody else wrote, and whoever wrote it could have written anything: those
statements are derived from the address that the forwarded headers name, unverified. And a user who repeats a claim to
ask whether it is true has not said it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from thymus.extract.lines import FORWARDED, HEADER

_BARE_HEADERS: Final = re.compile(r"^[ \t>]*begin forwarded message:?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_FROM: Final = re.compile(
    r"^[ \t>*_]{0,8}(?:from|von|de|da|van|fra|från|od)[ \t*_]{0,4}:(.{0,400})$", re.IGNORECASE | re.MULTILINE
)
_ADDRESS: Final = re.compile(r"[^\s@<>()\[\],;:\"]{1,64}@[\w.-]{1,253}")
_HEADERS_WITHIN: Final = 600
"""Characters below the mark of a forwarded mail in which its headers are looked for."""
_PASTED: Final = re.compile(
    rf"(?:[-_=*~#][-_=*~# ]{{7,}}+[^\S\n]*+\n\s*+)?((?:{HEADER.pattern}.*+\n(?:[ \t].*+\n)*+){{2,12}}+)", re.IGNORECASE
)
"""A mail's headers, two or more, at the very beginning; a rule may stand above them."""
_LONGEST_HEADERS: Final = 8_000
_DOUBT: Final = re.compile(
    r"\b(?:(?:is|are|was|can|could|does|do you think|would) (?:that|this|it|these|they|any of (?:that|this|it))"
    r"(?: all| really| actually| even| be| sound| seem| look)* (?:true|right|real|really|legit|legitimate|genuine"
    r"|correct|accurate|a (?:scam|fraud|trick|hoax|joke)|fake|ok|okay|safe|official|plausible|so)\b"
    r"|(?:true|legit|real|genuine|right|scam|really|is it|(?:can|could) (?:that|this|it) be)\s*\?\s*$"
    r"|should i (?:believe|trust|do) (?:that|this|it|them)\b|can i (?:believe|trust) (?:that|this|it|them)\b"
    r"|do you (?:believe|trust) (?:that|this|it|them)\b|(?:stimmt|ist) das (?:so|wahr|echt|richtig)\b"
    r"|est-ce (?:vrai|que c'est vrai)\b|es (?:verdad|cierto)\b|é verdade\b|er det sant\b)",
    re.IGNORECASE,
)
_LONGEST_DOUBT: Final = 200
_FEW_WORDS: Final = 8
_HEARSAY: Final = re.compile(
    r"\b(?:some(?:one|body)|they|people|an? (?:[\w-]{1,20} )?(?:e-?mail|mail|message|text|letter|caller|page|site|post)"
    r"|i (?:just )?(?:got|received|saw|read|heard)) .{0,60}?"
    r"\b(?:says?|said|saying|wrote|writes?|claim(?:s|ed)?|told|that)\b",
    re.IGNORECASE,
)
_ABOUT_IT: Final = re.compile(r"\b(?:it|that|this|they|them)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Forwarded:
    """From ``start`` on the words are those of ``sender``, an address, or of somebody unnamed ("")."""

    start: int
    sender: str


def forwarded(text: str, *, own: bool = False) -> tuple[Forwarded, ...]:
    """Where a message passes on another mail, in order; linear in the text.

    :param own: the user speaks: a message that begins with the headers of a mail is one that they pasted.
    """
    passed_on = _forwarded(text)
    pasted = _PASTED.match(text.lstrip()[:_LONGEST_HEADERS]) if own else None
    named = _FROM.search(pasted[1]) if pasted else None
    if pasted is None or named is None:
        return passed_on
    address = _ADDRESS.search(named[1])
    return (Forwarded(0, address[0].lower() if address else ""), *passed_on)


def _forwarded(text: str) -> tuple[Forwarded, ...]:
    if "orward" not in text and "eiter" not in text and not FORWARDED.search(text):
        return ()
    found = []
    marks = sorted({match.end() for pattern in (FORWARDED, _BARE_HEADERS) for match in pattern.finditer(text)})
    for mark in marks:
        named = _FROM.search(text, mark, mark + _HEADERS_WITHIN)
        address = _ADDRESS.search(named[1]) if named else None
        found.append(Forwarded(mark, address[0].lower() if address else ""))
    return tuple(found)


def doubts(sentence: str, before: str = "") -> bool:
    """Whether a sentence asks if what stands before it is true.

    Of what the user only heard somewhere, any short question about *it* does ("Did they move it?").
    """
    words = sentence.strip()
    if not words.endswith("?") or len(words) > _LONGEST_DOUBT:
        return False
    if _DOUBT.search(words):
        return True
    return words.count(" ") < _FEW_WORDS and bool(_ABOUT_IT.search(words) and _HEARSAY.search(before[:_LONGEST_DOUBT]))
