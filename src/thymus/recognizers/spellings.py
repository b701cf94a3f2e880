"""How the value of an argument may be spelt in a memory, and whether a memory has that very value.

Stricter than ``thymus.core.values.compare``: a memory supports a value only where it says all of it. "Card ending 4471"
supports no whole card number, an account number no IBAN that happens to end in it, an order number no PIN.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Final

from thymus.core.actions import Role
from thymus.core.values import (
    Account,
    ClockTime,
    Code,
    Comparison,
    Date,
    Email,
    Money,
    Number,
    Phone,
    Url,
    Value,
    compare,
)
from thymus.recognizers.arguments import Mention
from thymus.recognizers.letters import letters

SHORTEST: Final = 3
"""Letters and digits that a needle has at least: shorter ones are everywhere."""
_MOST_NEEDLES: Final = 24
_FIRM: Final = 6
"""Letters and digits from which on an identifier is the same however it is spaced."""
_MOST_PLACES: Final = 8
_GAP: Final = r"[\s\-./()_–]{0,3}"
_TRACKING: Final = re.compile(
    r"(?i)(?:utm_\w{1,20}|gclid|fbclid|msclkid|dclid|yclid|igshid|mc_[ce]id|_hs\w{2,4}|ref_src)="
)
_MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTHS: Final = tuple(_MONTH_NAMES.split())


def needles(mention: Mention) -> tuple[str, ...]:
    """Letters (see ``letters``) of which a text that has this value in figures holds at least one."""
    found = [*(needle for reading in mention.readings for needle in _needles(reading)), letters(mention.text)]
    return tuple(dict.fromkeys(needle for needle in found if len(needle) >= SHORTEST))[:_MOST_NEEDLES]


def _needles(value: Value) -> Iterable[str]:
    match value:
        case Account():
            return (letters(value.number),)
        case Phone():
            return (value.digits[-7:],)
        case Email():
            return (letters(value.local + value.domain), letters(f"{value.local}at{value.domain}"))
        case Url():
            return (letters(value.host), letters(_unicode(value.host)))
        case Code():
            return (letters(value.code),)
        case Money():
            return chain.from_iterable(_sums(f"{amount.normalize():f}") for amount in sorted(value.amounts))
        case ClockTime():
            return chain.from_iterable(_times(*divmod(minutes, 60)) for minutes in sorted(value.minutes))
        case Date():
            days = [(day.year, day.month, day.day) for day in value.readings]
            return chain.from_iterable(_dates(year, month, day) for year, month, day in days if month and day)
    return ()


def _unicode(host: str) -> str:
    """An internationalised name as people write it (RFC 3490)."""
    try:
        return host.encode("ascii").decode("idna") if "xn--" in host else host
    except UnicodeError:
        return host


def _sums(amount: str) -> Iterator[str]:
    whole, _, fraction = amount.partition(".")
    yield whole + fraction.ljust(2, "0") if fraction else whole
    if len(whole) < SHORTEST and not fraction:
        yield from (f"{sign}{whole}" for sign in "£€$₹¥")
        yield from (f"{whole}{name}" for name in ("pound", "gbp", "quid", "eur", "dollar", "usd", "rup", "inr", "yen"))
        yield from (f"{name}{whole}" for name in ("gbp", "eur", "usd", "inr", "rs"))


def _times(hour: int, minute: int) -> Iterator[str]:
    twelve = (hour - 1) % 12 + 1
    yield f"{hour:02}{minute:02}"
    yield f"{twelve}{minute:02}"
    if not minute:
        half = "a" if hour < 12 else "p"
        yield from (f"{twelve}{half}m", f"{twelve}oclock", f"{hour}uhr", f"{hour}h")


def _dates(year: int | None, month: int, day: int) -> Iterator[str]:
    name = _MONTHS[month - 1]
    yield from (f"{day}{name}", f"{name}{day}", f"{name}{day:02}")
    yield from (f"{day}{ending}{name}" for ending in ("st", "nd", "rd", "th"))
    yield from (f"{day}{ending}of{name}" for ending in ("st", "nd", "rd", "th"))
    yield from (f"{month:02}{day:02}", f"{day:02}{month:02}", f"{day}{month}", f"{month}{day}")
    if year:
        yield from (f"{year}{month}{day}", f"{day}{month}{year % 100:02}")


def near(text: str, found_by: Sequence[str]) -> bool:
    """Whether one of the needles stands in the text by itself, and is no part of a longer number."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return any(len(needle) >= _FIRM or _standing(needle).search(plain) for needle in found_by)


@lru_cache(maxsize=1_024)
def _standing(needle: str) -> re.Pattern[str]:
    before = r"(?<!\d)(?<!\d[.,:])" if needle[0].isdigit() else ""
    after = r"(?![\d])" if needle[-1].isdigit() else ""
    return re.compile(before + r"[^\w\n]{0,3}".join(map(re.escape, needle)) + after)


def says(text: str, values: Sequence[Value], mention: Mention) -> bool:
    """Whether a text has the value of a mention.

    :param values: what the text was recognised to hold.
    """
    if any(supports(reading, told) for reading in mention.readings for told in values):
        return True
    spelt = _spelling(mention)
    return spelt is not None and any(_free(match.span(), text, values, mention) for match in _places(spelt, text))


def differs(values: Sequence[Value], mention: Mention) -> bool:
    """Whether a text has another value where the mention has this one, and not also this one."""
    found = {compare(reading, told) for reading in mention.readings for told in values}
    return Comparison.DIFFERENT in found and Comparison.SAME not in found


def supports(value: Value, told: Value) -> bool:
    """Whether somebody who says ``told`` has said ``value``, all of it."""
    match value, told:
        case Account(), Account():
            one, two = _cased(value.number, value.scheme), _cased(told.number, told.scheme)
            if one == two:
                return value.partial or not told.partial
            inside = value.partial or (told.scheme == "iban" and value.scheme != "iban" and len(one) >= _FIRM)
            return inside and not told.partial and two.endswith(one)
        case Code(), Code() if value.label and told.label and value.label != told.label:
            return False
        case Url(), Url():
            return (value.host, _untracked(value.path)) == (told.host, _untracked(told.path))
        case Phone(), Code():  # "98765-43210": groups that no country uses look like a code
            bare = not told.label and told.code.isdigit() and len(told.code) >= _FIRM
            return bare and value.matches(Phone(digits=told.code, span=told.span, text=told.text)) is Comparison.SAME
        case Money(), Number():
            return not told.noun and bool(value.amounts & told.amounts)
    return compare(value, told) is Comparison.SAME


def _cased(number: str, scheme: str) -> str:
    """Letter case matters in an account only where it is mixed, as in a wallet."""
    mixed = number != number.lower() and number != number.upper()
    return number if mixed and scheme != "iban" else number.upper()


def _untracked(path: str) -> str:
    """The path and query without the parameters that only say where a reader came from, and without a fragment."""
    path, mark, query = path.partition("#")[0].partition("?")
    kept = [part for part in query.split("&") if part and not _TRACKING.match(part)]
    return path.rstrip("/") + (mark + "&".join(kept) if kept else "")


@lru_cache(maxsize=256)
def _spelling(mention: Mention) -> re.Pattern[str] | None:
    """What the value looks like to the letter; ``None`` where only its meaning counts."""
    identifier = next((one for one in mention.readings if isinstance(one, Account | Phone | Code)), None)
    if identifier is None and mention.readings:
        return None
    if identifier is None:
        words = r"\s+".join(map(re.escape, mention.text.split()))
        flags = re.IGNORECASE if mention.role is Role.NAME or not _mixed(mention.text) else 0
        return re.compile(rf"(?<!\w){words}(?!\w)", flags)
    match identifier:
        case Account():
            raw, exact = identifier.number, identifier.scheme != "iban" and _mixed(identifier.number)
        case Code():
            raw, exact = identifier.code, _mixed(identifier.code)
        case _:
            raw, exact = identifier.digits, True
    chars = [re.escape(char) for char in raw if char.isalnum()] if len(letters(raw)) >= _FIRM else [re.escape(raw)]
    if len(letters(raw)) < SHORTEST or (isinstance(identifier, Account) and identifier.partial):
        return None
    return re.compile(rf"(?<![^\W_]){_GAP.join(chars)}(?![^\W_])", 0 if exact else re.IGNORECASE)


def _mixed(text: str) -> bool:
    return text != text.lower() and text != text.upper()


def _places(spelt: re.Pattern[str], text: str) -> Iterable[re.Match[str]]:
    return islice(spelt.finditer(text), _MOST_PLACES)


def _free(span: tuple[int, int], text: str, values: Sequence[Value], mention: Mention) -> bool:
    """Whether the place is no part of a longer identifier, and nothing calls it something else."""
    ours = {reading.label for reading in mention.readings if isinstance(reading, Code)}
    for told in values:
        start, end = told.span
        if start >= span[1] or end <= span[0]:
            continue
        if letters(text[min(start, span[0]) : max(end, span[1])]) != letters(text[slice(*span)]):
            return mention.role is Role.NAME
        if isinstance(told, Code) and told.label and mention.readings and told.label not in ours:
            return False
    return True
