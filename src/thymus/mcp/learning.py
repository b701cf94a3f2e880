"""Learning from what passed: behind the conversation's back, in order, and never in the way of a call.

What a server says of itself and its tools (descriptions, instructions, names of resources) is not learned, but the
model reads it before anything else, so it enters the conversation as ``mcp:server``: whatever the model writes behind a
proxy derives from the servers behind it. That takes nothing from a statement. It is REPORTED either way, below
everything that a server could lend it; no rule holds it back for it, and the user's own confirmed words derive from
nothing. It names who may have had a hand in it, and goes with that server when the user revokes it. Only what repeats a
description would be less: a model that was told to write something seldom writes it in the same words.

What is lost in the end (no room, no time, a store that stays locked) is counted, and the user is told with the next
answer of ours.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from thymus import results
from thymus.core.provenance import UNPRINTABLE, Source
from thymus.errors import StaleVersionError, StoreLockedError
from thymus.sources.origins import NOBODY

if TYPE_CHECKING:
    from thymus.mcp.conversation import Conversation
    from thymus.mcp.watching import Seen
    from thymus.sources.origins import Piece

CHANNEL: Final = "mcp"
MOST_WAITING: Final = 1_000
"""Results, or pieces of them, that wait to be read or learned; one more is not learned, and the log says so."""
FINISH_S: Final = 10.0
"""Seconds in which what still waits is learned when everything else is over."""
PAUSES_S: Final = (0.25, 1.0, 4.0, 15.0)
"""Seconds between tries to learn a result while the store is held by others; after the last it is lost. Each try itself
waits as long as the store does."""
MOST_TOLD: Final = 10_000
"""Wordings of descriptions of which it is kept that they have entered."""

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
    :param several: whether there is more than one server, so that a tool of one can repeat what another says of itself.
    :param pause: waits for some seconds; whether it is time to give up.
    """

    def __init__(
        self,
        conversation: Conversation,
        named: Callable[[str], tuple[str, str]],
        *,
        several: bool = False,
        pause: Callable[[float], bool] | None = None,
    ) -> None:
        self._conversation, self._named, self._several = conversation, named, several
        self._over = threading.Event()
        self._pause = pause or self._over.wait
        self._told: OrderedDict[bytes, None] = OrderedDict()
        self._reading = Line("thymus reading", self._read)
        self._learning = Line("thymus learning", self._learn)

    def note(self, seen: Seen) -> None:
        """Take in what passed; at once, whatever waits."""
        if not self._reading.add(seen):
            self._unread(seen)
            self._lose(seen.learnt, "too much waits", tool_source(*self._named(seen.tool)))

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
        self._over.set()
        if left:
            _log.warning("%d results were not learned: there was no more time", left)
        return left

    def _lose(self, learnt: bool, why: str, source: Source) -> None:
        if learnt:
            self._conversation.lose()
            _log.warning("%s: a result of %s was not learned", why, source.key)

    def _unread(self, seen: Seen) -> None:
        """It enters without its words, so that nothing tells what repeats them: from now on all may."""
        for server in {self._named(name)[0] for name, _ in seen.told}:
            self._conversation.read("", source=tool_source(server, ""), all_of_it=not self._several)
        if not seen.told:
            for source in (tool_source(*self._named(seen.tool)), NOBODY):
                self._conversation.read("", source=source, all_of_it=False)

    def _read(self, seen: Any) -> None:
        if callable(seen):
            seen()
            return
        server, tool = self._named(seen.tool)
        source = tool_source(server, tool)
        try:
            found = self._taken_in(seen, tool, source)
        except Exception as error:  # noqa: BLE001  (whatever a server sends, it was shown to the model)
            self._unread(seen)
            self._lose(seen.learnt, f"it could not be read ({type(error).__name__})", source)
            return
        for piece in found if seen.learnt else ():
            if not self._learning.add((source, piece)):
                self._lose(True, "too much waits", source)

    def _taken_in(self, seen: Seen, tool: str, source: Source) -> list[Piece]:
        if seen.told:
            self._hear(seen.told)
            return []
        open_world = seen.open_world or results.hands_on(tool)
        return results.read(
            self._conversation, seen.result, source=source, arguments=seen.arguments, open_world=open_world
        )

    def _hear(self, told: Sequence[tuple[str, str]]) -> None:
        """Take in what servers say of themselves: each wording once, however often a client asks for it."""
        new: dict[str, list[str]] = {}
        for name, text in told:
            server = self._named(name)[0]
            mark = hashlib.sha256(f"{server}\n{text}".encode("utf-8", "surrogatepass")).digest()
            if mark not in self._told:
                new.setdefault(server, []).append(text)
                self._told[mark] = None
        while len(self._told) > MOST_TOLD:
            self._told.popitem(last=False)
        for server, texts in new.items():
            text = "\n".join(texts) if self._several else ""  # nobody else is there who could repeat it
            shown = text[: results.LONGEST]
            self._conversation.read(shown, source=tool_source(server, ""), all_of_it=shown == text)

    def _learn(self, given: tuple[Source, Piece]) -> None:
        source, piece = given
        try:
            self._learn_in_time(piece, source)
        except Exception as error:  # noqa: BLE001  (whatever it was, the next result is learned)
            _log.debug("its failure", exc_info=True)
            self._lose(True, f"{type(error).__name__}: {error}"[:300], source)

    def _learn_in_time(self, piece: Piece, source: Source) -> None:
        """Learn it, again and again while others hold the store.

        :raises StoreError: where they hold it too long.
        """
        pauses = iter(PAUSES_S)
        while True:
            try:
                results.learn(self._conversation, piece, source=source)
            except (StoreLockedError, StaleVersionError):
                pause = next(pauses, None)
                if pause is None or self._pause(pause):
                    raise
            else:
                return
