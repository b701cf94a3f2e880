"""Histories side by side, in the telling: how beliefs stand in each, and what was kept to tell them from.

A world has a store of its own, which settlement reads as it reads the real one, and a judge that remembers. No pair is
judged twice: where the judge had seen something its answer was kept, and a pair that the history *told* as it was
compares, and of which nothing was kept, was found compatible. Only what was never compared is asked of the judge now.

What was forgotten has no words left. It takes part by the answers that were kept, and where it was never compared it
counts as *unknown*, which is the careful side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from thymus.circumstances import Registries
from thymus.core.beliefs import LIVE, Act, Belief, Cause, Change, Edge, Revision, Status, birth
from thymus.core.decide import contradicted
from thymus.core.relations import REPEATS, STATED, Label, Relation
from thymus.core.replay import Omission, Outcome, outcome, superseded
from thymus.intake import Draft, Parts
from thymus.ports import Entry, Neighbour, Probe, Statement, Vector
from thymus.settlement import Ruling, answers, rule
from thymus.stores.scratch import ScratchStore

if TYPE_CHECKING:
    from datetime import datetime

    from thymus.core.claims import Claim, Kind, Scope
    from thymus.core.policy import Policy
    from thymus.ports import Judge

Pair: TypeAlias = tuple[str, str]
"""Ids of a claim and of a belief that it was compared with."""

_COMPATIBLE: Final = Relation(label=Label.COMPATIBLE, confidence=1.0)
_FORGOTTEN: Final = Relation.unknown("one of the two was forgotten before they were compared")


def brought(entry: Entry) -> list[str]:
    """Ids of the beliefs that an act brought."""
    return [change.belief for change in entry.changes if change.before is None]


@dataclass(slots=True, kw_only=True)
class Kept:
    """What was kept of the history, for all worlds.

    :param answers: of the judge, for each pair in which something was detected; ``fresh`` are those given just now.
    :param pairs: the pairs that a belief is part of.
    :param passed: pairs of the act being told that *told* compares, and of which nothing was kept.
    :param speaking: id of each claim of that act, by its text.
    :param replaced: what a belief superseded.
    """

    judge: Judge
    answers: dict[Pair, Relation] = field(default_factory=dict)
    fresh: dict[Pair, Relation] = field(default_factory=dict)
    pairs: dict[str, list[Pair]] = field(default_factory=dict)
    passed: set[Pair] = field(default_factory=set)
    speaking: dict[str, str] = field(default_factory=dict)
    replaced: dict[str, list[str]] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    vectors: dict[str, Vector] = field(default_factory=dict)

    def remind(self, beliefs: Sequence[Belief], vectors: dict[str, Vector], edges: Sequence[Edge]) -> None:
        """Take in what is kept of these beliefs."""
        self.vectors = vectors
        self.forgotten |= {belief.id for belief in beliefs if belief.erased or belief.id not in vectors}
        for edge in edges:
            self.keep((edge.claim, edge.rival), edge.relation)

    def keep(self, pair: Pair, relation: Relation) -> None:
        """Remember an answer."""
        if pair not in self.answers:
            for id_ in pair:
                self.pairs.setdefault(id_, []).append(pair)
        self.answers[pair] = relation

    def learn(self, pair: Pair, relation: Relation) -> None:
        """Remember an answer that was not kept so far, where it tells anything."""
        if pair not in self.answers and (relation.detected or relation.label is Label.SAME):
            self.keep(pair, relation)
            self.fresh[pair] = relation

    def stated(self, beliefs: Sequence[Belief]) -> list[str]:
        """Ids of the beliefs whose place the application said that these are to take."""
        pairs = (pair for belief in beliefs for pair in self.pairs.get(belief.id, ()) if pair[0] == belief.id)
        return [rival for claim, rival in dict.fromkeys(pairs) if self.answers[claim, rival] == STATED]

    def note(self, entry: Entry) -> None:
        """Remember what an act superseded."""
        for change in entry.changes:
            if change.cause is Cause.SUPERSEDE:
                for by in change.by:
                    self.replaced.setdefault(by, []).append(change.belief)

    def begin(self) -> None:
        """Before an act is told."""
        self.passed.clear()
        self.speaking.clear()

    def draft(self, belief: Belief, dim: int) -> Draft:
        """A belief as a claim that is about to be told; where its words are gone, under its id."""
        claim, vector = belief.claim, self.vectors.get(belief.id)
        if belief.id in self.forgotten:
            claim, vector = replace(claim, text=f"forgotten {belief.id}"), np.zeros(dim, dtype=np.float32)
        if vector is None:
            raise LookupError(belief.id)
        self.speaking[claim.text] = belief.id
        return Draft(claim=claim, vector=vector)


@dataclass(slots=True, kw_only=True)
class World:
    """A history in the telling: how beliefs stand so far, and a store to find them in.

    :param omission: what is left out; ``None`` in *told*.
    """

    parts: Parts
    policy: Policy
    scope: Scope
    kept: Kept
    store: Stage
    omission: Omission | None = None
    left_out: set[str] = field(default_factory=set)
    statuses: dict[str, Status] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store.world = self
        self.parts = replace(self.parts, store=self.store, judge=_Recollection(self), registries=Registries())

    def copy(self, omission: Omission, left_out: set[str]) -> World:
        """A world that goes on from here, leaving something out."""
        return replace(
            self,
            store=self.store.copy(),
            omission=omission,
            left_out=left_out,
            statuses=dict(self.statuses),
        )

    def live(self, belief_id: str) -> bool:
        """Whether a belief is live here."""
        return self.statuses.get(belief_id) in LIVE

    def rule(self, beliefs: Sequence[Belief]) -> dict[str, Outcome]:
        """What today's code makes here of a message with these claims."""
        drafts = [self.kept.draft(belief, self.store.dim) for belief in beliefs]
        rulings, _ = rule(self.parts, self.policy, self.scope, drafts, over=self.kept.stated(beliefs))
        return {belief.id: self._outcome(belief, ruling) for belief, ruling in zip(beliefs, rulings, strict=True)}

    def _outcome(self, belief: Belief, ruling: Ruling) -> Outcome:
        if ruling.echo:
            self.kept.learn((belief.id, ruling.echo.id), REPEATS)
        return Outcome(
            status=ruling.status,
            supersedes=frozenset(ruling.decision.supersedes),
            repeats=ruling.echo.id if ruling.echo else None,
        )

    def remember(self, entry: Entry, outcomes: dict[str, Outcome], beliefs: dict[str, Belief]) -> None:
        """Let a message come to this."""
        told = [replace(beliefs[id_], status=found.status, seq=0, erased=False) for id_, found in outcomes.items()]
        changes = [birth(belief.id, belief.status) for belief in told]
        superseded = {id_: Status.SUPERSEDED for found in outcomes.values() for id_ in found.supersedes}
        self.store.commit(self._revision(entry, [*changes, *self._moves(superseded)], told))
        self.statuses |= {belief.id: belief.status for belief in told} | superseded
        self.erase(self.kept.forgotten & outcomes.keys(), entry.at)

    def recorded(self, entry: Entry, beliefs: dict[str, Belief]) -> Revision:
        """An act to the letter; from here on it counts as done."""
        self.kept.note(entry)
        self.statuses |= {change.belief: change.after for change in entry.changes}
        told = [replace(beliefs[id_], status=self.statuses[id_], seq=0, erased=False) for id_ in brought(entry)]
        return self._revision(entry, entry.changes, told)

    def resolve(self, entry: Entry, then: frozenset[str]) -> None:
        """Settle a claim as the user settled it."""
        settled = entry.note["memory"]
        gone = self.statuses.get(settled, Status.RETRACTED) is Status.RETRACTED
        if gone or (self.omission and entry.seq in self.omission.undone):
            return
        if entry.note["accept"] != "true":
            self._move(entry, {settled: Status.REJECTED})
            return
        found = outcome(
            Outcome(status=Status.ACTIVE, supersedes=superseded(settled, entry.changes)),
            then=Outcome(status=Status.ACTIVE, supersedes=then),
            now=Outcome(status=Status.ACTIVE, supersedes=self.contradicted(entry)),
            live=self.live,
        )
        self._move(entry, {settled: Status.ACTIVE} | dict.fromkeys(found.supersedes, Status.SUPERSEDED))

    def contradicted(self, entry: Entry) -> frozenset[str]:
        """What accepting a claim as the user accepted it supersedes here: what the user named, or else the judge."""
        settled, named = entry.note["memory"], entry.note.get("over", "").split()
        if named:
            return frozenset(id_ for id_ in named if id_ != settled and self.statuses.get(id_) is Status.ACTIVE)
        edges = [
            Edge(claim=claim, rival=rival, relation=self.kept.answers[claim, rival])
            for claim, rival in self.kept.pairs.get(settled, ())
        ]
        return frozenset(contradicted(settled, edges, self.statuses.get))

    def forget(self, entry: Entry) -> None:
        """Take away what was erased."""
        self._move(
            entry, {change.belief: Status.RETRACTED for change in entry.changes if change.belief in self.statuses}
        )

    def _move(self, entry: Entry, becomes: dict[str, Status]) -> None:
        changes = self._moves(becomes)
        if changes:
            self.store.commit(self._revision(entry, changes))
        self.statuses |= becomes

    def _moves(self, becomes: dict[str, Status]) -> list[Change]:
        return [
            Change(
                belief=id_,
                before=self.statuses[id_],
                cause=Cause.RETRACT if after is Status.RETRACTED else Cause.REPLAY,
                after=after,
            )
            for id_, after in becomes.items()
            if self.statuses[id_] is not after
        ]

    def _revision(self, entry: Entry, changes: Iterable[Change], beliefs: Sequence[Belief] = ()) -> Revision:
        nothing = np.zeros(self.store.dim, dtype=np.float32)
        return Revision(
            scope=self.scope,
            act=entry.act,
            at=entry.at,
            beliefs=tuple(beliefs),
            changes=tuple(changes),
            vectors={belief.id: self.kept.vectors.get(belief.id, nothing) for belief in beliefs},
        )

    def erase(self, ids: Iterable[str], at: datetime) -> None:
        """Let these be found by nothing but the answers that were kept."""
        gone = tuple(ids)
        if gone:
            self.store.commit(Revision(scope=self.scope, act=Act.FORGET, at=at, erase=gone))

    def unfindable(self, claim: str) -> list[str]:
        """The live beliefs that bear on a claim and cannot be found by words: one of the two has none left.

        Those it was compared with; and where one of these does not stand here, what that one had superseded.
        """
        found: dict[str, None] = {}
        waiting = [pair[1] for pair in self.kept.pairs.get(claim, ()) if pair[0] == claim]
        seen = set(waiting)
        while waiting:
            rival = waiting.pop()
            if self.live(rival):
                if self.kept.forgotten & {claim, rival}:
                    found[rival] = None
                continue
            older = [id_ for id_ in self.kept.replaced.get(rival, ()) if id_ not in seen]
            seen.update(older)
            waiting += older
        return sorted(found)


class Stage(ScratchStore):
    """The store of a world: it finds what has words left by them, and the rest by the answers that were kept."""

    world: World

    def rivals(self, scope: Scope, probes: Sequence[Probe], k: int) -> tuple[list[list[Neighbour]], int]:
        """See ``Store.rivals``."""
        found, version = super().rivals(scope, probes, k)
        return [self._complete(scope, probe, near) for probe, near in zip(probes, found, strict=True)], version

    def _complete(self, scope: Scope, probe: Probe, near: list[Neighbour]) -> list[Neighbour]:
        kept = self.world.kept
        claim = kept.speaking[probe.text]
        nothing = np.zeros(self.dim, dtype=np.float32)
        rest = self.get(scope, self.world.unfindable(claim)).values()
        return [
            *([] if claim in kept.forgotten else near),
            *(Neighbour(belief=belief, similarity=0.0, score=0.0, vector=nothing) for belief in rest),
        ]


@dataclass(frozen=True, slots=True)
class _Recollection:
    """The judge of a world: it answers as the judge did, and asks it only about what was never compared."""

    world: World

    @property
    def name(self) -> str:
        """The name of the judge that it asks."""
        return self.world.kept.judge.name

    def relate(self, pairs: Sequence[tuple[str | Claim | Statement, str | Claim | Statement]]) -> list[Relation]:
        """See ``Judge.relate``."""
        kept = self.world.kept
        asked = [(self._pair(stored, incoming), (stored, incoming)) for stored, incoming in pairs]
        given: dict[Pair, Relation] = {}
        open_: dict[Pair, tuple[Statement, Statement]] = {}
        for pair, (stored, incoming) in asked:
            if pair in kept.answers:
                given[pair] = kept.answers[pair]
            elif self.world.omission is None:
                kept.passed.add(pair)
                given[pair] = _COMPATIBLE
            elif pair in kept.passed:
                given[pair] = _COMPATIBLE
            elif kept.forgotten.intersection(pair):
                given[pair] = _FORGOTTEN
            else:
                open_[pair] = Statement.of(stored), Statement.of(incoming)
        given |= zip(open_, answers(kept.judge, list(open_.values())), strict=True)
        for pair, relation in given.items():
            kept.learn(pair, relation)
        return [given[pair] for pair, _ in asked]

    def _pair(self, stored: str | Claim | Statement, incoming: str | Claim | Statement) -> Pair:
        return self.world.kept.speaking[Statement.of(incoming).text], Statement.of(stored).id

    def classify(self, statements: Sequence[str | Claim | Statement]) -> list[Kind]:
        """See ``Judge.classify``; no claim is classified again when a history is told."""
        return self.world.kept.judge.classify(statements)
