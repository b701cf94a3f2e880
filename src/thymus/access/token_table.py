"""The tokens of a memory in PostgreSQL, beside it in its database: for servers on several machines.

The tables belong to the account that made the schema. The roles under which memories are read and written see nothing
of them, so that no fault in the store can show or make a token.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from thymus import config
from thymus.errors import ConfigError, MissingExtraError, StoreError

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

MOST: Final = 4
"""Connections that one process keeps for them, at most."""
_TIMEOUT_S: Final = 10.0
_COOKIES: Final = "cookies"
_COLUMNS: Final = {"user": "owner"}
"""Of ``Tokens``, in the words of the table: ``user`` is a word of SQL's own."""


class TokenTable:
    """The rows of ``Tokens`` (``tokens.Book``) in the tables ``thymus.tokens`` and ``thymus.keys``.

    :param url: of the database; one that no memory was kept in yet is made ready.
    :raises StoreError: (from every method) it cannot be used; the message says what would do.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._pool: ConnectionPool[Connection[dict[str, Any]]] | None = None
        self._closed = False

    def exists(self) -> bool:
        """Whether a token was ever kept here."""
        return bool(self._run("SELECT id FROM thymus.tokens LIMIT 1"))

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep a token."""
        names = [_COLUMNS.get(name, name) for name in row]
        places = ", ".join(["%s"] * len(row))
        self._run(f"INSERT INTO thymus.tokens ({', '.join(names)}) VALUES ({places})", *row.values())  # noqa: S608

    def row(self, token_id: str) -> Mapping[str, Any] | None:
        """The row of that id."""
        found = self._run("SELECT *, owner AS user FROM thymus.tokens WHERE id = %s", token_id)
        return found[0] if found else None

    def rows(self) -> list[Mapping[str, Any]]:
        """All of them, the oldest first."""
        return list(self._run("SELECT *, owner AS user FROM thymus.tokens ORDER BY number"))

    def revoke(self, token_id: str, at: int) -> None:
        """Note when it was revoked, unless it was before."""
        self._run("UPDATE thymus.tokens SET revoked = coalesce(revoked, %s) WHERE id = %s", at, token_id)

    def use(self, token_id: str, at: int) -> None:
        """Note when it was used."""
        self._run("UPDATE thymus.tokens SET used = %s WHERE id = %s", at, token_id)

    def key(self, fresh: bytes) -> bytes:
        """The key of cookies: this one, where none was kept before."""
        self._run("INSERT INTO thymus.keys VALUES (%s, %s) ON CONFLICT DO NOTHING", _COOKIES, fresh)
        return bytes(self._run("SELECT value FROM thymus.keys WHERE name = %s", _COOKIES)[0]["value"])

    def close(self) -> None:
        """Release the connections; closing twice is fine."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _run(self, query: str, *values: object) -> list[dict[str, Any]]:
        with self._connected() as connection:
            done = connection.execute(query.encode(), values)
            return done.fetchall() if done.description else []

    @contextmanager
    def _connected(self) -> Iterator[Connection[dict[str, Any]]]:
        from thymus.stores.postgres.faults import translated

        with translated("the database of the tokens", _TIMEOUT_S), self._pooled().connection() as connection:
            yield connection

    def _pooled(self) -> ConnectionPool[Connection[dict[str, Any]]]:
        with self._lock:
            if self._closed:  # a pool opened now would never be closed
                raise StoreError("the tokens were closed: open them again")
            if self._pool is None:
                self._pool = self._open()
            return self._pool

    def _open(self) -> ConnectionPool[Connection[dict[str, Any]]]:
        try:
            import psycopg
            from psycopg.rows import dict_row
            from psycopg_pool import ConnectionPool
        except ImportError as error:
            raise MissingExtraError(
                f"{error.name} is not installed, which PostgreSQL takes: pip install 'thymus-memory[postgres]'"
            ) from error
        try:
            with psycopg.connect(self._url, connect_timeout=int(_TIMEOUT_S)) as connection:
                made = connection.execute("SELECT to_regclass('thymus.keys')").fetchone()
        except psycopg.ProgrammingError as error:
            raise ConfigError("this is no address of a database: postgresql://USER@HOST/DATABASE is one") from error
        if made == (None,):  # a memory that is opened makes the schema, or brings it up to date
            config.open_store(self._url, config.LazyEmbedder(config.DEFAULT_EMBEDDER)).close()
        return ConnectionPool(
            self._url,
            kwargs={"autocommit": True, "application_name": "thymus tokens", "row_factory": dict_row},
            min_size=1,
            max_size=MOST,
            timeout=_TIMEOUT_S,
            check=ConnectionPool.check_connection,
            name="thymus tokens",
            open=True,
        )
