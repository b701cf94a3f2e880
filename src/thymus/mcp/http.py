"""The MCP server over HTTP: who is let in, from where, and how it starts and ends.

The protocol is mcp's own streamable HTTP application, served by uvicorn. Added here: bearer tokens, the check of Host
and Origin (against DNS rebinding, which makes a web page's requests reach this machine under the page's name), limits,
``/healthz``, and the refusal to listen where strangers are without asking who they are.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.request_state import RequestStateSecurity
from pydantic import AnyHttpUrl
from sse_starlette.sse import AppStatus
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.routing import Route

from thymus import config
from thymus.access.limits import Limits
from thymus.access.listening import HOST, PORT, bind, bracketed, check_listening, transport_security
from thymus.access.tokens import Role
from thymus.errors import ConfigError, StoreError
from thymus.mcp.callers import TENANT
from thymus.mcp.door import Door

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request

    from thymus.access.tokens import Tokens

PATH: Final = "/mcp"
HEALTH: Final = "/healthz"
SCOPE: Final = "memory"
STATE_KEY: Final = "THYMUS_MCP_STATE_KEY"
READERS: Final = 4
"""Threads that look up tokens: apart from those of the tools, so that slow tools do not delay a refusal."""

Build = Callable[..., MCPServer[Any]]
"""Makes the server; takes ``token_verifier``, ``auth`` and ``request_state_security`` as ``MCPServer`` does."""

_log = logging.getLogger(__name__)


class Verifier(TokenVerifier):
    """Our tokens as mcp asks for them: ``client_id`` is the token's id, ``subject`` its user.

    Only those of owners: what a model does with the tools takes all the rights there are.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._readers = anyio.CapacityLimiter(READERS)

    async def verify_token(self, token: str) -> AccessToken | None:
        """See ``TokenVerifier``; a file that cannot be read lets nobody in."""
        try:
            found = await anyio.to_thread.run_sync(self._tokens.check, token, limiter=self._readers)
        except StoreError as error:
            _log.error("nobody is let in, because the tokens cannot be read: %s", error)
            return None
        if found is None or found.role is not Role.OWNER:
            return None
        return AccessToken(
            token=token,
            client_id=found.id,
            subject=found.user,
            claims={TENANT: found.tenant},
            scopes=[SCOPE],
            expires_at=int(found.expires.timestamp()) if found.expires else None,
        )


def authentication(tokens: Tokens, url: str) -> dict[str, Any]:
    """The arguments of ``MCPServer`` that make it ask for a token.

    No ``resource_server_url``: it would announce an OAuth authorisation server (RFC 9728), and clients would go looking
    for one. Nor can a token be meant for another server (RFC 8707): only those in this server's own file are valid.
    """
    auth = AuthSettings(
        issuer_url=AnyHttpUrl(url), resource_server_url=None, validate_token_resource=False, required_scopes=[SCOPE]
    )
    return {"token_verifier": Verifier(tokens), "auth": auth}


def state_keys(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The secrets of ``THYMUS_MCP_STATE_KEY``, which several workers share: the first seals, all of them open.

    With them a worker can go on with a question to the user that another one began.

    :raises ConfigError: for one that is too short to be a secret.
    """
    keys = [key.strip() for key in environment.get(STATE_KEY, "").split(",")]
    if any(0 < len(key.encode()) < 32 for key in keys):
        raise ConfigError(
            f"{STATE_KEY} holds a key of less than 32 characters: make one with "
            "`python -c 'import secrets; print(secrets.token_hex(32))'`, the same for every worker"
        )
    return list(dict.fromkeys(filter(None, keys)))


def build_app(
    build: Build,
    *,
    tokens: Tokens | None,
    limits: Limits | None = None,
    host: str = HOST,
    port: int = PORT,
    allowed_hosts: Iterable[str] = (),
    allowed_origins: Iterable[str] = (),
    keys: Sequence[str] = (),
    closing: Callable[[], bool] = lambda: False,
) -> Starlette:
    """The whole application.

    :param build: called once, as ``build(**options)``.
    :param tokens: who may come in; with ``None`` everybody who reaches it, so only for loopback.
    :param allowed_hosts: the names (``memory.example``) under which clients call it, beside loopback's and ``host``.
    :param allowed_origins: of web pages (``https://app.example``) whose requests are answered; by default of none.
    :param keys: shared with other workers (``state_keys``). With them the older protocol keeps no session either, and
        cannot ask the user.
    :param closing: whether the server was told to end.
    """
    limits = limits or Limits()
    options = authentication(tokens, _url(host, port)) if tokens is not None else {}
    if keys:
        options["request_state_security"] = RequestStateSecurity(keys=keys)
    app = build(**options).streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=bool(keys),
        max_request_body_size=limits.body,
        session_idle_timeout=limits.session_idle_s,
        transport_security=transport_security(host, allowed_hosts, allowed_origins),
        host=host,
    )
    door = Door(PATH, limits, tokens=tokens, now=config.now, closing=closing)
    app.user_middleware.append(Middleware(door.before))  # the innermost: mcp's own has said who it is
    app.router.routes.append(Route(HEALTH, _health))
    serving = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(served: Starlette) -> AsyncIterator[None]:
        async with serving(served), door.watched():
            yield

    app.router.lifespan_context = lifespan
    return app


def serve(
    build: Build,
    *,
    tokens: Tokens,
    host: str = HOST,
    port: int = PORT,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    limits: Limits | None = None,
    keys: Sequence[str] | None = None,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until SIGTERM or SIGINT; requests under way are finished first.

    Once a token was issued, everybody needs one. Before, only this machine is served, and asked for none.

    :param port: 0 takes any that is free.
    :param keys: by default those of ``THYMUS_MCP_STATE_KEY``.
    :param ready: told the URL, when clients can call it.
    :raises ConfigError: it would be open to strangers, or the port is taken; the message says what would do.
    :raises StoreError: the tokens cannot be read.
    """
    limits = limits or Limits()
    check_listening(host, tokens, allowed_hosts, allowed_origins)
    keys = state_keys() if keys is None else keys
    listening = bind(host, port)
    with listening:
        url = _url(host, listening.getsockname()[1])
        app = build_app(
            build,
            tokens=tokens if tokens.exist() else None,
            limits=limits,
            host=host,
            port=listening.getsockname()[1],
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            keys=keys,
            closing=lambda: server.should_exit,
        )
        server = Announcing(server_settings(app, limits), lambda: ready(url))
        with ending_well():
            server.run(sockets=[listening])


def server_settings(app: Starlette, limits: Limits) -> uvicorn.Config:
    """How uvicorn serves: within these limits, without a log of its own (it would hold what is asked)."""
    return uvicorn.Config(
        app,
        http="h11",  # which limits the size of a request's head
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_graceful_shutdown=max(1, round(limits.closing_s)),
    )


class Announcing(uvicorn.Server):
    """A server that says when clients can call it."""

    def __init__(self, settings: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(settings)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()


@contextmanager
def ending_well() -> Iterator[None]:
    """Let answers that are streamed be finished, and the program tidy up."""
    AppStatus.enable_automatic_graceful_drain = False  # would cut them short; the door ends what has no end of its own
    try:
        with _quiet_signals():
            yield
    finally:
        AppStatus.enable_automatic_graceful_drain = True


@contextmanager
def _quiet_signals() -> Iterator[None]:
    """After a graceful end uvicorn raises the signal again, which would end the program before it has tidied up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _url(host: str, port: int) -> str:
    return f"http://{bracketed(host)}:{port}{PATH}"


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})
