"""Number words as numerals, how numerals are read, and plain numbers and ordinals with the noun they go with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from thymus.core.values import Code, Number, Ordinal
from thymus.recognizers.lexicon import CARDINALS, NOT_COUNTED, ORDINALS, SCALES, TENS
from thymus.recognizers.page import Page, alternatives, scan

NUMERAL = r"(?:\d{1,3}(?:[ ']\d{3}){1,4}(?!\d)(?:[.,]\d{1,4})?|\d{1,18}(?:[.,]\d{1,12}){0,6})"
"""A numeral, grouped by spaces, apostrophes, commas or points; at most about 80 characters, so scans stay linear."""

_WORDS = {**CARDINALS, **TENS, **SCALES}
_WORD = alternatives([*_WORDS, *ORDINALS])
_RUN = re.compile(rf"(?<![\w\x00])(?:(?:a|half a) )?{_WORD}(?:(?: and |[ -]){_WORD})*(?![\w\x00])")
_TOKEN = re.compile(rf"(half a|a|{_WORD})(?![^\W_])( and |[ -]|$)")
_SCALED = re.compile(rf"(?<![\w.,\x00])({NUMERAL})[ -]?({alternatives(SCALES)})(?!\w)")
_FRACTION = re.compile(
    r"(?<![\w/.,])(\d{1,9})?\s?([½¼¾⅓⅔⅛])|(?<![\w/.,:])(\d{1,9}) and (?:a (half|quarter)|3 quarters)(?!\w)"
)
_POINT = re.compile(r"(?<![\w.,])(\d{1,9}) point ((?:\d ){0,6}\d{1,3})(?!\w)")
_VULGAR = {"½": ".5", "¼": ".25", "¾": ".75", "⅓": ".333", "⅔": ".667", "⅛": ".125", "half": ".5", "quarter": ".25"}
_GROUPS = re.compile(r"\d{1,3}(?:[.,]\d{3})+|\d{1,3}(?:,\d{2})+,\d{3}")


def read_amounts(numeral: str) -> frozenset[Decimal]:
    """Every reading of a numeral: "1.200" is 1200 or 1.2; "1,00,000" (Indian grouping) 100000; "1.2.3" is none."""
    plain = numeral.replace(" ", "").replace("'", "")
    points, commas = plain.count("."), plain.count(",")
    if points and commas:
        decimal = "." if plain.rfind(".") > plain.rfind(",") else ","
        whole, _, fraction = plain.rpartition(decimal)
        if decimal in whole or not _GROUPS.fullmatch(whole):
            return frozenset()
        return frozenset({Decimal(re.sub(r"[.,]", "", whole) + "." + fraction)})
    if points + commas > 1:
        return frozenset({Decimal(re.sub(r"[.,]", "", plain))}) if _GROUPS.fullmatch(plain) else frozenset()
    if not points + commas:
        return frozenset({Decimal(plain)})
    whole, fraction = re.split(r"[.,]", plain)
    as_decimal = Decimal(f"{whole}.{fraction}")
    if len(fraction) != 3 or len(whole) > 3 or whole.startswith("0"):
        return frozenset({as_decimal})
    grouped = Decimal(whole + fraction)
    return frozenset({grouped}) if commas else frozenset({grouped, as_decimal})


@dataclass(slots=True)
class _Spoken:
    """A number as it is being put together from words."""

    start: int
    end: int
    value: Decimal
    last: Decimal
    ordinal: bool = False
    glued: bool = False
    total: Decimal = Decimal(0)

    def takes(self, word: str, value: Decimal, joiner: str) -> bool:
        """Add the next word if it continues this number ("twenty"+"one", "two"+"hundred"); False if it starts a new."""
        if self.ordinal:
            return False
        if word in SCALES:
            if joiner == " and " or self.last > value or not self.value:
                return False
            if value <= 100:
                if self.value >= 100:
                    return False
                self.value *= value
            else:
                self.total, self.value = self.total + self.value * value, Decimal(0)
        elif (self.last >= 100 and 0 < value < self.last and joiner != "-") or (
            self.last in _TENS_VALUES and 0 < value < 10 and joiner != " and "
        ):
            self.value += value
        else:
            return False
        self.last = value
        return True


_TENS_VALUES = frozenset(TENS.values())


def _spoken(match: re.Match[str]) -> Iterator[_Spoken]:
    """The numbers in a run of number words."""
    current: _Spoken | None = None
    joiner = before = ""
    for token in scan(_TOKEN, match[0]):
        word, start, end = token[1], match.start() + token.start(), match.start() + token.end(1)
        before, joiner = joiner, token[2]
        if word in {"a", "half a"}:
            one = Decimal(1) if word == "a" else Decimal("0.5")
            current = _Spoken(start=start, end=start, value=one, last=one)
            continue
        ordinal = word in ORDINALS
        value = ORDINALS[word] if ordinal else _WORDS[word]
        if current and current.takes(word, value, before):
            current.end = end
            current.ordinal = ordinal
            continue
        if current and current.end > current.start:
            yield current
        current = _Spoken(start=start, end=end, value=value, last=value, ordinal=ordinal, glued=before in {" ", "-"})
        if word in SCALES and value > 100:
            current.total, current.value = value, Decimal(0)
    if current and current.end > current.start:
        yield current


def _numerals(match: re.Match[str]) -> Iterator[tuple[int, int, str]]:
    """Numerals for a run of words: "nine thirty" is 9:30, "twenty twenty-six" 2026, "five five nine" 559."""
    chains: list[list[_Spoken]] = []
    for number in _spoken(match):
        if number.glued and chains and not (number.ordinal or chains[-1][-1].ordinal):
            chains[-1].append(number)
        else:
            chains.append([number])
    for chain in chains:
        values = [int(number.total + number.value) for number in chain]
        written = [_write(number) for number in chain]
        joined = ""
        if len(chain) >= 3 and all(value < 10 for value in values):
            joined = "".join(written)
            if len(chain) == 3 and values[1] == 0 and values[0] > 0:  # "nine oh five" is more often a time than a code
                joined = f"{values[0]}:0{values[2]}"
        elif len(chain) == 2 and 1 <= values[0] <= 12 and 10 <= values[1] <= 59:
            joined = f"{values[0]}:{values[1]}"
        elif len(chain) == 2 and values[0] in {18, 19, 20, 21} and 10 <= values[1] <= 99:
            joined = f"{values[0]}{values[1]}"
        elif len(chain) == 2 and min(values) >= 10 and max(values) <= 99:  # "forty-four twenty-one": a code
            joined = "".join(written)
        if joined:
            yield chain[0].start, chain[-1].end, joined
        else:
            yield from ((number.start, number.end, text) for number, text in zip(chain, written, strict=True))


def _write(number: _Spoken) -> str:
    value = number.total + number.value
    if not number.ordinal:
        return f"{value.normalize():f}"
    return f"{int(value)}{ordinal_suffix(int(value))}"


def ordinal_suffix(rank: int) -> str:
    """The English ending of an ordinal: 1st, 2nd, 3rd, 11th."""
    return "th" if 10 <= rank % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")


_DIGIT = re.compile(r"[\d½¼¾⅓⅔⅛]")
_SECOND_AS_UNIT = re.compile(r"(?:\d|\b(?:per|a|one|every|each|split|few)) $")


def spell_numbers(page: Page) -> None:
    """Rewrite the page with numerals in place of number words and of "2 million", "1½", "two and a half"."""
    low = page.low
    numerals = [
        (start, end, text)
        for match in scan(_RUN, low)
        for start, end, text in _numerals(match)
        if not _is_no_number(low, start, end)
    ]
    page.spell(numerals)
    spelt = page.spelt
    scaled = sorted(_scaled(page.low)) if _DIGIT.search(page.low) else []
    if scaled:
        page.spell(scaled)
        page.spelt |= spelt  # positions before the first scaled numeral stay right, later ones only lose a hint


def _is_no_number(low: str, start: int, end: int) -> bool:
    word = low[start:end]
    if word in SCALES and low[max(0, start - 2) : start - 1].isdigit():  # "1.5 lakh" is read as a whole
        return True
    return word == "oh" or (word == "second" and bool(_SECOND_AS_UNIT.search(low[max(0, start - 7) : start])))


def _scaled(low: str) -> Iterator[tuple[int, int, str]]:
    for match in scan(_POINT, low):
        yield *match.span(), f"{match[1]}.{match[2].replace(' ', '')}"
    for match in scan(_SCALED, low):
        amounts = read_amounts(match[1])
        if amounts:
            yield *match.span(), f"{(min(amounts) * SCALES[match[2]]).normalize():f}"
    for match in scan(_FRACTION, low):
        part = _VULGAR.get(match[2] or match[4] or "", ".75")
        yield *match.span(), (match[1] or match[3] or "0") + part


_COUNT = re.compile(rf"(?<![\w.,:/#'+-])({NUMERAL})(st|nd|rd|th)?(?![\w%:/]|[.,-]\d|-\w*\d)(?:[ -]([^\W\d_]{{3,24}}))?")


def read_numbers(page: Page) -> None:
    """Claim what no other family has: plain numbers and ordinals."""
    for match in scan(_COUNT, page.low):
        numeral, ordinal = match[1], match[2]
        noun = _noun(match)
        start, end = match.start(), match.end(2) if ordinal else match.end(1)
        amounts = read_amounts(numeral)
        if not amounts or (numeral == "1" and not ordinal and start in page.spelt):  # "one" is mostly a pronoun
            continue
        if (
            numeral.isdigit()
            and not noun
            and not ordinal
            and (len(numeral) >= 5 or (numeral[0] == "0" and len(numeral) > 2))
        ):
            page.claim(start, end, Code, code=numeral)
            continue
        if ordinal and numeral.isdigit():
            page.claim(start, end, Ordinal, rank=int(numeral), noun=noun)
        elif not ordinal:
            page.claim(start, end, Number, amounts=amounts, noun=noun)


def _noun(match: re.Match[str]) -> str:
    """The noun's stem, the same for singular and plural: "boxes" and "box", "bookcases" and "bookcase"."""
    word: str = match[3] or ""
    if word in NOT_COUNTED:
        return ""
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ss", "us", "is")):
        return word
    return word.removesuffix("s").removesuffix("e")
