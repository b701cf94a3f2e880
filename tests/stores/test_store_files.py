"""Files that cannot be used, disks that are full, erased bytes, older and newer schemas: each says what would help."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from thymus.core.beliefs import Status
from thymus.errors import SchemaError, StoreCorruptError, StoreError, StoreFullError, StoreLockedError
from thymus.ports import Store
from thymus.stores import schema
from thymus.stores.jsonfile import JsonFileStore
from thymus.stores.sqlite import SqliteStore
from thymus.testing.conformance import ASHA, DIM, forgotten, told
from thymus.testing.strategies import probe_of


def open_sqlite(path: Path, timeout: float = 0.05) -> SqliteStore:
    return SqliteStore(path, embedder="tested", dim=DIM, timeout=timeout)


def open_json(path: Path, timeout: float = 0.05) -> JsonFileStore:
    return JsonFileStore(path, embedder="tested", dim=DIM, timeout=timeout)


OPENERS: list[Callable[[Path], Store]] = [open_sqlite, open_json]


@pytest.mark.parametrize("opener", OPENERS)
def test_a_folder_is_no_file(opener: Callable[[Path], Store], tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="name a file in it"):
        opener(tmp_path)


@pytest.mark.parametrize("opener", OPENERS)
def test_a_folder_must_exist(opener: Callable[[Path], Store], tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="create it"):
        opener(tmp_path / "nowhere" / "memory")


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("name", [":memory:", "a\0b"])
def test_a_name_must_be_one(opener: Callable[[Path], Store], name: str) -> None:
    with pytest.raises(StoreError, match="not a file name"):
        opener(Path(name))


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("content", [b"hello, this is a letter\n" * 99, b"\xff\xfe\x00" * 999, b"[]", b"{}"])
def test_another_file_is_refused_and_left_alone(
    opener: Callable[[Path], Store], content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "letter"
    path.write_bytes(content)
    with pytest.raises(StoreCorruptError, match="another path"):
        opener(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("opener", OPENERS)
def test_an_empty_file_becomes_a_store(opener: Callable[[Path], Store], tmp_path: Path) -> None:
    path = tmp_path / "memory"
    path.touch()
    store = opener(path)
    assert store.commit(told("one")) == 1
    store.close()


@pytest.mark.parametrize("opener", OPENERS)
def test_a_closed_store_says_so(opener: Callable[[Path], Store], tmp_path: Path) -> None:
    store = opener(tmp_path / "memory")
    store.close()
    with pytest.raises(StoreError, match="open it again"):
        store.version(ASHA)


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE theirs (a)")
    with pytest.raises(StoreCorruptError, match="another program"):
        open_sqlite(path)


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = open_sqlite(path)
    for at in range(40):
        store.commit(told(f"note {at}"))
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    with pytest.raises(StoreCorruptError, match="backup"):
        open_sqlite(path).beliefs(ASHA)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    open_sqlite(path).close()
    with closing(sqlite3.connect(path)) as newer:
        newer.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}")
    with pytest.raises(SchemaError, match="upgrade"):
        open_sqlite(path)


def test_an_older_schema_is_migrated_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    store = open_sqlite(path)
    store.commit(told("one"))
    store.close()
    good = "ALTER TABLE settings ADD COLUMN extra TEXT;\n"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, good, "CREATE TABLE more (a);\nNONSENSE;\n"))
    with pytest.raises(StoreError):
        open_sqlite(path)
    with closing(sqlite3.connect(path)) as half:
        assert half.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS) - 2,)
        assert half.execute("SELECT name FROM sqlite_master WHERE name = 'more'").fetchone() is None
    monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:-1])
    connection = schema.connect(path, timeout=1)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS),)
    assert connection.execute("SELECT extra FROM settings").fetchall() == [(None,), (None,)]
    connection.close()


def test_a_newer_snapshot_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory.json"
    open_json(path).close()
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 99}))
    with pytest.raises(SchemaError, match="upgrade"):
        open_json(path)


def test_a_full_disk_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db")
    store.commit(told("one"))
    connection = store._connection
    assert connection is not None
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(StoreFullError, match="free some space"):
        store.commit(told("long " * 9_999, name="two"))
    connection.execute("PRAGMA max_page_count = 1000000")
    assert store.version(ASHA) == 1
    assert store.commit(told("three")) == 2
    assert store.verify().ok
    store.close()


def test_a_full_disk_leaves_the_snapshot_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_json(tmp_path / "memory.json")
    store.commit(told("one"))
    before = store.path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(StoreFullError, match="free some space"):
            store.commit(told("two"))
    assert store.path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == [".memory.json.lock", "memory.json"]
    assert [belief.id for belief in store.beliefs(ASHA)] == ["one"]
    assert store.commit(told("two")) == 2


def test_a_locked_database_is_named(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db")
    store.commit(told("one"))
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLockedError, match="longer timeout"):
            store.commit(told("two"))
        assert [belief.id for belief in store.beliefs(ASHA)] == ["one"]
    assert store.commit(told("two")) == 2
    store.close()


def test_a_locked_snapshot_is_named(tmp_path: Path) -> None:
    store, other = open_json(tmp_path / "memory.json"), open_json(tmp_path / "memory.json")
    with other.bulk():
        with pytest.raises(StoreLockedError, match="longer timeout"):
            store.commit(told("two"))
        assert store.beliefs(ASHA) == []
    assert store.commit(told("two")) == 1
    assert other.version(ASHA) == 1


def test_a_file_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db")
    store.commit(told("one"))
    assert store._connection is not None
    store._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match="writable"):
        store.commit(told("two"))
    assert store.version(ASHA) == 1
    store.close()


def test_another_process_changes_the_snapshot(tmp_path: Path) -> None:
    store, other = open_json(tmp_path / "memory.json"), open_json(tmp_path / "memory.json")
    store.commit(told("one"))
    assert other.commit(told("two")) == 2
    assert [belief.id for belief in store.beliefs(ASHA)] == ["one", "two"]
    store.path.unlink()
    assert store.beliefs(ASHA) == []


def test_a_snapshot_can_be_read(tmp_path: Path) -> None:
    store = open_json(tmp_path / "memory.json")
    store.commit(told("部屋は 2A \ud800"))
    written = store.path.read_text(encoding="utf-8")
    assert '   "text": "部屋は 2A \\ud800",\n' in written
    assert json.loads(written)["scopes"][0]["user"] == "asha"
    if os.name != "nt":
        store.path.chmod(0o600)
        store.commit(told("two"))
        assert store.path.stat().st_mode & 0o777 == 0o600


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


@pytest.mark.parametrize("opener", OPENERS)
def test_erased_bytes_are_gone_from_the_files(opener: Callable[[Path], Store], tmp_path: Path) -> None:
    store = opener(tmp_path / "memory")
    texts = [f"Passphrase zebra{at:03} " + "x" * (37 * at % 1_500) for at in range(60)]
    with store.bulk():
        for at, text in enumerate(texts):
            store.commit(told(text, name=f"n{at}"))
    vectors = {name: vector.astype(np.float16).tobytes() for name, vector in store.vectors(ASHA, ["n7"]).items()}
    assert all(text.encode() in bytes_of(tmp_path) for text in texts)
    gone = [at for at in range(60) if at % 3]
    store.commit(forgotten(*(f"n{at}" for at in gone[:20])))
    for at in gone[20:]:
        store.commit(forgotten(f"n{at}"))
    left = bytes_of(tmp_path)
    assert [at for at in gone if f"zebra{at:03}".encode() in left] == []
    assert vectors["n7"] not in left
    assert all(texts[at].encode() in left for at in range(0, 60, 3))
    assert store.verify().ok
    assert store.search(ASHA, probe_of("zebra007"), 60, statuses=frozenset({Status.RETRACTED})) == []
    store.close()


def test_bulk_ends_durable(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db")
    assert store._connection is not None
    with store.bulk():
        with store.bulk():
            store.commit(told("one"))
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (1,)
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    with pytest.raises(ZeroDivisionError), store.bulk():
        store.commit(told("two" * (1 // 0)))
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert store.version(ASHA) == 1
    store.close()
