"""One transaction on a connection of a pool, with as few round trips as there can be.

It begins together with its first query. A connection that was lost since it was last used shows that then, where
nothing was written yet: the next one is taken, and nobody has to look beforehand, which would be a round trip more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import psycopg

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg_pool import ConnectionPool


class Transaction:
    """Begins with the first query, or when it is told to.

    :param lead: what begins it; nothing of it writes.
    :param once: it has one query at most, and ends with it.
    :param most: connections in the pool: so many may have been lost.
    """

    def __init__(
        self,
        pool: ConnectionPool[Connection[Any]],
        lead: Sequence[tuple[bytes, Sequence[object]]],
        *,
        once: bool,
        most: int,
    ) -> None:
        self._pool, self._lead, self._once, self._most = pool, lead, once, most
        self._connection: Connection[Any] | None = None
        self._ended = False

    def begin(self) -> None:
        """Begin now: what was to begin it has happened when this returns."""
        if self._connection is None:
            self._begin(None)

    @property
    def connection(self) -> Connection[Any]:
        """The connection, on which the transaction has begun."""
        self.begin()
        assert self._connection is not None  # noqa: S101  (for the type)
        return self._connection

    def all(self, query: bytes, values: Mapping[str, object] | Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        if self._connection is None:
            cursor = self._begin((query, values))
            assert cursor is not None  # noqa: S101  (for the type)
            return cursor.fetchall()
        assert not self._ended, "a transaction for one query has had it"  # noqa: S101
        return self._connection.execute(query, values, binary=True).fetchall()

    def commit(self) -> None:
        """End it; what was written is on the database's disk."""
        if self._connection is not None:
            if not self._ended:
                self._connection.execute(b"COMMIT")
            self._release()

    def undo(self) -> None:
        """End it as if it had not been."""
        if self._connection is not None:
            try:
                if not self._connection.closed:
                    self._connection.execute(b"ROLLBACK")
            finally:
                self._release()

    def _begin(self, first: tuple[bytes, Mapping[str, object] | Sequence[object]] | None) -> Cursor[Any] | None:
        for lost in range(self._most + 1):
            self._connection, cursor = self._pool.getconn(), None
            try:
                with self._connection.pipeline():
                    for statement, values in self._lead:
                        self._connection.execute(statement, values)
                    if first is not None:
                        cursor = self._connection.execute(*first, binary=True)
                        if self._once:
                            self._connection.execute(b"COMMIT")
            except psycopg.OperationalError:
                if not self._connection.closed or lost == self._most:
                    raise
                self._release()
                continue
            self._ended = self._once and first is not None
            return cursor
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.putconn(connection)
