"""Where the server may listen, and under which names it answers."""

from __future__ import annotations

import ipaddress
import logging
import re
import socket
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from mcp.server.transport_security import TransportSecuritySettings

from thymus import config
from thymus.errors import ConfigError, InputError

if TYPE_CHECKING:
    from thymus.access.tokens import Tokens

HOST: Final = "127.0.0.1"
PORT: Final = 8321

_OURS: Final = ("127.0.0.1", "localhost", "[::1]")
_NAME: Final = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/*]+")
_log = logging.getLogger(__name__)


def check_listening(
    host: str, tokens: Tokens, allowed_hosts: Sequence[str], allowed_origins: Sequence[str] = ()
) -> None:
    """Refuse to be reached by others without asking who they are.

    :raises ConfigError: and what would do.
    """
    if not host.strip():
        raise InputError(f"--host is empty, which would mean every address: say {HOST}, or which address")
    now = config.now()
    locked = any(token.state(now) == "active" for token in tokens.all())
    if (allowed_hosts or allowed_origins) and not locked:
        raise ConfigError(
            "who names other hosts or origins has others call, and without a token all of them would be the same user: "
            "give each user one first (`thymus token new --user NAME --name LAPTOP`), or leave --allow-host and "
            "--allow-origin out"
        )
    if is_loopback(host):
        return
    if not locked:
        raise ConfigError(
            f"at {host} others could read and change the memory: give each user a token first "
            f"(`thymus token new --user NAME --name LAPTOP`), or listen at {HOST}"
        )
    if not allowed_hosts and _is_every_address(host):
        raise ConfigError(
            f"at {host} a web page could reach the memory through its visitor's browser: say under which name clients "
            "call it (--allow-host memory.example), and no other is answered"
        )
    _log.warning(
        "what is said to %s travels in the clear, tokens among it: let a reverse proxy in front of it speak TLS", host
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address. A name counts as outside, except ``localhost``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_every_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def bind(host: str, port: int) -> socket.socket:
    """Take a port; 0 is any that is free.

    :raises ConfigError: it cannot be had.
    """
    if not 0 <= port <= 65_535:
        raise ConfigError(f"there is no port {port}: --port takes 1 to 65535, or 0 for any that is free")
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        # Connections inherit it. asyncio sets it only on sockets that name their protocol, as these do not; without it
        # the body of an answer waits for the client to acknowledge the headers, which takes a client 40 ms.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        raise ConfigError(
            f"cannot listen at {host} port {port} ({error.strerror or error}): --port names another port, "
            "--host another address"
        ) from error
    return listening


def transport_security(host: str, names: Iterable[str], origins: Iterable[str]) -> TransportSecuritySettings:
    """Which Host and Origin headers are answered (against DNS rebinding).

    :raises ConfigError: for a name or an origin that is none.
    """
    # Loopback's own names are safe to answer to: the page of an attacker calls under a name of the attacker's.
    hosts = [*_OURS, *([] if is_loopback(host) or _is_every_address(host) else [bracketed(host)])]
    for name in names:
        if not _NAME.fullmatch(name.lower()):
            raise ConfigError(f"--allow-host takes a bare name such as memory.example, not {name[:80]!r}")
        hosts.append(name.lower())
    allowed = list(origins)
    for origin in allowed:
        if not _ORIGIN.fullmatch(origin):
            raise ConfigError(f"--allow-origin takes an origin such as https://app.example, not {origin[:80]!r}")
    return TransportSecuritySettings(
        allowed_hosts=[form for name in hosts for form in (name, f"{name}:*")], allowed_origins=allowed
    )


def bracketed(host: str) -> str:
    """A host as URLs have it."""
    return f"[{host}]" if ":" in host else host
