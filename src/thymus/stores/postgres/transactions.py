"""One transaction on a connection of a pool, with as few round trips as there can be.

It begins together with its first query. A connection that was lost since it was last used shows that then, where
nothing was written yet: the next one is taken, and nobody has to look beforehand, which would be a round trip more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import psycopg

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg_pool import ConnectionPool


Values: TypeAlias = Mapping[str, object] | Sequence[object]
"""What is put into a query."""


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
            self._begin()

    @property
    def connection(self) -> Connection[Any]:
        """The connection, on which the transaction has begun."""
        self.begin()
        assert self._connection is not None  # noqa: S101  (for the type)
        return self._connection

    def all(self, query: bytes, values: Values = (), *, last: bool = False) -> list[tuple[Any, ...]]:
        """The rows of a query.

        :param last: nothing is asked afterwards: the transaction ends with it.
        """
        [found] = self.each([(query, values)], last=last)
        return found

    def each(self, queries: Sequence[tuple[bytes, Values]], *, last: bool = False) -> list[list[tuple[Any, ...]]]:
        """The rows of several queries, in one round trip."""
        if self._connection is None:
            return self._begin(queries, last=last)
        assert not self._ended, "a transaction that has ended was asked again"  # noqa: S101
        if len(queries) == 1 and not last:
            return [self._connection.execute(*queries[0], binary=True).fetchall()]
        with self._connection.pipeline():
            cursors = self._send(self._connection, queries, last=last)
        self._ended = last
        return [cursor.fetchall() for cursor in cursors]

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

    def _begin(self, first: Sequence[tuple[bytes, Values]] = (), *, last: bool = False) -> list[list[tuple[Any, ...]]]:
        last = last or (self._once and bool(first))
        for lost in range(self._most + 1):
            self._connection = connection = self._pool.getconn()
            try:
                with connection.pipeline():
                    for statement, values in self._lead:
                        connection.execute(statement, values)
                    cursors = self._send(connection, first, last=last)
            except psycopg.OperationalError:
                if not connection.closed or lost == self._most:
                    raise
                self._release()
                continue
            self._ended = last
            return [cursor.fetchall() for cursor in cursors]
        raise AssertionError("unreachable: the last attempt returns or raises")

    @staticmethod
    def _send(connection: Connection[Any], queries: Sequence[tuple[bytes, Values]], *, last: bool) -> list[Cursor[Any]]:
        cursors = [connection.execute(*query, binary=True) for query in queries]
        if last:
            connection.execute(b"COMMIT")
        return cursors

    def _release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.putconn(connection)
