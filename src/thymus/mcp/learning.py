"""Learning from what passed: behind the conversation's back, in order, and never in the way of a call."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from thymus import results
from thymus.core.provenance import UNPRINTABLE, Source
from thymus.sources.origins import NOBODY

if TYPE_CHECKING:
    from thymus.conversation import Conversation
    from thymus.mcp.watching import Seen
    from thymus.sources.origins import Piece

CHANNEL: Final = "mcp"
MOST_WAITING: Final = 1_000
"""Results, or pieces of them, that wait to be read or learned; one more is not learned, and the log says so."""
FINISH_S: Final = 10.0
"""Seconds in which what still waits is learned when everything else is over."""

_log = logging.getLogger("thymus.mcp.proxy")


def tool_source(server: str, tool: str) -> Source:
    """A tool as it stands on the wire: ``mcp:server/tool``; ``mcp:server`` for what is no tool's."""
    name = f"{server}/{tool}" if tool else server
    return Source(channel=CHANNEL, identity=UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", name)[:300])


class Line:
    """Work that waits for one thread, first come first served."""

    def __init__(self, name: str, do: Callable[[Any], None]) -> None:
        self._do = do
        self._waiting: deque[Any] = deque()
        self._changed = threading.Condition()
        self._busy = False
        # Unfinished work must not keep the process: it is told to finish, and for how long it may.
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def add(self, item: Any, *, always: bool = False) -> bool:
        """Whether there was room for it."""
        with self._changed:
            if len(self._waiting) >= MOST_WAITING and not always:
                return False
            self._waiting.append(item)
            self._changed.notify_all()
            return True

    def finish(self, within_s: float) -> int:
        """Wait until all is done; how many were not in that time."""
        until = time.monotonic() + within_s
        with self._changed:
            while (self._waiting or self._busy) and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
            return len(self._waiting) + self._busy

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                item, self._busy = self._waiting.popleft(), True
            try:
                self._do(item)
            except Exception as error:  # noqa: BLE001  (whatever it was, the next result is learned)
                _log.warning("a result was not learned: %.300s", f"{type(error).__name__}: {error}")
                _log.debug("its failure", exc_info=True)
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()


class Learner:
    """Takes what passed into a conversation, and then into memory.

    :param named: from a tool's name on the wire to its server's name and its own.
    """

    def __init__(self, conversation: Conversation, named: Callable[[str], tuple[str, str]]) -> None:
        self._conversation, self._named = conversation, named
        self._reading = Line("thymus reading", self._read)
        self._learning = Line("thymus learning", self._learn)

    def note(self, seen: Seen) -> None:
        """Take in what passed; at once, whatever waits."""
        if not self._reading.add(seen):
            source = tool_source(*self._named(seen.tool))
            for one in (source, NOBODY):
                self._conversation.read("", source=one)
            _log.warning("too much waits: a result of %s was not learned", source.key)

    async def settled(self) -> None:
        """Wait until all that passed so far has entered the conversation."""
        done = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._reading.add(lambda: loop.call_soon_threadsafe(done.set), always=True)
        await done.wait()

    def finish(self, within_s: float = FINISH_S) -> int:
        """Learn what still waits; how many results or pieces were left over in that time."""
        until = time.monotonic() + within_s
        left = self._reading.finish(within_s)
        left += self._learning.finish(max(0.0, until - time.monotonic()))
        if left:
            _log.warning("%d results were not learned: there was no more time", left)
        return left

    def _read(self, seen: Any) -> None:
        if callable(seen):
            seen()
            return
        server, tool = self._named(seen.tool)
        source = tool_source(server, tool)
        open_world = seen.open_world or results.hands_on(tool)
        found = results.read(
            self._conversation, seen.result, source=source, arguments=seen.arguments, open_world=open_world
        )
        for piece in found if seen.learnt else ():
            if not self._learning.add((source, piece)):
                _log.warning("too much waits: a part of a result of %s was not learned", source.key)

    def _learn(self, given: tuple[Source, Piece]) -> None:
        source, piece = given
        results.learn(self._conversation, piece, source=source)
