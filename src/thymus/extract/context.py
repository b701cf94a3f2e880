"""Sentences given what they lean on, so that each can be stored, judged, found and quoted alone.

A sentence that leans on its neighbour is kept in one passage with it where both are short. Where that cannot be, and
for items, it gets the heading, the lead-in or the mail's subject in front; what somebody says of themselves gets their
introduction. Only the sender's words are used. A sentence that stands by itself stays as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from thymus.extract.chatter import is_chatter
from thymus.extract.layout import LABELLED, TITLE
from thymus.extract.leaning import answers, asks_for_a_value, leans, orders, says_something
from thymus.extract.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from thymus.extract.layout import Block

_LONGEST_TOGETHER: Final = 220
"""Characters up to which neighbours go into one passage; beyond, a heading is better, where there is one."""
_LONGEST_PAIR: Final = 260
_MOST_TOGETHER: Final = 3
_LONGEST_LEAD: Final = 100
_LONGEST_OPENING: Final = 60
_LONGEST_LED: Final = 600
_WIDEST_GAP: Final = 30
_WIDEST_BULLET: Final = 40
_WORDS_OF_A_QUESTION: Final = 4
_BEGINNING: Final = 60

_ASKS: Final = ("?", "？", "؟")
_MARKS = re.compile(r"^[\s#*_>-]+|[\s#*_:.–-]+$")
_EMPTY_LEAD = re.compile(
    r"(?:(?:please )?(?:note|see|find|read|be aware|remember|bear in mind)\b.*|here(?:['’]?s| is| are| you)\b.*|"
    r"(?:a )?(?:few|couple of|some) (?:things|notes|points|reminders|updates)\b.*|(?:quick|short|small|last|one|"
    r"final) (?:one|note|update|thing|question|reminder|more thing)|(?:fyi|update|reminder|note|nb|ps|heads[ -]up|"
    r"details?|summary|the following|as follows|news|changes?|info|information|to ?do|hi|hello|hey|re|fwd?|important|"
    r"urgent|attention|message|question|hinweis|nota|note bien|wichtig|importante?))",
    re.IGNORECASE,
)
_NAME: Final = r"[A-ZÀ-Þ][\w'’.-]*(?: (?:[A-ZÀ-Þ][\w'’.-]*|(?:de|van|von|la|el|der)(?= [A-ZÀ-Þ]))){0,3}"
_NOT_A_NAME: Final = (
    r"(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|August|September|"
    r"October|November|December|I\b|You|We|It|The|This|That|There|Not|Nothing|Everything|All|Over|From|Right|Up|Get|"
    r"Be|Come|Out|Look|Stay|Being|Still|Now|Click|Sign|Down)"
)
_PLACE: Final = (
    r"(?:,?\s(?:from|at|of|in|on behalf of|your|von|vom|aus|de|du|del|da|chez)(?:\s(?!and\b|with\b|who\b|to\b|"
    r"again\b|und\b|et\b|y\b)[\w'’&-]+){1,6})"
)
_INTRODUCTION = re.compile(
    rf"(?:^|(?<=[,.!;:–—] )|(?<=^Hi )|(?<=^Hey )|(?<=^Hello ))(?:(?i:this is|it['’]?s|it is|i['’]?m|i am|my name is|"
    rf"my name['’]s|hier ist|hier spricht|ich bin|mein Name ist|ici|c['’]est|je suis|je m['’]appelle|soy|me llamo|"
    rf"habla|aquí|mera naam)\s+{_NOT_A_NAME}{_NAME}(?=[,.;!–—]|\s(?:from|at|of|with|in|here|and|on behalf|speaking|"
    rf"your|the|von|aus|vom|de|du|del|da|hai)\b|$)(?:\s(?:here|speaking))?|{_NOT_A_NAME}{_NAME}\s(?:here|hier|aquí|"
    rf"ici|speaking|bol rah[ai])(?=[,.;:!–—]|\s(?:from|at|of|with|in|von|vom|de|again)\b)){_PLACE}?|"
    rf"^{_NOT_A_NAME}{_NAME}\s(?:from|at)\s{_NAME}(?=\.$)"
)
_OF_SELF = re.compile(
    r"\b(?:i|i['’](?:m|ve|d|ll)|my|mine|we|we['’](?:re|ve|ll|d)|our|ours|ich|mein\w*|wir|unser\w*|je|j['’]\w+|mon|ma|"
    r"mes|nous|yo|mi|mis|nosotros|main|mera|meri|mere|hum|hamara)\b",
    re.IGNORECASE,
)
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n")
_LABEL = re.compile(r"[^.!?:]{1,40}:\s")
_TRAIT = re.compile(r"(?:i['’]?m|i am) \w+(?:ish|ian|ese|ican|rman|tarian|holic)$", re.IGNORECASE)


class Placed(NamedTuple):
    """A block and the words it stands under.

    :param item: it is an item of a list, or a line of a labelled one, which a heading always belongs to.
    :param leads: it is itself the lead-in of items that follow.
    :param titles: it is itself a title.
    """

    block: Block
    heading: str = ""
    item: bool = False
    leads: bool = False
    titles: bool = False


class Sentence(NamedTuple):
    """One sentence in its place.

    :param words: the sentence on one line.
    :param chatter: it states nothing by itself, but may be the question that the next one answers.
    :param block: number of its block; sentences of one block have nothing but chatter between them.
    :param heading: the words it stands under.
    :param item: it is an item, which the heading always belongs to.
    """

    start: int
    end: int
    words: str
    chatter: bool
    block: int
    heading: str = ""
    item: bool = False


@dataclass(slots=True, kw_only=True)
class _Group:
    """Neighbouring sentences that make one passage."""

    start: int
    end: int
    count: int
    block: int
    orders: bool
    opening: str
    lead: str


def lead_of(text: str) -> str:
    """The words of a heading, lead-in or subject as they are put in front; empty where they tell nothing."""
    words = _MARKS.sub("", one_line(text[:400]))
    if not words or len(words) > _LONGEST_LEAD or _EMPTY_LEAD.fullmatch(words) or is_chatter(words):
        return ""
    return words


def headings(text: str, blocks: Iterable[Block]) -> Iterator[Placed]:
    """Say of each block under which heading it stands."""
    before: Block | None = None
    title = lead = ""  # a title reaches to the next title, a lead-in over its list
    held: Placed | None = None
    for block in blocks:
        gap = text[before.end : block.start] if before is not None else ""
        first, _, rest = text[block.start : min(block.end, block.start + 400)].partition("\n")
        bulleted = bool(gap.rpartition("\n")[2].strip()) and len(gap) <= _WIDEST_BULLET
        labelled = gap.count("\n") == 1 and bool(LABELLED.match(first)) and first.rstrip()[-1:] != ":"
        if held is not None:
            yield held._replace(leads=bulleted or labelled)
            held = None
        apart = before is None or bool(_EMPTY_LINE.search(gap))  # lines quoted with a "#" are not
        found = TITLE.match(first) if apart else None
        if found and not rest.strip() and len(first) <= _LONGEST_LEAD and first.rstrip()[-1:] not in ".,;":
            title, lead = lead_of(first[found.end() :]), ""
            yield Placed(block, titles=True)
        elif bulleted or (labelled and lead):
            yield Placed(block, lead or title, item=True)
        else:
            leads = first.rstrip()[-1:] == ":"
            lead = lead_of(first) if leads else ""
            if leads and not rest.strip():
                held = Placed(block, title)
            else:
                yield Placed(block, title)
        before = block
    if held is not None:
        yield held


def introduction(sentences: list[Sentence]) -> str:
    """How the sender names themselves in the first sentences (*Rohan here*, *This is Ines from Larch*); else empty."""
    for sentence in sentences:
        found = _INTRODUCTION.search(sentence.words[:200])
        if found and not _TRAIT.match(found[0]):
            return one_line(found[0])
    return ""


def compose(
    text: str, sentences: Iterable[Sentence], *, subject: str, named: str, named_until: int
) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, lead) of each passage, in order and disjoint; the lead is to be put in front, or empty.

    :param subject: what the mail is about, for a sentence that leans on nothing else in it.
    :param named: the introduction of a sender who speaks of themselves; empty where that is the user.
    :param named_until: where somebody else's words begin, which are forwarded.
    """
    group: _Group | None = None
    question: Sentence | None = None  # right before this sentence
    for sentence in sentences:
        if sentence.chatter:
            question = sentence if sentence.words[-1:] in _ASKS else None
            continue
        asked = question if question is not None and _next_to(text, question.end, sentence.start) else None
        question = None
        depends = leans(sentence.words)
        answer = asked is not None and _answers(asked, sentence)
        alone = not (sentence.heading or subject)
        if depends and group and not answer and _fits(text, group, sentence, asked, alone=alone):
            group.end, group.count, group.block = sentence.end, group.count + 1, sentence.block
            continue
        if group is not None:
            yield group.start, group.end, group.lead
        own = named if sentence.start < named_until else ""
        start, lead = sentence.start, _lead(sentence, subject, own, depends=depends)
        opening = sentence.words
        if depends and group is not None and _follows(group, sentence):
            lead, opening = group.opening.rstrip(" .!,;:…"), group.opening
        if asked is not None and answer:
            start, lead = asked.start, ""
        group = _Group(
            start=start,
            end=sentence.end,
            count=1,
            block=sentence.block,
            orders=orders(sentence.words),
            opening=opening,
            lead=lead,
        )
    if group is not None:
        yield group.start, group.end, group.lead


def _answers(question: Sentence, sentence: Sentence) -> bool:
    """Whether a sentence is understood from a question; a short one (*Did you hear?*) names nothing itself."""
    short = question.words.count(" ") < _WORDS_OF_A_QUESTION and not asks_for_a_value(question.words)
    return not short and sentence.end - question.start <= _LONGEST_TOGETHER and answers(question.words, sentence.words)


def _follows(group: _Group, sentence: Sentence) -> bool:
    """Whether a sentence that fits no more may have the group's first one in front instead."""
    if len(group.opening) > _LONGEST_OPENING or group.orders or orders(sentence.words) or leans(group.opening):
        return False
    if not says_something(group.opening):
        return False
    return group.block == sentence.block and sentence.start - group.end <= _WIDEST_GAP


def _next_to(text: str, end: int, start: int) -> bool:
    return start - end <= _WIDEST_GAP and not text[end:start].strip()


def _fits(text: str, group: _Group, sentence: Sentence, asked: Sentence | None, *, alone: bool) -> bool:
    """Whether a sentence may join: next to the group, short enough together, both of them orders or neither.

    Only white space is between them or, within a block, a question or a few words that state nothing.
    """
    if group.count >= _MOST_TOGETHER or group.orders != orders(sentence.words):
        return False
    if sentence.end - group.start > (_LONGEST_PAIR if alone and group.count == 1 else _LONGEST_TOGETHER):
        return False
    gap_end = asked.start if asked is not None else sentence.start
    if group.block == sentence.block:
        return gap_end - group.end <= _WIDEST_GAP
    return asked is None and _next_to(text, group.end, sentence.start)


def _lead(sentence: Sentence, subject: str, named: str, *, depends: bool) -> str:
    """What is to be put in front of a sentence that does not join its neighbour."""
    words = sentence.words
    lead = ""
    if len(words) > _LONGEST_LED:
        return ""
    if sentence.heading and (depends or not says_something(words) or (sentence.item and not orders(sentence.heading))):
        lead = sentence.heading
    elif depends:
        lead = subject
    elif named and named not in words and _speaks_of_self(words):
        lead = named
    return "" if words.startswith(lead) else lead


def _speaks_of_self(words: str) -> bool:
    return bool(_OF_SELF.search(words[:_BEGINNING])) and not (orders(words) or _LABEL.match(words))
