"""What sort of answer a question asks for, and what sorts a statement offers. Coarse on purpose: a time, an amount, a
name, a place, or something with a number or a mark of its own (a code, a seat, an address on the web).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from thymus.core.values import ValueKind

if TYPE_CHECKING:
    from thymus.judges.reading import Reading

TIME, AMOUNT, NAME, PLACE, MARK = "time", "amount", "name", "place", "mark"

_ASKS: Final = {
    TIME: (
        r"\b(?:when|what time|until|by when|how (?:long|soon|early|late|often)"
        r"|(?:which|what) (?:day|date|morning|afternoon|evening|night|week|month|year|time|slot|hour))\b"
    ),
    AMOUNT: (
        r"\bhow (?:much|many|big|far|heavy|tall)\b"
        r"|\b(?:price|cost|fee|fare|rent|rate|amount|salary|total|dose|limit|budget|balance|owe|size)\b"
    ),
    NAME: r"\b(?:who|whose|whom|called)\b|\bname of\b",
    PLACE: (
        r"\bwhere\b|\baddress\b|\b(?:which|what) (?:room|hall|place|entrance|gate|pitch|building|office|door"
        r"|platform|shop|venue|clinic|branch|house|street|floor|hotel|school|church|station)\b"
    ),
    MARK: (
        r"\b(?:number|code|pin|password|iban|account|phone|extension|port|seat|room|gate|platform|locker|reference"
        r"|id|e-?mail|website|link|url|wi-?fi|username|bay|counter|window|line)\b"
    ),
}
_SORTS: Final = {sort: re.compile(words, re.IGNORECASE) for sort, words in _ASKS.items()}
_OF_KIND: Final = {
    ValueKind.TIME: TIME,
    ValueKind.TIME_RANGE: TIME,
    ValueKind.DATE: TIME,
    ValueKind.DATE_RANGE: TIME,
    ValueKind.DURATION: TIME,
    ValueKind.FREQUENCY: TIME,
    ValueKind.MONEY: AMOUNT,
    ValueKind.QUANTITY: AMOUNT,
    ValueKind.PERCENTAGE: AMOUNT,
    ValueKind.NUMBER: AMOUNT,
    ValueKind.PLACE: PLACE,
}
_DIGIT: Final = re.compile(r"\d")
_PLACED: Final = re.compile(
    r"\b(?:at|in|to|near|behind|opposite|by|from|via|through|round|outside|next to|into|upstairs|downstairs)\b",
    re.IGNORECASE,
)


_SEVERAL: Final = re.compile(
    r"\b(?:which|what|whose) (?:\w+ ){0,2}?(?!is\b|was\b|does\b|this\b|address\b|class\b|bus\b|business\b|glass\b)\w+s"
    r" (?:are|do|did|have|were|will|can|should|does)\b"
    r"|\bwhat (?:are|were) (?:\w+ ){0,4}\w+s\b"
    r"|\bwho(?:'s|s| is| are| has| have)? (?:\w+ ){0,3}what\b|\bwho (?:all|else)\b|\bwho are\b"
    r"|\bwhat (?:do|should|must|can) (?:i|we|you) (?:need|have|know|owe|pay)\b"
    r"|\bwhat(?:'s|s| has| have| else| all)? (?:been|else|on|going on)\b"
    r"|\bwhat (?:does|do|did) .{1,40} (?:have on|say about|like|eat|need|plan)\b"
    r"|\b(?:everything|anything|everyone|everybody|list|all (?:of )?(?:the|my|our|these)|each)\b"
    r"|\bhow are\b|\bwhat (?:do|does) .{1,30} know about\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=256)
def asks_for_several(question: str) -> bool:
    """Whether a list may be asked for, so that different answers may all be right."""
    return _SEVERAL.search(question) is not None


@lru_cache(maxsize=256)
def asked(question: str) -> frozenset[str]:
    """The sorts of answer that a question asks for; none where its words do not tell."""
    return frozenset(sort for sort, words in _SORTS.items() if words.search(question))


def offered(reading: Reading) -> frozenset[str]:
    """The sorts of answer that a statement could give."""
    found = {_OF_KIND.get(value.kind, MARK) for value in reading.values}
    if _DIGIT.search(reading.text):
        found.add(MARK)
    if reading.names:
        found |= {NAME, PLACE}
    if _PLACED.search(reading.text):
        found.add(PLACE)
    return frozenset(found)
