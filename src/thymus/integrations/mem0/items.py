"""Memories and their history in the shape in which Mem0 returns them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from thymus.core.beliefs import Belief, Change, Status
from thymus.core.disclose import compose
from thymus.integrations.mem0.mirror import Item, facts, role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thymus.core.policy import Policy
    from thymus.records import Event


def item(belief: Belief, policy: Policy, kept: Mapping[str, Any]) -> Item:
    """A memory as Mem0 returns it: ``memory`` is what a model may read, ``text`` the bare words.

    :param kept: what Mem0 has of it, where it has anything.
    """
    at = belief.claim.observed_at.isoformat()
    mem0_id = {"mem0_id": kept["id"]} if "id" in kept else {}
    return {
        "hash": None,
        "created_at": at,
        "updated_at": at,
        **kept,
        "id": belief.id,
        "memory": line(belief, policy),
        "text": belief.claim.text,
        "role": role(belief),
        "metadata": {**(kept.get("metadata") or {}), **facts(belief), **mem0_id},
    }


def line(belief: Belief, policy: Policy) -> str:
    """A memory as it may stand before a model: labelled by ``core``, and with its status where it is not active."""
    said = compose(policy, [replace(belief, status=Status.ACTIVE)], ()).context.removeprefix("- ")
    return said if belief.status is Status.ACTIVE else f"[{belief.status.value}] {said}"


def row(belief: Belief, event: Event, change: Change, by: Mapping[str, Belief]) -> dict[str, Any]:
    """One change in the history of a memory, as Mem0 tells it, and its status and the rules behind it."""
    return {
        "id": f"{event.seq}:{belief.id}",
        "memory_id": belief.id,
        **_told(belief, change, by),
        "created_at": belief.claim.observed_at.isoformat(),
        "updated_at": event.at.isoformat(),
        "is_deleted": change.after is Status.RETRACTED,
        "actor_id": belief.claim.source.key,
        "role": role(belief),
        "status": change.after.value,
        "rules": list(change.rules),
    }


def _told(belief: Belief, change: Change, by: Mapping[str, Belief]) -> dict[str, str | None]:
    """What a memory said before and after: as long as it is not active it says nothing."""
    text = belief.claim.text
    before, after = change.before is Status.ACTIVE, change.after is Status.ACTIVE
    successor = next((by[id_].claim.text for id_ in change.by if id_ in by), None)
    if before and change.after is Status.SUPERSEDED and successor is not None:
        return {"event": "UPDATE", "old_memory": text, "new_memory": successor}
    event = "NONE" if before == after else "ADD" if after else "DELETE"
    changes = before != after
    return {
        "event": event,
        "old_memory": text if changes and before else None,
        "new_memory": text if changes and after else None,
    }
