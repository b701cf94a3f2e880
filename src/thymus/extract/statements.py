"""The stretches of a plain-text message that state something."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from thymus.extract.attribution import doubts
from thymus.extract.chatter import after_greeting, is_chatter
from thymus.extract.context import Sentence, compose, headings, introduction, lead_of
from thymus.extract.layout import TITLE, blocks
from thymus.extract.leaning import says_something
from thymus.extract.lines import FORWARDED, HEADER, MAIL_ONLY, SUBJECT, own_lines
from thymus.extract.sentences import cut, halves, split
from thymus.extract.text import one_line

_WORD = re.compile(r"[^\W_]+(?:['’.:-][^\W_]+)*")
# Short, and a sentence all the same: one with a pronoun, and one in a script that sets no space between words.
_WHOLE = re.compile(r"(?:i|it|we|he|she|they|you)[\s'’]|.*[\u2e80-\u9fff\uac00-\ud7af]{3}", re.IGNORECASE)
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
_REPLY = re.compile(r"\s*(?:re|aw|sv|antw|rif|res)\s?(?:\[\d+\])?:", re.IGNORECASE)
_TAGS = re.compile(
    r"(?:\s*(?:re|aw|sv|antw|rif|res|fwd?|wg|tr|rv)\s?(?:\[\d+\])?:|\s*\[[^\]\n]{1,40}\])*\s*", re.IGNORECASE
)
_JOINED = 300
_MOST_SENTENCES = 10_000
_MOST_HEADERS: Final = 8
_LONGEST_HEADER: Final = 100
_INTRODUCED: Final = 3
"""Sentences among which a sender's introduction is looked for: greetings and courtesies come first."""

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from thymus.extract.layout import Block


def candidates(text: str, most: int, *, own: bool) -> list[tuple[int, int, str]]:
    """The statements, and every other sentence that could be one, in order and disjoint.

    What is quoted from earlier mail is none, nor a question, nor what somebody repeats only to ask whether it is true.
    """
    found = statements(text, most, own=own)
    _, begin = _subject(text)
    every = _asserted(islice(_sentences(text, begin), _MOST_SENTENCES))
    starts = [start for start, _, _ in found]
    for one in every:
        if len(found) >= most:
            break
        at = bisect_right(starts, one.start)
        apart = (not at or found[at - 1][1] <= one.start) and (at == len(found) or one.end <= found[at][0])
        asks = one.words.endswith(("?", "？", "؟"))
        if one.chatter and apart and not asks and one.start < one.end:
            found.insert(at, (one.start, one.end, ""))
            starts.insert(at, one.start)
    return found


def statements(text: str, most: int, *, own: bool) -> list[tuple[int, int, str]]:
    """Return the first ``most`` statements as (start, end, lead), in order and disjoint; the lead may be empty.

    Not more than 10,000 sentences are looked at: a message has them only to keep its reader busy.

    :param own: the user speaks, who needs no introduction.
    """
    subject, begin = _subject(text)
    sentences = _sentences(text, begin)
    opening = list(islice(sentences, _INTRODUCED))
    named = "" if own else introduction(opening)
    found: list[tuple[int, int, str]] = []
    forwarded = FORWARDED.search(text) if named else None
    until = forwarded.start() if forwarded else len(text)
    every: Iterable[Sentence] = chain(opening, sentences)
    if own:
        every = _asserted(every)
    for start, end, lead in compose(text, every, subject=subject, named=named, named_until=until):
        pieces = cut(text, start, end)
        found.extend((left, right, lead if len(pieces) == 1 else "") for left, right in pieces)
        if len(found) >= most:
            break
    return found[:most]


def _asserted(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Without what the user repeats only to ask whether it is true: it stands right before the question."""
    held: Sentence | None = None
    for sentence in sentences:
        if held is not None and not doubts(sentence.words, held.words):
            yield held
        held = sentence
    if held is not None:
        yield held


def _sentences(text: str, begin: int) -> Iterator[Sentence]:
    """Every sentence of the message, and for each whether it is chatter; headings of lists are left out."""
    looked_at = 0
    own_blocks = (block for block in blocks(own_lines(text)) if block.end > begin)
    for number, placed in enumerate(headings(text, own_blocks)):
        block = placed.block
        start = _after_title(text, block, begin)
        if (placed.titles and not _STATES.search(text, start, block.end)) or (
            placed.leads and not says_something(one_line(text[start : block.end]))
        ):
            continue
        spans = [(start, block.end)] if block.whole else split(text, start, block.end)
        if not (number or block.whole):
            spans = spans[_headers(text, spans) :]
        looked_at += len(spans)
        whole = _joined(text, spans)
        for left, right in whole if block.whole else (half for span in whole for half in halves(text, *span)):
            at = after_greeting(text, left, right)
            words = one_line(text[at:right])
            yield Sentence(at, right, words, is_chatter(words), number, placed.heading, placed.item)
        if looked_at >= _MOST_SENTENCES:
            return


def _headers(text: str, spans: list[tuple[int, int]]) -> int:
    """How many of the first sentences are the headers of a mail that lost its line breaks."""
    count, mail = 0, False
    for start, end in spans[:_MOST_HEADERS]:
        reply = _REPLY.match(text, start, end)
        if end - start > _LONGEST_HEADER or not (reply or HEADER.match(text, start, end)):
            break
        count += 1
        mail = mail or bool(reply or MAIL_ONLY.match(text, start, end))
    return count if mail else 0


def _subject(text: str) -> tuple[str, int]:
    """The subject in the first line, and where the rest begins.

    A subject that states something is read as a statement too; a title, or a reply's, only goes in front of others.
    """
    start = len(text) - len(text.lstrip())
    end = text.find("\n", start, start + 400)
    line = text[start:end] if end >= 0 else text[start : start + 400]
    subject = SUBJECT.match(line)
    title = line[subject.end() if subject else 0 :]
    marks = _TAGS.match(title)
    bare = title[marks.end() if marks else 0 :]
    if not (subject or (marks and _REPLY.match(title) and end >= 0)):
        return "", 0
    states = subject and bare.count(" ") > 1 and not _REPLY.match(title) and _STATES.search(bare)
    return lead_of(bare), start + (subject.end() if subject and states else len(line))


def _after_title(text: str, block: Block, begin: int) -> int:
    """Where a block begins without the marks of a title and without what stands before ``begin``."""
    start = max(block.start, begin)
    title = TITLE.match(text, start, block.end)
    return title.end() if title else start


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
