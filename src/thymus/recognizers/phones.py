"""Telephone numbers, in any usual spelling, as E.164 where the country is known (ITU-T E.164, E.123)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from thymus.core.values import Phone
from thymus.recognizers.page import Page, scan

_EXTENSION = r"(?:,?\s?(?:ext\.?|extension|x|durchwahl)\s?(?P<ext>\d{1,6}))?"
_INTERNATIONAL = re.compile(
    rf"(?<![\w+])(?P<plus>\+|00(?=[1-9]\d))\s?(?P<digits>\(?\d(?:[ ().\-/]{{0,3}}\d){{6,16}}){_EXTENSION}(?![\w])"
)
_NATIONAL = re.compile(
    rf"(?<![\w.,:/$£€₹#+-])(?P<digits>\(?0\d(?:[ ().\-/]{{0,2}}\d){{7,11}}|\(\d{{2,5}}\)\s?\d"
    rf"(?:[ .\-]?\d){{4,9}}|\d{{3}}[ .-]\d{{3}}[ .-]\d{{4}}|\d{{3}}[.-]\d{{4}}|\d{{10}}"
    rf"|\d{{5}} \d{{5,6}}){_EXTENSION}(?![\w%]|[.,:/-]\d)"
)
_LED = re.compile(
    rf"(?<!\w)(?:phone|tel|telephone|mobile|mob|cell|call|ring|text|whatsapp|sms|helpline|hotline"
    rf"|landline|number is|new number|dial|reach \w{{2,5}} (?:on|at)|handy|móvil|teléfono|fax"
    rf"|contact)\b[^\w\x00]{{0,3}}(?:(?:is|us|me|him|her|them|on|at|to|number|no|now|the|desk"
    rf"|office)[.: ]{{1,2}}){{0,3}}(?P<digits>\(?\d(?:[ ().\-]{{0,2}}\d){{4,14}}){_EXTENSION}(?![\w%]"
    rf"|[.,:/]\d)"
)
_LETTERS = re.compile(r"[^\d]")
_TRIGGER = re.compile(r"\d[\d ().\-/]{4}")


def read_phones(page: Page) -> None:
    """Claim telephone numbers; national ones become international when `page.region` (ISO 3166) is given."""
    if not _TRIGGER.search(page.low):
        return
    for pattern in (_INTERNATIONAL, _NATIONAL, _LED):
        for start, end, digits, extension, plus in _found(pattern, page):
            national = plus is None
            e164 = None if national and not page.region else _parse(digits, page.region, international=not national)
            known = e164 is not None or not national
            page.claim(start, end, Phone, digits=e164 or digits, international=known, extension=extension)
        page.settle()


def _found(pattern: re.Pattern[str], page: Page) -> Iterator[tuple[int, int, str, str, str | None]]:
    for match in scan(pattern, page.low):
        start, end = match.span("digits")
        # "07700 900412 thirty minutes before": a number in words does not continue one in figures
        spelt = (
            [at for at in range(start + 1, end) if at in page.spelt] if page.spelt and start not in page.spelt else []
        )
        whole = page.low[start : spelt[0] if spelt else end].rstrip(" (.-/")
        digits = _LETTERS.sub("", whole)
        if (7 if spelt else 5) <= len(digits) <= 17:
            groups = match.groupdict()
            plus = groups.get("plus")
            first = match.start("plus") if plus else start
            yield first, start + len(whole) if spelt else match.end(), digits, groups["ext"] or "", plus


def _parse(digits: str, region: str | None, *, international: bool) -> str | None:
    """The number in E.164 without "+", or None: an invented number need not be valid to be compared."""
    import phonenumbers

    try:
        number = phonenumbers.parse(("+" if international else "") + digits, None if international else region)
    except phonenumbers.NumberParseException:
        return None
    return f"{number.country_code}{'0' if number.italian_leading_zero else ''}{number.national_number}"
