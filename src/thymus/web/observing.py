"""One line of log, one observation and one span a request: which route, which token, how long. Never any text.

Spans go where the user's OpenTelemetry SDK sends them; without one they cost nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from fastapi import Request, Response
from opentelemetry import trace
from starlette.datastructures import Headers

from thymus.web.callers import KNOWN
from thymus.web.logs import FIELDS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from thymus.web.metrics import Metrics

log: Final = logging.getLogger("thymus.web")
UNKNOWN: Final = "(none)"
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_QUIET: Final = frozenset({"/healthz", "/metrics"})
_tracer: Final = trace.get_tracer("thymus.web")

Failed = Callable[[Request, Exception], Awaitable[Response]]
"""What is answered where the service itself failed."""


class Observing:
    """Outside everything that can refuse or fail."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, failed: Failed) -> None:
        self._app, self._metrics, self._failed = app, metrics, failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and note it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        with _tracer.start_as_current_span(method, record_exception=False, set_status_on_exception=False) as span:
            try:
                await self._app(scope, receive, noted)
            except Exception as error:
                log.exception("the service failed")
                if not status:
                    await (await self._failed(Request(scope), error))(scope, receive, noted)
            finally:
                took = time.perf_counter() - began
                route = route_of(scope)
                span.update_name(f"{method} {route}")
                span.set_attribute("http.request.method", method)
                span.set_attribute("http.route", route)
                span.set_attribute("http.response.status_code", status)
                self._metrics.request(method, route, status, took)
                level = logging.DEBUG if route in _QUIET else logging.INFO
                log.log(level, "answered", extra={FIELDS: _fields(scope, method, route, status, took)})


def route_of(scope: Scope) -> str:
    """The template of the path, without anybody's ids in it."""
    path = getattr(scope.get("route"), "path", None)
    if path is None and scope["path"] == "/mcp":
        return "/mcp"
    return path if isinstance(path, str) and path else UNKNOWN


def _fields(scope: Scope, method: str, route: str, status: int, took: float) -> dict[str, Any]:
    """Of who called, the id of their token."""
    length = Headers(scope=scope).get("content-length", "")
    fields = {
        "method": method,
        "route": route,
        "status": status,
        "ms": round(took * 1_000, 1),
        "token": getattr(scope.get(KNOWN), "token_id", None),
        "bytes": int(length) if length.isascii() and length.isdigit() and len(length) < 16 else None,
    }
    return {name: value for name, value in fields.items() if value is not None}
