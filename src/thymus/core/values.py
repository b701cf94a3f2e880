"""Typed values (times, dates, money, identifiers, places …) and what it means for two of them to be the same.

A value is what a passage of text *means*, with the passage (`text`) and where it stands (`span`). A passage can leave
its meaning open: "7:45" is morning or evening, "04/12" is April or December. Such a value keeps every reading, and two
values are SAME when some reading of one is a reading of the other. SAME is therefore reflexive and symmetric, but not
transitive: "7:45" is SAME as both "07:45" and "19:45", which are DIFFERENT from each other.

DIFFERENT says that the two cannot be the same value. UNKNOWN says that they cannot be compared: two kinds, two
dimensions, a month and a day within it, a price per month and one per year.

A day of the week is a partial date, so "Friday" and "4 December 2026" are comparable: `ValueKind.DATE` covers both.
Identifiers are compared to the letter, separators apart; no letter is ever replaced by one that merely looks like it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from itertools import product
from typing import ClassVar

MAX_VALUES_PER_KIND = 64
"""`compare_all` leaves a kind UNKNOWN where a side has more values of it: pairs grow as the square."""


class ValueKind(StrEnum):
    """What a value is a value of."""

    TIME = "time"
    TIME_RANGE = "time range"
    DATE = "date"
    DATE_RANGE = "date range"
    DURATION = "duration"
    FREQUENCY = "frequency"
    MONEY = "money"
    QUANTITY = "quantity"
    PERCENTAGE = "percentage"
    NUMBER = "number"
    ORDINAL = "ordinal"
    PHONE = "phone number"
    ACCOUNT = "account"
    URL = "link"
    EMAIL = "e-mail address"
    CODE = "code"
    PLACE = "place"


class Comparison(StrEnum):
    """Whether two values mean the same."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


def _verdict(same: bool) -> Comparison:
    return Comparison.SAME if same else Comparison.DIFFERENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Value(ABC):
    """A value read from text: `text` is the passage, `span` its start and end (code points) in the whole text."""

    kind: ClassVar[ValueKind]
    span: tuple[int, int]
    text: str

    @abstractmethod
    def matches(self, other: Value) -> Comparison:
        """Compare with a value of the same kind; see `compare`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockTime(Value):
    """A time of day. `minutes` after midnight, 0 to 1439: two of them where morning or evening was left open."""

    kind = ValueKind.TIME
    minutes: frozenset[int]

    def matches(self, other: Value) -> Comparison:
        """SAME when some reading is shared: "7:45" is compatible with "7:45 pm" and with "07:45"."""
        return _verdict(bool(self.minutes & other.minutes)) if isinstance(other, ClockTime) else Comparison.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange(Value):
    """From one time of day to another, each with its readings (minutes after midnight)."""

    kind = ValueKind.TIME_RANGE
    start: frozenset[int]
    end: frozenset[int]

    def matches(self, other: Value) -> Comparison:
        """SAME when both ends agree."""
        if not isinstance(other, TimeRange):
            return Comparison.UNKNOWN
        return _verdict(bool(self.start & other.start) and bool(self.end & other.end))


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What is known of a calendar day; None where the text does not say.

    `weekday` counts from Monday = 0; `nth` is its place in the month ("the first Wednesday" 1, "the last" -1);
    `offset` in days from the day of writing ("tomorrow" 1), kept only where that day is not known.
    """

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    nth: int | None = None
    offset: int | None = None

    def matches(self, other: Day) -> Comparison:
        """DIFFERENT when something known of both differs; SAME when both name the day and share what names it."""
        if self == other:
            return Comparison.SAME
        if self.offset is not None or other.offset is not None:
            return Comparison.UNKNOWN
        mine, theirs = self._known(), other._known()
        shared = mine.keys() & theirs.keys()
        if any(mine[field] != theirs[field] for field in shared):
            return Comparison.DIFFERENT
        if not (mine.keys() & _NAMES_A_DAY or theirs.keys() & _NAMES_A_DAY):
            return Comparison.SAME if shared else Comparison.UNKNOWN
        return Comparison.SAME if shared & _NAMES_A_DAY else Comparison.UNKNOWN

    def _known(self) -> dict[str, int]:
        fields = ("year", "month", "day", "weekday", "nth")
        known = {field: value for field in fields if (value := getattr(self, field)) is not None}
        if "weekday" not in known and self.year and self.month and self.day:
            try:
                known["weekday"] = date(self.year, self.month, self.day).weekday()
            except ValueError:  # 31 February: what was written still compares by its parts
                return known
        return known


_LEAST_SAID = (Comparison.UNKNOWN, Comparison.DIFFERENT)
_NAMES_A_DAY = frozenset({"day", "weekday"})


def _any_reading(mine: Iterable[Day], theirs: Iterable[Day]) -> Comparison:
    found = {one.matches(two) for one, two in product(mine, theirs)}
    return Comparison.SAME if Comparison.SAME in found else min(found, key=_LEAST_SAID.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Date(Value):
    """A calendar day, month, year or day of the week: every reading of it ("04/12" has two)."""

    kind = ValueKind.DATE
    readings: tuple[Day, ...]

    def matches(self, other: Value) -> Comparison:
        """SAME when some reading of one matches some reading of the other (`Day.matches`)."""
        return _any_reading(self.readings, other.readings) if isinstance(other, Date) else Comparison.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class DateRange(Value):
    """From one day to another ("4 to 6 December", "Mon-Fri"), each end with its readings."""

    kind = ValueKind.DATE_RANGE
    start: tuple[Day, ...]
    end: tuple[Day, ...]

    def matches(self, other: Value) -> Comparison:
        """SAME when both ends match, DIFFERENT when one differs."""
        if not isinstance(other, DateRange):
            return Comparison.UNKNOWN
        ends = {_any_reading(self.start, other.start), _any_reading(self.end, other.end)}
        if Comparison.DIFFERENT in ends:
            return Comparison.DIFFERENT
        return Comparison.UNKNOWN if Comparison.UNKNOWN in ends else Comparison.SAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration(Value):
    """A length of time: exact `seconds` and calendar `months`, whose length in days varies."""

    kind = ValueKind.DURATION
    seconds: Decimal
    months: Decimal

    def matches(self, other: Value) -> Comparison:
        """Compare exactly; months against days are UNKNOWN where a month's 28 to 31 days leave it open."""
        if not isinstance(other, Duration):
            return Comparison.UNKNOWN
        seconds, months = self.seconds - other.seconds, self.months - other.months
        if not seconds and not months:
            return Comparison.SAME
        if not seconds or not months or (seconds > 0) == (months > 0):
            return Comparison.DIFFERENT
        days = abs(seconds / 86_400 / months)
        return Comparison.UNKNOWN if 28 <= days <= 31 else Comparison.DIFFERENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequency(Value):
    """How often: `per_year` times ("weekly" 52, "every 8 hours" 1095, "twice a day" 730)."""

    kind = ValueKind.FREQUENCY
    per_year: Decimal

    def matches(self, other: Value) -> Comparison:
        """SAME when equal; within a tenth of each other UNKNOWN (every four weeks, monthly)."""
        if not isinstance(other, Frequency):
            return Comparison.UNKNOWN
        if self.per_year == other.per_year:
            return Comparison.SAME
        near = abs(self.per_year - other.per_year) * 10 <= max(self.per_year, other.per_year)
        return Comparison.UNKNOWN if near else Comparison.DIFFERENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Money(Value):
    """A sum: readings of the amount ("1.200" has two), the ISO 4217 currencies it may be in, what it is paid for.

    An empty `currencies` means that none was named. `per` is "month", "hour", "person" … or None.
    """

    kind = ValueKind.MONEY
    amounts: frozenset[Decimal]
    currencies: frozenset[str]
    per: str | None = None

    def matches(self, other: Value) -> Comparison:
        """DIFFERENT sums are only comparable when they are paid for the same: a price per month is no total."""
        if not isinstance(other, Money):
            return Comparison.UNKNOWN
        shared = self.currencies & other.currencies
        currency = not self.currencies or not other.currencies or bool(shared)
        if currency and self.amounts & other.amounts:
            return Comparison.SAME if self.per == other.per or None in {self.per, other.per} else Comparison.UNKNOWN
        return Comparison.DIFFERENT if self.per == other.per else Comparison.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity(Value):
    """A measured amount: readings in the base unit of `dimension` ("length" in metres, "mass" in grams …).

    `metric` is False for units whose conversion people round (miles, pounds, °F).
    """

    kind = ValueKind.QUANTITY
    magnitudes: frozenset[Decimal]
    dimension: str
    metric: bool = True

    def matches(self, other: Value) -> Comparison:
        """Exact within one system of units; within one hundredth between metric and other units."""
        if not isinstance(other, Quantity) or self.dimension != other.dimension:
            return Comparison.UNKNOWN
        if self.metric == other.metric:
            return _verdict(bool(self.magnitudes & other.magnitudes))
        pairs = product(self.magnitudes, other.magnitudes)
        return _verdict(any(abs(one - two) * 100 <= max(abs(one), abs(two)) for one, two in pairs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentage(Value):
    """So many per hundred."""

    kind = ValueKind.PERCENTAGE
    percent: Decimal

    def matches(self, other: Value) -> Comparison:
        """SAME when equal."""
        return _verdict(self.percent == other.percent) if isinstance(other, Percentage) else Comparison.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Value):
    """A plain number, with the noun it counts (lower case, singular: "two bookcases" gives "bookcase") or ""."""

    kind = ValueKind.NUMBER
    amounts: frozenset[Decimal]
    noun: str = ""

    def matches(self, other: Value) -> Comparison:
        """DIFFERENT only when the same noun is counted; equal numbers are SAME unless they count different nouns."""
        if not isinstance(other, Number) or (self.noun and other.noun and self.noun != other.noun):
            return Comparison.UNKNOWN
        if self.amounts & other.amounts:
            return Comparison.SAME
        return Comparison.DIFFERENT if self.noun and other.noun else Comparison.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordinal(Value):
    """A rank ("second", "3rd"), with the noun it ranks (lower case, singular) or ""."""

    kind = ValueKind.ORDINAL
    rank: int
    noun: str = ""

    def matches(self, other: Value) -> Comparison:
        """As `Number.matches`."""
        if not isinstance(other, Ordinal) or (self.noun and other.noun and self.noun != other.noun):
            return Comparison.UNKNOWN
        if self.rank == other.rank:
            return Comparison.SAME
        return Comparison.DIFFERENT if self.noun and other.noun else Comparison.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Phone(Value):
    """A telephone number: all its `digits`; `international` when they begin with the country code (E.164)."""

    kind = ValueKind.PHONE
    digits: str
    international: bool = False
    extension: str = ""

    def matches(self, other: Value) -> Comparison:
        """A national number is SAME as an international one that ends in it, trunk zero and 1 to 3 digits apart."""
        if not isinstance(other, Phone):
            return Comparison.UNKNOWN
        if self.extension and other.extension and self.extension != other.extension:
            return Comparison.DIFFERENT
        if self.international and other.international:
            return _verdict(self.digits == other.digits)
        short, long = sorted((self.digits.lstrip("0"), other.digits.lstrip("0")), key=len)
        same = short == long or (len(short) >= 6 and long.endswith(short) and len(long) - len(short) <= 4)
        return _verdict(same)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account(Value):
    """Where money goes: `number` to the letter without separators; `scheme` iban, card, sort code, account.

    `partial` when only the last characters are given ("card ending 4471").
    """

    kind = ValueKind.ACCOUNT
    number: str
    scheme: str
    partial: bool = False

    def matches(self, other: Value) -> Comparison:
        """DIFFERENT within one scheme; a whole and a partial number by the end; a number inside an IBAN is SAME."""
        if not isinstance(other, Account):
            return Comparison.UNKNOWN
        if self.number == other.number:
            return Comparison.SAME
        short, long = sorted((self, other), key=lambda account: len(account.number))
        if (short.partial or long.scheme == "iban") and long.number.endswith(short.number):
            return Comparison.SAME
        return Comparison.DIFFERENT if self.scheme == other.scheme else Comparison.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Url(Value):
    """A web address: `host` (lower case, without "www."), `path` with its query, no trailing slash."""

    kind = ValueKind.URL
    host: str
    path: str = ""

    def matches(self, other: Value) -> Comparison:
        """Another host is DIFFERENT; a page against its whole site is UNKNOWN."""
        if not isinstance(other, Url):
            return Comparison.UNKNOWN
        if self.host != other.host or self.path == other.path:
            return _verdict(self.host == other.host)
        return Comparison.DIFFERENT if self.path and other.path else Comparison.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Email(Value):
    """An e-mail address. No mail system in use tells letter case apart in `local`, and none may in `domain`."""

    kind = ValueKind.EMAIL
    local: str
    domain: str

    def matches(self, other: Value) -> Comparison:
        """SAME when both parts are, ASCII letter case apart."""
        if not isinstance(other, Email):
            return Comparison.UNKNOWN
        return _verdict(_fold(self.local) == _fold(other.local) and _fold(self.domain) == _fold(other.domain))


@dataclass(frozen=True, slots=True, kw_only=True)
class Code(Value):
    """An identifier: `code` to the letter without separators; `label` says of what (flight, pin …) or is ""."""

    kind = ValueKind.CODE
    code: str
    label: str = ""

    def matches(self, other: Value) -> Comparison:
        """Case matters once either mixes it. UNKNOWN: under two labels; of unlike shape where a label is missing."""
        if not isinstance(other, Code):
            return Comparison.UNKNOWN
        if self.code == other.code:
            return Comparison.SAME
        if _fold(self.code) == _fold(other.code) and not (_mixes_case(self.code) or _mixes_case(other.code)):
            return Comparison.SAME
        comparable = self.label == other.label if self.label and other.label else _shape(self) == _shape(other)
        return Comparison.DIFFERENT if comparable else Comparison.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Place(Value):
    """A designated place: `label` (room, seat, gate, floor, street address …) and its `name` (upper case)."""

    kind = ValueKind.PLACE
    label: str
    name: str

    def matches(self, other: Value) -> Comparison:
        """Comparable under the same label only."""
        if not isinstance(other, Place) or self.label != other.label:
            return Comparison.UNKNOWN
        return _verdict(self.name == other.name)


def _fold(code: str) -> str:
    """Lower the ASCII letters only: Unicode folding maps the Kelvin sign to k and would let a look-alike pass."""
    return "".join(char.lower() if char.isascii() else char for char in code)


def _mixes_case(code: str) -> bool:
    return code != code.lower() and code != code.upper()


def _shape(code: Code) -> tuple[bool, ...] | str:
    """Where letters and digits stand: "AI302" and "AI304" are rivals, "AI302" and "9400-1118" are not."""
    return tuple(char.isalpha() for char in code.code)


def compare(a: Value, b: Value) -> Comparison:
    """Whether two values mean the same. Reflexive and symmetric; values of different kinds are UNKNOWN."""
    return a.matches(b) if a.kind is b.kind else Comparison.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How the values of two statements stand to each other, by kind.

    Each kind that occurs on both sides is in exactly one of
    `same` (every value of one side is among the other's), `different` (comparable, and nothing in common), `mixed`
    (something in common, something not) and `unknown` (not comparable); the others are in `only_a` or `only_b`.
    `extra_a`, `extra_b`: kinds in which that side has values that the other lacks; "moved from 9:15 to 7:45" against
    "9:15" is `same` with an extra time. `conflicts`: DIFFERENT pairs of which neither value occurs on the other side.
    """

    same: frozenset[ValueKind] = frozenset()
    different: frozenset[ValueKind] = frozenset()
    mixed: frozenset[ValueKind] = frozenset()
    unknown: frozenset[ValueKind] = frozenset()
    only_a: frozenset[ValueKind] = frozenset()
    only_b: frozenset[ValueKind] = frozenset()
    extra_a: frozenset[ValueKind] = frozenset()
    extra_b: frozenset[ValueKind] = frozenset()
    conflicts: tuple[tuple[Value, Value], ...] = ()


def compare_all(a: Sequence[Value], b: Sequence[Value]) -> Agreement:
    """Summarise how two statements' values agree; see `Agreement`."""
    ours, theirs = _by_kind(a), _by_kind(b)
    found: dict[str, set[ValueKind]] = {name: set() for name in ("same", "different", "mixed", "unknown")}
    extra_a: set[ValueKind] = set()
    extra_b: set[ValueKind] = set()
    conflicts: list[tuple[Value, Value]] = []
    for kind in ours.keys() & theirs.keys():
        if max(len(ours[kind]), len(theirs[kind])) > MAX_VALUES_PER_KIND:
            found["unknown"].add(kind)
            continue
        verdicts = {(i, j): compare(x, y) for i, x in enumerate(ours[kind]) for j, y in enumerate(theirs[kind])}
        same = [pair for pair, verdict in verdicts.items() if verdict is Comparison.SAME]
        met_a, met_b = {i for i, _ in same}, {j for _, j in same}
        rest_a, rest_b = len(met_a) < len(ours[kind]), len(met_b) < len(theirs[kind])
        clashes = [
            (ours[kind][i], theirs[kind][j])
            for (i, j), verdict in verdicts.items()
            if verdict is Comparison.DIFFERENT and i not in met_a and j not in met_b
        ]
        conflicts += clashes
        outcome = "mixed" if same and rest_a and rest_b else "same" if same else "different" if clashes else "unknown"
        found[outcome].add(kind)
        if same:
            extra_a |= {kind} if rest_a else set()
            extra_b |= {kind} if rest_b else set()
    return Agreement(
        **{name: frozenset(kinds) for name, kinds in found.items()},
        only_a=frozenset(ours.keys() - theirs.keys()),
        only_b=frozenset(theirs.keys() - ours.keys()),
        extra_a=frozenset(extra_a),
        extra_b=frozenset(extra_b),
        conflicts=tuple(sorted(conflicts, key=lambda pair: (pair[0].span, pair[1].span))),
    )


def _by_kind(values: Sequence[Value]) -> dict[ValueKind, list[Value]]:
    grouped: dict[ValueKind, list[Value]] = {}
    for value in values:
        grouped.setdefault(value.kind, []).append(value)
    return grouped
