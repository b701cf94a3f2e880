"""The ledger: what a revision really changes, written as one row of a hash chain.

``plan`` is the only door to a store's contents: it compares a revision with what is stored, leaves out what is there
already, checks every status change, and returns what is to be written. The stores only carry it out.

A row holds no text of a message, only digests of texts behind random nonces that are kept beside the texts: when a
text is erased its nonce goes too, and the digest tells nothing any more. Each row's hash is SHA-256 over the hash of
the row before and the row's canonical JSON, so a changed, missing or moved row breaks the chain (a hash-chained log:
Schneier and Kelsey, "Secure Audit Logs to Support Computer Forensics", 1999, without its keys).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from thymus.core.beliefs import Act, Belief, Edge, Revision, Status, transition
from thymus.core.claims import Evidence
from thymus.core.relations import Relation
from thymus.errors import MemoryNotFoundError, StaleVersionError, StoreError
from thymus.ports import Entry
from thymus.stores import codec

GENESIS: Final = bytes(32)
"""The hash before a scope's first row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a scope's history ends: its last row's number and hash, and how many beliefs it holds."""

    version: int = 0
    beliefs: int = 0
    hash: bytes = GENESIS


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a stored belief stands before the revision."""

    seq: int
    status: Status
    erased: bool
    evidence_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A new belief as it is written: with its seq and final status, its nonce, canonical body and vector."""

    belief: Belief
    nonce: bytes
    body: str
    vector: codec.Half


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptEvidence:
    """New evidence as it is written."""

    evidence: Evidence
    nonce: bytes
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a revision writes.

    :param moved: new status of beliefs that were stored before, by id.
    :param edges: judged pairs that are new, or judged otherwise than before.
    :param erased: ids of beliefs whose text, nonce, vector and words must go.
    :param blanked: ids of evidence whose text and nonce must go.
    """

    evidence: KeptEvidence | None
    beliefs: tuple[Kept, ...]
    moved: Mapping[str, Status]
    edges: tuple[Edge, ...]
    erased: tuple[str, ...]
    blanked: tuple[str, ...]
    body: str
    head: Head


def mentioned(revision: Revision) -> list[str]:
    """Ids of all beliefs that a revision names, each once: what a store must look up before ``plan``."""
    ids = [belief.id for belief in revision.beliefs]
    ids += [change.belief for change in revision.changes]
    ids += revision.erase
    for edge in revision.edges:
        ids += (edge.claim, edge.rival)
    return list(dict.fromkeys(ids))


def plan(
    revision: Revision,
    *,
    head: Head,
    standing: Mapping[str, Standing],
    has_evidence: bool,
    judged: Mapping[tuple[str, str], Relation],
    dim: int,
) -> Plan | None:
    """What is to be written, or ``None`` where nothing is new and nothing changes.

    A revocation or undoing is written even so: what it leaves out counts when the history is told again.

    :param standing: the stored ones among the beliefs that the revision names.
    :param has_evidence: whether ``revision.evidence`` is stored.
    :param judged: what was judged of the pairs in ``revision.edges`` before.
    :raises StaleVersionError: a change starts from another status than the stored one.
    :raises MemoryNotFoundError: a change, edge or erasure names a belief that does not exist.
    :raises StoreError: a new belief has no birth among the changes, or no vector of length ``dim``.
    """
    fresh = {belief.id: belief for belief in reversed(revision.beliefs) if belief.id not in standing}
    order = [belief_id for belief_id in dict.fromkeys(belief.id for belief in revision.beliefs) if belief_id in fresh]
    known = standing.keys() | fresh.keys()
    _require(known, (change.belief for change in revision.changes))
    _require(known, (name for edge in revision.edges for name in (edge.claim, edge.rival)))
    _require(standing.keys(), revision.erase)

    current = {belief_id: stored.status for belief_id, stored in standing.items()}
    made = []
    for change in revision.changes:
        if change.before is None and change.belief in standing:
            continue
        now = current.get(change.belief)
        if change.before is not now:
            raise StaleVersionError(
                f"the memory {change.belief!r} is {now or 'not born'}, not {change.before}: read it and decide anew"
            )
        current[change.belief] = transition(now, change.cause, change.after)
        made.append(change)
    unborn = [belief_id for belief_id in order if belief_id not in current]
    if unborn:
        raise StoreError(f"the new memory {unborn[0]!r} has no birth: add its change from None to Revision.changes")

    evidence = None
    if revision.evidence is not None and not has_evidence:
        fields = codec.evidence_fields(revision.evidence)
        evidence = KeptEvidence(evidence=revision.evidence, nonce=_nonce(), body=codec.canonical(fields))
    beliefs = tuple(
        _keep(fresh[belief_id], seq, current[belief_id], revision.vectors, dim)
        for seq, belief_id in enumerate(order, start=head.beliefs + 1)
    )
    latest = {(edge.claim, edge.rival): edge for edge in revision.edges}
    edges = tuple(edge for pair, edge in latest.items() if judged.get(pair) != edge.relation)
    erased = tuple(dict.fromkeys(belief_id for belief_id in revision.erase if not standing[belief_id].erased))
    blanked = tuple(dict.fromkeys(standing[belief_id].evidence_id for belief_id in erased))
    lasting = revision.act in (Act.REVOKE, Act.UNDO)
    if not (evidence or beliefs or made or edges or erased or lasting):
        return None
    row: dict[str, object] = {
        "scope": [revision.scope.tenant, revision.scope.user],
        "seq": head.version + 1,
        "at": codec.moment(revision.at),
        "act": revision.act,
        "evidence": _tell_evidence(revision.evidence, evidence),
        "beliefs": [_tell(kept) for kept in beliefs],
        "changes": [codec.change_fields(change) for change in made],
        "edges": [codec.edge_fields(edge) for edge in edges],
        "erased": list(erased),
        "blanked": list(blanked),
        "note": dict(revision.note),
    }
    body = codec.canonical(row)
    return Plan(
        evidence=evidence,
        beliefs=beliefs,
        moved={change.belief: current[change.belief] for change in made if change.belief in standing},
        edges=edges,
        erased=erased,
        blanked=blanked,
        body=body,
        head=Head(version=head.version + 1, beliefs=head.beliefs + len(beliefs), hash=link(head.hash, body)),
    )


def link(previous: bytes, body: str) -> bytes:
    """The hash of a row that follows the one with hash ``previous``."""
    return sha256(previous + body.encode()).digest()


def read(body: str, row_hash: bytes) -> Entry:
    """A row as the protocol shows it."""
    row = codec.parse(body)
    return Entry(
        seq=row["seq"],
        at=codec.read_moment(row["at"]),
        act=Act(row["act"]),
        changes=tuple(codec.read_change(fields) for fields in row["changes"]),
        evidence_id=row["evidence"][0] if row["evidence"] else None,
        note=row["note"],
        digest=row_hash.hex(),
    )


def concerns(body: str) -> set[str]:
    """Ids of the beliefs that a row changed or erased."""
    row: dict[str, Any] = codec.parse(body)
    return {*(change[0] for change in row["changes"]), *row["erased"]}


def stale(now: int, expected: int) -> StaleVersionError:
    """The error for a scope that has moved on."""
    return StaleVersionError(f"the scope is at version {now}, not {expected}: read the rivals again and decide anew")


def _require(known: Any, names: Any) -> None:
    for name in names:
        if name not in known:
            raise MemoryNotFoundError(f"no memory {name!r} in this scope: commit it first, or read its id again")


def _nonce() -> bytes:
    return secrets.token_bytes(codec.NONCE_BYTES)


def _keep(belief: Belief, seq: int, status: Status, vectors: Mapping[str, object], dim: int) -> Kept:
    if belief.id not in vectors:
        raise StoreError(f"the new memory {belief.id!r} has no vector: add it to Revision.vectors")
    return Kept(
        belief=Belief(id=belief.id, claim=belief.claim, status=status, seq=seq),
        nonce=_nonce(),
        body=codec.canonical(codec.claim_fields(belief.claim)),
        vector=codec.half(vectors[belief.id], dim),
    )


def _tell(kept: Kept) -> list[object]:
    """A new belief in its row: [id, seq, digest of text and vector, digest of the rest]."""
    sealed = codec.seal(kept.nonce, kept.belief.claim.text, kept.vector.tobytes())
    return [kept.belief.id, kept.belief.seq, sealed, codec.digest(kept.body)]


def _tell_evidence(evidence: Evidence | None, kept: KeptEvidence | None) -> list[object] | None:
    """The evidence in its row: [id], and where it is new the digests of its text and of the rest."""
    if kept is None:
        return None if evidence is None else [evidence.id]
    return [kept.evidence.id, codec.seal(kept.nonce, kept.evidence.text), codec.digest(kept.body)]
