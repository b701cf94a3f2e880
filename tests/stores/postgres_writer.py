"""A writer that is killed again and again: ``python postgres_writer.py URL LANE KILLS``.

Each round a forked child opens the database and remembers note after note, telling over a pipe each one that the guard
has acknowledged, until it is killed at a random moment. The next child begins with the first note of which nobody
knows whether it was written: the same message again. Prints, as JSON, the last acknowledged note of each user.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from typing import Any

from thymus import MemoryGuard
from thymus.stores.postgres.store import PostgresStore

OPTIONS: dict[str, Any] = {"embedder": "hash", "judge": "typed"}
PER_USER = 400
"""Notes after which the lane goes on as another user, so that no memory becomes large."""
MORE = (0, 1, 1, 2)
"""Notes that a writer may finish; then it is killed at a random moment of the time that the next one takes."""


def note(number: int) -> str:
    return f"Crate {number} holds the {random.Random(number).getrandbits(48):x} papers."


def remember(guard: MemoryGuard, number: int) -> None:
    guard.remember(note(number), message_id=str(number))


def write_on(url: str, user: str, start: int, told: int) -> None:
    with MemoryGuard(url, user_id=user, **OPTIONS) as guard:
        os.write(told, b"ready\n")
        for number in range(start, PER_USER):
            remember(guard, number)
            os.write(told, b"%d\n" % number)


class Lane:
    """One writer after the other."""

    def __init__(self, url: str, chance: random.Random) -> None:
        self._url, self._chance = url, chance
        self._pace_s = 0.02  # that one write takes, as heard so far

    def go_on(self, user: str, start: int) -> tuple[int, bool]:
        """The first note that was not acknowledged when the writer ended, and whether it was killed."""
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(ours)
                write_on(self._url, user, start, theirs)
                code = 0
            finally:
                os._exit(code)
        os.close(theirs)
        heard = self._listen(ours, lines=1 + self._chance.choice(MORE))
        time.sleep(self._chance.uniform(0, self._pace_s))
        os.kill(child, signal.SIGKILL)
        while said := os.read(ours, 65_536):
            heard += said
        os.close(ours)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status)
        assert killed or os.WEXITSTATUS(status) == 0, f"the writer failed: {status}"
        whole = heard[: heard.rfind(b"\n") + 1].split()
        return (int(whole[-1]) + 1 if len(whole) > 1 else start), killed

    def _listen(self, pipe: int, lines: int) -> bytes:
        """What the writer says until it has said so many lines, or ends."""
        heard, last = b"", 0.0
        while heard.count(b"\n") < lines:
            readable, _, _ = select.select([pipe], [], [], 60)
            assert readable, "the writer said nothing for a minute"
            said = os.read(pipe, 65_536)
            if not said:
                break
            heard += said
            now = time.monotonic()
            if last:
                self._pace_s += (now - last - self._pace_s) / 10
            last = now
        return heard


def main(url: str, lane: str, kills: int) -> dict[str, int]:
    with MemoryGuard(**OPTIONS) as guard:  # loads in the parent what every child would
        remember(guard, 0)
        remember(guard, 1)
    assert PostgresStore.__module__ in sys.modules
    writing = Lane(url, random.Random(f"{lane} {kills}"))
    reached: dict[str, int] = {}
    user, at, done = f"{lane}-0", 0, 0
    began = time.monotonic()
    while done < kills:
        at, killed = writing.go_on(user, at)
        done += killed
        reached[user] = at - 1
        if at >= PER_USER - 20:
            user, at = f"{lane}-{len(reached)}", 0
        if killed and done % 250 == 0:
            print(f"{lane}: {done} kills in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return reached


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
