"""How a client starts this installation: absolute commands, since a program of a desktop has no ``PATH`` of a shell."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from thymus.core.gates import get_gate
from thymus.errors import InputError
from thymus.install.surroundings import Surroundings

SERVER: Final = "thymus-mcp"
HOOK: Final = "hook"
_MODULES: Final = {SERVER: "thymus.mcp", "thymus": "thymus.cli"}
_KEYS: Final = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
_KEY_OF_OWN_SERVER: Final = "THYMUS_LLM_API_KEY"
_SWAYING: Final = ("PYTHON", "LD_", "DYLD_")
_PASSWORD: Final = re.compile(r"://[^/@\s]*:[^/@\s]*@")
_SHELL_FORM: Final = re.compile(r"""(?:^|[\\/\s"'])thymus(?:\.exe)?["']?\s+hook\s*$|-m\s+thymus(?:\.cli)?\s+hook\s*$""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A command and its arguments."""

    command: str
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Which memory, whose, under which gate, with which model; ``None`` leaves it to the default."""

    db: str | None = None
    user: str | None = None
    gate: str | None = None
    llm: str | None = None

    @classmethod
    def from_args(cls, args: Sequence[object]) -> Options:
        """Those in the arguments of ``thymus-mcp``, as far as they are its own."""
        found: dict[str, str] = {}
        own = [str(arg) for arg in args][: _own(args)]
        for at, arg in enumerate(own):
            name, joined, value = arg.partition("=")
            if name in _flags() and (joined or at + 1 < len(own)):
                found[name[2:]] = value if joined else own[at + 1]
        return cls(**found)

    @classmethod
    def from_variables(cls, variables: Mapping[str, object]) -> Options:
        """Those that the environment names: ``THYMUS_DB`` and so on."""
        given = {name: variables.get(variable) for name, variable in VARIABLES.items()}
        return cls(**{name: str(value) if value else None for name, value in given.items()})

    def over(self, other: Options) -> Options:
        """These where they say something, the others elsewhere."""
        return replace(other, **{name: value for name, value in self.named().items() if value is not None})

    def named(self) -> dict[str, str | None]:
        """All of them by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def variables(self) -> dict[str, str]:
        """Those that are set, as variables of the environment."""
        return {VARIABLES[name]: value for name, value in self.named().items() if value is not None}

    def checked(self, folder: Path) -> Options:
        """The same with a whole path, once they are found to make sense.

        :param folder: what a path is relative to.
        :raises InputError: for what a client's configuration must not say.
        :raises PolicyError: for a gate that does not exist.
        """
        if self.user is not None and not self.user.strip():
            raise InputError("--user (or THYMUS_USER) is a name, and it is empty: leave it away, or name somebody")
        if self.gate is not None:
            get_gate(self.gate)
        if self.db is None:
            return self
        if self.db == ":memory:":
            raise InputError(":memory: is gone whenever the client stops: name a file with --db, or leave it away")
        if _PASSWORD.search(self.db):
            raise InputError("a password in --db would end up in a file: set THYMUS_DB where the client is started")
        if "://" in self.db:
            return self
        return replace(self, db=os.path.normpath(folder / Path(self.db).expanduser()))


VARIABLES: Final = {"db": "THYMUS_DB", "user": "THYMUS_USER", "gate": "THYMUS_GATE", "llm": "THYMUS_LLM"}


def server(surroundings: Surroundings) -> Launch:
    """How the MCP server is started."""
    return _launch(SERVER, surroundings)


def hook(surroundings: Surroundings) -> Launch:
    """How a hook is run: without a further argument, since the client takes an error for a veto."""
    launch = _launch("thymus", surroundings)
    return replace(launch, args=(*launch.args, HOOK))


def _launch(name: str, surroundings: Surroundings) -> Launch:
    file = f"{name}.exe" if surroundings.system == "windows" else name
    for folder in surroundings.scripts:
        if (folder / file).is_file():
            return Launch(command=str(folder / file))
    # -P: clients start servers in the folder of a project, which may hold anybody's `json.py`.
    return Launch(command=str(surroundings.python), args=("-P", "-m", _MODULES[name]))


def with_options(launch: Launch, args: Sequence[object], options: Options) -> list[str]:
    """The arguments of an entry, started by this launch and with these options; others that it had are kept.

    :param args: those that it had.
    """
    had = [str(arg) for arg in args]
    if (module := _MODULES[SERVER]) in had and "-m" in had:
        had = had[had.index(module) + 1 :]
    end = _own(had)
    own, rest = had[:end], had[end:]
    for name, value in options.named().items():
        if value is None:
            continue
        flag = f"--{name}"
        at = next((place for place, arg in enumerate(own) if arg == flag or arg.startswith(f"{flag}=")), None)
        if at is None:
            own += [flag, value]
        elif own[at] == flag:
            own[at : at + 2] = [flag, value]
        else:
            own[at] = f"{flag}={value}"
    return [*launch.args, *own, *rest]


def _own(args: Sequence[object]) -> int:
    """How many of the arguments are ours: what follows ``--`` is another program's."""
    return next((at for at, arg in enumerate(args) if arg == "--"), len(args))


def _flags() -> set[str]:
    return {f"--{name}" for name in VARIABLES}


def starts_server(entry: Any) -> bool:
    """Whether an entry of a client's configuration starts ``thymus-mcp``, of whatever installation."""
    command, args = command_of(entry)
    return _program(command) == SERVER or ("-m" in args and _MODULES[SERVER] in args)


def runs_hook(entry: Any) -> bool:
    """Whether a hook of a client's configuration runs ``thymus hook``, of whatever installation."""
    command, args = command_of(entry)
    if not args:
        return bool(_SHELL_FORM.search(command.strip()))
    if args[-1] != HOOK:
        return False
    return _program(command) == "thymus" or ("-m" in args and bool({"thymus", "thymus.cli"} & set(args)))


def command_of(entry: Any) -> tuple[str, list[str]]:
    """What an entry starts; empty where it says nothing readable."""
    if not isinstance(entry, dict):
        return "", []
    command, args = entry.get("command"), entry.get("args")
    if not isinstance(command, str):
        return "", []
    return command, [arg for arg in args if isinstance(arg, str)] if isinstance(args, list) else []


def _program(command: str) -> str:
    return re.split(r"[\\/]", command)[-1].removesuffix(".exe")


def swayed(env: object) -> list[str]:
    """The variables in an ``env`` that decide which code a program runs, whatever its command says."""
    names = env if isinstance(env, dict) else {}
    return [name for name in map(str, names) if name == "PATH" or name.startswith(_SWAYING)]


def key_variable(llm: str | None) -> str | None:
    """The variable of the environment that has the key of a language model, if it takes one."""
    provider, _, rest = (llm or "").removeprefix("only:").partition(":")
    return _KEY_OF_OWN_SERVER if provider == "openai" and "@" in rest else _KEYS.get(provider)
