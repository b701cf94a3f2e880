"""Command-line programs as models: where they are installed, what they are shown of the environment, and running them.

What others wrote goes in through standard input and never among the arguments, which every user of a machine can list.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from thymus.llm.model import ModelError, TransientError, UnanswerableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_GRACE_S: Final = 2.0
"""Seconds that a program which was killed may take to be gone."""
_LONGEST_EXCERPT: Final = 240
_USER: Final = """
HOME USER LOGNAME SHELL LANG LANGUAGE LC_ALL LC_CTYPE LC_MESSAGES TZ PATH
XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS
"""
_NETWORK: Final = """
HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS
"""
_WINDOWS: Final = """
SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT USERNAME USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA PROGRAMDATA
PROGRAMFILES
"""
_SHARED: Final = frozenset((_USER + _NETWORK + _WINDOWS).split())
"""Variables that every program may see."""
_FOLDERS: Final = (
    "~/.local/bin",
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "~/.npm-global/bin",
    "~/.volta/bin",
    "~/.bun/bin",
    "~/.local/share/pnpm",
    "~/Library/pnpm",
    "~/.nvm/versions/node/*/bin",
)
"""Where package managers put programs, also those that are on the PATH of a terminal alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program, how it is found and what it may see.

    :param variable: names its file where it is installed somewhere else.
    :param remedy: what to do where it is missing.
    :param places: files where it may be besides: ``~``, ``%VARIABLE%`` and ``*`` (of several, the highest version).
    :param variables: what it reads of the environment besides what every program does.
    """

    name: str
    variable: str
    remedy: str
    places: Sequence[str]
    variables: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What a program that ended left behind; a negative code is the signal that ended it."""

    code: int
    out: str
    err: str


def find(program: Program, environment: Mapping[str, str]) -> Path:
    """The file of a program: named by its variable, on the PATH, or where it is usually installed.

    :raises ModelError: where it is nowhere; says what to install.
    """
    named = environment.get(program.variable)
    if named:
        path = Path(named).expanduser().absolute()
        if not _runs(path):
            raise ModelError(f"{program.variable} names {str(path)!r}, which is no program: correct it, or unset it")
        return path
    # Not claude.cmd: what goes through cmd.exe cannot be quoted safely.
    file = f"{program.name}.exe" if os.name == "nt" else program.name
    on_path = shutil.which(file, path=environment.get("PATH", ""))
    if on_path and Path(on_path).is_absolute():  # a relative one depends on where one stands
        return Path(on_path)
    for place in (*(f"{folder}/{file}" for folder in _FOLDERS), *program.places):
        for path in _matching(place, environment):
            if _runs(path):
                return path
    raise ModelError(f"{program.name} is not installed: {program.remedy}, or set {program.variable} to its file")


def run(
    program: Program,
    binary: Path,
    arguments: Sequence[str],
    *,
    name: str,
    prompt: str,
    folder: Path,
    environment: Mapping[str, str],
    settings: Mapping[str, str],
    timeout: float,
) -> Ended:
    """Run a program to its end, in an empty folder, as a process group that is killed when its time is up.

    :param name: of the model, for errors.
    :param prompt: its standard input.
    :param folder: where it stands and keeps what is temporary.
    :param settings: variables that are set for it, in addition to those of ``environment`` that it may see.
    :param timeout: seconds.
    :raises TransientError: where the time is up.
    :raises ModelError: where it cannot be started.
    """
    work = folder / "work"
    work.mkdir(mode=0o700, exist_ok=True)
    try:
        process = subprocess.Popen(  # noqa: S603
            [str(binary), *(argument.replace("\0", "\ufffd") for argument in arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=work,
            env={**_shown(program, binary, environment), **_temporary(folder), **settings},
            start_new_session=True,
        )
    except OSError as error:
        raise ModelError(
            f"{name}: {str(binary)!r} cannot be run ({error.strerror}): {program.remedy}, or correct {program.variable}"
        ) from None
    try:
        out, err = process.communicate(prompt.encode("utf-8", "replace"), timeout)
    except subprocess.TimeoutExpired:
        _kill(process)
        raise TransientError(
            f"{name} did not answer within {timeout:.3g} s: allow more time, or check the network"
        ) from None
    except BaseException:
        _kill(process)
        raise
    return Ended(code=process.returncode, out=out.decode("utf-8", "replace"), err=err.decode("utf-8", "replace"))


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that only this user can read, removed with all that is in it at the end of the block."""
    return tempfile.TemporaryDirectory(prefix="thymus-", ignore_cleanup_errors=True)


def write_private(path: Path, text: str) -> Path:
    """Write a file that only this user can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def excerpt(text: str) -> str:
    """What a program said last, quoted on one short line: it may hold what it was sent."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return repr(lines[-1][:_LONGEST_EXCERPT] if lines else "")


def reason(text: str) -> str:
    """Why a model declined, on one line that can be kept in a cache."""
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())[:_LONGEST_EXCERPT] or "refusal"


def logged_out(program: Program, name: str, said: str, *, login: str) -> ModelError:
    """The error for a program that has no login, or one that is no longer good."""
    return ModelError(f"{name}: {program.name} is not logged in: run `{login}` ({excerpt(said)})")


def used_up(name: str, said: str) -> ModelError:
    """The error for an account that may not ask for more now."""
    return ModelError(f"{name}: the account's usage is used up: wait, or use another model ({excerpt(said)})")


def too_long(name: str) -> ModelError:
    """The error for a prompt that does not fit."""
    return UnanswerableError(f"{name} cannot take in so long a text: shorten it, or use a model with a larger window")


def outdated_or_broken(program: Program, name: str, ended: Ended, *, update: str) -> ModelError:
    """The error for a program that ended without an answer in its own form."""
    if re.search(r"unknown option|unexpected argument|invalid value .* for '--", ended.err):
        return ModelError(f"{name}: this {program.name} is too old ({excerpt(_first(ended.err))}): run `{update}`")
    if ended.code in (126, 127):
        return ModelError(f"{name} cannot be run ({excerpt(ended.err)}): {program.remedy}")
    if ended.code:
        how = f"was killed by signal {-ended.code}" if ended.code < 0 else f"ended with code {ended.code}"
        said = ended.err if ended.err.strip() else ended.out
        return TransientError(f"{name} {how} ({excerpt(said)}): run {program.name} by hand to see why")
    return TransientError(f"{name} answered in no form of its protocol: update it with `{update}` if it stays so")


def _first(text: str) -> str:
    return next((line for line in text.splitlines() if line.startswith("error")), text)


def _shown(program: Program, binary: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """What a program may see: no key of another provider, and no variable that would change what it does."""
    allowed = _SHARED | program.variables
    fold = str.upper if os.name == "nt" else str
    shown = {key: value for key, value in environment.items() if fold(key) in allowed}
    # A script of Node finds its interpreter beside itself, also where the PATH is that of a desktop.
    shown["PATH"] = os.pathsep.join(part for part in (shown.get("PATH", ""), str(binary.parent)) if part)
    return shown


def _temporary(folder: Path) -> dict[str, str]:
    return dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a program and all that it started."""
    with suppress(OSError):
        if os.name == "nt":
            tree = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
            subprocess.run(tree, capture_output=True, check=False)  # noqa: S603
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
    for pipe in (process.stdin, process.stdout, process.stderr):
        with suppress(OSError):
            if pipe:
                pipe.close()


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _matching(place: str, environment: Mapping[str, str]) -> Iterator[Path]:
    """The files that a place means, the highest version first."""
    home = environment.get("HOME") or environment.get("USERPROFILE")
    if place.startswith("~") and home:
        place = home + place[1:]
    for variable in re.findall(r"%(\w+)%", place):
        place = place.replace(f"%{variable}%", environment.get(variable) or "~")
    if place.startswith("~"):
        return
    if "*" not in place:
        yield Path(place)
        return
    fixed, _, pattern = place.partition("*")
    folder, _, start = fixed.rpartition("/")
    with suppress(OSError):
        yield from sorted(Path(folder).glob(f"{start}*{pattern}"), key=_version, reverse=True)


def _version(path: Path) -> list[tuple[int, str]]:
    """Sorts 2.1.10 above 2.1.9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", str(path))]
