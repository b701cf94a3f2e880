"""Beliefs as a fold over the ledger: what would stand if some of it had never been told.

``revoke(S)`` leaves the beliefs of a history in which S never spoke (G7), and undoing an act leaves those of a history
in which it was not done (G6). Both are one fold over the recorded acts, told once as they were and once without.
Where nothing that a claim was decided on differs, the recorded outcome stands, even if the gate has changed since;
where something differs, the claim is decided again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from thymus.core.beliefs import LIVE, Act, Belief, Cause, Change, Edge, Status, born
from thymus.core.decide import contradicted, decide
from thymus.core.policy import Policy, Rival
from thymus.core.relations import Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from thymus.core.claims import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """A recorded act: what it changed and, for a remembering, the beliefs that it brought and their judged pairs."""

    seq: int
    at: datetime
    act: Act
    changes: tuple[Change, ...] = ()
    beliefs: tuple[Belief, ...] = ()
    edges: tuple[Edge, ...] = ()
    note: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocation:
    """Disregard a source: whatever it said, or had a part in, since a time (``None``: ever).

    :param source: the key of the source, ``channel:identity``.
    :param before: ``seq`` of the act that revoked; what the source says afterwards is not covered. ``None``: now.
    """

    source: str
    since: datetime | None = None
    before: int | None = None

    def covers(self, claim: Claim, told_at: datetime, seq: int = 0) -> bool:
        """Whether a claim that was told then, in the act ``seq``, falls to this revocation.

        Both times count, the claim's own and when it was told: a sender chooses the date of a message, and could choose
        an early one to escape.
        """
        return (
            any(source.key == self.source for source in claim.speakers)
            and (self.since is None or max(claim.observed_at, told_at) >= self.since)
            and (self.before is None or seq < self.before)
        )


def revocations(tellings: Iterable[Telling], undone: frozenset[int]) -> tuple[Revocation, ...]:
    """The revocations among the acts that were not undone."""
    return tuple(
        Revocation(
            source=telling.note["source"],
            since=datetime.fromisoformat(telling.note["since"]) if telling.note.get("since") else None,
            before=telling.seq,
        )
        for telling in tellings
        if telling.act is Act.REVOKE and telling.seq not in undone
    )


def undone_by(tellings: Sequence[Telling]) -> frozenset[int]:
    """``seq`` of the acts that stand undone; an undoing that was itself undone does not count."""
    undone: set[int] = set()
    for telling in reversed(tellings):
        if telling.act is Act.UNDO and telling.seq not in undone:
            undone.add(int(telling.note["act"]))
    return frozenset(undone)


Relate: TypeAlias = Callable[[Belief, Belief], Relation]


def never_compared(stored: Belief, incoming: Belief) -> Relation:  # noqa: ARG001  (the shape of Relate)
    """The answer about a pair that no judge was asked about."""
    return Relation.unknown("never compared")


def replay(
    policy: Policy,
    tellings: Sequence[Telling],
    *,
    revoked: Sequence[Revocation] = (),
    undone: frozenset[int] = frozenset(),
    relate: Relate = never_compared,
) -> tuple[Change, ...]:
    """The status changes that lead from the history as recorded to the one without what is revoked or undone.

    :param undone: ``seq`` of the acts to leave out.
    :param relate: judges a (stored, incoming) pair that was never compared, because what is left out had superseded the
        stored one. By default such a pair is unknown: the careful side.
    """
    world = _World(policy=policy, revoked=tuple(revoked), relate=relate)
    for telling in tellings:
        if telling.act is Act.REMEMBER:
            world.remember(telling, skipped=telling.seq in undone)
        elif telling.act is Act.RESOLVE and telling.seq not in undone:
            world.resolve(telling)
        elif telling.act is Act.FORGET:
            world.forget(telling)
        for change in telling.changes:
            world.told[change.belief] = change.after
            if change.cause is Cause.SUPERSEDE:
                for by in change.by:
                    world.replaced.setdefault(by, []).append(change.belief)
    return world.difference()


@dataclass(slots=True, kw_only=True)
class _World:
    """Two histories side by side: ``told`` as recorded, ``alt`` without what is left out."""

    policy: Policy
    revoked: tuple[Revocation, ...]
    relate: Relate
    beliefs: dict[str, Belief] = field(default_factory=dict)
    edges: dict[str, list[Edge]] = field(default_factory=dict)
    told: dict[str, Status] = field(default_factory=dict)
    alt: dict[str, Status] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)
    replaced: dict[str, list[str]] = field(default_factory=dict)
    """By the belief that superseded them in the history as told."""

    def remember(self, telling: Telling, *, skipped: bool) -> None:
        for edge in telling.edges:
            self.edges.setdefault(edge.claim, []).append(edge)
        for belief in telling.beliefs:
            self.beliefs[belief.id] = belief
            if skipped or any(revocation.covers(belief.claim, telling.at, telling.seq) for revocation in self.revoked):
                self.alt[belief.id] = Status.RETRACTED
            elif any(self._differs(edge.rival) for edge in self.edges.get(belief.id, ())):
                self._decide_again(belief)
            else:
                self._repeat(belief, telling.changes)

    def _differs(self, belief_id: str) -> bool:
        return self.told.get(belief_id) is not self.alt.get(belief_id)

    def _decide_again(self, belief: Belief) -> None:
        rivals = [
            Rival(belief=replace(self.beliefs[edge.rival], status=self.alt[edge.rival]), relation=edge.relation)
            for edge in self.edges.get(belief.id, ())
            if self.alt.get(edge.rival) in LIVE
        ]
        compared = {edge.rival for edge in self.edges.get(belief.id, ())}
        rivals += [
            Rival(belief=stored, relation=self.relate(stored, belief))
            for stored in self._uncovered(compared)
            if stored.id not in compared
        ]
        decision = decide(self.policy, belief.claim, rivals)
        self.alt[belief.id] = born(decision.effect.cause)
        for superseded in decision.supersedes:
            self.alt[superseded] = Status.SUPERSEDED

    def _uncovered(self, gone: Iterable[str]) -> list[Belief]:
        """What stands again because these rivals, or what replaced it in their name, are not there."""
        found: dict[str, Belief] = {}
        waiting = [id_ for id_ in gone if self.alt.get(id_) not in LIVE]
        while waiting:
            for id_ in self.replaced.get(waiting.pop(), ()):
                if id_ in found:
                    continue
                if self.alt.get(id_) in LIVE:
                    found[id_] = replace(self.beliefs[id_], status=self.alt[id_])
                else:
                    waiting.append(id_)
        return [found[id_] for id_ in sorted(found)]

    def _repeat(self, belief: Belief, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.belief == belief.id:
                self.alt[belief.id] = change.after
            elif change.cause is Cause.SUPERSEDE and belief.id in change.by and self.alt.get(change.belief) in LIVE:
                self.alt[change.belief] = change.after

    def resolve(self, telling: Telling) -> None:
        settled = telling.note["memory"]
        if self.alt.get(settled, Status.RETRACTED) is Status.RETRACTED:
            return
        if telling.note["accept"] != "true":
            self.alt[settled] = Status.REJECTED
            return
        self.alt[settled] = Status.ACTIVE
        recorded = {change.belief for change in telling.changes if change.cause is Cause.SUPERSEDE}
        edges = [edge for told in self.edges.values() for edge in told if settled in (edge.claim, edge.rival)]
        for id_ in recorded | set(contradicted(settled, edges, self.alt.get)):
            if self.alt.get(id_) in LIVE:
                self.alt[id_] = Status.SUPERSEDED

    def forget(self, telling: Telling) -> None:
        for change in telling.changes:
            self.alt[change.belief] = Status.RETRACTED
            self.erased.add(change.belief)

    def difference(self) -> tuple[Change, ...]:
        return tuple(
            Change(
                belief=id_,
                before=self.told[id_],
                cause=Cause.RETRACT if self.alt[id_] is Status.RETRACTED else Cause.REPLAY,
                after=self.alt[id_],
            )
            for id_ in self.beliefs
            if id_ not in self.erased and self._differs(id_)
        )
