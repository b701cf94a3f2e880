"""How much of a medicine somebody is to take, and orders to stop or change one.

A milligram needs only an occasion (take, daily) beside it; grams, millilitres, units and bare numbers need a medicine:
recipes, stock and sugar have those, too. Medicines are known by name or by the stem that the WHO gives to their class
(*The use of stems in the selection of international nonproprietary names*, 2018).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from thymus.recognizers.page import alternatives, words
from thymus.recognizers.stake_reading import Reading

_NAMES: Final = alternatives(
    words(
        "paracetamol paracet acetaminophen tylenol calpol ibuprofen ibuprofeno nurofen advil aspirin aspirina "
        "naproxen codeine morphine tramadol oxycodone fentanyl methadone insulin insulina lantus novorapid "
        "humalog metformin metformina warfarin marcumar coumadin heparin digoxin lithium levothyroxine "
        "thyroxine euthyrox prednisone prednisolone cortisone hydrocortisone dexamethasone furosemide "
        "spironolactone salbutamol ventolin albuterol methotrexate melatonin xanax valium prozac zoloft "
        "ritalin adderall viagra cialis ozempic wegovy mounjaro gabapentin pregabalin quetiapine "
        "carbamazepine valproate lamotrigine clopidogrel novalgin ibuprofene doliprane benadryl loratadine "
        "cetirizine gaviscon"
    )
)
_STEMS: Final = (
    "pril|sartan|statin|olol|prazole|cillin|mycin|floxacin|cycline|oxetine|pram|traline|azepam|azolam|zodone|tidine|dipine"
    "|gliptin|gliflozin|glutide|parin|xaban|gatran|codone|morphone|profen|setron|triptan|terol|tinib|mab|vir"
)
_MEDICINE: Final = re.compile(rf"(?<!\w)(?:{_NAMES}|[a-z]{{2,14}}(?:{_STEMS})e?n?)(?!\w)")
_FIGURE: Final = r"\d{1,5}(?:[.,]\d{1,3})?(?:\s?[-–]\s?\d{1,5})?"
_COUNT: Final = (
    rf"(?:{_FIGURE}|half an?|an?|one|two|three|four|five|six|eight|ten|eine?|zwei|drei|vier"
    r"|une?|deux|trois|quatre|un[oa]?|dos|tres|cuatro|dois|duas|due|tre|to|ek|do|teen|एक|दो|तीन)"
)
_MILLIGRAMS: Final = re.compile(
    rf"(?<![\w.,])(?:{_FIGURE}\s?-?|{_COUNT}\s)(?:mg|mcg|µg|ug|μg|milligrams?|micrograms?|microgrammes?|milligramos)(?!\w)"
)
_FORMS: Final = re.compile(
    rf"(?<![\w.,]){_COUNT}\s(?:[a-z]{{3,14}}\s)?(?:tablets?|pills?|capsules?|caplets?|puffs?|drops?|sprays|patch(?:es)?|sachets?"
    r"|teaspoons?|cuilleres?|cucharadas?|cucchiai|tsp|spoonfuls?|lozenges?|suppositor(?:y|ies)|injections?|tabletten?|tropfen|kapseln?|hub|hube"
    r"|comprimes?|gelules?|gouttes|cachets?|comprimidos?|pastillas?|gotas|capsulas?|compress[ae]|gocce|tabletter?|draper"
    r"|goli|goliyan|tablet|गोली)(?!\w)"
)
_LOOSE: Final = re.compile(
    rf"(?<![\w.,])(?:{_FIGURE}\s?|{_COUNT}\s)(?:g|gm|grams?|ml|millilit(?:re|er)s?|cc|iu|units?|einheiten|unites|unidades|unita|enheter)(?!\w)"
)
_BARE: Final = re.compile(r"(?<![\w.,:/€$£₹#-])\d{1,4}(?:[.,]\d{1,3})?(?![\w%:/€£]|[.,:]\d|-\d)")
_BEFORE: Final = re.compile(rf"(?<!\w){_COUNT}\s$")
_ARTICLES: Final = frozenset({"a ", "an ", "un ", "une ", "una ", "uno ", "ein ", "eine ", "to ", "do "})
"""Counts that are another word more often than not."""
_YEAR: Final = re.compile(r"(?:19|20)\d\d$")
_PER_FOOD: Final = re.compile(
    r"caffeine|sodium|sugar|salt|cholesterol|caffein|per (?:100|litre|liter|kg)|coffee|water for"
)
_TIMES: Final = re.compile(r"\s?(?:people|years?|days?|weeks?|months?|hours?|minutes?|euros?|dollars?|pounds?|in)\b")


def read_doses(reading: Reading) -> Iterator[tuple[int, int]]:
    """Spans of amounts of a medicine, and of orders to stop or change one."""
    drugs = list(reading.find(_MEDICINE))
    yield from _milligrams(reading, drugs)
    yield from _forms(reading, drugs)
    if drugs or reading.cues("medicine"):
        for span in reading.find(_LOOSE):
            if _beside(reading, span, drugs, 60) or reading.near(span, "medicine", before=60, after=40):
                yield span
    for drug in drugs:
        yield from _counted(reading, drug)
    yield from _changes(reading, drugs)


def _milligrams(reading: Reading, drugs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for span in reading.find(_MILLIGRAMS):
        told = _beside(reading, span, drugs, 80) or reading.near(span, "take", "often", "times", "dose", "medicine")
        if told and not _PER_FOOD.search(reading.text, *reading.sentence(span, 30, 30)):
            yield span


def _forms(reading: Reading, drugs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Tablets, drops and puffs, and medicines without an amount: "the pills twice a day"."""
    for span in reading.find(_FORMS):
        told = (
            reading.near(span, "often", "times", "medicine", before=60, after=50)
            or reading.near(span, "take", before=20, after=0)
            or _beside(reading, span, drugs, 40)
        )
        if told and not reading.near(span, "screen"):
            yield span
    for span in (*reading.cues("medicine"), *reading.cues("form")):
        if reading.near(span, "times", before=50, after=50) and reading.near(span, "take", before=40, after=20):
            yield span


def _counted(reading: Reading, drug: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """A number without a unit beside a medicine: "bisoprolol down to 2.5", "six ibuprofen"."""
    start, end = reading.sentence(drug, 24, 26)
    for match in _BARE.finditer(reading.text, start, end):
        if not _YEAR.match(match[0]) and not _TIMES.match(reading.text, match.end()):
            yield min(drug[0], match.start()), max(drug[1], match.end())
            return
    counted = _BEFORE.search(reading.text, start, drug[0])
    if counted and counted[0] not in _ARTICLES:
        yield counted.start(), drug[1]


def _changes(reading: Reading, drugs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    medicines = sorted([*drugs, *reading.cues("medicine"), *reading.cues("form")])
    for start, end in reading.cues("stop"):
        reach = reading.sentence((start, end), 0, 45)[1]
        if not reading.near((start, end), "screen"):
            for medicine in medicines:
                if end <= medicine[0] < reach:
                    yield start, medicine[1]
                    break


def _beside(reading: Reading, span: tuple[int, int], drugs: list[tuple[int, int]], reach: int) -> bool:
    start, end = reading.sentence(span, reach, reach)
    return any(start <= drug[0] < end for drug in drugs)
