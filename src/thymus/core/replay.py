"""What a history is told without, and what that makes of each claim in it.

``revoke(S)`` leaves the beliefs of a history in which S never spoke (G7), and undoing an act leaves those of a history
in which it was not done (G6). Both tell the history again (``thymus.retelling``), through the code that settled it.
Here are the questions about it that need no store: what is left out, when a recorded outcome stands, what differs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from thymus.core.beliefs import Act, Cause, Change, Status
from thymus.core.provenance import Assurance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from thymus.core.beliefs import Belief
    from thymus.core.claims import Claim


class Told(Protocol):
    """A recorded act, as a row of the ledger tells it."""

    @property
    def seq(self) -> int:
        """Its place in the history."""
        ...

    @property
    def at(self) -> datetime:
        """When it was done."""
        ...

    @property
    def act(self) -> Act:
        """What was done."""
        ...

    @property
    def changes(self) -> tuple[Change, ...]:
        """The status changes it came to, births among them."""
        ...

    @property
    def note(self) -> Mapping[str, str]:
        """Its parameters."""
        ...


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """What a history is told without.

    :param undone: ``seq`` of the acts that stand undone.
    """

    revoked: tuple[Revocation, ...] = ()
    undone: frozenset[int] = frozenset()

    @classmethod
    def standing(cls, history: Sequence[Told]) -> Omission:
        """What was revoked and undone in the course of a history, and not taken back since."""
        undone: set[int] = set()
        for told in reversed(history):
            if told.act is Act.UNDO and told.seq not in undone:  # an undoing that was itself undone does not count
                undone.add(int(told.note["act"]))
        revoked = [
            Revocation(
                source=told.note["source"],
                since=datetime.fromisoformat(told.note["since"]) if told.note.get("since") else None,
                before=told.seq,
            )
            for told in history
            if told.act is Act.REVOKE and told.seq not in undone
        ]
        return cls(revoked=tuple(revoked), undone=frozenset(undone))

    def of(self, history: Iterable[Told], beliefs: Mapping[str, Belief]) -> set[str]:
        """Ids of the beliefs that are left out of a history.

        What a model merely repeats was derived from what it repeats, whoever says so, and goes with it.
        """
        left_out: set[str] = set()
        revoked: set[str] = set()
        for told in history:
            for change in told.changes:
                if change.before is not None:
                    continue
                claim = beliefs[change.belief].claim
                covered = any(revocation.covers(claim, told.at, told.seq) for revocation in self.revoked)
                by_model = change.cause is Cause.REPEAT and claim.assurance is Assurance.REPORTED
                if covered or (by_model and not revoked.isdisjoint(change.by)):
                    revoked.add(change.belief)
                if told.seq in self.undone or change.belief in revoked:
                    left_out.add(change.belief)
        return left_out


def superseded(by: str, changes: Iterable[Change]) -> frozenset[str]:
    """What a belief superseded among these changes."""
    return frozenset(change.belief for change in changes if change.cause is Cause.SUPERSEDE and by in change.by)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an act came to for a claim: how it stands, what it superseded, and what it only repeats."""

    status: Status
    supersedes: frozenset[str] = frozenset()
    repeats: str | None = None

    @classmethod
    def recorded(cls, belief_id: str, changes: Sequence[Change]) -> Outcome:
        """What the act with these changes came to for a belief."""
        own = [change for change in changes if change.belief == belief_id]
        return cls(
            status=own[0].after,
            supersedes=superseded(belief_id, changes),
            repeats=next((by for change in own if change.cause is Cause.REPEAT for by in change.by), None),
        )

    def where(self, live: Callable[[str], bool]) -> Outcome:
        """The same where only what is live can be superseded."""
        return replace(self, supersedes=frozenset(filter(live, self.supersedes)))


def outcome(recorded: Outcome, *, then: Outcome, now: Outcome, live: Callable[[str], bool]) -> Outcome:
    """What an act comes to in a history that leaves something out.

    The recorded outcome stands unless leaving it out makes a difference: revoking a source decides nothing anew merely
    because the gate or the judge is another one today.

    :param then: what today's gate and judge make of the act in the history as it was told.
    :param now: what they make of it in the history that leaves something out.
    :param live: whether a belief is live there.
    """
    return recorded.where(live) if then.where(live) == now else now


def difference(
    told: Mapping[str, Status], before: Mapping[str, Status], after: Mapping[str, Status]
) -> tuple[Change, ...]:
    """The changes that lead from how beliefs stand to how they stand where more, or less, is left out.

    :param told: how they stand; ``before`` and ``after``: in histories told again without what was left out so far, and
        without what is to be left out. What is not in one of them was never told there.
    """
    changes = []
    for belief_id, stands in told.items():
        becomes = after.get(belief_id, Status.RETRACTED)
        if becomes is not before.get(belief_id, Status.RETRACTED) and becomes is not stands:
            cause = Cause.RETRACT if becomes is Status.RETRACTED else Cause.REPLAY
            changes.append(Change(belief=belief_id, before=stands, cause=cause, after=becomes))
    return tuple(changes)
