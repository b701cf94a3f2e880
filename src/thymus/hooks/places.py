"""Where the resident and what waits for it are found; folders that only this account can look into.

Standard library only, and without ``pathlib``: it is imported on every event of the host.
"""

from __future__ import annotations

import os
import sys
from binascii import crc32

STATE = "THYMUS_HOOK_STATE"
LOG = "THYMUS_HOOK_LOG"
IDLE = "THYMUS_HOOK_IDLE"
LONGEST_SOCKET_PATH = 100
"""Bytes: the kernel takes 104 (macOS) or 108 (Linux). Where a path is longer the loopback is used."""


class PlaceError(OSError):
    """A folder cannot be used: somebody else could look into it, or it cannot be made."""


def state_dir() -> str:
    """The folder of what waits to be learned; it outlives a restart of the machine."""
    if named := os.environ.get(STATE):
        return os.path.abspath(named)
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~"), "thymus", "hooks")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/thymus/hooks")
    return os.path.join(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), "thymus", "hooks")


def socket_path() -> str:
    """The socket of the resident that serves this account's state folder and home; its folder is made if need be.

    Where neither the runtime folder nor the temporary one is ours alone (whoever comes first may make
    ``/tmp/thymus-1000``) it is in the state folder: ``refused`` then says which were not.

    :raises PlaceError: where that is not private either.
    """
    served = "\0".join((state_dir(), os.path.expanduser("~"), os.environ.get("XDG_DATA_HOME", "")))
    name = f"hook-{crc32(served.encode('utf-8', 'surrogateescape')):08x}.sock"
    for folder in _likely():
        path = os.path.join(folder, name)
        if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH and _private(folder):
            return path
    return os.path.join(make_private(state_dir()), name)


def refused() -> list[str]:
    """The folders for a socket that somebody else made, or can look into."""
    return [folder for folder in _likely() if os.path.lexists(folder) and not _private(folder)]


def _likely() -> list[str]:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    base = os.environ.get("TMPDIR") or os.environ.get("TEMP") or "/tmp"  # noqa: S108  (made private, and checked)
    temporary = os.path.join(base, f"thymus-{account()}")
    return [os.path.join(runtime, "thymus"), temporary] if os.path.isdir(runtime) else [temporary]


def _private(folder: str) -> bool:
    try:
        make_private(folder)
    except OSError:
        return False
    return True


def make_private(folder: str) -> str:
    """Make a folder that only this account can look into, or check that it is one.

    :raises PlaceError: where it is somebody else's, a link, or open to others.
    :raises OSError: where it cannot be made.
    """
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except FileNotFoundError:
        os.makedirs(os.path.dirname(folder), 0o700, exist_ok=True)
        os.mkdir(folder, 0o700)
    if sys.platform != "win32":  # there, folders below a profile are private
        found = os.lstat(folder)
        if found.st_mode & 0o170077 != 0o040000 or found.st_uid != account():
            raise PlaceError(f"{folder} is open to others, or somebody else's: remove it, or chmod 700 it")
    return folder


def make_new(path: str) -> bool:
    """Make an empty file; whether there was none. :raises OSError: where it cannot be made."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True


def once(what: str) -> bool:
    """Whether the user is to be told of this: the first time only. :raises OSError: where that cannot be noted."""
    return make_new(os.path.join(make_private(state_dir()), f"told-{what}"))


def account() -> int:
    """The number of this account; 0 where accounts have none."""
    return os.getuid() if sys.platform != "win32" else 0


def log(text: str) -> None:
    """Write a line to the file that ``THYMUS_HOOK_LOG`` names; nothing otherwise, and never an error."""
    path = os.environ.get(LOG)
    if not path:
        return
    import time

    try:
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%S')} [{os.getpid()}] {text}\n"
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(fd, "ab") as out:
            out.write(line.encode("utf-8", "replace"))
    except OSError:
        return
