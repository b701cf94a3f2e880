"""The tables of a SQLite store, and how a file is opened, created and brought up to date.

A *place* is an integer that holds the scope's number and a count within the scope: ``scope << 40 | count``. It makes
each scope one unbroken range of every table, so that no query can reach into another's. Text that comes from outside is
kept as UTF-8 bytes: SQLite's TEXT cannot carry every string that Python can.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from thymus.errors import SchemaError, StoreCorruptError, StoreError
from thymus.stores.faults import check_path, fault, translated

APPLICATION_ID: Final = 0x54687973
"""``Thys`` in ASCII, in the file's header."""

_SCOPE_BITS: Final = 40

_VERSION_1 = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

-- name: canonical JSON [tenant, user]; version, hash: of the last ledger row; centre: float32, see sketch.py.
CREATE TABLE scopes (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL, beliefs INTEGER NOT NULL, hash BLOB NOT NULL, centre BLOB
) STRICT;

CREATE TABLE ledger (place INTEGER PRIMARY KEY, body TEXT NOT NULL, hash BLOB NOT NULL) STRICT;

-- Which later ledger rows changed a belief; the row of its birth is beliefs.entry.
CREATE TABLE moves (entry INTEGER, belief INTEGER, PRIMARY KEY (entry, belief)) STRICT, WITHOUT ROWID;
CREATE INDEX moves_of_belief ON moves (belief);

-- place: of the ledger row that brought it.
CREATE TABLE evidence (
    place INTEGER PRIMARY KEY, scope INTEGER NOT NULL, id BLOB NOT NULL,
    body TEXT NOT NULL, nonce BLOB, text BLOB NOT NULL, UNIQUE (scope, id)
) STRICT;

-- What was said never changes, but for erasure: then nonce is NULL and text empty.
CREATE TABLE beliefs (
    place INTEGER PRIMARY KEY, scope INTEGER NOT NULL, id BLOB NOT NULL, evidence BLOB NOT NULL,
    entry INTEGER NOT NULL, body TEXT NOT NULL, nonce BLOB, text BLOB NOT NULL, UNIQUE (scope, id)
) STRICT;
CREATE INDEX beliefs_of_evidence ON beliefs (scope, evidence);

-- owner: 0 for the user's own, else a digest of the origins.
-- sketch: see sketch.py; empty while the scope has no centre, NULL once erased.
CREATE TABLE standings (
    place INTEGER PRIMARY KEY, status INTEGER NOT NULL, owner INTEGER NOT NULL, sketch BLOB
) STRICT;

-- vector: float16; terms: 64-bit digests of the words.
CREATE TABLE vectors (place INTEGER PRIMARY KEY, vector BLOB NOT NULL, terms BLOB NOT NULL) STRICT;

-- term: digest of a word, mixed with its scope and a class of beliefs; owner: as above.
CREATE TABLE postings (
    term INTEGER, place INTEGER, owner INTEGER NOT NULL, PRIMARY KEY (term, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE edges (
    claim INTEGER, rival INTEGER, entry INTEGER NOT NULL, relation TEXT NOT NULL, PRIMARY KEY (claim, rival)
) STRICT, WITHOUT ROWID;
CREATE INDEX edges_of_rival ON edges (rival);
"""

_VERSION_2 = """
-- Sketches have two bits a dimension from here on. A scope's next act makes them anew; until then vectors are compared.
UPDATE scopes SET centre = NULL;
UPDATE standings SET sketch = x'' WHERE sketch IS NOT NULL;
"""

MIGRATIONS: Final[tuple[str, ...]] = (_VERSION_1, _VERSION_2)
"""SQL from version n to n + 1; each statement's semicolon ends a line. ``PRAGMA user_version`` counts those done."""


def place(scope: int, count: int) -> int:
    """The integer for one thing of a scope. A count too great for any thing stays within the scope."""
    return scope << _SCOPE_BITS | min(count, (1 << _SCOPE_BITS) - 1)


def count(where: int) -> int:
    """The count within its scope."""
    return where & ((1 << _SCOPE_BITS) - 1)


def connect(path: Path, *, timeout: float) -> sqlite3.Connection:
    """Open a connection that keeps what the store promises: WAL, durable commits, erased bytes overwritten.

    :raises StoreError: and its kinds, where the file cannot be used.
    """
    check_path(path)
    with translated(path, timeout):
        if not path.exists():
            with suppress(FileExistsError):  # another process was faster; only this account may read what is remembered
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = sqlite3.connect(
            path, timeout=timeout, isolation_level=None, check_same_thread=False, cached_statements=512
        )
        try:
            _set_up(connection, path, timeout)
        except BaseException:
            connection.close()
            raise
    return connection


def _set_up(connection: sqlite3.Connection, path: Path, timeout: float) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    if owner != APPLICATION_ID and (owner or version or connection.execute("SELECT 1 FROM sqlite_master").fetchone()):
        raise StoreCorruptError(f"{path} is a database of another program: choose another path for the memories")
    _enter_wal(connection, path, timeout)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA cache_size = -32768")
    connection.execute("PRAGMA mmap_size = 67108864")
    connection.execute("PRAGMA wal_autocheckpoint = 4000")
    if version > len(MIGRATIONS):
        raise SchemaError(
            f"{path} has schema version {version}, and this Thymus knows {len(MIGRATIONS)}: "
            "pip install --upgrade thymus-memory"
        )
    if version < len(MIGRATIONS):
        migrate(connection)


def _enter_wal(connection: sqlite3.Connection, path: Path, timeout: float) -> None:
    """Switch to WAL: SQLite does not wait for others here, so we do."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise fault(error, path, timeout) from error
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise StoreError(f"{path} cannot use a write-ahead log: keep it on a local disk, not a network share")
        return


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to the newest version, all or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        for statements in MIGRATIONS[version:]:
            for statement in statements.split(";\n"):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def settle(connection: sqlite3.Connection, path: Path, settings: dict[str, str]) -> None:
    """Write the settings into a new file, or compare them with those it was made with.

    :raises StoreError: the file holds vectors of another embedder.
    """
    kept = dict(connection.execute("SELECT name, value FROM settings"))
    if not kept:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT OR IGNORE INTO settings VALUES (?, ?)", list(settings.items()))
        connection.execute("COMMIT")
        kept = dict(connection.execute("SELECT name, value FROM settings"))
    if kept != settings:
        raise StoreError(other_embedder(os.fspath(path), kept, settings))


def other_embedder(path: str, kept: dict[str, str], asked: dict[str, str]) -> str:
    """The message for a store that was made with another embedder."""
    return (
        f"{path} holds vectors of the embedder {kept.get('embedder')!r} with {kept.get('dim')} dimensions, not of "
        f"{asked['embedder']!r} with {asked['dim']}: open it with that embedder, or export its memories and remember "
        "them in a new store"
    )
