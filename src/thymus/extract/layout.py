"""Lines joined into blocks, each of which stands on its own.

A line break ends a statement unless the line was only wrapped (the next word would not have fitted), as mail programs
do at 60 to 80 columns. Bullets, ``Key: value`` lines, table rows and turns of a chat begin a block.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from thymus.extract.lines import Line


class Block(NamedTuple):
    """A stretch [start, end) of the message.

    :param whole: not to be split: a table row, a short list under its heading, a turn whose speaker must stay named.
    """

    start: int
    end: int
    whole: bool = False


_BULLET = re.compile(r"(?:(?:[-*•‣◦▪●–—·»✓✔☐]|\(?\d{1,2}[.)]|\(?[a-z]\)|step \d{1,2}[.:)])\s+)+(?=\S)", re.IGNORECASE)
LABELLED: Final = re.compile(r"[^\W_][^\s:.!?,]{0,30}(?: [^\s:.!?,]{1,20}){0,3}\s?[:=](?:\s+\S|$)")
TITLE: Final = re.compile(r"#{1,6}\s+(?=\S)|(?=(?:\*\*|__)[^*_]{1,80}(?:\*\*|__):?$)")
_ENDS_IN_LINK = re.compile(r"(?:^|\s)[<(]?https?://\S+$")
_ROW = re.compile(r"[^|]{1,120}\|[^|]{1,120}(?:\||$)")
_STAMP: Final = r"\[?\d[\d./,: -]{3,24}\s?(?:[ap]\.?m\.?)?\]?\s*(?:[-–]\s*)?"
_OWN_ROLES: Final = "user|human|me"
_ROLES: Final = "assistant|agent|ai|bot|system|tool|function|model|customer|client|caller|clerk|helper|operator|nurse"
_TURN = re.compile(
    rf"(?P<stamp>{_STAMP})?(?:(?P<own>{_OWN_ROLES})|(?P<role>{_ROLES})|(?P<name>[^\W\d_][\w'’.-]{{0,20}}"
    r"(?:[ /][\w'’.-]{1,20}){0,3}(?: \([^()]{1,30}\))?))\s?:\s+\S",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(
    r"\b(?:i|i['’](?:m|ve|d|ll)|my|mine|me|we|we['’](?:re|ve|ll)|our|us|ich|mein\w*|wir|je|mon|ma|nous|yo|mi|mis|"
    r"main|mera|"
    r"meri|mujhe)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"(?:in|at|on|to|of|and|or|for|with|from|by|is|are|was|were|that|which|than|until|und|oder|mit|et|ou|de|y|con)\b"
)
_DANGLES = re.compile(
    r"(?:^|\s)(?:the|a|an|of|to|and|or|in|at|on|for|with|from|by|is|are|my|your|our|und|der|die|de|la|el)$"
)
_SHORTEST, _NARROWEST, _WIDEST, _LONGEST_WHOLE = 30, 56, 110, 300


def blocks(lines: Iterable[Line | None]) -> Iterator[Block]:
    """Yield the blocks in order, disjoint, each within one paragraph (a list may follow its heading)."""
    block: list[Line] = []
    turn = items = parted = False
    width = 0
    for line in lines:
        if line is None:
            if parted or items or not (block and block[-1].text[-1] == ":"):
                yield from _close(block, turn=turn, items=items)
                block, turn, items = [], False, False
            parted = True
            continue
        parted = False
        bullet = _BULLET.match(line.text)
        if bullet and _is_short(line) and block and (items or block[-1].text[-1] == ":"):
            items = True
            block.append(line)
            continue
        speaks = _turn_of_another(line.text) if ":" in line.text else None
        joins = not (items or bullet or speaks is not None) and _joins(block, line, width, turn=turn)
        if block and joins:
            block.append(line)
            width = max(width, len(line.text))
            continue
        yield from _close(block, turn=turn, items=items)
        start = line.start + (bullet.end() if bullet else 0)
        block, turn, items, width = [line._replace(start=start)], bool(speaks), False, len(line.text)
    yield from _close(block, turn=turn, items=items)


def _close(block: list[Line], *, turn: bool, items: bool) -> Iterator[Block]:
    if not block:
        return
    start, end = block[0].start, block[-1].end
    short = end - start <= _LONGEST_WHOLE
    if items:
        bullets = [_BULLET.match(line.text) for line in block]
        pairs = [
            line for line, mark in zip(block, bullets, strict=True) if mark and LABELLED.match(line.text, mark.end())
        ]
        if not short or len(pairs) > 1:
            for line, bullet in zip(block, bullets, strict=True):
                yield Block(line.start + (bullet.end() if bullet else 0), line.end)
            return
    row = len(block) == 1 and "|" in block[0].text and _ROW.match(block[0].text)
    yield Block(start, end, whole=short and bool(items or turn or row))


def _is_short(line: Line) -> bool:
    return len(line.text) <= 48 and line.text.count(" ") <= 6 and line.text[-1] not in ".!?"


def _turn_of_another(words: str) -> bool | None:
    """Whether a line begins the turn of somebody else than the writer; ``None`` where it begins no turn."""
    found = _TURN.match(words)
    if found is None:
        return None
    if found["own"]:
        return False
    if found["role"] or found["stamp"]:
        return True
    name = found["name"] or ""
    speaks = bool(name[0].isupper()) and bool(_FIRST_PERSON.search(words, found.end("name")))
    return True if speaks else None


def _joins(block: list[Line], line: Line, width: int, *, turn: bool) -> bool:
    """Whether a line goes on with the statement before it."""
    if not block:
        return False
    if turn:
        return True
    before = block[-1].text
    if bool(TITLE.match(before)) != bool(TITLE.match(line.text)):  # both have it where text is quoted with a "#"
        return False
    if before[-1] == ":" and len(before) <= _NARROWEST:
        return True
    if "|" in before or "\t" in line.text:
        return False
    if "://" in before and _ENDS_IN_LINK.search(before, max(0, len(before) - 2_000)):
        return False
    unfinished = before[-1] not in ".!?:;"
    if unfinished and (_GOES_ON.match(line.text) or _DANGLES.search(before)):
        return True
    if LABELLED.match(line.text):
        return False
    if unfinished and line.text[0].islower() and len(before) >= _SHORTEST and block[0].text[0].isupper():
        return True
    widest = max(width, len(line.text))
    first_word = line.text.partition(" ")[0]
    return _NARROWEST <= widest <= _WIDEST and len(before) + 1 + len(first_word) > min(widest, 80)
