"""``thymus serve`` as a process of its own, and clients that talk to it over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STARTING_S: Final = 180
_LISTENING: Final = re.compile(r"https?://[\w.:\[\]-]+:\d+")


@dataclass(slots=True)
class Measured:
    """How long each call took, and what went wrong."""

    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    took: float = 0.0

    @property
    def per_second(self) -> float:
        """Throughput."""
        return len(self.seconds) / self.took if self.took else 0.0

    def ms(self, share: float) -> float:
        """A percentile of the calls that were answered, in milliseconds."""
        return 1_000 * float(np.percentile(self.seconds, share)) if self.seconds else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """In JSON's types."""
        return {
            "calls": len(self.seconds),
            "p50_ms": round(self.ms(50), 2),
            "p99_ms": round(self.ms(99), 2),
            "per_second": round(self.per_second, 2),
            "errors": dict(self.errors),
        }


def measure(workers: list[Callable[[], None]], calls: int, seconds: float) -> Measured:
    """Have so many workers call at once until there were so many calls in all, or the time is up."""
    found, lock, left = Measured(), threading.Lock(), iter(range(calls))
    until = time.monotonic() + seconds

    def work(call: Callable[[], None]) -> None:
        while time.monotonic() < until:
            with lock:
                if next(left, None) is None:
                    return
            begun = time.perf_counter()
            try:
                call()
            except Exception as error:  # noqa: BLE001  (whatever it is, it is counted)
                with lock:
                    found.errors[f"{type(error).__name__}: {error}"[:200]] += 1
                continue
            with lock:
                found.seconds.append(time.perf_counter() - begun)

    threads = [threading.Thread(target=work, args=(call,)) for call in workers]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found.took = time.perf_counter() - begun
    return found


class AnswerError(Exception):
    """The service answered with a status that is none of success."""


class Client:
    """One client with one connection, which is kept open.

    :param url: of the service.
    """

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=120)

    def ask(self, method: str, path: str, secret: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """One request; a connection that was lost is opened anew by the next.

        :raises AnswerError: where the answer is no success.
        """
        head = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        try:
            self._connection.request(method, path, json.dumps(body) if body is not None else None, head)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        if answer.status >= 300:
            raise AnswerError(f"{path}: {answer.status} {text[:150]!r}")
        found: dict[str, Any] = json.loads(text)
        return found

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


@contextmanager
def service(url: str, folder: Path, *, workers: int, options: list[str]) -> Iterator[tuple[str, int]]:
    """A service over this database on a port of its own: its address and the id of its process."""
    command = [sys.executable, "-m", "thymus.cli", "--db", url, "serve", "--port", "0", "--workers", str(workers)]
    log = folder / "service.log"
    with log.open("w") as sink, subprocess.Popen([*command, *options], stderr=sink, stdout=sink) as process:
        try:
            yield _address(process, log), process.pid
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                print("the service did not end within 30 s of SIGTERM", file=sys.stderr)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + STARTING_S
    while not (listening := _LISTENING.search(log.read_text())):
        if process.poll() is not None or time.monotonic() > end:
            raise SystemExit(f"the service did not start: {log.read_text()[-2_000:]}")
        time.sleep(0.05)
    return listening[0]


def resident_mb(process: int) -> float:
    """Memory of the service and its workers, what they share counted once, in MB; 0 where the system does not say."""
    total = 0.0
    for one in family(process):
        with suppress(OSError):
            shared = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{one}/smaps_rollup").read_text(), re.MULTILINE)
            total += int(shared[1]) / 1_000 if shared else 0
    return total


def cpu_s(process: int) -> float:
    """Seconds of a processor that the service and its workers have had; other programs do not change it by much."""
    total = 0.0
    for one in family(process):
        with suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def family(process: int) -> list[int]:
    """A process and all that come from it."""
    with suppress(OSError):
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        return [process, *(one for child in children for one in family(int(child)))]
    return []
