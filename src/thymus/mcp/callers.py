"""Who calls: whose memory it is, and which conversation of theirs.

Both come from the transport, never from what a client or a model says of itself: client names, headers and session ids
are self-declared, and over HTTP a session id is one per request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST

HERE: Final = "here"
"""The one conversation of a process that talks over its own stdin and stdout."""
TENANT: Final = "tenant"
"""Of a verified token's claims: whose user its subject is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """One caller.

    :param user: whose memory it is; ``None`` is the user that the guard was opened for.
    :param tenant: whose user that is; ``None`` is the guard's own tenant.
    :param conversation: within what taint is kept: what entered it derives from, whoever of this user wrote next.
    :param vouched_for: whether the host that asks the user in our name is known to be the user's: the process that
        started this one, or the holder of a token. Anybody on a machine can call a port and answer their own question.
    """

    user: str | None
    conversation: str
    vouched_for: bool = True
    tenant: str | None = None


Whose = Callable[[Context[Any, Any]], Caller]
"""Says who called, from the context of a request; it raises where nobody may."""


def only(user: str | None = None, *, vouched_for: bool = True) -> Whose:
    """Everybody who calls is the same user in the same conversation: over stdio, or on loopback without tokens."""
    caller = Caller(user=user, conversation=HERE, vouched_for=vouched_for)
    return lambda _: caller


def by_token(_: Context[Any, Any]) -> Caller:
    """The user and the id of the bearer token that the HTTP layer verified.

    :raises MCPError: where there is none, or it names no user: nobody is then let in as somebody else.
    """
    token = get_access_token()
    if token is None or not token.subject:
        raise MCPError(code=INVALID_REQUEST, message="not signed in: send a bearer token that `thymus token new` made")
    return Caller(user=token.subject, conversation=token.client_id, tenant=(token.claims or {}).get(TENANT))
