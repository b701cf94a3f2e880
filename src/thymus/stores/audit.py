"""Reads a scope's ledger from its first row to its last and says where it does not fit what is stored.

It finds what was changed behind the store's back by somebody who did not also rewrite the whole chain: without a key or
a copy of a hash kept elsewhere, nobody can tell a history that was rewritten in full. Memory does not grow with the
history, but for one byte a belief.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Protocol

from thymus.core.beliefs import Status
from thymus.core.claims import Scope
from thymus.ports import Verification
from thymus.stores import codec
from thymus.stores.ledger import GENESIS, Head, link

MOST_PROBLEMS: Final = 200
"""Problems listed of one scope; more are only counted as *more*."""

_STATUSES: Final = tuple(Status)
_ERASED: Final = 0x80


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A belief or evidence as it lies in the store; ``nonce`` is ``None`` once it was erased."""

    place: int
    id: str
    text: str
    nonce: bytes | None
    body: str
    vector: bytes = b""


class Archive(Protocol):
    """What an audit reads of one scope, all of it at one version."""

    @property
    def head(self) -> Head:
        """Where the history ends, as it is recorded apart from the ledger."""
        ...

    def rows(self) -> Iterator[tuple[int, str, bytes]]:
        """The ledger's (seq, body, hash) in order."""
        ...

    def beliefs(self) -> Iterator[Stored]:
        """All beliefs by seq."""
        ...

    def evidence(self) -> Iterator[Stored]:
        """All evidence by the ledger row that brought it."""
        ...

    def seq_of(self, belief_id: str) -> int | None:
        """The seq of a belief."""
        ...

    def standings(self) -> Iterator[tuple[int, str, Status | None, bool]]:
        """(seq, id, status, whether it is erased) of all beliefs by seq."""
        ...

    def judged(self, claim: str, rival: str) -> tuple[int, str] | None:
        """The ledger row and the relation (canonical JSON) kept of a pair."""
        ...

    def judged_count(self) -> int:
        """How many pairs are kept."""
        ...


def verify(archives: Iterator[tuple[Scope, Archive]]) -> Verification:
    """Audit every scope."""
    entries = beliefs = 0
    problems: list[str] = []
    for scope, archive in archives:
        audit = _Audit(name=f"scope {scope.tenant!r}/{scope.user!r}", archive=archive)
        found = list(islice(audit.run(), MOST_PROBLEMS + 1))
        problems += found[:MOST_PROBLEMS]
        if len(found) > MOST_PROBLEMS:
            problems.append(f"{audit.name}: more problems, not listed; restore this store from a backup")
        entries += audit.entries
        beliefs += audit.beliefs
    return Verification(entries=entries, beliefs=beliefs, problems=tuple(problems))


@dataclass(slots=True)
class _Audit:
    name: str
    archive: Archive
    entries: int = 0
    beliefs: int = 0
    judged: int = 0
    statuses: bytearray = field(default_factory=bytearray)
    owing: set[str] = field(default_factory=set)
    """Evidence that lies there erased and whose erasure was not told yet."""

    def run(self) -> Iterator[str]:
        archive, previous = self.archive, GENESIS
        stored, evidence = archive.beliefs(), archive.evidence()
        for seq, body, row_hash in archive.rows():
            self.entries += 1
            if seq != self.entries:
                yield f"{self.name}: ledger row {self.entries} is missing, row {seq} comes next"
                self.entries = seq
            if link(previous, body) != row_hash:
                yield f"{self.name}: ledger row {seq} was changed, or does not follow the row before it"
            previous = row_hash
            try:
                row = json.loads(body)
                if row["seq"] != seq:
                    yield f"{self.name}: ledger row {seq} says that it is row {row['seq']}"
                yield from self._evidence(seq, row, evidence)
                yield from self._births(seq, row, stored)
                yield from self._changes(seq, row)
                yield from self._edges(seq, row)
            except (ValueError, KeyError, TypeError, IndexError, AttributeError):
                yield f"{self.name}: ledger row {seq} cannot be read"
        yield from self._end(previous, stored, evidence)

    def _evidence(self, seq: int, row: Mapping[str, Any], stored: Iterator[Stored]) -> Iterator[str]:
        self.owing -= set(row["blanked"])
        told = row["evidence"]
        if told is None or len(told) == 1:
            return
        name = f"{self.name}: evidence {told[0]!r}"
        found = next(stored, None)
        if found is None or (found.place, found.id) != (seq, told[0]):
            yield f"{name} of ledger row {seq} is missing or was moved"
            return
        if codec.digest(found.body) != told[2]:
            yield f"{name} (ledger row {seq}): source, lineage or time was changed"
        if found.nonce is None:
            self.owing.add(found.id)
            if found.text:
                yield f"{name} (ledger row {seq}) was changed: it was forgotten, and has a text again"
        elif codec.seal(found.nonce, found.text) != told[1]:
            yield f"{name} (ledger row {seq}): the text was changed"

    def _births(self, seq: int, row: Mapping[str, Any], stored: Iterator[Stored]) -> Iterator[str]:
        for belief_id, place, sealed, rest in row["beliefs"]:
            self.beliefs += 1
            self.statuses.append(0)
            name = f"{self.name}: memory {belief_id!r} (seq {place}, ledger row {seq})"
            if place != self.beliefs:
                yield f"{name} should have seq {self.beliefs}"
            found = next(stored, None)
            if found is None or (found.place, found.id) != (place, belief_id):
                yield f"{name} is missing or was moved"
                continue
            if codec.digest(found.body) != rest:
                yield f"{name}: kind, source, lineage, span or time was changed"
            if found.nonce is None and (found.text or found.vector):
                yield f"{name} was changed: it was forgotten, and has a text again"
            if found.nonce is not None and codec.seal(found.nonce, found.text, found.vector) != sealed:
                yield f"{name}: the text or the vector was changed"

    def _changes(self, seq: int, row: Mapping[str, Any]) -> Iterator[str]:
        born = {told[0]: told[1] for told in row["beliefs"]}
        for belief_id, before, cause, after, *_ in row["changes"]:
            place = born.get(belief_id) or self.archive.seq_of(belief_id)
            if place is None or not 0 < place <= len(self.statuses):
                yield f"{self.name}: ledger row {seq} changes the memory {belief_id!r}, which does not exist"
                continue
            now = self.statuses[place - 1]
            code = _STATUSES.index(Status(after))
            if before is not None and _STATUSES[now & ~_ERASED] != before:
                yield f"{self.name}: ledger row {seq} moves memory {belief_id!r} by {cause}, but it was not {before}"
            self.statuses[place - 1] = (now & _ERASED) | code
        for belief_id in row["erased"]:
            place = self.archive.seq_of(belief_id)
            if place is not None and 0 < place <= len(self.statuses):
                self.statuses[place - 1] |= _ERASED

    def _edges(self, seq: int, row: Mapping[str, Any]) -> Iterator[str]:
        for claim, rival, *relation in row["edges"]:
            entry, kept = self.archive.judged(claim, rival) or (0, "")
            if entry > seq:
                continue
            self.judged += 1
            if entry < seq or kept != codec.canonical(relation):
                yield f"{self.name}: the judged pair {(claim, rival)} of ledger row {seq} is missing or was changed"

    def _end(self, previous: bytes, stored: Iterator[Stored], evidence: Iterator[Stored]) -> Iterator[str]:
        head = self.archive.head
        if (head.version, head.hash) != (self.entries, previous):
            yield f"{self.name}: the ledger ends at row {self.entries}, but row {head.version} was the last one written"
        for found in stored:
            yield f"{self.name}: memory {found.id!r} (seq {found.place}) is in no ledger row"
        for found in evidence:
            yield f"{self.name}: evidence {found.id!r} is in no ledger row"
        for evidence_id in sorted(self.owing):
            yield f"{self.name}: evidence {evidence_id!r} was erased, and no ledger row says so"
        if head.beliefs != self.beliefs:
            yield f"{self.name}: {head.beliefs} memories were counted, and the ledger tells of {self.beliefs}"
        pairs = self.archive.judged_count()
        if pairs != self.judged:
            yield f"{self.name}: {pairs} judged pairs are kept, and the ledger tells of {self.judged}"
        yield from self._standings()

    def _standings(self) -> Iterator[str]:
        for place, belief_id, stands, erased in self.archive.standings():
            if not 0 < place <= len(self.statuses):
                continue
            told = self.statuses[place - 1]
            status = _STATUSES[told & ~_ERASED]
            if stands is not status:
                yield f"{self.name}: memory {belief_id!r} is {stands}, and the ledger says {status}"
            if erased is not bool(told & _ERASED):
                said = "forgotten" if told & _ERASED else "not forgotten"
                yield f"{self.name}: the ledger says that memory {belief_id!r} was {said}, the store holds otherwise"
