"""Several processes on one file, and a writer that is killed: nothing acknowledged is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from thymus import MemoryGuard
from thymus.core.beliefs import Revision
from thymus.stores.sqlite import SqliteStore

EACH = int(os.environ.get("THYMUS_WRITES", "150"))
KILLS = int(os.environ.get("THYMUS_KILLS", "8"))

WRITER = """
import sys
from thymus import MemoryGuard
from thymus.core.beliefs import Revision
from thymus.stores.sqlite import SqliteStore
guard = MemoryGuard(sys.argv[1], embedder="hash", judge="typed")
name, n = sys.argv[2], int(sys.argv[3])
for i in range(n):
    written = guard.remember(f"Locker {name} {i} holds box {i}.", source=f"tool:{name}")
    print(i, written.memories[0].id, flush=True)
"""


def writer(path: Path, name: str, n: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(n)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def acknowledged(process: subprocess.Popen[str]) -> list[str]:
    out, _ = process.communicate()
    return [line.split()[1] for line in out.splitlines() if len(line.split()) == 2 and len(line.split()[1]) == 18]


@pytest.mark.slow
def test_two_processes_lose_no_write(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    writers = [writer(path, name, EACH) for name in ("north", "south")]
    ids = [id_ for process in writers for id_ in acknowledged(process)]
    assert [process.returncode for process in writers] == [0, 0]
    assert len(set(ids)) == 2 * EACH
    with MemoryGuard(path, embedder="hash", judge="typed") as guard:
        assert {memory.id for memory in guard.memories(status=None)} == set(ids)
        assert guard.verify().ok


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    seed = random.randrange(10**6)
    rng = random.Random(seed)
    known: set[str] = set()
    for n in range(KILLS):
        process = writer(path, f"w{n}", 100_000)
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(rng.random() * 0.5)
        process.send_signal(signal.SIGKILL)
        known |= {first.split()[1], *acknowledged(process)}
    with MemoryGuard(path, embedder="hash", judge="typed") as guard:
        kept = {memory.id for memory in guard.memories(status=None)}
        assert known <= kept, f"seed {seed}: {len(known - kept)} acknowledged memories are gone"
        assert len(known) > KILLS
        assert guard.verify().ok


def test_a_message_that_another_process_was_faster_with_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that lost its connection hands the same message to another process, which commits it before this one
    does and after this one has looked whether it is known."""
    path = tmp_path / "memory.db"
    commit = SqliteStore.commit
    with MemoryGuard(path, embedder="hash", judge="typed") as guard:
        with MemoryGuard(path, embedder="hash", judge="typed") as other:

            def late(store: SqliteStore, revision: Revision, *, expecting: int | None = None) -> int:
                monkeypatch.setattr(SqliteStore, "commit", commit)
                other.remember("Locker 5 holds box 9.", source="tool:north", message_id="1")
                return commit(store, revision, expecting=expecting)

            monkeypatch.setattr(SqliteStore, "commit", late)
            written = guard.remember("Locker 5 holds box 9.", source="tool:north", message_id="1")
        assert written.reasons == ("already-known",)
        assert len(guard.memories(status=None)) == len(guard.ledger()) == 1
        assert guard.verify().ok
