"""How beliefs, evidence, changes and judged pairs are written down: canonical JSON, digests, UTC times, float16.

Canonical JSON is ASCII with sorted keys and no spaces, so that the same content always has the same digest; floats are
written as Python's shortest round-trip form.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from thymus.core.beliefs import Cause, Change, Edge, Status
from thymus.core.claims import Claim, Evidence, Kind, Scope
from thymus.core.provenance import Assurance, Source
from thymus.core.relations import Label, Relation
from thymus.errors import InputError, StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Half: TypeAlias = NDArray[np.float16]
else:
    Half = Any

NONCE_BYTES: Final = 16

_encode = json.JSONEncoder(ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_decode = json.JSONDecoder().raw_decode


def canonical(value: object) -> str:
    """The one way to write a value of strings, numbers, lists and objects."""
    return _encode(value)


def parse(body: str) -> Any:
    """The inverse of ``canonical``."""
    return _decode(body)[0]


def digest(body: str) -> str:
    """SHA-256 of a canonical text, in hex."""
    return sha256(body.encode()).hexdigest()


def seal(nonce: bytes, text: str, vector: bytes = b"") -> str:
    """SHA-256 of a text and its vector behind a nonce, in hex: no help in guessing them once the nonce is gone."""
    return sha256(nonce + sha256(raw(text)).digest() + vector).hexdigest()


def raw(text: str) -> bytes:
    """UTF-8 that also carries lone surrogates, so that no string is refused."""
    return text.encode("utf-8", "surrogatepass")


def cooked(data: bytes) -> str:
    """The inverse of ``raw``."""
    return data.decode("utf-8", "surrogatepass")


def moment(at: datetime) -> str:
    """ISO 8601 in UTC.

    :raises InputError: for a time without a time zone, or outside years 1 to 9999 in UTC.
    """
    if at.utcoffset() is None:
        raise InputError(f"{at.isoformat()} has no time zone: pass datetime.now(timezone.utc) or another aware time")
    try:
        return at.astimezone(UTC).isoformat()
    except OverflowError:
        raise InputError(f"{at.isoformat()} is outside the years 1 to 9999 in UTC: pass another time") from None


read_moment = datetime.fromisoformat


def scope_name(scope: Scope) -> str:
    """A scope as one ASCII string; different scopes never share one."""
    return canonical([scope.tenant, scope.user])


def read_scope(name: str) -> Scope:
    """The inverse of ``scope_name``."""
    tenant, user = parse(name)
    return Scope(tenant=tenant, user=user)


def _source(source: Source) -> list[object]:
    """A source as [channel, identity, assurance], and its display name where it has one."""
    plain: list[object] = [source.channel, source.identity, int(source.assurance)]
    return [*plain, source.name] if source.name else plain


@lru_cache(maxsize=4096)
def _read_source(channel: str, identity: str, assurance: int, name: str = "") -> Source:
    return Source(channel=channel, identity=identity, assurance=Assurance(assurance), name=name)


def claim_fields(claim: Claim) -> dict[str, object]:
    """A claim without its text."""
    return {
        "kind": claim.kind,
        "evidence": claim.evidence_id,
        "span": list(claim.span),
        "source": _source(claim.source),
        "lineage": [_source(source) for source in claim.lineage],
        "observed_at": moment(claim.observed_at),
    }


def read_claim(fields: dict[str, Any], text: str) -> Claim:
    """The inverse of ``claim_fields``."""
    start, end = fields["span"]
    return Claim(
        text=text,
        kind=Kind(fields["kind"]),
        evidence_id=fields["evidence"],
        span=(start, end),
        source=_read_source(*fields["source"]),
        lineage=tuple(_read_source(*source) for source in fields["lineage"]),
        observed_at=read_moment(fields["observed_at"]),
    )


def evidence_fields(evidence: Evidence) -> dict[str, object]:
    """Evidence without its id and text; what was proved of its source only where something was asked."""
    proof = {"proof": list(evidence.source.proof)} if evidence.source.proof else {}
    return proof | {
        "source": _source(evidence.source),
        "lineage": [_source(source) for source in evidence.lineage],
        "observed_at": moment(evidence.observed_at),
    }


def read_evidence(fields: dict[str, Any], evidence_id: str, text: str) -> Evidence:
    """The inverse of ``evidence_fields``."""
    return Evidence(
        id=evidence_id,
        text=text,
        source=replace(_read_source(*fields["source"]), proof=tuple(fields.get("proof", ()))),
        lineage=tuple(_read_source(*source) for source in fields["lineage"]),
        observed_at=read_moment(fields["observed_at"]),
    )


def change_fields(change: Change) -> list[object]:
    """A change as [belief, before, cause, after, rules, by]."""
    return [change.belief, change.before, change.cause, change.after, list(change.rules), list(change.by)]


def read_change(fields: Sequence[Any]) -> Change:
    """The inverse of ``change_fields``."""
    belief, before, cause, after, rules, by = fields
    return Change(
        belief=belief,
        before=None if before is None else Status(before),
        cause=Cause(cause),
        after=Status(after),
        rules=tuple(rules),
        by=tuple(by),
    )


def relation_fields(relation: Relation) -> list[object]:
    """A relation as [label, confidence, contradiction, judge, because]."""
    confidence, contradiction = float(relation.confidence), float(relation.contradiction)
    return [relation.label, confidence, contradiction, relation.judge, relation.because]


def read_relation(fields: Sequence[Any]) -> Relation:
    """The inverse of ``relation_fields``."""
    label, confidence, contradiction, judge, because = fields
    return Relation(
        label=Label(label), confidence=confidence, contradiction=contradiction, judge=judge, because=because
    )


def edge_fields(edge: Edge) -> list[object]:
    """An edge as [claim, rival, label, confidence, contradiction, judge, because]."""
    return [edge.claim, edge.rival, *relation_fields(edge.relation)]


def half(vector: object, dim: int) -> Half:
    """The vector as it is kept.

    :raises StoreError: where it is not one row of ``dim`` finite numbers.
    """
    try:
        single = np.asarray(vector, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise StoreError(f"a vector must be {dim} numbers: pass what the embedder of this store returns") from error
    if single.shape != (dim,) or not np.isfinite(single).all() or np.abs(single).max(initial=0.0) > 1.001:
        raise StoreError(
            f"a vector of shape {single.shape} is not {dim} finite numbers of unit length: "
            "pass what the embedder of this store returns"
        )
    return single.astype(np.float16)
