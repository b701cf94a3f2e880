"""Values compare by meaning: what is SAME, DIFFERENT, or cannot be told, and how two statements' values agree."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thymus.core.values import (
    MAX_VALUES_PER_KIND,
    Account,
    Agreement,
    ClockTime,
    Code,
    Comparison,
    Date,
    DateRange,
    Day,
    Duration,
    Email,
    Frequency,
    Money,
    Number,
    Ordinal,
    Percentage,
    Phone,
    Place,
    Quantity,
    TimeRange,
    Url,
    Value,
    ValueKind,
    compare,
    compare_all,
)

SAME, DIFFERENT, UNKNOWN = Comparison.SAME, Comparison.DIFFERENT, Comparison.UNKNOWN
AT: dict[str, Any] = {"span": (0, 1), "text": "x"}


def time(*minutes: int) -> ClockTime:
    return ClockTime(**AT, minutes=frozenset(minutes))


def day(**known: int) -> Date:
    return Date(**AT, readings=(Day(**known),))


def money(amount: str, *currencies: str, per: str | None = None) -> Money:
    return Money(**AT, amounts=frozenset({Decimal(amount)}), currencies=frozenset(currencies), per=per)


def lasting(seconds: int = 0, months: int = 0) -> Duration:
    return Duration(**AT, seconds=Decimal(seconds), months=Decimal(months))


def mass(grams: str, *, metric: bool = True) -> Quantity:
    return Quantity(**AT, magnitudes=frozenset({Decimal(grams)}), dimension="mass", metric=metric)


def number(amount: int, noun: str = "") -> Number:
    return Number(**AT, amounts=frozenset({Decimal(amount)}), noun=noun)


def code(text: str, label: str = "") -> Code:
    return Code(**AT, code=text, label=label)


def account(number: str, scheme: str, *, partial: bool = False) -> Account:
    return Account(**AT, number=number, scheme=scheme, partial=partial)


@pytest.mark.parametrize(
    ("expected", "a", "b"),
    [
        (SAME, time(555), time(555)),
        (SAME, time(465, 1185), time(1185)),  # "7:45" may be the evening's
        (DIFFERENT, time(465), time(1185)),
        (DIFFERENT, time(465, 1185), time(555, 1275)),
        (UNKNOWN, time(465), TimeRange(**AT, start=frozenset({465}), end=frozenset({525}))),
        (SAME, day(month=12, day=4), day(year=2026, month=12, day=4)),
        (SAME, day(weekday=4), day(year=2026, month=12, day=4)),
        (DIFFERENT, day(weekday=3), day(year=2026, month=12, day=4)),
        (UNKNOWN, day(weekday=4), day(month=12, day=4)),  # no year: it may be any weekday
        (UNKNOWN, day(month=12), day(month=12, day=4)),
        (DIFFERENT, day(month=11), day(month=12, day=4)),
        (SAME, day(month=12), day(month=12, year=2026)),
        (DIFFERENT, day(weekday=2, nth=1), day(weekday=2, nth=2)),
        (SAME, day(day=18), day(day=18, month=3)),
        (UNKNOWN, day(offset=1), day(offset=2)),
        (UNKNOWN, day(offset=1), day(weekday=2)),
        (DIFFERENT, day(year=2026, month=2, day=31), day(month=3, day=3)),
        (
            SAME,
            DateRange(**AT, start=(Day(day=4),), end=(Day(day=6),)),
            DateRange(**AT, start=(Day(day=4, month=1),), end=(Day(day=6),)),
        ),
        (
            DIFFERENT,
            DateRange(**AT, start=(Day(day=4),), end=(Day(day=6),)),
            DateRange(**AT, start=(Day(day=4),), end=(Day(day=7),)),
        ),
        (SAME, lasting(seconds=604800), lasting(seconds=604800)),
        (DIFFERENT, lasting(seconds=60), lasting(seconds=61)),
        (UNKNOWN, lasting(seconds=30 * 86400), lasting(months=1)),
        (DIFFERENT, lasting(seconds=86400), lasting(months=1)),
        (DIFFERENT, lasting(months=1), lasting(months=2)),
        (SAME, Frequency(**AT, per_year=Decimal(52)), Frequency(**AT, per_year=Decimal(52))),
        (UNKNOWN, Frequency(**AT, per_year=Decimal(13)), Frequency(**AT, per_year=Decimal(12))),
        (DIFFERENT, Frequency(**AT, per_year=Decimal(12)), Frequency(**AT, per_year=Decimal(4))),
        (SAME, money("5", "GBP"), money("5.00", "GBP")),
        (SAME, money("5", "USD", "CAD"), money("5", "CAD")),
        (DIFFERENT, money("5", "GBP"), money("5", "EUR")),
        (SAME, money("5"), money("5", "EUR")),
        (UNKNOWN, money("5", "GBP", per="month"), money("60", "GBP", per="year")),
        (UNKNOWN, money("5", "GBP", per="month"), money("60", "GBP")),
        (DIFFERENT, money("5", "GBP", per="month"), money("6", "GBP", per="month")),
        (SAME, mass("75"), mass("75.0")),
        (DIFFERENT, mass("75"), mass("75.1")),
        (SAME, mass("453.6"), mass("453.59237", metric=False)),
        (DIFFERENT, mass("500"), mass("453.59237", metric=False)),
        (UNKNOWN, mass("5"), Quantity(**AT, magnitudes=frozenset({Decimal(5)}), dimension="length")),
        (DIFFERENT, Percentage(**AT, percent=Decimal(5)), Percentage(**AT, percent=Decimal(6))),
        (SAME, number(6), number(6, "guest")),
        (UNKNOWN, number(6), number(7)),
        (UNKNOWN, number(6, "guest"), number(6, "room")),
        (DIFFERENT, number(6, "guest"), number(7, "guest")),
        (DIFFERENT, Ordinal(**AT, rank=1, noun="prize"), Ordinal(**AT, rank=2, noun="prize")),
        (SAME, Phone(**AT, digits="02079460018"), Phone(**AT, digits="442079460018", international=True)),
        (SAME, Phone(**AT, digits="5550142"), Phone(**AT, digits="2125550142")),
        (DIFFERENT, Phone(**AT, digits="02079460018"), Phone(**AT, digits="02079460019")),
        (
            DIFFERENT,
            Phone(**AT, digits="442079460018", international=True),
            Phone(**AT, digits="12079460018", international=True),
        ),
        (DIFFERENT, Phone(**AT, digits="5550142", extension="12"), Phone(**AT, digits="5550142", extension="13")),
        (SAME, account("GB00ZZZZ00001111222233", "iban"), account("11222233", "account")),
        (DIFFERENT, account("11222233", "account"), account("11222234", "account")),
        (SAME, account("4471", "card", partial=True), account("4000123412344471", "card")),
        (UNKNOWN, account("112233", "sort code"), account("11222233", "account")),
        (SAME, Url(**AT, host="a.example", path="/x"), Url(**AT, host="a.example", path="/x")),
        (UNKNOWN, Url(**AT, host="a.example"), Url(**AT, host="a.example", path="/x")),
        (DIFFERENT, Url(**AT, host="a.example"), Url(**AT, host="a-login.example")),
        (SAME, Email(**AT, local="Asha", domain="a.example"), Email(**AT, local="asha", domain="A.example")),
        (DIFFERENT, Email(**AT, local="asha", domain="a.example"), Email(**AT, local="asha", domain="b.example")),
        (SAME, code("AI302"), code("ai302")),
        (DIFFERENT, code("aB3x"), code("ab3x")),  # mixed case carries meaning
        (DIFFERENT, code("AI302", "flight"), code("АI302", "flight")),  # the second A is Cyrillic
        (DIFFERENT, code("K9", "pin"), code("\u212a9", "pin")),  # the Kelvin sign
        (UNKNOWN, code("AI302"), code("94001118")),
        (UNKNOWN, code("5591", "pin"), code("5592", "flight")),
        (DIFFERENT, Place(**AT, label="room", name="2A"), Place(**AT, label="room", name="2B")),
        (UNKNOWN, Place(**AT, label="room", name="2A"), Place(**AT, label="gate", name="2A")),
    ],
)
def test_compares(expected: Comparison, a: Value, b: Value) -> None:
    """Each pair has its verdict, in both directions."""
    assert (expected, expected) == (compare(a, b), compare(b, a))


amounts = st.frozensets(st.decimals(0, 50, places=1), min_size=1, max_size=2)
maybe = st.none() | st.integers(1, 6)
days = st.builds(
    Day, year=st.none() | st.just(2026), month=maybe, day=maybe, weekday=maybe, nth=st.none(), offset=st.none()
)
texts = st.text("aAbB12А", min_size=1, max_size=4)
placed = st.just((0, 1))
values: st.SearchStrategy[Value] = st.one_of(
    st.builds(ClockTime, span=placed, text=texts, minutes=st.frozensets(st.integers(0, 9), min_size=1)),
    st.builds(Date, span=placed, text=texts, readings=st.lists(days, min_size=1, max_size=2).map(tuple)),
    st.builds(
        Duration, span=placed, text=texts, seconds=st.decimals(0, 9, places=0), months=st.decimals(0, 3, places=0)
    ),
    st.builds(
        Money, span=placed, text=texts, amounts=amounts, currencies=st.frozensets(st.sampled_from(["GBP", "EUR"]))
    ),
    st.builds(Quantity, span=placed, text=texts, magnitudes=amounts, dimension=st.just("mass"), metric=st.booleans()),
    st.builds(Number, span=placed, text=texts, amounts=amounts, noun=st.sampled_from(["", "box"])),
    st.builds(
        Phone, span=placed, text=texts, digits=st.text("01", min_size=5, max_size=9), international=st.booleans()
    ),
    st.builds(
        Account, span=placed, text=texts, number=texts, scheme=st.sampled_from(["iban", "card"]), partial=st.booleans()
    ),
    st.builds(Url, span=placed, text=texts, host=texts, path=st.sampled_from(["", "/x"])),
    st.builds(Code, span=placed, text=texts, code=texts, label=st.sampled_from(["", "pin"])),
    st.builds(Place, span=placed, text=texts, label=st.just("room"), name=texts),
)


@given(values, values)
def test_is_symmetric(a: Value, b: Value) -> None:
    """The order of the two does not matter."""
    assert compare(a, b) is compare(b, a)


@given(values)
def test_is_reflexive(value: Value) -> None:
    """Every value is the same as itself."""
    assert compare(value, value) is SAME


@given(st.lists(values, max_size=6), st.lists(values, max_size=6))
def test_agreement_sorts_every_kind_once(a: list[Value], b: list[Value]) -> None:
    """A kind on both sides has one outcome; a kind on one side is named on that side only."""
    agreement = compare_all(a, b)
    kinds_a, kinds_b = frozenset(value.kind for value in a), frozenset(value.kind for value in b)
    outcomes = [agreement.same, agreement.different, agreement.mixed, agreement.unknown]
    assert sorted(kinds_a & kinds_b) == sorted(kind for outcome in outcomes for kind in outcome)
    assert (kinds_a - kinds_b, kinds_b - kinds_a) == (agreement.only_a, agreement.only_b)


@given(st.lists(values, max_size=6), st.lists(values, max_size=6))
def test_agreement_mirrors(a: list[Value], b: list[Value]) -> None:
    """Exchanging the sides exchanges what is said of them and nothing else."""
    there, back = compare_all(a, b), compare_all(b, a)
    assert (there.same, there.different, there.mixed, there.unknown) == (
        back.same,
        back.different,
        back.mixed,
        back.unknown,
    )
    assert (there.only_a, there.extra_a) == (back.only_b, back.extra_b)
    assert {pair[::-1] for pair in there.conflicts} == set(back.conflicts)


def test_agreement_names_what_a_judge_needs() -> None:
    """A conflicting time beside the same date and an extra phone number."""
    old, new = time(555), time(465)
    phone = Phone(**AT, digits="5550142")
    expected = Agreement(
        same=frozenset({ValueKind.DATE}),
        different=frozenset({ValueKind.TIME}),
        only_b=frozenset({ValueKind.PHONE}),
        conflicts=((old, new),),
    )
    assert expected == compare_all([old, day(weekday=4)], [new, day(weekday=4), phone])


def test_agreement_keeps_the_extra_value_of_a_move() -> None:
    """ "From 9:15 to 7:45" against "9:15": the same time occurs, and there is another one."""
    agreement = compare_all([time(555)], [time(555), time(465)])
    assert (frozenset({ValueKind.TIME}), frozenset({ValueKind.TIME})) == (agreement.same, agreement.extra_b)


def test_agreement_is_mixed_when_only_part_is_shared() -> None:
    """Mondays and Wednesdays against Mondays and Thursdays."""
    agreement = compare_all([day(weekday=0), day(weekday=2)], [day(weekday=0), day(weekday=3)])
    assert frozenset({ValueKind.DATE}) == agreement.mixed
    assert len(agreement.conflicts) == 1


def test_agreement_gives_up_on_floods() -> None:
    """More values than a statement has are not compared pair by pair."""
    flood = [number(amount) for amount in range(MAX_VALUES_PER_KIND + 1)]
    assert frozenset({ValueKind.NUMBER}) == compare_all(flood, flood).unknown
