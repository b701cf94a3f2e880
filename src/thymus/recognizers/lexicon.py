"""Words of numbers, months and days in English and, where no English word looks the same, other languages."""

from __future__ import annotations

from decimal import Decimal

from thymus.recognizers.page import words


def _numbered(row: str, start: int = 0, step: int = 1) -> dict[str, Decimal]:
    """Number the words from `start`; alternatives of one number are joined by "|"."""
    return {name: Decimal(start + step * place) for place, names in enumerate(row.split()) for name in names.split("|")}


CARDINALS: dict[str, Decimal] = {
    **_numbered(
        "zero|nought|oh one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen"
    ),
    **_numbered("uno|una dos tres cuatro cinco seis siete ocho nueve diez", 1),  # Spanish
    **_numbered("doce trece catorce quince", 12),
    **_numbered("deux trois quatre cinq", 2),  # French
    **_numbered("huit neuf dix", 8),
    **_numbered("onze douze treize quatorze", 11),
    **_numbered("eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf", 1),  # German
    **_numbered("ek|एक दो teen|तीन chaar|चार paanch|पांच|पाँच chhah|chhe|छह saat|सात aath|आठ nau|नौ dus|दस", 1),  # Hindi
    **_numbered("gyarah|ग्यारह barah|baarah|बारह", 11),
}
for _english in ("elf", "teen", "once"):  # English words first
    CARDINALS.pop(_english, None)

TENS: dict[str, Decimal] = {
    **_numbered("twenty thirty forty|fourty fifty sixty seventy eighty ninety", 20, 10),
    **_numbered("veinte treinta cuarenta cincuenta", 20, 10),
    **_numbered("vingt trente quarante cinquante", 20, 10),
    **_numbered("zwanzig dreißig|dreissig vierzig fünfzig", 20, 10),
    **_numbered("bees|बीस tees|तीस chalis|चालीस pachaas|pachas|पचास", 20, 10),
}
for _english in ("bees", "tees"):
    TENS.pop(_english, None)

SCALES: dict[str, Decimal] = {
    "dozen": Decimal(12),
    "hundred": Decimal(100),
    "thousand": Decimal(1000),
    "lakh": Decimal(100_000),
    "lakhs": Decimal(100_000),
    "million": Decimal(1_000_000),
    "crore": Decimal(10_000_000),
    "crores": Decimal(10_000_000),
    "billion": Decimal(1_000_000_000),
}

ORDINALS: dict[str, Decimal] = {
    **_numbered(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth",
        1,
    ),
    "thirtieth": Decimal(30),
}

NOT_COUNTED = frozenset(
    words(
        "and the for from with till until but are was were has have had not now per each every this that than "
        "then when who which its his her our your their more less most last next past ago off out over under "
        "about into onto instead today tomorrow tonight please thanks starting since after before there here "
        "also only just can will would could should must new old other others days hours"
    )
)

WEEKDAYS: dict[str, int] = {
    name: day
    for row in (
        (
            "monday|mondays|mon tuesday|tuesdays|tue|tues wednesday|wednesdays|wed|weds "
            "thursday|thursdays|thu|thur|thurs friday|fridays|fri saturday|saturdays|sat sunday|sundays|sun"
        ),
        "lunes martes miércoles|miercoles jueves viernes sábado|sabado|sábados|sabados domingo|domingos",
        "lundi|lundis mardi|mardis mercredi|mercredis jeudi|jeudis vendredi|vendredis samedi|samedis dimanche",
        (
            "montag|montags dienstag|dienstags mittwoch|mittwochs donnerstag|donnerstags freitag|freitags "
            "samstag|samstags|sonnabend sonntag|sonntags"
        ),
        (
            "somvar|somvaar|somwar|सोमवार mangalvar|mangalvaar|mangalwar|मंगलवार budhvar|budhvaar|budhwar|बुधवार "
            "guruvar|guruvaar|guruwar|गुरुवार shukravar|shukravaar|shukrawar|shukrvar|शुक्रवार "
            "shanivar|shanivaar|shaniwar|शनिवार ravivar|ravivaar|raviwar|itwaar|रविवार|इतवार"
        ),
    )
    for day, names in enumerate(row.split())
    for name in names.split("|")
}

SHY_WEEKDAYS = frozenset({"sun", "sat", "wed", "mon"})
"""Weekday abbreviations that are words too: a weekday only in capitals ("Sat") or beside a date or time."""

MONTHS: dict[str, int] = {
    name: month
    for row in (
        (
            "january|jan february|feb march|mar april|apr may june|jun july|jul august|aug september|sept|sep "
            "october|oct november|nov december|dec"
        ),
        (
            "enero|ene febrero marzo abril|abr mayo junio julio agosto|ago septiembre|setiembre octubre "
            "noviembre diciembre|dic"
        ),
        (
            "janvier|janv février|fevrier|févr mars avril|avr mai juin juillet|juil août|aout septembre octobre "
            "novembre décembre|decembre|déc"
        ),
        "januar|jänner februar märz|maerz april mai juni juli august september oktober|okt november dezember|dez",
        "जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर|सितम्बर अक्टूबर नवंबर|नवम्बर दिसंबर|दिसम्बर",
    )
    for month, names in enumerate(row.split(), 1)
    for name in names.split("|")
}

MONTHS_ALONE = frozenset(
    words(
        "january february april june july august september october november december enero febrero abril "
        "junio julio agosto septiembre octubre noviembre diciembre janvier février avril juin juillet août "
        "septembre octobre novembre décembre januar februar märz juni juli oktober dezember"
    )
)
"""Months that need no day beside them to be one; "may", "march" and "mar" do, or a preposition."""
