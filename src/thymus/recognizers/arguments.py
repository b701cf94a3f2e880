"""What the arguments of a tool call hold: each value with its readings, the role it plays, and where it stands.

The name of an argument helps to read a short value (``iban``, ``phone``, ``duration_minutes``), and a sum goes together
with the ``currency`` beside it. How a value is written (spaces, hyphens, letter case of an IBAN) never matters, nor
what is glued to it (``iban=…``, ``<b>…</b>``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from thymus.core.action_rules import plain_name
from thymus.core.actions import Role
from thymus.core.provenance import UNPRINTABLE
from thymus.core.values import (
    Account,
    Code,
    Comparison,
    Email,
    Money,
    Number,
    Phone,
    Quantity,
    Url,
    Value,
    ValueKind,
    compare,
)
from thymus.recognizers import recognize
from thymus.recognizers.leaves import Leaf, read_leaves
from thymus.recognizers.runs import Run, decoded
from thymus.recognizers.stakes import find_stakes

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
_ISO: Final = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d)(?::\d\d(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d\d:?\d\d)?")
_IBAN: Final = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_DIALLED: Final = re.compile(r"\+?[\d(][\d ().\-/]{5,24}\d")
_WALLET: Final = re.compile(r"0x[0-9a-fA-F]{40}|bc1[a-z0-9]{25,60}|[13][1-9A-HJ-NP-Za-km-z]{25,34}")
_GLUED_VALUE: Final = re.compile(r"\d|@|\w\.\w")
_SPACE: Final = re.compile(r"\s+")
_GLUE: Final = re.compile(r"(?<=\S)[=:<>\"'`,|\\/#;{}\[\]()&?*~^!$_]|[=:<>\"'`,|\\/#;{}\[\]()&?*~^!$_](?=\S)")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What a call's arguments hold; ``complete`` is False where there are more values than are looked up."""

    mentions: tuple[Mention, ...]
    leaves: tuple[Leaf, ...]
    complete: bool


def read_arguments(args: Mapping[str, object], *, observed_at: datetime) -> Arguments:
    """The values in the arguments of a call, in order.

    :param observed_at: now: what "tomorrow" in an argument counts from.
    :raises InputError: where the arguments cannot be read (see ``read_leaves``).
    """
    leaves = read_leaves(args)
    found: dict[tuple[str, str, str], Mention] = {}
    for leaf in leaves:
        for mention in _mentions(leaf, leaves, observed_at):
            if len(found) >= MOST_MENTIONS:
                return Arguments(mentions=tuple(found.values()), leaves=tuple(leaves), complete=False)
            found.setdefault((mention.argument, mention.kind, mention.text), mention)
    return Arguments(mentions=tuple(found.values()), leaves=tuple(leaves), complete=True)


def read_run(run: Run, leaf: Leaf, known: Iterable[Mention]) -> Mention | None:
    """An identifier of a memory that a text holds, as a mention; ``None`` where one of these is that very value."""
    for mention in known:
        if mention.argument == leaf.argument and _is_run(mention, run):
            return None
    place = Mention(
        argument=leaf.argument,
        name=leaf.name,
        group=leaf.group,
        text=run.text,
        role=Role.DESTINATION if "@" in run.text or _WALLET.fullmatch(run.text) else Role.DETAIL,
        kind="identifier",
        whole=False,
    )
    return _judged(replace(place, readings=run.readings)) if run.readings else place


def _is_run(mention: Mention, run: Run) -> bool:
    if not mention.readings or not run.readings:
        return mention.text.isalnum() and mention.text.casefold() == run.text.casefold()
    return any(
        compare(one, two) is Comparison.SAME and type(one) is type(two) and _full(one) == _full(two)
        for one in mention.readings
        for two in run.readings
    )


def _full(value: Value) -> object:
    """What must be equal besides, for one value to be as much as the other."""
    return (value.number.upper(), value.partial) if isinstance(value, Account) else None


def _mentions(leaf: Leaf, leaves: Iterable[Leaf], at: datetime) -> Iterator[Mention]:
    text = leaf.text.strip()
    whole = Mention(argument=leaf.argument, name=leaf.name, group=leaf.group, text=text, role=Role.DETAIL, kind="text")
    if len(text) <= _SHORT and (groups := _whole(leaf, text, leaves, at)):
        for readings in groups:
            said = text if len(groups) == 1 else readings[0].text
            yield _judged(replace(whole, text=said, readings=readings))
        if not any(_vital(value) for readings in groups for value in readings):
            yield from _glued(text, whole, at)
        return
    found = [*_within(text, whole, at), *_glued(text, whole, at)]
    if len(text) <= _SHORT and (identifier := _opaque(whole)):
        inside = [mention for mention in found if mention.role is Role.DESTINATION]
        yield from inside if inside and not _WALLET.fullmatch(text) else [identifier]
        return
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


def _glued(text: str, whole: Mention, at: datetime) -> Iterator[Mention]:
    """Where money, words or trust go, in a text decoded, and with a break wherever a sign is glued to something.

    A line break: it parts values, and still leads from a label to its value.
    """
    if not _GLUED_VALUE.search(text):
        return
    for view in decoded(text):
        apart = _GLUE.sub("\n", view)
        if apart == text:
            continue
        read = [value.span for value in recognize(view, observed_at=at) if _vital(value)] if view == text else []
        for value in recognize(apart, observed_at=at):
            if _vital(value) and not any(_overlap(value.span, span) for span in read):
                yield _judged(replace(whole, text=view[slice(*value.span)], readings=(value,), whole=False))


def _overlap(one: tuple[int, int], two: tuple[int, int]) -> bool:
    return one[0] < two[1] and two[0] < one[1]


def _whole(leaf: Leaf, text: str, leaves: Iterable[Leaf], at: datetime) -> list[tuple[Value, ...]]:
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


def _sum(leaf: Leaf, text: str, leaves: Iterable[Leaf]) -> tuple[Value, ...]:
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
