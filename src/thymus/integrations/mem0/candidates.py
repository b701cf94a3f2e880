"""Mem0 as the index of a ledger: what it finds for a question, in its order, as the guard's own candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from thymus.core.beliefs import Status
from thymus.integrations.mem0.mirror import Item, known_as
from thymus.ports import Neighbour, Probe

if TYPE_CHECKING:
    from thymus.core.claims import Scope
    from thymus.ports import Store


@dataclass(slots=True)
class Asked:
    """One search: how Mem0 is asked, and the memories that it gave, by their id in the ledger."""

    search: Callable[..., Any]
    items: dict[str, Item] = field(default_factory=dict)

    @classmethod
    def of(cls, memory: Any, filters: Mapping[str, Any], **options: Any) -> Asked:
        """A search with Mem0's own filters and options."""
        return cls(partial(memory.search, filters=dict(filters), **options))

    def ids(self, question: str, k: int) -> list[str]:
        """What Mem0 finds, best first."""
        for item in self.search(question, top_k=k)["results"]:
            self.items.setdefault(known_as(item), item)
        return list(self.items)


ASKED: Final[ContextVar[Asked | None]] = ContextVar("thymus_mem0_search", default=None)
"""The search that is under way; without one the ledger's own index is used."""


class Candidates:
    """A store in which Mem0 finds the active memories that a question is about.

    Everything else is the store's own: texts, statuses, what is held back, and the rivals of a new claim, so that what
    is decided is what would be decided without Mem0.
    """

    def __init__(self, inner: Store) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def search(
        self, scope: Scope, probe: Probe, k: int, *, statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    ) -> list[Neighbour]:
        """``Store.search``, with Mem0's candidates, order and scores for what is active.

        A held-back claim stands before the first active one that is less near to the question than it is.
        """
        asked, others = ASKED.get(), statuses - {Status.ACTIVE}
        if asked is None or others == statuses:
            return self._inner.search(scope, probe, k, statuses=statuses)
        ids = asked.ids(probe.text, k)
        beliefs, vectors = self._inner.get(scope, ids), self._inner.vectors(scope, ids)
        found = [
            Neighbour(
                belief=beliefs[id_],
                similarity=float(vectors[id_] @ probe.vector),
                score=float(asked.items[id_].get("score") or 0.0),
                vector=vectors[id_],
            )
            for id_ in ids
            if id_ in beliefs and id_ in vectors and beliefs[id_].status is Status.ACTIVE
        ]
        for near in self._inner.search(scope, probe, k, statuses=others) if others else ():
            at = next((at for at, one in enumerate(found) if one.similarity < near.similarity), len(found))
            found.insert(at, near)
        return found[:k]
