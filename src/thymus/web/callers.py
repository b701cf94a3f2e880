"""Who calls: whose memory it is, what they may do with it, and how they showed who they are.

A bearer token, or the cookie of a browser that signed in with one. The cookie is signed and names the token; each
request looks the token up again, so that revoking it ends the session everywhere at once. No worker keeps a session.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Depends, Request
from itsdangerous import BadData, URLSafeTimedSerializer

from thymus.access.tokens import Role as Role
from thymus.web.problems import Problem

if TYPE_CHECKING:
    from thymus.access.tokens import Token, Tokens
    from thymus.guard import MemoryGuard

COOKIE: Final = "thymus_session"
SESSION_S: Final = 12 * 3600
"""Seconds for which a browser stays signed in."""
MOST_GUARDS: Final = 1_000
CSRF_FIELD: Final = "csrf"
CSRF_HEADER: Final = "x-csrf-token"
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
KNOWN: Final = "thymus.caller"
"""Where a request's scope says who sent it, once that was looked up."""
READERS: Final = (Role.OWNER, Role.REVIEWER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """One caller.

    :param csrf: what a form has to bring along; "" where no cookie was used.
    :param guard: over this user's memory.
    :param operator: whether it is the user for whom the service was started: only they are told what concerns all
        users, such as how much was asked of the service, or whether the whole store is in order.
    """

    tenant: str
    user: str
    role: Role
    token_id: str
    csrf: str
    guard: MemoryGuard
    operator: bool = False

    @property
    def by_cookie(self) -> bool:
        """Whether a browser sent it by itself."""
        return bool(self.csrf)


class People:
    """Finds out who calls. Safe to use from several threads.

    :param guard: over the store that all of them share; its user runs the service.
    :param key: signs cookies; all workers share it.
    """

    def __init__(self, guard: MemoryGuard, tokens: Tokens, key: bytes) -> None:
        self._guard, self._tokens = guard, tokens
        self._cookies = URLSafeTimedSerializer(
            key,
            salt="thymus session",
            signer_kwargs={"digest_method": hashlib.sha256, "key_derivation": "hmac"},
        )
        self._guards: OrderedDict[tuple[str, str], MemoryGuard] = OrderedDict()
        self._lock = threading.Lock()

    def by_secret(self, secret: str) -> Caller | None:
        """The holder of a token; ``None`` where it opens nothing."""
        token = self._tokens.check(secret)
        return None if token is None else self._caller(token, "")

    def by_cookie(self, cookie: str) -> Caller | None:
        """Who signed in with a token that still opens something."""
        try:
            kept = self._cookies.loads(cookie, max_age=SESSION_S)
            token_id, csrf = str(kept["token"]), str(kept["csrf"])
        except (BadData, KeyError, TypeError):
            return None
        token = self._tokens.find(token_id)
        return None if token is None or not csrf else self._caller(token, csrf)

    def sign_in(self, secret: str) -> str | None:
        """A cookie for the holder of a token."""
        token = self._tokens.check(secret)
        if token is None:
            return None
        return str(self._cookies.dumps({"token": token.id, "csrf": secrets.token_urlsafe(24)}))

    def _caller(self, token: Token, csrf: str) -> Caller:
        guard = self._guard_of(token.tenant, token.user)
        return Caller(
            tenant=token.tenant,
            user=token.user,
            role=token.role,
            token_id=token.id,
            csrf=csrf,
            guard=guard,
            operator=(guard.tenant, guard.user_id) == (self._guard.tenant, self._guard.user_id),
        )

    def _guard_of(self, tenant: str, user: str) -> MemoryGuard:
        key = tenant, user
        with self._lock:
            found = self._guards.pop(key, None) or self._guard.for_user(user, tenant=tenant)
            self._guards[key] = found
            while len(self._guards) > MOST_GUARDS:
                self._guards.popitem(last=False)
            return found


def cookie_name(request: Request) -> str:
    """Over TLS a name that no neighbouring site of the same domain can set (RFC 6265bis, section 4.1.3)."""
    return f"__Host-{COOKIE}" if request.url.scheme == "https" else COOKIE


def shows_who(request: Request) -> bool:
    """Whether a request brings along what could tell who sent it."""
    return "authorization" in request.headers or cookie_name(request) in request.cookies


def look_up(request: Request) -> Caller | None:
    """Ask the tokens who sent a request. It blocks."""
    people: People = request.app.state.people
    if "authorization" in request.headers:
        scheme, _, secret = request.headers["authorization"].partition(" ")
        return people.by_secret(secret.strip()) if scheme.lower() == "bearer" else None
    cookie = request.cookies.get(cookie_name(request))
    return people.by_cookie(cookie) if cookie else None


def find_caller(request: Request) -> Caller | None:
    """Who sent a request, as ``Safety`` found out; ``None`` where nobody known did."""
    found: Caller | None = request.scope[KNOWN]
    return found


def caller(request: Request) -> Caller:
    """Who sent a request to the API.

    :raises Problem: 401 where nobody known did; 403 where a browser may have been led to send it.
    """
    found = find_caller(request)
    if found is None:
        raise not_signed_in()
    if found.by_cookie and request.method not in SAFE:
        check_csrf(found, request, request.headers.get(CSRF_HEADER, ""))
    return found


def not_signed_in() -> Problem:
    """What the API tells whom it does not know."""
    return Problem(401, "Not signed in", "Send `Authorization: Bearer …` with a token of `thymus token new`.")


def check_csrf(found: Caller, request: Request, given: str) -> None:
    """Refuse what another site made a browser send.

    :raises Problem: 403.
    """
    same = hmac.compare_digest(given.encode("utf-8", "replace"), found.csrf.encode())
    if not found.csrf or not same or is_from_elsewhere(request):
        raise Problem(403, "Not sent from this page", "Load the page again and repeat what you did.")


def is_from_elsewhere(request: Request) -> bool:
    """Whether a browser says that another site made it send this (Fetch Metadata); older browsers say nothing."""
    return request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")


async def _here(request: Request) -> Caller:
    # What an endpoint depends on only looks: were it no coroutine, each would take a thread for that.
    return caller(request)


Here = Annotated[Caller, Depends(_here)]
"""A parameter of an endpoint: the caller."""


def needs(*roles: Role) -> Callable[..., Awaitable[Caller]]:
    """A dependency: the caller, who has one of these roles."""

    async def checked(found: Here) -> Caller:
        if found.role not in roles:
            raise Problem(403, "Not allowed", f"This takes a token of the role {' or '.join(roles)}.")
        return found

    return checked


_verified: Final[set[tuple[str, str] | None]] = set()
"""Whose memories are being verified now; None for everyone's."""
_verified_lock: Final = threading.Lock()


@contextmanager
def verifying(here: Caller, *, everyone: bool = False) -> Iterator[None]:
    """One verification of a memory at a time, because it reads all of it.

    :raises Problem: 403 where a caller asks for everyone's who does not run the service, 503 while there is one.
    """
    if everyone and not here.operator:
        raise Problem(403, "Not allowed", "This concerns all users: it takes a token of the user who runs the service.")
    what = None if everyone else (here.tenant, here.user)
    with _verified_lock:
        if what in _verified:
            raise Problem(503, "Busy", "It is being verified already: try again in a minute.", {"retry-after": "60"})
        _verified.add(what)
    try:
        yield
    finally:
        _verified.discard(what)


OfOwner = Annotated[Caller, Depends(needs(Role.OWNER))]
OfReader = Annotated[Caller, Depends(needs(*READERS))]
