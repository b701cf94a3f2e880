"""What the clients' configurations say of Thymus, for ``doctor``: read only, and nothing is started but ``--version``.

Files of a project come with the project, from whoever made it: a command in them is looked at and never run.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from thymus.install import files, hooks, launch, servers
from thymus.install.client import Client, Scope
from thymus.install.clients import CLIENTS
from thymus.install.jsonc import BrokenJsonError, read
from thymus.install.launch import Options, command_of
from thymus.install.refusals import InstallError
from thymus.install.surroundings import Surroundings

PATIENCE_S: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A client that is in use here, in one scope.

    :param faults: of its files that cannot be read, why; ``concerned`` tells whether they speak of Thymus.
    :param command: how its server is started; empty where Thymus is not connected.
    :param foreign: whether another server has our name.
    :param off: what switches Thymus off there, if anything does.
    :param events: those that our hook is called for, ``None`` for a client without hooks; ``unhooked`` those it misses.
    :param options: with which the server runs, ``hook_options`` the hooks.
    :param hook_commands: how the hooks are run.
    :param unguarded: how many of the rules are missing that keep its assistant from speaking for the user.
    :param swayed: variables, with the file that sets them, by which somebody may decide what code runs, and in a
        project also how Thymus does.
    """

    client: Client
    scope: Scope
    faults: tuple[str, ...] = ()
    concerned: bool = False
    command: tuple[str, ...] = ()
    foreign: bool = False
    off: str = ""
    options: Options = field(default_factory=Options)
    hook_options: Options = field(default_factory=Options)
    events: tuple[str, ...] | None = None
    unhooked: tuple[str, ...] = ()
    hook_commands: tuple[tuple[str, ...], ...] = ()
    unguarded: int = 0
    swayed: tuple[tuple[str, Path], ...] = ()


def look(surroundings: Surroundings) -> Iterator[Sighting]:
    """Every client that is in use here; of the projects only that which is worked in, where it has something."""
    for client in CLIENTS.values():
        if client.is_here(surroundings):
            yield _look(client, "user", surroundings)
        if "project" in client.files:
            seen = _look(client, "project", surroundings)
            if seen.command or seen.events or seen.faults or seen.foreign or seen.swayed:
                yield seen


def _look(client: Client, scope: Scope, surroundings: Surroundings) -> Sighting:
    faults: list[str] = []
    texts: list[str] = []
    path = client.server_file(scope, surroundings)
    value = _value(path, faults, texts, comments=client.comments)
    found = servers.entry(value, client)
    ours = servers.is_installed(value, client)
    swayed = [(name, path) for name in launch.swayed(found.get("env"))] if ours and path else []
    off = f"`disabled` in {path}" if ours and found.get("disabled") is True else ""
    events: list[str] | None = None
    settings: Any = None
    if client.hooks is not None and (path := client.hooks_file(scope, surroundings)):
        settings = _value(path, faults, texts, comments=False)
        events = hooks.events(settings)
        if scope == "project":
            shared = path.with_name("settings.json")
            swayed += _swayed(_env(settings), path, but=tuple(launch.VARIABLES.values()) if events else ())
            swayed += _swayed(_env(_value(shared, faults, texts, comments=False)), shared)
        elif events:
            swayed += ((name, path) for name in launch.swayed(_env(settings)))
        if events and isinstance(settings, dict) and settings.get("disableAllHooks") is True:
            off = f"`disableAllHooks` in {path}"
    env = _env(settings)
    variables = Options.from_variables(env) if isinstance(env, dict) else Options()  # servers have them too
    wanted = client.hooks.events if client.hooks else ()
    runs = [hooks.hook(settings, event) for event in events or ()]
    return Sighting(
        client=client,
        scope=scope,
        faults=tuple(faults),
        concerned=any("thymus" in text for text in texts),
        command=_whole(found) if ours else (),
        foreign=found is not None and not ours,
        off=off,
        options=servers.options(value, client).over(variables),
        hook_options=variables,
        events=None if events is None else tuple(events),
        unhooked=tuple(event for event in wanted if event not in (events or ())),
        hook_commands=tuple(dict.fromkeys(_whole(run) for run in runs)),
        unguarded=len(hooks.missing(settings, client.hooks)) if client.hooks and events and scope == "user" else 0,
        swayed=tuple(dict.fromkeys(swayed)),
    )


def _env(settings: Any) -> Any:
    return settings.get(hooks.ENV) if isinstance(settings, dict) else None


def _swayed(env: Any, path: Path, *, but: tuple[str, ...] = ()) -> Iterator[tuple[str, Path]]:
    """What a project sets for the hooks: what decides which code runs, and how Thymus hears (``but`` for options)."""
    for name in map(str, env if isinstance(env, dict) else ()):
        if launch.swayed({name: ""}) or (name.startswith("THYMUS_") and name not in but):
            yield name, path


def _value(path: Path | None, faults: list[str], texts: list[str], *, comments: bool) -> Any:
    if path is None:
        return None
    try:
        file = files.read(path)
        texts.append(text := file.text)
        return read(text, comments=comments).value if text.strip() else None
    except BrokenJsonError as error:
        faults.append(f"{path}, {error}")
    except InstallError as error:
        faults.append(str(error))
    return None


def _whole(entry: Any) -> tuple[str, ...]:
    command, args = command_of(entry)
    return (command, *args)


def is_there(command: tuple[str, ...]) -> bool:
    """Whether what a command starts exists and may be run; one that is looked up in ``PATH`` may or may not be."""
    path = Path(command[0])
    return not path.is_absolute() or (path.is_file() and os.access(path, os.X_OK))


def is_own(command: tuple[str, ...], own: launch.Launch) -> bool:
    """Whether a command starts this installation, with whatever options."""
    start = (own.command, *own.args)
    return command[: len(start)] == start


def version(command: tuple[str, ...]) -> str:
    """What a server's program says of its version; empty where it says nothing.

    Only what ``launch.starts_server`` took for ours is run, and of its arguments only those that name a module.
    """
    module = command.index("thymus.mcp") + 1 if "thymus.mcp" in command else 1
    try:
        done = subprocess.run(  # noqa: S603  (the client runs it as well)
            [*command[:module], "--version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    said = done.stdout.decode("utf-8", "replace").split()
    return said[-1][:40] if done.returncode == 0 and said else ""
