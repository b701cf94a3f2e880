"""What the arguments of a tool call hold: each value with its readings, the role it plays, and where it stands.

JSON's types, and the dates and decimals of Python, are read; anything else is refused rather than passed unread. The
name of an argument helps to read a short value (``iban``, ``phone``, ``duration_minutes``), and a sum goes together
with the ``currency`` beside it. How a value is written (spaces, hyphens, letter case of an IBAN) never matters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from thymus.core.action_rules import plain_name
from thymus.core.actions import Role
from thymus.core.provenance import UNPRINTABLE
from thymus.core.values import Account, Code, Email, Money, Number, Phone, Quantity, Url, Value, ValueKind
from thymus.errors import InputError
from thymus.recognizers import recognize
from thymus.recognizers.stakes import find_stakes

DEEPEST: Final = 32
MOST_LEAVES: Final = 2_000
LONGEST: Final = 100_000
"""Characters of all arguments together."""
MOST_MENTIONS: Final = 200
"""Values that are looked up; what follows is reported as not checked."""
_SHORT: Final = 100
"""Characters up to which a string is one value, or a few words; a longer one is prose."""
_PROSE: Final = 400
"""Characters from which on only what could do harm is read out of prose."""

_MONEY_WORDS = "amount budget cost fee price sum total"
_VITAL_WORDS = (
    "account bic card bcc cc cvv destination domain dosage dose email endpoint host iban ip key link mail mobile otp "
    "passcode password phone pin recipient routing secret swift tel telephone token upi uri url vpa wallet webhook"
)
_PERSON_WORDS = (
    "assignee attendee attendees beneficiary cc client company contact customer from guest invitee invitees name owner "
    "participant participants payee person recipient recipients supplier to user vendor who"
)
_UNIT_WORDS = (
    "day days hour hours min mins minute minutes month months second seconds week weeks year years mg g kg ml l km m "
    "cm miles eur gbp usd inr pounds euros dollars rupees percent people persons guests"
)
_MONEY_NAMES: Final = frozenset(_MONEY_WORDS.split())
_VITAL_NAMES: Final = frozenset(_VITAL_WORDS.split())
PERSON_NAMES: Final = frozenset(_PERSON_WORDS.split())
"""Names of arguments that name somebody."""
_UNITS: Final = frozenset(_UNIT_WORDS.split())
_DOSES: Final = frozenset({"dosage", "dose"})
_SECRETS: Final = frozenset({"passcode", "passphrase", "password", "secret", "token"})
_KEY: Final = re.compile(r"[^\W\d]\w{0,63}")
_ISO: Final = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d)(?::\d\d(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d\d:?\d\d)?")
_IBAN: Final = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_DIALLED: Final = re.compile(r"\+?[\d(][\d ().\-/]{5,24}\d")
_WALLET: Final = re.compile(r"0x[0-9a-fA-F]{40}|bc1[a-z0-9]{25,60}|[13][1-9A-HJ-NP-Za-km-z]{25,34}")
_LARGEST: Final = 10**100
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A value in the arguments.

    :param argument: its path, ``items[0].price``; ``name`` is the last key of it, ``group`` what stands before.
    :param readings: what it can mean, all of one passage; empty for names and for identifiers of an unknown shape.
    :param kind: in words.
    :param whole: whether it is all of its argument.
    """

    argument: str
    name: str
    group: str
    text: str
    role: Role
    kind: str
    readings: tuple[Value, ...] = ()
    whole: bool = True

    @property
    def invisible(self) -> bool:
        """Whether it holds characters that nobody sees."""
        return bool(UNPRINTABLE.search(_SPACE.sub(" ", self.text)))


@dataclass(frozen=True, slots=True)
class _Leaf:
    argument: str
    name: str
    group: str
    text: str
    number: bool = False


def read_arguments(args: Mapping[str, object], *, observed_at: datetime) -> tuple[tuple[Mention, ...], bool]:
    """The values in the arguments of a call, in order, and whether those are all.

    :param observed_at: now: what "tomorrow" in an argument counts from.
    :raises InputError: where the arguments are not JSON's types, refer to themselves, or are too deep or too large.
    """
    if not isinstance(args, Mapping):
        raise InputError(f"the arguments of a tool are a mapping from names to values, not {type(args).__name__}")
    leaves = []
    size = 0
    for leaf in _flatten(args, "", "", "", ()):
        leaves.append(leaf)
        size += len(leaf.text)
        if size > LONGEST or len(leaves) > MOST_LEAVES:
            raise InputError(
                f"the arguments hold more than {LONGEST:,} characters or {MOST_LEAVES:,} values: check them in parts"
            )
    found: dict[tuple[str, str, str], Mention] = {}
    for leaf in leaves:
        for mention in _mentions(leaf, leaves, observed_at):
            if len(found) >= MOST_MENTIONS:
                return tuple(found.values()), False
            found.setdefault((mention.argument, mention.kind, mention.text), mention)
    return tuple(found.values()), True


def _flatten(given: object, argument: str, name: str, group: str, above: tuple[int, ...]) -> Iterator[_Leaf]:
    if isinstance(given, Mapping | list | tuple | set | frozenset):
        if id(given) in above:
            raise InputError(f"the argument {argument[:80]!r} contains itself: pass plain JSON")
        if len(above) >= DEEPEST:
            raise InputError(f"the arguments are nested more than {DEEPEST} deep: check the inner ones by themselves")
        above = (*above, id(given))
        if isinstance(given, Mapping):
            yield from _flatten_mapping(given, argument, name, group, above)
        else:
            yield from _flatten_items(given, argument, name, group, above)
    elif (text := _text(given, argument)).strip():
        number = isinstance(given, int | float | Decimal) and not isinstance(given, bool)
        yield _Leaf(argument, name, group, text, number)


def _flatten_mapping(
    given: Mapping[Any, Any], argument: str, name: str, group: str, above: tuple[int, ...]
) -> Iterator[_Leaf]:
    for key, value in given.items():
        if not isinstance(key, str):
            raise InputError(f"the name of an argument is text, not {type(key).__name__}")
        if not _KEY.fullmatch(key):  # a key that is no name is data, as in {"ravi@x.example": "cc"}
            yield _Leaf(argument, name, group, _well_formed(key))
        yield from _flatten(value, f"{argument}.{key}" if argument else key, key, argument, above)


def _flatten_items(
    given: Iterable[Any], argument: str, name: str, group: str, above: tuple[int, ...]
) -> Iterator[_Leaf]:
    ordered = sorted(given, key=repr) if isinstance(given, set | frozenset) else given
    for index, value in enumerate(ordered):
        yield from _flatten(value, f"{argument}[{index}]", name, group, above)


def _text(given: object, argument: str) -> str:
    """A value as text; "" where it says nothing."""
    given = given.value if isinstance(given, Enum) else given
    match given:
        case None | bool():
            return ""
        case str():
            return _well_formed(given)
        case int() | float() | Decimal():
            return _figures(given, argument)
        case datetime():
            return given.strftime("%Y-%m-%d %H:%M")
        case time():
            return given.strftime("%H:%M")
        case date() | UUID():
            return str(given)
    what = "bytes: decode them first" if isinstance(given, bytes | bytearray | memoryview) else type(given).__name__
    raise InputError(f"the argument {argument[:80]!r} is {what}: pass plain JSON (text, numbers, lists, mappings)")


def _figures(number: float | Decimal, argument: str) -> str:
    if not number == number or not -_LARGEST < number < _LARGEST:  # a number that is not itself is NaN
        raise InputError(
            f"the argument {argument[:80]!r} is no finite number below 10^100: leave it out, or pass it as text"
        )
    return f"{Decimal(repr(number) if isinstance(number, float) else number):.400f}".rstrip("0").rstrip(".")


def _well_formed(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _mentions(leaf: _Leaf, leaves: Iterable[_Leaf], at: datetime) -> Iterator[Mention]:
    text = leaf.text.strip()
    whole = Mention(argument=leaf.argument, name=leaf.name, group=leaf.group, text=text, role=Role.DETAIL, kind="text")
    if len(text) <= _SHORT:
        if groups := _whole(leaf, text, leaves, at):
            for readings in groups:
                said = text if len(groups) == 1 else readings[0].text
                yield _judged(replace(whole, text=said, readings=readings))
            return
        if identifier := _opaque(whole):
            yield identifier
            return
    found = list(_within(text, whole, at))
    yield from found
    if len(text) <= _SHORT and not found and any(char.isalpha() for char in text):
        plain = _SPACE.search(text) is None and text == text.lower() and plain_name(leaf.name) not in PERSON_NAMES
        yield replace(whole, role=Role.NAME, kind="word" if plain else "name")


def _within(text: str, whole: Mention, at: datetime) -> Iterator[Mention]:
    """The values in running text; of a long one only what could do harm."""
    stakes = [(stake.span, stake) for stake in find_stakes(text)]
    read: list[tuple[int, int]] = []
    for value in recognize(text, observed_at=at):
        mention = _judged(replace(whole, text=value.text, readings=(value,), whole=False))
        vital = mention.role is Role.DESTINATION or any(_overlap(value.span, span) for span, _ in stakes)
        if vital or (len(text) <= _PROSE and not _vague(mention.readings)):
            read.append(value.span)
            yield replace(mention, role=Role.DESTINATION if vital else Role.DETAIL)
    for span, stake in stakes:
        if not any(_overlap(span, other) for other in read):
            yield replace(whole, text=stake.text, role=Role.DESTINATION, kind=stake.kind.value, whole=False)


def _overlap(one: tuple[int, int], two: tuple[int, int]) -> bool:
    return one[0] < two[1] and two[0] < one[1]


def _whole(leaf: _Leaf, text: str, leaves: Iterable[_Leaf], at: datetime) -> list[tuple[Value, ...]]:
    """What a string means that is made of values and nothing else: for each of them its readings."""
    label = plain_name(leaf.name).replace("_", " ")
    words = label.split()
    plain = _plain(text)
    found: list[Value] = []
    if leaf.number or re.fullmatch(r"\d[\d.,]{0,20}", text):
        if _MONEY_NAMES & set(words):
            return [_sum(leaf, text, leaves)]
        if words and words[-1] in _UNITS:
            found = _covering(f"{plain} {words[-1]}", 0, len(plain), at)
    if label and not found:
        lead = f"{label}: "
        found = _covering(lead + plain, len(lead), len(lead + plain), at)
    found = found or _covering(plain, 0, len(plain), at)
    if len(found) <= 1 and not any(map(_vital, found)):
        found += [value for value in _covering(plain, 0, len(plain), at)[:1] if _vital(value)]
        found += _respelt(plain, found, at)
    elif len(found) > 1:
        return [(value,) for value in found if not _vague([value])]
    return [] if _vague(found) else [tuple(found)]


def _respelt(text: str, known: list[Value], at: datetime) -> list[Value]:
    """An IBAN in small letters or odd groups, a telephone number in odd groups."""
    letters = re.sub(r"[\s\-._/–]+", "", text).upper()
    if _IBAN.fullmatch(letters) and _checks(letters):
        return [Account(number=letters, scheme="iban", span=(0, len(text)), text=text)]
    if not _DIALLED.fullmatch(text) or any(value.kind is ValueKind.DATE for value in known):
        return []
    digits = re.sub(r"[^\d+]", "", text)
    return [value for value in _covering(digits, 0, len(digits), at) if isinstance(value, Phone)]


def _plain(text: str) -> str:
    """A moment as ISO 8601 writes it (RFC 3339) in the words of a date and a time; everything else as it is."""
    return f"{iso[1]} {iso[2]}" if (iso := _ISO.fullmatch(text)) else text


def _covering(text: str, start: int, end: int, at: datetime) -> list[Value]:
    """The values of a text, where together they leave nothing of [start, end) over."""
    found = [value for value in recognize(text, observed_at=at) if value.span[1] > start]
    if not found or found[0].span[1] > end + 24:
        return []
    rest = list(text)
    for value in found:
        rest[slice(*value.span)] = " " * (value.span[1] - value.span[0])
    return [] if any(char.isalnum() for char in rest[start:end]) else found


def _sum(leaf: _Leaf, text: str, leaves: Iterable[_Leaf]) -> tuple[Value, ...]:
    """A bare number that its argument calls a sum, in the currency that an argument beside it names."""
    beside = (other.text for other in leaves if other.group == leaf.group and plain_name(other.name) == "currency")
    found = recognize(f"{text} {next(beside, '')[:20]}")
    sums = [value for value in found if isinstance(value, Money)]
    if sums:
        return (sums[0],)
    return tuple(
        Money(amounts=value.amounts, currencies=frozenset(), span=(0, len(text)), text=text)
        for value in found[:1]
        if isinstance(value, Number)
    )


def _checks(iban: str) -> bool:
    """The check digits of ISO 13616 (ISO/IEC 7064, mod 97-10)."""
    return int("".join(str(int(char, 36)) for char in iban[4:] + iban[:4])) % 97 == 1


def _vital(value: Value) -> bool:
    return isinstance(value, Account | Phone | Email | Url) or (
        isinstance(value, Code) and value.label in {"password", "pin"}
    )


def _vague(values: Iterable[Value]) -> bool:
    """Whether these are nothing but small bare numbers, which occur everywhere and mean nothing by themselves."""
    return all(isinstance(value, Number) and not value.noun and max(value.amounts) < 1_000 for value in values)


def _judged(mention: Mention) -> Mention:
    """The mention with its role and kind."""
    value = next(filter(_vital, mention.readings), mention.readings[0])
    words = set(plain_name(mention.name).split("_")) if mention.whole else set[str]()
    role = Role.DETAIL
    if (
        _vital(value)
        or (isinstance(value, Code) and words & _VITAL_NAMES)
        or (isinstance(value, Quantity) and words & _DOSES)
    ):
        role = Role.DESTINATION
    elif isinstance(value, Money):
        role = Role.SUM
    return replace(mention, role=role, kind=value.kind.value)


def _opaque(whole: Mention) -> Mention | None:
    """An identifier of a shape that nobody knows: one word with a digit or sign in it, or whatever is a secret."""
    text, words = whole.text, set(plain_name(whole.name).split("_"))
    if words & _SECRETS:
        return replace(whole, role=Role.DESTINATION, kind="secret")
    if _SPACE.search(text) or len(text) < 3 or not re.search(r"[^\W_]", text):
        return None
    if _WALLET.fullmatch(text) or "@" in text.strip("@"):
        return replace(whole, role=Role.DESTINATION, kind="identifier")
    if re.search(r"[\d./\\:_#]", text):
        return replace(whole, role=Role.DESTINATION if words & _VITAL_NAMES else Role.DETAIL, kind="identifier")
    return None
