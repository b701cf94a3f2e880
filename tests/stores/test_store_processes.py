"""Several processes write to one file at once, are killed at any instant, or fork: nothing acknowledged is lost."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import nullcontext
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from thymus.ports import Store
from thymus.stores.jsonfile import JsonFileStore
from thymus.stores.sqlite import SqliteStore
from thymus.testing.conformance import ASHA, DIM, forgotten, told
from thymus.testing.strategies import probe_of

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs fork and SIGKILL")

KILLS = int(os.environ.get("THYMUS_KILLS", "20"))
OPENERS: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda place: SqliteStore(place / "memory.db", embedder="tested", dim=DIM, timeout=60),
    "json": lambda place: JsonFileStore(place / "memory.json", embedder="tested", dim=DIM, timeout=60),
}


@pytest.fixture(scope="module")
def processes() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["thymus.testing.conformance", "thymus.stores.sqlite", "thymus.stores.jsonfile"])
    return context


def write_many(kind: str, place: Path, writer: int, count: int, bulk: bool) -> None:
    store = OPENERS[kind](place)
    with store.bulk() if bulk else nullcontext():
        for at in range(count):
            store.commit(told(f"writer {writer} note {at}"))
            if at % 20 == 0:
                assert store.search(ASHA, probe_of(f"writer {writer} note {at}"), 1)
    store.close()


@pytest.mark.parametrize(("kind", "count"), [("sqlite", 200), ("json", 15)])
def test_writers_lose_nothing(
    kind: str, count: int, tmp_path: Path, processes: multiprocessing.context.ForkServerContext
) -> None:
    writers = [
        processes.Process(target=write_many, args=(kind, tmp_path, writer, count, writer > 0 and kind == "sqlite"))
        for writer in range(3)
    ]
    reader = OPENERS[kind](tmp_path)
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        before = reader.version(ASHA)
        assert reader.version(ASHA) >= before
        assert all("note" in near.belief.claim.text for near in reader.search(ASHA, probe_of("writer 1 note 3"), 5))
        time.sleep(0.02)
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert len(reader.beliefs(ASHA)) == reader.version(ASHA) == 3 * count
    for number in range(3):
        (best, *_) = reader.search(ASHA, probe_of(f"writer {number} note {count - 1}"), 1)
        assert best.belief.id == f"writer {number} note {count - 1}"
    assert reader.verify().ok
    reader.close()


def write_until_killed(kind: str, place: Path, start: int, bulk: bool, acknowledged: Connection) -> None:
    store = OPENERS[kind](place)
    with store.bulk() if bulk else nullcontext():
        for at in range(start, start + 10_000):
            store.commit(told(f"note {at}"))
            acknowledged.send(("told", at))
            if at % 4 == 3:
                store.commit(forgotten(f"note {at - 1}"))
                acknowledged.send(("forgotten", at - 1))


@pytest.mark.parametrize(("kind", "rounds"), [("sqlite", KILLS), ("json", min(KILLS, 5))])
def test_killed_writers_lose_nothing(
    kind: str, rounds: int, tmp_path: Path, processes: multiprocessing.context.ForkServerContext
) -> None:
    chance = random.Random(rounds)
    alive: set[int] = set()
    erased: set[int] = set()
    start = 0
    for round_ in range(rounds):
        ours, theirs = processes.Pipe(duplex=False)
        bulk = kind == "sqlite" and round_ % 2 == 1
        writer = processes.Process(target=write_until_killed, args=(kind, tmp_path, start, bulk, theirs))
        writer.start()
        theirs.close()
        what, at = ours.recv()
        time.sleep(chance.uniform(0, 0.06))
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGKILL)
        while True:
            (alive if what == "told" else erased).add(at)
            try:
                what, at = ours.recv()
            except (EOFError, ConnectionResetError):
                break
        writer.join()
        start = (max(alive) // 4 + 2) * 4
        store = OPENERS[kind](tmp_path)
        kept = {belief.id: belief for belief in store.beliefs(ASHA)}
        assert {f"note {at}" for at in alive} <= kept.keys()
        assert all(kept[f"note {at}"].erased for at in erased)
        assert store.verify().problems == ()
        store.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_opens_anew(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db", embedder="tested", dim=DIM)
    store.commit(told("before"))
    assert store.search(ASHA, probe_of("before"), 1)
    inherited = store._connection
    child = os.fork()
    if child == 0:
        code = 1
        try:
            store.commit(told("in the child"))
            (near, *_) = store.search(ASHA, probe_of("in the child"), 1)
            code = 0 if near.belief.seq == 2 and store._connection is not inherited else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    store.commit(told("after"))
    assert [belief.id for belief in store.beliefs(ASHA)] == ["before", "in the child", "after"]
    assert store.search(ASHA, probe_of("in the child"), 1)[0].belief.id == "in the child"
    assert store.verify().ok
    store.close()
