"""``thymus-mcp proxy``: in front of any MCP server, learn what its tools answer under the tool's name, off the wire.

Messages are relayed as they are (``relay``), so nothing of a server changes; several are first made one (``joined``).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final

from thymus.errors import ConfigError
from thymus.mcp.beside import Beside, is_ours
from thymus.mcp.joined import Joined
from thymus.mcp.learning import FINISH_S, Learner
from thymus.mcp.pipes import Client, Program
from thymus.mcp.relay import Relay

if TYPE_CHECKING:
    from thymus.guard import MemoryGuard
    from thymus.mcp.pipes import Peer

_log = logging.getLogger("thymus.mcp.proxy")

PATIENCE_S: Final = 0.000_5
"""Seconds for which learning may keep a message waiting: a tenth of Python's own, which calls would notice."""
_RUNNERS: Final = frozenset(
    {"npx", "npm", "pnpm", "yarn", "bunx", "bun", "deno", "node", "uvx", "uv", "pipx", "python", "python3", "py"}
    | {"docker", "podman", "env", "sh", "bash", "cmd", "exec", "run", "tool", "dlx", "x", "/c"}
)
_OURS: Final = "thymus-mcp"
_NAME: Final = re.compile(r"[\w.@-][\w .@-]{0,63}")
_BASIC = (
    "APPDATA HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROGRAMDATA PROGRAMFILES PROCESSOR_ARCHITECTURE SYSTEMDRIVE "
    "SYSTEMROOT TEMP USERNAME USERPROFILE HOME LANG LOGNAME SHELL TERM TMPDIR USER"
)
_BASIC_ENVIRONMENT: Final = frozenset(_BASIC.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server to wrap.

    :param name: under which its tools are known: ``mcp:name/tool``. Yours, never what it calls itself.
    :param command: the program with its arguments; empty for one at a URL.
    :param env: the environment that it gets.
    :param url: where it is, if it is no program; with the ``headers`` that it wants, over SSE where it is of before.
    """

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    sse: bool = False


def run(
    guard: MemoryGuard,
    command: Sequence[str] = (),
    *,
    config: str | os.PathLike[str] | None = None,
    name: str | None = None,
) -> int:
    """Wrap a server (or several), talk to the client on stdin and stdout until either is gone, and learn what passed.

    :param command: the server's program and its arguments; it gets the environment of this process.
    :param config: a file with ``{"mcpServers": {name: {"command", "args", "env", "cwd"} or {"url", …}}}`` instead.
    :param name: what to call the server; by default what its package or program is called.
    :returns: the exit code of a program that ended first; otherwise 0.
    :raises ConfigError: where the command or file names no server, or it cannot be started.
    """
    if bool(command) == bool(config):
        raise ConfigError("name what to wrap: a command after --, or --config FILE, and only one of them")
    servers = read_config(Path(config)) if config else [from_command(command, name)]
    if name and config:
        raise ConfigError("--name is for a command after --: a configuration names its servers itself")
    return asyncio.run(_serve(guard, servers))


def from_command(command: Sequence[str], name: str | None = None) -> Server:
    """The server that a command starts."""
    return Server(name=_checked(name or name_of(command)), command=tuple(command), env=dict(os.environ))


def name_of(command: Sequence[str]) -> str:
    """What to call the server that a command starts: ``npx -y @scope/server-memory@1.2 x`` is ``server-memory``."""
    words = [word for word in command if not word.startswith("-")]
    named = next((word for word in words if _stem(word).lower() not in _RUNNERS), command[0])
    return re.sub(r"[^\w.@-]+", "-", _stem(named)).strip("-") or "server"


def _stem(word: str) -> str:
    """The last part of a path or package, without its version and ending."""
    last = PurePath(word.replace("\\", "/")).name
    bare = re.split(r"(?<=.)(?:@|==|\[)", last, maxsplit=1)[0]
    return re.sub(r"\.(?:exe|cmd|bat|py|js|mjs|cjs|ts|sh)$", "", bare, flags=re.IGNORECASE)


def read_config(path: Path) -> list[Server]:
    """The servers of a configuration, without those that are switched off and without ourselves.

    A program gets what an MCP client would give it: the basic environment, and ``env`` of its entry.

    :raises ConfigError: where it cannot be read, or two servers' tools could be taken for one another's.
    """
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"there is no configuration at {path.absolute()}: name the file of an MCP client, or write "
            '{"mcpServers": {"name": {"command": "…"}}} there. One server needs none: `thymus-mcp proxy -- COMMAND`'
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read as JSON ({error}): it is the file of an MCP client") from error
    entries = given.get("mcpServers", given.get("servers")) if isinstance(given, dict) else None
    if not isinstance(entries, dict):
        raise ConfigError(f'{path} has no "mcpServers": write {{"mcpServers": {{"name": {{"command": "…"}}}}}}')
    servers = [_from_entry(_checked(name), entry) for name, entry in entries.items() if _is_wanted(name, entry)]
    if not servers:
        raise ConfigError(f"{path} names no server to wrap: add one under mcpServers")
    for one in servers if len(servers) > 1 else ():
        if is_ours(f"{one.name}_") or any(o.name.startswith(f"{one.name}_") for o in servers):
            raise ConfigError(f"the tools of {one.name!r} could be taken for those of another: rename it in {path}")
    return servers


def _is_wanted(name: str, entry: object) -> bool:
    if not isinstance(entry, dict):
        raise ConfigError(f"the server {name[:80]!r} is no object: write {{'command': …}} or {{'url': …}}")
    words = [str(entry.get("command")), *map(str, entry.get("args") or ())]
    ours = any(_stem(word) == _OURS for word in words)  # it would wrap itself without end
    if ours:
        _log.warning("the configuration names thymus-mcp itself as %r: it is left out", name)
    return not (ours or entry.get("disabled") is True)


def _from_entry(name: str, entry: Mapping[str, Any]) -> Server:
    command, args, env = entry.get("command"), entry.get("args") or [], entry.get("env") or {}
    if not isinstance(args, list) or not isinstance(env, dict):
        raise ConfigError(f"the server {name!r}: args is a list, and env an object")
    if isinstance(command, str) and command:
        given = {str(key): str(value) for key, value in env.items()}
        basic = {key: os.environ[key] for key in os.environ.keys() & _BASIC_ENVIRONMENT}
        words = (command, *map(str, args))
        return Server(name=name, command=words, env=basic | given, cwd=entry.get("cwd"))
    url, headers = entry.get("url"), entry.get("headers") or {}
    if isinstance(url, str) and url.startswith(("http://", "https://")) and isinstance(headers, dict):
        sse = "sse" in (entry.get("type"), entry.get("transport"))
        return Server(name=name, url=url, headers={str(key): str(value) for key, value in headers.items()}, sse=sse)
    raise ConfigError(f"the server {name!r} has neither a command nor an http(s) url: write one of them")


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name[:80]!r} cannot name a server: use 1 to 64 letters, digits, dots, dashes or spaces")
    return name


def _namer(servers: Sequence[Server]) -> Callable[[str], tuple[str, str]]:
    """From a tool's name as clients see it to its server's name and its own."""
    if len(servers) == 1:
        return lambda tool: (servers[0].name, tool)

    def split(tool: str) -> tuple[str, str]:
        for server in servers:
            if tool.startswith(f"{server.name}_"):
                return server.name, tool.removeprefix(f"{server.name}_")
        return "servers", tool

    return split


async def _serve(guard: MemoryGuard, servers: Sequence[Server]) -> int:
    sys.setswitchinterval(PATIENCE_S)
    code = 0
    async with contextlib.AsyncExitStack() as stack:
        wrapped = await _start(servers, stack)
        # Only now: the other program starts up meanwhile.
        from thymus.mcp.callers import HERE, Caller
        from thymus.mcp.conversation import Conversations
        from thymus.mcp.server import build_server
        from thymus.mcp.transports import InProcess

        conversations = Conversations(guard)
        caller = Caller(user=None, conversation=HERE)
        learner = Learner(conversations.of(caller), _namer(servers), several=len(servers) > 1)
        client = Client()
        ours = build_server(guard, whose=lambda _: caller, conversations=conversations)
        # The package has no public name for it yet.
        beside = Beside(await stack.enter_async_context(InProcess.start(ours._lowlevel_server)))  # noqa: SLF001
        relay = Relay(client, wrapped, beside, note=learner.note, settled=learner.settled)
        await _until_told_to_stop(relay.run())
        if isinstance(wrapped, Program):
            code = await wrapped.end()
        client.hang_up()
    await asyncio.to_thread(learner.finish, FINISH_S)
    return max(code, 0)


async def _start(servers: Sequence[Server], stack: contextlib.AsyncExitStack) -> Peer:
    peers: dict[str, Peer] = {}
    for server in servers:
        if server.command:
            started = Program.start(server.command[0], server.command[1:], env=server.env, cwd=server.cwd)
            peers[server.name] = await stack.enter_async_context(started)
        else:
            from thymus.mcp.transports import AtUrl

            connected = AtUrl.connect(server.url, headers=server.headers, sse=server.sse)
            peers[server.name] = await stack.enter_async_context(connected)
    return Joined(peers) if len(peers) > 1 else peers[servers[0].name]


async def _until_told_to_stop(work: Any) -> None:
    """Do it until it is done, or the process is asked to end: what passed is learned all the same."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for which in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(which, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
