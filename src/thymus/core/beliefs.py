"""Stored claims, their status, and the only table of legal status changes.

A belief starts with no status (``None``) and is born by the effect of a decision. Every later change has a cause from
``Cause`` and a row in ``TRANSITIONS``; ``transition`` is the one door through which a status changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from thymus.core.claims import Claim, Evidence, Scope
from thymus.core.relations import Relation
from thymus.errors import TransitionError


class Status(StrEnum):
    """Where a belief stands. Only ACTIVE reaches the model's context under a disclosing gate."""

    ACTIVE = "active"
    CONTESTED = "contested"
    QUARANTINED = "quarantined"
    SUPERSEDED = "superseded"
    REJECTED = "rejected"
    RETRACTED = "retracted"
    REPEATED = "repeated"
    """It only said again what stood already: never shown, but it counts where the first saying does not stand."""


HELD_BACK: Final = frozenset({Status.CONTESTED, Status.QUARANTINED})
LIVE: Final = frozenset({Status.ACTIVE}) | HELD_BACK
SHOWN: Final = frozenset(Status) - {Status.REPEATED}
"""What users are shown at all: a mere repetition is no memory of its own."""


class Cause(StrEnum):
    """Why a status changes."""

    ADMIT = "admit"
    CONTEST = "contest"
    QUARANTINE = "quarantine"
    REJECT = "reject"
    REPEAT = "repeat"
    """It says again, in the same words, what stands already."""
    SUPERSEDE = "supersede"
    """A claim with authority replaced it."""
    ACCEPT = "accept"
    """The user settled it in its favour."""
    DECLINE = "decline"
    """The user settled it against it."""
    RETRACT = "retract"
    """Its source was revoked, or the user had it forgotten."""
    REPLAY = "replay"
    """The history was told again without a revoked source or an undone act, and it stands differently there."""


_BORN: Final = {
    Cause.ADMIT: Status.ACTIVE,
    Cause.CONTEST: Status.CONTESTED,
    Cause.QUARANTINE: Status.QUARANTINED,
    Cause.REJECT: Status.REJECTED,
    Cause.REPEAT: Status.REPEATED,
}

TRANSITIONS: Final[Mapping[tuple[Status | None, Cause], frozenset[Status]]] = MappingProxyType(
    {
        **{(None, cause): frozenset({status}) for cause, status in _BORN.items()},
        (Status.ACTIVE, Cause.SUPERSEDE): frozenset({Status.SUPERSEDED}),
        (Status.CONTESTED, Cause.SUPERSEDE): frozenset({Status.SUPERSEDED}),
        (Status.QUARANTINED, Cause.SUPERSEDE): frozenset({Status.SUPERSEDED}),
        (Status.CONTESTED, Cause.ACCEPT): frozenset({Status.ACTIVE}),
        (Status.QUARANTINED, Cause.ACCEPT): frozenset({Status.ACTIVE}),
        (Status.ACTIVE, Cause.DECLINE): frozenset({Status.REJECTED}),
        (Status.CONTESTED, Cause.DECLINE): frozenset({Status.REJECTED}),
        (Status.QUARANTINED, Cause.DECLINE): frozenset({Status.REJECTED}),
        **{(status, Cause.RETRACT): frozenset({Status.RETRACTED}) for status in Status},
        **{(status, Cause.REPLAY): frozenset(Status) - {status, Status.RETRACTED} for status in Status},
    }
)
"""From (status, cause) to the statuses that it may lead to."""


def transition(before: Status | None, cause: Cause, after: Status) -> Status:
    """Return ``after`` where the table allows it.

    :raises TransitionError: where it does not; nothing was changed.
    """
    if after not in TRANSITIONS.get((before, cause), frozenset()):
        raise TransitionError(f"a belief cannot go from {before or 'nothing'} to {after} by {cause}")
    return after


def born(cause: Cause) -> Status:
    """The status that a new claim gets by the effect of its decision."""
    return transition(None, cause, _BORN[cause])


def birth(belief_id: str, status: Status) -> Change:
    """The change that brings a belief which has this status from its first moment."""
    cause = next(cause for cause, given in _BORN.items() if given is status)
    return Change(belief=belief_id, before=None, cause=cause, after=status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """A stored claim.

    :param id: stable name within its scope, derived from the evidence and the span.
    :param seq: position in the scope's history; 0 before it is committed.
    :param erased: its text was forgotten; an empty entry stays.
    """

    id: str
    claim: Claim
    status: Status
    seq: int = 0
    erased: bool = False

    @property
    def speaks_unasked(self) -> bool:
        """Whether it was rejected because somebody else said it in the user's name."""
        return self.status is Status.REJECTED and self.claim.speaks_for_user and not self.claim.from_user

    def moved(self, cause: Cause, after: Status) -> Belief:
        """The same belief after a legal status change."""
        return replace(self, status=transition(self.status, cause, after))


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A judged pair: what the judge said about ``claim`` (later) against ``rival`` (earlier), by belief id."""

    claim: str
    rival: str
    relation: Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One status change and what determined it.

    :param before: ``None`` for a belief's birth.
    :param rules: names of the determining rules, or of the user's act.
    :param by: the belief that caused it, where one did (the superseder, the rival contested against).
    """

    belief: str
    before: Status | None
    cause: Cause
    after: Status
    rules: tuple[str, ...] = ()
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        transition(self.before, self.cause, self.after)


class Act(StrEnum):
    """What was done to a memory: each commit is one act, and a row of the ledger."""

    REMEMBER = "remember"
    RESOLVE = "resolve"
    REVOKE = "revoke"
    FORGET = "forget"
    UNDO = "undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The atomic set of changes that one act commits: all of it or nothing.

    :param beliefs: new beliefs, in the order of their spans; each has its birth among ``changes``.
    :param vectors: embedding by belief id, for ``beliefs`` (float32 bytes are the store's business, not the core's).
    :param erase: belief ids whose text, and evidence where nothing else rests on it, must be gone afterwards.
    :param note: parameters of the act (the accepted flag, the revoked source), so that a replay can repeat it.
    """

    scope: Scope
    act: Act
    at: datetime
    evidence: Evidence | None = None
    beliefs: tuple[Belief, ...] = ()
    changes: tuple[Change, ...] = ()
    edges: tuple[Edge, ...] = ()
    vectors: Mapping[str, object] = field(default_factory=dict)
    erase: tuple[str, ...] = ()
    note: Mapping[str, str] = field(default_factory=dict)
