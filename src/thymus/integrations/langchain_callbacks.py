"""LangChain's callbacks as a place to learn from, and a recall as a message: for what ``create_agent`` did not make."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thymus.aio import AsyncMemoryGuard
from thymus.conversation import HEADING
from thymus.integrations import langchain_messages as lc
from thymus.integrations.adapter import Adapter, context, missing

try:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.messages import SystemMessage, ToolMessage
    from langgraph.errors import GraphBubbleUp
    from langgraph.types import Command
except ImportError as error:
    raise missing("langchain", "langchain") from error

if TYPE_CHECKING:
    from thymus.guard import MemoryGuard


@dataclass(frozen=True, slots=True, kw_only=True)
class _Started:
    """What is known of a tool's run from its beginning."""

    tool: str = ""
    arguments: object = None
    call_id: str | None = None
    thread: str = ""
    open_world: bool = False
    of_mcp: bool = False


class ThymusCallbackHandler(BaseCallbackHandler):
    """Learns each tool's result under the tool's own name, wherever LangChain or LangGraph runs it.

    Pass it in ``config={"callbacks": […]}``. It is one user's. A thread is one conversation; without a thread id, all
    that one handler sees is. It recalls nothing (``recall_messages``) and learns nothing that the user says.

    :param options: as of ``thymus.integrations.adapter.Adapter``: ``open_world``, ``authenticated``, ``ignored``,
        ``on_notice``, ``failing``. With ``"closed"`` a failure of Thymus fails the tool's call.
    """

    def __init__(self, guard: MemoryGuard | AsyncMemoryGuard, **options: Any) -> None:
        super().__init__()
        self._adapter = Adapter(guard, **options)
        self._plain = Adapter(guard, **{**options, "authenticated": ()})  # for what an MCP server offers
        self.raise_error = self._adapter.failing == "closed"
        self._running: dict[uuid.UUID, _Started] = {}

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,  # noqa: ARG002
        *,
        run_id: uuid.UUID,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **known: Any,
    ) -> None:
        """Note what the tool was called with, and in which thread."""
        marks = metadata or {}
        self._running[run_id] = _Started(
            tool=str((serialized or {}).get("name") or ""),
            arguments=inputs or {},
            call_id=known.get("tool_call_id"),
            thread=str(marks.get("thread_id") or ""),
            open_world=marks.get(lc.OPEN_WORLD) is True,
            of_mcp=not lc.MCP_MARKS.isdisjoint(marks),
        )

    def on_tool_end(self, output: Any, *, run_id: uuid.UUID, **known: Any) -> None:
        """Learn what the tool returned."""
        started = self._running.pop(run_id, _Started())
        name = str(known.get("name") or started.tool)
        messages = [message for message in lc.returned(output) if isinstance(message, ToolMessage)]
        for message in messages:
            its = started.call_id is None or message.tool_call_id == started.call_id
            self._learn(started, name, message.content, run_id, states=its and message.status != "error")
        if not messages and not isinstance(output, Command):
            self._learn(started, name, output, run_id)

    def on_tool_error(self, error: BaseException, *, run_id: uuid.UUID, **known: Any) -> None:
        """Read an error, which may be shown to the model, and which states nothing."""
        started = self._running.pop(run_id, _Started())
        if not isinstance(error, GraphBubbleUp):
            self._learn(started, str(known.get("name") or started.tool), str(error), run_id, states=False)

    def _learn(self, started: _Started, tool: str, result: object, run_id: uuid.UUID, *, states: bool = True) -> None:
        with self._adapter.failures(f"a result of tool {tool!r} was not learned"):
            (self._plain if started.of_mcp else self._adapter).tool_returned(
                self._adapter.conversation(started.thread),
                tool,
                result,
                arguments=started.arguments,
                call_id=f"langchain/{started.thread}/{run_id}",
                failed=not states,
                open_world=started.open_world,
            )


def recall_messages(guard: MemoryGuard | AsyncMemoryGuard, question: str, k: int = 8) -> tuple[SystemMessage, str]:
    """What bears on a question, as a system message to put before the others, and the notice to show to the user.

    :param k: how many memories the message may hold.
    :raises InputError: where there is no question.
    """
    found = (guard.guard if isinstance(guard, AsyncMemoryGuard) else guard).recall(question, k=k)
    return SystemMessage(context(found) or f"{HEADING}\n(nothing that bears on the question)"), found.notice
