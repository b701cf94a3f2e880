"""Secret codes by what the words call them: PINs, one-time codes, recovery codes, national ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from thymus.recognizers.page import scan
from thymus.recognizers.tokens import Found
from thymus.recognizers.wordings import MOST_FOUND

_REACH: Final = 90
"""Characters behind a label in which its value is looked for."""

_PIN: Final = re.compile(
    r"(?<![\w-])(?:(?:(?:atm|sim|card|upi|bank|phone|transaction|voicemail|alarm|door|gate|safe|lock|entry"
    r"|keypad|garage|burglar|unlock|key ?safe) ?)(?:pin|code|combination|combo|mpin)"
    r"|m?pin|tpin|(?:door|gate|garage|alarm) keypad|(?:host|meeting) (?:key|pin|code)|geheimzahl|पिन"
    r"|code (?:to|for|of) the (?:alarm|safe|door|gate|lock|garage|key ?safe)|code pin)(?![\w-])(?: (?:number"
    r"|code))?(?:'s)?"
)
_POSTAL: Final = re.compile(r"pin ?-?code|pincode|postal|zip|delivery|address|post office")
_DIGITS: Final = re.compile(r"(?<![\w.,:/€$£₹#-])#?(\d{4,8}|\d(?: \d){3,7}|\d{1,2}-\d{1,2}-\d{1,2})(?![\w/-]|[.,:]\d)")


def read_pins(text: str, low: str) -> Iterator[Found]:
    """PINs of cards and telephones, codes of doors, alarms and safes. A postal code (India's PIN code) is none."""
    for match in scan(_PIN, low, MOST_FOUND):
        for number in islice(_DIGITS.finditer(text, match.end(), min(len(text), match.end() + _REACH)), 3):
            between = low[match.end() : number.start()]
            postal = len(number[1]) == 6 and _POSTAL.search(low, max(0, match.start() - 40), match.end() + 6)
            plain_year = re.search(r"\b(?:in|since|from|until|year|of) $", between)
            if postal or plain_year or "?" in between or "\n\n" in between:
                continue
            if len(between) > 30 and not re.search(r"(?:is|it's|:|=|was|to|now)\s*['\"]?$", between):
                continue
            yield "pin", (number.start(1), number.end(1))
            break


_CODE_LABEL: Final = (
    r"(?:one[- ]?time (?:pass(?:word|code)|code|pin)|otp|(?:verification|security|login|log-?in|sign-?in"
    r"|access|authenti\w{2,8}|auth|confirmation of login|2fa|mfa|two[- ]factor|activation|reset"
    r"|single[- ]use|whatsapp|google|apple id) (?:pass)?code|passcode|tan|mtan"
    r"|c[oó]digo de (?:verificaci[oó]n|seguridad|acceso|verifica[cç][aã]o|seguran[cç]a)"
    r"|code de (?:v[eé]rification|s[eé]curit[eé]|connexion)"
    r"|best[aä]tigungscode|sicherheitscode|codice di (?:verifica|sicurezza)|ओटीपी|सत्यापन कोड)"
)
_CODE_AFTER: Final = re.compile(
    rf"(?<![\w-]){_CODE_LABEL}(?![\w-])[^\d\n?]{{0,45}}?(?<![\w€$£₹.,/-])(?P<code>[a-z]?-?\d{{3}}[ -]?\d{{3,5}}"
    rf"|\d\d(?: \d\d){{1,3}}|\d{{4,8}})(?![\w/]|[-.,:]\d)"
)
_CODE_BEFORE: Final = re.compile(
    rf"(?<![\w.,/+-])(?P<code>[a-z]-\d{{4,8}}|\d{{3}}[ -]\d{{3}}|\d{{4,8}}) (?:is|es|est|ist|è|é|hai"
    rf"|है)(?: [\w']{{1,15}}){{0,4}}? (?:{_CODE_LABEL}|(?:whatsapp|google|facebook|telegram|signal|instagram"
    rf"|amazon|microsoft|uber|paypal) code)"
)
_CODE_USE: Final = re.compile(
    r"\bcode:? (?P<code>\d{3}[ -]?\d{3}|\d{4,8}) to (?:sign|log|verify|confirm|authori[sz]e|complete|finish|unlock)"
)
_CVC: Final = re.compile(
    r"\b(?:cv[cv]2?|card verification|csc|security code|(?:three"
    r"|3)(?: digits)? on the back)\b[^\d\n]{0,24}(?P<code>\d{3,4})(?!\d)"
)


def read_one_time_codes(_: str, low: str) -> Iterator[Found]:
    """Codes that log somebody in once, and the check digits of a card."""
    for pattern in (_CODE_AFTER, _CODE_BEFORE, _CODE_USE):
        for match in scan(pattern, low, MOST_FOUND):
            yield "one_time_code", match.span("code")
    for match in scan(_CVC, low, MOST_FOUND):
        yield "card", match.span("code")


_RECOVERY: Final = re.compile(
    r"(?<![\w-])(?:(?:recovery|backup|back-up|scratch|emergency|rescue|reset) (?:codes?|keys?)"
    r"|c[oó]digos? de (?:recuperaci[oó]n|respaldo)|codes? de (?:r[eé]cup[eé]ration|secours)"
    r"|wiederherstellungscodes?|notfallcodes?)(?![\w-])"
)
_RECOVERY_CODE: Final = re.compile(
    r"(?<![\w./-])(?=[a-z-]{0,24}\d)[a-z0-9]{4,12}(?:-[a-z0-9]{3,12}){1,7}(?![\w/-])"
    r"|(?<![\w.-])(?=[a-z]{0,15}\d)[a-z0-9]{8,16}(?![\w-])|(?<![\w.-])\d{3,4} \d{4}(?!\w)"
)
_SEED: Final = re.compile(
    r"(?:seed|recovery|mnemonic|secret recovery|backup|wallet)[ -](?:phrase|words?|seed)|mnemonic"
    r"|phrase de r[eé]cup[eé]ration|frase semilla|frase de recuperaci[oó]n"
)
_SETUP: Final = re.compile(
    r"(?i:2fa|totp|mfa|two[- ]factor|authenticator|setup)\b[^\n]{0,24}?(?i:key|secret"
    r"|seed)\b[^\n]{0,60}?(?<!\w)(?P<key>(?=[A-Z ]{0,40}[2-7])[A-Z2-7]{4}(?: ?[A-Z2-7]{4}){3,15})(?!\w)"
    r"|otpauth://\S{8,500}",
    re.ASCII,
)
_WORDS: Final = re.compile(r"(?:[^\W\d_]{3,8}(?:\s?[,/·-]\s?|\s{1,2}(?:\d{1,2}[.)] ?)?)){11,23}[^\W\d_]{3,8}")


def read_recovery(text: str, low: str) -> Iterator[Found]:
    """Recovery codes, seed phrases (BIP 39) and the keys of authenticators (RFC 6238)."""
    for match in scan(_RECOVERY, low, MOST_FOUND):
        if code := _RECOVERY_CODE.search(low, match.end(), min(len(low), match.end() + _REACH)):
            yield "recovery_code", code.span()
    for match in scan(_SETUP, text, MOST_FOUND):
        yield "token", match.span("key") if match["key"] else match.span()
    for match in scan(_SEED, low, MOST_FOUND):
        if phrase := _WORDS.search(text, match.end(), min(len(text), match.end() + 320)):
            yield "recovery_phrase", phrase.span()


_NATIONAL: Final = (
    (r"ssn|social security(?: (?:number|no\.?))?", r"\d{3}-?\d{2}-?\d{4}"),
    (r"aadha+r|आधार", r"\d{4}[ -]?\d{4}[ -]?\d{4}"),
    (r"pan(?: card)?(?: (?:number|no\.?))?", r"[a-z]{5}\d{4}[a-z]"),
    (r"national insurance|nino|ni (?:number|no\.?)", r"[a-z]{2} ?\d{2} ?\d{2} ?\d{2} ?[a-d]"),
    (r"passport(?: (?:number|no\.?))?|reisepass\w{0,6}|pasaporte|passeport", r"[a-z]{0,2}\d{6,9}|[a-z]\d[a-z0-9]{6,8}"),
    (r"dni|nie|nif", r"[xyz]?-?\d{7,8}-?[a-z]"),
    (r"cpf", r"\d{3}\.?\d{3}\.?\d{3}-?\d{2}"),
    (r"codice fiscale", r"[a-z]{6}\d{2}[a-z]\d{2}[a-z]\d{3}[a-z]"),
    (r"steuer-?id\w{0,20}|steuerliche identifikationsnummer", r"\d{2} ?\d{3} ?\d{3} ?\d{3}"),
    (r"sozialversicherungsnummer", r"\d{2} ?\d{6} ?[a-z] ?\d{3}"),
    (r"num[eé]ro de s[eé]curit[eé] sociale|nir|s[eé]cu", r"[12] ?\d{2} ?\d{2} ?\d{2} ?\d{3} ?\d{3}(?: ?\d{2})?"),
)
NATIONAL_CLUES: Final = (
    "ssn social aadha आधार pan national nino pass pasaporte dni nie nif cpf fiscale steuer sozial secu sécu nir ni"
)
_NATIONAL_IDS: Final = tuple(
    re.compile(rf"(?<!\w)(?:{words})(?!\w)[^\d\n]{{0,24}}?(?<![\w.-])(?P<id>{shape})(?![\w-])")
    for words, shape in _NATIONAL
)


def read_national_ids(_: str, low: str) -> Iterator[Found]:
    """Numbers that the words call somebody's national id or passport."""
    for pattern in _NATIONAL_IDS:
        for match in scan(pattern, low, MOST_FOUND):
            yield "national_id", match.span("id")
