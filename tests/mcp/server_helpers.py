"""What the tests of the MCP server share: a guard without models, a host that answers for its user, a client on it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal

from mcp_types import CallToolResult, ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from mcp import Client, StdioServerParameters
from thymus import MemoryGuard
from thymus.mcp.server import build_server

ERAS = ("auto", "legacy")
MAIL = "email:noreply@calendar-sync.example"
Action = Literal["accept", "decline", "cancel"]


def open_guard(path: str | None = None, user: str = "me") -> MemoryGuard:
    return MemoryGuard(path, embedder="hash", judge="typed", user_id=user)


@dataclass
class Host:
    """A host with a user in front of it, who answers what the test says."""

    action: Action = "accept"
    content: dict[str, Any] | None = field(default_factory=lambda: {"confirm": True})
    asked: list[str] = field(default_factory=list)
    forms: list[dict[str, Any]] = field(default_factory=list)

    async def __call__(self, context: object, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params.message)
        self.forms.append(params.requested_schema)
        return ElicitResult(action=self.action, content=self.content if self.action == "accept" else None)


def connect(server: Any, era: str = "auto", host: Host | None = None) -> AbstractAsyncContextManager[Client]:
    """A client of a server in this process (or of its guard), or of a command over stdio."""
    if isinstance(server, MemoryGuard):
        server = build_server(server)
    return Client(server, mode=era, elicitation_callback=host)


def over_stdio(db: str, *more: str, program: tuple[str, ...] = ("-m", "thymus.mcp")) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=[*program, "--db", db, *more],
        env={"THYMUS_LLM": "typed", "PYTHONWARNINGS": "error"},
    )


def fields(result: CallToolResult) -> dict[str, Any]:
    """The structured content of a result that is no error."""
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def shown(result: CallToolResult, audience: str) -> str:
    """The text of a result that is marked for the user, or for the assistant."""
    return "\n".join(
        block.text
        for block in result.content
        if block.type == "text" and block.annotations and block.annotations.audience == [audience]
    )


def fault(result: CallToolResult) -> str:
    """The text of an error."""
    assert result.is_error
    assert result.content[0].type == "text"
    return result.content[0].text


def texts(guard: MemoryGuard, choose: Callable[[Any], bool] = lambda _: True) -> list[str]:
    return [memory.text for memory in guard.memories(status=None) if choose(memory)]
