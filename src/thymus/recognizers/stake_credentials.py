"""Values that let somebody in: what `credentials.find_secrets` calls a secret, and codes of doors, gates and alarms.

National ids are secrets, but let nobody in; card numbers are payments. Codes for a discount, a booking, a collection or
a place are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from thymus.recognizers.page import scan
from thymus.recognizers.stake_reading import Reading

_VALUE: Final = re.compile(
    r"(?<![\w.,:/€$£₹+@-])(?P<v>\d{1,2}-\d{1,2}-\d{1,2}|\d(?: \d){2,9}|\d{3,8}|\d{1,5}[a-z]{1,2}\d{1,5}|[a-z]\d{2,6})#?"
    r"(?![\w%@]|[.,:/-]\w)"
)
_NO_VALUE: Final = re.compile(
    r"(?:(?<!key )(?<!punch )(?<!type )\bin|\b(?:since|until|of|page|room|gate|flight|bus|from|by|isn't"
    r"|not|type|line|ticket|at)|[€$£₹])\s?$"
)
_UNIT: Final = re.compile(r"\s?(?:am|pm|people|minutes?|hours?|days?|weeks?|times|euros?|kg|km|m|cm|uhr|h)\b")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_SHORTEST: Final = 4
_REACH: Final = 50
_PLAIN: Final = re.compile(
    r"(?<!\w)(?:the |new |entry |access |your |our |der |le |el |o |il |neue[rs]? |nouveau |nuevo |naya )"
    r"(?P<label>code|codigo|codice|kode|pin)"
    r"(?: is| is now|:| ist| lautet| est| es| e| now| changed to| has changed to| has been changed to| hai| =){1,2}\s?"
    r"(?P<v>\d{4,8}|\d{3} \d{3}|\d(?: \d){3,7})(?![\w%@]|[.,:/-]\w)"
)
_PASS: Final = re.compile(
    r"(?<!\w)(?:pass ?(?:word|wort|phrase|code|ord)|passwd|pwd?|kennwort|contrasena|clave|mot de passe|mdp|senha"
    r"|kodeord(?:et)?|tan|otp|parola)(?![\w-])(?: (?:nueva|nuovo|nova|neue|du wifi|del wifi|do wifi|for (?:the )?"
    r"[\w-]{2,20}|ka|now|(?:on|til) [\w-]{2,20})){0,2}"
    r"\s?(?:[:=]|is now|is|lautet|ist|est|es|e|er|hai|->)?\s?[\"'“]?"
    r"(?P<v>(?=[^\s\"'“”]{0,40}[\d!#%&*_+$@-])[^\s\"'“”<>,;:/]{4,64}?)(?=[.,;!?]?(?:[\s\"'”]|$))"
)
_PASS_NO: Final = re.compile(r"[\d.,:]{0,3}$|\d{1,2}[-–]\d{1,2}$|[a-z]+-[a-z]+$|\d+-?[a-z]+$|\S+@\S+\.\w+$")
_ANSWER: Final = re.compile(r"[^.?!\n]{0,30}?(?:\bis|\bwas|:|=)\s{0,2}(?P<v>[\"'“]?[^\W_][\w' -]{1,40})")


def read_credentials(reading: Reading) -> Iterator[tuple[int, int]]:
    """Spans of codes and passwords in the folded text."""
    text = reading.text
    if any(map(str.isdigit, text)):
        yield from _lock_codes(reading)
        for match in scan(_PLAIN, text):
            yield match.span("v")
    for match in scan(_PASS, text):
        if not _PASS_NO.fullmatch(match["v"]):
            yield match.span("v")
    for span in reading.find(_VALUE, "v") if reading.cues("enter") else ():
        if (
            span[1] - span[0] >= _SHORTEST
            and not _YEAR.fullmatch(text, *span)
            and reading.near(span, "enter", before=24, after=16)
            and not _is_other(text, span)
        ):
            yield span
    for _, end in reading.cues("answer"):
        if answer := _ANSWER.match(text, end, min(len(text), end + 100)):
            yield answer.span("v")


def _is_other(text: str, span: tuple[int, int]) -> bool:
    """A measure, a number of something else."""
    before = _NO_VALUE.search(text, max(0, span[0] - 12), span[0])
    return bool(before or _UNIT.match(text, span[1]))


def _lock_codes(reading: Reading) -> Iterator[tuple[int, int]]:
    for start, end in reading.cues("lock_code"):
        if reading.near((start, end), "other_code", before=12, after=12):
            continue
        reach = reading.sentence((start, end), 0, _REACH)[1]
        for match in _VALUE.finditer(reading.text, start, reach):
            if not _is_other(reading.text, match.span("v")):
                yield match.span("v")
                break
