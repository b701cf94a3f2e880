"""What the pages ask of one user's memory beyond the guard's own methods: page by page, and with little reading.

A guard lists; a page shows fifty. So this goes to the store beneath the guard, always in the guard's own scope.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from thymus import retrieval
from thymus.circumstances import circumstances
from thymus.core.beliefs import HELD_BACK, SHOWN, Act, Status
from thymus.core.claims import fold
from thymus.core.decide import contradicted
from thymus.core.disclose import Memory
from thymus.errors import InputError
from thymus.ports import Probe
from thymus.web import views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import date, datetime

    from thymus.core.beliefs import Belief
    from thymus.core.claims import Kind
    from thymus.core.provenance import Source
    from thymus.guard import MemoryGuard
    from thymus.ports import Voice
    from thymus.records import Event
    from thymus.sources.registry import Registry

LOOKED_AT: Final = 1_000
"""Memories that one request looks at for a filter which no index serves."""
FOUND: Final = 60
"""What a search gives at most."""
NEAR: Final = 6
"""Of those, how many may hold none of the words and be near in meaning only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Memories, newest first.

    :param before: where the next page goes on; ``None`` after the last one.
    """

    memories: list[Memory]
    beliefs: list[Belief]
    before: int | None = None


class Desk:
    """One user's memory, as the pages read it.

    :param guard: over that memory; every question is about its scope alone.
    """

    def __init__(self, guard: MemoryGuard) -> None:
        self.guard = guard
        self._parts, self._scope = guard._parts, guard._scope  # noqa: SLF001  (read here, so that no page has to)

    def now(self) -> datetime:
        """What time the guard says it is."""
        return self._parts.clock()

    def held(self, before: int, limit: int) -> Page:
        """Claims that wait for the user."""
        return self._page(HELD_BACK, before, limit, lambda _: True)

    def listed(self, statuses: frozenset[Status], *, kind: Kind | None, source: str, before: int, limit: int) -> Page:
        """Memories of these statuses, of a kind and of a source, where one is given."""

        def wanted(belief: Belief) -> bool:
            claim = belief.claim
            return (kind is None or claim.kind is kind) and (
                not source or any(source in speaker.key for speaker in claim.speakers)
            )

        return self._page(statuses, before, limit, wanted)

    def _page(self, statuses: frozenset[Status], before: int, limit: int, wanted: Callable[[Belief], bool]) -> Page:
        found: list[Belief] = []
        looked = 0
        while looked < LOOKED_AT:
            batch = self._parts.store.beliefs(
                self._scope, statuses=statuses, after=before, limit=limit + 1, newest_first=True
            )
            for belief in batch[:limit]:
                before = belief.seq
                if wanted(belief):
                    found.append(belief)
                    if len(found) == limit:
                        break
            more = len(batch) > limit or (bool(batch) and before != batch[-1].seq)
            if not more or len(found) == limit:
                return Page(memories=self.records(found), beliefs=found, before=before if more else None)
            looked += limit
        return Page(memories=self.records(found), beliefs=found, before=before)

    def search(self, words: str, statuses: frozenset[Status]) -> tuple[list[Memory], list[Memory]]:
        """What holds the words, and what only has to do with them, best first."""
        vector = self._parts.embedder.embed([words], role="query")[0]
        near = self._parts.store.search(self._scope, Probe(text=words, vector=vector), FOUND, statuses=statuses)
        asked = [fold(word).casefold() for word in words.split()]
        holding: list[Belief] = []
        other: list[Belief] = []
        for neighbour in near:
            text = neighbour.belief.claim.text.casefold()
            (holding if all(word in text for word in asked) else other).append(neighbour.belief)
        return self.records(holding), self.records(other[:NEAR])

    def records(self, beliefs: list[Belief]) -> list[Memory]:
        """As the guard shows them."""
        return retrieval.records(self._parts.store, self._scope, beliefs)

    def many(self, ids: Iterable[str]) -> dict[str, Memory]:
        """The memories of these ids that exist, without what they contradict."""
        found = self._parts.store.get(self._scope, list(dict.fromkeys(ids)))
        return {id_: Memory.of(belief) for id_, belief in found.items()}

    def belief(self, memory_id: str) -> Belief:
        """One memory as it is stored.

        :raises MemoryNotFoundError: where this user has none of that id.
        """
        return self.guard._belief(memory_id)  # noqa: SLF001

    def message(self, belief: Belief) -> str:
        """The text that a claim was taken from; "" once it was erased."""
        id_ = belief.claim.evidence_id
        evidence = self._parts.store.evidence(self._scope, [id_]).get(id_)
        return evidence.text if evidence is not None and not belief.erased else ""

    def resembled(self, belief: Belief) -> tuple[Source, ...]:
        """Whom its senders could be taken for, as things stand now."""
        return circumstances(belief.claim, self._registry()).resembles

    def resembling(self, source: Source) -> list[Source]:
        """The known sources that a source could be taken for."""
        return [voice.source for voice in self._registry().resembling(source)]

    def since(self, belief: Belief) -> datetime | None:
        """When the source of a claim was first heard of, if that was not with this claim."""
        voice = self._registry().known(belief.claim.source)
        return voice.since if voice is not None and voice.first != belief.seq else None

    def _registry(self) -> Registry:
        return self._parts.registries.of(self._parts.store, self._scope)

    def replaced_by(self, memory_id: str) -> list[str]:
        """What accepting a claim would supersede; nothing where it cannot be accepted."""
        try:
            event = self.guard.resolve(memory_id, accept=True, dry_run=True)
        except InputError:
            return []
        return [change.belief for change in event.changes if change.belief != memory_id]

    def inbox(self, before: int, limit: int) -> tuple[list[views.Group], int | None]:
        """Held-back claims in groups, and where the next page goes on."""
        page = self.held(before, limit)
        replaces, others = self._rivals(page.memories)
        told = []
        for memory, belief in zip(page.memories, page.beliefs, strict=True):
            rules = views.held_by(self.guard.history(memory.id))
            against = dict.fromkeys((*memory.contradicts, *replaces[memory.id]))
            held = views.held_claim(
                memory,
                belief.claim,
                rivals=[others[id_] for id_ in against if id_ in others],
                replaces=[others[id_] for id_ in replaces[memory.id]],
                resembled=self.resembled(belief),
                since=self.since(belief),
                rules=rules,
                policy=self.guard.policy,
                text=self.message(belief),
            )
            told.append((held, rules))
        return views.groups(told), page.before

    def _rivals(self, claims: list[Memory]) -> tuple[dict[str, tuple[str, ...]], dict[str, Memory]]:
        """What accepting each held-back claim would supersede, as ``resolve`` has it, and all of their rivals."""
        edges = self._parts.store.edges(self._scope, [claim.id for claim in claims])
        named = {id_ for edge in edges if edge.relation.detected for id_ in (edge.claim, edge.rival)}
        others = self.many(named)

        def standing(id_: str) -> Status | None:
            return others[id_].status if id_ in others else None

        own = {id_: [edge for edge in edges if id_ in (edge.claim, edge.rival)] for id_ in (one.id for one in claims)}
        return {id_: contradicted(id_, told, standing) for id_, told in own.items()}, others

    def act(self, seq: int) -> Event | None:
        """One act; ``None`` where there is none of that number."""
        found = self.guard.ledger(after=seq - 1, limit=1) if seq > 0 else []
        return found[0] if found and found[0].seq == seq else None

    def chronicle(self) -> Chronicle:
        """What the ledger comes to, as it stands now."""
        with _lock:
            kept = _chronicles.setdefault(self.guard, Chronicle())
        kept.keep_up(self)
        return kept

    def version(self) -> int:
        """The number of the latest act."""
        return self._parts.store.version(self._scope)

    def voices(self) -> list[Voice]:
        """Every source that said something itself."""
        return self._parts.store.sources(self._scope)


@dataclass(slots=True)
class Chronicle:
    """Sums over one scope's ledger, which grows only at its end: a page reads what is new in it.

    A cache: it can be lost at any time, and each worker has its own.
    """

    seen: int = 0
    days: dict[date, Counter[str]] = field(default_factory=dict)
    undos: list[tuple[int, int]] = field(default_factory=list)
    revocations: list[Event] = field(default_factory=list)
    voices: list[Voice] = field(default_factory=list)
    counts: Counter[Status] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def keep_up(self, desk: Desk) -> None:
        """Read what came since."""
        with self.lock:
            version = desk.version()
            if version < self.seen:  # a restored backup
                self.seen = 0
                self.days, self.undos, self.revocations = {}, [], []
            if version == self.seen:
                return
            for event in desk.guard.ledger(after=self.seen):
                self._take(event)
                self.seen = event.seq
            self.voices = desk.voices()
            self.counts = Counter()
            for voice in self.voices:
                self.counts.update({status: n for status, n in voice.counts.items() if status in SHOWN})

    def _take(self, event: Event) -> None:
        if event.act is Act.REMEMBER:
            self.days.setdefault(event.at.date(), Counter()).update(views.outcomes(event))
        elif event.act is Act.UNDO:
            self.undos.append((event.seq, int(event.note["act"])))
        elif event.act is Act.REVOKE:
            self.revocations.append(event)

    @property
    def undone(self) -> frozenset[int]:
        """The acts that do not count any more."""
        return views.undone_acts(tuple(self.undos))

    @property
    def blocked(self) -> list[Event]:
        """The revocations that hold, newest first."""
        undone = self.undone
        return [event for event in reversed(self.revocations) if event.seq not in undone]

    @property
    def waiting(self) -> int:
        """How many claims are held back."""
        return sum(self.counts[status] for status in HELD_BACK)


_lock: Final = threading.Lock()
_chronicles: Final[WeakKeyDictionary[MemoryGuard, Chronicle]] = WeakKeyDictionary()
