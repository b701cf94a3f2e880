"""``make load``: many users' memories in PostgreSQL, and clients that write and recall through ``thymus serve``.

Starts a PostgreSQL (or takes the one that ``THYMUS_DB`` names), loads it with COPY, starts the service over it, and
measures writes and recalls through HTTP at several numbers of clients, beside a bare INSERT and a bare SELECT on the
same tables in the same run. ``--soak MINUTES`` adds a mixed load during which the service's memory is watched.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table

from perf import service_database, service_http, service_world, world
from thymus.access.token_table import TokenTable
from thymus.access.tokens import Tokens
from thymus.config import open_store
from thymus.core.beliefs import Revision
from thymus.core.claims import Scope
from thymus.core.provenance import Assurance, Source
from thymus.embed import DEFAULT, get_embedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from thymus.ports import Embedder

RESULTS: Final = Path(__file__).parent / "results"
TENANT: Final = "load"
SENDERS: Final = 200
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
MIX: Final = {"recall": 65, "write": 25, "inbox": 5, "memories": 5}
"""What the clients of a soak do, and how often in a hundred times."""
SAMPLE_S: Final = 5.0
OFTEN: Final = 40
"""Questions that are asked again and again."""
TOKENS: Final = 200
"""Tokens at least, so that the rate that each is allowed limits nothing."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A user, and the secret of a token of theirs."""

    user: str
    secret: str


def main() -> None:
    """Load, measure, print, save."""
    arguments = _arguments()
    console, progress = Console(width=max(110, Console().width)), Steps()
    with tempfile.TemporaryDirectory() as room, service_database.database() as url:
        embedder = get_embedder(DEFAULT)
        loaded = _known(url, arguments) if arguments.reuse else load(url, arguments, embedder, progress)
        if arguments.only_load:
            console.print(json.dumps(loaded))
            return
        callers = tokens(url, arguments.users)
        options = ["--gate", arguments.gate] if arguments.gate else []
        with service_http.service(url, Path(room), workers=arguments.workers, options=options) as (address, process):
            first = warm(address, callers, arguments, progress)
            rows = levels(url, address, process, callers, embedder, arguments, progress)
            soaked = soak(address, callers, process, arguments, progress) if arguments.soak else None
            memory = service_http.resident_mb(process)
        service_database.forget_bare(url)
        verified = verify(url, progress) if arguments.verify else None
    result = {
        "machine": {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "load": os.getloadavg(),
        },
        "arguments": vars(arguments) | {"output": str(arguments.output)},
        "settings": service_database.SETTINGS,
        "loaded": loaded,
        "first_of_a_user": {name: one.to_dict() for name, one in first.items()},
        "levels": rows,
        "service_mb": round(memory),
        "soak": soaked,
        "verified": verified,
    }
    output = arguments.output or RESULTS / f"service-{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(result, indent=2))
    _print(console, result)
    console.print(f"Saved to {output}")
    wrong = sum(row[side]["errors"] != {} for row in rows for side in ("service", "bare"))
    sys.exit(1 if wrong or (soaked and soaked["errors"]) or (verified and verified["problems"]) else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m perf.service_load", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--memories", type=int, default=5_000, help="of each user")
    parser.add_argument("--clients", default="1,8,32", help="how many at once, comma-separated")
    parser.add_argument("--calls", type=int, default=600, help="of each kind at each number of clients, at most")
    parser.add_argument("--seconds", type=float, default=60, help="for each of these, at most")
    parser.add_argument("--workers", type=int, default=2, help="processes of the service")
    parser.add_argument("--gate", help="the service's gate (default: its own)")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="of a mixed load afterwards")
    parser.add_argument("--verify", action="store_true", help="check every ledger at the end (minutes for a million)")
    parser.add_argument("--only-load", action="store_true", help="fill the database that THYMUS_DB names, and end")
    parser.add_argument("--reuse", action="store_true", help="the database that THYMUS_DB names was loaded before")
    parser.add_argument("--output", type=Path, help="where the JSON goes (default: perf/results/service-<time>.json)")
    return parser.parse_args()


class Steps:
    """How far a long phase is, on standard error: in place on a terminal, a line now and then in a log."""

    def __init__(self) -> None:
        self._told, self._last = 0.0, ""

    def __call__(self, what: str, done: float, total: float) -> None:
        """Say it, at most about once in a while."""
        terminal, now = sys.stderr.isatty(), time.monotonic()
        if what == self._last and done < total and now - self._told < (0.2 if terminal else 15):
            return
        new = "\n" if terminal and self._last not in ("", what) else ""
        self._told, self._last = now, what
        line = f"{datetime.now(UTC):%H:%M:%S} {what}: {done:,.0f} of {total:,.0f}"
        print(f"{new}\r{line}" if terminal else line, end="" if terminal else "\n", file=sys.stderr, flush=True)


# Loading


def load(url: str, arguments: argparse.Namespace, embedder: Embedder, progress: Steps) -> dict[str, Any]:
    """Every user's memories, with COPY, one transaction a user and as many processes as there are cores."""
    number = min(service_world.BASES, max(200, arguments.memories))
    given = service_world.bases(embedder, lambda done: progress("Embedding sentences", done, number), number)
    open_store(url, embedder).close()  # makes the tables, before several processes want to
    begun = time.perf_counter()
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 4), context, _prepare, (url, given)) as pool:
        jobs = [(user, arguments.memories) for user in range(arguments.users)]
        for at, _ in enumerate(pool.map(_load_user, jobs), start=1):
            progress("Loading users", at, arguments.users)
    took = time.perf_counter() - begun
    progress("VACUUM ANALYZE", 0, 1)
    sizes = service_database.tidy(url)
    memories = arguments.users * arguments.memories
    return {
        "memories": memories,
        "seconds": round(took, 1),
        "memories_per_s": round(memories / took),
        "embedded": number,
        "sizes": sizes,
    }


def _known(url: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """What is known of a database that an earlier run loaded."""
    sizes = service_database.tidy(url)
    return {"memories": arguments.users * arguments.memories, "sizes": sizes}


_WORLD: dict[str, Any] = {}


def _prepare(url: str, given: list[service_world.Base]) -> None:
    """In each process that loads."""
    from thymus.embed import get_embedder as get

    _WORLD.update(given=given, store=open_store(url, get(DEFAULT)))


def _load_user(job: tuple[int, int]) -> None:
    number, memories = job
    scope = Scope(tenant=TENANT, user=name_of(number))
    _WORLD["store"].load(scope, revisions(scope, number, memories, _WORLD["given"]))


def name_of(number: int) -> str:
    """A user's name."""
    return f"user{number:04d}"


def revisions(scope: Scope, seed: int, number: int, given: list[service_world.Base]) -> Iterator[Revision]:
    """One message a memory: a third from the user, the rest from senders, each with things of its own to speak of."""
    texts, rows, about = service_world.memories(number, given, seed)
    for n, (text, row, thing) in enumerate(zip(texts, rows, about, strict=True)):
        source = Source.user() if n % 3 == 0 else _sender(thing, n)
        at = START + timedelta(minutes=n)
        id_ = blake2b(f"{scope.user} {n}".encode(), digest_size=8).hexdigest()
        yield world.told(scope, id_, text, row, source, at, gate="thymus-v4")


def _sender(thing: int, n: int) -> Source:
    """Nine times of ten the one whose business it is; every second of them is proved."""
    number = (thing if n % 10 else n) % SENDERS
    assurance = Assurance.AUTHENTICATED if number % 2 else Assurance.CLAIMED
    return Source(channel="email", identity=f"desk@sender{number}.example", assurance=assurance)


def tokens(url: str, users: int) -> list[Caller]:
    """A token for each user, and more of them where there are few users."""
    callers = [name_of(number % users) for number in range(max(users, TOKENS))]
    with closing(TokenTable(url)) as table:
        book = Tokens(table)
        return [Caller(user, book.issue(user, "load", tenant=TENANT)[1]) for user in callers]


# Measuring


def warm(
    address: str, callers: list[Caller], arguments: argparse.Namespace, progress: Steps
) -> dict[str, service_http.Measured]:
    """The first recall and the first write of each user: what a worker has yet to read of that user's memory."""
    found = {}
    users = callers[: arguments.users]
    for what in ("recall", "write"):
        call, each = _caller(address, what, iter(users), seed=1), count(1)

        def told(call: Callable[[], None] = call, each: Iterator[int] = each, what: str = what) -> None:
            progress(f"First {what} of each user", next(each), len(users))
            call()

        found[what] = service_http.measure([told], len(users), 600)
    return found


def levels(
    url: str,
    address: str,
    process: int,
    callers: list[Caller],
    embedder: Embedder,
    arguments: argparse.Namespace,
    progress: Steps,
) -> list[dict[str, Any]]:
    """Writes and recalls at each number of clients, beside the bare statements."""
    counts = [int(number) for number in arguments.clients.split(",")]
    rng = random.Random(3)
    asked = [service_world.question(rng) for _ in range(64)]
    vectors = embedder.embed(asked, role="query")
    often = [(rng.choice(callers), service_world.question(rng)) for _ in range(OFTEN)]
    rows = []
    for what in ("recall", "again", "write"):
        for clients in counts:
            progress(f"{what}, clients", clients, max(counts))
            whom = [_endless(callers, 100 * clients + at) for at in range(clients)]
            if what == "again":
                calls = [_repeating(address, often, seed=at) for at in range(clients)]
                service_http.measure(calls, 8 * OFTEN, arguments.seconds)  # until every worker has met each of them
            else:
                calls = [_caller(address, what, whom[at], seed=10_000 * clients + at) for at in range(clients)]
            had = service_http.cpu_s(process)
            served = service_http.measure(calls, arguments.calls, arguments.seconds)
            had = service_http.cpu_s(process) - had
            bare = [service_database.Bare(url) for _ in range(clients)]
            calls = [_bare(one, what, whom[at], asked, vectors, at) for at, one in enumerate(bare)]
            alone = service_http.measure(calls, 4 * arguments.calls, arguments.seconds)
            for one in bare:
                one.close()
            rows.append(
                {
                    "what": what,
                    "clients": clients,
                    "load": round(os.getloadavg()[0], 1),
                    "service": served.to_dict(),
                    "service_cpu_ms": round(1_000 * had / max(1, len(served.seconds)), 1),
                    "bare": alone.to_dict(),
                    "ratio": round(served.per_second / alone.per_second, 4) if alone.per_second else None,
                }
            )
    return rows


def _endless(callers: list[Caller], seed: int) -> Iterator[Caller]:
    rng = random.Random(seed)
    while True:
        yield rng.choice(callers)


def _caller(address: str, what: str, callers: Iterator[Caller], seed: int) -> Callable[[], None]:
    """A client; each call is another user's, and says what was not said before."""
    client, rng = service_http.Client(address), random.Random(seed)

    def call() -> None:
        _act(client, what, next(callers).secret, rng)

    return call


def _repeating(address: str, often: list[tuple[Caller, str]], seed: int) -> Callable[[], None]:
    """A client that asks again what was asked before."""
    client, rng = service_http.Client(address), random.Random(seed)

    def call() -> None:
        caller, question = rng.choice(often)
        client.ask("POST", "/v1/recall", caller.secret, {"question": question})

    return call


def _act(client: service_http.Client, what: str, secret: str, rng: random.Random) -> None:
    if what == "recall":
        client.ask("POST", "/v1/recall", secret, {"question": service_world.question(rng)})
    elif what == "write":
        source = f"email:desk@sender{rng.randrange(SENDERS)}.example"
        body = {"text": service_world.message(rng), "source": source, "authenticated": True}
        client.ask("POST", "/v1/memories", secret, body)
    else:
        client.ask("GET", f"/v1/{what}?limit=20", secret)


def _bare(
    one: service_database.Bare, what: str, callers: Iterator[Caller], asked: list[str], vectors: Any, seed: int
) -> Callable[[], None]:
    rng = random.Random(seed)

    def call() -> None:
        at = rng.randrange(len(asked))
        if what == "write":
            one.insert(asked[at], vectors[at])
        else:
            one.nearest(TENANT, next(callers).user, vectors[at])

    return call


# Watching


def soak(
    address: str, callers: list[Caller], process: int, arguments: argparse.Namespace, progress: Steps
) -> dict[str, Any]:
    """Eight clients that do all sorts of things, while the memory of the service is looked at."""
    seconds = 60 * arguments.soak
    samples: list[tuple[float, float]] = []
    ended, begun = threading.Event(), time.monotonic()

    def watch() -> None:
        while not ended.wait(SAMPLE_S):
            at = time.monotonic() - begun
            samples.append((round(at, 1), round(service_http.resident_mb(process), 1)))
            progress("Soaking, seconds", at, seconds)

    watcher = threading.Thread(target=watch)
    watcher.start()
    found = service_http.measure([_mixed(address, callers, at) for at in range(8)], sys.maxsize, seconds)
    ended.set()
    watcher.join()
    quarter = [mb for _, mb in samples[len(samples) // 4 : len(samples) // 2]]
    last = [mb for _, mb in samples[-max(1, len(samples) // 4) :]]
    return found.to_dict() | {
        "minutes": arguments.soak,
        "mb_in_second_quarter": round(sum(quarter) / len(quarter), 1) if quarter else None,
        "mb_in_last_quarter": round(sum(last) / len(last), 1) if last else None,
        "mb_at_most": max((mb for _, mb in samples), default=None),
        "samples": samples,
    }


def _mixed(address: str, callers: list[Caller], seed: int) -> Callable[[], None]:
    client, rng = service_http.Client(address), random.Random(77_000 + seed)
    whats, weights = list(MIX), list(MIX.values())

    def call() -> None:
        _act(client, rng.choices(whats, weights)[0], rng.choice(callers).secret, rng)

    return call


def verify(url: str, progress: Steps) -> dict[str, Any]:
    """Every ledger."""
    progress("Verifying every ledger", 0, 1)
    begun = time.perf_counter()
    with closing(open_store(url, get_embedder(DEFAULT))) as store:
        found = store.verify()
    took = round(time.perf_counter() - begun, 1)
    return {"entries": found.entries, "beliefs": found.beliefs, "problems": found.problems[:20], "seconds": took}


def _print(console: Console, result: dict[str, Any]) -> None:
    loaded, machine = result["loaded"], result["machine"]
    table = Table(
        "", "n", "p50 ms", "p99 ms", "CPU ms", "per second", "bare p50 ms", "bare per second", "ratio", "load",
        title=f"{loaded['memories']:,} memories of {result['arguments']['users']} users, through HTTP",
    )  # fmt: skip
    for row in result["levels"]:
        served, bare = row["service"], row["bare"]
        table.add_row(
            row["what"],
            str(row["clients"]),
            f"{served['p50_ms']:.1f}",
            f"{served['p99_ms']:.1f}",
            f"{row['service_cpu_ms']:.1f}",
            f"{served['per_second']:.1f}",
            f"{bare['p50_ms']:.2f}",
            f"{bare['per_second']:.0f}",
            f"{row['ratio']:.3f}" if row["ratio"] else "",
            f"{row['load']}",
        )
    console.print(table)
    console.print(
        "Bare: an INSERT of one row with its vector; a SELECT of a user's 8 nearest. Same tables, same run; neither "
        "embeds, judges nor keeps a ledger. CPU: of the service alone, a call; a busy machine changes it least. "
        f"recall: every question is a new one. again: one of {OFTEN} that were asked before."
    )
    took = f" Loaded in {loaded['seconds']:,} s ({loaded['memories_per_s']:,}/s)." if "seconds" in loaded else ""
    console.print(
        f"Of the vectors at most {service_world.BASES:,} are real embeddings; the others are these, varied a little: "
        f"to embed a million texts takes hours.{took} The database has {loaded['sizes']['database']}."
    )
    first = result["first_of_a_user"]
    console.print(
        "The first of each user: "
        + ", ".join(f"{what} p50 {one['p50_ms']:.0f} ms, p99 {one['p99_ms']:.0f} ms" for what, one in first.items())
        + f". The service's memory: {result['service_mb']} MB."
    )
    if soaked := result["soak"]:
        console.print(
            f"Soak of {soaked['minutes']:g} min: {soaked['calls']:,} calls, {soaked['per_second']:.1f}/s, "
            f"p99 {soaked['p99_ms']:.0f} ms; memory {soaked['mb_in_second_quarter']} MB in its second quarter, "
            f"{soaked['mb_in_last_quarter']} MB in its last, {soaked['mb_at_most']} MB at most."
        )
    if verified := result["verified"]:
        console.print(
            f"Verified {verified['entries']:,} ledger rows in {verified['seconds']} s: "
            f"{len(verified['problems'])} problems."
        )
    every = Counter[str]()
    for row in [
        *result["levels"],
        {"service": soaked or {}, "bare": {}},
        *({"service": one} for one in first.values()),
    ]:
        for side in ("service", "bare"):
            every.update(row.get(side, {}).get("errors", {}))
    console.print(
        f"Errors: {every.total()}. Python {machine['python']}, {machine['cores']} cores, "
        f"load {machine['load'][0]:.1f} at the end"
    )
    for what, number in every.most_common(10):
        console.print(f"  {number} × {what}", style="red", markup=False)


if __name__ == "__main__":
    main()
