"""Where the messages of a wrapped server come and go: lines of JSON, as the bytes that were sent.

Nothing here reads a message. A line that one side wrote is the line that the other side gets, whatever it holds that
another reader of JSON might refuse or change.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import IO, Final, Protocol

from thymus.errors import ConfigError

LONGEST_LINE: Final = 512 * 2**20
"""Bytes of one message; a server that writes a longer line is cut off."""
GRACE_S: Final = 2.0
"""Seconds that a program gets to end by itself when its stdin closes, and again when it is asked to."""
_AHEAD: Final = 16


class Peer(Protocol):
    """One side of a conversation in lines of JSON."""

    async def receive(self) -> bytes | None:
        """The next line, with its end; ``None`` where there are no more."""

    async def send(self, line: bytes) -> None:
        """Hand a line on; where nobody reads it any more it is lost.

        :raises ValueError: where the other side takes only messages as the protocol has them, and this is none.
        """

    def hang_up(self) -> None:
        """Tell the other side that nothing more will come."""


class Client:
    """Whoever started this process, over its stdin and stdout.

    Both are taken away from everything else in the process: what another part prints goes to stderr.
    """

    def __init__(self) -> None:
        self._in = os.fdopen(os.dup(0), "rb")
        self._out: IO[bytes] = os.fdopen(os.dup(1), "wb", buffering=0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue(_AHEAD)
        self._sending = asyncio.Lock()
        # A thread that waits for a line cannot be called off, so it must not keep the process from ending.
        threading.Thread(target=self._read, name="thymus stdin", daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(RuntimeError, OSError, ValueError, asyncio.CancelledError):
            for line in self._in:
                asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()
            asyncio.run_coroutine_threadsafe(self._lines.put(None), self._loop).result()

    async def receive(self) -> bytes | None:
        """The next line of stdin."""
        return await self._lines.get()

    async def send(self, line: bytes) -> None:
        """Write a line to stdout; one at a time, and whole."""
        async with self._sending:
            with contextlib.suppress(OSError, ValueError):
                await asyncio.to_thread(self._write, memoryview(line))

    def _write(self, rest: memoryview) -> None:
        while rest:
            rest = rest[self._out.write(rest) :]

    def hang_up(self) -> None:
        """End stdout, so that the client sees that nothing more will come."""
        with contextlib.suppress(OSError):
            self._out.close()


class Program:
    """A program that was started, over its stdin and stdout; its stderr is ours."""

    def __init__(
        self, process: asyncio.subprocess.Process, stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader
    ) -> None:
        self.process, self._in, self._out = process, stdin, stdout

    @classmethod
    @contextlib.asynccontextmanager
    async def start(
        cls, command: str, args: Sequence[str], *, env: Mapping[str, str], cwd: str | None = None
    ) -> AsyncIterator[Program]:
        """Start it, and end it at the end: its stdin closes, then it is asked to end, then it is made to.

        :raises ConfigError: where it cannot be started.
        """
        found = shutil.which(command, path=env.get("PATH"))
        try:
            process = await asyncio.create_subprocess_exec(
                found or command,
                *args,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=sys.__stderr__,
                env=dict(env),
                cwd=cwd,
                limit=LONGEST_LINE,
                start_new_session=True,  # so that what it starts ends with it
            )
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{command[:200]!r} cannot be started ({error}): install it, or write its full path"
            ) from error
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("it was started with pipes")
        program = cls(process, process.stdin, process.stdout)
        try:
            yield program
        finally:
            await asyncio.shield(asyncio.ensure_future(program.end()))

    async def receive(self) -> bytes | None:
        """The next line of its stdout."""
        try:
            return await self._out.readline() or None
        except (ValueError, OSError):  # longer than LONGEST_LINE, or the pipe broke
            return None

    async def send(self, line: bytes) -> None:
        """Write a line to its stdin."""
        with contextlib.suppress(OSError, RuntimeError):
            self._in.write(line)
            await self._in.drain()

    def hang_up(self) -> None:
        """End its stdin: it should finish what it does, and end."""
        with contextlib.suppress(OSError, RuntimeError):
            self._in.close()

    async def end(self) -> int:
        """Have it end, and what it started; its exit code."""
        self.hang_up()
        for ask in (self._terminate, self._kill):
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(self.process.wait(), GRACE_S)
            ask()
        return await self.process.wait()

    def _terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def _kill(self) -> None:
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))

    def _signal(self, which: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, which)
            else:
                self.process.terminate()
