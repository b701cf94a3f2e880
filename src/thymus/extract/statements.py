"""The stretches of a plain-text message that state something."""

from __future__ import annotations

import re

from thymus.extract.chatter import after_greeting, is_chatter
from thymus.extract.layout import Block, blocks
from thymus.extract.lines import SUBJECT, own_lines
from thymus.extract.sentences import cut, split
from thymus.extract.text import one_line

_WORD = re.compile(r"[^\W_]+(?:['’.:-][^\W_]+)*")
# Short, and a sentence all the same: one with a pronoun, and one in a script that sets no space between words.
_WHOLE = re.compile(r"(?:i|it|we|he|she|they|you)\s|.*[\u2e80-\u9fff\uac00-\ud7af]{3}", re.IGNORECASE)
_ANSWER = re.compile(
    r"(?:yes|no|nope|yep|yeah|never|always|a:|answer|accepted answer|sí|ja|nein|doch|oui|non|haan|nahi|sometimes)\b",
    re.IGNORECASE,
)
_CATECHISM = re.compile(r"(?:q|faq|question|f|frage)\s?\d{0,3}[.:]\s", re.IGNORECASE)
_STATES = re.compile(
    r"\d|\b(?:is|are|was|were|has|have|had|will|won't|moved|moves|changed|changes|cancell?ed|postponed|confirmed|"
    r"starts|begins|"
    r"ends|due|now|no|not|can't|cannot|ist|sind|wird|wurde|verschoben|está|es|será|cambia|est|sont|sera)\b",
    re.IGNORECASE,
)
_REPLY = re.compile(r"(?:re|aw|sv|antw|rif|res)\s?(?:\[\d+\])?:", re.IGNORECASE)
_JOINED = 300
_MOST_SENTENCES = 10_000


def statements(text: str, most: int) -> list[tuple[int, int]]:
    """Return the first ``most`` statements as [start, end), in order and disjoint.

    Not more than 10,000 sentences are looked at: a message has them only to keep its reader busy.
    """
    found: list[tuple[int, int]] = []
    looked_at = 0
    for block in blocks(own_lines(text)):
        spans = [(block.start, block.end)] if block.whole else split(text, _after_subject(text, block), block.end)
        looked_at += len(spans)
        for start, end in _joined(text, spans):
            begin = after_greeting(text, start, end)
            if not is_chatter(one_line(text[begin:end])):
                found.extend(cut(text, begin, end))
        if len(found) >= most or looked_at >= _MOST_SENTENCES:
            break
    return found[:most]


def _after_subject(text: str, block: Block) -> int:
    """Where a block begins without ``Subject:``; its end where the subject is only a title, or a reply's."""
    subject = SUBJECT.match(text, block.start, block.end) if block.end - block.start <= 200 else None
    if subject is None:
        return block.start
    title = one_line(text[subject.end() : block.end])
    states = title.count(" ") > 1 and not _REPLY.match(title) and _STATES.search(title)
    return subject.end() if states else block.end


def _joined(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sentences, where a fragment of one or two words goes with its neighbour, and a short answer with its question."""
    joined: list[tuple[int, int]] = []
    opening: int | None = None  # where a fragment began that has only what follows to go with
    asked = catechism = False
    for start, end in spans:
        piece = text[start:end]
        fragment, idle = _is_fragment(piece)
        asks = piece[-1] in "?？"
        answers = asked and not asks and not idle and (fragment or catechism or bool(_ANSWER.match(piece)))
        if joined and (answers or (fragment and not idle and not asked)) and end - joined[-1][0] <= _JOINED:
            joined[-1] = (joined[-1][0], end)
        elif fragment and not (idle or asks or joined) and (start, end) != spans[-1]:
            opening = start if opening is None else opening
        else:
            joined.append((start if opening is None else opening, end))
            opening = None
        asked, catechism = asks, asks and bool(_CATECHISM.match(piece))
    return joined


def _is_fragment(piece: str) -> tuple[bool, bool]:
    """Whether it has one or two words, and whether it is idle talk of up to three."""
    count = 9 if len(piece) > 80 or _WHOLE.match(piece) else len(_WORD.findall(piece))
    return count <= 2, count <= 3 and is_chatter(one_line(piece))
