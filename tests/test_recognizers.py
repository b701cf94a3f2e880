"""Typed values read out of text: what is read, that spellings of a value agree, that no text breaks or stalls it."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thymus.core.values import ClockTime, Comparison, Date, Phone, Value, ValueKind, compare
from thymus.recognizers import recognize
from thymus.recognizers.page import MAX_MATCHES
from thymus.recognizers.quantities import UNITS
from timing import cpu_seconds

SAME, DIFFERENT, UNKNOWN = Comparison.SAME, Comparison.DIFFERENT, Comparison.UNKNOWN
TUESDAY = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)


def only(kind: ValueKind, text: str) -> Value:
    found = [value for value in recognize(text, observed_at=TUESDAY) if value.kind is kind]
    assert len(found) == 1, (text, recognize(text))
    return found[0]


CASES: dict[ValueKind, list[tuple[str, str, Comparison]]] = {
    ValueKind.TIME: [
        ("standup at 9:15", "standup at 09.15", SAME),
        ("at 9:15", "quarter past nine", SAME),
        ("at 9:15", "a quarter past nine in the morning", SAME),
        ("at 9:15 am", "quarter past nine in the evening", DIFFERENT),
        ("9.15am", "0915 hrs", SAME),
        ("9h15", "9.15 a.m.", SAME),
        ("21h15", "9:15 PM", SAME),
        ("half five", "5:30 pm", SAME),
        ("half past six", "18:30", SAME),
        ("halb fünf", "16:30", SAME),
        ("half five", "4:30", DIFFERENT),
        ("ten to eight", "7:50", SAME),
        ("twenty to eleven", "22:40", SAME),
        ("five past twelve", "12:05", SAME),
        ("five-to-seven", "6:55", SAME),
        ("eight minutes to midnight", "23:52", SAME),
        ("at noon", "12 pm", SAME),
        ("midday", "12:00", SAME),
        ("midnight", "00:00", SAME),
        ("midnight", "noon", DIFFERENT),
        ("nine o'clock", "at nine", SAME),
        ("nine thirty", "9:30", SAME),
        ("nine oh five", "9:05", SAME),
        ("7 in the evening", "19:00", SAME),
        ("at 7", "at 8", DIFFERENT),
        ("it moved to 8", "starts at eight", SAME),
        ("subah 7 baje", "7 am", SAME),
        ("shaam 7 baje", "7 am", DIFFERENT),
        ("18 Uhr", "6 pm", SAME),
        ("a las siete de la tarde", "19:00", SAME),
        ("a las tres y media", "15:30", SAME),
        ("à 18 h 30", "half past six", SAME),
        ("this evening at 7", "7 am", DIFFERENT),
        ("at ９：１５", "at 9:15", SAME),
        ("at 1\u200b0:15", "at 10:15", SAME),
        ("at ٩:١٥", "at 9:15", SAME),
        ("सुबह 9 बजे", "9 am", SAME),
    ],
    ValueKind.TIME_RANGE: [
        ("open 8 to noon", "08:00-12:00", SAME),
        ("between 8 and 12", "from eight until twelve", SAME),
        ("13:10-13:40", "1:10 pm to 1:40 pm", SAME),
        ("9-10am", "09:00 – 10:00", SAME),
        ("9-10am", "9-11am", DIFFERENT),
        ("1-5pm", "13:00-17:00", SAME),
        ("11 till 1pm", "11:00-13:00", SAME),
    ],
    ValueKind.DATE: [
        ("on Friday", "Fridays", SAME),
        ("on Friday", "on Thu", DIFFERENT),
        ("4 December", "Dec 4th", SAME),
        ("the 4th of December 2026", "2026-12-04", SAME),
        ("04/12/2026", "4 December", SAME),
        ("04/12/2026", "April 12", SAME),
        ("04/12/2026", "5 December", DIFFERENT),
        ("14MAR", "14 March", SAME),
        ("on the 18th", "18 May", SAME),
        ("on the 18th", "19 May", DIFFERENT),
        ("Friday the 4th", "4 December 2026", SAME),
        ("Friday", "4 December 2026", SAME),
        ("Thursday", "4 December 2026", DIFFERENT),
        ("tomorrow", "2 December 2026", SAME),
        ("tomorrow", "Wednesday", SAME),
        ("in two weeks", "15 December", SAME),
        ("next Friday", "11 December 2026", SAME),
        ("next Friday", "4 December 2026", SAME),
        ("next Friday", "18 December 2026", DIFFERENT),
        ("Monday week", "14 December 2026", SAME),
        ("tonight", "1 December", SAME),
        ("yesterday", "30 November", SAME),
        ("in May", "May 2027", SAME),
        ("in May", "in June", DIFFERENT),
        ("09/2026", "September 2026", SAME),
        ("the first Wednesday", "the 2nd Wednesday", DIFFERENT),
        ("el 4 de diciembre", "December 4", SAME),
        ("le mardi 15 décembre", "Tuesday 15 December", SAME),
        ("am 3. Oktober", "3 October", SAME),
        ("jueves", "Donnerstag", SAME),
        ("सोमवार", "Monday", SAME),
        ("the twenty-fifth of May", "25/05/2027", SAME),
    ],
    ValueKind.DATE_RANGE: [
        ("4-6 December", "4 to 6 December", SAME),
        ("from 3 May to 5 June", "3 May - 5 June", SAME),
        ("Mon-Fri", "weekdays", SAME),
        ("Monday to Friday", "Monday to Thursday", DIFFERENT),
        ("Feb 14th-20th", "14 to 20 February", SAME),
    ],
    ValueKind.MONEY: [
        ("₹49", "49 rupees", SAME),
        ("₹49", "forty-nine rupees", SAME),
        ("$1,200.50", "1200.50 USD", SAME),
        ("1.200,50 €", "€1,200.50", SAME),
        ("1 200,50 €", "EUR 1200.50", SAME),
        ("£3k", "3,000 pounds", SAME),
        ("£1,00,000", "one lakh pounds", SAME),
        ("Rs 1.5 lakh", "₹1,50,000", SAME),
        ("£5", "€5", DIFFERENT),
        ("$5", "AUD 5", SAME),
        ("€1.200", "1200 euros", SAME),
        ("six pounds twenty", "£6.20", SAME),
        ("17 pounds and 50 pence", "£17.50", SAME),
        ("49p", "£0.49", SAME),
        ("a fiver", "£5", SAME),
        ("two million dollars", "$2m", SAME),
        ("£5 a month", "£5 pcm", SAME),
        ("£5 a month", "£60 a year", UNKNOWN),
        ("£5 a month", "£6 per month", DIFFERENT),
        ("€٤٩", "49 €", SAME),
    ],
    ValueKind.QUANTITY: [
        ("2 km", "2000 m", SAME),
        ("two thousand metres", "2km", SAME),
        ("75 micrograms", "0.075 mg", SAME),
        ("75 µg", "75 mcg", SAME),
        ("75 mg", "750 mg", DIFFERENT),
        ("5 kg", "5 km", UNKNOWN),
        ("1,5 l", "1500 ml", SAME),
        ("five foot ten", "1.78 m", SAME),
        ("12 stone 4", "78 kg", SAME),
        ("20 °C", "68°F", SAME),
        ("-5 °C", "5 °C", DIFFERENT),
        ("16 GB", "16 gigabytes", SAME),
        ("50 mg/l", "50 mg per litre", SAME),
        ("50 mg/l", "50 mg", UNKNOWN),
    ],
    ValueKind.DURATION: [
        ("45 minutes", "three quarters of an hour", SAME),
        ("half an hour", "30 min", SAME),
        ("an hour and a half", "90 minutes", SAME),
        ("one and a half hours", "1 hour 30 minutes", SAME),
        ("two weeks", "a 14-day stay", SAME),
        ("a fortnight is enough: 2 weeks", "14 days", SAME),
        ("12 months", "one year", SAME),
        ("two whole days", "48 hours", SAME),
        ("6 weeks", "twelve weeks", DIFFERENT),
        ("3 Stunden", "three hours", SAME),
    ],
    ValueKind.FREQUENCY: [
        ("weekly", "every week", SAME),
        ("twice a day", "every 12 hours", SAME),
        ("twice daily", "2x per day", SAME),
        ("monthly", "quarterly", DIFFERENT),
        ("every other day", "daily", DIFFERENT),
    ],
    ValueKind.PERCENTAGE: [
        ("5%", "five per cent", SAME),
        ("5%", "5,0 %", SAME),
        ("three point eight nine percent", "3.89%", SAME),
        ("5%", "15%", DIFFERENT),
    ],
    ValueKind.NUMBER: [
        ("two bookcases", "2 bookcases", SAME),
        ("two bookcases", "three bookcases", DIFFERENT),
        ("two boxes", "two chairs", UNKNOWN),
        ("one hundred and twenty-five guests", "125 guests", SAME),
        ("a dozen eggs", "12 eggs", SAME),
        ("half a million users", "500,000 users", SAME),
        ("2½ cups", "two and a half cups", SAME),
        ("dos gatos", "2 gatos", SAME),
    ],
    ValueKind.ORDINAL: [("third prize", "3rd prize", SAME), ("twenty-first prize", "22nd prize", DIFFERENT)],
    ValueKind.PHONE: [
        ("+44 20 7946 0018", "020 7946 0018", SAME),
        ("0044 20 7946 0018", "+442079460018", SAME),
        ("(212) 555-0142", "+1 212 555 0142", SAME),
        ("call 555-0142", "212-555-0142", SAME),
        ("+44 20 7946 0018", "+44 20 7946 0081", DIFFERENT),
        ("ring 07700 900412 thirty mins before", "+44 7700 900412", SAME),
        ("＋４４ 20 7946 0018", "+44 20 7946 0018", SAME),
    ],
    ValueKind.ACCOUNT: [
        ("IBAN GB00 ZZZZ 0000 1111 2222 33", "GB00ZZZZ00001111222233", SAME),
        ("IBAN GB00 ZZZZ 0000 1111 2222 33", "GB00 ZZZZ 0000 1111 2222 34", DIFFERENT),
        ("iban gb00 zzzz 0000 1111 2222 33", "GB00-ZZZZ-0000-1111-2222-33", SAME),
        ("account 12345678", "a/c no. 1234 5678", SAME),
        ("account 12345678", "account 12345687", DIFFERENT),
        ("card 4000 1234 1234 4471", "card ending 4471", SAME),
        ("sort code 12-34-56", "sort code 123456", SAME),
    ],
    ValueKind.URL: [
        ("https://shop.example/path", "shop.example/path", SAME),
        ("https://www.shop.example/", "SHOP.example", SAME),
        ("hxxps://shop[.]example/x", "https://shop.example/x", SAME),
        ("https://shop.example@evil.example/", "https://shop.example/", DIFFERENT),
        ("https://bücher.example", "https://xn--bcher-kva.example", SAME),
        ("shop.example/help", "shop.example", UNKNOWN),
        ("https://shop.example/a.", "https://shop.example/b", DIFFERENT),
    ],
    ValueKind.EMAIL: [
        ("asha@mail.example", "Asha@Mail.example.", SAME),
        ("asha@mail.example", "asha@mai1.example", DIFFERENT),
    ],
    ValueKind.CODE: [
        ("flight AI302", "flight AI 302", SAME),
        ("flight AI302", "flight AI304", DIFFERENT),
        ("PIN 5591", "the PIN is five five nine one", SAME),
        ("PIN 5591", "PIN 5519", DIFFERENT),
        ("booking ref XK7Q2P", "reference: XK7Q2P", SAME),
        ("booking XK7Q2P", "booking XК7Q2P", DIFFERENT),  # a Cyrillic К
        ("invoice INV-0931", "INV 0931", SAME),
        ("server 10.0.4.17", "10.0.4.17", SAME),
        ("server 10.0.4.17", "server 10.0.41.7", DIFFERENT),
        ("version 2.4.1", "v2.4.1", SAME),
        ("Python 3.11", "python 3.12", DIFFERENT),
        ("SW1A 2AA", "postcode SW1A2AA", SAME),
        ("password is heron-93-violet", "password: heron-93-violets", DIFFERENT),
        ("the case is MTR-5502", "case number MTR-5520", DIFFERENT),
        ("the code is 3 0 2 1 9", "code 30219", SAME),
    ],
    ValueKind.PLACE: [
        ("Room 2A", "room 2a", SAME),
        ("Room 2A", "Room 2B", DIFFERENT),
        ("gate B12", "Gate B 12", SAME),
        ("gate B12", "platform 12", UNKNOWN),
        ("Level 3", "the third floor", SAME),
        ("platform four", "Platform 4", SAME),
        ("seat 14C", "seat 14D", DIFFERENT),
        ("14 Larkspur Mews", "14 LARKSPUR MEWS".title(), SAME),
        ("9 High St.", "9 High Street", SAME),
        ("9 High Street", "19 High Street", DIFFERENT),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "a", "b", "expected"), [(kind, *case) for kind, cases in CASES.items() for case in cases]
)
def test_reads_meaning(kind: ValueKind, a: str, b: str, expected: Comparison) -> None:
    """Both texts have one value of the kind, and these compare as expected."""
    assert expected is compare(only(kind, a), only(kind, b))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I may march to the second shop and have a second helping.",
        "no one was there, oh well",
        "the sun sat low, we wed in secret",
        "she is at home, to be fair",
        "a table in a room",
        "done.In the end it was fine",
    ],
)
def test_reads_nothing_into_plain_words(text: str) -> None:
    """Words that only look like months, days, numbers or links are no values."""
    assert tuple(value for value in recognize(text) if value.kind is not ValueKind.ORDINAL) == ()


def test_orders_values_by_place() -> None:
    """Each value of a sentence is read once, in order."""
    text = "Standup moved to 7:45 on Friday in Room 2A, call +44 20 7946 0018 or pay £5."
    kinds = [value.kind for value in recognize(text)]
    assert kinds == [ValueKind.TIME, ValueKind.DATE, ValueKind.PLACE, ValueKind.PHONE, ValueKind.MONEY]


def test_keeps_relative_days_without_a_date_of_writing() -> None:
    """ "Tomorrow" stays relative, and compares with no fixed day."""
    (tomorrow,) = recognize("tomorrow")
    assert isinstance(tomorrow, Date)
    assert tomorrow.readings[0].offset == 1
    assert UNKNOWN is compare(tomorrow, only(ValueKind.DATE, "2 December 2026"))


def test_region_makes_national_numbers_international() -> None:
    """With the country known, digits become E.164."""
    (phone,) = recognize("020 7946 0018", region="GB")
    assert isinstance(phone, Phone)
    assert (phone.digits, phone.international) == ("442079460018", True)


@given(st.integers(0, 23), st.integers(0, 59))
def test_every_rendering_of_a_time_agrees(hour: int, minute: int) -> None:
    """One time in seven spellings is read as times that are pairwise the same."""
    twelve, half = (hour - 1) % 12 + 1, "am" if hour < 12 else "pm"
    spellings = [
        f"at {hour:02}:{minute:02}",
        f"at {hour}h{minute:02}",
        f"at {hour:02}.{minute:02}",
        f"at {twelve}:{minute:02} {half}",
        f"at {twelve}.{minute:02}{half}",
        f"{hour:02}{minute:02} hrs",
        f"at {twelve}:{minute:02} {half[0]}.m.",
    ]
    read = [only(ValueKind.TIME, text) for text in spellings]
    assert {SAME} == {compare(read[0], other) for other in read}
    assert all(isinstance(value, ClockTime) and hour * 60 + minute in value.minutes for value in read)


@given(st.dates(datetime(1950, 1, 1).date(), datetime(2049, 12, 31).date()))
def test_every_rendering_of_a_date_agrees(day: datetime) -> None:
    """One date in six spellings is read as dates that are the same, and differ from the day after."""
    spellings = [
        f"{day:%Y-%m-%d}",
        f"{day:%d/%m/%Y}",
        f"{day.day} {day:%B %Y}",
        f"{day:%B} {day.day}, {day.year}",
        f"{day:%a} {day.day} {day:%b %Y}",
        f"{day:%d.%m.%Y}",
    ]
    read = [only(ValueKind.DATE, text) for text in spellings]
    assert {SAME} == {compare(read[0], other) for other in read}
    assert SAME is compare(only(ValueKind.DATE, f"{day:%A}"), read[0])


@given(st.decimals(0, 999_999, places=2))
def test_every_rendering_of_a_sum_agrees(amount: Decimal) -> None:
    """English, continental, Swiss and plain grouping name one sum."""
    english = f"{amount:,.2f}"
    continental = english.translate(str.maketrans(",.", ".,"))
    spellings = [f"€{english}", f"{continental} €", f"EUR {amount:.2f}", f"{english.replace(',', chr(39))} euros"]
    read = [only(ValueKind.MONEY, text) for text in spellings]
    assert {SAME} == {compare(read[0], other) for other in read}


PIECES = [
    *[
        "9",
        "12",
        ":",
        ".",
        "-",
        " ",
        "am",
        "half",
        "past",
        "to",
        "Friday",
        "May",
        "£",
        "%",
        "km",
        "one",
        "hundred",
        "and",
    ],
    *[
        "room",
        "@",
        "a.example",
        "+44",
        "point",
        "GB00",
        "#",
        "/",
        "\u200b",
        "\ud800",
        "\x00",
        "٣",
        "½",
        "İ",
        "é",
        "\u202e",
    ],
]
pieces = st.lists(st.sampled_from(PIECES), max_size=24)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60) | pieces.map("".join) | pieces.map(" ".join))
def test_any_text_is_read_without_error(text: str) -> None:
    """Spans point at the raw text, in order and apart; every value equals itself."""
    values = recognize(text, observed_at=TUESDAY, region="GB")
    for value in values:
        assert value.text == text[slice(*value.span)]
        assert value.span[0] < value.span[1]
        assert SAME is compare(value, value)
    assert all(one.span[1] <= two.span[0] for one, two in pairwise(values))


HOSTILE = [
    "a",
    "1",
    "1 ",
    ":",
    "1:",
    "1.",
    "1-",
    "a@",
    "one ",
    "$",
    "1234 ",
    "a\u200b",
    "٣",
    "http://",
    "AB12 ",
    "at 7 ",
    "(1",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_is_linear(piece: str) -> None:
    """Ten times the text costs no more than some twenty times the time: nothing grows as the square."""

    short, long = (piece * (length // len(piece)) for length in (10_000, 100_000))
    most = 20 * max(cpu_seconds(lambda: recognize(short)), 0.01)
    assert cpu_seconds(lambda: recognize(long), enough=most) < most


def test_import_is_cheap() -> None:
    """Importing compiles no pattern and loads no telephone metadata."""
    heavy = "('phonenumbers', 'pint', 'stdnum', 'thymus.recognizers.')"
    code = f"import sys, thymus.recognizers; print([name for name in sys.modules if name.startswith({heavy})])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


PINT_UNITS = {
    "m": "m km cm mm mile yard foot inch",
    "g": "g kg mg µg tonne lb ounce stone",
    "l": "l ml cl pint=imperial_pint gallon=imperial_gallon",
    "m**2": "hectare acre m²=m**2 ft²=ft**2",
    "Wh": "kwh=kWh wh=Wh kcal=kcal",
    "Pa": "kpa=kPa bar psi",
    "Hz": "hz=Hz khz=kHz mhz=MHz ghz=GHz",
    "W": "w=W kw=kW mw=MW",
    "byte": "kb=kilobyte gb=gigabyte kib=kibibyte gib=gibibyte",
    "km/h": "mph=mile/hour",
}


def test_units_agree_with_pint() -> None:
    """Every factor is that of an independent library, to five places (its acres are US survey ones)."""
    registry = pytest.importorskip("pint").UnitRegistry()
    for base, names in PINT_UNITS.items():
        one = UNITS["km/h"][1] if base == "km/h" else Decimal(1)
        for name in names.split():
            ours, _, theirs = name.partition("=")
            expected = registry.Quantity(1.0, theirs or ours).to(base).magnitude
            assert pytest.approx(expected, rel=1e-3 if ours == "kcal" else 1e-5) == float(UNITS[ours][1] / one), name


def test_floods_are_cut_off() -> None:
    """A text with more values than any statement keeps the first ones of each pattern."""
    assert len(recognize("at 9:15 " * (2 * MAX_MATCHES))) == MAX_MATCHES
