"""The PostgreSQL store, against a real server: it keeps every store's promises, and its rows from other users' eyes."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres_helpers import admin, database
from psycopg import errors

from thymus import MemoryGuard
from thymus.config import open_store
from thymus.core.beliefs import Cause, Status
from thymus.core.claims import Scope
from thymus.errors import ConfigError, MissingExtraError, SchemaError, StoreError, StoreLockedError
from thymus.ports import Store
from thymus.stores.memory import MemoryStore
from thymus.stores.postgres import rows, schema, shelf
from thymus.stores.postgres.store import PostgresStore
from thymus.testing.conformance import (
    ASHA,
    COURIER,
    DIM,
    RAVI,
    STRANGER,
    StoreConformance,
    forgotten,
    judged,
    moved,
    told,
)
from thymus.testing.strategies import Author, probe_of, steps

pytestmark = pytest.mark.xdist_group("postgres")


def open_at(place: Path, **options: Any) -> PostgresStore:
    known: dict[str, Any] = {"embedder": "tested", "dim": DIM}
    return PostgresStore(database(place), **(known | options))


class TestPostgresStore(StoreConformance):
    def open(self, place: Path, *, embedder: str = "tested", dim: int = DIM) -> Store:
        return open_at(place, embedder=embedder, dim=dim)


class TestSketchedPostgres(StoreConformance):
    """The whole suite again, with every scope of more than two beliefs searched by its sketches."""

    @pytest.fixture(autouse=True)
    def _soon_sketched(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rows, "EXACT", 2)

    def open(self, place: Path, *, embedder: str = "tested", dim: int = DIM) -> Store:
        return open_at(place, embedder=embedder, dim=dim)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresStore]:
    with closing(open_at(tmp_path)) as opened:
        yield opened


def fill(store: Store) -> None:
    store.commit(told("The standup is at 9:15"))
    store.commit(told("It moved", source=COURIER, cause=Cause.CONTEST))
    store.commit(replace(told("It is off", source=STRANGER), edges=(judged("It is off", "It moved", 0.8),)))
    store.commit(moved("It moved", Status.CONTESTED, Cause.ACCEPT, Status.ACTIVE))
    store.commit(told("A secret"))
    store.commit(forgotten("A secret"))
    store.commit(told("Elsewhere", scope=RAVI))
    assert store.verify().problems == ()


@settings(max_examples=15)
@given(st.lists(steps, max_size=8))
def test_every_history_reads_as_in_memory(tmp_path_factory: pytest.TempPathFactory, given_steps: Any) -> None:
    """G10, below the guard: the same revisions, and the same answers to the same questions, in the same order."""
    oracle = MemoryStore(embedder="tested", dim=DIM)
    with closing(open_at(tmp_path_factory.mktemp("store"))) as store:
        author = Author(scope=ASHA)
        for step in given_steps:
            revision = author.write(step)
            assert store.commit(revision) == oracle.commit(revision)
        for text in ("standup moves to Friday", "東京 parcel", ""):
            ours, theirs = (one.search(ASHA, probe_of(text), 5, statuses=frozenset(Status)) for one in (store, oracle))
            assert [(near.belief, near.score) for near in ours] == [(near.belief, near.score) for near in theirs]
            near, far = (one.rivals(ASHA, [probe_of(text, COURIER)], 3) for one in (store, oracle))
            assert [[one.belief for one in found] for found in near[0]] == [
                [one.belief for one in found] for found in far[0]
            ]
            assert near[1] == far[1]


# Who may see which row


def as_role(store: PostgresStore, role: str, tenant: str, user: str) -> psycopg.Connection[Any]:
    """A connection of an account that is no superuser and owns nothing, within the scope that it names."""
    connection = psycopg.connect(store._url, autocommit=True)
    connection.execute(f"SET SESSION AUTHORIZATION {role}".encode())
    connection.execute("SET search_path = thymus, public")
    connection.execute("SELECT set_config('thymus.tenant', %s, false)", (tenant.encode().hex(),))
    connection.execute("SELECT set_config('thymus.owner', %s, false)", (user.encode().hex(),))
    return connection


TABLES = ("scopes", "ledger", "evidence", "beliefs", "postings", "edges", "moves")


@pytest.mark.parametrize("table", TABLES)
def test_no_row_of_another_user_is_seen_counted_or_touched(store: PostgresStore, table: str) -> None:
    """G5: even a query that forgets its condition, and a role that tries to get around it."""
    fill(store)
    fill_ravi = told("Ravi's own", scope=RAVI, source=COURIER)
    store.commit(replace(fill_ravi, edges=(judged("Ravi's own", "Elsewhere", 0.9),)))
    store.commit(moved("Ravi's own", Status.ACTIVE, Cause.SUPERSEDE, Status.SUPERSEDED, scope=RAVI))
    with admin(store._url) as everything:
        query = f"SELECT owner, count(*) FROM thymus.{table} GROUP BY owner"
        every = dict(everything.execute(query.encode()).fetchall())
    assert every.keys() == {b"asha", b"ravi"}
    with as_role(store, schema.WRITER, "acme", "asha") as mine:
        seen = mine.execute(f"SELECT owner, count(*) FROM {table} GROUP BY owner".encode()).fetchall()
        assert seen == [(b"asha", every[b"asha"])]
        assert mine.execute(f"SELECT 1 FROM {table} WHERE owner = 'ravi'::bytea".encode()).fetchall() == []
        if table in ("ledger", "moves"):
            with pytest.raises(errors.InsufficientPrivilege):
                mine.execute(f"DELETE FROM {table}".encode())
        else:
            gone = mine.execute(f"DELETE FROM {table} WHERE owner = 'ravi'::bytea".encode())
            assert gone.rowcount == 0
            with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
                mine.execute(f"UPDATE {table} SET owner = 'ravi'::bytea".encode())
        for around in (
            "SET row_security = off",
            f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY",
            f"DROP POLICY one_scope ON {table}",
            "SET ROLE postgres",
            f"SET ROLE {schema.AUDITOR}",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                mine.execute(f"{around}; SELECT * FROM {table}".encode())  # what "off" does is to refuse
    for tenant, user in (("acme", ""), ("", "asha"), ("", ""), ("other", "asha")):
        with as_role(store, schema.WRITER, tenant, user) as nobody:
            assert nobody.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,)


def test_an_owner_who_is_no_superuser_is_bound_too(store: PostgresStore) -> None:
    """FORCE: who owns the tables, as the application's account may, sees nothing without naming a scope."""
    fill(store)
    with admin(store._url) as connection:
        connection.execute(b"CREATE ROLE thymus_landlord NOLOGIN NOSUPERUSER NOBYPASSRLS")
        try:
            connection.execute(b"GRANT USAGE ON SCHEMA thymus TO thymus_landlord")
            for table in TABLES:
                connection.execute(f"ALTER TABLE thymus.{table} OWNER TO thymus_landlord".encode())
            connection.execute(b"SET ROLE thymus_landlord")
            found = [connection.execute(f"SELECT count(*) FROM thymus.{table}".encode()).fetchone() for table in TABLES]
            connection.execute(b"RESET ROLE")
            assert found == [(0,)] * len(TABLES)
        finally:
            connection.execute(b"REASSIGN OWNED BY thymus_landlord TO CURRENT_USER")
            connection.execute(b"DROP OWNED BY thymus_landlord")
            connection.execute(b"DROP ROLE thymus_landlord")


def test_the_auditor_reads_all_and_writes_nothing(store: PostgresStore) -> None:
    fill(store)
    assert store.scopes() == [ASHA, RAVI]
    with as_role(store, schema.AUDITOR, "acme", "asha") as auditor:
        assert auditor.execute("SELECT count(DISTINCT owner) FROM beliefs").fetchone() == (2,)
        for statement in ("DELETE FROM beliefs", "UPDATE ledger SET body = ''", "INSERT INTO settings VALUES ('', '')"):
            with pytest.raises(errors.InsufficientPrivilege):
                auditor.execute(statement.encode())


def test_every_query_runs_as_the_bound_role(store: PostgresStore) -> None:
    with store._reading(ASHA) as rows:
        role = rows.all("SELECT rolname::text, rolbypassrls, rolsuper FROM pg_roles WHERE rolname = current_user")
    assert role == [(schema.WRITER, False, False)]
    with store._pooled().connection() as idle:  # and nothing of a scope stays on a connection
        left = idle.execute("SELECT current_user::text, current_setting('thymus.owner', true)").fetchone()
    assert left is not None
    assert left[0] != schema.WRITER
    assert not left[1]


# What was changed behind its back

TAMPERED = {
    "text": ("UPDATE beliefs SET text = '\\x00' WHERE seq = 1 AND owner = 'asha'", "text or the vector"),
    "vector": (
        "UPDATE beliefs SET vector = vector - vector WHERE seq = 1 AND owner = 'asha'",
        "the text or the vector",
    ),
    "claim": ("UPDATE beliefs SET body = replace(body, 'courier', 'culprit')", "source"),
    "evidence": ("UPDATE evidence SET text = '\\x00' WHERE entry = 1 AND owner = 'asha'", "the text was changed"),
    "status": ("UPDATE beliefs SET status = 1 WHERE seq = 1 AND owner = 'asha'", "and the ledger says active"),
    "ledger row": ("UPDATE ledger SET body = replace(body, 'a-rule', 'b-rule') WHERE seq = 2", "row 2 was changed"),
    "ledger gap": ("DELETE FROM ledger WHERE seq = 3", "row 3 is missing"),
    "pair": ("DELETE FROM edges", "judged pair"),
    "word": ("DELETE FROM postings WHERE seq = 1", "the word index differs"),
    "orphan": ("DELETE FROM scopes WHERE owner = 'ravi'", "belong to no scope"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_change_behind_its_back_is_named(store: PostgresStore, what: str) -> None:
    fill(store)
    statement, problem = TAMPERED[what]
    with admin(store._url) as connection:
        connection.execute(b"SET search_path = thymus, public")
        connection.execute(statement.encode())
    assert any(problem in found for found in store.verify().problems), store.verify().problems


def test_what_is_erased_is_in_no_table(store: PostgresStore) -> None:
    fill(store)
    with admin(store._url) as connection:
        texts = connection.execute("SELECT text FROM thymus.beliefs UNION SELECT text FROM thymus.evidence").fetchall()
        words = connection.execute("SELECT count(*) FROM thymus.beliefs WHERE text = '' AND terms IS NULL").fetchone()
    assert not any(b"secret" in text for (text,) in texts)
    assert words == (1,)


# Writers, faults and set-up


def end_connections(store: PostgresStore) -> None:
    with admin(store._url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_writers_of_one_scope_wait_for_each_other_and_others_do_not(store: PostgresStore) -> None:
    quick = PostgresStore(store._url, embedder="tested", dim=DIM, timeout=0.3)
    with closing(quick), store._writing(ASHA):
        with pytest.raises(StoreLockedError, match=r"locked by another writer for more than 0\.3 s"):
            quick.commit(told("The standup is at 9:15"))
        assert quick.commit(told("Elsewhere", scope=RAVI)) == 1
        assert quick.version(ASHA) == 0  # readers never wait
    assert store.commit(told("The standup is at 9:15")) == 1


def test_many_writers_lose_nothing(store: PostgresStore) -> None:
    def write(number: int) -> None:
        for at in range(10):
            store.commit(told(f"writer {number} says {at}"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.beliefs(ASHA)) == 60
    assert store.version(ASHA) == 60
    assert store.verify().problems == ()


def test_a_connection_that_the_database_ends_is_replaced(store: PostgresStore) -> None:
    store.commit(told("The standup is at 9:15"))
    end_connections(store)
    assert store.version(ASHA) == 1
    assert store.commit(told("It moved")) == 2


def test_a_write_whose_connection_is_lost_is_written_once_or_not_at_all(store: PostgresStore) -> None:
    revision = told("The standup is at 9:15")

    def cut_off() -> None:
        with store._writing(ASHA) as rows:
            end_connections(store)
            rows.head()

    with pytest.raises(StoreError, match=r"takes no connection|cannot be reached"):
        cut_off()
    assert store.version(ASHA) == 0
    assert store.commit(revision) == 1
    assert store.commit(revision) == 1


def test_a_bulk_load_reads_as_commits_do(store: PostgresStore, tmp_path: Path) -> None:
    revisions = [told(f"crate {number} is green", source=COURIER, minute=number) for number in range(50)]
    with closing(open_at(tmp_path / "other")) as other:
        for revision in revisions:
            other.commit(revision)
        assert store.load(ASHA, revisions) == 50
        assert store.beliefs(ASHA) == other.beliefs(ASHA)
        assert store.search(ASHA, probe_of("crate 7"), 5) == other.search(ASHA, probe_of("crate 7"), 5)
    assert store.verify().problems == ()
    assert store.load(ASHA, [told("crate 99 is red")]) == 51
    for known in (revisions[3], moved("crate 3 is green", Status.ACTIVE, Cause.SUPERSEDE, Status.SUPERSEDED)):
        with pytest.raises(StoreError):
            store.load(ASHA, [told("crate 100 is red"), known])
    assert len(store.beliefs(ASHA)) == 51


def test_a_large_scope_goes_through_the_index(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "SKETCHED", 10)
    monkeypatch.setattr(rows, "SKETCHED", 10)
    for number in range(30):
        store.commit(told(f"crate {number} is green"))
    with admin(store._url) as connection:
        assert connection.execute("SELECT count(*) FROM thymus.beliefs WHERE large").fetchone() == (30,)
    assert store.search(ASHA, probe_of("crate 7 is green"), 1)[0].belief.id == "crate 7 is green"
    near, _ = store.rivals(ASHA, [probe_of("crate 7 is green")], 2)
    assert near[0][0].belief.id == "crate 7 is green"


SKETCHES = f"SELECT owner, count(sketch), count(*) FROM {schema.SCHEMA}.beliefs GROUP BY owner ORDER BY owner"


def test_a_scope_that_grows_is_sketched_whole_and_others_are_not(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "EXACT", 3)
    for number in range(3):
        store.commit(told(f"crate {number} is green"))
        store.commit(told(f"box {number} is green", scope=RAVI))
    store.commit(forgotten("crate 1 is green"))
    with admin(store._url) as connection:
        assert connection.execute(SKETCHES).fetchall() == [(b"asha", 0, 3), (b"ravi", 0, 3)]
        store.commit(told("crate 3 is red"))
        assert connection.execute(SKETCHES).fetchall() == [(b"asha", 3, 4), (b"ravi", 0, 3)]
        store.commit(told("crate 4 is red"))
        store.load(ASHA, [told("crate 5 is red")])
        assert store.load(RAVI, [told(f"box {number} is red", scope=RAVI) for number in range(3, 9)]) == 9
        assert connection.execute(SKETCHES).fetchall() == [(b"asha", 5, 6), (b"ravi", 9, 9)]
        store.commit(forgotten("crate 5 is red"))
        assert connection.execute(SKETCHES).fetchall() == [(b"asha", 4, 6), (b"ravi", 9, 9)]
    assert store.search(ASHA, probe_of("crate 4 is red"), 1)[0].belief.id == "crate 4 is red"
    assert len(store.search(RAVI, probe_of("box 4 is red"), 20)) == 9
    assert store.verify().problems == ()


def test_sketches_find_what_comparing_every_vector_finds(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a database of an earlier version too, whose scopes are sketched by their next act."""
    monkeypatch.setattr(rows, "EXACT", 2)
    revisions = [
        told(f"crate {number} holds {number % 7} apples", source=(None, COURIER)[number % 2]) for number in range(60)
    ]
    with closing(MemoryStore(embedder="tested", dim=DIM)) as oracle:
        for revision in revisions:
            oracle.commit(revision)
        store.load(ASHA, revisions)
        with admin(store._url) as connection:
            connection.execute("UPDATE thymus.scopes SET centre = NULL")
            connection.execute("UPDATE thymus.beliefs SET sketch = NULL")
        for extra in ([], [told("crate 60 holds pears")]):
            for revision in extra:
                assert store.commit(revision) == oracle.commit(revision)
            for text in ("crate 7 holds 0 apples", "crate 31 pears"):
                ours, theirs = (one.search(ASHA, probe_of(text), 8) for one in (store, oracle))
                assert [near.belief.id for near in ours] == [near.belief.id for near in theirs]
                ours, theirs = (one.rivals(ASHA, [probe_of(text, COURIER)], 4)[0][0] for one in (store, oracle))
                assert [near.belief.id for near in ours] == [near.belief.id for near in theirs]
    with admin(store._url) as connection:
        assert connection.execute(SKETCHES).fetchall() == [(b"asha", 61, 61)]


def test_sketches_in_memory_are_those_of_the_version_that_is_read(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wrote it: another process, or another thread of this one."""
    monkeypatch.setattr(rows, "EXACT", 2)
    for number in range(4):
        store.commit(told(f"crate {number} is green"))
    assert len(store.search(ASHA, probe_of("crate"), 9)) == 4
    with closing(PostgresStore(store._url, embedder="tested", dim=DIM)) as other:
        other.commit(told("crate 4 is red"))
        other.commit(moved("crate 0 is green", Status.ACTIVE, Cause.SUPERSEDE, Status.SUPERSEDED))
        other.commit(forgotten("crate 1 is green"))
        for one in (store, other):
            found = {near.belief.id for near in one.search(ASHA, probe_of("crate"), 9)}
            assert found == {"crate 2 is green", "crate 3 is green", "crate 4 is red"}


def test_the_sketches_of_scopes_that_were_searched_longest_ago_go(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "EXACT", 2)
    monkeypatch.setattr(shelf, "MOST_SKETCHES", 7)
    scopes = [Scope(tenant="acme", user=name) for name in ("asha", "ravi", "wen")]
    for scope in scopes:
        store.load(scope, [told(f"crate {number} of {scope.user}", scope=scope) for number in range(3)])
    for scope in (*scopes, scopes[1], scopes[0]):
        assert len(store.search(scope, probe_of("crate"), 9)) == 3
    assert list(store._kept._kept) == [scopes[1], scopes[0]]
    assert store._kept._size == 6
    store.commit(forgotten("crate 1 of asha"))  # nothing of it stays, in memory either
    assert list(store._kept._kept) == [scopes[1]]
    assert store._kept._size == 3


@pytest.mark.parametrize(
    "change", ["sketch = set_byte(sketch, 0, 1 - get_byte(sketch, 0) % 2)", "sketch = NULL"], ids=["other", "none"]
)
def test_a_sketch_that_hides_a_memory_is_named(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(rows, "EXACT", 2)
    for number in range(4):
        store.commit(told(f"crate {number} is green"))
    with admin(store._url) as connection:
        connection.execute(f"UPDATE thymus.beliefs SET {change} WHERE seq = 2".encode())
    for problems in (store.verify().problems, store.verify(ASHA).problems):
        assert problems == ("the sketch of the memory 'crate 1 is green' was changed: retrieval cannot find it",)


def test_a_guard_over_it_decides_as_over_a_file(tmp_path: Path) -> None:
    url = database(tmp_path)
    with MemoryGuard(url) as guard, MemoryGuard() as oracle:
        for text, source in (
            ("My standup is at 9:15 in Room 2A.", "user"),
            ("Your standup moved to 7:45.", "email:noreply@calendar-sync.example"),
        ):
            assert guard.remember(text, source=source).effect == oracle.remember(text, source=source).effect
        assert guard.recall("When is my standup?").context == oracle.recall("When is my standup?").context
        assert "7:45" in guard.recall("When is my standup?").notice
        assert guard.for_user("ravi").memories() == []
        assert guard.verify().ok


def test_what_cannot_be_opened_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError, match="cannot be reached"):
        PostgresStore("postgresql://127.0.0.1:1/nothing", timeout=2)
    with pytest.raises((ConfigError, StoreError), match="no address"):
        PostgresStore("postgresql://a:b@[::", timeout=2)
    with closing(open_at(tmp_path)) as store:
        with admin(store._url) as connection:
            connection.execute("UPDATE thymus.settings SET value = '99' WHERE name = 'version'")
        with pytest.raises(SchemaError, match="schema version 99"):
            open_at(tmp_path)
    with pytest.raises(ConfigError, match="mysql://"):
        open_store("mysql://x", MemoryGuard()._parts.embedder)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [name for name in sys.modules if name.startswith("thymus.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r"thymus-memory\[postgres\]"):
        open_store("postgresql://x", MemoryGuard()._parts.embedder)


def test_a_password_is_in_no_message() -> None:
    with pytest.raises(StoreError) as caught:
        PostgresStore("postgresql://asha:hunter2@127.0.0.1:1/db", timeout=2)
    assert "hunter2" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_process_opens_its_own_connections(store: PostgresStore) -> None:
    store.commit(told("The standup is at 9:15"))
    child = os.fork()
    if child == 0:
        try:
            store.commit(told("It moved"))
            os._exit(0)
        except BaseException:  # noqa: BLE001  (a child of a test must not run the tests again)
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert store.version(ASHA) == 2
    assert [belief.id for belief in store.beliefs(ASHA)] == ["The standup is at 9:15", "It moved"]


def test_the_pages_statements_part_the_tables(store: PostgresStore) -> None:
    """What stands in docs/how-to/postgres.md is run on a database that is in use; everything then holds as before."""
    fill(store)
    before = store.verify()
    page = (Path(__file__).parents[2] / "docs/how-to/postgres.md").read_text(encoding="utf-8")
    [statements] = [block for block in page.split("```sql\n")[1:] if "PARTITION BY" in block.split("```")[0]]
    with admin(store._url) as connection:
        connection.execute(statements.split("```")[0].encode())
        parted = connection.execute("SELECT count(*) FROM pg_partitioned_table").fetchone()
        assert parted == (6,)
        policies = "SELECT tablename, policyname, roles, cmd, qual FROM pg_policies WHERE tablename = "
        one, other = (connection.execute((policies + name).encode()).fetchall() for name in ("'beliefs'", "'scopes'"))
        assert sorted(row[1:] for row in one) == sorted(row[1:] for row in other)
    assert store.verify() == before
    version = store.version(ASHA)
    assert store.commit(told("The gate is green")) == version + 1
    assert store.search(ASHA, probe_of("The gate is green"), 3)[0].belief.claim.text == "The gate is green"
    for table in schema._TABLES:
        with store._reading(RAVI) as rows:
            owners = rows.all(f"SELECT DISTINCT owner FROM {table}")
        assert owners in ([], [(b"ravi",)])
    with store._writing(ASHA) as rows, pytest.raises(errors.InsufficientPrivilege):
        rows.run("DELETE FROM ledger")
