"""Who may come in over HTTP, how often and for how long: the layer between authentication and the protocol."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from thymus.access.limits import Limits, Slots, Throttle, network
from thymus.errors import StoreError

if TYPE_CHECKING:
    from datetime import datetime

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from thymus.access.tokens import Tokens

LOOK_EVERY_S: Final = 1.0
"""How long a request or stream can outlive its token's revocation, or a stream the end of the server."""
_INTERNAL_ERROR: Final = -32603
_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Visit:
    """A request under way."""

    token: str | None
    is_stream: bool
    scope: anyio.CancelScope
    since: float


class Door:
    """Applies the limits to what arrives at one path, and ends what has lost its right to go on.

    :param tokens: ``None`` where nobody needs one; callers are then told apart by their address.
    :param closing: whether the server was told to end.
    """

    def __init__(
        self,
        path: str,
        limits: Limits,
        *,
        tokens: Tokens | None,
        now: Callable[[], datetime],
        closing: Callable[[], bool],
    ) -> None:
        self._path = path
        self._limits = limits
        self._tokens = tokens
        self._now = now
        self._closing = closing
        self._requests = Throttle(limits.requests)
        self._sessions = Throttle(limits.sessions)
        self._failures = Throttle(limits.failures)
        self._at_once = Slots(limits.at_once, limits.at_once_each)
        self._streams = Slots(limits.streams, limits.streams_each)
        self._visits: set[_Visit] = set()

    def before(self, app: ASGIApp) -> ASGIApp:
        """The application behind this door."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or scope["path"] != self._path:
                await app(scope, receive, send)
                return
            await self._receive_visit(app, scope, receive, send)

        return guarded

    async def _receive_visit(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        address = network(scope["client"][0]) if scope.get("client") else "unknown"
        token: str | None = None
        if self._tokens is not None:
            user = scope.get("user")
            if not isinstance(user, AuthenticatedUser):
                if wait := self._failures.take(address):
                    await _refuse(429, "too many requests without a valid token", wait)(scope, receive, send)
                else:
                    await app(scope, receive, send)  # which answers 401
                return
            token = user.access_token.client_id
        caller = token or address
        wait = self._requests.take(caller)
        if not wait and _opens_session(scope):
            wait = self._sessions.take(caller)
        if wait:
            await _refuse(429, "too many requests: slow down", wait)(scope, receive, send)
            return
        is_stream = scope["method"] == "GET"
        with (self._streams if is_stream else self._at_once).hold(caller) as free:
            if not free:
                await _refuse(503, "too many requests are under way", 1)(scope, receive, send)
                return
            await self._attend(token, is_stream, app, scope, _hurried(receive, self._limits.body_s), send)

    async def _attend(
        self, token: str | None, is_stream: bool, app: ASGIApp, scope: Scope, receive: Receive, send: Send
    ) -> None:
        begun: Message | None = None

        async def noted(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = message
            await send(message)

        visit = _Visit(token=token, is_stream=is_stream, scope=anyio.CancelScope(), since=anyio.current_time())
        self._visits.add(visit)
        try:
            with visit.scope:
                await app(scope, receive, noted)
        finally:
            self._visits.discard(visit)
        if not visit.scope.cancelled_caught:
            return
        if begun is None:
            await _refuse(401, "the token was revoked or has expired", None)(scope, receive, send)
        elif not any(name == b"content-length" for name, _ in begun["headers"]):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """For as long as the block lasts, end streams when the server closes, and all that a revoked token began."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch)
            try:
                yield
            finally:
                group.cancel_scope.cancel()

    async def _watch(self) -> None:
        while True:
            await anyio.sleep(LOOK_EVERY_S)
            if self._closing():
                for visit in self._visits:
                    if visit.is_stream:
                        visit.scope.cancel()
            # What began a moment ago was checked a moment ago.
            lasting = {v.token for v in self._visits if v.token and anyio.current_time() - v.since >= LOOK_EVERY_S / 2}
            if lasting:
                lost = await anyio.to_thread.run_sync(self._without_right, lasting)
                for visit in self._visits:
                    if visit.token in lost:
                        visit.scope.cancel()

    def _without_right(self, ids: set[str]) -> set[str]:
        if self._tokens is None:
            return set()
        try:
            found = {id_: self._tokens.get(id_) for id_ in ids}
        except StoreError as error:  # nobody new comes in either; who is in may finish
            _log.error("the tokens cannot be read: %s", error)
            return set()
        return {id_ for id_, token in found.items() if token is None or token.state(self._now()) != "active"}


def _opens_session(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
    is_older = version is None or version in HANDSHAKE_PROTOCOL_VERSIONS
    return scope["method"] == "POST" and is_older and MCP_SESSION_ID_HEADER not in headers


def _hurried(receive: Receive, within_s: float) -> Receive:
    """``receive``, with a time by which the whole body must be here."""
    deadline = anyio.current_time() + within_s
    complete = False

    async def hurried() -> Message:
        nonlocal complete
        if complete:
            return await receive()
        try:
            with anyio.fail_after(max(0.0, deadline - anyio.current_time())):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, "the request took too long to arrive", {"Connection": "close"}) from None
        complete = not (message["type"] == "http.request" and message.get("more_body", False))
        return message

    return hurried


def _refuse(status: int, why: str, wait_s: int | None) -> JSONResponse:
    """An answer in the protocol's own form, so that a client can show the reason."""
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": _INTERNAL_ERROR, "message": why}}
    return JSONResponse(body, status, headers=None if wait_s is None else {"Retry-After": str(wait_s)})
