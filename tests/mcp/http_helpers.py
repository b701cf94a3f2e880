"""A real server on loopback, a tiny one in the place of the memory, and what tests say to it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any

import anyio
import httpx2
import uvicorn
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import ElicitRequestParams, ElicitResult, TextContent
from pydantic import BaseModel
from starlette.types import ASGIApp

from thymus.access.limits import Limits
from thymus.access.tokens import Tokens
from thymus.mcp.http import build_app

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
ERAS = ("auto", "legacy")


class Answer(BaseModel):
    confirm: bool


async def ask_user() -> Elicit[Answer]:
    return Elicit("Really?", Answer)


def tiny(**options: Any) -> MCPServer[Any]:
    """A server that says who calls, takes its time, and asks the user."""
    server: MCPServer[Any] = MCPServer("tiny", log_level="CRITICAL", **options)

    @server.tool()
    async def whoami() -> str:
        token = get_access_token()
        return f"{token.subject} {token.client_id} {token.scopes}" if token else "anybody"

    @server.tool()
    async def slow(seconds: float) -> str:
        await anyio.sleep(seconds)
        return "done"

    @server.tool()
    async def ask(answer: Annotated[ElicitationResult[Answer], Resolve(ask_user)]) -> str:
        return f"{answer.action} {answer.data.confirm}" if isinstance(answer, AcceptedElicitation) else answer.action

    return server


@contextmanager
def listening(app: ASGIApp) -> Iterator[str]:
    """The address (``http://127.0.0.1:…``) at which the application is served for as long as the block lasts."""
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
        settings = uvicorn.Config(
            app, http="h11", ws="none", access_log=False, log_config=None, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
        thread.start()
        try:
            wait_for(lambda: server.started)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(10)


@contextmanager
def tiny_at(tokens: Tokens | None, limits: Limits | None = None, **options: Any) -> Iterator[str]:
    """A tiny server behind our door."""
    with listening(build_app(tiny, tokens=tokens, limits=limits, **options)) as base:
        yield base


@asynccontextmanager
async def client_of(
    base: str, secret: str | None, mode: str = "auto", *, yes: bool = True, transport: Any = None
) -> AsyncIterator[Client]:
    """The real client; its user answers questions with ``yes``."""

    async def answer(context: Any, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"confirm": yes})

    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=10, transport=transport) as http,
        Client(
            streamable_http_client(f"{base}/mcp", http_client=http), mode=mode, elicitation_callback=answer
        ) as client,
    ):
        yield client


def said(result: Any) -> str:
    """The text of a tool's result."""
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def call(name: str = "whoami", arguments: dict[str, Any] | None = None, id_: int = 1, **params: Any) -> dict[str, Any]:
    """A call of a tool in the protocol of 2026, as JSON."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    }
    params |= {"name": name, "arguments": arguments or {}, "_meta": meta}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


def headers_for(secret: str | None, name: str = "whoami", **more: str) -> dict[str, str]:
    """What goes with it."""
    found = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": name,
    }
    return found | ({"Authorization": f"Bearer {secret}"} if secret else {}) | more


def post(
    base: str, secret: str | None, body: dict[str, Any] | bytes | None = None, name: str = "whoami", **more: str
) -> httpx2.Response:
    """One raw request."""
    sent = body if isinstance(body, bytes) else json.dumps(body or call(name)).encode()
    return httpx2.post(f"{base}/mcp", content=sent, headers=headers_for(secret, name, **more), timeout=10)


def wait_for(true: Callable[[], bool], seconds: float = 10) -> None:
    """Until it is true; fails when that takes too long."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.01)
