"""One history told through every store and both guards, and what a store owes after a kill or a touch."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thymus import AsyncMemoryGuard, Message
from thymus.stores.sqlite import SqliteStore

from .world import (
    COURIER,
    EMBEDDER,
    LOOKALIKE,
    TOPICS,
    Deed,
    Say,
    ScriptedJudge,
    World,
    histories,
    judges,
    open_guard,
    says,
)

FILES = ("memory.db", *(["memory.json"] if find_spec("thymus.stores.jsonfile") else []))


@contextmanager
def opened(path: Path, judge: ScriptedJudge) -> Iterator[World]:
    """A world over the store that ``MemoryGuard(path)`` would open."""
    from thymus.config import open_store

    with open_guard(judge=judge, store=open_store(path, EMBEDDER)) as guard:
        yield World(guard)


def account(world: World) -> list[object]:
    """Everything that a guard says of its memories."""
    recalls = [world.guard.recall(f"what is {topic}", k=4).to_dict() for topic in TOPICS]
    inbox = [memory.to_dict() for memory in world.guard.inbox()]
    return [world.guard.export(), recalls, inbox, [record.to_dict() for record in world.guard.sources()]]


@pytest.mark.guarantee("G10")
@pytest.mark.parametrize("file", FILES)
@given(history=histories, judge=judges)
def test_every_store_gives_the_same_account(
    tmp_path_factory: pytest.TempPathFactory, file: str, history: list[Deed], judge: ScriptedJudge
) -> None:
    """Sync, async and every store give identical decisions.

    Compared with the in-memory store, act by act and in the end; then once more after the file was opened again.
    """
    path = tmp_path_factory.mktemp("store") / file
    oracle = World(open_guard(judge=judge))
    with opened(path, judge) as world:
        for deed in history:
            assert oracle.do(deed) == world.do(deed)
        assert account(oracle) == account(world)
    with opened(path, judge) as again:
        assert account(oracle) == account(again)
        assert again.guard.verify().problems == ()


@pytest.mark.guarantee("G10")
@given(st.lists(says(derived=False), max_size=8), judges)
def test_the_asynchronous_guard_gives_the_same_account(messages: list[Say], judge: ScriptedJudge) -> None:
    """Sync, async and every store give identical decisions."""
    oracle = World(open_guard(judge=judge))
    other = open_guard(judge=judge)

    async def tell(guard: AsyncMemoryGuard) -> list[object]:
        return [await guard.remember(said.text, source=said.source) for said in messages]

    assert [oracle.say(said) for said in messages] == asyncio.run(tell(AsyncMemoryGuard(guard=other)))
    assert account(oracle) == account(World(other))


@pytest.mark.guarantee("G10")
@given(st.lists(says(derived=False), max_size=8), judges)
def test_many_at_once_are_decided_as_one_by_one(messages: list[Say], judge: ScriptedJudge) -> None:
    """Sync, async and every store give identical decisions."""
    one_by_one, at_once = open_guard(judge=judge), open_guard(judge=judge)
    single = [one_by_one.remember(said.text, source=said.source) for said in messages]
    many = list(at_once.remember_many(Message(text=said.text, source=said.source) for said in messages))
    assert [written.outcomes for written in single] == [written.outcomes for written in many]
    assert World(one_by_one).statuses() == World(at_once).statuses()


_WRITER = """
import sys
from guarantees.world import *
from thymus.stores.sqlite import SqliteStore
guard = open_guard(store=SqliteStore(sys.argv[1], embedder=EMBEDDER.name, dim=EMBEDDER.dim))
for number in range(100_000):
    written = guard.remember(f"topic{number} is {number}", source=COURIER)
    print(written.memories[0].id, flush=True)
"""


@pytest.mark.guarantee("G11")
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """What was acknowledged survives a kill at any instant; a changed ledger row is detected.

    A light one; ``thymus.testing.conformance`` and its test kill a writer many more times.
    """
    path = tmp_path / "memory.db"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True, env=environment
    ) as writer:
        assert writer.stdout is not None
        acknowledged = [writer.stdout.readline().strip() for _ in range(20)]
        writer.send_signal(signal.SIGKILL)
        acknowledged += [line.strip() for line in writer.stdout if line.endswith("\n")]
    with opened(path, ScriptedJudge()) as world:
        assert set(acknowledged) <= world.statuses().keys()
        assert world.guard.verify().problems == ()


_TOUCHES = {
    "changed": "UPDATE ledger SET body = replace(body, 'contested', 'active')",
    "missing": "DELETE FROM ledger WHERE place = (SELECT place FROM ledger ORDER BY place LIMIT 1 OFFSET 1)",
    "last missing": "DELETE FROM ledger WHERE place = (SELECT max(place) FROM ledger)",
    "moved": "UPDATE ledger SET body = (SELECT body FROM ledger AS other WHERE other.place != ledger.place)",
}


@pytest.mark.guarantee("G11")
@pytest.mark.parametrize("touch", _TOUCHES)
def test_a_touched_ledger_is_noticed(tmp_path: Path, touch: str) -> None:
    """What was acknowledged survives a kill at any instant; a changed ledger row is detected."""
    path = tmp_path / "memory.db"
    with open_guard(store=SqliteStore(path, embedder=EMBEDDER.name, dim=EMBEDDER.dim)) as guard:
        guard.remember("rent is 5")
        guard.remember("rent is 7", source=LOOKALIKE)
        guard.remember("gym is 7", source=COURIER)
        assert guard.verify().ok
    database = sqlite3.connect(path, isolation_level=None)
    assert database.execute(_TOUCHES[touch]).rowcount
    database.close()
    with opened(path, ScriptedJudge()) as world:
        assert world.guard.verify().problems
