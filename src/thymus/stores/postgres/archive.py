"""What an audit reads of a PostgreSQL store, row by row, as the role that may read every scope."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from thymus.core.beliefs import Status
from thymus.core.claims import Scope
from thymus.stores import codec
from thymus.stores.audit import Stored
from thymus.stores.ledger import Head
from thymus.stores.postgres.rows import KEY, Rows
from thymus.stores.postgres.schema import SKETCHED
from thymus.stores.sketch import STATUSES, sketch

if TYPE_CHECKING:
    from thymus.stores.postgres.transactions import Transaction

_KNOWN: Final = range(len(STATUSES))
_PAGE: Final = 2_000


class PostgresArchive:
    """One scope as the open transaction sees it (``audit.Archive``).

    :param problems: where it is noted that what retrieval reads does not fit the memories, while these are read.
    """

    def __init__(self, rows: Rows, head: Head, problems: list[str]) -> None:
        self.head = head
        self._rows, self._problems = rows, problems

    def rows(self) -> Iterator[tuple[int, str, bytes]]:
        """The ledger."""
        yield from self._paged("SELECT seq, body, hash FROM ledger", "seq")

    def beliefs(self) -> Iterator[Stored]:
        """All beliefs."""
        _, centre = self._rows.scope_row()
        query = "SELECT seq, id, text, nonce, body, vector, sketch FROM beliefs"
        for seq, belief_id, text, nonce, body, vector, bits in self._paged(query, "seq"):
            found = codec.cooked(belief_id), codec.cooked(text)
            held = b"" if vector is None else vector.to_numpy().tobytes()
            wanted = None if vector is None or centre is None else sketch(vector.to_numpy(), centre)
            if bits != wanted and (vector is None or self.head.beliefs <= SKETCHED):  # a larger scope reads none
                self._problems.append(f"the sketch of the memory {found[0]!r} was changed: retrieval cannot find it")
            yield Stored(place=seq, id=found[0], text=found[1], nonce=nonce, body=body, vector=held)

    def standings(self) -> Iterator[tuple[int, str, Status | None, bool]]:
        """How all beliefs stand."""
        for seq, belief_id, code, erased in self._paged("SELECT seq, id, status, nonce IS NULL FROM beliefs", "seq"):
            yield seq, codec.cooked(belief_id), STATUSES[code] if code in _KNOWN else None, erased

    def evidence(self) -> Iterator[Stored]:
        """All evidence."""
        query = "SELECT entry, id, text, nonce, body FROM evidence"
        for entry, evidence_id, text, nonce, body in self._paged(query, "entry"):
            found = codec.cooked(evidence_id), codec.cooked(text)
            yield Stored(place=entry, id=found[0], text=found[1], nonce=nonce, body=body)

    def seq_of(self, belief_id: str) -> int | None:
        """The seq of a belief."""
        return self._rows.seqs([belief_id]).get(belief_id)

    def judged(self, claim: str, rival: str) -> tuple[int, str] | None:
        """The ledger row and the relation kept of a pair."""
        where = self._rows.seqs([claim, rival])
        if claim not in where or rival not in where:
            return None
        pair = where[claim], where[rival]
        return self._rows.judged([pair]).get(pair)

    def judged_count(self) -> int:
        """How many pairs are kept."""
        return int(self._rows.all(f"SELECT count(*) FROM edges WHERE {KEY}")[0][0])

    def _paged(self, query: str, by: str) -> Iterator[tuple[Any, ...]]:
        after = 0
        while True:
            condition = f" WHERE {KEY} AND {by} > %(after)s ORDER BY {by} LIMIT {_PAGE}"
            found = self._rows.all(query + condition, after=after)
            yield from found
            if len(found) < _PAGE:
                return
            names = query.removeprefix("SELECT ").partition(" FROM ")[0].split(", ")
            after = found[-1][names.index(by)]


def archives(transaction: Transaction, problems: list[str]) -> Iterator[tuple[Scope, PostgresArchive]]:
    """Every scope of the database."""
    for scope, head in scopes(transaction):
        yield scope, PostgresArchive(Rows(transaction, scope), head, problems)


def scopes(transaction: Transaction) -> list[tuple[Scope, Head]]:
    """Every scope with its head, in order of their first act."""
    query = b"SELECT tenant, owner, version, beliefs, hash FROM scopes ORDER BY born"
    return [
        (
            Scope(tenant=codec.cooked(tenant), user=codec.cooked(owner)),
            Head(version=version, beliefs=beliefs, hash=row_hash),
        )
        for tenant, owner, version, beliefs, row_hash in transaction.all(query)
    ]


def lost(transaction: Transaction) -> list[str]:
    """Rows of no scope, and words that are missing from the index."""
    problems = []
    for table in ("ledger", "beliefs", "evidence", "edges"):
        query = f"SELECT count(*) FROM {table} LEFT JOIN scopes USING (tenant, owner) WHERE scopes.born IS NULL"
        [(many,)] = transaction.all(query.encode())
        if many:
            problems.append(f"{many} rows of {table} belong to no scope")
    query = """
        SELECT coalesce(sum(octet_length(terms) / 8 * CASE WHEN voice <> 0 AND status = 0 THEN 2 ELSE 1 END), 0)::bigint
            - (SELECT count(*) FROM postings)
        FROM beliefs
    """
    [(differs,)] = transaction.all(query.encode())
    if differs:
        problems.append(f"the word index differs by {differs} rows from what the memories say")
    return problems
