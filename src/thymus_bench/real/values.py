"""Values in real text: telephone numbers, links, addresses, amounts, times, dates, weekdays and rooms.

Deliberately not ``thymus.recognizers``: a benchmark that cut its values with the judge's own eyes would only ask what
that judge can see. These patterns are few and strict; what they cannot read is left out and counted. Every pattern is
bounded, so time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final


class Sort(StrEnum):
    """What sort of value it is."""

    PHONE = "phone"
    SHORT_CODE = "short code"
    LINK = "link"
    ADDRESS = "address"
    AMOUNT = "amount"
    CLOCK = "clock"
    DATE = "date"
    DAY = "day"
    ROOM = "room"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A value and where it stands.

    :param key: the same for two writings of one value.
    :param markers: ways to write it, as ``thymus_bench.markers`` looks for them.
    """

    sort: Sort
    text: str
    start: int
    end: int
    key: str
    markers: tuple[str, ...]


_PHONE: Final = re.compile(r"(?<![\d£$€#.,/@*-])(?:\+ ?)?\(?\d(?:[ -]?\(?\d\)?){7,13}(?![\d/*-]|[.,]\d)")
_SHORT_CODE: Final = re.compile(
    r"(?i:\b(?:txt|text|send|sms|reply)\b[^\n]{0,40}?\b(?:to|on) (?:no\.?:? ?)?)(\d{4,6})\b"
    r"(?![-/]|\.\d| ?(?:pound|p\b|cash))"
)
_LABELS: Final = r"(?<![\w@.-])(?:[a-z0-9-]{1,40}\.){1,4}"
_PATH: Final = r"[^\s<>\"'()\[\]\ufffd]"
_LINK: Final = re.compile(
    rf"(?i:https?://{_PATH}{{4,300}}|(?<![\w@.-])www\.{_PATH}{{4,200}}"
    rf"|{_LABELS}(?:com|net|org|info|biz|uk|ru|xyz|tk)(?![\w-])(?:/{_PATH}{{0,200}})?|{_LABELS}[a-z]{{2,6}}/{_PATH}{{1,200}})"
)
"""With a scheme, with ``www.``, with a well-known ending, or with a path: "sign.in" alone is a typing error."""
_ADDRESS: Final = re.compile(r"(?i:(?<![\w.+-])[\w.+-]{1,64}@(?:[a-z0-9-]{1,63}\.){1,4}[a-z]{2,12}(?![\w-]))")
_AMOUNT: Final = re.compile(
    r"(?i:(?:[£$€₹]|\b(?:rs\.?|inr|rm|usd|gbp|eur)) ?\d{1,3}(?:(?:,\d{2,3})+|\d{0,8})(?:\.\d{1,2})?(?![\d%])"
    r"(?: ?(?:k|m|million|thousand|lakhs?|crores?)\b)?"
    r"|(?<![\d.,])\d{1,3}(?:(?:,\d{2,3})+|\d{0,8})(?:\.\d{1,2})? ?"
    r"(?:pounds?|dollars?|bucks|euros?|rupees|quid|pence)\b)"
)
_CLOCK: Final = re.compile(
    r"(?<![\d:.,/£$€-])(\d{1,2})(?:[:.](\d{2}))? ?([ap])\.?m\b\.?(?![a-z])"
    r"|(?<![\d:.,/£$€-])(\d{1,2}):(\d{2})(?![\d:])"
    r"|(?<=\bat )(\d{1,2})[.]?(\d{2})(?![\d:/%])(?!\s?(?:pounds|dollars|mins|min|km|miles))"
    r"|(?<=\buntil )(\d{1,2})[.]?(\d{2})(?![\d:/%])|(?<=\btill )(\d{1,2})[.]?(\d{2})(?![\d:/%])",
    re.IGNORECASE,
)
_HOUR: Final = re.compile(
    r"(?i:(?<![\w])(?:at|by|around|about|ard|abt|before|after|till|until|til|@) ?)(1[0-2]|[1-9])(?:ish)?"
    r"(?= ?(?:[.,!?;)\n]|$)| (?:today|tonight|tomorrow|tmr|tomo|2moro|2nite|then|and|so|ok|lor|lar|lei|na|k|for|to|in|"
    r"on|if|but|cos|coz|from|with|my|your|the|then|sharp|da|e)\b)"
)
_MONTHS: Final = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH: Final = "|".join(f"{one}|{one[:3]}|sept" if one == "september" else f"{one}|{one[:3]}" for one in _MONTHS)
_DATE: Final = re.compile(
    rf"(?i:\b(?P<m1>{_MONTH})\.? (?:the )?(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.]\d|,?\d| ?[ap]m)"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<m2>{_MONTH})\b)"
)
_DAY: Final = re.compile(r"(?i:\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)")
_ROOM: Final = re.compile(
    r"\b(?:EB|ECN|ECS|3AC) ?-?\d{2,4}[A-Z]?\d?\b"
    r"|(?i:\b(?:conference |conf\.? |class ?|meeting )?room )[A-Z]?\d{1,5}[A-Za-z]?\b"
)
_HOURS, _MINUTES = 23, 59


MOST: Final = 50
"""Values of one sort that are read; no message that anybody could be asked about has more."""


def find(text: str, *sorts: Sort) -> list[Found]:
    """The values of these sorts in a text, in their order; a link or address hides the numbers within it."""
    found: list[Found] = []
    for sort in Sort:
        if sort in sorts or sort in (Sort.LINK, Sort.ADDRESS):
            for one in islice(_READERS[sort](text), MOST):
                if not any(one.start < other.end and other.start < one.end for other in found):
                    found.append(one)
    return sorted((one for one in found if one.sort in sorts), key=lambda one: one.start)


def _phones(text: str) -> Iterator[Found]:
    for match in _PHONE.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if 9 <= len(digits) <= 13 and len(set(digits)) > 2:
            yield _found(Sort.PHONE, match[0].strip(), match.start(), match.end(), digits, (digits,))


def _short_codes(text: str) -> Iterator[Found]:
    for match in _SHORT_CODE.finditer(text):
        yield _found(Sort.SHORT_CODE, match[1], match.start(1), match.end(1), match[1], (match[1],))


def _links(text: str) -> Iterator[Found]:
    for match in _LINK.finditer(text):
        glued = _GLUED.match(match[0])
        begins = glued.end() if glued else 0
        whole = match[0][begins:].rstrip(".,;:!?*_")
        bare, host = _SCHEME.sub("", whole).rstrip("/"), host_of(whole)
        if "." in host and (len(host) > len("t.co") or "/" in bare):
            short = bare if len(bare) <= _LONGEST_LINK else host
            yield _found(
                Sort.LINK, whole, match.start() + begins, match.start() + begins + len(whole), short.lower(), (short,)
            )


def host_of(link: str) -> str:
    """The host that a link names, without ``www.``."""
    return re.split(r"[/?#]", _SCHEME.sub("", link), maxsplit=1)[0].rpartition("@")[2].lower()


_GLUED: Final = re.compile(r"(?i:(?!https?:|www\.)[a-z0-9.-]{1,60}?(?=https?:|www\.))")
"""What was written right before a link, without the space between."""
_SCHEME: Final = re.compile(r"(?i:^(?:https?:/*)?(?:www\.)?)")
_LONGEST_LINK: Final = 40
"""Characters beyond which nobody writes out a link: its host then stands for it."""


def _addresses(text: str) -> Iterator[Found]:
    for match in _ADDRESS.finditer(text):
        yield _found(Sort.ADDRESS, match[0], match.start(), match.end(), match[0].lower(), (match[0],))


def _amounts(text: str) -> Iterator[Found]:
    for match in _AMOUNT.finditer(text):
        number = re.sub(r"[^\d.]", "", re.sub(r"(?i)^rs\.", "", match[0])).strip(".")
        whole = re.sub(r"\.00?$", "", number)
        if whole and (len(whole) > 1 or not whole.isdigit()):
            yield _found(
                Sort.AMOUNT, match[0], match.start(), match.end(), match[0].lower().replace(" ", ""), (number,)
            )


def _clocks(text: str) -> Iterator[Found]:
    for match in _CLOCK.finditer(text):
        hour, minute, half = match[1], match[2], (match[3] or "").lower()
        for at in (4, 6, 8, 10):
            hour, minute = hour or match[at], minute or match[at + 1]
        hours, minutes = int(hour), int(minute or 0)
        if hours > _HOURS or minutes > _MINUTES or (not half and not minute):
            continue
        clock = f"{hours}:{minutes:02}"
        if half:
            spoken = (f"{hours}{half}m",) if not minutes else ()
            markers = (*spoken, f"{clock}{half}m", clock)
        else:
            markers = (clock,)
        yield _found(Sort.CLOCK, match[0].strip(), match.start(), match.end(), clock + half, markers)
    for match in _HOUR.finditer(text):
        hour = match[1]
        ways = tuple(f"{way} {hour}" for way in ("at", "by", "around", "about", "before", "after", "until"))
        halves = (f"{hour}am", f"{hour}pm", f"{hour}:00", f"{hour} o'clock")
        yield _found(Sort.CLOCK, match[0], match.start(), match.end(), hour, (match[0], *ways, *halves))


def _dates(text: str) -> Iterator[Found]:
    for match in _DATE.finditer(text):
        name, day = match["m1"] or match["m2"], int(match["d1"] or match["d2"])
        month = next(one for one in _MONTHS if one.startswith(name.lower()[:3]))
        if 1 <= day <= 31:
            ways = [f"{month} {day}", f"{day} {month}", f"{month[:3]} {day}", f"{day} {month[:3]}"]
            ways += [f"{month} {day}{one}" for one in ("st", "nd", "rd", "th")]
            ways += [f"{day}{one} {middle}{month}" for one in ("st", "nd", "rd", "th") for middle in ("", "of ")]
            yield _found(Sort.DATE, match[0], match.start(), match.end(), f"{month} {day}", (match[0], *ways))


def _days(text: str) -> Iterator[Found]:
    for match in _DAY.finditer(text):
        yield _found(Sort.DAY, match[0], match.start(), match.end(), match[0].lower(), (match[0].capitalize(),))


def _rooms(text: str) -> Iterator[Found]:
    for match in _ROOM.finditer(text):
        number = match[0].split()[-1] if match[0].lower().find("room") >= 0 else match[0]
        if len(number) > 1:
            yield _found(Sort.ROOM, match[0], match.start(), match.end(), number.lower().replace(" ", ""), (number,))


def _found(sort: Sort, text: str, start: int, end: int, key: str, markers: tuple[str, ...]) -> Found:
    return Found(sort=sort, text=text, start=start, end=end, key=key, markers=tuple(dict.fromkeys(markers)))


_READERS: Final = {
    Sort.PHONE: _phones,
    Sort.SHORT_CODE: _short_codes,
    Sort.LINK: _links,
    Sort.ADDRESS: _addresses,
    Sort.AMOUNT: _amounts,
    Sort.CLOCK: _clocks,
    Sort.DATE: _dates,
    Sort.DAY: _days,
    Sort.ROOM: _rooms,
}
