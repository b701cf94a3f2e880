"""Where calls come in: whose each is, in which conversation, and a thread for what blocks."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, ParamSpec, TypeVar

import anyio
import anyio.to_thread
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from thymus.errors import ThymusError
from thymus.mcp import wording
from thymus.mcp.callers import Whose
from thymus.mcp.conversation import Conversation, Conversations

P = ParamSpec("P")
R = TypeVar("R")

WAITING: Final = 32
"""Calls that one server serves at the same time where a language model is asked, for which they mostly wait."""
COMPUTING: Final = 2 * (os.cpu_count() or 2)
"""The same with the bundled judge: more would be slower, and each thread that runs a network keeps its own memory."""
_SERVED: Final = frozenset({"tools/call", "resources/read", "prompts/get"})


class Desk:
    """The middleware that a call passes before it reaches a tool, a resource or a prompt."""

    def __init__(self, conversations: Conversations, whose: Whose) -> None:
        self.conversations = conversations
        self._whose = whose
        self.limiter = anyio.CapacityLimiter(min(COMPUTING, WAITING) if conversations.llm is None else WAITING)

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Serve the call within the conversation that it belongs to."""
        if ctx.method not in _SERVED:
            return await call_next(ctx)
        try:
            conversation = self.conversations.of(self._whose(Context(request_context=ctx)))
        except ThymusError as fault:
            raise MCPError(code=INVALID_PARAMS, message=wording.error(fault)) from None
        served = _SERVING.set((self, conversation))
        try:
            return await call_next(ctx)
        finally:
            _SERVING.reset(served)

    def principal(self, ctx: ServerRequestContext[Any, Any]) -> str:
        """Whom a confirmation is bound to: nobody else's call, and no other conversation's, can use it."""
        caller = self._whose(Context(request_context=ctx))
        return f"{caller.user!r} {caller.conversation!r}"


_SERVING: ContextVar[tuple[Desk, Conversation]] = ContextVar("thymus_mcp_serving")


def conversation() -> Conversation:
    """The conversation that the call being served belongs to."""
    return _SERVING.get()[1]


async def in_thread(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Do what blocks in a thread, so that other calls go on meanwhile. What it raises comes through."""
    desk, _ = _SERVING.get()
    return await anyio.to_thread.run_sync(functools.partial(work, *args, **kwargs), limiter=desk.limiter)


async def for_tool(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """``in_thread`` for a tool: an error of the library becomes one that the model reads, with its remedy.

    :raises ToolError: in the place of a ``ThymusError``.
    """
    try:
        return await in_thread(work, *args, **kwargs)
    except ThymusError as fault:
        raise ToolError(wording.error(fault)) from None
