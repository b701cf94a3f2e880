"""The reference store: everything in dictionaries and lists, every question answered by looking at every belief.

It is the oracle that other stores are tested against, and what ``":memory:"`` means. Nothing survives the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from threading import RLock

import numpy as np

from thymus.core.beliefs import Belief, Edge, Revision, Status
from thymus.core.claims import Evidence, Scope
from thymus.errors import StoreError
from thymus.ports import Entry, Matrix, Neighbour, Probe, Vector, Verification, Voice
from thymus.stores import audit, codec, index, ledger
from thymus.stores.ledger import Head, Plan, Standing
from thymus.stores.voices import Said, voices
from thymus.stores.words import terms


@dataclass(slots=True)
class Row:
    """A belief with what is kept beside it; all of that is ``None`` or empty once it was erased."""

    belief: Belief
    nonce: bytes | None
    vector: codec.Half | None
    terms: frozenset[int]


@dataclass(slots=True)
class KeptEvidence:
    """Evidence with its nonce (``None`` once erased) and the ledger row that brought it."""

    evidence: Evidence
    nonce: bytes | None
    entry: int


@dataclass(slots=True)
class Memory:
    """All that is kept of one scope. ``beliefs[i]`` has seq ``i + 1``, ``entries[i]`` likewise.

    It is at once what ranking reads (``index.Shelf``) and what an audit reads (``audit.Archive``).
    """

    dim: int
    head: Head = field(default_factory=Head)
    entries: list[tuple[str, bytes]] = field(default_factory=list)
    kept: list[Row] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    sources: dict[str, KeptEvidence] = field(default_factory=dict)
    edges: dict[tuple[str, str], tuple[int, Edge]] = field(default_factory=dict)

    def standing(self, ids: Sequence[str]) -> dict[str, Standing]:
        """How the existing ones of these beliefs stand."""
        found = {}
        for belief_id in ids:
            seq = self.places.get(belief_id)
            if seq is not None:
                belief = self.kept[seq - 1].belief
                found[belief_id] = Standing(
                    seq=seq, status=belief.status, erased=belief.erased, evidence_id=belief.claim.evidence_id
                )
        return found

    def carry_out(self, plan: Plan) -> None:
        """Write a plan; nothing in it can fail."""
        version = plan.head.version
        if plan.evidence is not None:
            new = plan.evidence
            self.sources[new.evidence.id] = KeptEvidence(evidence=new.evidence, nonce=new.nonce, entry=version)
        for kept in plan.beliefs:
            belief = kept.belief
            words = frozenset(terms(belief.claim.text))
            self.kept.append(Row(belief=belief, nonce=kept.nonce, vector=kept.vector, terms=words))
            self.places[belief.id] = belief.seq
        for belief_id, status in plan.moved.items():
            row = self.kept[self.places[belief_id] - 1]
            row.belief = replace(row.belief, status=status)
        for edge in plan.edges:
            self.edges[edge.claim, edge.rival] = (version, edge)
        for belief_id in plan.erased:
            seq = self.places[belief_id]
            old = self.kept[seq - 1].belief
            empty = replace(old, claim=replace(old.claim, text=""), erased=True)
            self.kept[seq - 1] = Row(belief=empty, nonce=None, vector=None, terms=frozenset())
        for evidence_id in plan.blanked:
            source = self.sources.get(evidence_id)
            if source is not None:
                source.evidence, source.nonce = replace(source.evidence, text=""), None
        self.entries.append((plan.body, plan.head.hash))
        self.head = plan.head

    # What ranking reads.

    def near(self, probe: Probe, strata: Sequence[index.Stratum], k: int) -> list[index.Seqs]:  # noqa: ARG002
        """Every belief of each stratum."""
        live = [row.belief for row in self.kept if not row.belief.erased]
        found = [[belief.seq for belief in live if stratum.holds(belief, probe)] for stratum in strata]
        return [np.array(seqs, dtype=np.int64) for seqs in found]

    def newest(
        self, terms: Sequence[int], strata: Sequence[index.Stratum], probe: Probe, limit: int
    ) -> list[list[index.Seqs]]:
        """Look at every belief."""
        return [[self._posted(term, stratum, probe, limit) for term in terms] for stratum in strata]

    def _posted(self, term: int, stratum: index.Stratum, probe: Probe, limit: int) -> index.Seqs:
        rows = (row for row in reversed(self.kept) if term in row.terms and stratum.holds(row.belief, probe))
        return np.array([row.belief.seq for row in islice(rows, limit)], dtype=np.int64)

    def vectors(self, seqs: index.Seqs) -> Matrix:
        """Their embeddings."""
        rows = [vector for seq in seqs if (vector := self.kept[seq - 1].vector) is not None]
        return np.array(rows, dtype=np.float32).reshape(len(seqs), self.dim)

    def terms(self, seqs: Sequence[int]) -> list[frozenset[int]]:
        """Their terms."""
        return [self.kept[seq - 1].terms for seq in seqs]

    def read(self, seqs: Sequence[int]) -> list[Belief]:
        """The beliefs themselves."""
        return [self.kept[seq - 1].belief for seq in seqs]

    # What an audit reads.

    def rows(self) -> Iterator[tuple[int, str, bytes]]:
        """The ledger."""
        for seq, (body, row_hash) in enumerate(self.entries, start=1):
            yield seq, body, row_hash

    def beliefs(self) -> Iterator[audit.Stored]:
        """All beliefs."""
        for seq, row in enumerate(self.kept, start=1):
            claim = row.belief.claim
            yield audit.Stored(
                place=seq,
                id=row.belief.id,
                text=claim.text,
                nonce=row.nonce,
                vector=b"" if row.vector is None else row.vector.tobytes(),
                body=codec.canonical(codec.claim_fields(claim)),
            )

    def evidence(self) -> Iterator[audit.Stored]:
        """All evidence."""
        for kept in self.sources.values():
            found = kept.evidence
            body = codec.canonical(codec.evidence_fields(found))
            yield audit.Stored(place=kept.entry, id=found.id, text=found.text, nonce=kept.nonce, body=body)

    def seq_of(self, belief_id: str) -> int | None:
        """The seq of a belief."""
        return self.places.get(belief_id)

    def standings(self) -> Iterator[tuple[int, str, Status, bool]]:
        """How all beliefs stand."""
        for row in self.kept:
            yield row.belief.seq, row.belief.id, row.belief.status, row.belief.erased

    def judged(self, claim: str, rival: str) -> tuple[int, str] | None:
        """The ledger row and the relation kept of a pair."""
        if (claim, rival) not in self.edges:
            return None
        entry, edge = self.edges[claim, rival]
        return entry, codec.canonical(codec.relation_fields(edge.relation))

    def judged_count(self) -> int:
        """How many pairs are kept."""
        return len(self.edges)


class MemoryStore:
    """A ``Store`` in this process only. One lock makes it safe for threads.

    :param embedder: name of the embedder whose vectors it keeps.
    :param dim: their length.
    """

    def __init__(self, *, embedder: str = "e5-small", dim: int = 384) -> None:
        self.embedder = embedder
        self.dim = dim
        self._lock = RLock()
        self._memories: dict[Scope, Memory] = {}

    def rivals(self, scope: Scope, probes: Sequence[Probe], k: int) -> tuple[list[list[Neighbour]], int]:
        """See ``Store.rivals``."""
        with self._session():
            memory = self._read(scope)
            return index.rivals(memory, probes, k), memory.head.version

    def search(
        self, scope: Scope, probe: Probe, k: int, *, statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    ) -> list[Neighbour]:
        """See ``Store.search``."""
        with self._session():
            return index.search(self._read(scope), probe, k, statuses)

    def commit(self, revision: Revision, *, expecting: int | None = None) -> int:
        """See ``Store.commit``."""
        with self._session(writing=True):
            memory = self._read(revision.scope)
            if expecting is not None and memory.head.version != expecting:
                raise ledger.stale(memory.head.version, expecting)
            pairs = [(edge.claim, edge.rival) for edge in revision.edges]
            plan = ledger.plan(
                revision,
                head=memory.head,
                standing=memory.standing(ledger.mentioned(revision)),
                has_evidence=revision.evidence is not None and revision.evidence.id in memory.sources,
                judged={pair: memory.edges[pair][1].relation for pair in pairs if pair in memory.edges},
                dim=self.dim,
            )
            if plan is None:
                return memory.head.version
            memory.carry_out(plan)
            self._memories[revision.scope] = memory
            self._keep()
            return memory.head.version

    def get(self, scope: Scope, ids: Sequence[str]) -> dict[str, Belief]:
        """See ``Store.get``."""
        with self._session():
            memory = self._read(scope)
            return {name: memory.kept[memory.places[name] - 1].belief for name in ids if name in memory.places}

    def vectors(self, scope: Scope, ids: Sequence[str]) -> dict[str, Vector]:
        """See ``Store.vectors``."""
        with self._session():
            memory = self._read(scope)
            rows = {name: memory.kept[memory.places[name] - 1].vector for name in ids if name in memory.places}
            return {name: vector.astype(np.float32) for name, vector in rows.items() if vector is not None}

    def evidence(self, scope: Scope, ids: Sequence[str]) -> dict[str, Evidence]:
        """See ``Store.evidence``."""
        with self._session():
            kept = self._read(scope).sources
            return {name: kept[name].evidence for name in ids if name in kept}

    def beliefs(
        self,
        scope: Scope,
        *,
        statuses: frozenset[Status] | None = None,
        after: int = 0,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Belief]:
        """See ``Store.beliefs``."""
        with self._session():
            found = [row.belief for row in self._read(scope).kept]
        if newest_first:
            found = [belief for belief in reversed(found) if after == 0 or belief.seq < after]
        else:
            found = [belief for belief in found if belief.seq > after]
        found = [belief for belief in found if statuses is None or belief.status in statuses]
        return found if limit is None else found[: max(0, limit)]

    def brought(self, scope: Scope, ids: Sequence[str], *, limit: int | None = None) -> dict[str, list[Belief]]:
        """See ``Store.brought``."""
        found: dict[str, list[Belief]] = {id_: [] for id_ in ids}
        with self._session():
            for row in self._read(scope).kept:
                if row.belief.claim.evidence_id in found:
                    found[row.belief.claim.evidence_id].append(row.belief)
        return {id_: beliefs[:limit] for id_, beliefs in found.items() if beliefs[:limit]}

    def edges(self, scope: Scope, ids: Sequence[str]) -> list[Edge]:
        """See ``Store.edges``: ordered by claim, then rival, oldest first."""
        wanted = set(ids)
        with self._session():
            memory = self._read(scope)
            found = [edge for _, edge in memory.edges.values() if edge.claim in wanted or edge.rival in wanted]
            return sorted(found, key=lambda edge: (memory.places[edge.claim], memory.places[edge.rival]))

    def entries(self, scope: Scope, *, belief_id: str | None = None, after: int = 0) -> Iterator[Entry]:
        """See ``Store.entries``."""
        with self._session():
            rows = self._read(scope).entries[max(0, after) :]
        for body, row_hash in rows:
            if belief_id is None or belief_id in ledger.concerns(body):
                yield ledger.read(body, row_hash)

    def sources(self, scope: Scope) -> list[Voice]:
        """See ``Store.sources``."""
        with self._session():
            return voices(map(_said, [row.belief for row in self._read(scope).kept]))

    def version(self, scope: Scope) -> int:
        """See ``Store.version``."""
        with self._session():
            return self._read(scope).head.version

    def scopes(self) -> list[Scope]:
        """See ``Store.scopes``: in order of their first act."""
        with self._session():
            return list(self._memories)

    def verify(self, scope: Scope | None = None) -> Verification:
        """See ``Store.verify``."""
        with self._session():
            return audit.verify((name, kept) for name, kept in self._memories.items() if scope in (None, name))

    def bulk(self) -> AbstractContextManager[None]:
        """Nothing to do: memory has no disk."""
        return nullcontext()

    def close(self) -> None:
        """Nothing to release."""

    @contextmanager
    def _session(self, *, writing: bool = False) -> Iterator[None]:  # noqa: ARG002 -- a store with a file asks
        """One question or one write, alone."""
        with self._lock:
            yield

    def _keep(self) -> None:
        """Called within a session when it has written."""

    def _read(self, scope: Scope) -> Memory:
        if not isinstance(scope, Scope):
            raise StoreError("every call names its scope: pass Scope(tenant=..., user=...)")
        return self._memories.get(scope) or Memory(dim=self.dim)


def _said(belief: Belief) -> Said:
    claim, seq, at = belief.claim, belief.seq, belief.claim.observed_at
    return Said(source=claim.source, status=belief.status, number=1, first=seq, last=seq, since=at, until=at)
