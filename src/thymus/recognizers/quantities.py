"""Amounts with a unit: measures and percentages.

The factors are exact, as the SI brochure and the international yard-and-pound agreement define them; the tests check
every unit against `pint`, which is thus not needed (nor loaded) at run time.
"""

from __future__ import annotations

import re
from decimal import Decimal

from thymus.core.values import Percentage, Quantity
from thymus.recognizers.numbers import NUMERAL, read_amounts
from thymus.recognizers.page import Page, alternatives, scan

# dimension, unit spellings (lower case) and the factor to the dimension's base unit; "!" marks units people round
_TABLE = """
length  m metre metres meter meters metros mètres =1
length  km kms kilometre kilometres kilometer kilometers kilómetros kilomètres =1000
length  cm centimetre centimetres centimeter centimeters =0.01
length  mm millimetre millimetres millimeter millimeters =0.001
length! mile miles mi =1609.344
length! yard yards yd yds =0.9144
length! foot feet ft =0.3048
length! inch inches =0.0254
mass    g gram grams gramme grammes gm gms gramos =1
mass    kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes =1000
mass    mg milligram milligrams milligramme milligrammes =0.001
mass    µg mcg ug microgram micrograms microgramme microgrammes =0.000001
mass    tonne tonnes =1000000
mass!   lb lbs =453.59237
mass!   ounce ounces oz =28.349523125
mass!   stone =6350.29318
volume  l litre litres liter liters litros =1
volume  ml millilitre millilitres milliliter milliliters cc =0.001
volume  cl centilitre centilitres =0.01
volume! pint pints =0.56826125
volume! gallon gallons =4.54609
area    m² m2 sqm =1
area    hectare hectares ha =10000
area!   ft² sqft =0.09290304
area!   acre acres =4046.8564224
data    kb kilobyte kilobytes =1000
data    mb megabyte megabytes =1000000
data    gb gig gigs gigabyte gigabytes =1000000000
data    tb terabyte terabytes =1000000000000
data    kib =1024
data    mib =1048576
data    gib =1073741824
data    tib =1099511627776
rate    mbps mbit/s =1000000
rate    gbps gbit/s =1000000000
rate    kbps =1000
energy  kwh =1000
energy  wh =1
energy! kcal calories calorie =1.162222222222222222222222222
power   w watt watts =1
power   kw kilowatt kilowatts =1000
power   mw megawatt megawatts =1000000
voltage v volt volts =1
current a amp amps ampere amperes =1
charge  mah =1
frequency hz =1
frequency khz =1000
frequency mhz =1000000
frequency ghz =1000000000
speed   km/h kph kmh kmph =1000
speed!  mph =1609.344
pressure  kpa =1000
pressure  bar =100000
pressure! psi =6894.757293168
temperature  °c ℃ celsius =1
temperature! °f ℉ fahrenheit =1
dose    unit units iu =1
"""
_EXTRA = {
    "m²": ("square metre", "square metres", "square meter", "square meters", "sq m"),
    "ft²": ("square foot", "square feet", "sq ft", "sq. ft"),
}


def _read_table() -> dict[str, tuple[str, Decimal, bool]]:
    units: dict[str, tuple[str, Decimal, bool]] = {}
    for line in _TABLE.strip().splitlines():
        names, _, factor = line.partition("=")
        dimension, *spellings = names.split()
        for name in spellings:
            units[name] = (dimension.rstrip("!"), Decimal(factor), not dimension.endswith("!"))
    for unit, names_with_spaces in _EXTRA.items():
        units.update(dict.fromkeys(names_with_spaces, units[unit]))
    units.update(dict.fromkeys(("fl oz", "fluid ounce", "fluid ounces"), ("volume", Decimal("0.0284130625"), False)))
    return units


UNITS = _read_table()
"""Spelling -> (dimension, factor to the base unit, whether metric). Temperatures have an offset as well."""

_HALVES = {"foot": "inch", "feet": "inch", "ft": "inch", "stone": "lb"}
_SMALLER = {"pounds": "lb", "in": "inch", '"': "inch"}
_SHY_UNITS = frozenset({"a", "v", "w", "mi", "pint"})
_PER_UNITS = {
    "l": "litre",
    "litre": "litre",
    "ml": "ml",
    "dl": "dl",
    "kg": "kg",
    "m²": "m²",
    "h": "hour",
    "hour": "hour",
    "d": "day",
    "day": "day",
    "week": "week",
    "100 km": "100 km",
}
_UNIT = alternatives(UNITS)
_QUANTITY = re.compile(
    rf"(?<![\w.,:/$£€₹#])(?P<minus>-|minus\s)?(?P<n>{NUMERAL})(?P<to>\s?(?:-|to|or)\s?(?P<n2>"
    rf"{NUMERAL}))?[\s-]?(?P<unit>{_UNIT})(?P<dot>s)?(?!\w)"
    rf"(?P<more>\s?(?P<inches>\d{{1,2}}(?:\.\d)?)\s?(?P<tail>inches|inch|in\b|\"|oz|lbs?|pounds"
    rf"|ounces)|\s(?P<rest>\d{{1,2}})(?=\s?(?:$|[.;,!?)]|and\b|tall\b|now\b)))?(?:\s?(?:/|per|a|each"
    rf"|every)\s?(?P<per>{alternatives(_PER_UNITS)})(?!\w))?"
)
_FEET = re.compile(r"(?<![\w.,])(?P<feet>[3-7])'\s?(?P<inches>\d{1,2})?\"?(?!\w)")
_DEGREES = re.compile(
    rf"(?<![\w.,])(?P<minus>-|minus\s)?(?P<n>{NUMERAL})\s?(?:°|º|degrees?|deg)\s?(?P<unit>[cf]|celsius"
    rf"|fahrenheit|centigrade)?(?!\w)"
)
_PERCENT = re.compile(
    rf"(?<![\w.,:/])(?P<minus>-|minus\s)?(?P<n>{NUMERAL})(?:\s?[-–]\s?(?P<n2>{NUMERAL}))?\s?(?:%"
    rf"|percent\b|per cent\b|pc\b|prozent\b|por ciento\b|pour cent\b|प्रतिशत|fisdi\b)"
)

_ANY_DIGIT = re.compile(r"\d")


def read_quantities(page: Page) -> None:
    """Claim percentages and measures."""
    if not _ANY_DIGIT.search(page.low):
        return
    for match in scan(_PERCENT, page.low):
        _read_percentage(page, match)
    for match in scan(_DEGREES, page.low):
        _read_temperature(page, match, celsius=match["unit"] not in {"f", "fahrenheit"})
    page.settle()
    for match in scan(_FEET, page.low):
        metres = frozenset({(int(match["feet"]) * 12 + int(match["inches"] or 0)) * UNITS["inch"][1]})
        page.claim(*match.span(), Quantity, magnitudes=metres, dimension="length", metric=False)
    page.settle()
    for match in scan(_QUANTITY, page.low):
        if UNITS[match["unit"]][0] == "temperature":
            _read_temperature(page, match, celsius=UNITS[match["unit"]][2])
        elif not _is_shy(page, match):
            _read_measure(page, match)


def _ends(match: re.Match[str]) -> list[tuple[str, int, int]]:
    """The numeral and the passage of each end of "5-10 kg"; of the only one otherwise. The unit goes with the last."""
    if not match["n2"]:
        return [(match["n"], match.start(), match.end())]
    return [(match["n"], match.start(), match.end("n")), (match["n2"], match.start("n2"), match.end())]


def _read_percentage(page: Page, match: re.Match[str]) -> None:
    for numeral, start, end in _ends(match):
        for percent in sorted(read_amounts(numeral))[:1]:
            page.claim(start, end, Percentage, percent=-percent if match["minus"] else percent)


def _read_temperature(page: Page, match: re.Match[str], *, celsius: bool) -> None:
    for amount in sorted(read_amounts(match["n"]))[:1]:
        degrees = -amount if match["minus"] else amount
        kelvin = degrees + Decimal("273.15") if celsius else (degrees + Decimal("459.67")) * 5 / 9
        page.claim(*match.span(), Quantity, magnitudes=frozenset({kelvin}), dimension="temperature", metric=celsius)


def _is_shy(page: Page, match: re.Match[str]) -> bool:
    """A unit that is a word or letter too, apart from its number and in small letters: "2 a day", "5 v 3"."""
    at = match.start("unit")
    return match["unit"] in _SHY_UNITS and page.low[at - 1] == " " and page.text[at].islower()


def _read_measure(page: Page, match: re.Match[str]) -> None:
    unit = match["unit"]
    dimension, factor, metric = UNITS[unit]
    extra = Decimal(0)
    last = match.end()
    if match["inches"]:
        extra = Decimal(match["inches"]) * UNITS[_SMALLER.get(match["tail"], match["tail"])][1]
    elif match["rest"] and unit in _HALVES:  # "five foot ten", "12 stone 4"
        extra = Decimal(match["rest"]) * UNITS[_HALVES[unit]][1]
    elif match["rest"]:
        last = match.start("more")
    if match["per"]:
        dimension = f"{dimension}/{_PER_UNITS[match['per']]}"
    for numeral, start, end in _ends(match):
        sign = -1 if match["minus"] and start == match.start() else 1
        magnitudes = frozenset(sign * amount * factor + extra for amount in read_amounts(numeral))
        if magnitudes:
            page.claim(start, min(end, last), Quantity, magnitudes=magnitudes, dimension=dimension, metric=metric)
