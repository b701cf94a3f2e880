"""``AsyncMemoryGuard``: the same guard in worker threads; there is one implementation, and this carries it over."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

from thymus.guard import MemoryGuard
from thymus.streams import BATCH

if TYPE_CHECKING:
    from types import TracebackType

    from thymus.core.disclose import Recall
    from thymus.core.policy import Policy
    from thymus.core.provenance import Source
    from thymus.intake import Message
    from thymus.records import Written
    from thymus.turns import Turn

P = ParamSpec("P")
R = TypeVar("R")


def _threaded(
    method: Callable[Concatenate[MemoryGuard, P], R],
) -> Callable[Concatenate[AsyncMemoryGuard, P], Coroutine[Any, Any, R]]:
    @functools.wraps(method)
    async def call(self: AsyncMemoryGuard, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self.guard, *args, **kwargs)

    return cast("Callable[Concatenate[AsyncMemoryGuard, P], Coroutine[Any, Any, R]]", call)


class AsyncMemoryGuard:
    """``MemoryGuard`` for asyncio: the same arguments, methods, results and errors, awaited.

    :param guard: an open guard to share; otherwise the arguments of ``MemoryGuard`` open one.
    """

    def __init__(self, *args: Any, guard: MemoryGuard | None = None, **kwargs: Any) -> None:
        self.guard = guard or MemoryGuard(*args, **kwargs)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def for_user(self, user_id: str, *, tenant: str | None = None) -> AsyncMemoryGuard:
        """A guard for another user over the same store, judge and gate."""
        return AsyncMemoryGuard(guard=self.guard.for_user(user_id, tenant=tenant))

    @property
    def policy(self) -> Policy:
        """The gate."""
        return self.guard.policy

    @property
    def user_id(self) -> str:
        """Whose memory this is."""
        return self.guard.user_id

    @property
    def tenant(self) -> str:
        """Whose user that is."""
        return self.guard.tenant

    def turn(self) -> AsyncTurn:
        """A turn of an assistant: ``async with guard.turn() as turn:``, as ``MemoryGuard.turn``."""
        return AsyncTurn(self.guard.turn())

    async def remember_many(self, messages: Iterable[Message], *, at_once: int | None = None) -> AsyncIterator[Written]:
        """Learn from a stream of messages; one result a message, in order."""
        stream = iter(messages)
        while batch := list(islice(stream, BATCH)):
            for written in await asyncio.to_thread(self._remember_batch, batch, at_once):
                yield written

    def _remember_batch(self, batch: list[Message], at_once: int | None) -> list[Written]:
        return list(self.guard.remember_many(batch, at_once=at_once))

    message = _threaded(MemoryGuard.message)
    remember = _threaded(MemoryGuard.remember)
    recall = _threaded(MemoryGuard.recall)
    check_action = _threaded(MemoryGuard.check_action)
    inbox = _threaded(MemoryGuard.inbox)
    memories = _threaded(MemoryGuard.memories)
    get = _threaded(MemoryGuard.get)
    get_many = _threaded(MemoryGuard.get_many)
    resolve = _threaded(MemoryGuard.resolve)
    forget = _threaded(MemoryGuard.forget)
    revoke = _threaded(MemoryGuard.revoke)
    undo = _threaded(MemoryGuard.undo)
    history = _threaded(MemoryGuard.history)
    ledger = _threaded(MemoryGuard.ledger)
    explain = _threaded(MemoryGuard.explain)
    sources = _threaded(MemoryGuard.sources)
    export = _threaded(MemoryGuard.export)
    version = _threaded(MemoryGuard.version)
    verify = _threaded(MemoryGuard.verify)
    close = _threaded(MemoryGuard.close)


class AsyncTurn:
    """``Turn`` for asyncio: ``await turn.recall(…)`` and ``await turn.remember(…)``; ``turn.read(…)`` is not awaited.

    What is asked of it at the same time is done in order, so that a statement is derived from all that was recalled
    before it.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._in_order = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._turn.__enter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._turn.__exit__()

    @property
    def entered(self) -> tuple[str, ...]:
        """Keys of the sources whose content entered so far, each once, in order."""
        return self._turn.entered

    def read(self, text: str, *, source: str | Source, authenticated: bool | None = None) -> None:
        """``Turn.read``."""
        self._turn.read(text, source=source, authenticated=authenticated)

    async def recall(self, question: str, *, k: int = 8) -> Recall:
        """``Turn.recall``."""
        async with self._in_order:
            return await asyncio.to_thread(self._turn.recall, question, k=k)

    async def remember(self, text: str, **known: Any) -> Written:
        """``Turn.remember``, with the same arguments."""
        async with self._in_order:
            return await asyncio.to_thread(self._turn.remember, text, **known)
