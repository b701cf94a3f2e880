"""``AsyncThymusMemory``: the same memory for asyncio; there is one implementation, and this carries it over."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import functools
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Self, TypeVar, cast

from thymus.aio import AsyncMemoryGuard
from thymus.integrations.mem0.memory import ThymusMemory

if TYPE_CHECKING:
    from mem0 import AsyncMemory, Memory

P = ParamSpec("P")
R = TypeVar("R")
_AT_ONCE: Final = 4

_LOOP: Final[contextvars.ContextVar[asyncio.AbstractEventLoop]] = contextvars.ContextVar("thymus_mem0_loop")


class _Awaited:
    """An ``AsyncMemory``, called from a worker thread: what it returns to await is awaited in the caller's loop."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._memory, name)
        if not callable(found):
            return found

        @functools.wraps(found)
        def call(*args: Any, **kwargs: Any) -> Any:
            returned = found(*args, **kwargs)
            if not asyncio.iscoroutine(returned):
                return returned
            return asyncio.run_coroutine_threadsafe(returned, _LOOP.get()).result()

        return call


def _threaded(
    method: Callable[Concatenate[ThymusMemory, P], R],
) -> Callable[Concatenate[AsyncThymusMemory, P], Coroutine[Any, Any, R]]:
    @functools.wraps(method)
    async def call(self: AsyncThymusMemory, *args: P.args, **kwargs: P.kwargs) -> R:
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()
        context.run(_LOOP.set, loop)
        work = functools.partial(method, self.inner, *args, **kwargs)
        return await loop.run_in_executor(self._threads, functools.partial(context.run, work))

    return cast("Callable[Concatenate[AsyncThymusMemory, P], Coroutine[Any, Any, R]]", call)


class AsyncThymusMemory:
    """``ThymusMemory`` for asyncio, over Mem0's ``AsyncMemory`` or ``Memory``: the same arguments and results, awaited.

    There is one implementation; it runs in worker threads of its own, so that it neither blocks the loop nor waits for
    the threads that Mem0 needs.
    """

    def __init__(self, memory: AsyncMemory | Memory, *args: Any, **kwargs: Any) -> None:
        self.inner = ThymusMemory(cast("Memory", _Awaited(memory)), *args, **kwargs)
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="thymus-mem0")

    @property
    def guard(self) -> AsyncMemoryGuard:
        """The guard that decides."""
        return AsyncMemoryGuard(guard=self.inner.guard)

    @property
    def user_id(self) -> str:
        """Whose memories these are."""
        return self.inner.user_id

    def for_user(self, user_id: str) -> AsyncThymusMemory:
        """The memories of another user."""
        other = copy.copy(self)
        other.inner = self.inner.for_user(user_id)
        return other

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Release the ledger, where it was opened here. The threads end with the last that uses them."""
        await asyncio.to_thread(self.inner.close)

    add = _threaded(ThymusMemory.add)
    update = _threaded(ThymusMemory.update)
    delete = _threaded(ThymusMemory.delete)
    delete_all = _threaded(ThymusMemory.delete_all)
    reset = _threaded(ThymusMemory.reset)
    search = _threaded(ThymusMemory.search)
    recall = _threaded(ThymusMemory.recall)
    get = _threaded(ThymusMemory.get)
    get_all = _threaded(ThymusMemory.get_all)
    history = _threaded(ThymusMemory.history)
    adopt = _threaded(ThymusMemory.adopt)
    sync = _threaded(ThymusMemory.sync)
