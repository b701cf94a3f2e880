"""What a recall shows: the context that the model answers from, and the notice that the user sees.

All wording of labels and notices is here; no model words any of it. Under a disclosing gate a contested value never
reaches the context, and each contested claim that bears on what was recalled is in the notice with its source (G3).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from thymus.core.beliefs import LIVE, Belief, Status
from thymus.core.claims import Claim, Kind, fold
from thymus.core.policy import Policy, Showing
from thymus.core.provenance import Source
from thymus.core.quoting import LONGEST_LINE, LONGEST_QUOTE, carrier, contain, cut, name, one_line, quote, standing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_DISCLOSED: Final = 6
"""Claims that a notice quotes one by one; past that a flood would bury the first, so the rest are counted and named."""
_MOST_SOURCES: Final = 20

_OPENING: Final = "I also have unconfirmed information that contradicts what I know."
_OPENING_ALONE: Final = "I also have unconfirmed information that I have not used."
_CLOSING: Final = "I have not used it. Tell me if it is right."


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A belief as users of the library see it.

    :param contradicts: ids of the memories that it was contested against.
    """

    id: str
    text: str
    kind: Kind
    status: Status
    source: Source
    lineage: tuple[Source, ...]
    observed_at: datetime
    contradicts: tuple[str, ...] = ()

    @classmethod
    def of(cls, belief: Belief, contradicts: Sequence[str] = ()) -> Memory:
        """The record of a belief."""
        claim = belief.claim
        return cls(
            id=belief.id,
            text=claim.text,
            kind=claim.kind,
            status=belief.status,
            source=claim.source,
            lineage=claim.lineage,
            observed_at=claim.observed_at,
            contradicts=tuple(contradicts),
        )

    def to_dict(self) -> dict[str, Any]:
        """The record in JSON's types."""
        return {
            "id": self.id,
            "text": self.text,
            "kind": self.kind.value,
            "status": self.status.value,
            "source": self.source.key,
            "assurance": self.source.assurance.name.lower(),
            "derived_from": [source.key for source in self.lineage],
            "observed_at": self.observed_at.isoformat(),
            "contradicts": list(self.contradicts),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The answer to a question.

    :param context: what the model answers from; each outside claim is quoted and labelled with its source.
    :param notice: what to show to the user as it stands; empty when nothing is contested.
    :param memories: the records behind the context, best first.
    :param contested: the records behind the notice: what bears most on the question first, then the newest.
    """

    context: str
    notice: str
    memories: tuple[Memory, ...]
    contested: tuple[Memory, ...]

    def to_dict(self) -> dict[str, Any]:
        """The recall in JSON's types."""
        return {
            "context": self.context,
            "notice": self.notice,
            "memories": [memory.to_dict() for memory in self.memories],
            "contested": [memory.to_dict() for memory in self.contested],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """A held-back belief and the beliefs that it was held back against.

    :param resembles: known sources that one of its speakers could be taken for; its own, where that was not proved.
    :param stakes: what in it would do harm if it were false (``Circumstances.stakes``).
    :param bearing: how much it bears on the question, in steps; what bears more is told first.
    """

    belief: Belief
    rivals: tuple[Belief, ...] = ()
    resembles: tuple[Source, ...] = ()
    stakes: frozenset[str] = frozenset()
    bearing: int = 0


def _as_it_is(contest: Contest) -> Contest:
    return contest


def compose(
    policy: Policy,
    hits: Sequence[Belief],
    contests: Sequence[Contest],
    look: Callable[[Contest], Contest] = _as_it_is,
) -> Recall:
    """Word the context and the notice.

    :param hits: recalled beliefs, best first; only active ones are used.
    :param contests: held-back beliefs that bear on the question or on a hit, and active ones that stand aside.
    :param look: finds out what the user should know of a contest's sender; asked only where that is told.
    """
    aside = {contest.belief.id for contest in contests}
    standing_ = [belief for belief in hits if belief.status is Status.ACTIVE and belief.id not in aside]
    active = _within_slots(policy, _each_once(standing_))
    held = sorted(
        (contest for contest in contests if contest.belief.status in LIVE or contest.belief.speaks_unasked),
        key=lambda contest: (-contest.bearing, -contest.belief.seq, contest.belief.id),
    )
    lines = [_line(policy, belief) for belief in active]
    notice = ""
    if policy.showing is Showing.PLAIN:
        held = []
    elif policy.showing is Showing.LABEL:
        lines += [_line(policy, contest.belief) for contest in held]
    else:
        notice = word_notice(held, look)
    return Recall(
        context="\n".join(lines),
        notice=notice,
        memories=tuple(Memory.of(belief) for belief in active),
        contested=tuple(Memory.of(c.belief, [rival.id for rival in c.rivals]) for c in held),
    )


def _each_once(beliefs: Sequence[Belief]) -> list[Belief]:
    """Leave out a belief in the words of one that has more authority: agreement must not fill the context (G8)."""
    leading: dict[str, Belief] = {}
    for belief in beliefs:
        words = fold(belief.claim.text)
        if words not in leading or belief.claim.assurance > leading[words].claim.assurance:
            leading[words] = belief
    return [belief for belief in beliefs if leading[fold(belief.claim.text)] is belief]


def _within_slots(policy: Policy, beliefs: Sequence[Belief]) -> list[Belief]:
    if policy.outside_slots is None:
        return list(beliefs)
    outside = [belief.id for belief in beliefs if not belief.claim.from_user][: policy.outside_slots]
    return [belief for belief in beliefs if belief.claim.from_user or belief.id in outside]


def _line(policy: Policy, belief: Belief) -> str:
    claim = belief.claim
    if claim.from_user or policy.showing is Showing.PLAIN:
        return f"- {cut(one_line(claim.text), LONGEST_LINE)}"
    label = [f"from {name(claim.source)}", standing(claim.source)]
    if claim.lineage:
        label.append(f"derived from {_origins(claim)}")
    if belief.status is not Status.ACTIVE:
        label.append("contradicts another memory, unconfirmed")
    label.append(claim.observed_at.date().isoformat())
    return f"- {contain(claim.text)} ({'; '.join(label)})"


def _origins(claim: Claim) -> str:
    return ", ".join(sorted({name(source) for source in claim.lineage})[:5])


def word_notice(contests: Sequence[Contest], look: Callable[[Contest], Contest] = _as_it_is) -> str:
    """What the user is told about held-back claims; empty for none.

    Claims in the same words are told once, so that many voices push nobody out of the notice (G8).
    """
    if not contests:
        return ""
    agreeing: dict[str, list[Contest]] = {}
    for contest in contests:
        agreeing.setdefault(fold(contest.belief.claim.text), []).append(contest)
    groups = _in_turn(list(agreeing.values()))
    told = [_disclosure([look(group[0]), *group[1:]]) for group in groups[:MOST_DISCLOSED]]
    if len(groups) == 1:
        opening = _OPENING if groups[0][0].rivals else _OPENING_ALONE
        return f"{opening} {_capital(told[0])} {_CLOSING}"
    opening = _OPENING if any(contest.rivals for contest in contests) else _OPENING_ALONE
    lines = [opening, *(f"• {_capital(line)}" for line in told)]
    rest = [contest for group in groups[MOST_DISCLOSED:] for contest in group]
    if rest:
        where = (
            "ask about them" if any(one.belief.speaks_unasked for one in rest) else "ask about them, or see the inbox"
        )
        lines.append(f"• {len(rest)} more such claims, from {_names(rest)}: {where}.")
    return "\n".join([*lines, _CLOSING])


def _disclosure(group: Sequence[Contest]) -> str:
    """One sentence for claims in the same words: who said it, what it contradicts, who else says it."""
    contest = group[0]
    claim = contest.belief.claim
    said = f"{carrier(claim.source)} said {quote(claim.text)} on {claim.observed_at.date().isoformat()}"
    if claim.lineage:
        said += f", derived from {_origins(claim)}"
    if len(group) > 1:
        said += f" (and so did {len(group) - 1} more: {_names(group[1:])})"
    if contest.rivals:
        rival = contest.rivals[0].claim
        teller = "you told me" if rival.from_user else f"{carrier(rival.source)} said"
        more = f" (and {len(contest.rivals) - 1} more)" if len(contest.rivals) > 1 else ""
        said += f"; {teller} {quote(rival.text)}{more}"
    return ". ".join((said, *_remarks(contest))) + "."


_AT_STAKE: Final = {
    "payment": "where to pay",
    "credential": "a password or code",
    "contact": "how to reach somebody",
    "link": "a link to act on",
    "dose": "a dose",
}


def _remarks(contest: Contest) -> list[str]:
    """What the user should look at besides the words."""
    claim = contest.belief.claim
    known = [source for source in contest.resembles if source.key not in {one.key for one in claim.speakers}]
    remarks = []
    if len(one_line(claim.text)) > LONGEST_QUOTE and not contest.belief.speaks_unasked:  # those are in no inbox
        remarks.append("There is more than I show here: read all of it in the inbox before you say yes")
    if contest.belief.speaks_unasked:
        remarks.append("It is worded as an order or a wish, which only you can give: say it yourself if it is right")
    if known:
        remarks.append(f"Its sender is easily mistaken for {name(known[0])}, which I know")
    elif contest.resembles:
        remarks.append(f"Earlier messages of {name(contest.resembles[0])} were verified, and this one is not")
    stakes = [words for stake, words in _AT_STAKE.items() if stake in contest.stakes]
    if stakes and not claim.verified:
        remarks.append(f"It names {' and '.join(stakes)}, and nobody has verified who sent it")
    return remarks


def _in_turn(groups: Sequence[list[Contest]]) -> list[list[Contest]]:
    """The first claim of each source before the second of any, else as they come: nobody fills the notice alone."""
    spoken: Counter[str] = Counter()
    turns = []
    for group in groups:
        key = group[0].belief.claim.source.key
        turns.append(spoken[key])
        spoken[key] += 1
    return [groups[at] for at in sorted(range(len(groups)), key=lambda at: turns[at])]


def _names(contests: Sequence[Contest]) -> str:
    names = sorted({name(contest.belief.claim.source) for contest in contests})
    more = f" and {len(names) - _MOST_SOURCES} other sources" if len(names) > _MOST_SOURCES else ""
    return ", ".join(names[:_MOST_SOURCES]) + more


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


# What only this module words. It comes back as it was, or wrapped and quoted by a mail program.
_OWN_LINE = re.compile(
    r"(?:[-•*]\s+)?“[^“”]{0,1100}”\s+\(from\s[^()“”]{0,600};\s+\d{4}-\d\d-\d\d\)"
    r"|^[ \t>]*(?:•\s[^“”]{0,300}(?:“[^“”]{0,300}”[^“”]{0,300})?\ssaid\s+“[^“”]{0,1200}”[^“”]{0,80}\son\s+"
    r"\d{4}-\d\d-\d\d[^\n]*"
    r"|•[ \t]\d+ more such claims, from [^\n]*: (?:ask about them(?:, or see the inbox)?|see the inbox)\."
    r")[ \t]*$",
    re.MULTILINE,
)
_OPENS = re.compile(
    r"^[ \t>]*(?:"
    + "|".join(r"\s+(?:>\s*)?".join(map(re.escape, line.split())) for line in (_OPENING, _OPENING_ALONE))
    + ")",
    re.MULTILINE,
)
_CLOSES = re.compile(r"\s+(?:>\s*)?".join(map(re.escape, _CLOSING.split())))
_LONGEST_NOTICE: Final = 40_000
_MOST_BULLETS: Final = 2_000
"""Bullets that are looked at for our own wording: a message has more only to keep its reader busy."""


def mask_own_wording(text: str) -> str:
    """The text with every context label and notice blanked out, so that no echo is learned (G13).

    Length and positions stay the same, so spans found in the result hold for the text itself.
    """
    ends_at = _nth(text, "•", _MOST_BULLETS)
    spans = [match.span() for match in _OWN_LINE.finditer(text, 0, ends_at)]
    closings = [match.span() for match in _CLOSES.finditer(text)]
    closes = [end for _, end in closings]
    for opening in _OPENS.finditer(text):
        at = bisect_right(closes, opening.end())
        ends = at < len(closes) and closes[at] - opening.start() <= _LONGEST_NOTICE
        spans.append((opening.start(), closes[at] if ends else opening.end()))
    return _blank(text, sorted([*spans, *closings]))


def _nth(text: str, sign: str, number: int) -> int:
    """Where the text has the sign for this time, or its length."""
    at = -1
    for _ in range(number):
        at = text.find(sign, at + 1)
        if at < 0:
            return len(text)
    return at


def _blank(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, done = [], 0
    for start, end in spans:
        start, end = max(start, done), max(end, done)
        parts += [text[done:start], re.sub(r"[^\n]", " ", text[start:end])]
        done = end
    return "".join([*parts, text[done:]])
