"""The entry of the MCP server in a client's configuration: written, recognised, removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from thymus.install.client import Client
from thymus.install.edits import put, take
from thymus.install.jsonc import Key, read
from thymus.install.launch import Launch, Options, command_of, key_variable, starts_server, with_options
from thymus.install.refusals import InstallError

NAME: Final = "thymus"


def entry(value: Any, client: Client) -> Any:
    """What stands under our name, ``None`` where nothing does."""
    servers = value.get(client.servers) if isinstance(value, dict) else None
    return servers.get(NAME) if isinstance(servers, dict) else None


def is_installed(value: Any, client: Client) -> bool:
    """Whether our server stands there."""
    return starts_server(entry(value, client))


def options(value: Any, client: Client) -> Options:
    """With which options it stands there; none where it does not."""
    found = entry(value, client)
    return Options.from_args(command_of(found)[1]) if starts_server(found) else Options()


def wanted(client: Client, launch: Launch, chosen: Options, *, had: Any = None) -> dict[str, Any]:
    """What an entry says.

    :param had: the entry that is there: what it says besides is not repeated here, its further arguments are.
    """
    args = with_options(launch, command_of(had)[1], chosen)
    made: dict[str, Any] = {**client.form, "command": launch.command, "args": args}
    variable = key_variable(chosen.llm)
    if variable and client.variable:
        made["env"] = {variable: client.variable.format(variable)}
    return made


def write(text: str, client: Client, launch: Launch, chosen: Options, *, alone: bool = False) -> str:
    """The text with our entry, whatever else an older one of ours says kept.

    :param alone: whether nothing of it is kept: where others may have written it.
    :raises InstallError: where another server has our name.
    """
    had = entry(read(text).value, client)
    path: tuple[Key, ...] = (client.servers, NAME)
    if had is None:
        return put(text, path, wanted(client, launch, chosen))
    if not starts_server(had):
        raise InstallError(f"another server is called {NAME} there: rename it or remove it, and run this again")
    if alone:
        return put(text, path, wanted(client, launch, chosen))
    for key, value in wanted(client, launch, chosen, had=had).items():
        if key == "env":
            text = _write_variables(text, path, value, had.get("env"))
        elif had.get(key) != value:
            text = put(text, (*path, key), value)
    return text


def _write_variables(text: str, path: tuple[Key, ...], new: dict[str, str], had: Any) -> str:
    for name, value in new.items():
        if not isinstance(had, dict) or name not in had:  # a key that its owner put there is theirs
            text = put(text, (*path, "env", name), value)
    return text


def erase(text: str, client: Client, before: Any) -> str:
    """The text without our entry.

    :param before: what the file said before it was put there, as far as that is known.
    """
    if not is_installed(read(text).value, client):
        return text
    text = take(text, (client.servers, NAME))
    kept = isinstance(before, dict) and client.servers in before
    return text if kept or read(text).value[client.servers] else take(text, (client.servers,))


def steps(value: Any, client: Client) -> Iterator[tuple[tuple[Key, ...], Any]]:
    """What was put where, so that it can be put once more."""
    if is_installed(value, client):
        yield (client.servers, NAME), entry(value, client)
