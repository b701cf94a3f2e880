"""Times of day and ranges of them, in figures and in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from thymus.core.values import ClockTime, TimeRange
from thymus.recognizers.page import Page, alternatives, blank, scan

DAY_MINUTES = 24 * 60

# Words that settle which half of the day is meant: the hours (of 24) that they allow.
_DAYPARTS: dict[str, range] = {
    part: hours
    for parts, hours in (
        ("am|a.m|a.m.|a|morning|in the morning|de la mañana|du matin|morgens|früh|subah|सुबह", range(12)),
        (
            "pm|p.m|p.m.|p|afternoon|in the afternoon|this afternoon|de l'après-midi|nachmittags|dopahar|दोपहर",
            range(12, 24),
        ),
        ("evening|in the evening|this evening|de la tarde|du soir|abends|shaam|sham|शाम", range(12, 24)),
    )
    for part in parts.split("|")
}
_NIGHT = frozenset({"at night", "tonight", "de la noche", "nachts", "raat", "रात"})
_NAMED = {
    **dict.fromkeys(("noon", "midday", "mediodía", "midi", "mittag"), 720),
    **dict.fromkeys(("midnight", "medianoche", "minuit", "mitternacht"), 0),
}
_MERIDIEM = r"(?:[ap]\.?m\b\.?|[ap](?![\w'-]))"
_PART = (
    rf"(?:\s?(?P<part>{_MERIDIEM})|,?\s(?P<later>"
    rf"{alternatives([p for p in [*_DAYPARTS, *_NIGHT] if len(p) > 3])})(?!\w))?"
)
_HOURLY = r"(?:o'?\s?clock|uhr|baje|bajkar|बजे|heures?|horas)"
_PREFIX = r"(?<![\w:/$£€₹#\x00-])(?<!\d[.,])"
_LEAD = (
    r"(?:at|@|by|from|until|till|til|around|about|before|after|between|since|to|opens?|closes?"
    r"|starts?|begins?|um|ab|gegen|bis|à|vers|las|la|for)"
)
_AFTER = (
    r"(?=\s?(?:$|[.,;:!?)\x00\n&|·–-](?!\d)|(?:on|in|the|this|that|every|each|for|and|or|instead"
    r"|sharp|not|to|until|till|til|please|"
    r"so|with|but|because|if|when|we|i|you|he|she|they|it|is|was|now|as|at|daily|like|rather|latest"
    r"|onwards?|then|exactly|today|"
    r"tomorrow|tonight|bis|am|y|et|und)\b))"
)
_FIGURES = re.compile(
    rf"{_PREFIX}(?P<h>[01]?\d|2[0-4])(?:(?P<sep>[:h])(?P<m>[0-5]\d)(?::[0-5]\d)?|\s(?P<sep2>h)(?:\s"
    rf"(?P<m2>[0-5]\d))?)(?!\d|:\d|[a-ce-gi-oq-z])"
    rf"(?:\s?(?:hrs?|h|uhr|baje)\b)?{_PART}"
)
_DOTTED = re.compile(
    rf"{_PREFIX}(?P<h>[01]?\d|2[0-4])\.(?P<m>[0-5]\d)(?![\d%]|[.,]\d|\s?(?:kg|g|mg|ml|l|km|m|cm|mm|usd"
    rf"|eur|gbp|euros?|pounds?|%|per|percent|million|x|stars?|inch|mi|miles?)\b)(?:\s?(?P<unit>hrs?|h"
    rf"|uhr)\b)?{_PART}"
)
_BARE_PART = re.compile(
    rf"{_PREFIX}(?P<h>0?[1-9]|1[0-2])(?:\s(?P<m>[0-5]\d))?\s?(?P<oclock>{_HOURLY})?(?:\s?"
    rf"(?P<part>[ap]\.?m\b\.?|(?<=\d)[ap](?![\w'.-]))|\s(?P<later>"
    rf"{alternatives([p for p in [*_DAYPARTS, *_NIGHT] if len(p) > 3])})(?!\w))"
)
_OCLOCK = re.compile(rf"{_PREFIX}(?P<h>[01]?\d|2[0-4])\s?(?P<oclock>{_HOURLY})(?!\w)(?:\s(?P<m>[0-5]\d)(?!\d))?{_PART}")
_MILITARY = re.compile(
    rf"{_PREFIX}(?P<h>[01]\d|2[0-3])(?P<m>[0-5]\d)(?:\s?(?P<unit>hrs?|hours|h|z)\b)?(?!\d|[.,:/-]\d)"
)
_SPOKEN = re.compile(
    rf"{_PREFIX}(?P<off>half|quarter|viertel|(?P<n>\d\d?)(?P<min>\smin(?:ute)?s?)?)(?:\s|-)"
    rf"(?P<way>past|to|till|before|after|of|nach|vor)(?:\s|-)"
    rf"(?:(?P<h>\d\d?)|(?P<noon>noon|midday|midnight))(?![\d:%]|[.,]\d)(?:\s{_HOURLY})?{_PART}"
)
_HALF = re.compile(rf"{_PREFIX}(?P<half>half|halb)[ -](?P<h>\d\d?)(?![\d:%]|[.,]\d|\s?(?:a|price|off)\b|-\w){_PART}")
_ROMANCE = re.compile(
    rf"\b(?P<lead>las|la)\s(?P<h>1?\d)(?:\s(?:y\s(?P<m>media|cuarto|\d\d?)|menos\s(?P<less>cuarto"
    rf"|\d\d?)))?(?![\d:%]|[.,]\d){_PART}"
)
_NAMES = re.compile(rf"(?<![\w-])(?:12\s)?(?P<name>{alternatives(_NAMED)})(?!\w)")
_LED = re.compile(rf"\b(?P<lead>{_LEAD})\s(?:about\s|around\s)?(?P<h>[01]?\d|2[0-3]){_AFTER}")
_DAY_LED = re.compile(r"\x00,?\s?(?P<h>[1-9]|1[0-2])(?=\s?(?:$|[,;.!?\n]|sharp|till|to|until|-))(?!\.\d)")
_BARE = r"(?P<{0}>[01]?\d|2[0-4])(?:[:.](?P<{0}m>[0-5]\d))?\s?(?P<{0}p>{1})?"
_RANGE = re.compile(
    _PREFIX
    + _BARE.format("a", r"[ap]\.?m\b\.?")
    + r"(?:\s?(?:-|to|until|till|til|and|bis|und|y|a|à|et)\s|-|\s?-\s?)"
    + r"(?:(?P<noon>noon|midday|midnight)|"
    + _BARE.format("b", r"[ap]\.?m\b\.?")
    + r")(?![\w:/%°-]|[.,]\d)"
)
_RANGE_LEAD = re.compile(
    r"(?:\b(?:from|between|open|opens|opening|doors|hours|shift|slot|window|at|de|del|von|zwischen"
    r"|entre|naps?|works?|runs?|weekdays|daily)|\x00),?:?\s$"
)
_EARLY = re.compile(r"(?P<part>subah|shaam|sham|raat|dopahar|सुबह|शाम|रात|दोपहर)\s(?:ke\s|को\s)?$")
_JOIN = re.compile(
    r"\s?(?:-|to|until|till|til|through|bis|a|à|al|au|se)(?:\s(?:las|la))?\s|-|\s?-\s?|\s(?:and|und|y|et)\s"
)
_LAST_CLAUSE = re.compile(r"\d|[.;] ")
_CONTEXT = re.compile(r"(?P<am>\bmorning\b|\bbreakfast\b)|(?P<pm>\bevening\b|\bafternoon\b|\btonight\b|\bdinner\b)")


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    minutes: frozenset[int]
    until: frozenset[int] | None = None


def read_times(page: Page) -> None:
    """Claim every time of day and range of times."""
    found: list[_Found] = []
    low = page.low
    if _ANY_DIGIT.search(low):
        for pattern, read, clues in _READERS:
            if not any(map(low.__contains__, clues)):
                continue
            fresh = [item for match in scan(pattern, low) if (item := read(match, page))]
            if fresh:
                low = blank(low, [(item.start, item.end) for item in fresh])
                found += fresh
    for match in scan(_NAMES, low):
        found.append(_Found(*match.span(), frozenset({_NAMED[match["name"]]})))
    found.sort(key=lambda item: item.start)
    for item in _joined(found, page.low):
        if item.until is not None:
            page.claim(item.start, item.end, TimeRange, start=item.minutes, end=item.until)
        else:
            page.claim(item.start, item.end, ClockTime, minutes=item.minutes)


def _joined(found: list[_Found], low: str) -> Iterator[_Found]:
    previous: _Found | None = None
    for item in found:
        if previous and previous.until is None and item.until is None and item.start - previous.end <= 12:
            link = _JOIN.fullmatch(low, previous.end, item.start)
            opened = low[max(0, previous.start - 9) : previous.start].endswith(("between ", "zwischen ", "entre "))
            if link and (opened or link[0].strip() not in {"and", "und", "y", "et"}):
                first, last = settle_range(previous.minutes, item.minutes)
                previous = _Found(previous.start, item.end, first, last)
                continue
        if previous:
            yield previous
        previous = item
    if previous:
        yield previous


def settle_range(start: frozenset[int], end: frozenset[int]) -> tuple[frozenset[int], frozenset[int]]:
    """Let the end that says morning or evening settle the other: "9-10am" starts at 9:00, "1-5pm" at 13:00."""
    if len(start) > 1 and len(end) == 1:
        start = frozenset({min(start, key=lambda minute: (min(end) - minute - 1) % DAY_MINUTES)})
    elif len(end) > 1 and len(start) == 1:
        end = frozenset({min(end, key=lambda minute: (minute - min(start) - 1) % DAY_MINUTES)})
    return start, end


def readings(hour: int, minute: int, part: str | None, *, padded: bool = False) -> frozenset[int]:
    """Minutes after midnight that an hour and minute can mean; empty if no time. `padded`: written as "07"."""
    if hour > 24 or minute > 59 or (hour == 24 and minute):
        return frozenset()
    total = hour % 24 * 60 + minute
    if part:
        name = part.strip().rstrip(".").replace(".", "")
        if name in _NIGHT:
            return frozenset({(hour % 12 + (12 if 5 <= hour < 12 else 0)) * 60 + minute if hour <= 12 else total})
        if hour <= 12:
            afternoon = 12 in _DAYPARTS.get(name, _DAYPARTS.get(part, range(12)))
            return frozenset({(hour % 12 + 12 * afternoon) * 60 + minute})
    if padded or not 1 <= hour <= 12:
        return frozenset({total})
    return frozenset({total, (total + 720) % DAY_MINUTES})


def _part(match: re.Match[str]) -> str | None:
    groups = match.groupdict()
    return groups.get("part") or groups.get("later")


def _before(pattern: re.Pattern[str], match: re.Match[str], page: Page) -> re.Match[str] | None:
    """What leads up to a match, if the pattern (which ends in "$") finds it in the few characters before."""
    return pattern.search(page.low, max(0, match.start() - 16), match.start())


def _plain(match: re.Match[str], page: Page) -> _Found | None:
    groups = match.groupdict()
    minute = int(groups.get("m") or groups.get("m2") or 0)
    minutes = readings(int(match["h"]), minute, _part(match), padded=match["h"][0] == "0")
    if len(minutes) > 1:
        early = _before(_EARLY, match, page)
        minutes = readings(int(match["h"]), minute, early["part"]) if early else _by_context(minutes, match, page)
    return _Found(*match.span(), minutes) if minutes else None


def _by_context(minutes: frozenset[int], match: re.Match[str], page: Page) -> frozenset[int]:
    """ "This evening at 7": a word close before settles the half of the day."""
    near = page.low[max(0, match.start() - 24) : match.start()]
    words = list(scan(_CONTEXT, _LAST_CLAUSE.split(near)[-1]))
    if not words:
        return minutes
    return frozenset(minute for minute in minutes if (minute < 720) == (words[-1]["am"] is not None))


def _dotted(match: re.Match[str], page: Page) -> _Found | None:
    padded = match["h"][0] == "0" and len(match["h"]) == 2
    led = _before(_LED_BY, match, page)
    return _plain(match, page) if _part(match) or match["unit"] or padded or led else None


def _military(match: re.Match[str], page: Page) -> _Found | None:
    zero, unit, led = match["h"][0] == "0", match["unit"], _before(_LEADS, match, page)
    if not ((unit and (zero or led or unit != "hours")) or (led and (zero or led["lead"] in {"at", "@"}))):
        return None
    start = match.start("h")
    minutes = readings(int(match["h"]), int(match["m"]), None, padded=True)
    return _Found(start, match.end(), minutes)


def _spoken(match: re.Match[str], page: Page) -> _Found | None:
    name, hour = match["off"], 12
    minute = {"half": 30, "quarter": 15, "viertel": 15}.get(name) or int(match["n"] or 0)
    forward = match["way"] in {"past", "after", "nach"}
    if not 1 <= minute <= 59 or (match["n"] and match["way"] in {"of", "before", "after"}):
        return None
    if (
        match["n"] and match["way"] in {"to", "till"} and not match["min"]
    ):  # "8 to 12" and "from five to seven" are ranges
        before = page.low[max(0, match.start() - 10) : match.start()].split()
        if (
            match.start("n") not in page.spelt
            or minute not in {5, 10, 20, 25}
            or (before and before[-1] in _OPENS_RANGE)
        ):
            return None
    if match["noon"]:
        base = 0 if match["noon"] == "midnight" else 720
        return _Found(*match.span(), frozenset({(base + (minute if forward else -minute)) % DAY_MINUTES}))
    hour = int(match["h"])
    if not 1 <= hour <= 24:
        return None
    base_readings = readings(hour, 0, _part(match))
    minutes = frozenset((base + (minute if forward else -minute)) % DAY_MINUTES for base in base_readings)
    if len(minutes) > 1:
        minutes = _by_context(minutes, match, page)
    return _Found(*match.span(), minutes)


def _half(match: re.Match[str], page: Page) -> _Found | None:
    hour = int(match["h"])
    if not 1 <= hour <= 12:
        return None
    shift = 30 if match["half"] == "half" else -30  # British "half five" is 5:30, German "halb fünf" 4:30
    minutes = frozenset((base + shift) % DAY_MINUTES for base in readings(hour, 0, _part(match)))
    return _Found(*match.span(), _by_context(minutes, match, page) if len(minutes) > 1 else minutes)


def _romance(match: re.Match[str], _: Page) -> _Found | None:
    hour = int(match["h"])
    if not 1 <= hour <= 12 or (match["lead"] == "la" and hour != 1):
        return None
    offset = {"media": 30, "cuarto": 15, None: 0}.get(match["m"] or None)
    offset = int(match["m"]) if offset is None else offset
    if match["less"]:
        offset = -(15 if match["less"] == "cuarto" else int(match["less"]))
    minutes = frozenset((base + offset) % DAY_MINUTES for base in readings(hour, 0, _part(match)))
    return _Found(match.start("h"), match.end(), minutes)


def _led(match: re.Match[str], page: Page) -> _Found | None:
    if match["lead"] in {"for", "about", "la"} or (match["lead"] == "to" and not _before(_MOVED, match, page)):
        return None
    minutes = readings(int(match["h"]), 0, None, padded=match["h"][0] == "0")
    if len(minutes) > 1:
        minutes = _by_context(minutes, match, page)
    return _Found(match.start("h"), match.end("h"), minutes)


def _range(match: re.Match[str], page: Page) -> _Found | None:
    lead = _before(_RANGE_LEAD, match, page)
    link = page.low[
        match.end("ap") if match["ap"] else match.end("am") if match["am"] else match.end("a") : match.end()
    ]
    if "and" in link.split() and not (lead and lead[0].startswith(("between", "zwischen", "entre"))):
        return None
    if not (match["am"] or match["ap"] or match["bm"] or match["bp"] or match["noon"]):
        if not lead or not _RANGE_ENDS.match(page.low, match.end()):
            return None
    elif "." in match[0] and not (match["ap"] or match["bp"] or lead):
        return None  # "1.20-1.50" may be prices
    start = readings(int(match["a"]), int(match["am"] or 0), match["ap"], padded=match["a"][0] == "0")
    if match["noon"]:
        end = frozenset({_NAMED[match["noon"]]})
    else:
        end = readings(int(match["b"]), int(match["bm"] or 0), match["bp"], padded=match["b"][0] == "0")
    return _Found(match.start("a"), match.end(), *settle_range(start, end)) if start and end else None


def _led_by_day(match: re.Match[str], _: Page) -> _Found | None:
    return _Found(match.start("h"), match.end("h"), readings(int(match["h"]), 0, None))


_MOVED = re.compile(r"\b(?:moved|changed|shifted|pushed|forward|back|switched)\s$")
_Reader = Callable[[re.Match[str], Page], "_Found | None"]
_OPENS_RANGE = frozenset({"from", "between", "open", "opens", "hours"})
_LED_BY = re.compile(rf"\b{_LEAD}\s?$|[-\x00,]\s?$")
_LEADS = re.compile(rf"(?:\b|(?=@))(?P<lead>{_LEAD})\s?$")
_RANGE_ENDS = re.compile(r"\s*(?:$|[.,;!?)\x00]|(?:on|every|daily|each|in|and|but|uhr|hrs|h)\b)")
_ANY_DIGIT = re.compile(r"\d")


# pattern, reader, and the pieces of text of which one must occur for the pattern to be worth a try
_READERS: tuple[tuple[re.Pattern[str], _Reader, tuple[str, ...]], ...] = (
    (_HALF, _half, ("half", "halb")),
    (_SPOKEN, _spoken, ("past", "to", "till", "half", "quarter", "viertel", "before", "after")),
    (_RANGE, _range, ("-", "to", "until", "til", "and", "bis", "und", " y ", " a ", " à ", " et ")),
    (_FIGURES, _plain, (":", "h")),
    (_DOTTED, _dotted, (".",)),
    (_OCLOCK, _plain, ("clock", "uhr", "baj", "बजे", "heure", "hora")),
    (_BARE_PART, _plain, ("a", "p", "in", "evening", "morning")),
    (_MILITARY, _military, ("0", "1", "2")),
    (_ROMANCE, _romance, ("las ", "la ")),
    (_LED, _led, (" ",)),
    (_DAY_LED, _led_by_day, ("\x00",)),
)
