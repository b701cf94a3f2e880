"""The measurements. Each returns numbers; ``__main__`` prints them."""

from __future__ import annotations

import json
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf import world
from thymus import MemoryGuard
from thymus.config import DEFAULT_EMBEDDER, DEFAULT_TENANT, open_store
from thymus.core.claims import Scope
from thymus.core.provenance import Source
from thymus.embed import get_embedder
from thymus.intake import Message

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from thymus.ports import Embedder

SAMPLES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Milliseconds."""

    p50: float
    p99: float

    @classmethod
    def of(cls, do: Callable[[Any], object], inputs: Iterable[Any]) -> Latency:
        """Time one call an input, after one to warm up."""
        times = []
        for given in inputs:
            start = time.perf_counter()
            do(given)
            times.append((time.perf_counter() - start) * 1_000)
        ranked = sorted(times[1:])
        return cls(p50=statistics.median(ranked), p99=ranked[min(len(ranked) - 1, int(len(ranked) * 0.99))])


@dataclass(frozen=True, slots=True, kw_only=True)
class AtSize:
    """One store of ``memories`` memories, and the baselines over the same texts and vectors."""

    memories: int
    write: Latency
    recall: Latency
    embed: Latency
    baseline_search: Latency
    baseline_insert: Latency
    open_s: float
    file_mb: float


def at_size(n: int, folder: Path, embedder: Embedder) -> AtSize:
    """Fill a SQLite store, then time real writes and recalls through the guard, and the baselines beside them."""
    texts, rows = world.vectors(n, embedder, seed=n)
    path = folder / f"{n}.db"
    store = open_store(path, embedder)
    scope = Scope(tenant=DEFAULT_TENANT, user="perf")
    with store.bulk():
        for revision in world.revisions(scope, texts, rows):
            store.commit(revision)
    store.close()
    fresh = world.sentences(SAMPLES, seed=n + 1)
    questions = [f"What do I know about {text.split()[1]}, {text.split()[-1]}" for text in fresh]
    start = time.perf_counter()
    with MemoryGuard(path, user_id="perf", embedder=embedder) as guard:
        guard.recall("What is new?")
        opened = time.perf_counter() - start
        recall = Latency.of(guard.recall, questions)
        write = Latency.of(lambda text: guard.remember(text, source="email:new@post.example"), fresh)
    embed = Latency.of(lambda text: embedder.embed([text], role="query"), [f"{question} ?" for question in questions])
    asked = embedder.embed(questions, role="query")
    return AtSize(
        memories=n,
        write=write,
        recall=recall,
        embed=embed,
        baseline_search=Latency.of(lambda query: _brute_force(rows, query), asked),
        baseline_insert=_plain_insert(folder / f"plain-{n}.db", texts, rows, fresh, asked),
        open_s=opened,
        file_mb=path.stat().st_size / 1e6,
    )


def _brute_force(rows: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.intp]:
    """Baseline *brute force*: cosine against every float32 vector, and the eight best."""
    scores = rows @ query
    return np.argpartition(-scores, 8)[:8]


def _plain_insert(
    path: Path, texts: list[str], rows: NDArray[np.float32], fresh: list[str], vectors: NDArray[np.float32]
) -> Latency:
    """Baseline *plain insert*: text and vector into one SQLite table of the same size, a durable commit each."""
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("CREATE TABLE memories (id INTEGER PRIMARY KEY, text TEXT, vector BLOB)")
        db.executemany(
            "INSERT INTO memories (text, vector) VALUES (?, ?)",
            ((text, row.astype(np.float16).tobytes()) for text, row in zip(texts, rows, strict=True)),
        )
    db = sqlite3.connect(path, isolation_level=None)

    def insert(pair: tuple[str, NDArray[np.float32]]) -> None:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO memories (text, vector) VALUES (?, ?)", (pair[0], pair[1].astype(np.float16).tobytes()))
        db.execute("COMMIT")

    latency = Latency.of(insert, list(zip(fresh, vectors, strict=True)))
    db.close()
    return latency


def bulk(folder: Path, embedder: Embedder, n: int = 2_000) -> dict[str, float]:
    """Messages a second through ``remember_many``, beside embedding the same texts and nothing else."""
    texts = world.sentences(n, seed=7)
    messages = [
        Message(text=text, source=Source.parse(f"email:s{n % 50}@post.example"), observed_at=world.START)
        for n, text in enumerate(texts)
    ]
    with MemoryGuard(folder / "bulk.db", user_id="perf", embedder=embedder) as guard:
        start = time.perf_counter()
        for _ in guard.remember_many(messages):
            pass
        taken = time.perf_counter() - start
    start = time.perf_counter()
    for first in range(0, n, 64):
        embedder.embed([f"{text} Yes." for text in texts[first : first + 64]], role="passage")
    return {"messages_per_s": n / taken, "baseline_embed_only_per_s": n / (time.perf_counter() - start)}


_FIRST_WRITE = """
import resource, sys, time
start = time.perf_counter()
from thymus import MemoryGuard
guard = MemoryGuard(sys.argv[1])
guard.remember("My standup is at 9:15 in Room 2A.")
taken = time.perf_counter() - start
print(taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def process(folder: Path, runs: int = 7) -> dict[str, float]:
    """Start-up figures, each the median of new processes, beside a Python that does nothing."""
    nothing = _seconds([sys.executable, "-c", ""], runs)
    imported = _seconds([sys.executable, "-c", "import thymus"], runs)
    helped = _seconds([str(Path(sys.executable).with_name("thymus")), "--help"], runs)
    first, resident = zip(
        *(
            map(float, _output([sys.executable, "-c", _FIRST_WRITE, str(folder / f"first{n}.db")]).split())
            for n in range(runs)
        ),
        strict=True,
    )
    return {
        "python_s": nothing,
        "import_s": imported,
        "help_s": helped,
        "first_write_s": statistics.median(first),
        "resident_mb": statistics.median(resident),
    }


def _seconds(command: list[str], runs: int) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _output(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def embedder() -> Embedder:
    """The default embedder."""
    return get_embedder(DEFAULT_EMBEDDER)


def as_json(sizes: list[AtSize], bulk_: dict[str, float], process_: dict[str, float], machine: dict[str, Any]) -> str:
    """Everything measured, for later comparison."""
    measured = {"machine": machine, "sizes": [asdict(s) for s in sizes], "bulk": bulk_, "process": process_}
    return json.dumps(measured, indent=2)
