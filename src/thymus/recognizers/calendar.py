"""Days: dates in figures and words, days of the week, months, days relative to the time of writing, and ranges."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from thymus.core.values import Date, DateRange, Day
from thymus.recognizers.lexicon import MONTHS, MONTHS_ALONE, SHY_WEEKDAYS, WEEKDAYS
from thymus.recognizers.page import Page, alternatives, blank, scan

_WD = rf"(?:{alternatives(WEEKDAYS)})"
_MONTH = rf"(?:{alternatives(MONTHS)})"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_YEAR = r"(?:,?\s(?:de\s|del\s)?(?P<year>(?:19|20)\d\d)(?![\d:])|\s'(?P<short>\d\d))?"
_NAMED = rf"(?:(?P<wd>{_WD})\.?,?\s(?:(?:the|den|le|el|der)\s)?)?"
_TO = r"\s?(?:-|to|until|till?|thru|through|bis|au|al|a|se)\s?"

_DAY_MONTH = re.compile(
    rf"(?<![\w.:/\x00-]){_NAMED}(?:(?P<from>{_DAY})(?:st|nd|rd|th|\.)?(?P<to>{_TO}|\s?(?:and|&|y|et|und)\s?))?"
    rf"(?P<day>{_DAY})(?:st|nd|rd|th|\.|er|º)?(?:\s(?:of\s|de\s|day\sof\s)?|-|(?=[a-z]))(?P<month>"
    rf"{_MONTH})(?!\w)\.?-?{_YEAR}"
)
_MONTH_DAY = re.compile(
    rf"(?<![\w.:/\x00-]){_NAMED}(?P<month>{_MONTH})\.?\s(?:the\s)?(?P<day>{_DAY})(?:st|nd|rd|th)?(?![\w:%/]|[.,]\d)"
    rf"(?:(?P<to>{_TO})(?P<until>{_DAY})(?:st|nd|rd|th)?(?!\w|[:.]\d))?{_YEAR}"
)
_WD_DAY = re.compile(
    rf"(?<!\w)(?P<wd>{_WD})\.?,?\s(?:the\s|den\s|le\s|el\s)?(?P<day>{_DAY})(?P<end>st|nd|rd|th|\."
    rf"(?!\d))?(?![\w:%/-]|[.,]\d| ?[ap]\.?m)"
)
_ISO = re.compile(
    r"(?<![\w.:/-])(?P<y>(?:19|20)\d\d)([-/.])(?P<m>0?[1-9]|1[0-2])\2(?P<d>0?[1-9]|[12]\d|3[01])"
    r"(?=t\d|[^\w/-]|$)(?!\.\d)"
)
_FIGURES = re.compile(
    rf"(?<![\w.:/$£€₹-])(?:(?P<wd>{_WD})\.?,?\s)?(?P<a>\d\d?)(?P<sep>[/.-])(?P<b>\d\d?)(?:(?P=sep)"
    rf"(?P<y>(?:19|20)?\d\d))?"
    r"(?P<dot>\.)?(?![\w/:-]|[.,]\d)"
)
_MONTH_YEAR = re.compile(r"(?<![\w/.,])(?P<month>0?[1-9]|1[0-2])/(?P<year>20\d\d)(?![\w/])")
_BEFORE_FIGURES = re.compile(
    r"(?:\b(?:on|by|until|till|due|from|since|dated?|before|after|starts?|to|am|vom|bis|le|el"
    r"|expir\w{0,3}|deadline|w\.e\.f\.?)|[:·|–(,]) ?$"
)
_THE_NTH = re.compile(
    r"(?<!\w)(?P<lead>(?:on|by|until|till|from|for)\s(?:the\s)?|(?:the|le|el|der|den)\s)"
    r"(?P<day>[12]\d|3[01]|[1-9])(?:st|nd|rd|th|er)(?=\s?(?:$|[.,;:!?)\x00]|(?:of (?:the|each|every"
    r"|next|this)|and|at|in|to|until|till|each|every|instead|not|now|for|is|if|as|we|or|then|by|from"
    r"|with|so|i|you|this|next)\b))"
)
_NTH_WD = re.compile(rf"(?<!\w)(?P<nth>[1-5](?:st|nd|rd|th)|last(?=\s\w{{3,12}}\s(?:of|in)\b))\s(?P<wd>{_WD})(?!\w)")
_MONTH_ONLY = re.compile(
    rf"(?<!\w)(?P<pre>(?:in|by|until|till|since|during|from|to|of|before|after|early|mid|late|each"
    rf"|every|next|this|last|en|im|bis|seit|de|até)[\s-])?"
    rf"(?P<month>{_MONTH})(?!\w)(?:,?\s(?P<year>(?:19|20)\d\d)(?!\d))?"
)
_YEAR_ONLY = re.compile(
    r"(?<!\w)(?:in|since|until|till|by|from|for|of|year)\s(?P<year>(?:19|20)\d\d)(?![\w:%]|[.,/-]\d"
    r"|\s(?:people|[a-z]{3,}s\b))"
)
_WD_ONLY = re.compile(
    rf"(?<!\w)(?P<pre>(?:next|this|last|every|each|coming|on|by|until)\s)?(?P<wd>{_WD})(?!\w)(?P<week>\sweek)?"
)
_WORKING = re.compile(r"(?<!\w)(?:(?P<work>weekdays?|working days)|(?P<end>weekends?))(?!\w)")
_RELATIVE_WORDS = {
    "today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1, "the day after tomorrow": 2, "day after tomorrow": 2,
    "the day before yesterday": -2, "hoy": 0, "aujourd'hui": 0, "heute": 0, "aaj": 0, "आज": 0, "demain": 1, "ayer": -1,
    "gestern": -1, "übermorgen": 2, "pasado mañana": 2, "après-demain": 2, "tmrw": 1, "tmr": 1,
}  # fmt: skip
_RELATIVE = re.compile(
    rf"(?<!\w)(?:(?P<word>{alternatives(_RELATIVE_WORDS)})|in\s(?P<n>\d{{1,3}}|a)\s(?P<unit>day|week"
    rf"|month)s?(?:'? time)?"
    r"|(?P<ago>\d{1,3}|a)\s(?P<unit_ago>day|week|month)s?\sago|(?P<step>next|this|last)\s(?P<period>month|year))(?!\w)"
)
_BETWEEN = re.compile(r"\s?(?:-|to|until|till|thru|through|bis|au|al|a|se)\s(?:the\s|le\s)?|-|\s?-\s?")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    start: int
    end: int
    readings: tuple[Day, ...]
    until: tuple[Day, ...] = ()


def read_days(page: Page) -> None:
    """Claim every date, weekday, month and range of days."""
    found: list[_Found] = []
    has_name, has_digit = _ANY_NAME.search(page.low) is not None, _ANY_DIGIT.search(page.low) is not None
    for pattern, read, needs_name, needs_digit, clues in _READERS:
        if (needs_name and not has_name) or (needs_digit and not has_digit) or not page.has(clues):
            continue
        fresh = [item for match in scan(pattern, page.low) if (item := read(match, page))]
        if fresh:  # blanked at once: the next pattern is less specific
            page.low = blank(page.low, [(item.start, item.end) for item in fresh])
            found += fresh
    found.sort(key=lambda item: item.start)
    for item in _joined(found, page.text):
        if item.until:
            page.claim(item.start, item.end, DateRange, start=item.readings, end=item.until)
        else:
            page.claim(item.start, item.end, Date, readings=item.readings)


def _joined(found: list[_Found], text: str) -> Iterator[_Found]:
    """Two neighbours with "to" between them are one range."""
    previous: _Found | None = None
    for item in found:
        close = previous and not previous.until and not item.until and item.start - previous.end <= 12
        if previous and close and _BETWEEN.fullmatch(text[previous.end : item.start].lower()):
            previous = _Found(start=previous.start, end=item.end, readings=previous.readings, until=item.readings)
            continue
        if previous:
            yield previous
        previous = item
    if previous:
        yield previous


def _year(match: re.Match[str]) -> int | None:
    groups = match.groupdict()
    if groups.get("year"):
        return int(groups["year"])
    return 2000 + int(groups["short"]) if groups.get("short") else None


def _weekday(match: re.Match[str]) -> int | None:
    return WEEKDAYS[match["wd"]] if match["wd"] else None


def _day_month(match: re.Match[str], page: Page) -> _Found | None:
    month, year = MONTHS[match["month"]], _year(match)
    if match["month"] in {"may", "march", "mar", "dec", "sep"} and match["day"].isdigit() and _is_verb(match, page):
        return None
    last = Day(year=year, month=month, day=int(match["day"]), weekday=None if match["from"] else _weekday(match))
    if not match["from"]:
        return _Found(start=match.start(), end=match.end(), readings=(last,))
    first = Day(year=year, month=month, day=int(match["from"]), weekday=_weekday(match))
    if match["to"].strip() in {"and", "&", "y", "et", "und"}:
        return _Found(start=match.start(), end=match.end(), readings=(first, last))
    return _Found(start=match.start(), end=match.end(), readings=(first,), until=(last,))


def _is_verb(match: re.Match[str], page: Page) -> bool:
    """ "Room 2 may be closed": a number before a small "may" is a date only without a verb after it."""
    after = page.low[match.end() : match.end() + 6]
    return match["month"] == "may" and re.match(r" (?:be|not|have|need|only|also|want|take)\b", after) is not None


def _month_day(match: re.Match[str], page: Page) -> _Found | None:
    month, year = MONTHS[match["month"]], _year(match)
    first = Day(year=year, month=month, day=int(match["day"]), weekday=_weekday(match))
    if match["month"] in {"may", "march", "mar"} and page.text[match.start("month")].islower() and page.text.isascii():
        before = page.low[max(0, match.start("month") - 4) : match.start("month")]
        if not match["wd"] and not before.endswith(("on ", "by ", ", ")):
            return None
    if not match["until"]:
        return _Found(start=match.start(), end=match.end(), readings=(first,))
    last = Day(year=year, month=month, day=int(match["until"]))
    return _Found(start=match.start(), end=match.end(), readings=(first,), until=(last,))


def _wd_day(match: re.Match[str], page: Page) -> _Found | None:
    if not match["end"] and match["day"] in {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"}:
        before_month = page.low[match.end() : match.end() + 2]
        if before_month.strip() not in {"", ",", "."}:
            return None  # "Monday 7 till late" is an hour
    if match["wd"] in SHY_WEEKDAYS and page.text[match.start()].islower() and not match["end"]:
        return None
    day = Day(day=int(match["day"]), weekday=WEEKDAYS[match["wd"]])
    return _Found(start=match.start(), end=match.end(), readings=(day,))


def _month_year(match: re.Match[str], _: Page) -> _Found | None:
    return _Found(
        start=match.start(), end=match.end(), readings=(Day(year=int(match["year"]), month=int(match["month"])),)
    )


def _iso(match: re.Match[str], _: Page) -> _Found | None:
    day = Day(year=int(match["y"]), month=int(match["m"]), day=int(match["d"]))
    return _Found(start=match.start(), end=match.end(), readings=(day,))


def _figures(match: re.Match[str], page: Page) -> _Found | None:
    a, b, raw = int(match["a"]), int(match["b"]), match["y"]
    year = None if not raw else int(raw) if len(raw) == 4 else 2000 + int(raw)
    separator = match["sep"]
    if year is None and not _is_announced(match, page):
        return None
    wd = _weekday(match)
    pairs = [(a, b)] if separator == "." else [(a, b), (b, a)]
    readings = tuple(
        dict.fromkeys(
            Day(year=year, month=month, day=day, weekday=wd)
            for day, month in pairs
            if 1 <= month <= 12 and 1 <= day <= 31
        )
    )
    return _Found(start=match.start(), end=match.end(), readings=readings) if readings else None


def _is_announced(match: re.Match[str], page: Page) -> bool:
    """Whether "6.5." or "6/5", without a year, is a date: by what stands before it, or by "06/05"."""
    before = _BEFORE_FIGURES.search(page.low, max(0, match.start() - 12), match.start())
    if match["sep"] == ".":
        return match["dot"] is not None and bool(match["wd"] or (before and before[0][0].isalpha()))
    both_padded = len(match["a"]) == len(match["b"]) == 2
    return match["sep"] == "/" and (both_padded or match["wd"] is not None or before is not None)


def _the_nth(match: re.Match[str], page: Page) -> _Found | None:
    if match.start("day") in page.spelt and match["lead"] == "the ":  # "discard the first": a rank, no day
        return None
    return _Found(start=match.start("day"), end=match.end(), readings=(Day(day=int(match["day"])),))


def _nth_wd(match: re.Match[str], _: Page) -> _Found | None:
    nth, weekday = match["nth"], WEEKDAYS[match["wd"]]
    return _Found(
        start=match.start(),
        end=match.end(),
        readings=(Day(weekday=weekday, nth=-1 if nth == "last" else int(nth[0])),),
    )


def _month_only(match: re.Match[str], page: Page) -> _Found | None:
    month = match["month"]
    start = match.start("month")
    capital = not page.text[start].islower()
    if not (month in MONTHS_ALONE or match["year"] or (match["pre"] and capital and len(month) > 2)):
        return None
    day = Day(month=MONTHS[month], year=int(match["year"]) if match["year"] else None)
    return _Found(start=start, end=match.end(), readings=(day,))


def _year_only(match: re.Match[str], _: Page) -> _Found | None:
    return _Found(start=match.start("year"), end=match.end(), readings=(Day(year=int(match["year"])),))


def _wd_only(match: re.Match[str], page: Page) -> _Found | None:
    word, step = match["wd"], (match["pre"] or "").strip()
    first = page.text[match.start("wd")]
    if word in SHY_WEEKDAYS and first.islower() and not step:
        return None
    weekday = WEEKDAYS[word]
    start = match.start() if step in {"next", "this", "last", "coming"} else match.start("wd")
    readings: tuple[Day, ...] = (Day(weekday=weekday),)
    if page.observed_at and (match["week"] or start == match.start() != match.start("wd")):
        today = page.observed_at.date()
        ahead = (weekday - today.weekday() - 1) % 7 + 1
        weeks = {"last": (-1,), "next": (0, 1)}.get(step, (0,))  # "next Friday": the coming one, or the one after
        if match["week"]:
            weeks = (1,)
        days = [_shift(today, ahead + 7 * week) for week in weeks]
        readings = tuple(_full(day) for day in days if day) or readings
    return _Found(start=start, end=match.end(), readings=readings)


def _working(match: re.Match[str], _: Page) -> _Found | None:
    first, last = (0, 4) if match["work"] else (5, 6)
    return _Found(start=match.start(), end=match.end(), readings=(Day(weekday=first),), until=(Day(weekday=last),))


def _relative(match: re.Match[str], page: Page) -> _Found | None:
    today = page.observed_at.date() if page.observed_at else None
    if match["step"]:
        if not today:
            return None
        step = {"last": -1, "this": 0, "next": 1}[match["step"]]
        months = today.year * 12 + today.month - 1 + step
        month_day = Day(year=months // 12, month=months % 12 + 1)
        day = month_day if match["period"] == "month" else Day(year=today.year + step)
        return _Found(start=match.start(), end=match.end(), readings=(day,))
    if match["word"]:
        offset = _RELATIVE_WORDS[match["word"]]
    else:
        number = match["n"] or match["ago"]
        unit = match["unit"] or match["unit_ago"]
        if unit == "month":
            return None  # a month's length varies: no day is meant
        offset = (1 if number == "a" else int(number)) * (7 if unit == "week" else 1) * (-1 if match["ago"] else 1)
    moved = _shift(today, offset) if today else None
    return _Found(start=match.start(), end=match.end(), readings=(_full(moved) if moved else Day(offset=offset),))


def _shift(day: date, days: int) -> date | None:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


def _full(day: date) -> Day:
    return Day(year=day.year, month=day.month, day=day.day)


_ANY_NAME = re.compile(rf"(?<![^\W\d_])(?:{alternatives([*WEEKDAYS, *MONTHS])})(?![^\W\d_])")
_RELATIVE_CLUES = (
    "day",
    "morrow",
    "night",
    "week",
    "month",
    "year",
    "tmr",
    "ho",
    "heu",
    "aaj",
    "jourd",
    "आज",
    "dema",
    "ayer",
    "gest",
    "morg",
    "mañ",
)
_ANY_DIGIT = re.compile(r"\d")
_Reader = Callable[[re.Match[str], Page], _Found | None]
# pattern, reader, whether it needs the name of a month or weekday, whether a digit, and the pieces of text of which one
# must occur; the most specific first
_READERS: tuple[tuple[re.Pattern[str], _Reader, bool, bool, tuple[str, ...]], ...] = (
    (_ISO, _iso, False, True, ("19", "20")),
    (_DAY_MONTH, _day_month, True, True, ("",)),
    (_MONTH_DAY, _month_day, True, True, ("",)),
    (_FIGURES, _figures, False, True, ("/", ".", "-")),
    (_MONTH_YEAR, _month_year, False, True, ("/20",)),
    (_NTH_WD, _nth_wd, True, False, ("st ", "nd ", "rd ", "th ")),
    (_WD_DAY, _wd_day, True, True, ("",)),
    (_THE_NTH, _the_nth, False, True, ("st", "nd", "rd", "th", "er")),
    (_RELATIVE, _relative, False, False, _RELATIVE_CLUES),
    (_WD_ONLY, _wd_only, True, False, ("",)),
    (_MONTH_ONLY, _month_only, True, False, ("",)),
    (_YEAR_ONLY, _year_only, False, True, ("19", "20")),
    (_WORKING, _working, False, False, ("weekday", "weekend", "working")),
)
