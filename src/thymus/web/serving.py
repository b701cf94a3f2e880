"""How the service starts and ends: one process, or several workers over one database.

Workers share the socket, the store and the tokens, and nothing else. MCP sessions would be kept in one of them, and
what a conversation has read would be known to it alone: so with several workers there are no sessions, and every
conversation counts as one that something unknown has entered.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from thymus import embed
from thymus.access.limits import Limits
from thymus.access.listening import HOST, PORT, bind, bracketed, check_listening, transport_security
from thymus.access.tokens import Tokens, open_tokens
from thymus.conversation import UNKNOWN
from thymus.errors import ConfigError
from thymus.guard import MemoryGuard
from thymus.mcp import http
from thymus.mcp.conversation import Conversations
from thymus.mcp.server import build_server
from thymus.web.app import create_app
from thymus.web.logs import FIELDS, log_to_stderr
from thymus.web.metrics import SHARED
from thymus.web.workers import Workers

if TYPE_CHECKING:
    import socket

    from fastapi import FastAPI

    from thymus.config import Settings

MOST_WORKERS: Final = 64
_LOGGED: Final = logging.getLogger("thymus.web")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What is served where; a worker is started from it.

    :param tokens: the file of the tokens, where it was named.
    :param port: 0 takes any that is free.
    :param allowed_hosts: names under which clients call it, beside loopback's and ``host``.
    :param allowed_origins: of other sites' pages that may call it with a token.
    """

    settings: Settings
    tokens: str | None = None
    host: str = HOST
    port: int = PORT
    workers: int = 1
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    limits: Limits = field(default_factory=lambda: Limits(at_once_each=16))
    debug: bool = False

    def open_guard(self) -> MemoryGuard:
        """A guard for the user who runs the service."""
        settings = self.settings
        embed.CACHED_TEXTS = 0  # one user's answer must not be faster because another wrote the same
        return MemoryGuard(settings.db, gate=settings.gate, llm=settings.llm, user_id=settings.user)

    def open_tokens(self) -> Tokens:
        """Who may come in."""
        return open_tokens(self.settings.db, self.tokens)


def serve(service: Service, *, first: Callable[[str, str], None], ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; requests under way are finished first.

    :param first: told the URL and the secret of the token that is made where there was none: for whoever stands at
        the machine, once.
    :param ready: told the URL when clients can call it.
    :raises ConfigError: it would be open to strangers, the port is taken, or it takes a database; the message says
        what would do.
    :raises StoreError: the store or the tokens cannot be used.
    """
    _check_workers(service)
    tokens = service.open_tokens()
    check_listening(service.host, tokens, service.allowed_hosts, service.allowed_origins)
    transport_security(
        service.host, service.allowed_hosts, service.allowed_origins
    )  # so that a bad name is refused now
    guard = service.open_guard()  # which makes the store ready, before any worker needs it
    try:
        with bind(service.host, service.port) as listening:
            service = replace(service, port=listening.getsockname()[1])
            url = f"http://{bracketed(service.host)}:{service.port}"
            if not tokens.all():
                _, secret = tokens.issue(service.settings.user, "first")
                first(url, secret)
            log_to_stderr(debug=service.debug)
            if service.workers == 1:
                _serve_here(service, guard, tokens, listening, lambda: _told(ready, url))
            else:
                guard.close()
                _serve_with_workers(service, listening, lambda: _told(ready, url))
    finally:
        guard.close()
        tokens.close()


def build(service: Service, guard: MemoryGuard, tokens: Tokens, closing: Callable[[], bool]) -> FastAPI:
    """The application of one process.

    :param closing: whether it was told to end.
    """
    key = tokens.key()
    alone = service.workers == 1
    security = transport_security(service.host, service.allowed_hosts, service.allowed_origins)

    def build_mcp(**options: Any) -> Any:
        conversations = Conversations(guard, before=() if alone else (UNKNOWN,))
        return build_server(guard, conversations=conversations, **options)

    mcp = http.build_app(
        build_mcp,
        tokens=tokens,
        limits=service.limits,
        host=service.host,
        port=service.port,
        allowed_hosts=service.allowed_hosts,
        allowed_origins=service.allowed_origins,
        keys=() if alone else (hmac.new(key, b"thymus mcp state", hashlib.sha256).hexdigest(),),
        closing=closing,
    )
    return create_app(
        guard,
        tokens,
        key=key,
        limits=service.limits,
        hosts=security.allowed_hosts,
        origins=service.allowed_origins,
        mcp=mcp,
    )


def _check_workers(service: Service) -> None:
    if not 1 <= service.workers <= MOST_WORKERS:
        raise ConfigError(f"--workers is how many processes serve: 1 to {MOST_WORKERS}")
    if service.workers > 1 and not service.settings.db.startswith(("postgresql://", "postgres://")):
        raise ConfigError(
            "several workers share a database: keep the memory in PostgreSQL (--db postgresql://USER@HOST/DATABASE, "
            "docs/how-to/postgres.md), or leave --workers out"
        )


def _told(ready: Callable[[str], None], url: str) -> None:
    _LOGGED.info("listening", extra={FIELDS: {"url": url}})
    ready(url)


def _serve_here(
    service: Service, guard: MemoryGuard, tokens: Tokens, listening: socket.socket, ready: Callable[[], None]
) -> None:
    app = build(service, guard, tokens, lambda: server.should_exit)
    server = http.Announcing(http.server_settings(app, service.limits), ready)
    with http.ending_well():
        server.run(sockets=[listening])


def _serve_with_workers(service: Service, listening: socket.socket, ready: Callable[[], None]) -> None:
    workers = Workers(service.workers, _work, service, listening, closing_s=2 * service.limits.closing_s)
    with tempfile.TemporaryDirectory(prefix="thymus-metrics-") as shared:
        os.environ[SHARED] = shared  # for the workers, which take it over when they start
        try:
            workers.run(ready)
        finally:
            del os.environ[SHARED]


def _work(ready: Callable[[], None], service: Service, listening: socket.socket) -> None:
    """One worker."""
    log_to_stderr(debug=service.debug)
    with listening, service.open_guard() as guard:
        _serve_here(service, guard, service.open_tokens(), listening, ready)
