"""The default store: one SQLite file, for any number of threads and processes.

Every write is one ``BEGIN IMMEDIATE`` transaction in a write-ahead log. A commit that returned survives the death of
the process at any instant, and a loss of power as well; only within ``bulk()`` a loss of power (not a killed process)
can undo the last commits, until it closes.
"""

from __future__ import annotations

import os
import sqlite3
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Final
from weakref import WeakSet

import numpy as np

from thymus.core.beliefs import Belief, Edge, Revision, Status
from thymus.core.claims import Evidence, Scope
from thymus.errors import StoreError
from thymus.ports import Entry, Neighbour, Probe, Vector, Verification, Voice
from thymus.stores import audit, codec, index, ledger, rows, schema
from thymus.stores.archive import archives, damage
from thymus.stores.faults import translated
from thymus.stores.schema import count, place
from thymus.stores.shelf import SqliteShelf
from thymus.stores.sketch import CODES, EXACT, Sketches
from thymus.stores.voices import voices

MOST_SKETCHES: Final = 64
"""Scopes whose sketches are kept in memory."""
_PAGE: Final = 500

_OPEN: WeakSet[SqliteStore] = WeakSet()
_INHERITED: list[sqlite3.Connection] = []
"""Connections of a parent process: SQLite forbids a child to use them, or even to close them."""


class SqliteStore:
    """A ``Store`` in one file, made where it does not exist.

    :param embedder: name of the embedder whose vectors it keeps.
    :param dim: their length.
    :param timeout: seconds to wait for another process's write.
    :raises StoreError: and its kinds, where the file cannot be used; the message says what would do.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, embedder: str = "e5-small", dim: int = 384, timeout: float = 10.0
    ) -> None:
        self.path = Path(path)
        self.embedder = embedder
        self.dim = dim
        self.timeout = timeout
        self._lock = RLock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        self._bulks = 0
        self._purge_due = False
        self._sketches: OrderedDict[int, Sketches] = OrderedDict()
        self._connected()
        _OPEN.add(self)

    def rivals(self, scope: Scope, probes: Sequence[Probe], k: int) -> tuple[list[list[Neighbour]], int]:
        """See ``Store.rivals``."""
        with self._reading() as connection:
            shelf, version = self._shelf(connection, scope)
            return ([[] for _ in probes] if shelf is None else index.rivals(shelf, probes, k)), version

    def search(
        self, scope: Scope, probe: Probe, k: int, *, statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    ) -> list[Neighbour]:
        """See ``Store.search``."""
        with self._reading() as connection:
            shelf, _ = self._shelf(connection, scope)
            return [] if shelf is None else index.search(shelf, probe, k, statuses)

    def commit(self, revision: Revision, *, expecting: int | None = None) -> int:
        """See ``Store.commit``."""
        with self._writing() as connection:
            found = rows.find_scope(connection, revision.scope)
            number, head = found or rows.add_scope(connection, revision.scope)
            if expecting is not None and head.version != expecting:
                raise ledger.stale(head.version, expecting)
            standing = rows.standing(connection, number, ledger.mentioned(revision))
            where = {name: place(number, stored.seq) for name, stored in standing.items()}
            pairs = [(edge.claim, edge.rival) for edge in revision.edges]
            evidence = revision.evidence
            plan = ledger.plan(
                revision,
                head=head,
                standing=standing,
                has_evidence=evidence is not None and rows.has_evidence(connection, number, evidence.id),
                judged={pair: relation for pair, (_, relation) in rows.judged(connection, where, pairs).items()},
                dim=self.dim,
            )
            if plan is None:
                if found is None:
                    connection.execute("DELETE FROM scopes WHERE id = ?", (number,))
                return head.version
            rows.carry_out(connection, number, revision.scope, plan)
            self._purge_due = self._purge_due or bool(plan.erased)
        self._purge()
        return plan.head.version

    def get(self, scope: Scope, ids: Sequence[str]) -> dict[str, Belief]:
        """See ``Store.get``."""
        with self._reading() as connection:
            number = self._number(connection, scope)
            query = f"SELECT {rows.BELIEF} FROM beliefs JOIN standings USING (place) WHERE scope = ? AND id IN ({{}})"  # noqa: S608
            found = map(rows.read_belief, rows.select_in(connection, query, [number], map(codec.raw, ids)))
            by_id = {belief.id: belief for belief in found}
            return {belief_id: by_id[belief_id] for belief_id in ids if belief_id in by_id}

    def vectors(self, scope: Scope, ids: Sequence[str]) -> dict[str, Vector]:
        """See ``Store.vectors``."""
        query = "SELECT id, vector FROM beliefs JOIN vectors USING (place) WHERE scope = ? AND id IN ({})"
        with self._reading() as connection:
            number = self._number(connection, scope)
            found = {
                codec.cooked(row[0]): np.frombuffer(row[1], dtype=np.float16).astype(np.float32)
                for row in rows.select_in(connection, query, [number], map(codec.raw, ids))
            }
            return {belief_id: found[belief_id] for belief_id in ids if belief_id in found}

    def evidence(self, scope: Scope, ids: Sequence[str]) -> dict[str, Evidence]:
        """See ``Store.evidence``."""
        with self._reading() as connection:
            return rows.read_evidence(connection, self._number(connection, scope), ids)

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
        with self._reading() as connection:
            number = self._number(connection, scope)
            first, last = place(number, max(0, after)), place(number + 1, 0)
            if newest_first:
                first, last = place(number, 0), place(number, after) if after > 0 else last
            query = (
                f"SELECT {rows.BELIEF} FROM standings CROSS JOIN beliefs USING (place) WHERE place > ? AND place < ?"  # noqa: S608
            )
            values: list[object] = [first, last]
            if statuses is not None:
                query += f" AND status IN ({','.join('?' * len(statuses))})"
                values += [CODES[status] for status in statuses]
            query += f" ORDER BY place {'DESC' if newest_first else 'ASC'} LIMIT ?"
            values.append(-1 if limit is None else max(0, limit))
            return [rows.read_belief(row) for row in connection.execute(query, values)]

    def brought(self, scope: Scope, ids: Sequence[str], *, limit: int | None = None) -> dict[str, list[Belief]]:
        """See ``Store.brought``."""
        query = (
            f"SELECT {rows.BELIEF} FROM beliefs JOIN standings USING (place) "  # noqa: S608
            "WHERE beliefs.scope = ? AND beliefs.evidence = ? ORDER BY place LIMIT ?"
        )
        with self._reading() as connection:
            number, most = self._number(connection, scope), -1 if limit is None else limit
            found = {
                id_: [rows.read_belief(row) for row in connection.execute(query, (number, codec.raw(id_), most))]
                for id_ in ids
            }
        return {id_: beliefs for id_, beliefs in found.items() if beliefs}

    def edges(self, scope: Scope, ids: Sequence[str]) -> list[Edge]:
        """See ``Store.edges``: ordered by claim, then rival, oldest first."""
        with self._reading() as connection:
            return rows.read_edges(connection, rows.places(connection, self._number(connection, scope), ids))

    def entries(self, scope: Scope, *, belief_id: str | None = None, after: int = 0) -> Iterator[Entry]:
        """See ``Store.entries``. Rows are read in portions: what is appended meanwhile is seen too."""
        last = max(0, after)
        while True:
            with self._reading() as connection:
                number = self._number(connection, scope)
                found = rows.read_entries(connection, number, belief_id, last, _PAGE)
            for where, body, row_hash in found:
                yield ledger.read(body, row_hash)
                last = count(where)
            if len(found) < _PAGE:
                return

    def sources(self, scope: Scope) -> list[Voice]:
        """See ``Store.sources``."""
        with self._reading() as connection:
            return voices(rows.read_said(connection, self._number(connection, scope)))

    def version(self, scope: Scope) -> int:
        """See ``Store.version``."""
        with self._reading() as connection:
            found = rows.find_scope(connection, scope)
            return 0 if found is None else found[1].version

    def scopes(self) -> list[Scope]:
        """See ``Store.scopes``: in order of their first act."""
        with self._reading() as connection:
            return [codec.read_scope(row[0]) for row in connection.execute("SELECT name FROM scopes ORDER BY id")]

    def verify(self, scope: Scope | None = None) -> Verification:
        """See ``Store.verify``. It reads over a connection of its own, so that others need not wait."""
        with self._lock:
            self._connected()
        own = schema.connect(self.path, timeout=self.timeout)
        with closing(own), translated(self.path, self.timeout):
            own.execute("BEGIN")
            broken = damage(own) if scope is None else []
            found = audit.verify(archives(own, scope))
        return Verification(entries=found.entries, beliefs=found.beliefs, problems=(*broken, *found.problems))

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """See ``Store.bulk``. A killed process loses nothing within it either; a loss of power may."""
        with self._lock:
            self._bulks += 1
            if self._bulks == 1:
                self._connected().execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        except BaseException:
            # What interrupts must get through. A cursor that it left open could make the sync fail and hide it.
            with suppress(StoreError):
                self._end_bulk()
            raise
        self._end_bulk()

    def _end_bulk(self) -> None:
        with self._lock:
            self._bulks = max(0, self._bulks - 1)
            if self._bulks == 0 and not self._closed:
                self._synchronise()

    def close(self) -> None:
        """See ``Store.close``."""
        with self._lock:
            self._closed = True
            connection, self._connection = self._connection, None
            self._sketches.clear()
            if connection is not None:
                with translated(self.path, self.timeout):
                    connection.close()

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError(f"the store {self.path} was closed: open it again")
        if self._connection is None:
            self._connection = schema.connect(self.path, timeout=self.timeout)
            with translated(self.path, self.timeout):
                schema.settle(self._connection, self.path, {"embedder": self.embedder, "dim": str(self.dim)})
        return self._connection

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """One moment of the store, whatever other processes write."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock, translated(self.path, self.timeout):
            connection = self._connected()
            if connection.in_transaction:  # a Ctrl-C fell between a BEGIN and its end
                connection.execute("ROLLBACK")
            try:
                connection.execute(begin)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _number(self, connection: sqlite3.Connection, scope: Scope) -> int:
        """The scope's number; 0, which no scope has, while it is empty."""
        found = rows.find_scope(connection, scope)
        return 0 if found is None else found[0]

    def _shelf(self, connection: sqlite3.Connection, scope: Scope) -> tuple[SqliteShelf | None, int]:
        found = rows.find_scope(connection, scope)
        if found is None:
            return None, 0
        number, head = found
        sketches = self._sketches.get(number)
        centre = rows.centre_of(connection, number) if head.beliefs > EXACT else None
        if sketches is None or sketches.version > head.version or (sketches.centre is None) != (centre is None):
            sketches = Sketches(self.dim, centre)
            self._sketches[number] = sketches
        self._sketches.move_to_end(number)
        while len(self._sketches) > MOST_SKETCHES:
            self._sketches.popitem(last=False)
        shelf = SqliteShelf(connection, scope, number, sketches)
        shelf.refresh(head.version)
        return shelf, head.version

    def _purge(self) -> None:
        """Empty the write-ahead log after an erasure: old pages in it would still hold what was erased."""
        with self._lock, translated(self.path, self.timeout):
            if self._purge_due:
                busy = self._connected().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                self._purge_due = bool(busy)

    def _synchronise(self) -> None:
        """Make everything durable: SQLite syncs the whole log at a commit under FULL."""
        with translated(self.path, self.timeout):
            self._connected().execute("PRAGMA synchronous = FULL")
        with self._writing() as connection:
            connection.execute("UPDATE settings SET value = value")
        with translated(self.path, self.timeout):
            self._connected().execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _forget_parent(self) -> None:
        """In a forked child: open anew at the next call."""
        self._lock = RLock()
        if self._connection is not None:
            _INHERITED.append(self._connection)
        self._connection = None
        self._bulks = 0
        self._sketches = OrderedDict()


def _after_fork() -> None:
    for store in _OPEN:
        store._forget_parent()  # noqa: SLF001


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
