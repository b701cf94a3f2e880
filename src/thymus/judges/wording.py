"""How a judge words what it saw. No sender's text: only kinds, numbers and the ends of identifiers."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Final

from thymus.core import values as v

_MOST: Final = 2
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def describe(agreement: v.Agreement, similarity: float | None = None) -> str:
    """What is seen of two statements, as "typed values differ: time 09:15 / 07:45; similarity 0.83"."""
    parts = []
    if agreement.conflicts:
        shown = []
        for ours, theirs in agreement.conflicts[:_MOST]:
            left, right = render(ours), render(theirs)
            shown.append(f"{ours.kind} {left} / {right}" if left and right and left != right else f"{ours.kind}")
        parts.append("typed values differ: " + ", ".join(shown))
    if agreement.same:
        parts.append("the same " + ", ".join(sorted(agreement.same)[:_MOST]))
    if similarity is not None:
        parts.append(f"similarity {similarity:.2f}")
    return "; ".join(parts) or "no typed value in both"


def render(value: v.Value) -> str:  # noqa: C901 - one line a kind
    """A value in its normalised form, at most some twenty characters; "" where that would show a sender's words."""
    match value:
        case v.ClockTime():
            return _clock(value.minutes)
        case v.TimeRange():
            return f"{_clock(value.start)}-{_clock(value.end)}"
        case v.Date():
            return _day(value.readings)
        case v.DateRange():
            return f"{_day(value.start)} to {_day(value.end)}"
        case v.Money():
            currency = min(value.currencies, default="") if len(value.currencies) == 1 else ""
            return f"{_number(min(value.amounts, default=Decimal(0)))} {currency}".strip()
        case v.Quantity():
            return _number(min(value.magnitudes, default=Decimal(0)))
        case v.Percentage():
            return f"{_number(value.percent)}%"
        case v.Number():
            return _number(min(value.amounts, default=Decimal(0)))
        case v.Ordinal():
            return _number(Decimal(value.rank))
        case v.Phone():
            return f"…{value.digits[-4:]}"
        case v.Account():
            return f"…{value.number[-4:]}" if value.number[-4:].isascii() else ""
        case _:
            return ""


def _number(number: Decimal) -> str:
    return f"{number:.6g}"


def _clock(minutes: frozenset[int]) -> str:
    return " or ".join(f"{minute // 60:02}:{minute % 60:02}" for minute in sorted(minutes)[:_MOST])


def _day(readings: tuple[v.Day, ...]) -> str:
    if not readings:
        return ""
    day = readings[0]
    if day.year and day.month and day.day:
        try:
            return date(day.year, day.month, day.day).isoformat()
        except ValueError:
            return ""
    if day.month and day.day:
        return f"{day.month:02}-{day.day:02}"
    if day.weekday is not None:
        return _WEEKDAYS[day.weekday % 7]
    return f"{day.day}." if day.day else ""
