"""The store for teams: one PostgreSQL database, for any number of users, threads, processes and machines.

A commit is one transaction: it waits for other writers of its scope (an advisory lock), and is on the database's disk
when it returns. Reads see one moment. Every transaction works as a role that row-level security binds to the one scope
it names; only ``verify`` and ``scopes`` read across, as another role that writes nothing.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import psycopg
from pgvector.psycopg import register_vector
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool

from thymus.core.beliefs import Belief, Edge, Revision, Status
from thymus.core.claims import Evidence, Scope
from thymus.errors import ConfigError, StoreError
from thymus.ports import Entry, Neighbour, Probe, Vector, Verification, Voice
from thymus.stores import audit, codec, index, ledger
from thymus.stores.ledger import Head
from thymus.stores.postgres import archive, schema
from thymus.stores.postgres.faults import translated
from thymus.stores.postgres.rows import KEY, Rows
from thymus.stores.postgres.shelf import KeptSketches, PostgresShelf
from thymus.stores.postgres.transactions import Transaction
from thymus.stores.sketch import CODES
from thymus.stores.voices import voices

if TYPE_CHECKING:
    from psycopg import Connection

MOST: Final = 10
"""Connections that one process keeps, at most."""
_PAGE: Final = 500

_READING: Final = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_SETTINGS: Final = (
    b"SELECT set_config('role', %s, true), set_config('thymus.tenant', %s, true), "
    b"set_config('thymus.owner', %s, true), set_config('lock_timeout', %s, true), "
    b"set_config('synchronous_commit', %s, true), set_config('hnsw.iterative_scan', %s, true)"
)

logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())


class PostgresStore:
    """A ``Store`` in a PostgreSQL database, which is made ready where it is empty.

    :param url: ``postgresql://USER@HOST/DATABASE``, or any other connection string of libpq.
    :param embedder: name of the embedder whose vectors it keeps.
    :param dim: their length.
    :param timeout: seconds to wait for a connection, and for another writer of the same scope.
    :param most: connections that this process keeps at most.
    :raises StoreError: and its kinds, where the database cannot be used; the message says what would do.
    """

    def __init__(
        self, url: str, *, embedder: str = "e5-small", dim: int = 384, timeout: float = 10.0, most: int = MOST
    ) -> None:
        self._url = url
        self.name = _shown(url)
        self.embedder, self.dim, self.timeout, self._most = embedder, dim, timeout, most
        self._lock = threading.Lock()
        self._bulks = 0
        self._closed = False
        self._pool: ConnectionPool[Connection[Any]] | None = None
        self._kept = KeptSketches()
        self._pid = os.getpid()
        with translated(self.name, timeout), self._connect() as connection:
            schema.settle(connection, self.name, embedder, dim)
        self._pooled()

    def rivals(self, scope: Scope, probes: Sequence[Probe], k: int) -> tuple[list[list[Neighbour]], int]:
        """See ``Store.rivals``."""
        with self._reading(scope) as rows:
            if not probes or k < 1:
                return [[] for _ in probes], (rows.head() or Head()).version
            shelf = PostgresShelf(rows, self._kept, dim=self.dim)
            return index.rivals(shelf, probes, k), shelf.version

    def search(
        self, scope: Scope, probe: Probe, k: int, *, statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    ) -> list[Neighbour]:
        """See ``Store.search``."""
        with self._reading(scope) as rows:
            return index.search(PostgresShelf(rows, self._kept, dim=self.dim, ends=True), probe, k, statuses)

    def commit(self, revision: Revision, *, expecting: int | None = None) -> int:
        """See ``Store.commit``.

        Where the connection is lost while the database is asked to commit, nobody knows whether it did: the error says
        so, and the same message handed in again is not written twice.
        """
        with self._writing(revision.scope) as rows:
            stood, centre = rows.scope_row()
            head = stood or Head()
            if expecting is not None and head.version != expecting:
                raise ledger.stale(head.version, expecting)
            standing = rows.standing(ledger.mentioned(revision))
            where = {name: stored.seq for name, stored in standing.items()}
            pairs = [(edge.claim, edge.rival) for edge in revision.edges if edge.claim in where and edge.rival in where]
            judged = rows.judged((where[claim], where[rival]) for claim, rival in pairs)
            evidence = revision.evidence
            plan = ledger.plan(
                revision,
                head=head,
                standing=standing,
                has_evidence=evidence is not None and rows.has_evidence(evidence.id),
                judged={
                    (claim, rival): codec.read_relation(codec.parse(judged[where[claim], where[rival]][1]))
                    for claim, rival in pairs
                    if (where[claim], where[rival]) in judged
                },
                dim=self.dim,
            )
            if plan is None:
                return head.version
            rows.carry_out(plan, centre)
        if plan.erased:
            self._kept.drop(revision.scope)
        return plan.head.version

    def get(self, scope: Scope, ids: Sequence[str]) -> dict[str, Belief]:
        """See ``Store.get``."""
        with self._reading(scope, once=True) as rows:
            found = rows.beliefs("AND id = ANY(%(ids)s)", ids=[codec.raw(id_) for id_ in ids]) if ids else []
        by_id = {belief.id: belief for belief in found}
        return {belief_id: by_id[belief_id] for belief_id in ids if belief_id in by_id}

    def vectors(self, scope: Scope, ids: Sequence[str]) -> dict[str, Vector]:
        """See ``Store.vectors``."""
        query = f"SELECT id, vector FROM beliefs WHERE {KEY} AND id = ANY(%(ids)s) AND vector IS NOT NULL"
        with self._reading(scope, once=True) as rows:
            found = {
                codec.cooked(id_): vector.to_numpy().astype(np.float32)
                for id_, vector in rows.all(query, ids=[codec.raw(id_) for id_ in ids])
            }
        return {belief_id: found[belief_id] for belief_id in ids if belief_id in found}

    def evidence(self, scope: Scope, ids: Sequence[str]) -> dict[str, Evidence]:
        """See ``Store.evidence``."""
        with self._reading(scope, once=True) as rows:
            return rows.evidence(ids)

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
        condition = ""
        if newest_first:
            condition += " AND seq < %(after)s" if after > 0 else ""
        else:
            condition += " AND seq > %(after)s"
        if statuses is not None:
            condition += " AND status = ANY(%(codes)s)"
        condition += f" ORDER BY seq {'DESC' if newest_first else 'ASC'} LIMIT %(limit)s"
        with self._reading(scope, once=True) as rows:
            return rows.beliefs(
                condition,
                after=max(0, after),
                codes=[CODES[status] for status in statuses or ()],
                limit=None if limit is None else max(0, limit),
            )

    def brought(self, scope: Scope, ids: Sequence[str], *, limit: int | None = None) -> dict[str, list[Belief]]:
        """See ``Store.brought``."""
        with self._reading(scope, once=True) as rows:
            return rows.brought(ids, limit)

    def edges(self, scope: Scope, ids: Sequence[str]) -> list[Edge]:
        """See ``Store.edges``: ordered by claim, then rival, oldest first."""
        with self._reading(scope, once=True) as rows:
            return rows.edges(ids)

    def entries(self, scope: Scope, *, belief_id: str | None = None, after: int = 0) -> Iterator[Entry]:
        """See ``Store.entries``. Rows are read in portions: what is appended meanwhile is seen too."""
        last = max(0, after)
        while True:
            with self._reading(scope, once=True) as rows:
                found = rows.entries(belief_id, last, _PAGE)
            for seq, body, row_hash in found:
                yield ledger.read(body, row_hash)
                last = seq
            if len(found) < _PAGE:
                return

    def sources(self, scope: Scope) -> list[Voice]:
        """See ``Store.sources``."""
        with self._reading(scope, once=True) as rows:
            return voices(rows.said())

    def version(self, scope: Scope) -> int:
        """See ``Store.version``."""
        with self._reading(scope, once=True) as rows:
            head = rows.head()
            return 0 if head is None else head.version

    def scopes(self) -> list[Scope]:
        """See ``Store.scopes``: in order of their first act."""
        with self._auditing() as transaction:
            return [scope for scope, _ in archive.scopes(transaction)]

    def verify(self, scope: Scope | None = None) -> Verification:
        """See ``Store.verify``."""
        problems: list[str] = []
        if scope is not None:
            with self._reading(scope) as rows:
                head = rows.head()
                own = [] if head is None else [(scope, archive.PostgresArchive(rows, head, problems))]
                found = audit.verify(iter(own))
        else:
            with self._auditing() as transaction:
                problems += archive.lost(transaction)
                found = audit.verify(archive.archives(transaction, problems))
        return Verification(entries=found.entries, beliefs=found.beliefs, problems=(*problems, *found.problems))

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """See ``Store.bulk``. A killed process loses nothing within it; a database that crashes may."""
        with self._lock:
            self._bulks += 1
        try:
            yield
        finally:
            with self._lock:
                self._bulks -= 1
                last = self._bulks == 0 and not self._closed
            if last:
                self._flush()

    def load(self, scope: Scope, revisions: Iterable[Revision]) -> int:
        """Write many revisions that only tell what is new, in one transaction and with COPY: to move a store here.

        :returns: the scope's new version.
        :raises StoreError: nothing was written: something in them is stored already, or changes what is.
        """
        with self._writing(scope) as rows:
            return rows.load(revisions, self.dim)

    def close(self) -> None:
        """See ``Store.close``."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None and self._pid == os.getpid():
            pool.close()

    def _connect(self) -> Connection[Any]:
        try:
            connection: Connection[Any] = psycopg.connect(
                self._url, autocommit=True, connect_timeout=max(2, int(self.timeout)), application_name="thymus"
            )
        except psycopg.ProgrammingError as error:
            raise ConfigError(f"{self.name} is no address of a database: {error}") from error
        return connection

    def _configure(self, connection: Connection[Any]) -> None:
        connection.autocommit = True
        connection.execute(f"SET search_path = {schema.SCHEMA}, public".encode())
        register_vector(connection)

    def _pooled(self) -> ConnectionPool[Connection[Any]]:
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {self.name} was closed: open it again")
            if self._pool is None or self._pid != os.getpid():  # a child must not use its parent's connections
                self._pid = os.getpid()
                self._pool = ConnectionPool(
                    self._url,
                    kwargs={"autocommit": True, "application_name": "thymus"},
                    min_size=1,
                    max_size=self._most,
                    timeout=self.timeout,
                    configure=self._configure,
                    name="thymus",
                    open=True,
                )
            return self._pool

    @contextmanager
    def _transaction(
        self, begin: bytes, role: str, scope: Scope | None = None, *, once: bool = False, locked: bool = False
    ) -> Iterator[Transaction]:
        key = ("", "") if scope is None else (codec.raw(scope.tenant).hex(), codec.raw(scope.user).hex())
        wait = str(int(self.timeout * 1000))
        settings = (role, *key, wait, "off" if self._bulks else "on", "relaxed_order")
        lead: list[tuple[bytes, Sequence[object]]] = [(begin, ()), (_SETTINGS, settings)]
        if locked and scope is not None:
            lead.append((b"SELECT pg_advisory_xact_lock(%s)", (_lock_of(scope),)))
        with translated(self.name, self.timeout):
            transaction = Transaction(self._pooled(), lead, once=once, most=self._most)
            try:
                yield transaction
            except BaseException:
                transaction.undo()
                raise
            transaction.commit()

    @contextmanager
    def _reading(self, scope: Scope, *, once: bool = False) -> Iterator[Rows]:
        """One moment of the store, whatever others write.

        :param once: there is one query at most, which then takes one round trip.
        """
        with self._transaction(_READING, schema.WRITER, scope, once=once) as transaction:
            yield Rows(transaction, scope)

    @contextmanager
    def _writing(self, scope: Scope) -> Iterator[Rows]:
        """All or nothing, and no other writer of this scope meanwhile."""
        with self._transaction(b"BEGIN", schema.WRITER, scope, locked=True) as transaction:
            transaction.begin()
            yield Rows(transaction, scope)

    def _auditing(self) -> AbstractContextManager[Transaction]:
        """One moment of every scope, to be read only."""
        return self._transaction(_READING, schema.AUDITOR)

    def _flush(self) -> None:
        """Make what was committed before durable: a transaction that waits for the disk takes all before it along."""
        with self._transaction(b"BEGIN", schema.WRITER) as transaction:
            transaction.all(b"SELECT pg_current_xact_id()::text")


def _lock_of(scope: Scope) -> int:
    """The number of the advisory lock of a scope."""
    name = codec.scope_name(scope).encode()
    return int.from_bytes(blake2b(name, digest_size=8, person=b"thymus").digest(), "big", signed=True)


def _shown(url: str) -> str:
    """A connection string without its password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "this address"
    where = parts.get("host") or parts.get("hostaddr") or "localhost"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{where}{port}/{parts.get('dbname') or parts.get('user') or ''}"
