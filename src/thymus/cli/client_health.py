"""What ``doctor`` finds out about the clients that Thymus is connected to: do they start this one, and all of it?

Their configuration is read; of programs only ``thymus-mcp --version`` is started, once for each, and none that a
project names.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from thymus._version import __version__
from thymus.cli.costs import count
from thymus.cli.health import Finding
from thymus.install import Surroundings, launch
from thymus.install.launch import Options
from thymus.install.sightings import Sighting, is_own, is_there, look, version

if TYPE_CHECKING:
    from thymus.config import Settings

EXTRA: Final = 'pip install "thymus-memory[mcp]"'


def findings(settings: Settings, surroundings: Surroundings | None = None) -> Iterator[Finding]:
    """One for each client that is in use here, and one more for each fault of it.

    :param settings: what this command line works with: a client that keeps another memory is told of.
    """
    here = surroundings or Surroundings.here()
    versions: dict[tuple[str, ...], str] = {}
    hooked = False
    for seen in look(here):
        yield from _of_client(seen, settings, here, versions)
        hooked = hooked or bool(seen.events)
    if hooked:
        yield from _of_events()


def _of_events() -> Iterator[Finding]:
    """What became of the events that the hooks handed over."""
    from thymus.hooks import client, places, spool

    name = "hooks"
    try:
        found = client.status()
    except OSError as error:
        remedy = "nothing is learned before that is put right: see `thymus hook --status`"
        yield Finding(name=name, state="fail", found=str(error), remedy=remedy)
        return
    told = (
        (spool.unread(), "could not be read: too long, nested too deep, or damaged", "unread"),
        (len(spool.failed()), "could never be learned", "failed"),
    )
    for many, why, file in told:
        if many:
            remedy = f"nothing of that is in the memory; once you know, remove {places.state_dir()}/{file}"
            yield Finding(name=name, state="warn", found=f"{count(many, 'event', 'events')} {why}", remedy=remedy)
    resident = found["resident"]
    failures = resident.get("failures") if isinstance(resident, dict) else None
    for why in failures or ():
        what = f"{count(len(spool.waiting()), 'event waits', 'events wait')}: {why}"
        yield Finding(name=name, state="fail", found=what, remedy="they are learned once that works")
    for place in places.refused():
        remedy = f"find out whose it is and remove it; until then the socket is {places.socket_path()}"
        yield Finding(name=name, state="warn", found=f"{place} is open to others, or somebody else's", remedy=remedy)


def _of_client(
    seen: Sighting, settings: Settings, here: Surroundings, versions: dict[tuple[str, ...], str]
) -> Iterator[Finding]:
    client = seen.client
    name = client.title if seen.scope == "user" else f"{client.title}, project"
    again = f"thymus install {client.name}" + ("" if seen.scope == "user" else " --scope project")
    for fault in seen.faults:
        state = "fail" if seen.concerned or seen.command or seen.events else "warn"
        remedy = f"mend the file: {client.title} reads nothing of it as it is; then `{again}`"
        yield Finding(name=name, state=state, found=fault, remedy=remedy)
    if seen.foreign:
        remedy = f"rename that server in its configuration, then `{again}`"
        yield Finding(name=name, state="warn", found="another server is called thymus there", remedy=remedy)
        return
    for variable, path in seen.swayed:
        remedy = "take that out unless you put it there: it decides what runs, or how Thymus hears"
        yield Finding(name=name, state="warn", found=f"{path} sets {variable}", remedy=remedy)
    if not seen.command and not seen.events:
        if not seen.faults and not seen.swayed:
            yield Finding(name=name, state="ok", found=f"not connected (`{again}` would)")
        return
    faults = [
        *_of_server(seen, here, versions, name, again),
        *_of_hooks(seen, here, name, again),
        *_of_memory(seen, settings, here, name, again),
    ]
    yield from faults
    if not faults and not seen.faults and not seen.swayed:
        parts = " and ".join(["the server", *(["all hooks"] if seen.events else [])])
        yield Finding(name=name, state="ok", found=f"connected: {parts}")


def _of_server(
    seen: Sighting, here: Surroundings, versions: dict[tuple[str, ...], str], name: str, again: str
) -> Iterator[Finding]:
    command, own = seen.command, launch.server(here)
    if not command:
        yield Finding(name=name, state="fail", found="the server is missing, the hooks are there", remedy=f"`{again}`")
        return
    if seen.off:
        yield Finding(name=name, state="warn", found=f"switched off: {seen.off}", remedy="take that out to use Thymus")
    if not is_there(command):
        found = f"{command[0]} is not there any more, or may not be run"
        yield Finding(name=name, state="fail", found=found, remedy=f"`{again}` names this installation")
    elif is_own(command, own):
        if find_spec("mcp") is None:
            yield Finding(name=name, state="fail", found="the server's package is missing", remedy=EXTRA)
        elif here.passes:
            remedy = f"`uv tool install` or `pipx install` it, then `{again}`"
            yield Finding(name=name, state="warn", found="this installation lives for one run", remedy=remedy)
    elif seen.scope == "project":
        found = f"starts {command[0]}, which is not this installation"
        yield Finding(name=name, state="warn", found=found, remedy=f"if that is not on purpose: `{again}`")
    else:
        yield from _of_other(command, versions, name, again)


def _of_other(
    command: tuple[str, ...], versions: dict[tuple[str, ...], str], name: str, again: str
) -> Iterator[Finding]:
    if command not in versions:
        versions[command] = version(command)
    if not versions[command]:
        found, state = f"{command[0]} does not run", "fail"
    else:
        found, state = f"starts another installation ({command[0]}, version {versions[command]})", "warn"
    remedy = f"`{again}` names this one, version {__version__}"
    yield Finding(name=name, state=state, found=found, remedy=remedy)


def _of_hooks(seen: Sighting, here: Surroundings, name: str, again: str) -> Iterator[Finding]:
    if seen.events is None:
        return
    if seen.unguarded:
        found = f"{count(seen.unguarded, 'rule is', 'rules are')} missing that the assistant may not speak for you"
        yield Finding(name=name, state="warn", found=found, remedy=f"`{again}` adds what is missing")
    if seen.unhooked:
        state, lost = ("warn", ", ".join(seen.unhooked)) if seen.events else ("fail", "all")
        found = f"hooks are missing: {lost}"
        yield Finding(name=name, state=state, found=found, remedy=f"`{again}`; until then not all is learned")
    for command in seen.hook_commands:
        if not is_there(command):
            found = f"the hook {command[0]} is not there any more, or may not be run"
            yield Finding(name=name, state="fail", found=found, remedy=f"`{again}` names this installation")
        elif not is_own(command, launch.hook(here)):
            found = f"the hooks run another installation ({command[0]})"
            yield Finding(name=name, state="warn", found=found, remedy=f"`{again}` names this one")


def _of_memory(seen: Sighting, settings: Settings, here: Surroundings, name: str, again: str) -> Iterator[Finding]:
    """Whether server, hooks and this command line keep one memory."""
    told = {"the server": seen.options} if seen.command else {}
    if seen.events:
        told["hooks"] = seen.hook_options
    if seen.command and seen.events and _memory(seen.options) != _memory(seen.hook_options):
        found = f"the server keeps {_worded(seen.options)}, the hooks {_worded(seen.hook_options)}"
        remedy = f"`{again} --db PATH --user NAME` sets both"
        yield Finding(name=name, state="fail", found=found, remedy=remedy)
        return
    who, options = next(iter(told.items()))
    db, user = _memory(options)
    if (db, user) != (_place(settings.db, here.project), settings.user):
        found = f"{who} keeps {_worded(options)}, this command line {settings.db} of {settings.user}"
        remedy = f"if that is not on purpose: `{again} --db PATH --user NAME`, or set THYMUS_DB and THYMUS_USER here"
        yield Finding(name=name, state="warn", found=found, remedy=remedy)


def _memory(options: Options) -> tuple[str, str]:
    from thymus import config

    return _place(options.db or str(config.default_db()), Path.home()), options.user or config.DEFAULT_USER


def _worded(options: Options) -> str:
    db, user = _memory(options)
    return f"{db} of {user}"


def _place(db: str, folder: Path) -> str:
    import os

    return db if "://" in db or db == ":memory:" else os.path.realpath(folder / db)
