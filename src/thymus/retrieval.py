"""From a question to what is shown: find the hits, add the held-back claims that bear on them, let ``core`` word it."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from thymus.circumstances import circumstances, owner_of
from thymus.core.adjudicate import Candidate, Contention, adjudicate, precedes
from thymus.core.beliefs import HELD_BACK, LIVE, Belief, Edge, Status
from thymus.core.claims import fold
from thymus.core.disclose import Contest, Memory, Recall, compose
from thymus.core.policy import Policy, Showing
from thymus.judges.contention import Question, likely
from thymus.judges.pronouns import third_person
from thymus.ports import Probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from thymus.core.claims import Scope
    from thymus.intake import Parts
    from thymus.ports import Embedder, Neighbour, Store, Vector
    from thymus.sources.registry import Registry


_ROUNDS: Final = 3
"""How often what stood aside is replaced by what is next."""
_BESIDE: Final = 0.03
"""How far behind the best sentence of its message a sentence stays, in the units of ``Neighbour.score``."""
_STEP: Final = 0.02
"""Cosines this near to each other say nothing about which bears more on a question."""
_MOST_SIBLINGS: Final = 6
"""Of one message, told in the notice because something of it stands aside."""
_DEEP: Final = 64
"""Times ``k``: how deep one owner's flood is searched through for what others say."""
MOST_SET_ASIDE: Final = 1_000
"""Claims that stood aside in recalls of which it is still known for what."""
MOST_ASKED: Final = 32
"""Questions of a user of which the vector is kept."""


class Asked:
    """Vectors of what one user asked lately: an agent asks the same before each call of its model. Shared by threads.

    Each user's own, so that no answer is quicker because somebody else asked the same.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._vectors: dict[bytes, Vector] = {}

    @contextmanager
    def probe(self, embedder: Embedder, question: str) -> Iterator[Probe]:
        """A probe for a question, whose vector is computed while a store reads what it needs none for."""
        key = hashlib.blake2b(question.encode(errors="surrogatepass"), digest_size=16).digest()
        with self._lock:
            vector = self._vectors.pop(key, None)
        if vector is not None:
            self._keep(key, vector)
            yield Probe(text=question, vector=vector)
            return

        def embed() -> Vector:
            found: Vector = embedder.embed([question], role="query")[0]
            self._keep(key, found)
            return found

        with ThreadPoolExecutor(1, thread_name_prefix="thymus-question") as pool:
            yield _Coming(question, pool.submit(embed).result)

    def _keep(self, key: bytes, vector: Vector) -> None:
        with self._lock:
            self._vectors[key] = vector
            while len(self._vectors) > MOST_ASKED:
                del self._vectors[next(iter(self._vectors))]


class _Coming(Probe):
    """A probe that waits for its vector where that is looked at."""

    __slots__ = ("_wait",)
    _wait: Callable[[], Vector]

    def __init__(self, text: str, wait: Callable[[], Vector]) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "origins", frozenset())
        object.__setattr__(self, "_wait", wait)

    @property
    def vector(self) -> Vector:
        return self._wait()


class SetAside:
    """For which memories claims stood aside in the latest recalls, should the user accept one. Shared by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._against: dict[str, tuple[str, ...]] = {}

    def note(self, contested: Iterable[Memory]) -> None:
        """Keep what a recall set aside; what was set aside longest ago goes first."""
        with self._lock:
            for memory in contested:
                if memory.status is Status.ACTIVE:
                    self._against.pop(memory.id, None)
                    self._against[memory.id] = memory.contradicts
            while len(self._against) > MOST_SET_ASIDE:
                del self._against[next(iter(self._against))]

    def against(self, belief: Belief) -> tuple[str, ...]:
        """Ids of the memories that it last stood aside for; none for a claim that was held back or settled since."""
        return self._against.get(belief.id, ()) if belief.status is Status.ACTIVE else ()


def recall(parts: Parts, policy: Policy, scope: Scope, probe: Probe, k: int) -> Recall:
    """Recall at most ``k`` memories under a policy.

    :param probe: of the question (``Asked.probe``).
    """
    store = parts.store
    share = k - k // 4 if policy.adjudicates else k
    found, queue = ranked(store, scope, probe, k, share)
    active = [near for near in found if near.belief.status is Status.ACTIVE]
    aside: dict[str, tuple[Belief, ...]] = {}
    hits = _saying(active, queue[:k])
    if policy.adjudicates:
        hits, aside = _adjudicated(parts, scope, probe, active, queue, k)
    if policy.showing is Showing.PLAIN:
        return compose(policy, [near.belief for near in hits], ())
    above = found.index(hits[-1]) if hits and len(_wordings(hits)) >= k else len(found)
    held = [near.belief for near in found[:above] if near.belief.status in HELD_BACK]
    beliefs = [near.belief for near in hits]
    told = contests(store, scope, beliefs, held, orders=policy.tells_orders)
    told += [Contest(belief=belief, rivals=aside[belief.id]) for belief in beliefs if belief.id in aside]
    if policy.adjudicates:
        told = _bearing(told, found)
    told += _siblings(store, scope, told, beliefs)
    standing = [belief for belief in beliefs if belief.id not in aside]
    registry = cache(partial(parts.registries.of, store, scope))  # read once, and only where something is told
    return compose(policy, standing, told, look=partial(_looked_at, registry))


def ranked(store: Store, scope: Scope, probe: Probe, k: int, share: int) -> tuple[list[Neighbour], list[str]]:
    """Live beliefs, best first, and the wordings of the active ones in the order in which they are shown.

    The search goes deeper while held-back claims, or many voices saying the same, crowd out the rest (G8).

    :param share: how many wordings of one outside owner go before what others say; the rest come last.
    """
    depth = 4 * k if share < k else 2 * k
    while True:
        found = store.search(scope, probe, depth, statuses=LIVE)
        active = [near for near in found if near.belief.status is Status.ACTIVE]
        first, later = _queue(_with_siblings(active) if share < k else active, share)
        enough = len(first) >= k or (len(first) + len(later) >= k and depth > _DEEP * k)
        if len(found) < depth or enough:
            return found, first + later
        depth *= 4


def _with_siblings(active: Sequence[Neighbour]) -> list[Neighbour]:
    """In the order of what their messages have nearest to the question: an answer may stand beside the words asked for.

    What others said in one message stays at most ``_BESIDE`` behind its best sentence.
    """
    best: dict[str, float] = {}
    for near in active:
        if not near.belief.claim.from_user:
            message = near.belief.claim.evidence_id
            best[message] = max(best.get(message, -1.0), near.score)
    return sorted(
        active,
        key=lambda near: max(near.score, best.get(near.belief.claim.evidence_id, -1.0) - _BESIDE),
        reverse=True,
    )


def _queue(active: Sequence[Neighbour], share: int) -> tuple[list[str], list[str]]:
    first: dict[str, None] = {}
    later: dict[str, None] = {}
    taken: Counter[str] = Counter()
    for near in active:
        words, claim = fold(near.belief.claim.text), near.belief.claim
        whose = "" if claim.from_user else owner_of(claim) or claim.source.key
        if whose and words not in first and taken[whose] >= share:
            later[words] = None
        elif words not in first:
            first[words] = None
            taken[whose] += 1
    return list(first), [words for words in later if words not in first]


def _wordings(found: Sequence[Neighbour]) -> list[str]:
    return list(dict.fromkeys(fold(near.belief.claim.text) for near in found))


def _saying(active: Sequence[Neighbour], wordings: Sequence[str]) -> list[Neighbour]:
    wanted = frozenset(wordings)
    return [near for near in active if fold(near.belief.claim.text) in wanted]


def _adjudicated(
    parts: Parts, scope: Scope, probe: Probe, active: Sequence[Neighbour], queue: Sequence[str], k: int
) -> tuple[list[Neighbour], dict[str, tuple[Belief, ...]]]:
    """What the question brings to light, and what of it stands aside for which memories.

    Where something stands aside the next in the queue takes its place, and is held against the memories in its turn.
    """
    asked, candidates = brought_together(parts.store, scope, probe, active)
    repeats = _repeats(candidates)
    judged: dict[Contention, float] = {}

    def chances(found: Sequence[Contention]) -> list[float]:
        new = [contention for contention in found if contention not in judged]
        judged.update(zip(new, likely(asked, new, embedder=parts.embedder), strict=True))
        return [judged[contention] for contention in found]

    aside: dict[str, tuple[Belief, ...]] = {}
    for _ in range(_ROUNDS):
        gone = frozenset(fold(near.belief.claim.text) for near in active if near.belief.id in aside)
        shown = [words for words in queue if words not in gone][:k]
        hits = _saying(active, [*shown, *gone])
        ids = {near.belief.id for near in hits}
        before = len(aside)
        claims = [one for one in candidates if one.belief.id in ids and one.belief.id not in repeats]
        aside = adjudicate(claims, candidates, chances)
        if len(aside) == before:
            break
    return _at_most(hits, aside, queue, k), aside


def _repeats(candidates: Sequence[Candidate]) -> frozenset[str]:
    """Ids of claims that say in the same words what the user says: none of them answers otherwise.

    What repeats anybody else may have to stand aside with that one.
    """
    said: dict[str, list[Candidate]] = {}
    for one in candidates:
        claim = one.belief.claim
        for words in {fold(claim.text), fold(third_person(claim.text, claim.source))}:
            said.setdefault(words, []).append(one)
    return frozenset(
        claim.belief.id
        for alike in said.values()
        for claim in alike
        if any(memory.belief.claim.from_user and precedes(memory, claim) for memory in alike)
    )


def _at_most(hits: Sequence[Neighbour], aside: Mapping[str, object], queue: Sequence[str], k: int) -> list[Neighbour]:
    """The hits without those that would stand beside ``k`` wordings that come before them: one that stood aside can
    stand after all, because somebody else says the same or because what it stood aside for stands aside itself."""
    standing = {fold(near.belief.claim.text) for near in hits if near.belief.id not in aside}
    shown = frozenset([words for words in queue if words in standing][:k])
    return [near for near in hits if near.belief.id in aside or fold(near.belief.claim.text) in shown]


def brought_together(
    store: Store, scope: Scope, probe: Probe, active: Sequence[Neighbour]
) -> tuple[Question, list[Candidate]]:
    """A question and what it recalled, as adjudication looks at them."""
    candidates = [
        Candidate(belief=near.belief, owner=owner_of(near.belief.claim), relevance=near.similarity) for near in active
    ]
    asked = Question(
        text=probe.text,
        vector=probe.vector,
        vectors={near.belief.id: near.vector for near in active},
        messages=partial(_messages, store, scope),
    )
    return asked, candidates


def _messages(store: Store, scope: Scope, beliefs: Sequence[Belief]) -> dict[str, str]:
    """The messages that beliefs come from, by belief; the claim itself where the text was erased."""
    found = store.evidence(scope, list(dict.fromkeys(belief.claim.evidence_id for belief in beliefs)))
    texts = {id_: evidence.text for id_, evidence in found.items()}
    return {belief.id: texts.get(belief.claim.evidence_id) or belief.claim.text for belief in beliefs}


def _bearing(told: Sequence[Contest], found: Sequence[Neighbour]) -> list[Contest]:
    """The contests, each with how much it bears on the question: how near it is, and the nearest of its rivals.

    In steps, so that of what bears much alike the newest is told first.
    """
    near = {one.belief.id: one.similarity for one in found}

    def bears(contest: Contest) -> int:
        own = near.get(contest.belief.id, 0.0)
        against = max((near.get(rival.id, 0.0) for rival in contest.rivals), default=own)
        return round((own + against) / 2 / _STEP)

    return [replace(contest, bearing=bears(contest)) for contest in told]


def _siblings(store: Store, scope: Scope, told: Sequence[Contest], hits: Sequence[Belief]) -> list[Contest]:
    """What else was said where something stands aside: the sentence that counts may not be the one that was found.

    It was held against nothing itself, so accepting it takes nobody's place by default.
    """
    seen = {belief.id for belief in hits} | {contest.belief.id for contest in told}
    aside = [contest for contest in told if contest.belief.status is Status.ACTIVE]
    messages = list(dict.fromkeys(contest.belief.claim.evidence_id for contest in aside))
    brought = store.brought(scope, messages, limit=_MOST_SIBLINGS)
    found: list[Contest] = []
    for contest in aside:
        for belief in brought.get(contest.belief.claim.evidence_id, ()):
            if belief.status is Status.ACTIVE and belief.id not in seen:
                seen.add(belief.id)
                found.append(Contest(belief=belief, bearing=contest.bearing))
    return found


def _looked_at(registry: Callable[[], Registry], contest: Contest) -> Contest:
    """A contest with what the user should know of its sender."""
    found = circumstances(contest.belief.claim, registry())
    return replace(contest, resembles=found.resembles, stakes=found.stakes)


def contests(
    store: Store, scope: Scope, hits: Sequence[Belief], held: Sequence[Belief], *, orders: bool = False
) -> list[Contest]:
    """``held``, and every other held-back belief that has a hit among its rivals (G3), each with its active rivals.

    :param orders: also what was rejected because it spoke for the user: an update is often worded as an order.
    """

    def held_back(belief: Belief) -> bool:
        return belief.status in HELD_BACK or (orders and belief.speaks_unasked)

    shown = {belief.id: belief for belief in (*hits, *held)}
    edges = [edge for edge in store.edges(scope, list(shown)) if edge.relation.detected]
    known = shown | store.get(scope, list({id_ for edge in edges for id_ in (edge.claim, edge.rival)} - shown.keys()))
    found = {belief.id: belief for belief in held}
    against: dict[str, dict[str, float]] = {}
    for edge in edges:
        for one, other in _either_way(edge):
            if held_back(known[one]) and known[other].status is Status.ACTIVE:
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
