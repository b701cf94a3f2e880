"""Servers that are no program of their own: one in this process, and one at a URL. Both by the ``mcp`` package."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    find_invalid_x_mcp_header,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import PROTOCOL_VERSION_META_KEY, JSONRPCMessage, jsonrpc_message_adapter

from thymus.errors import ConfigError
from thymus.mcp.pipes import GRACE_S

_log = logging.getLogger("thymus.mcp.proxy")

CLOSED = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError)
SILENCE_S = 24 * 3_600.0
"""Seconds for which a server at a URL may say nothing while it works on a call: as long as the client waits."""


class InProcess:
    """A server of the ``mcp`` package in this process, or what the package makes of one elsewhere."""

    def __init__(self, read: Any, write: Any) -> None:
        self._read, self._write = read, write

    @classmethod
    @contextlib.asynccontextmanager
    async def start(cls, server: Server[Any]) -> AsyncIterator[InProcess]:
        """Run it until the end."""
        async with create_client_server_memory_streams() as ((read, write), (its_read, its_write)):
            options = server.create_initialization_options()
            running = asyncio.ensure_future(server.run(its_read, its_write, options))
            try:
                yield cls(read, write)
            finally:
                await write.aclose()
                with contextlib.suppress(Exception, asyncio.CancelledError):
                    await asyncio.wait_for(running, GRACE_S)

    async def receive(self) -> bytes | None:
        """The next message that it sends."""
        try:
            while isinstance(sent := await self._read.receive(), Exception):
                pass  # what it sent was no message, and has been logged
        except CLOSED:
            return None
        text: str = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
        return text.encode() + b"\n"

    async def send(self, line: bytes) -> None:
        """Hand it a message.

        :raises ValueError: where it is no message as the protocol has them.
        """
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        with contextlib.suppress(*CLOSED):
            await self._write.send(SessionMessage(message, metadata=self._about(message)))

    def hang_up(self) -> None:
        """Tell it that nothing more will come."""
        self._write.close()

    def _about(self, message: JSONRPCMessage) -> ClientMessageMetadata | None:  # noqa: ARG002
        return None


class AtUrl(InProcess):
    """A server at a URL, over streamable HTTP or, of before, SSE.

    What HTTP says of a message beside it (version, method and name, as headers) is read from the message itself.
    """

    def __init__(self, read: Any, write: Any) -> None:
        super().__init__(read, write)
        self._version = ""
        self._parameters: dict[str, Any] = {}

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(cls, url: str, *, headers: Mapping[str, str], sse: bool = False) -> AsyncIterator[AtUrl]:
        """Be connected until the end; a connection that fails ends, as a program does, and takes nothing with it.

        :raises ConfigError: where there is nobody to connect to.
        """
        over, connected = asyncio.Event(), asyncio.get_running_loop().create_future()

        async def keep() -> None:
            try:
                async with _opened(url, dict(headers), sse=sse) as (read, write):
                    connected.set_result(cls(read, write))
                    await over.wait()
            except Exception as error:  # noqa: BLE001  (whatever the network comes up with)
                said = f"the server at {url[:200]} cannot be reached ({_innermost(error)})"
                if connected.done():
                    _log.warning("%s", said)
                else:
                    connected.set_exception(ConfigError(f"{said}: start it, or correct its url"))

        keeping = asyncio.ensure_future(keep())
        try:
            yield await connected
        finally:
            over.set()
            await keeping

    async def receive(self) -> bytes | None:
        """The next message that it sends."""
        line = await super().receive()
        if line is not None:
            self._note(json.loads(line).get("result"))
        return line

    def _note(self, result: Any) -> None:
        if not isinstance(result, dict):
            return
        if isinstance(result.get("protocolVersion"), str):
            self._version = result["protocolVersion"]
        for tool in result["tools"] if isinstance(result.get("tools"), list) else ():
            schema = tool.get("inputSchema") if isinstance(tool, dict) else None
            if isinstance(schema, dict) and find_invalid_x_mcp_header(schema) is None:
                self._parameters[str(tool.get("name"))] = x_mcp_header_map(schema)

    def _about(self, message: JSONRPCMessage) -> ClientMessageMetadata | None:
        params = getattr(message, "params", None) or {}
        meta, method = params.get("_meta"), getattr(message, "method", "")
        modern = meta.get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
        version = modern if isinstance(modern, str) else self._version
        headers = {MCP_PROTOCOL_VERSION_HEADER: version} if version else {}
        if isinstance(modern, str):
            headers[MCP_METHOD_HEADER] = method
            name, arguments = params.get(NAME_BEARING_METHODS.get(method)), params.get("arguments")
            if isinstance(name, str):
                headers[MCP_NAME_HEADER] = encode_header_value(name)
            if isinstance(name, str) and isinstance(arguments, dict):
                headers |= mcp_param_headers(self._parameters.get(name, {}), arguments)
        return ClientMessageMetadata(headers=headers) if headers else None


@contextlib.asynccontextmanager
async def _opened(url: str, headers: dict[str, str], *, sse: bool) -> AsyncIterator[tuple[Any, Any]]:
    if sse:
        async with sse_client(url, headers=headers, sse_read_timeout=SILENCE_S) as (read, write):
            yield read, write
        return
    async with create_mcp_http_client(headers=headers) as http:
        http.timeout.read = SILENCE_S
        # What a program says has no such limit either: the longest result comes through.
        async with streamable_http_client(url, http_client=http, max_sse_event_size=None) as (read, write):
            yield read, write


def _innermost(error: BaseException) -> str:
    """The name of what went wrong, out of the groups that it is packed in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__
