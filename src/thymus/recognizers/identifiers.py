"""Identifiers that are compared to the letter: accounts and codes."""

from __future__ import annotations

import re

from thymus.core.values import Account, Code
from thymus.recognizers.page import Page, alternatives, scan

_IBAN = re.compile(
    r"(?<![\w-])(?P<iban>[A-Z]{2}\d{2}(?:[A-Z0-9]{8,30}|(?:[ -](?:[A-Z0-9]{4}|\d{1,10}|[A-Z]?\d{1,3})"
    r"(?![A-Z0-9])){2,8}))(?![\w-])"
)
_IBAN_LED = re.compile(
    (
        r"(?<!\w)iban(?:\s?(?:is|no\.?|number|:|=))?:?\s?(?P<iban>[a-z]{2}\d{2}(?:[a-z0-9]{8,30}|(?:[ -]"
        r"(?:[a-z0-9]{4}|\d{1,10}|[a-z]?\d{1,3})(?![a-z0-9])){2,8}))(?!\w)"
    ),
    re.IGNORECASE,
)
_CARD = re.compile(r"(?<![\w+.-])(?P<card>\d{4}([ -]?)\d{4}\2\d{4}\2\d{1,7}|3\d{3}[ -]?\d{6}[ -]?\d{5})(?![\w-]|\.\d)")
_ENDING = re.compile(
    (
        r"(?<!\w)(?:ending(?:\s(?:in|with))?|ends(?:\s(?:in|with))?|last (?:four|4)(?:\sdigits)?(?:\s"
        r"(?:for|of|on)(?:\s\w{1,16}){1,3}?)?(?:\s(?:are|is)|:)?|(?:[x*•·]{2,12}[ -]?){1,4}|\.{3}\s?)\s?"
        r"(?P<tail>\d{3,6})(?!\w)"
    ),
    re.IGNORECASE,
)
_SORT_CODE = re.compile(
    (
        r"(?<![\w.-])(?:(?P<led>sort(?: |-)?code|s/c)(?:\s?(?:is|:|=))?\s?)?(?P<code>\d\d-\d\d-\d\d|"
        r"(?<=\s)\d{2} \d{2} \d{2}|\d{6})(?![\w-])"
    ),
    re.IGNORECASE,
)
_BOTH = re.compile(r"(?<![\w.-])(?P<sort>\d\d-\d\d-\d\d)[\s,/·|]{1,3}(?P<number>\d{6,10}|\d{4} \d{4})(?![\w-])")
_ACCOUNT = re.compile(
    (
        r"(?<!\w)(?:(?P<scheme>account|acct|acc|a/c|konto|cuenta|compte|upi|routing|swift|bic|ifsc|iban"
        r"|wallet|bsb)(?:\.|\s?(?:number|no\.?|num|id|code|#|ref))?)(?:\s?(?:is|:|=|#|,|to|now|changed to"
        r"|ending))*\s?(?P<number>(?=[\w -]{0,40}\d)[A-Za-z0-9]+(?:[ -][A-Z0-9]*\d[A-Z0-9]*)*)(?![\w@])"
    ),
    re.IGNORECASE,
)
_ENDING_CLUES = ("end", "last", "xx", "**", "••", "··", "...")
_ACCOUNT_CLUES = (
    "acc",
    "a/c",
    "konto",
    "cuenta",
    "compte",
    "upi",
    "routing",
    "swift",
    "bic",
    "ifsc",
    "iban",
    "wallet",
    "bsb",
)
_SCHEMES = {
    "swift": "bic",
    "bic": "bic",
    "ifsc": "ifsc",
    "routing": "routing",
    "wallet": "wallet",
    "bsb": "bsb",
    "upi": "upi",
    "iban": "iban",
}

_LABELS = {
    name: label
    for label, names in {
        "pin": (
            "pin|pin code|door code|gate code|entry code|access code|alarm code|code|keypad|lock code|otp"
            "|passcode|key code|safe code|combination"
        ),
        "booking": (
            "booking|booking ref|booking reference|reservation|pnr|confirmation|confirmation code|record "
            "locator|locator|ref|reference|booking code"
        ),
        "tracking": "tracking|tracking number|tracking no|awb|consignment|parcel|shipment|waybill",
        "order": "order|order number|order no|purchase order|po|po number",
        "invoice": "invoice|inv|bill|invoice number|invoice no",
        "ticket": "ticket|ticket number|ticket no|case|case number|case no|incident",
        "policy": "policy|policy number|policy no|claim|claim number",
        "member": (
            "member|membership|membership number|customer number|customer id|client id|patient id|employee "
            "id|student id|uhid|mrn|nhs number|id|id number|roll number|badge|badge number"
        ),
        "passport": "passport|passport number|passport no",
        "plate": "plate|registration|reg|number plate|licence plate|license plate|rego",
        "serial": "serial|serial number|serial no|s/n|imei|vin|model|asset|asset tag|ssid|vlan|extension",
        "flight": "flight|train|bus|coach service",
        "postcode": "postcode|post code|zip|zip code|pincode|pin code area",
        "extension": "extension|ext",
        "port": "port",
    }.items()
    for name in names.split("|")
}
_LABELLED = re.compile(
    rf"(?<![\w-])(?P<label>{alternatives(_LABELS)})(?:\s(?:number|no\.?|code|id|ref|reference))?(?:\s?"
    rf"(?:is|was|:|=|#|to|now|changed to|set to))*\s?[\"'#(]?(?<![a-z])(?P<code>"
    rf"(?=[^\s\x00]{{0,30}}\d)[a-z0-9]+(?:[-/][a-z0-9]+){{0,6}})(?![\w%:/]|[.,]\d|-\w)"
)
_SPACED = re.compile(r"(?: (?=[A-Z]*\d|[A-Z]{2,4}(?:\b))[A-Z0-9]{2,5}){1,6}(?!\w)")
_VERSION = re.compile(
    (
        r"(?<![\w.])(?P<v>v(?:ersion)?\.?\s?)?(?!\d\d?\.\d\d?\.(?:19|20)\d\d(?!\d)|\d\d\.\d\d\.\d\d"
        r"(?![\d.]))(?P<version>\d{1,5}(?:\.\d{1,6}){2,3}(?:-(?:rc|beta|alpha)\.?\d*)?|(?<=v)\d{1,4}"
        r"(?:\.\d{1,4})?|(?<=version )\d{1,4}(?:\.\d{1,4})?)(?![\w]|\.\d)"
    ),
    re.IGNORECASE,
)
_PRODUCT = re.compile(
    r"(?<!\w)(?P<product>python|node|java|postgres(?:ql)?|ubuntu|debian|windows|android|ios|macos|php"
    r"|ruby|go|django|rails|react|angular|kubernetes|k8s|mysql|redis|fedora|rhel|release|chrome"
    r"|firefox|terraform|mariadb|mongodb|elasticsearch|dotnet|spring boot|vue|next\.js|rust|kotlin"
    r"|swift|typescript)\s?(?P<version>\d{1,4}(?:\.\d{1,4}){0,3})(?![\w:%]|\.\d)"
)
_MIXED = re.compile(
    r"(?<![\w@./#-])#?(?P<code>(?=[\w-]{0,30}\d)(?=[\w-]{0,30}[^\W\d_])[^\W_]{1,30}"
    r"(?:[-_/][^\W_]{1,30}){0,6})(?![\w@]|[.:/]\w|-\w)"
)
_FLIGHT = re.compile(r"(?<![\w-])(?P<code>(?:[A-Z]{2}|[A-Z]\d|\d[A-Z])[ -]?\d{2,4})(?!\w|[.,:-]\d|%)")
_UK_POSTCODE = re.compile(r"(?<!\w)(?P<code>[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2})(?!\w)")
_HASHED = re.compile(r"(?<![\w&])#(?P<code>\d{2,12})(?!\w)")
_LONG_DIGITS = re.compile(
    r"(?<![\w.,+:/#-])(?P<code>\d{4,6}(?:-\d{2,6}| \d{3,6}){1,6}|\d{7,30}|\d(?: \d){3,20})(?![\w%:-]|[.,]\d)"
)
_ORDINARY = re.compile(
    (
        r"\d+(?:st|nd|rd|th|k|m|x|s|am|pm|min|h|hr|hrs|kg|g|mg|ml|l|cm|mm|km|gb|mb|tb|d|y|yo|yr|er|e|ème"
        r"|º|p|mph|kwh|w|v|a|c|f|bhk|ft|in|lb|lbs|oz|way|day|week|month|year|hour|minute|bed|person)"
        r"|\d+-[a-z]{3,}(?:-[a-z]+)*|(?:covid|top|mid|pre|post)-?\d+"
    ),
    re.IGNORECASE,
)
_NEEDS_MARK = frozenset(
    {"flight", "order", "invoice", "ticket", "booking", "policy", "member", "serial", "plate", "tracking"}
)
_SPACED_LABELS = frozenset({"tracking", "plate", "member", "passport", "serial"})
_DIGIT = re.compile(r"\d")
_PREFIX = re.compile(r"^(?:INV|PO|REF|ORD)(?=\d)", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s\-_./–#]+")


def read_accounts(page: Page) -> None:
    """Claim IBANs (invalid ones too), cards, sort codes, account numbers."""
    if not _DIGIT.search(page.text):
        return
    low = page.low
    for pattern in (_IBAN_LED, _IBAN) if "iban" in low else (_IBAN,):
        for match in scan(pattern, page.text):
            number = _SEPARATORS.sub("", match["iban"])
            if 12 <= len(number) <= 34:
                page.claim(*match.span("iban"), Account, number=number.upper(), scheme="iban")
        page.settle()
    if page.has(_ENDING_CLUES):
        for match in scan(_ENDING, page.text):
            page.claim(*match.span(), Account, number=match["tail"], scheme="card", partial=True)
        page.settle()
    _read_cards(page)
    _read_sort_codes(page)
    if page.has(_ACCOUNT_CLUES):
        for match in scan(_ACCOUNT, page.text):
            number = _SEPARATORS.sub("", match["number"])
            if sum(char.isdigit() for char in number) >= 4:
                scheme = _SCHEMES.get(match["scheme"].lower(), "account")
                page.claim(*match.span("number"), Account, number=number, scheme=scheme)


def _read_sort_codes(page: Page) -> None:
    for match in scan(_BOTH, page.text):
        page.claim(*match.span("sort"), Account, number=_SEPARATORS.sub("", match["sort"]), scheme="sort code")
        page.claim(*match.span("number"), Account, number=match["number"].replace(" ", ""), scheme="account")
    page.settle()
    if "sort" in page.low or "s/c" in page.low:
        for match in scan(_SORT_CODE, page.text):
            if match["led"] or "-" in match["code"]:
                page.claim(*match.span("code"), Account, number=_SEPARATORS.sub("", match["code"]), scheme="sort code")
        page.settle()


def _read_cards(page: Page) -> None:
    named = "card" in page.low
    for match in scan(_CARD, page.text):
        number = _SEPARATORS.sub("", match["card"])
        if 13 <= len(number) <= 19 and (named or _passes_luhn(number)):
            page.claim(*match.span(), Account, number=number, scheme="card")
    page.settle()


def _passes_luhn(number: str) -> bool:
    """The check digit of ISO/IEC 7812-1."""
    digits = [int(char) for char in reversed(number)]
    return sum(digits[::2]) % 10 == -sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2]) % 10


def read_labelled_codes(page: Page) -> None:
    """Claim what a word before it calls a code: PIN 5591, booking ref BK-77, flight AI302, version 2.4."""
    if not _DIGIT.search(page.text):
        return
    for match in scan(_VERSION, page.text) if "." in page.text or "version" in page.low else ():
        page.claim(*match.span(), Code, code=match["version"].lower(), label="version")
    page.settle()
    for match in scan(_PRODUCT, page.low):
        page.claim(match.start("version"), match.end(), Code, code=match["version"], label="version")
    for match in scan(_UK_POSTCODE, page.text):
        page.claim(*match.span(), Code, code=_strip(match["code"]), label="postcode")
    page.settle()
    for match in scan(_LABELLED, page.low):
        start, end = match.span("code")
        label = _LABELS[match["label"]]
        if not _is_code(page.text[start:end], label):
            continue
        more = _SPACED.match(page.text, end) if label in _SPACED_LABELS else None
        end = more.end() if more else end
        page.claim(start, end, Code, code=_strip(page.text[start:end]), label=label)


def _is_code(raw: str, label: str) -> bool:
    """ "Flight 2" and "the order 3 weeks ago" have a number beside the label, but no code."""
    digits = sum(char.isdigit() for char in raw)
    if digits < (1 if label in {"flight", "port"} else 2) or _ORDINARY.fullmatch(raw):
        return False
    return not (raw.isdigit() and label in _NEEDS_MARK and digits < 4)


def read_codes(page: Page) -> None:
    """Claim what looks like a code without a word that says so: letters and digits together, long digit runs."""
    if not _DIGIT.search(page.text):
        return
    for match in scan(_HASHED, page.text):
        page.claim(*match.span(), Code, code=match["code"], label="")
    for match in scan(_FLIGHT, page.text):
        page.claim(*match.span(), Code, code=_strip(match["code"]), label="")
    page.settle()
    for match in scan(_MIXED, page.text):
        code = match["code"]
        if _ORDINARY.fullmatch(code) or (len(code) < 3 and not code[:1].isupper()):
            continue
        page.claim(*match.span(), Code, code=_strip(code), label="")
    page.settle()
    for match in scan(_LONG_DIGITS, page.text):
        page.claim(*match.span(), Code, code=_strip(match["code"]), label="")


def _strip(code: str) -> str:
    """Without separators, and without a prefix that only says what it is: "INV-0931" is invoice 0931."""
    return _PREFIX.sub("", _SEPARATORS.sub("", code))
