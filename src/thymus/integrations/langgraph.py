"""LangGraph's store, guarded: ``ThymusStore(store, guard)`` is a ``BaseStore`` over any other.

The wrapped store shows at each key what may be seen there, so that everything LangGraph defines (filters, queries,
pages, expiry) is done by it and stays correct. All values that were put, shown or not, are kept beside it under a
reserved namespace, each with the ids of the memories that it states. Whether a value may be seen is decided by the
guard alone, from the status of these memories: what the user settles anywhere (``resolve`` here, ``thymus inbox``, a
revoked source, an undone act, a forgotten memory) is followed before the next read, by reading on in the guard's
ledger. No status is kept twice.

* A put at a key where something stands says so to the guard (``over``); the gate decides whether it takes its place.
* A value that states nothing (a counter, a blob) can be replaced by whoever put it and by the user; another's is held.
* A delete by the user erases all that was put at the key; one by the owner what it put there itself. From anybody else
  it is a request: the value stays, and the user is told.
* A statement that the gate has superseded is withheld under its old key too, or else search would show both. A value is
  withheld when all that it states is superseded, or anything of it is held back. Fields (``theme: dark``) are said of
  their key, and are superseded there only. What the user put is not withheld on account of what the user put under
  another key: with the user as the only writer this is a store like any other.
* Nothing is locked, since other processes write as well: whoever writes looks again afterwards, until what is shown is
  what the guard says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from thymus.integrations.adapter import Adapter, Failing, missing

try:
    from langgraph.store.base import BaseStore, Op, Result
except ImportError as error:  # pragma: no cover
    raise missing("langgraph", "langgraph") from error

from thymus.core.provenance import Source
from thymus.integrations.langgraph_follow import GuardError, Steps
from thymus.integrations.langgraph_steps import Desk
from thymus.integrations.langgraph_values import RESERVED, Namespace, Value
from thymus.integrations.writing import writing_as

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from thymus.aio import AsyncMemoryGuard
    from thymus.guard import MemoryGuard
    from thymus.records import Explanation

__all__ = ["RESERVED", "ThymusStore", "Value"]

T = TypeVar("T")


class ThymusStore(BaseStore):
    """A guarded ``BaseStore``. Safe to use from several threads, tasks and processes.

    Who writes is, innermost first: what a hook noted while a tool runs (``thymus.integrations.writing``), ``said_by``,
    else ``source``. What is written inside a conversation that something outside has entered derives from that.

    :param store: keeps the values; nothing else should write to it.
    :param guard: decides. Each namespace is a scope of its own beside its user (``guard_of(namespace)``).
    :param source: who writes where nobody was noted. By default a model, which has no authority. Your own code may have
        its own name: ``Source(channel="app", identity="billing", assurance=Assurance.AUTHENTICATED)``.
    :param texts: what a value states, a line each; by default all that it says. What it leaves out is not looked at.
    :param scope: the user id of the guard whose memory a namespace belongs to, to share one with a conversation's.
    :param k: how many memories a query recalls, to see which of them cannot stand side by side.
    :param on_notice: called with what the user should know; never shown to the model.
    :param failing: what happens where the guard fails: ``"closed"`` raises; ``"open"`` uses the wrapped store bare.
    """

    def __init__(
        self,
        store: BaseStore,
        guard: MemoryGuard | AsyncMemoryGuard,
        *,
        source: str | Source = "assistant",
        texts: Callable[[Mapping[str, Any]], str] | None = None,
        scope: Callable[[Namespace], str] | None = None,
        k: int = 8,
        on_notice: Callable[[str], object] | None = None,
        failing: Failing = "closed",
    ) -> None:
        adapter = Adapter(guard, k=k, on_notice=on_notice, failing=failing)
        self._desk = Desk(adapter, Source.parse(source), texts, scope)
        self.store = store
        self.supports_ttl, self.ttl_config = store.supports_ttl, store.ttl_config

    # LangGraph's interface

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """As the wrapped store, guarded."""
        return self._do(self._desk.batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As the wrapped store, guarded; the guard works in a thread."""
        return await self._ado(self._desk.batch(list(ops)))

    # What only a guarded store has

    def said_by(self, source: str | Source) -> AbstractContextManager[None]:
        """Within, what is put is this source's: ``with store.said_by("user"): store.put(…)``.

        Around the one put of what the user typed, never around an agent's run: its tools would write as the user.
        """
        return writing_as(Source.parse(source))

    def guard_of(self, namespace: Namespace) -> MemoryGuard:
        """The guard whose memory a namespace belongs to: its inbox, history, sources."""
        return self._desk.pair(self._desk.scope_of(namespace)).lines

    def contested(self, namespace: Namespace = (), *, query: str | None = None) -> list[Value]:
        """What is withheld under a prefix until the user settles it, newest first.

        :param query: only what bears on this question.
        """
        return self._do(self._desk.contested(namespace, query))

    async def acontested(self, namespace: Namespace = (), *, query: str | None = None) -> list[Value]:
        """``contested``, awaited."""
        return await self._ado(self._desk.contested(namespace, query))

    def history(self, namespace: Namespace, key: str) -> list[Value]:
        """Every value that is kept for a key, with its provenance, newest first; the one that is shown says so."""
        return self._do(self._desk.history(namespace, key))

    async def ahistory(self, namespace: Namespace, key: str) -> list[Value]:
        """``history``, awaited."""
        return await self._ado(self._desk.history(namespace, key))

    def explain(self, namespace: Namespace, key: str) -> list[Explanation]:
        """Why each value of a key stands as it does, newest first, one explanation a memory that it states."""
        return self._do(self._desk.explain(namespace, key))

    async def aexplain(self, namespace: Namespace, key: str) -> list[Explanation]:
        """``explain``, awaited."""
        return await self._ado(self._desk.explain(namespace, key))

    def notice(self, namespace: Namespace, query: str) -> str:
        """What to show to the user beside an answer from this namespace; empty where nothing is contested."""
        return self._do(self._desk.notice(namespace, query))

    async def anotice(self, namespace: Namespace, query: str) -> str:
        """``notice``, awaited."""
        return await self._ado(self._desk.notice(namespace, query))

    def resolve(self, namespace: Namespace, which: str, accept: bool) -> None:
        """Settle a withheld value, or a request to delete, as the user decided.

        :param which: its ``id``, or its key where only one value of it is withheld.
        :raises InputError: where there is nothing to settle, or several things.
        """
        self._do(self._desk.resolve(namespace, which, accept))

    async def aresolve(self, namespace: Namespace, which: str, accept: bool) -> None:
        """``resolve``, awaited."""
        await self._ado(self._desk.resolve(namespace, which, accept))

    # How steps are taken

    def _do(self, steps: Steps[T]) -> T:
        came: Any = None
        failed: Exception | None = None
        while True:
            try:
                step = _next(steps, came, failed)
            except StopIteration as end:
                return cast("T", end.value)
            came = failed = None
            try:
                came = step() if callable(step) else self.store.batch(step)
            except Exception as error:  # noqa: BLE001  (the steps decide)
                failed = GuardError(error) if callable(step) else error

    async def _ado(self, steps: Steps[T]) -> T:
        came: Any = None
        failed: Exception | None = None
        while True:
            try:
                step = _next(steps, came, failed)
            except StopIteration as end:
                return cast("T", end.value)
            came = failed = None
            try:
                came = await (asyncio.to_thread(step) if callable(step) else self.store.abatch(step))
            except Exception as error:  # noqa: BLE001  (the steps decide)
                failed = GuardError(error) if callable(step) else error


def _next(steps: Steps[T], came: object, failed: Exception | None) -> Any:
    try:
        return steps.throw(failed) if failed else steps.send(came)
    except GuardError as stopped:
        raise stopped.error from None
