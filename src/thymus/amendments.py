"""What the user changes afterwards: settle a held-back claim, revoke a source, undo an act, as status changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from thymus.core.beliefs import HELD_BACK, Act, Belief, Cause, Change, Edge, Status
from thymus.core.decide import contradicted
from thymus.core.replay import Relate, Revocation, Telling, replay, revocations, undone_by
from thymus.errors import InputError

if TYPE_CHECKING:
    from thymus.core.claims import Scope
    from thymus.core.policy import Policy
    from thymus.ports import Store


def resolve(store: Store, scope: Scope, belief: Belief, *, accept: bool) -> list[Change]:
    """Settle a held-back belief; accepting it supersedes the active ones that it contradicts.

    :raises InputError: where it is not held back.
    """
    if belief.status not in HELD_BACK:
        raise InputError(
            f"memory {belief.id} is {belief.status}: only a contested or quarantined one can be resolved (see inbox())"
        )
    cause, after = (Cause.ACCEPT, Status.ACTIVE) if accept else (Cause.DECLINE, Status.REJECTED)
    decided = ("user-decided",)
    changes = [Change(belief=belief.id, before=belief.status, cause=cause, after=after, rules=decided)]
    if accept:
        changes += [
            Change(
                belief=rival.id,
                before=rival.status,
                cause=Cause.SUPERSEDE,
                after=Status.SUPERSEDED,
                rules=decided,
                by=(belief.id,),
            )
            for rival in _contradicted(store, scope, belief.id)
        ]
    return changes


def _contradicted(store: Store, scope: Scope, belief_id: str) -> list[Belief]:
    edges = store.edges(scope, [belief_id])
    others = store.get(scope, list({id_ for edge in edges for id_ in (edge.claim, edge.rival)}))
    return [others[id_] for id_ in contradicted(belief_id, edges, lambda id_: others[id_].status)]


def revoke(store: Store, policy: Policy, scope: Scope, revocation: Revocation, relate: Relate) -> list[Change]:
    """The changes after which it is as if the source had never spoken (G7)."""
    told = tellings(store, scope)
    undone = undone_by(told)
    changes = replay(policy, told, revoked=(*revocations(told, undone), revocation), undone=undone, relate=relate)
    return [replace(change, rules=("user-revoked",)) for change in changes]


def undo(store: Store, policy: Policy, scope: Scope, seq: int, relate: Relate) -> list[Change]:
    """The changes after which it is as if an act had not been done (G6).

    :raises InputError: where there is no such act, or it cannot be undone.
    """
    if seq == 0:
        raise InputError("act 0 is one that changed nothing, so there is nothing to undo")
    told = tellings(store, scope)
    act = next((telling for telling in told if telling.seq == seq), None)
    if act is None:
        raise InputError(f"there is no act {seq} in this history: history(memory_id) gives their numbers")
    if act.act is Act.FORGET:
        raise InputError(f"act {seq} forgot a memory, and its text is gone: it cannot be undone")
    here = Telling(seq=told[-1].seq + 1, at=told[-1].at, act=Act.UNDO, note={"act": str(seq)})
    undone = undone_by([*told, here])
    changes = replay(policy, told, revoked=revocations(told, undone), undone=undone, relate=relate)
    return [replace(change, rules=("user-undid",)) for change in changes]


def tellings(store: Store, scope: Scope) -> list[Telling]:
    """The scope's ledger with the beliefs and judged pairs of each act, ready to be told again."""
    beliefs = {belief.id: belief for belief in store.beliefs(scope)}
    edges: dict[str, list[Edge]] = {}
    for edge in store.edges(scope, list(beliefs)):
        edges.setdefault(edge.claim, []).append(edge)
    told = []
    for entry in store.entries(scope):
        born = [beliefs[change.belief] for change in entry.changes if change.before is None]
        told.append(
            Telling(
                seq=entry.seq,
                at=entry.at,
                act=entry.act,
                changes=entry.changes,
                beliefs=tuple(born),
                edges=tuple(edge for belief in born for edge in edges.get(belief.id, ())),
                note=entry.note,
            )
        )
    return told
