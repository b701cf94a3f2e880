"""Lengths of time and how often something happens."""

from __future__ import annotations

import re
from decimal import Decimal

from thymus.core.values import Duration, Frequency
from thymus.recognizers.numbers import NUMERAL, read_amounts
from thymus.recognizers.page import Page, alternatives, scan

_DURATIONS: dict[str, tuple[int, int]] = {  # spelling: (seconds, months)
    name: value
    for names, value in (
        ("second seconds sec secs segundos secondes sekunden s", (1, 0)),
        ("minute minutes min mins minutos minuten मिनट", (60, 0)),
        ("hour hours hr hrs h stunde stunden hora horas heures heure ghante ghanta घंटे", (3600, 0)),
        ("day days día días jours jour tag tage tagen din दिन", (86_400, 0)),
        ("night nights", (86_400, 0)),
        ("week weeks wk wks semana semanas semaine semaines woche wochen hafte haftे", (604_800, 0)),
        ("fortnight fortnights", (1_209_600, 0)),
        ("month months mth mths mes meses mois monat monate monaten mahine महीने", (0, 1)),
        ("quarter quarters", (0, 3)),
        ("year years yr yrs año años an ans jahr jahre jahren saal साल", (0, 12)),
        ("decade decades", (0, 120)),
    )
    for name in names.split()
}
_LONG = {"s", "h", "an", "min", "quarter", "quarters"}
_PERIOD_WORD = alternatives(_DURATIONS)
_WHOLE = frozenset({"hour", "minute", "week", "month", "fortnight", "year", "decade"})
_DURATION = re.compile(
    rf"(?<![\w.,:/$£€₹#-])(?:(?P<half>half an?\s|(?P<q>3|a)\squarters?\sof\san?\s)|(?P<n>{NUMERAL})"
    rf"(?P<to>\s?(?:-|to|or)\s?(?P<n2>{NUMERAL}))?[\s-]?(?:(?:whole|full|more|working|business"
    rf"|calendar|consecutive|solid|extra)\s)?|(?P<one>an?\s|1\s))(?P<unit>{_PERIOD_WORD})(?!\w)"
    rf"(?P<and>\sand\sa\s(?P<part>half|quarter)(?!\w))?(?:,?\s?(?:and\s|et\s|y\s|und\s)?"
    rf"(?P<m>\d{{1,2}})\s?(?P<unit2>minutes?|mins?|m|seconds?|secs?|months?|days?|hours?|h)(?!\w))?"
)
_COMPACT = re.compile(r"(?<![\w.:])(?P<h>\d{1,2})\s?h(?:rs?|ours?)?\s?(?P<m>[0-5]\d)\s?m(?:ins?|inutes?)?(?!\w)")
_ADVERBS: dict[str, Decimal] = {
    name: Decimal(per_year)
    for names, per_year in (
        ("hourly", "8760"),
        ("daily|nightly|every night|each night|every morning|every evening|täglich|roz", "365"),
        ("every other day|alternate days|every second day|every 2nd day", "182.5"),
        ("weekly|wöchentlich", "52"),
        ("fortnightly|biweekly|every other week|every second week|every 2nd week", "26"),
        ("monthly|mensual|monatlich", "12"),
        ("bimonthly|every other month", "6"),
        ("quarterly", "4"),
        ("yearly|annually|annual", "1"),
        ("every other year", "0.5"),
    )
    for name in names.split("|")
}
_YEARLY = {
    "hour": 8760,
    "day": 365,
    "night": 365,
    "week": 52,
    "fortnight": 26,
    "month": 12,
    "quarter": 4,
    "year": 1,
    "hr": 8760,
    "minute": 525_600,
}
_FREQUENCY = re.compile(
    rf"(?<!\w)(?:(?P<adverb>{alternatives(_ADVERBS)})|(?:(?P<n>\d{{1,3}})(?:\stimes|x|\sx)|"
    rf"(?P<times>once|twice|thrice))\s?(?:(?P<ly>daily|weekly|monthly|yearly|annually)|(?:an?|per"
    rf"|every|each|/)\s(?:(?P<k>\d{{1,3}})\s)?(?P<unit>{alternatives(_YEARLY)})s?)"
    rf"|(?:every|each)\s(?P<every>\d{{1,3}}\s)?(?P<unit2>{alternatives(_YEARLY)})s?)(?!\w)"
)
_FREQUENCY_CLUES = (
    "ly",
    "every",
    "each",
    "once",
    "twice",
    "thrice",
    "times",
    "x",
    "annual",
    "alter",
    "mens",
    "lich",
    "roz",
)
_COUNTED = re.compile(r"(?<![\w.,:])(\d{1,3})\s(?:[^\W\d]{2,16}\s)?(?:of\s)?$")


def read_durations(page: Page) -> None:
    """Claim frequencies, then durations."""
    for match in scan(_FREQUENCY, page.low) if page.has(_FREQUENCY_CLUES) else ():
        if rate := _rate(match, page.low):
            page.claim(*match.span(), Frequency, per_year=rate)
    page.settle()
    for match in scan(_DURATION, page.low):
        _claim_duration(page, match)
    page.settle()
    for match in scan(_COMPACT, page.low) if "h" in page.low else ():
        seconds = Decimal(int(match["h"]) * 3600 + int(match["m"]) * 60)
        page.claim(*match.span(), Duration, seconds=seconds, months=Decimal(0))


def _rate(match: re.Match[str], low: str) -> Decimal | None:
    if match["adverb"]:
        return _ADVERBS[match["adverb"]]
    if match["unit2"]:
        every = int(match["every"] or 1)
        counted = _COUNTED.search(low, max(0, match.start() - 28), match.start())  # "six buses each hour"
        times = int(counted[1]) if counted and not match["every"] else 1
        return Decimal(times * _YEARLY[match["unit2"]]) / every if every else None
    times = {"once": 1, "twice": 2, "thrice": 3}.get(match["times"]) or int(match["n"] or 0)
    if match["ly"]:
        return times * _ADVERBS[match["ly"]]
    every = int(match["k"] or 1)
    return Decimal(times * _YEARLY[match["unit"]]) / every if every else None


def _claim_duration(page: Page, match: re.Match[str]) -> None:
    if not _is_duration(page, match):
        return
    seconds, months = _DURATIONS[match["unit"]]
    extra = Decimal({"half": "0.5", "quarter": "0.25"}.get(match["part"] or "", "0"))
    for start, end, factor in _factors(match):
        total = seconds * (factor + extra)
        total_months = months * (factor + extra)
        if match["m"]:
            more = _DURATIONS.get(match["unit2"], (60, 0))
            total += int(match["m"]) * more[0]
            total_months += int(match["m"]) * more[1]
        page.claim(start, end, Duration, seconds=Decimal(total), months=Decimal(total_months))


def _is_duration(page: Page, match: re.Match[str]) -> bool:
    unit, numeral = match["unit"], match["n"]
    if unit in _LONG and not (numeral and unit != "an") and not match["half"]:
        return False
    if unit == "s":  # "10s" is a duration, "1980s" and "10 s" are not
        return bool(numeral) and match.end() - match.end("n") == 1 and len(numeral) < 4
    if match["one"] and not match["and"] and match["one"] != "1 ":
        return unit in _WHOLE and _lasting(page, match)
    return True


def _factors(match: re.Match[str]) -> list[tuple[int, int, Decimal]]:
    """Where each end of the duration stands and how many of the unit it is: "2 to 3 weeks" has two."""
    if match["half"]:
        return [(*match.span(), Decimal("0.75" if match["q"] == "3" else "0.25" if match["q"] else "0.5"))]
    if not match["n"]:
        return [(*match.span(), Decimal(1))]
    ends = [("n", match.start(), match.end("n") if match["n2"] else match.end())]
    if match["n2"]:
        ends.append(("n2", match.start("n2"), match.end()))
    return [(start, end, min(amounts)) for group, start, end in ends if (amounts := read_amounts(match[group]))]


def _lasting(page: Page, match: re.Match[str]) -> bool:
    """ "For a week" and "takes an hour" last; "twice a week" and "£5 a month" do not."""
    before = page.low[max(0, match.start() - 12) : match.start()].split()
    return bool(before) and before[-1] in {
        "for",
        "takes",
        "take",
        "within",
        "in",
        "about",
        "after",
        "lasts",
        "over",
        "under",
        "is",
        "just",
        "only",
        "least",
    }
