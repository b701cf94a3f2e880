"""What every answer carries and every request has to keep to: headers, names, sizes, times and rates.

Who calls is looked up here, before anything of a body is read: each token has a rate of its own, and whoever shows none
shares one with their address. Failed attempts never keep out whoever has a token.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders

from thymus.access.limits import Slots, Throttle, network
from thymus.errors import StoreError
from thymus.web.callers import KNOWN, Caller, look_up, not_signed_in, shows_who
from thymus.web.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from thymus.access.limits import Limits

CSP: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Final = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with "no-referrer" browsers would not say that a form is this site's own
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "geolocation=(), camera=(), microphone=()",
    "cache-control": "no-store",
}
"""Of every answer that does not say otherwise."""
HSTS: Final = "max-age=31536000"
MCP: Final = "/mcp"
"""Where a door of its own stands (``thymus.mcp.door``)."""
API: Final = "/v1/"
"""Under which nobody is answered without a token."""
READERS: Final = 4
"""Threads that look up tokens: apart from those that work on memories, which may all be busy."""
_log = logging.getLogger("thymus.web")


class SafeHeaders:
    """The outermost layer: no answer goes without the headers, an error's neither."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    given.setdefault(name, value)
                if scope.get("scheme") == "https":
                    given.setdefault("strict-transport-security", HSTS)
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


class Safety:
    """Lets in what keeps to the limits.

    :param app: what answers.
    :param limits: what one caller may ask for; a caller is known by its token, or else by its address.
    :param hosts: names (``memory.example``, ``memory.example:*``) under which it answers; ``None`` for every name.
    :param origins: of other sites' pages that may call it.
    """

    def __init__(
        self, app: ASGIApp, *, limits: Limits, hosts: Sequence[str] | None = None, origins: Sequence[str] = ()
    ) -> None:
        self._app, self._limits = app, limits
        self._hosts, self._origins = hosts, frozenset(origins)
        self._requests = Throttle(limits.requests)
        self._failures = Throttle(limits.failures)
        self._at_once = Slots(limits.at_once, limits.at_once_each)
        self._readers = anyio.CapacityLimiter(READERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["path"] == MCP:
            await self._app(scope, receive, send)
            return
        try:
            await self._admit(scope, receive, send)
        except Problem as refused:
            await refused.response()(scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        self._check_names(headers)
        found = await self._find(scope)
        address = network(scope["client"][0]) if scope.get("client") else "unknown"
        caller = address if found is None else f"token {found.token_id}"
        if wait := self._requests.take(caller):
            raise _slow_down(wait)
        if found is None:
            send = self._counting(address, scope, send)
            if scope["path"].startswith(API) and scope["method"] != "OPTIONS":  # whose bodies are not even read
                await not_signed_in().response()(scope, receive, send)
                return
        with self._at_once.hold(caller) as free:
            if not free:
                raise Problem(503, "Busy", "Too many requests are under way: try again.", {"retry-after": "1"})
            body = await self._body(headers, receive)
            if body is not None:
                await self._app(scope, _again(body, receive), send)

    def _check_names(self, headers: Headers) -> None:
        """Refuse what another site's page sends, under our name or under its own (DNS rebinding)."""
        host = headers.get("host", "").lower()
        if self._hosts is not None and not any(_fits(host, name) for name in self._hosts):
            raise Problem(421, "Not this host", "The service does not go by this name: --allow-host names more.")
        origin = headers.get("origin")
        if origin is None or origin in self._origins or urlsplit(origin.lower()).netloc == host:
            return
        if not (origin == "null" and headers.get("sec-fetch-site") == "same-origin"):
            raise Problem(
                403, "Not sent from this page", "Pages of other sites may not call: --allow-origin names some."
            )

    async def _find(self, scope: Scope) -> Caller | None:
        request, found = Request(scope), None
        if shows_who(request):
            try:
                found = await anyio.to_thread.run_sync(look_up, request, limiter=self._readers)
            except StoreError as error:
                _log.error("nobody is let in, because the tokens cannot be read: %s", error)
                raise Problem.of(error) from error
        scope[KNOWN] = found
        return found

    async def _body(self, headers: Headers, receive: Receive) -> bytes | None:
        """All of it, or nothing where the client went away."""
        most, body = self._limits.body, bytearray()  # which many small parts do not copy over and over
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or len(length) > len(str(most)) or int(length) > most:
            raise _too_large(most)
        with anyio.move_on_after(self._limits.body_s):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                body += message.get("body", b"")
                if len(body) > most:
                    raise _too_large(most)
                if not message.get("more_body", False):
                    return bytes(body)
        raise Problem(408, "Too slow", "The request took too long to arrive.", {"connection": "close"})

    def _counting(self, address: str, scope: Scope, send: Send) -> Send:
        """``send``, which tells an address with too many failed attempts to wait in the place of "who are you?"."""
        held_back = False

        async def counting(message: Message) -> None:
            nonlocal held_back
            unknown = message["type"] == "http.response.start" and message["status"] == 401
            if unknown and (wait := self._failures.take(address)):
                held_back = True
                await _slow_down(wait).response()(scope, _nothing, send)
            if not held_back:
                await send(message)

        return counting


def _again(body: bytes, receive: Receive) -> Receive:
    """A body that is here already, and then whatever comes next."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


def _fits(host: str, name: str) -> bool:
    return host.startswith(name[:-1]) if name.endswith(":*") else host == name


def _slow_down(wait: int) -> Problem:
    return Problem(429, "Too many requests", f"Try again in {wait} s.", {"retry-after": str(wait)})


def _too_large(most: int) -> Problem:
    return Problem(413, "Too large", f"A request has at most {most:,} bytes.", {"connection": "close"})
