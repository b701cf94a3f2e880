"""What the pages show, as plain records: grouping, differences, timelines, the chart. Pure: no store, clock or network.

Whatever a sender wrote leaves here on one line, without invisible and bidi characters, with links that do not work.
The templates escape it and set it apart (``<bdi>``), so that it can style, order or open nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from thymus import explain
from thymus.core.beliefs import HELD_BACK, SHOWN, Act, Cause, Status
from thymus.core.provenance import UNPRINTABLE, Assurance, Source
from thymus.core.quoting import LONGEST_NAME, cut, defang, name, one_line, quote, standing
from thymus.records import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date, datetime

    from thymus.core.claims import Claim
    from thymus.core.disclose import Memory
    from thymus.core.policy import Policy
    from thymus.records import Event

LONGEST_CLAIM: Final = 600
"""Characters of a claim in a list; its own page has more."""
LONGEST_TEXT: Final = 20_000
"""Characters of a message on the page of a memory."""
EXCERPT: Final = 2_000
"""Characters of a message in the inbox, around what was taken from it."""
MARKS: Final = 4
"""Combining marks in a row that are shown: more than any script needs."""
RIVALS: Final = 4
"""Memories that are named of those which one claim contradicts."""
DAYS: Final = 30
"""Days that the chart shows."""

# Words


def low(text: str) -> str:
    """The text without heaps of combining marks, which would be drawn over what stands above or below it."""
    if text.isascii():
        return text
    kept, height = [], 0
    for sign in text:
        height = height + 1 if unicodedata.category(sign) in ("Mn", "Me") else 0
        if height <= MARKS:
            kept.append(sign)
    return "".join(kept)


def words_of(text: str, longest: int = LONGEST_CLAIM) -> str:
    """A sender's words, safe to show on one line."""
    return defang(cut(low(one_line(text)), longest))


def line_of(text: str) -> str:
    """Our own words, in which a sender's are quoted and defanged already."""
    return cut(low(one_line(text)), 2_000)


def sentence(text: str, longest: int = 80) -> str:
    """A sender's words in our quotes, for headings and labels."""
    return quote(cut(low(one_line(text)), longest))


def name_of(source: Source) -> str:
    """A source by its name on its channel, as the library shows it."""
    return low(name(source))


def in_words(rules: Iterable[str], policy: Policy) -> str:
    """The determining rules in words; "" for none."""
    return "; ".join(words for _, words in explain.why(rules, policy))


def ago(at: datetime, now: datetime) -> str:
    """How long before now, roughly: ``3 days ago``."""
    seconds = (now - at).total_seconds()
    ahead, seconds = seconds < -60, abs(seconds)
    for unit, length in (("year", 31_557_600), ("month", 2_629_800), ("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            told = f"{number:,} {unit}{'s' if number > 1 else ''}"
            return f"in {told}" if ahead else f"{told} ago"
    return "just now"


# Who said it


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """One asserter.

    :param key: as ``revoke`` takes it.
    :param shown: its name on its channel; ``calls_itself`` is the display name, which anybody may choose.
    :param standing: in words, how its identity is known; ``proof`` says what was proved.
    """

    key: str
    shown: str
    calls_itself: str
    standing: str
    verified: bool
    blockable: bool
    proof: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: Source) -> Sender:
        """The view of a source."""
        mine = source.names_user
        return cls(
            key=source.key,
            shown=("You" if source.is_user else "Under your name") if mine else name_of(source),
            calls_itself=words_of(source.name, LONGEST_NAME),
            standing="yourself" if source.is_user else standing(source),
            verified=source.assurance >= Assurance.AUTHENTICATED,
            blockable=not mine,
            proof=tuple(words_of(said) for said in source.proof),
        )


def blockable(senders: Iterable[Sender]) -> tuple[Sender, ...]:
    """Those of the senders that can be blocked, each once."""
    return tuple({one.key: one for one in senders if one.blockable}.values())


def resemblance(claim: Claim, resembled: Sequence[Source], most: int = 3) -> tuple[str, ...]:
    """Warnings about whom the senders of a claim could be taken for."""
    own = {source.key for source in claim.speakers}
    others = [name_of(source) for source in resembled if source.key not in own]
    more = f" and {len(others) - most} more" if len(others) > most else ""
    told = [f"Resembles {', '.join(others[:most])}{more}, known to you: it may only pose as that."] if others else []
    spoofed = [name_of(source) for source in resembled if source.key in own]
    return (*told, *(f"Earlier messages of {one} were verified, and this one is not." for one in spoofed))


# Differences


@dataclass(frozen=True, slots=True)
class Run:
    """Words in a row; ``differs`` where the other text has not the same."""

    text: str
    differs: bool


_WORD: Final = re.compile(r"\S+\s*")


def differences(old: str, new: str) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
    """Both texts in runs of words, with those marked that only one of them has. Joined, the runs are the text."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, _bare(before), _bare(after), autojunk=False)
    blocks = matcher.get_matching_blocks()
    return _runs(before, {n for a, _, size in blocks for n in range(a, a + size)}), _runs(
        after, {n for _, b, size in blocks for n in range(b, b + size)}
    )


def _bare(words: Sequence[str]) -> list[str]:
    """To the letter, since a code may differ in nothing but case; only the last full stop says nothing."""
    bare = [word.strip() for word in words]
    return [*bare[:-1], bare[-1].removesuffix(".")] if bare else []


def _runs(words: Sequence[str], same: set[int]) -> tuple[Run, ...]:
    runs: list[tuple[list[str], bool]] = []
    for number, word in enumerate(words):
        differs = number not in same
        if runs and runs[-1][1] is differs:
            runs[-1][0].append(word)
        else:
            runs.append(([word], differs))
    return tuple(Run("".join(told), differs) for told, differs in runs)


# The message behind a claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A message, or the part around what was taken from it (``said``); ``whole`` where nothing is left out."""

    before: str
    said: str
    after: str
    whole: bool

    @property
    def empty(self) -> bool:
        """Whether there is nothing to read: it was erased."""
        return not (self.before or self.said or self.after)


def excerpt(text: str, span: tuple[int, int], longest: int = EXCERPT) -> Excerpt:
    """So many characters of a message, about evenly around a span of it; lines stay lines."""
    start, end = max(0, span[0]), min(len(text), max(span))
    end = min(end, start + longest)
    spare = longest - (end - start)
    first = max(0, start - max(spare // 2, spare - (len(text) - end)))
    last = min(len(text), end + spare - (start - first))
    before, said, after = (_lines(part) for part in (text[first:start], text[start:end], text[end:last]))
    left, right = "…" if first else "", "…" if last < len(text) else ""
    return Excerpt(before=left + before, said=said, after=after + right, whole=not (left or right))


_GAP: Final = re.compile(r"\n\s*\n\s*")


def _lines(text: str) -> str:
    """Several lines, each safe to show; blank ones in a row are one."""
    lines = re.split(r"\r\n|[\n\r\v\f\x85\u2028\u2029]", text)
    return _GAP.sub("\n\n", "\n".join(defang(low(UNPRINTABLE.sub("", line.replace("\t", " ")))) for line in lines))


# The inbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Old:
    """A stored memory that a claim contradicts."""

    id: str
    status: str
    words: str
    runs: tuple[Run, ...]
    sender: Sender
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A claim that waits for the user.

    :param old: what it contradicts, first of all; ``also`` the rest.
    :param replaces: what accepting it would supersede, by id and in words.
    :param unseen: the difference lies beyond what is shown.
    :param since: when its sender was first heard of, where it said anything else.
    """

    id: str
    status: str
    label: str
    runs: tuple[Run, ...]
    cut: bool
    unseen: bool
    sender: Sender
    lineage: tuple[Sender, ...]
    at: datetime
    since: datetime | None
    warnings: tuple[str, ...]
    why: str
    old: Old | None
    also: tuple[tuple[str, str], ...]
    replaces: tuple[tuple[str, str], ...]
    message: Excerpt

    @property
    def blockable(self) -> tuple[Sender, ...]:
        """Whom blocking would help against."""
        return blockable((self.sender, *self.lineage))


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Claims against the same memory, or held back for the same reason.

    :param key: the memory's id, or the rule's name.
    """

    key: str
    title: str
    against: bool
    claims: list[Held] = field(default_factory=list)


REASONS: Final[Mapping[str, str]] = {
    "lookalike": "Looks like somebody you know",
    "flood": "Many senders say the same",
    "high-stakes-from-another-address": "Much at stake, from another address than before",
    "unverified-high-stakes": "Much at stake, and the sender is not verified",
    "repeats-what-is-held-back": "Repeats what is held back",
    "sibling-held-back": "In one message with something that is held back",
    "nobody-vouches-for-it": "Nobody vouches for it",
}
"""Headings of claims that contradict nothing, the most telling reason first."""


def held_claim(
    memory: Memory,
    claim: Claim,
    *,
    rivals: Sequence[Memory],
    replaces: Sequence[Memory],
    resembled: Sequence[Source],
    since: datetime | None,
    rules: Sequence[str],
    policy: Policy,
    text: str,
) -> Held:
    """The view of a held-back claim.

    :param rivals: what it contradicts; ``replaces`` is what accepting it would supersede.
    :param resembled: whom its senders may be taken for.
    :param text: of the message that it came from.
    """
    first = next((rival for rival in rivals if rival.status is Status.ACTIVE), rivals[0] if rivals else None)
    words = words_of(memory.text)
    runs: tuple[Run, ...] = (Run(words, differs=False),)
    old, unseen = None, False
    if first is not None:
        theirs = words_of(first.text)
        before, runs = differences(theirs, words)
        unseen = max(len(first.text), len(memory.text)) > LONGEST_CLAIM and not any(run.differs for run in runs)
        old = Old(
            id=first.id,
            status=first.status.value,
            words=sentence(first.text),
            runs=before,
            sender=Sender.of(first.source),
            at=first.observed_at,
        )
    return Held(
        id=memory.id,
        status=memory.status.value,
        label=sentence(memory.text),
        runs=runs,
        cut=len(one_line(memory.text)) > LONGEST_CLAIM,
        unseen=unseen,
        sender=Sender.of(memory.source),
        lineage=tuple(Sender.of(source) for source in memory.lineage),
        at=memory.observed_at,
        since=since,
        warnings=resemblance(claim, resembled),
        why=in_words(rules, policy),
        old=old,
        also=tuple((rival.id, sentence(rival.text)) for rival in rivals if rival is not first)[:RIVALS],
        replaces=tuple((one.id, sentence(one.text)) for one in replaces),
        message=excerpt(text, claim.span),
    )


def groups(claims: Iterable[tuple[Held, Sequence[str]]]) -> list[Group]:
    """Claims by what they contradict, then those that contradict nothing by the rule that held them back.

    :param claims: each with the names of its determining rules; the order within a group is kept.
    """
    found: dict[str, Group] = {}
    for claim, rules in claims:
        if claim.old is not None:
            key, title = claim.old.id, claim.old.words
        else:
            key = next((rule for rule in REASONS if rule in rules), "")
            title = REASONS.get(key, "Held back for another reason")
        found.setdefault(key, Group(key=key, title=title, against=claim.old is not None)).claims.append(claim)
    return sorted(found.values(), key=lambda group: not group.against)


def held_by(history: Sequence[Event]) -> tuple[str, ...]:
    """The rules that hold a claim back: those of its birth, or of what held it back since."""
    changes = [change for event in history for change in event.changes]
    return next((change.rules for change in changes if change.after in HELD_BACK and change.rules), ())


# Histories


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One status change: of which memory, from what to what, and why."""

    id: str
    before: str
    after: str
    why: str
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """An act. ``undoable`` where the user did it, and it still counts."""

    seq: int
    at: datetime
    title: str
    changes: tuple[Moved, ...]
    more: int
    undoable: bool
    undone: bool


_ACTS: Final = {Act.REMEMBER: "Remembered", Act.FORGET: "Erased"}
UNDOABLE: Final = frozenset({Act.RESOLVE, Act.REVOKE, Act.UNDO})


def title_of(event: Event, *, names: bool = True) -> str:
    """What was done, in words.

    :param names: whether senders are named (an auditor sees none).
    """
    if event.act is Act.RESOLVE:
        return "Accepted" if event.note.get("accept") == "true" else "Rejected"
    if event.act is Act.REVOKE:
        return f"Blocked {name_of(Source.parse(event.note['source']))}" if names else "Blocked a sender"
    if event.act is Act.UNDO:
        return f"Undid act {event.note.get('act', '')}"
    return _ACTS[event.act]


def done(
    event: Event, policy: Policy, *, undone: frozenset[int] = frozenset(), names: bool = True, most: int = 5
) -> Done:
    """The view of an act.

    :param undone: numbers of the acts that were undone.
    :param most: how many of its changes are told; ``more`` counts the rest.
    """
    told = [change for change in event.changes if change.after in SHOWN]
    return Done(
        seq=event.seq,
        at=event.at,
        title=title_of(event, names=names),
        changes=tuple(
            Moved(
                id=change.belief,
                before=change.before.value if change.before else "",
                after=change.after.value,
                why=in_words(change.rules, policy),
                by=change.by,
            )
            for change in told[:most]
        ),
        more=max(0, len(told) - most),
        undoable=event.act in UNDOABLE and event.seq not in undone,
        undone=event.seq in undone,
    )


def undone_acts(undos: Sequence[tuple[int, int]]) -> frozenset[int]:
    """Which acts do not count any more.

    :param undos: number of an undo, and of the act that it undid, oldest first; an undo may itself be undone.
    """
    gone: set[int] = set()
    for seq, target in reversed(undos):
        if seq not in gone:
            gone.add(target)
    return frozenset(gone)


def outcomes(event: Event) -> Counter[str]:
    """What became of the claims of a message."""
    superseders = {by for change in event.changes if change.cause is Cause.SUPERSEDE for by in change.by}
    found: Counter[str] = Counter()
    if event.act is Act.REMEMBER:
        for change in event.changes:
            if change.before is None and change.after in SHOWN:
                replaced = change.cause is Cause.ADMIT and change.belief in superseders
                found[Outcome.REPLACED if replaced else _BORN[change.cause]] += 1
    return found


_BORN: Final = {
    Cause.ADMIT: Outcome.ADMITTED,
    Cause.CONTEST: Outcome.CONTESTED,
    Cause.QUARANTINE: Outcome.QUARANTINED,
    Cause.REJECT: Outcome.REJECTED,
}

# The chart

OUTCOMES: Final = (
    Outcome.ADMITTED,
    Outcome.REPLACED,
    Outcome.CONTESTED,
    Outcome.QUARANTINED,
    Outcome.REJECTED,
)
WIDTH: Final = 640
HEIGHT: Final = 150
_LEFT, _BELOW, _ABOVE = 36, 20, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A part of a day's bar, in the units of the view box."""

    outcome: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Decisions a day, as a drawing and as a table; ``rows`` leaves out days on which nothing was decided."""

    bars: tuple[Bar, ...]
    lines: tuple[tuple[float, int], ...]
    days: tuple[tuple[float, date], ...]
    rows: tuple[tuple[date, tuple[int, ...]], ...]
    totals: tuple[int, ...]

    @property
    def says(self) -> str:
        """The drawing in a sentence."""
        told = ", ".join(
            f"{number:,} {outcome}" for outcome, number in zip(OUTCOMES, self.totals, strict=True) if number
        )
        return f"Decisions in {DAYS} days: {told or 'none'}."


def chart(days: Mapping[date, Mapping[str, int]], last: date) -> Chart:
    """The chart of the ``DAYS`` up to and with ``last``.

    :param days: for each day, how often a claim met each outcome.
    """
    shown = [last - timedelta(days=DAYS - 1 - number) for number in range(DAYS)]
    counts = [tuple(days.get(day, {}).get(outcome, 0) for outcome in OUTCOMES) for day in shown]
    top = _round_up(max(map(sum, counts)))
    step, floor = (WIDTH - _LEFT) / DAYS, HEIGHT - _BELOW
    scale = (floor - _ABOVE) / top
    bars = []
    for number, numbers in enumerate(counts):
        y = float(floor)
        for outcome, count in zip(OUTCOMES, numbers, strict=True):
            if count:
                height = count * scale
                y -= height
                x = _LEFT + number * step + 1
                bars.append(
                    Bar(
                        outcome=outcome.value,
                        x=round(x, 1),
                        y=round(y, 1),
                        width=round(step - 2, 1),
                        height=round(height, 1),
                    )
                )
    return Chart(
        bars=tuple(bars),
        lines=tuple((round(floor - value * scale, 1), value) for value in sorted({0, top // 2, top})),
        days=tuple((round(_LEFT + number * step, 1), shown[number]) for number in range(0, DAYS, 10)),
        rows=tuple((day, numbers) for day, numbers in zip(shown, counts, strict=True) if any(numbers))[::-1],
        totals=tuple(map(sum, zip(*counts, strict=True))),
    )


def _round_up(most: int) -> int:
    """The next 2, 5 or 10 times a power of ten, so that the scale reads easily."""
    power = 1
    while True:
        for factor in (2, 5, 10):
            if most <= factor * power:
                return factor * power
        power *= 10
