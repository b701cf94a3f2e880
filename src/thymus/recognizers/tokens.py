"""Secrets that their own shape gives away: private keys, tokens of well-known issuers, card numbers.

Shapes follow the issuers' documentation; bearer tokens RFC 6750, JSON web tokens RFC 7519, key blocks RFC 7468, card
numbers ISO/IEC 7812.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from thymus.recognizers.page import scan
from thymus.recognizers.wordings import MOST_FOUND

Found: TypeAlias = tuple[str, tuple[int, int]]
"""Name and span of a secret."""

_SHAPES: Final = (
    (
        "private_key",
        re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d"),
    ),
    (
        "token",
        re.compile(
            r"(?<![A-Za-z0-9])(?:A(?:KI|SI)A[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{22,255}"
            r"|glpat-[\w-]{16,255}|xox[abeprs]-[\w-]{10,255}|AIza[\w-]{30,64}|ya29\.[\w-]{20,255}|GOCSPX-[\w-]{20,64}"
            r"|sk-[\w-]{16,255}|hf_[A-Za-z0-9]{20,64}|npm_[A-Za-z0-9]{30,64}|pypi-[\w-]{30,255}"
            r"|dop_v1_[0-9a-f]{40,64}"
            r"|SG\.[\w-]{16,64}\.[\w-]{16,64}|whsec_[\w+/=-]{12,128}"
            r"|eyJ[\w-]{8,4096}\.[\w-]{6,4096}(?:\.[\w-]{0,4096})?"
            r"|(?!pk_)[a-z]{2,10}_(?:live|test|prod|pat|secret|sk|key)_(?=[A-Za-z_]{0,64}\d)\w{10,255}"
            r"|\d{8,10}:[A-Za-z][\w-]{33,40})(?![A-Za-z0-9])",
            re.ASCII,
        ),
    ),
    (
        "token",
        re.compile(
            r"(?i:\bbearer\s{1,3})(?=[\w.~+/-]{0,64}\d)[\w.~+/-]{12,4096}=*"
            r"|(?i:\bauthorization\s{0,2}:\s{0,2}(?:basic|token)\s{1,3})\S{8,1024}"
        ),
    ),
    (
        "password",
        re.compile(r"://[^\s/:@<>\"']{0,64}:(?!pass(?:word)?@|\*|<|\$|\{|xxx)(?P<secret>[^\s/@<>]{3,128})@(?=[\w\[])"),
    ),
)
_SHAPE_CLUE: Final = re.compile(
    r"-----BEGIN|PuTTY|A[KS]IA|[-_]|AIza|ya29|SG\.|eyJ|[Bb]earer|BEARER|uthoriz|AUTHORIZ|://|\d:[A-Za-z]"
)


def read_shaped(text: str) -> Iterator[Found]:
    """Keys, tokens and addresses with a password: name and span."""
    if _SHAPE_CLUE.search(text):
        for name, pattern in _SHAPES:
            for match in scan(pattern, text, MOST_FOUND):
                yield name, match.span("secret" if "secret" in pattern.groupindex else 0)


_CARD: Final = re.compile(
    r"(?<![\w.,+/-])(?<![A-Z]{2}\d\d )(?:\d{4}([ -]?)\d{4}\1\d{4}\1\d{4}"
    r"|3[47]\d\d([ -]?)\d{6}\2\d{5})(?![\w/]|[-. ]\d{2,})"
)
_CARD_WORDS: Final = re.compile(
    r"\b(?:(?:credit|debit|bank|visa|my|the|new|our|mum's|dad's) ?card|card(?: ?(?:number|no\b|nr|details))"
    r"|cards?|visa|mastercard|amex|maestro|american express|cvc|cvv|cvv2|kreditkarte|karte|tarjeta"
    r"|carte|cartao|cartão|carta|exp(?:iry|ires|\.)?|कार्ड)\b"
)
_CARD_PROOF: Final = re.compile(
    r"\b(?:cv[cv]2?|exp(?:iry|ires|ira|\.)?|valid (?:to|until|thru)|on the back|csc|security code)\b"
    r"|\b(?:0[1-9]|1[0-2]) ?/ ?(?:20)?[23]\d\b"
)
_NO_CARD: Final = re.compile(
    r"\b(?:order|tracking|parcel|shipment|invoice|reference|ref|booking|meter|policy|imei|iban|konto|serial"
    r"|ticket|loyalty|gift|points|member(?:ship)?|library|sim|iccid|customer|consumer"
    r"|isbn|id|rechnung|pedido|commande|barcode|ean|transaction|case|e-ticket)\b"
)


def read_cards(text: str, low: str) -> Iterator[Found]:
    """Card numbers: a valid one by itself, another where expiry or check digits stand beside it, none called an id."""
    for match in scan(_CARD, text, MOST_FOUND):
        digits = re.sub(r"\D", "", match[0])
        before, around = (
            low[max(0, match.start() - 50) : match.start()],
            low[max(0, match.start() - 50) : match.end() + 60],
        )
        if digits[0] not in "23456" or _NO_CARD.search(before):
            continue
        if _luhn(digits) or (_CARD_WORDS.search(around) and _CARD_PROOF.search(low[match.end() : match.end() + 60])):
            yield "card", match.span()


def _luhn(digits: str) -> bool:
    doubled = (int(digit) * 2 for digit in digits[-2::-2])
    return len(set(digits)) > 1 and (sum(map(int, digits[-1::-2])) + sum(n - 9 * (n > 9) for n in doubled)) % 10 == 0
