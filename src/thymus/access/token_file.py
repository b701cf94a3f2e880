"""The file of the tokens: a small SQLite database that only its owner may touch, opened anew for every act."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from thymus import config
from thymus.errors import SchemaError, StoreCorruptError, StoreError
from thymus.stores.faults import check_path, os_fault, translated

PATH: Final = "THYMUS_TOKENS"

_WAIT_S: Final = 5.0
_NOTE_WAIT_S: Final = 0.2
_APPLICATION: Final = 0x7468796D
_MIGRATIONS: Final = (
    (
        """
        CREATE TABLE tokens (
            id TEXT PRIMARY KEY, digest BLOB NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,
            created INTEGER NOT NULL, expires INTEGER, revoked INTEGER, used INTEGER
        ) STRICT
        """,
    ),
    (
        f"ALTER TABLE tokens ADD COLUMN tenant TEXT NOT NULL DEFAULT '{config.DEFAULT_TENANT}'",
        "ALTER TABLE tokens ADD COLUMN role TEXT NOT NULL DEFAULT 'owner'",
        "CREATE TABLE keys (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT",
    ),
)
"""SQL from version n to n + 1, in ``user_version``. Whoever writes brings the file up to date."""
_WITH_KEYS: Final = 2
_COOKIES: Final = "cookies"


class TokenFile:
    """The rows of ``Tokens`` (``tokens.Book``).

    Opened anew each time, so that what any process changed, deleted or made unsafe counts at once.

    :raises StoreError: (from every method) it cannot be used; the message says what would do.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def exists(self) -> bool:
        """Whether it was ever made."""
        try:
            return self.path.exists()
        except OSError as error:  # a folder that may not be looked into
            raise StoreError(
                f"{self.path} cannot be reached ({error.strerror}): give this account its folder"
            ) from error

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """A connection, or nothing where there is no file."""
        if not self.exists():
            yield None
            return
        with translated(self.path, _WAIT_S), closing(self._open(_WAIT_S)) as connection:
            yield connection if _is_ours(connection, self.path) else None

    @contextmanager
    def writing(self, *, wait_s: float = _WAIT_S) -> Iterator[sqlite3.Connection]:
        """A connection within a transaction, which is undone where the block fails."""
        with translated(self.path, wait_s), closing(self._open(wait_s)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            made = _is_ours(connection, self.path) and connection.execute("PRAGMA user_version").fetchone()[0]
            if made < len(_MIGRATIONS):
                for statements in _MIGRATIONS[made:]:
                    for statement in statements:
                        connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
            yield connection
            connection.execute("COMMIT")

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep a token; the file is made with the first one."""
        self.make()
        names = ", ".join(row)
        with self.writing() as connection:
            connection.execute(
                f"INSERT INTO tokens ({names}) VALUES ({', '.join('?' * len(row))})",  # noqa: S608  (our own columns)
                tuple(row.values()),
            )

    def row(self, token_id: str) -> Mapping[str, Any] | None:
        """The row of that id."""
        with self.reading() as connection:
            row = connection and connection.execute("SELECT * FROM tokens WHERE id = ?", (token_id,)).fetchone()
        return dict(row) if row else None

    def rows(self) -> list[Mapping[str, Any]]:
        """All of them, the oldest first."""
        with self.reading() as connection:
            rows = connection.execute("SELECT * FROM tokens ORDER BY rowid").fetchall() if connection else []
        return [dict(row) for row in rows]

    def revoke(self, token_id: str, at: int) -> None:
        """Note when it was revoked, unless it was before."""
        with self.writing() as connection:
            connection.execute("UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE id = ?", (at, token_id))

    def use(self, token_id: str, at: int) -> None:
        """Note when it was used; whoever writes at this moment is not waited for."""
        with self.writing(wait_s=_NOTE_WAIT_S) as connection:
            connection.execute("UPDATE tokens SET used = ? WHERE id = ?", (at, token_id))

    def key(self, fresh: bytes) -> bytes:
        """The key of cookies: this one, where none was kept before."""
        asked = "SELECT value FROM keys WHERE name = ?", (_COOKIES,)
        with self.reading() as connection:
            if connection is not None and connection.execute("PRAGMA user_version").fetchone()[0] >= _WITH_KEYS:
                kept = connection.execute(*asked).fetchone()
                if kept:
                    return bytes(kept[0])
        self.make()
        with self.writing() as connection:
            connection.execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (_COOKIES, fresh))
            return bytes(connection.execute(*asked).fetchone()[0])

    def close(self) -> None:
        """Nothing to release."""

    def make(self) -> None:
        """Make the file where it is not there, for its owner alone."""
        if self.exists():
            return
        if self.path.parent == config.default_db().parent:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_path(self.path)
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:  # another process was as quick
            return
        except OSError as error:
            raise os_fault(error, self.path) from error

    def _open(self, wait_s: float) -> sqlite3.Connection:
        _check_private(self.path)
        # mode=rw: a file that goes away at this moment is not made anew, with whatever mode.
        connection = sqlite3.connect(f"{self.path.as_uri()}?mode=rw", uri=True, timeout=wait_s, isolation_level=None)
        connection.row_factory = sqlite3.Row
        return connection


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file holds tokens; an empty one does not yet.

    :raises StoreError: it holds something else.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application == _APPLICATION and 0 < version <= len(_MIGRATIONS):
        return True
    if application == _APPLICATION:
        raise SchemaError(f"{path} was written by a newer Thymus: upgrade with `pip install -U thymus-memory`")
    if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
        raise StoreCorruptError(f"{path} holds no tokens but something else: name another file with --tokens or {PATH}")
    return False


def _check_private(path: Path) -> None:
    """Refuse a file into which others could write a token of their own, or see who comes."""
    try:
        found = path.stat()
    except OSError as error:
        raise os_fault(error, path) from error
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{path} is no file: name another with --tokens or {PATH}")
    if os.name != "posix":
        return
    if found.st_mode & 0o077:
        raise StoreError(f"{path} is open to others, who could let themselves in: `chmod 600 {path}`, then try again")
    if os.geteuid() not in (0, found.st_uid):
        raise StoreError(f"{path} belongs to another account, which could let itself in: `chown` it to your own")
