"""The service over a memory in this process or in a file, two users with a token a role, and clients for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from thymus import MemoryGuard
from thymus.access.limits import Limits, Rate
from thymus.access.tokens import Role, Token, Tokens
from thymus.web.app import create_app

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FREE = Limits(requests=Rate(per_second=1e6, burst=10**6), failures=Rate(per_second=1e6, burst=10**6), at_once_each=256)
"""Limits that no test meets unless it wants to."""
MAIL = "email:noreply@lockers.example"


@dataclass
class Place:
    """A service with asha (who also runs it), ravi, and whoever else is given a token."""

    guard: MemoryGuard
    tokens: Tokens
    limits: Limits = FREE
    options: dict[str, Any] = field(default_factory=dict)
    issued: dict[tuple[str, Role], tuple[Token, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for user in ("asha", "ravi"):
            for role in Role:
                self.issue(user, role)
        self.app: FastAPI = create_app(self.guard, self.tokens, limits=self.limits, **self.options)

    def issue(self, user: str, role: Role = Role.OWNER, **more: Any) -> str:
        """A new token's secret."""
        self.issued[user, role] = self.tokens.issue(user, f"{role} of {user}", role=role, **more)
        return self.issued[user, role][1]

    def secret(self, user: str, role: Role = Role.OWNER) -> str:
        """Of the latest token that was issued."""
        return self.issued[user, role][1]

    def of(self, user: str) -> MemoryGuard:
        """Their memory."""
        return self.guard.for_user(user)

    @contextmanager
    def client(
        self, user: str | None = "asha", role: Role = Role.OWNER, base: str = "http://testserver"
    ) -> Iterator[TestClient]:
        """Who calls with a bearer token, or without one."""
        headers = {} if user is None else {"authorization": f"Bearer {self.secret(user, role)}"}
        with TestClient(self.app, base_url=base, headers=headers, follow_redirects=False) as client:
            yield client

    @contextmanager
    def browser(
        self, user: str = "asha", role: Role = Role.OWNER, base: str = "http://testserver"
    ) -> Iterator[TestClient]:
        """Who signed in with one."""
        with self.client(None, base=base) as client:
            answer = client.post("/login", data={"token": self.secret(user, role)})
            assert answer.status_code == 303, answer.text
            yield client

    def csrf(self, client: TestClient) -> str:
        """What a form of this browser has to bring along."""
        cookie = next(cookie for cookie in client.cookies.jar if cookie.name.endswith("thymus_session"))
        found = self.app.state.people.by_cookie(cookie.value)
        assert found is not None
        return str(found.csrf)


def in_memory(folder: Path, **more: Any) -> Place:
    """Everything but the tokens is gone with the test."""
    guard = MemoryGuard(None, embedder="hash", judge="typed", user_id="asha", clock=lambda: NOON)
    return Place(guard, Tokens(folder / "tokens"), **more)


def in_file(folder: Path, **more: Any) -> Place:
    """In SQLite."""
    guard = MemoryGuard(folder / "memory.db", embedder="hash", judge="typed", user_id="asha", clock=lambda: NOON)
    return Place(guard, Tokens(folder / "memory.db.tokens"), **more)


PLACES = {"memory": in_memory, "sqlite": in_file}


def fill(guard: MemoryGuard, word: str) -> tuple[str, str]:
    """A memory of the user's own and a claim that is held back against it, each with a word; their ids."""
    [known] = guard.remember(f"My {word} standup is at 9:15.").memories
    [held] = guard.remember(f"Your {word} standup is at 10:30.", source=MAIL).memories
    assert (known.status, held.status) == ("active", "contested")
    return known.id, held.id


def routes(app: FastAPI) -> list[tuple[str, str]]:
    """Every (method, template) that the application answers, but for files."""
    return sorted(_routes(app.router.routes))


def _routes(found: Any) -> Iterator[tuple[str, str]]:
    for route in found:
        if (inner := getattr(route, "original_router", None)) is not None:
            yield from _routes(inner.routes)
        elif isinstance(route, APIRoute):
            yield from ((method, route.path) for method in route.methods or ())
