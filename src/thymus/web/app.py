"""The application: what answers under which path, and in which layers a request goes through.

From the outside in: ``SafeHeaders``, ``Observing``, ``Safety``, the CORS answers for sites that were named, the routes.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.routing import Route

from thymus._version import __version__
from thymus.access.limits import Limits
from thymus.access.listening import is_loopback
from thymus.errors import StoreError, ThymusError
from thymus.web import api, pages, signing_in
from thymus.web.callers import People, Role, caller
from thymus.web.metrics import Metrics
from thymus.web.observing import Observing
from thymus.web.problems import MEDIA_TYPE, Problem
from thymus.web.safety import MCP, SafeHeaders, Safety

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from thymus.access.tokens import Tokens
    from thymus.guard import MemoryGuard

COMPUTING: Final = 2 * (os.cpu_count() or 2)
"""Requests that are worked on at the same time; each thread that runs a network keeps memory of its own."""
WAITING: Final = 32
"""The same where a language model is asked, for which they mostly wait."""
STATIC: Final = Path(__file__).parent / "static"
_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What would help, in words."},
    },
}
_REFUSALS: Final = (400, 401, 403, 404, 408, 409, 413, 421, 422, 429, 500, 503, 507)
_log = logging.getLogger("thymus.web")


def create_app(
    guard: MemoryGuard,
    tokens: Tokens,
    *,
    key: bytes | None = None,
    limits: Limits | None = None,
    hosts: Sequence[str] | None = None,
    origins: Sequence[str] = (),
    mcp: Starlette | None = None,
) -> FastAPI:
    """The whole service over one store.

    :param guard: for the user who runs the service; other callers get guards of their own over its store.
    :param tokens: who may come in.
    :param key: signs the cookies of browsers, the same in every worker; by default the one beside the tokens.
    :param limits: what one caller may ask for.
    :param hosts: the names under which it answers (``access.listening.transport_security``); ``None`` for every name.
    :param origins: of other sites' pages that may call the API with a token.
    :param mcp: the MCP server (``thymus.mcp.http.build_app``), which answers at ``/mcp``.
    """

    @contextlib.asynccontextmanager
    async def serving(_: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = COMPUTING if guard.llm is None else WAITING
        async with contextlib.AsyncExitStack() as stack:
            if mcp is not None:
                await stack.enter_async_context(mcp.router.lifespan_context(mcp))
            yield

    app = FastAPI(
        title="Thymus",
        version=__version__,
        summary="Long-term memory of agents, guarded: keep every claim, decide by provenance, tell the user.",
        lifespan=serving,
        docs_url=None,  # a page with scripts of somebody else's
        redoc_url=None,
        openapi_url="/openapi.json",
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},  # tells texts of errors
        responses={
            status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": _PROBLEM}}}
            for status in _REFUSALS
        },
    )
    app.state.people = People(guard, tokens, tokens.key() if key is None else key)
    app.state.metrics = metrics = Metrics()
    app.include_router(api.router)
    app.include_router(signing_in.router, include_in_schema=False)
    app.include_router(pages.router, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")

    @app.get("/healthz", tags=["service"], summary="Whether it runs, and reaches its store")
    def health() -> dict[str, str]:
        guard.version()
        return {"status": "ok"}

    @app.get("/metrics", tags=["service"], summary="For Prometheus", response_class=Response)
    def metrics_page(request: Request) -> Response:
        """From this machine itself, or with an auditor's token of the user who runs the service."""
        _check_may_measure(request)
        return Response(metrics.page(), media_type="text/plain; version=0.0.4")

    if mcp is not None:
        app.router.routes.append(Route(MCP, mcp))
    _answer_errors(app)
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-type"],
        )
    app.add_middleware(Safety, limits=limits or Limits(), hosts=hosts, origins=origins)
    app.add_middleware(Observing, metrics=metrics, failed=_answer)
    app.add_middleware(SafeHeaders)
    return app


def _check_may_measure(request: Request) -> None:
    """Counts of all users together would tell one of them what the others do.

    :raises Problem: 401 or 403.
    """
    forwarded = any(name in request.headers for name in ("forwarded", "via", "x-forwarded-for", "x-real-ip"))
    if request.client is not None and is_loopback(request.client.host) and not forwarded:
        return
    found = caller(request)
    if not found.operator or found.role is not Role.AUDITOR:
        raise Problem(403, "Not allowed", "This takes a token of the role auditor, of the user who runs the service.")


def _answer_errors(app: FastAPI) -> None:
    for kind in (Problem, ThymusError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answer)


async def _answer(request: Request, error: Exception) -> Response:
    """Problem details for programs, and a page for people."""
    told = error if isinstance(error, Problem) else _problem_of(error)
    if isinstance(error, StoreError):
        _log.error("the store could not be used: %s", type(error).__name__)
    return await pages.problem_page(request, told) if pages.is_for_people(request) else told.response()


def _problem_of(error: Exception) -> Problem:
    if isinstance(error, ThymusError):
        return Problem.of(error)
    if isinstance(error, RequestValidationError):
        faults = [
            f"{'.'.join(str(part) for part in fault['loc'] if part != 'body')}: {fault['msg']}"
            for fault in error.errors()[:5]
        ]
        return Problem(422, "Not usable", "; ".join(faults)[:1_000])
    if isinstance(error, HTTPException):
        title = HTTPStatus(error.status_code).phrase
        return Problem(error.status_code, title, str(error.detail), error.headers)
    return Problem.failed()
