"""The service is killed, one of its workers is, its database hangs up: nothing acknowledged is lost, nothing doubled.

A client that got no answer, or 503, sends the same message again; what was learned already is answered as known. The
same for the store alone, thousands of times: ``tests/stores/test_postgres_faults.py``.
"""

from __future__ import annotations

import http.client
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

sys.path.append(str(Path(__file__).parents[1] / "stores"))

from perf.service_http import AnswerError, Client, family, service
from postgres_helpers import admin, database

from thymus import MemoryGuard
from thymus.access.token_table import TokenTable
from thymus.access.tokens import Tokens

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("postgres"),
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the workers under /proc"),
]

FAULTS = max(2, min(100, int(os.environ.get("THYMUS_KILLS", "20")) // 10))


def text_of(writer: int, number: int) -> str:
    return f"Crate {number} of hall {writer} holds the {random.Random(f'{writer} {number}').getrandbits(40):x} papers."


class Writers:
    """Clients that write for one user, message after message, each until it is acknowledged."""

    def __init__(self, address: Callable[[], str], secret: str, number: int) -> None:
        self.done = [0] * number
        self.refused: list[str] = []
        self.lost = 0
        self.errors: list[BaseException] = []
        self._address, self._secret = address, secret
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(writer,)) for writer in range(number)]

    def _write(self, writer: int) -> None:
        try:
            while not self._ended.is_set():
                number = self.done[writer]
                body = {"text": text_of(writer, number), "message_id": f"{writer} {number}"}
                client = Client(self._address())
                try:
                    while True:
                        client.ask("POST", "/v1/memories", self._secret, body)
                        self.done[writer] = number = number + 1
                        if self._ended.is_set():
                            return
                        body = {"text": text_of(writer, number), "message_id": f"{writer} {number}"}
                except AnswerError as refused:
                    self.refused.append(str(refused))
                except (OSError, http.client.HTTPException):
                    self.lost += 1
                    time.sleep(0.01)  # nobody listens yet
                finally:
                    client.close()
        except BaseException as error:
            self.errors.append(error)
            raise

    @contextmanager
    def writing(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in self._threads:
                thread.join(120)
        assert not any(thread.is_alive() for thread in self._threads)
        assert self.errors == []

    def go_on(self, steps: int = 2) -> None:
        """Wait until each of them has gone so many messages further."""
        before, end = list(self.done), time.monotonic() + 120
        while not all(now >= then + steps for now, then in zip(self.done, before, strict=True)):
            assert time.monotonic() < end, (before, self.done, self.refused[-3:], self.errors)
            time.sleep(0.01)


def check(url: str, done: list[int]) -> None:
    """Of each writer every acknowledged message is kept, once, and at most the next one; the ledger verifies."""
    with MemoryGuard(url, user_id="asha") as guard:
        texts = [memory.text for memory in guard.memories(status=None)]
        assert len(texts) == len(set(texts))
        for writer, number in enumerate(done):
            kept = sorted(text for text in texts if f"of hall {writer} holds" in text)
            assert kept in [sorted(text_of(writer, at) for at in range(most)) for most in (number, number + 1)]
        assert guard.verify().problems == ()


def secret_of(url: str) -> str:
    MemoryGuard(url).close()
    with closing(TokenTable(url)) as table:
        return Tokens(table).issue("asha", "load")[1]


def workers_of(process: int) -> list[int]:
    """The processes that serve, without multiprocessing's own."""
    found = []
    for one in family(process)[1:]:
        with suppress(OSError):
            if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes():
                found.append(one)
    return found


def test_a_killed_service_loses_and_doubles_nothing(tmp_path: Path) -> None:
    url = database(tmp_path)
    chance, secret, where = random.Random(1), secret_of(url), ["http://127.0.0.1:1"]
    writers = Writers(lambda: where[0], secret, 2)
    with writers.writing():
        for _ in range(2):
            with service(url, tmp_path, workers=1, options=[]) as (where[0], process):
                writers.go_on()
                time.sleep(chance.uniform(0, 0.1))
                os.kill(process, signal.SIGKILL)
        with service(url, tmp_path, workers=1, options=[]) as (where[0], _):
            writers.go_on()
    assert writers.lost > 0
    check(url, writers.done)


def test_workers_that_die_and_connections_that_are_cut_lose_and_double_nothing(tmp_path: Path) -> None:
    """Two workers of the service write into the memory of one user at the same time, and neither is left in peace."""
    url = database(tmp_path)
    chance, secret = random.Random(2), secret_of(url)
    with service(url, tmp_path, workers=2, options=[]) as (address, process), admin(url) as database_:
        writers = Writers(lambda: address, secret, 4)
        with writers.writing():
            for at in range(2 * FAULTS):
                writers.go_on(1)
                time.sleep(chance.uniform(0, 0.05))
                if at % 4 == 3:
                    os.kill(chance.choice(workers_of(process)), signal.SIGKILL)
                else:
                    cut(database_)
            writers.go_on()
    for refused in writers.refused:
        assert refused.startswith(("/v1/memories: 503 ", "/v1/memories: 429 ")), refused
        assert "Traceback" not in refused
    check(url, writers.done)


def cut(connection: psycopg.Connection[Any]) -> None:
    """End all others."""
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
