"""What the guard's methods return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from thymus.core.beliefs import SHOWN, Act, Change, Status
from thymus.core.disclose import Memory
from thymus.core.policy import Effect

FALLBACKS: Final = "fallbacks"
"""What stood in for a model, in the note of an act."""


class Outcome(StrEnum):
    """What became of a message, or of one of its claims."""

    ADMITTED = "admitted"
    REPLACED = "replaced"
    CONTESTED = "contested"
    QUARANTINED = "quarantined"
    REJECTED = "rejected"
    KNOWN = "known"
    """Of one claim: an echo or a repetition, so nothing changed."""

    @classmethod
    def of(cls, effect: Effect) -> Outcome:
        """The word for an effect."""
        return cls(effect.past)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What ``remember`` did.

    :param effect: the outcome that matters most to the user: held back before replaced before admitted; ``rejected``
        only where nothing else happened. Where everything was known, how that stands.
    :param reasons: names of the rules that determined it, or ``no-claim`` (the message states nothing) or
        ``already-known`` (an echo or a repetition: nothing changed).
    :param memories: one record a claim, in the order of the message.
    :param outcomes: what became of each claim, in the same order.
    :param replaced: ids of the memories that were superseded.
    :param hazards: what is dangerous on its face, as ``injection: override`` or ``secret: card``; an overt
        order counts as an instruction whatever the judge says, and a secret is kept as it was said.
    :param fallbacks: what stood in for a model that could not answer, and why, in words.
    """

    effect: Outcome
    reasons: tuple[str, ...]
    memories: tuple[Memory, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    replaced: tuple[str, ...] = ()
    hazards: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The record in JSON's types."""
        return {
            "effect": self.effect.value,
            "reasons": list(self.reasons),
            "memories": [
                {**memory.to_dict(), "outcome": outcome.value}
                for memory, outcome in zip(self.memories, self.outcomes, strict=True)
            ],
            "replaced": list(self.replaced),
            "hazards": list(self.hazards),
            "fallbacks": list(self.fallbacks),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One act in the history: who did what, and each status that it changed.

    :param seq: its row in the ledger; ``undo`` takes it. 0 where nothing was written, because nothing was to be done
        or it was only asked what would change.
    """

    seq: int
    at: datetime
    act: Act
    changes: tuple[Change, ...]
    note: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The event in JSON's types."""
        return {
            "seq": self.seq,
            "at": self.at.isoformat(),
            "act": self.act.value,
            "note": dict(self.note),
            "changes": [
                {
                    "memory": change.belief,
                    "before": change.before and change.before.value,
                    "after": change.after.value,
                    "cause": change.cause.value,
                    "rules": list(change.rules),
                    "by": list(change.by),
                }
                for change in self.changes
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a memory stands as it does; ``str()`` gives the lines.

    :param lines: what was said by whom, what was decided by which rules, what the judge saw, what happened since.
    """

    memory: Memory
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def to_dict(self) -> dict[str, Any]:
        """The explanation in JSON's types."""
        return {"memory": self.memory.to_dict(), "lines": list(self.lines)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """What one source has asserted, how that stands, and what rests on it.

    :param name: what it calls itself; anybody may call themselves anything.
    :param assurance: the best assurance that it had in what is not retracted.
    :param active_assurances: those that it had in what is active, weakest first: they may all be weaker.
    :param first, last: when it said the earliest and the latest of it.
    :param counts: how many of its memories stand at each status.
    :param held_back: ids of its claims that are held back, newest first.
    :param against: keys of the sources that they were held back against, most frequent first.
    :param would_retract: how many memories it has a part in: revoking it retracts them.
    :param may_change: how many memories of others were last held back or superseded on account of its claims: an
        estimate of what else revoking it changes. ``revoke(source, dry_run=True)`` says it exactly.
    """

    source: str
    assurance: str
    first: datetime
    last: datetime
    counts: Mapping[Status, int]
    name: str = ""
    held_back: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    would_retract: int = 0
    may_change: int = 0
    active_assurances: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The record in JSON's types."""
        return {
            "source": self.source,
            "name": self.name,
            "assurance": self.assurance,
            "active_assurances": list(self.active_assurances),
            "first": self.first.isoformat(),
            "last": self.last.isoformat(),
            **{status.value: self.counts.get(status, 0) for status in Status if status in SHOWN},
            "held_back": list(self.held_back),
            "against": list(self.against),
            "would_retract": self.would_retract,
            "may_change": self.may_change,
        }
