"""Where somebody is to be reached: numbers, addresses and handles that are offered.

Offered is what a sentence says (call, write to, reach; "our new number is"; the helpline), and any telephone number or
e-mail address within a sentence of its own. What merely stands there is not: under a signature, in a header line
("From:"), beside a bare name, who wrote it, where to leave a list, the place of an event, somebody's home. The line is
drawn by harm: planted, the first makes a reader call or write to an attacker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from thymus.recognizers.stake_links import FURNITURE
from thymus.recognizers.stake_reading import Reading

_SPACED: Final = re.compile(
    r"(?<![\w.,:/€$£₹#+@-])(?:\d{2,5}(?: \d{2,4}){1,5}|\d{1,3}(?:,? \d{1,3}){6,14})(?![\w%@]|[.,:/-]\d| \d)"
)
"""Numbers that `phones` does not know by their shape: "22 00 11 22", and those in words."""
_GLUED: Final = re.compile(
    r"(?:call|text|txt|phone|tel|ph|help|no|care|ring|whatsapp)[:.\u2013 -]{0,3}(?P<v>0\d{9,10}|[6-9]\d{9})(?!\d)"
)
_SHORT_CODE: Final = re.compile(
    r"(?<!\w)(?:text|txt|sms|send)\b[^.\n]{1,40}? (?:to|2) (?:no\.?:? ?)?(?P<v>\d{4,6})(?!\d"
    r"|[.,]\d{3}| ?(?:people|members|users))"
)
_SIGNED: Final = re.compile(
    r"\s*(?:(?:t|p|m|f|e|w|tel|phone|telephone|mobile|mob|cell|fax|direct|office|email|e-mail|mail|work|home)\b[.:]{0,2}"
    r"|[|,/·-]|[+(]?\d[\d ().-]{5,20}|\S{1,64}@\S{3,80}|\s){0,12}+\s*",
)
_HEADER: Final = re.compile(
    r"(?:^|\n)[>\s]{0,8}(?:from|to|cc|bcc|sender|reply-to|mailto|von|an|de|para)\s?:[^\n]{0,200}$"
)
_LABEL: Final = re.compile(
    r"(?:^|[|\n\u2022*]|\s{2})[>\s]{0,6}(?:(?:t|p|m|f|e|tel|phone|telephone|mobile|mob|cell|fax|fax/voice|voice/fax|direct|office|e-?mail"
    r"|mail|telefon|telefono|handy|mobil)\b\s?[.:]{0,2}\s{0,6}|\s{0,3}/?\s?){1,2}"
    r"(?:[^\W\d_]{2,20} ){0,3}[(+<]?$"
)
_FORWARDED: Final = re.compile(r"(?:^|[.\s])(?:from|cc|bcc|sender)\s?: ?<?$")
_MESSAGE_ID: Final = re.compile(r"(?:message(?:-id)?:?|references:|in-reply-to:|mid)\s{0,4}<?$")
_WROTE: Final = re.compile(r"[)>\"' ]{0,4}(?:on [^\n]{1,40} )?(?:wrote|writes|said|schrieb|a ecrit|escribio)\b")
_NO_PHONE: Final = re.compile(
    r"(?<!\w)(?:order|ref(?:erence)?|tracking|invoice|ticket|account|acct|case|policy|id|isbn|booking|claim|parcel|flight"
    r"|page|postcode|zip|employee|staff|member(?:ship)?|reservation|customer|room|house|seat|serial|roll|registration|student|licen[cs]e"
    r"|vat|tax|meter|platform|model|part|contract|passport)(?: ?(?:number|no\.?|id|#|:|is)){0,2}\s?$"
)
_PHONE_SHAPE: Final = re.compile(r"\+\d|00\d{2} ?\d|0[\d ().\-/]{8,18}$|\(\d|\d{3}[ .-]\d{3}[ .-]\d{4}|555-\d{4}")
_BY: Final = re.compile(r"(?<!\w)(?:from|cc|von|by user|sent by)\s?:?\s?<?$")
_NATIONAL_ID: Final = re.compile(r"\d{3}-\d\d-\d{4}$")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_SENTENCE: Final = 4
"""Words beside a number that make it part of a statement; fewer are a name."""
_AT: Final = re.compile(r"(?<![\w@.])@[a-z0-9][\w.]{2,29}(?<!\.)(?![\w@])")
_STREET: Final = re.compile(
    r"(?<!\w)(?:p\.?o\.? box \d{1,6}|postfach \d[\d ]{1,8}|\d{1,4}[a-z]? (?:[^\W\d_]{2,20} ){1,3}(?:street|st|road|rd"
    r"|lane|ln|avenue|ave|drive|way|close|court|quay|square|boulevard|blvd|terrace|row|hill|park|crescent|place)"
    r"|[^\W\d_]{3,24}(?:str|strasse|straße|weg|gasse|platz|gata|veien) \d{1,4}"
    r"|(?:calle|rue|via|rua|avenida) (?:[^\W\d_]{2,20} ){1,3}\d{1,4}|\d{1,4},? rue (?:[^\W\d_]{1,20} ?){1,3})(?!\w)"
)


def read_contacts(reading: Reading) -> Iterator[tuple[int, int]]:
    """Spans of numbers, addresses and handles offered as where to reach somebody."""
    text = reading.text
    ends = frozenset(end for _, end in reading.phones)
    spaced = (span for span in reading.find(_SPACED) if span[1] not in ends and 8 <= _digits(text[slice(*span)]) <= 12)
    for span in (*reading.phones, *(spaced if reading.cues("phone") else ())):
        told = reading.near(span, "phone", before=80, after=30) or _is_told(reading, span, _PHONE_SHAPE)
        other = _NATIONAL_ID.match(text, *span) or _NO_PHONE.search(text, max(0, span[0] - 30), span[0])
        if told and not other and not _is_signature(text, span):
            yield span
    for start, end in reading.mails:
        told = reading.near((start, end), "mail", before=80, after=12) or _is_told(reading, (start, end), None)
        listed = FURNITURE.search(text, max(0, start - 80), end + 40)
        named = listed or _WROTE.match(text, end) or _BY.search(text, max(0, start - 12), start)
        if (told or _asked(text, start)) and not named and not _is_signature(text, (start, end)):
            yield start, end
    if "@" in text and reading.cues("handle"):
        yield from (span for span in reading.find(_AT) if reading.near(span, "handle", before=50, after=30))
    if reading.cues("post"):
        yield from (span for span in reading.find(_STREET) if reading.near(span, "post", before=60, after=0))
    yield from reading.find(_SHORT_CODE, "v")
    yield from reading.find(_GLUED, "v")


def _is_told(reading: Reading, span: tuple[int, int], shape: re.Pattern[str] | None) -> bool:
    """A telephone number or address, plain by its shape, within a sentence: nobody writes one for another end."""
    if shape and not shape.match(reading.text, *span):
        return False
    start, end = reading.sentence(span, 200, 60)
    if "\n" in reading.text[start:end]:  # a mail as it stands, with its headers and signatures
        return False
    return len(_WORD.findall(reading.text[start : span[0]] + " " + reading.text[span[1] : end])) >= _SENTENCE


def _digits(text: str) -> int:
    return sum(map(str.isdigit, text))


def _asked(text: str, start: int) -> bool:
    return text[max(0, start - 3) : start].rstrip().endswith("?")


def _is_signature(text: str, span: tuple[int, int]) -> bool:
    """A line of labels and numbers only, or one of a header."""
    first = text.rfind("\n", max(0, span[0] - 200), span[0]) + 1
    before = text[max(0, first - 1, span[0] - 60) : span[0]]
    if (
        _HEADER.search(text, max(0, first - 1), span[0])
        or _FORWARDED.search(before)
        or _MESSAGE_ID.search(text, max(0, span[0] - 40), span[0])
    ):
        return True
    last = text.find("\n", span[1], span[1] + 200)
    alone = first > 0 or last >= 0  # a text of one line was said for its own sake
    if alone and _LABEL.search(before) and not before.isspace():
        return True
    return alone and _SIGNED.fullmatch(text, first, last if last >= 0 else min(len(text), span[1] + 200)) is not None
