"""All memories of a store as one readable JSON document, and back."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from thymus.core.beliefs import Belief, Edge, Status
from thymus.core.claims import Scope
from thymus.errors import SchemaError
from thymus.stores import codec
from thymus.stores.ledger import Head
from thymus.stores.memory import KeptEvidence, Memory, Row
from thymus.stores.words import terms

FORMAT: Final = "thymus-memory"
VERSION: Final = 1

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def dump(memories: Mapping[Scope, Memory], settings: Mapping[str, str]) -> str:
    """The document, one value a line; the vectors (float16, base64) come last."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        **settings,
        "scopes": [_scope(scope, memory) for scope, memory in memories.items()],
        "vectors": [_vectors(memory) for memory in memories.values()],
    }
    written = json.dumps(document, ensure_ascii=False, indent=1)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written) + "\n"


def load(written: str) -> tuple[dict[Scope, Memory], dict[str, str]]:
    """The memories and settings of a document.

    :raises SchemaError: it is of a newer Thymus.
    :raises ValueError, LookupError, TypeError, AttributeError: it is not such a document.
    """
    document = json.loads(written)
    if document["format"] != FORMAT:
        raise ValueError("not a Thymus snapshot")
    if document["version"] > VERSION:
        raise SchemaError(
            f"the snapshot has version {document['version']}, and this Thymus knows {VERSION}: "
            "pip install --upgrade thymus-memory"
        )
    settings = {"embedder": str(document["embedder"]), "dim": str(document["dim"])}
    memories = {}
    for fields, vectors in zip(document["scopes"], document["vectors"], strict=True):
        scope = Scope(tenant=fields["tenant"], user=fields["user"])
        memories[scope] = _read_scope(fields, vectors, int(settings["dim"]))
    return memories, settings


def _scope(scope: Scope, memory: Memory) -> dict[str, object]:
    head = memory.head
    return {
        "tenant": scope.tenant,
        "user": scope.user,
        "head": {"version": head.version, "beliefs": head.beliefs, "hash": head.hash.hex()},
        "beliefs": [_belief(row) for row in memory.kept],
        "evidence": [_evidence(kept) for kept in memory.sources.values()],
        "edges": [[entry, *codec.edge_fields(edge)] for entry, edge in memory.edges.values()],
        "ledger": [{"hash": row_hash.hex(), "row": json.loads(body)} for body, row_hash in memory.entries],
    }


def _belief(row: Row) -> dict[str, object]:
    belief = row.belief
    fields = codec.claim_fields(belief.claim)
    return {"id": belief.id, "status": belief.status, "text": belief.claim.text, **fields, "nonce": _hex(row.nonce)}


def _evidence(kept: KeptEvidence) -> dict[str, object]:
    fields = codec.evidence_fields(kept.evidence)
    found = {"id": kept.evidence.id, "text": kept.evidence.text, **fields}
    return {**found, "entry": kept.entry, "nonce": _hex(kept.nonce)}


def _vectors(memory: Memory) -> dict[str, str]:
    rows = ((row.belief.id, row.vector) for row in memory.kept)
    return {name: b64encode(vector.tobytes()).decode() for name, vector in rows if vector is not None}


def _hex(nonce: bytes | None) -> str | None:
    return None if nonce is None else nonce.hex()


def _unhex(nonce: str | None) -> bytes | None:
    return None if nonce is None else bytes.fromhex(nonce)


def _read_scope(fields: Mapping[str, Any], vectors: Mapping[str, str], dim: int) -> Memory:
    head = fields["head"]
    memory = Memory(
        dim=dim, head=Head(version=head["version"], beliefs=head["beliefs"], hash=bytes.fromhex(head["hash"]))
    )
    for seq, found in enumerate(fields["beliefs"], start=1):
        memory.kept.append(_read_belief(found, seq, vectors, dim))
        memory.places[found["id"]] = seq
    for found in fields["evidence"]:
        evidence = codec.read_evidence(found, found["id"], found["text"])
        kept = KeptEvidence(evidence=evidence, nonce=_unhex(found["nonce"]), entry=found["entry"])
        memory.sources[evidence.id] = kept
    for entry, claim, rival, *relation in fields["edges"]:
        edge = Edge(claim=claim, rival=rival, relation=codec.read_relation(relation))
        memory.edges[claim, rival] = (entry, edge)
    for found in fields["ledger"]:
        memory.entries.append((codec.canonical(found["row"]), bytes.fromhex(found["hash"])))
    return memory


def _read_belief(found: dict[str, Any], seq: int, vectors: Mapping[str, str], dim: int) -> Row:
    nonce, text = _unhex(found["nonce"]), found["text"]
    belief = Belief(
        id=found["id"],
        claim=codec.read_claim(found, text),
        status=Status(found["status"]),
        seq=seq,
        erased=nonce is None,
    )
    if nonce is None:
        return Row(belief=belief, nonce=None, vector=None, terms=frozenset())
    vector = np.frombuffer(b64decode(vectors[belief.id], validate=True), dtype=np.float16).reshape(dim)
    return Row(belief=belief, nonce=nonce, vector=vector, terms=frozenset(terms(text)))
