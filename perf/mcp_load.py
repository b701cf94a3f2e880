"""``python -m perf.mcp_load``: many clients of several users at one MCP server over real HTTP.

Starts ``thymus-mcp --http`` with a memory of its own and a token for each client, half of them in each era of the
protocol. Every word that a client writes names its user, so an answer with another user's word is a breach. Clients
also ask for other users' memories by id. Prints the latency of each operation; ends with 1 after an error or a breach.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
import numpy as np
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from rich.console import Console
from rich.table import Table

from thymus import MemoryGuard
from thymus.access.tokens import Tokens

THINGS = ("parcel locker", "garden gate", "bicycle shed", "letter box", "boat house", "tool cupboard", "piano room")
PLACES = ("Elm Street", "Mill Lane", "Harbour Road", "Station Square", "Abbey Walk", "Castle Hill", "Quarry Close")
WORD = re.compile(r"\bkite(\d\d)x\d{4}\b")
ERAS = ("auto", "legacy")


@dataclass(slots=True)
class Tally:
    """What happened so far."""

    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    breaches: list[str] = field(default_factory=list)
    asked: int = 0
    found: int = 0
    ids: list[tuple[int, str]] = field(default_factory=list)


class Player:
    """One client of one user.

    :param number: of the client; its facts are about things that no other client of this user speaks of.
    """

    def __init__(self, number: int, user: int, client: Client, tally: Tally) -> None:
        self._user = user
        self._client = client
        self._tally = tally
        self._random = random.Random(number)
        house = number + 1
        self._facts = [
            (f"the {thing} at {house} {place}", f"kite{user:02d}x{house * 49 + at:04d}")
            for at, (thing, place) in enumerate((thing, place) for thing in THINGS for place in PLACES)
        ]
        self._random.shuffle(self._facts)
        self._written: list[tuple[str, str]] = []

    async def play(self, until: float) -> None:
        """Write, ask, and pry, until that moment."""
        while time.monotonic() < until:
            turn = self._random.random()
            if not self._written or turn < 0.3:
                await self._write()
            elif turn < 0.95:
                await self._ask()
            else:
                await self._pry()

    async def _write(self) -> None:
        about, word = self._facts[len(self._written) % len(self._facts)]
        told = await self._call("remember", text=f"The word that opens {about} is {word}.")
        if told is not None:
            self._written.append((about, word))
            self._tally.ids += [(self._user, memory["id"]) for memory in told["memories"][:1]]

    async def _ask(self) -> None:
        about, word = self._random.choice(self._written)
        told = await self._call("recall", question=f"Which word opens {about}?")
        if told is not None:
            self._tally.asked += 1
            self._tally.found += word in json.dumps(told)

    async def _pry(self) -> None:
        others = [id_ for user, id_ in self._tally.ids[-200:] if user != self._user]
        if not others:
            return
        tool = self._random.choice(("history", "forget"))
        id_ = self._random.choice(others)
        answer = await self._timed("pry", tool, {"memory_id": id_})
        if answer is not None and not answer.is_error:
            self._tally.breaches.append(f"{tool} of another user's memory was answered")

    async def _call(self, tool: str, **arguments: Any) -> dict[str, Any] | None:
        answer = await self._timed(tool, tool, arguments)
        if answer is None:
            return None
        if answer.is_error:
            self._tally.errors[f"{tool}: {answer.content[0].text[:200]}"] += 1
            return None
        found: dict[str, Any] = answer.structured_content
        return found

    async def _timed(self, label: str, tool: str, arguments: dict[str, Any]) -> Any:
        begun = time.perf_counter()
        try:
            answer = await self._client.call_tool(tool, arguments)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is counted)
            self._tally.errors[f"{tool}: {type(error).__name__}: {str(error)[:200]}"] += 1
            return None
        self._tally.seconds[label].append(time.perf_counter() - begun)
        if any(int(owner) != self._user for owner in WORD.findall(answer.model_dump_json())):
            self._tally.breaches.append(f"{tool} told user {self._user} another user's word")
        return answer


@contextmanager
def server(folder: Path) -> Iterator[tuple[str, int]]:
    """A server on a port of its own: its URL and the id of its process."""
    command = [sys.executable, "-m", "thymus.mcp", "--db", str(folder / "memory.db"), "--http", "--port", "0"]
    log = folder / "server.log"
    with log.open("w") as sink, subprocess.Popen(command, stderr=sink, stdout=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + 30
            while not (listening := re.search(r"http://\S+", log.read_text())):
                if process.poll() is not None or time.monotonic() > end:
                    raise SystemExit(f"the server did not start: {log.read_text()}")
                time.sleep(0.05)
            yield listening[0], process.pid
        finally:
            process.terminate()
            process.wait(30)
    if lines := [line for line in log.read_text().splitlines() if "listening" not in line]:
        print(f"{len(lines)} lines in the server's log, the last ones:", *lines[-5:], sep="\n", file=sys.stderr)


async def play_all(url: str, secrets: list[tuple[int, str]], seconds: float, tally: Tally) -> None:
    """All clients at once."""
    until = time.monotonic() + seconds

    async def one(number: int, user: int, secret: str) -> None:
        headers = {"Authorization": f"Bearer {secret}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http), mode=ERAS[number % 2]) as client,
        ):
            await Player(number, user, client, tally).play(until)

    async with anyio.create_task_group() as group:
        for number, (user, secret) in enumerate(secrets):
            group.start_soon(one, number, user, secret)


def main() -> None:
    """Play, print, and say by the exit code whether all was well."""
    parser = argparse.ArgumentParser(prog="python -m perf.mcp_load", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--users", type=int, default=10)
    arguments = parser.parse_args()
    tally = Tally()
    console = Console()
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room)
        tokens = Tokens(folder / "memory.db.tokens")
        owners = [number % arguments.users for number in range(arguments.clients)]
        secrets = [(user, tokens.issue(f"user{user:02d}", f"client{at}")[1]) for at, user in enumerate(owners)]
        with server(folder) as (url, process):
            begun = time.monotonic()
            anyio.run(play_all, url, secrets, arguments.seconds, tally)
            took = time.monotonic() - begun
            status = Path(f"/proc/{process}/status")
            peak = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
        _check_store(folder, arguments.users, tally)
    _print(console, tally, took, arguments)
    if peak:
        console.print(f"Server's memory at its most: {int(peak[1]) // 1024} MiB")
    sys.exit(1 if tally.errors or tally.breaches else 0)


def _check_store(folder: Path, users: int, tally: Tally) -> None:
    with MemoryGuard(folder / "memory.db") as guard:
        if not guard.verify().ok:
            tally.errors["the ledger does not verify"] += 1
        for user in range(users):
            kept = json.dumps(guard.for_user(f"user{user:02d}").export())
            if any(int(owner) != user for owner in WORD.findall(kept)):
                tally.breaches.append(f"user {user}'s memory holds another user's word")


def _print(console: Console, tally: Tally, took: float, arguments: argparse.Namespace) -> None:
    table = Table(
        "operation", *(f"{name} ms" for name in ("p50", "p95", "p99", "max")), "number", "per second",
        title=f"{arguments.clients} clients of {arguments.users} users, {took:.0f} s",
    )  # fmt: skip
    every = [second for seconds in tally.seconds.values() for second in seconds]
    for label, seconds in (*sorted(tally.seconds.items()), ("all", every)):
        if seconds:
            figures = [1_000 * float(np.percentile(seconds, at)) for at in (50, 95, 99, 100)]
            row = [f"{figure:.0f}" for figure in figures]
            table.add_row(label, *row, f"{len(seconds):,}", f"{len(seconds) / took:.1f}")
    console.print(table)
    console.print(
        f"Own words found: {tally.found:,} of {tally.asked:,}. Other users' words read: {len(tally.breaches)}. "
        f"Errors: {tally.errors.total()}. {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    for what, number in (*tally.errors.most_common(10), *Counter(tally.breaches).most_common(10)):
        console.print(f"  {number} × {what}", style="red", markup=False)


if __name__ == "__main__":
    main()
