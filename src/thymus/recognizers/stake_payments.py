"""Where money is to go: accounts, wallets, handles, cards, gift cards, and orders to pay to somebody.

IBANs follow ISO 13616 (check digits ISO/IEC 7064, MOD 97-10), BICs ISO 9362, Bitcoin addresses BIP 13 and BIP 173.
A price, an amount spent, and numbers of orders, invoices and customers are no destinations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from thymus.recognizers.page import words
from thymus.recognizers.stake_reading import Reading

_IBAN: Final = re.compile(r"(?<![\w-])[a-z] ?[a-z] ?\d ?\d(?:[ -]?[a-z0-9]){11,44}")
_IBAN_LENGTHS: Final = {
    row[:2]: int(row[2:])
    for row in words(
        "ad24 ae23 al28 at20 az28 ba20 be16 bg22 bh22 br29 by28 ch21 cr22 cy28 cz24 de22 dk18 do28 ee20 eg29 "
        "es24 fi18 fo18 fr27 gb22 ge22 gi23 gl18 gr27 gt28 hr21 hu28 ie22 il23 iq23 is26 it27 jo30 kw30 kz20 "
        "lb28 lc32 li21 lt20 lu20 lv21 ly25 mc27 md24 me22 mk19 mr27 mt31 mu30 nl18 no15 pk24 pl28 ps29 pt25 "
        "qa29 ro24 rs22 sa24 sc31 se24 si19 sk24 sm27 st25 sv28 tl23 tn24 tr26 ua29 va22 vg24 xk20"
    )
}
_IBAN_SHAPE: Final = re.compile(
    r"[a-z]{2}\d\d(?:[ -][a-z0-9]{4}){2,7}(?:[ -][a-z0-9]{1,4})?|[a-z]{2}\d\d[a-z0-9]{10,30}"
)
_NUMBER: Final = re.compile(
    r"(?<![\w.,:/€$£₹#+@-])(?P<v>(?!\d{4}-\d\d-\d\d(?!\d))\d(?:[ -]?\d){5,23})(?![\w%@]|[.,:/-]\d)"
)
_SORT: Final = re.compile(r"(?<!\w)(?:sort ?code|s/c)\b\D{0,12}(?P<v>\d\d[ -]?\d\d[ -]?\d\d)(?!\w)")
_PAIR: Final = re.compile(
    r"(?<![\w.-])(?P<v>\d\d-\d\d-\d\d[\s,/·|]{1,3}(?:no\.? |account )?\d{7,8}"
    r"|\d{8}[\s,/·|]{1,3}\d\d-\d\d-\d\d)(?![\w-])"
)
_CODES: Final = re.compile(
    r"(?<!\w)(?:(?:routing|aba)\b\D{0,20}(?P<r>\d{9})|(?P<f>[a-z]{4}0[a-z0-9]{2}\d{4})"
    r"|(?:swift|bic)\b(?:[ -]?code)?[\s:/]{0,3}(?:is )?(?P<s>[a-z]{6}[a-z0-9]{2}(?:[a-z0-9]{3})?)"
    r"|bsb\b\D{0,12}(?P<b>\d{3}[ -]?\d{3}))(?!\w)"
)
_WALLET: Final = re.compile(r"(?<!\w)(?:bc1[a-z0-9]{25,60}|ltc1[a-z0-9]{25,60}|0x[0-9a-f]{40})(?!\w)")
_BASE58: Final = re.compile(r"(?<!\w)(?=[a-z]{0,30}\d)(?:[13tlmdr48][a-z0-9]{25,34}|[48][a-z0-9]{94})(?!\w)")
_UPI: Final = re.compile(
    r"(?<![\w.])[\w.-]{2,50}@(?P<bank>ok(?:icici|sbi|axis|hdfcbank|bizaxis)|ybl|ibl|axl|upi|paytm|apl|fbl|axisbank|sbi|icici"
    r"|hdfcbank|kotak|barodampay|ptsbi|yapl|jupiteraxis|freecharge|[a-z]{2,15})(?![\w.@-]\w|[\w@])"
)
_KNOWN_UPI: Final = re.compile(r"@(?:ok\w+|ybl|ibl|axl|upi|paytm|apl|ptsbi|yapl)$")
_PAY_PAGE: Final = re.compile(
    r"(?:paypal\.(?:me|com/paypalme)|venmo\.com|cash\.app|revolut\.me|monzo\.me|wise\.com/pay|buy\.stripe\.com|pay\.google\.com)/"
)
_CASHTAG: Final = re.compile(r"(?<![\w$])\$[a-z][a-z0-9_-]{2,20}(?!\w)")
_AT: Final = re.compile(r"(?<![\w@.])@[a-z0-9][\w.-]{1,29}(?<!\.)(?![\w@])")
_GIFT: Final = re.compile(
    r"(?<!\w)(?:gift ?card|steam card|itunes card|google play(?: card)?|amazon card)s?\b[^\d\n]{0,16}?(?:code|pin"
    r"|number|no\.?)s?\b[^\w\n]{0,3}(?:is )?(?P<v>(?=[a-z-]{0,20}\d)[a-z0-9]{3,8}(?:[ -][a-z0-9]{3,8}){1,4}"
    r"|(?=[a-z]{0,20}\d)[a-z0-9]{10,24})(?!\w)"
)
_NO_DESTINATION: Final = re.compile(
    r"(?:order|ref(?:erence)?|tracking|invoice|ticket|booking|case|customer|receipt|transaction|txn|phone|tel|call)"
    r"(?: ?(?:number|no\.?|id|#|:|is)){0,2}\s?$"
)
_HANDLE_REACH: Final = 40


def read_payments(reading: Reading) -> Iterator[tuple[int, int]]:
    """Spans of destinations."""
    if any(map(str.isdigit, reading.text)):
        yield from _accounts(reading)
        yield from reading.find(_WALLET)
        yield from (span for span in reading.find(_BASE58) if reading.near(span, "crypto", before=60, after=30))
        yield from reading.find(_GIFT, "v")
    yield from _handles(reading)
    for start, end in reading.cues("pay_to!"):
        yield start, max(end, reading.sentence((start, end), 0, 40)[1])


def _accounts(reading: Reading) -> Iterator[tuple[int, int]]:
    text = reading.text
    for start, end in reading.find(_IBAN):
        if length := _iban_length(text[start:end]):
            yield start, start + length
    if "iban" in text or reading.cues("account"):
        for span in reading.find(_IBAN_SHAPE):
            if span[1] - span[0] >= 14 and (
                "iban" in text[max(0, span[0] - 40) : span[0]] or reading.near(span, "account")
            ):
                yield span
    yield from reading.find(_SORT, "v")
    yield from reading.find(_PAIR, "v")
    coded = False
    for match in _CODES.finditer(text):
        coded = True
        yield match.span(match.lastgroup or 0)
    if not reading.cues("account") and not coded:
        return
    for span in reading.find(_NUMBER, "v"):
        if (
            reading.near(span, "account", before=45, after=0)
            and reading.near(span, "pay", before=140, after=90)
            and not reading.near(span, "customer", before=40, after=0)
            and not _NO_DESTINATION.search(text, max(0, span[0] - 30), span[0])
        ):
            yield span


def _iban_length(text: str) -> int:
    """How many characters from the start are a valid IBAN, spaces included; 0 where there is none."""
    places = [place for place, char in enumerate(text) if char.isalnum()]
    number = "".join(text[place] for place in places)
    length = _IBAN_LENGTHS.get(number[:2], len(number) + 1)
    if length > len(number) or not number.isascii() or text[places[length - 1] + 1 :][:1].isalnum():
        return 0
    turned = number[4:length] + number[:4]
    return places[length - 1] + 1 if int("".join(str(int(char, 36)) for char in turned)) % 97 == 1 else 0


def _handles(reading: Reading) -> Iterator[tuple[int, int]]:
    text = reading.text
    if "@" in text:
        for span in reading.find(_UPI):
            if _KNOWN_UPI.search(text, *span) or reading.near(span, "app"):
                yield span
    for span in reading.links:
        if _PAY_PAGE.search(text, *span):
            yield span
    if not reading.cues("app"):
        if "$" in text:
            yield from (span for span in reading.find(_CASHTAG) if reading.near(span, "pay", before=40, after=20))
        return
    candidates = [*reading.mails, *reading.phones]
    candidates += reading.find(_AT) if "@" in text else ()
    candidates += reading.find(_CASHTAG) if "$" in text else ()
    candidates += reading.find(_NUMBER, "v")
    for span in candidates:
        near = reading.near(span, "app", before=_HANDLE_REACH, after=20)
        if near and not _NO_DESTINATION.search(text, max(0, span[0] - 30), span[0]):
            yield span
