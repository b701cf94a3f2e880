"""What the user changes afterwards: settle a held-back claim, forget one, revoke a source, undo an act."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from thymus.core.beliefs import LIVE, Act, Belief, Cause, Change, Status
from thymus.core.decide import contradicted
from thymus.core.relations import REPEATS
from thymus.core.replay import Omission, Revocation
from thymus.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from thymus.core.claims import Scope
    from thymus.core.policy import Policy
    from thymus.intake import Parts
    from thymus.ports import Store
    from thymus.retelling import Progress, Retelling


def resolve(store: Store, scope: Scope, belief: Belief, *, accept: bool, over: Sequence[str] = ()) -> list[Change]:
    """Settle a held-back belief, or an active one that stood aside; accepting it supersedes what it contradicts.

    :param over: ids of the memories that it takes the place of, in place of those that the judge says it contradicts.
    :raises InputError: where there is nothing to settle.
    """
    if belief.status not in LIVE or belief.claim.from_user:
        standing = "your own" if belief.status in LIVE else belief.status
        raise InputError(
            f"memory {belief.id} is {standing}: only what others said can be resolved, where it is contested, "
            "quarantined or was set aside in a recall (see inbox())"
        )
    decided = ("user-decided",)
    cause, after = (Cause.ACCEPT, Status.ACTIVE) if accept else (Cause.DECLINE, Status.REJECTED)
    changes = []
    if belief.status is not after:
        changes.append(Change(belief=belief.id, before=belief.status, cause=cause, after=after, rules=decided))
    if accept:
        rivals = _standing(store, scope, over) if over else _contradicted(store, scope, belief.id)
        changes += [
            Change(
                belief=rival.id,
                before=rival.status,
                cause=Cause.SUPERSEDE,
                after=Status.SUPERSEDED,
                rules=decided,
                by=(belief.id,),
            )
            for rival in rivals
            if rival.id != belief.id
        ]
    if not changes:
        raise InputError(
            f"memory {belief.id} is active, and nothing tells which memories it would take the place of: name them, "
            "resolve(memory_id, accept=True, over=[id])"
        )
    return changes


def _standing(store: Store, scope: Scope, ids: Sequence[str]) -> list[Belief]:
    found = store.get(scope, ids)
    missing = [id_ for id_ in ids if id_ not in found]
    if missing:
        raise InputError(f"there is no memory {missing[0][:80]!r} for it to take the place of")
    return [belief for belief in found.values() if belief.status is Status.ACTIVE]


def _contradicted(store: Store, scope: Scope, belief_id: str) -> list[Belief]:
    edges = store.edges(scope, [belief_id])
    others = store.get(scope, list({id_ for edge in edges for id_ in (edge.claim, edge.rival)}))
    return [others[id_] for id_ in contradicted(belief_id, edges, lambda id_: others[id_].status)]


def forget(store: Store, scope: Scope, belief: Belief) -> list[Change]:
    """Retract a belief, and every mere repetition of it: its words are to be gone wherever they stand."""
    edges = store.edges(scope, [belief.id])
    again = [edge.claim for edge in edges if edge.rival == belief.id and edge.relation == REPEATS]
    repetitions = [one for one in store.get(scope, again).values() if one.status is Status.REPEATED]
    return [
        Change(belief=one.id, before=one.status, cause=Cause.RETRACT, after=Status.RETRACTED, rules=("user-forgot",))
        for one in (belief, *repetitions)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Act:
    """An act that is recorded, or about to be."""

    seq: int
    at: datetime
    act: Act
    note: Mapping[str, str]
    changes: tuple[Change, ...] = ()


def revoke(
    parts: Parts, policy: Policy, scope: Scope, revocation: Revocation, on_step: Progress | None = None
) -> Retelling:
    """Tell the history as if the source had never spoken (G7)."""
    from thymus.retelling import History, Retelling

    history = History(scope=scope)
    history.read_on(parts.store)
    before = Omission.standing(history.entries)
    after = replace(before, revoked=(*before.revoked, revocation))
    return Retelling(parts, policy, history, before=before, after=after, on_step=on_step)


def undo(parts: Parts, policy: Policy, scope: Scope, seq: int, on_step: Progress | None = None) -> Retelling:
    """Tell the history as if an act had not been done (G6).

    :raises InputError: where there is no such act, or it cannot be undone.
    """
    if seq == 0:
        raise InputError("act 0 is one that changed nothing, so there is nothing to undo")
    from thymus.retelling import History, Retelling

    history = History(scope=scope)
    history.read_on(parts.store)
    act = next((entry for entry in history.entries if entry.seq == seq), None)
    if act is None:
        raise InputError(f"there is no act {seq} in this history: history(memory_id) gives their numbers")
    if act.act is Act.FORGET:
        raise InputError(f"act {seq} forgot a memory, and its text is gone: it cannot be undone")
    here = _Act(seq=history.version + 1, at=act.at, act=Act.UNDO, note={"act": str(seq)})
    before = Omission.standing(history.entries)
    after = Omission.standing([*history.entries, here])
    return Retelling(parts, policy, history, before=before, after=after, on_step=on_step)
