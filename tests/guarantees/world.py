"""A toy world in which everything but the guard is known: topics, values, actors, and a judge that follows a script.

A statement is ``<topic> is <value>``. Two statements of one topic contradict where their values differ, say the same
where they do not, and are compatible otherwise. ``i like <topic> <value>`` is a preference and ``always answer <topic>
<value>`` an instruction, with the same topics and values.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias, TypeVar

from hypothesis import strategies as st

from thymus import Memory, MemoryGuard, Policy, Written
from thymus.core.beliefs import Status
from thymus.core.claims import Claim, Kind
from thymus.core.gates import DEFAULT_GATE
from thymus.core.provenance import Source
from thymus.core.relations import CONFIRMED, DETECTED, Label, Relation
from thymus.embed import HashEmbedder
from thymus.errors import JudgeError
from thymus.ports import Passage, Statement, Store
from thymus.stores.memory import MemoryStore

TOPICS: Final = ("rent", "gate", "gym")
VALUES: Final = ("5", "7", "9")
_STATEMENT = re.compile(r"\b(?:(i like|always answer) (\w+) (\w+)|(\w+) is (\w+))\b", re.IGNORECASE)

Said: TypeAlias = str | Claim | Statement
T = TypeVar("T")
_UNSURE: Final = (DETECTED + CONFIRMED) / 2


def read(statement: Said) -> tuple[Kind, str, str] | None:
    """Kind, topic and value of the first statement in it, or ``None`` where there is none."""
    text = statement if isinstance(statement, str) else statement.text
    match = _STATEMENT.search(text)
    if match is None:
        return None
    kind = {None: Kind.FACT, "i like": Kind.PREFERENCE, "always answer": Kind.INSTRUCTION}[
        match[1] and match[1].lower()
    ]
    return kind, (match[2] or match[4]).lower(), (match[3] or match[5]).lower()


@dataclass(frozen=True)
class ScriptedJudge:
    """Answers by the script; the same pair always gets the same answer.

    :param moods: what it does with a pair, chosen by the pair's words: ``sure``, ``unsure`` (a contradiction is
        detected, not confirmed), ``blind`` (it misses contradictions), ``unknown``, ``jumpy`` (all is a contradiction).
    :param broken: it fails every time.
    """

    moods: tuple[str, ...] = ("sure",)
    broken: bool = False
    name: str = "scripted"

    def relate(self, pairs: Sequence[tuple[Said, Said]]) -> list[Relation]:
        if self.broken:
            raise JudgeError("this judge fails on purpose")
        return [self._relate(read(stored), read(incoming)) for stored, incoming in pairs]

    def _relate(self, stored: tuple[Kind, str, str] | None, incoming: tuple[Kind, str, str] | None) -> Relation:
        digest = hashlib.blake2b(repr((stored, incoming)).encode(), digest_size=2).digest()
        mood = self.moods[digest[0] % len(self.moods)]
        if mood == "unknown":
            return Relation.unknown("scripted", judge=self.name)
        if mood == "jumpy":
            return Relation(label=Label.CONTRADICTS, confidence=0.9, judge=self.name)
        if stored is None or incoming is None or stored[1] != incoming[1]:
            return Relation(label=Label.COMPATIBLE, confidence=0.95, judge=self.name)
        if stored[2] == incoming[2]:
            return Relation(label=Label.SAME, confidence=0.95, judge=self.name)
        if mood == "blind":
            return Relation(label=Label.COMPATIBLE, confidence=0.9, judge=self.name)
        return Relation(label=Label.CONTRADICTS, confidence=0.95 if mood == "sure" else _UNSURE, judge=self.name)

    def classify(self, statements: Sequence[Said]) -> list[Kind]:
        found = [read(statement) for statement in statements]
        return [Kind.NOT_A_CLAIM if it is None else it[0] for it in found]


class LineExtractor:
    """Every line is a passage, without its bullet."""

    def extract(self, text: str, *, source: Source) -> list[Passage]:
        return list(_lines(text))


def _lines(text: str) -> Iterator[Passage]:
    start = 0
    for line in text.split("\n"):
        said = line.strip().removeprefix("- ").strip()
        if said:
            at = start + line.index(said)
            yield Passage(text=said, span=(at, at + len(said)))
        start += len(line) + 1


@dataclass
class Ticking:
    """A clock that goes on by a minute each time it is looked at."""

    at: datetime = datetime(2026, 3, 2, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.at += timedelta(minutes=1)
        return self.at


EMBEDDER: Final = HashEmbedder()


def open_guard(
    *,
    gate: str | Policy = DEFAULT_GATE,
    judge: ScriptedJudge | None = None,
    store: Store | None = None,
) -> MemoryGuard:
    """A guard of the toy world, over an in-memory store unless told otherwise."""
    return MemoryGuard(
        gate=gate,
        judge=judge or ScriptedJudge(),
        extractor=LineExtractor(),
        embedder=EMBEDDER,
        store=store or MemoryStore(embedder=EMBEDDER.name, dim=EMBEDDER.dim),
        clock=Ticking(),
    )


USER: Final = Source.user()
COURIER: Final = Source.parse("email:courier@parcels.example", authenticated=True)
SPOOF: Final = Source.parse("email:courier@parcels.example")
LOOKALIKE: Final = Source.parse("email:courier@parce1s.example", authenticated=True)
RAVI: Final = Source.parse("user:ravi", authenticated=True)
RELAY: Final = Source.parse("tool:secretary", authenticated=True)
ASSISTANT: Final = Source.parse("assistant")
PRETENDER: Final = Source.parse("user", authenticated=False)


def flooder(number: int) -> Source:
    """One of many identities in one hand, each of them authenticated, at a domain of its own."""
    return Source.parse(f"email:x@{_WOODS[number % 8]}{_BIRDS[number // 8 % 16]}.example", authenticated=True)


_WOODS: Final = ("alder", "birch", "cherry", "drift", "ebony", "fruit", "ginkgo", "holly")
_BIRDS: Final = (
    *("bunting", "cuckoo", "dunnock", "eider", "falcon", "grouse", "heron", "ibis"),
    *("jackdaw", "kestrel", "linnet", "magpie", "nuthatch", "osprey", "pintail", "quail"),
)


ACTORS: Final = (USER, COURIER, SPOOF, LOOKALIKE, RAVI, RELAY, ASSISTANT, PRETENDER, flooder(1), flooder(2))
OUTSIDERS: Final = tuple(source for source in ACTORS if source is not USER)
REVOCABLE: Final = tuple(source for source in OUTSIDERS if source is not PRETENDER)


@dataclass(frozen=True, kw_only=True)
class Say:
    """A message. ``derived_from`` picks earlier memories by number, modulo how many there are."""

    text: str
    source: Source = USER
    derived_from: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Resolve:
    """The user settles the held-back claim of this number."""

    number: int
    accept: bool


@dataclass(frozen=True, kw_only=True)
class Forget:
    """The user has the memory of this number erased."""

    number: int


@dataclass(frozen=True, kw_only=True)
class Revoke:
    """The user revokes a source."""

    source: Source


@dataclass(frozen=True, kw_only=True)
class Undo:
    """The user undoes the act of this number."""

    number: int


Deed: TypeAlias = Say | Resolve | Forget | Revoke | Undo

topics = st.sampled_from(TOPICS)
values = st.sampled_from(VALUES)
facts = st.builds("{} is {}".format, topics, values)
statements = st.one_of(
    facts,
    facts,
    facts,
    st.builds("i like {} {}".format, topics, values),
    st.builds("always answer {} {}".format, topics, values),
)
messages = st.lists(statements, min_size=1, max_size=2).map("\n".join)
numbers = st.integers(0, 30)
_MOODS = st.sampled_from(["sure", "sure", "unsure", "blind", "unknown", "jumpy"])
judges = st.builds(
    ScriptedJudge,
    moods=st.one_of(st.just(("sure",)), st.lists(_MOODS, min_size=1, max_size=5).map(tuple)),
    broken=st.sampled_from([False] * 9 + [True]),
)


def says(
    sources: Sequence[Source] = ACTORS, texts: st.SearchStrategy[str] = messages, *, derived: bool = True
) -> st.SearchStrategy[Say]:
    """Messages of these actors, some of them derived from earlier memories."""
    lineage = st.one_of(st.just(()), st.just(()), st.tuples(numbers)) if derived else st.just(())
    return st.builds(Say, text=texts, source=st.sampled_from(sources), derived_from=lineage)


deeds: st.SearchStrategy[Deed] = st.one_of(
    says(),
    says(),
    says(),
    st.builds(Resolve, number=numbers, accept=st.booleans()),
    st.builds(Forget, number=numbers),
    st.builds(Revoke, source=st.sampled_from(REVOCABLE)),
    st.builds(Undo, number=numbers),
)
histories = st.one_of(st.lists(deeds, max_size=4), st.lists(deeds, min_size=5, max_size=14))


@dataclass
class World:
    """A guard and what was done to it."""

    guard: MemoryGuard
    acts: list[int] = field(default_factory=list)
    """Rows of the ledger that can be undone, in order."""

    def beliefs(self) -> list[Memory]:
        """Every memory there ever was, oldest first."""
        return self.guard.memories(status=None)[::-1]

    def statuses(self) -> dict[str, Status]:
        return {memory.id: memory.status for memory in self.beliefs()}

    def active(self) -> set[str]:
        """The wordings that stand."""
        return {memory.text for memory in self.guard.memories()}

    def do(self, deed: Deed) -> object:
        """Do it; ``None`` where there is nothing to do it to."""
        if isinstance(deed, Say):
            return self.say(deed)
        if isinstance(deed, Resolve):
            held = self.guard.inbox()
            return held and self.act(lambda: self.guard.resolve(pick(held, deed.number).id, deed.accept))
        if isinstance(deed, Forget):
            known = self.beliefs()
            return known and self.guard.forget(pick(known, deed.number).id)
        if isinstance(deed, Revoke):
            return self.act(lambda: self.guard.revoke(deed.source))
        return self.acts and self.act(lambda: self.guard.undo(pick(self.acts, deed.number)))

    def say(self, deed: Say) -> Written:
        known = self.beliefs()
        lineage = [pick(known, number) for number in deed.derived_from if known]
        return self.act(lambda: self.guard.remember(deed.text, source=deed.source, derived_from=lineage))

    def act(self, deed: Callable[[], T]) -> T:
        """Do it, and keep its row of the ledger where it changed anything."""
        before = self.version()
        done = deed()
        if self.version() > before:
            self.acts.append(self.version())
        return done

    def version(self) -> int:
        """How many rows the ledger has."""
        return self.guard._parts.store.version(self.guard._scope)

    def tell(self, history: Sequence[Deed]) -> None:
        for deed in history:
            self.do(deed)


def pick(found: Sequence[T], number: int) -> T:
    """One of several, by a number that may be too large."""
    return found[number % len(found)]
