"""What is to know of a client: where its configuration is, what it reads there, and how. One module a client has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from thymus.install.surroundings import Surroundings

Scope = Literal["user", "project"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Where a client's hooks are configured: ``hooks.EVENT[].hooks[]``, and variables of theirs under ``env``.

    :param events: what they are called for, with the tools that they are for; empty where an event is of no tool.
    :param within: seconds after which the client stops waiting for one.
    :param deny: what the assistant may not do, under ``permissions.deny``: run a command that speaks for the user, or
        write where such words wait to be learned.
    """

    files: Mapping[Scope, tuple[str, ...]]
    events: Mapping[str, str]
    within: int
    deny: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A program that talks to MCP servers.

    :param name: as the command line calls it.
    :param title: as its makers call it.
    :param marks: paths of which one exists where it is in use, as ``Surroundings.find`` reads them.
    :param files: by scope, where its servers are configured.
    :param servers: the member that holds them.
    :param comments: whether it reads comments there.
    :param form: what an entry says beside ``command`` and ``args``.
    :param variable: how a value names a variable of the environment, with ``{}`` for the name; empty where servers
        inherit the environment anyway, ``None`` where they get none of it.
    :param then: what its user does next.
    :param manual: the page of the documentation.
    """

    name: str
    title: str
    marks: tuple[str, ...]
    files: Mapping[Scope, tuple[str, ...]]
    servers: str
    comments: bool = False
    form: Mapping[str, str] = field(default_factory=dict)
    variable: str | None = ""
    hooks: Hooks | None = None
    then: str
    manual: str

    def is_here(self, surroundings: Surroundings) -> bool:
        """Whether there is a sign of it on this machine."""
        places = (mark.partition("/") for mark in self.marks)
        return any(_exists(surroundings.base(base), rest) for base, _, rest in places)

    def server_file(self, scope: Scope, surroundings: Surroundings) -> Path | None:
        """Where its servers are configured in that scope, if it has it."""
        return surroundings.find(self.files[scope]) if scope in self.files else None

    def hooks_file(self, scope: Scope, surroundings: Surroundings) -> Path | None:
        """Where its hooks are configured in that scope, if it has any."""
        return surroundings.find(self.hooks.files[scope]) if self.hooks and scope in self.hooks.files else None


def _exists(base: Path, rest: str) -> bool:
    return any(base.glob(rest)) if "*" in rest else (base / rest).exists()
