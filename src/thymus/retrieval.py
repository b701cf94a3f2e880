"""From a question to what is shown: find the hits, add the held-back claims that bear on them, let ``core`` word it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thymus.core.beliefs import HELD_BACK, LIVE, Belief, Edge, Status
from thymus.core.claims import fold
from thymus.core.disclose import Contest, Memory, Recall, compose
from thymus.core.policy import Policy, Showing
from thymus.ports import Probe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from thymus.core.claims import Scope
    from thymus.intake import Parts
    from thymus.ports import Store


def recall(parts: Parts, policy: Policy, scope: Scope, question: str, k: int) -> Recall:
    """Recall at most ``k`` memories under a policy."""
    store = parts.store
    probe = Probe(text=question, vector=parts.embedder.embed([question], role="query")[0])
    found, hits = _ranked(store, scope, probe, k)
    if policy.showing is Showing.PLAIN:
        return compose(policy, hits, ())
    above = found.index(hits[-1]) if hits and len(_wordings(hits)) >= k else len(found)
    held = [belief for belief in found[:above] if belief.status in HELD_BACK]
    return compose(policy, hits, contests(store, scope, hits, held))


def _ranked(store: Store, scope: Scope, probe: Probe, k: int) -> tuple[list[Belief], list[Belief]]:
    """Live beliefs, best first, and the active ones of the ``k`` best wordings among them.

    The search goes deeper while held-back claims, or many voices saying the same, crowd out the rest (G8).
    """
    depth = 2 * k
    while True:
        found = [near.belief for near in store.search(scope, probe, depth, statuses=LIVE)]
        active = [belief for belief in found if belief.status is Status.ACTIVE]
        if len(found) < depth or len(_wordings(active)) >= k:
            break
        depth *= 4
    chosen = frozenset(_wordings(active)[:k])
    return found, [belief for belief in active if fold(belief.claim.text) in chosen]


def _wordings(beliefs: Sequence[Belief]) -> list[str]:
    return list(dict.fromkeys(fold(belief.claim.text) for belief in beliefs))


def contests(store: Store, scope: Scope, hits: Sequence[Belief], held: Sequence[Belief]) -> list[Contest]:
    """``held``, and every other held-back belief that has a hit among its rivals (G3), each with its active rivals."""
    shown = {belief.id: belief for belief in (*hits, *held)}
    edges = [edge for edge in store.edges(scope, list(shown)) if edge.relation.detected]
    known = shown | store.get(scope, list({id_ for edge in edges for id_ in (edge.claim, edge.rival)} - shown.keys()))
    found = {belief.id: belief for belief in held}
    against: dict[str, dict[str, float]] = {}
    for edge in edges:
        for one, other in _either_way(edge):
            if known[one].status in HELD_BACK and known[other].status is Status.ACTIVE:
                found[one] = known[one]
                against.setdefault(one, {})[other] = -edge.relation.contradiction
    return [
        Contest(
            belief=belief,
            rivals=tuple(known[id_] for id_, _ in sorted(against.get(belief.id, {}).items(), key=lambda it: it[::-1])),
        )
        for belief in found.values()
    ]


def _either_way(edge: Edge) -> Iterator[tuple[str, str]]:
    yield edge.claim, edge.rival
    yield edge.rival, edge.claim


def records(store: Store, scope: Scope, beliefs: Sequence[Belief]) -> list[Memory]:
    """The beliefs as users see them; a held-back one with the ids of the active ones that it seems to contradict."""
    held = {belief.id for belief in beliefs if belief.status in HELD_BACK}
    edges = [edge for edge in store.edges(scope, list(held)) if edge.claim in held and edge.relation.detected]
    rivals = store.get(scope, list({edge.rival for edge in edges}))
    against: dict[str, list[str]] = {}
    for edge in edges:
        if rivals[edge.rival].status is Status.ACTIVE:
            against.setdefault(edge.claim, []).append(edge.rival)
    return [Memory.of(belief, against.get(belief.id, ())) for belief in beliefs]
