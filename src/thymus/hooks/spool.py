"""What was handed over and is not learned yet: one file an event, on disk before the host goes on.

An event that ``put`` returned for is not lost by the end of any process, nor (the file is synced) by a power cut. It is
removed when the memory has it. One that can never be learned is set aside in ``failed``, and not dropped.
Standard library only: the client puts, the resident takes.
"""

from __future__ import annotations

import os
import time

from thymus.hooks.places import make_private, state_dir

MOST_WAITING = 2_000
"""Files; and then ``MOST_BYTES`` of them. Past either an event is refused, and the user told."""
MOST_BYTES = 256_000_000
ATTEMPTS = 3
"""How often an event may end the process that learns it."""
MOST_FAILED = 200

URGENT = "a"
"""Goes before a prompt: it says which prompts will not be the user's."""
ORDINARY = "b"


class SpoolFullError(OSError):
    """Too much waits to be learned: nothing more is taken until the resident has caught up."""


class LaterError(Exception):
    """The memory cannot be used now: the event stays where it is. The message is for the user."""


def folder() -> str:
    """The folder of waiting events, made if need be. :raises OSError: where it cannot be."""
    return make_private(os.path.join(make_private(state_dir()), "waiting"))


def put(text: bytes, urgency: str = ORDINARY, memory: int = 0) -> str:
    """Keep an event; returns its name, by which ``take`` finds it.

    :param memory: a number for the memory that it is for; what is for one is passed over while that cannot be used.
    :raises OSError: it was not kept (disk full, folder not ours, ``SpoolFullError``).
    """
    where = folder()
    if not _room(where, len(text)):
        raise SpoolFullError("too many events wait to be learned: `thymus doctor` says why none is")
    name = f"{time.time_ns():020d}-{os.getpid()}-{memory:08x}-{urgency}.json"
    unfinished = os.path.join(where, f".{name}")
    try:
        fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(fd, "wb") as out:
            out.write(text)
            out.flush()
            os.fsync(fd)
        os.rename(unfinished, os.path.join(where, name))
    except OSError:
        _remove(unfinished)
        raise
    return name


def _room(where: str, more: int) -> bool:
    count, size = 0, more
    with os.scandir(where) as found:
        for entry in found:
            try:
                size += entry.stat(follow_symlinks=False).st_size
            except FileNotFoundError:  # learned meanwhile
                continue
            count += 1
    return count < MOST_WAITING and size <= MOST_BYTES


def waiting() -> list[str]:
    """Names of what waits, oldest first. :raises OSError: where the folder cannot be read."""
    return sorted(name for name in os.listdir(folder()) if name.endswith(".json") and not name.startswith("."))


def urgent(name: str) -> bool:
    """Whether it goes before any prompt."""
    return name.endswith(f"-{URGENT}.json")


def memory_of(name: str) -> str:
    """Which memory it is for."""
    return name.rpartition("-")[0].rpartition("-")[2]


def said_at(name: str) -> float:
    """When it was put, in seconds since 1970."""
    return int(name.split("-", 1)[0]) / 1e9


def take(name: str) -> bytes:
    """What was put under a name. :raises OSError: it is not there, or cannot be read."""
    with open(os.path.join(folder(), os.path.basename(name)), "rb") as found:
        return found.read()


def begin(name: str) -> int:
    """Note that it is being learned, in case that ends this process; how often that was begun before."""
    path = os.path.join(state_dir(), "trying")
    before = 0
    try:
        with open(path) as found:
            last, _, count = found.read(200).partition(" ")
            before = int(count) if last == name else 0
    except (OSError, ValueError):
        pass
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(fd, "w") as out:
        out.write(f"{name} {before + 1}")
    return before


def ended() -> None:
    """What was begun has ended without ending the process."""
    _remove(os.path.join(state_dir(), "trying"))


def done(name: str) -> None:
    """The memory has it."""
    _remove(os.path.join(folder(), os.path.basename(name)))


def set_aside(name: str) -> None:
    """It cannot be learned: keep it apart, for the user to see."""
    failed = make_private(os.path.join(state_dir(), "failed"))
    for oldest in sorted(os.listdir(failed))[: -MOST_FAILED + 1]:
        _remove(os.path.join(failed, oldest))
    os.replace(os.path.join(folder(), os.path.basename(name)), os.path.join(failed, os.path.basename(name)))


def failed() -> list[str]:
    """Names of what was set aside."""
    try:
        return sorted(os.listdir(os.path.join(state_dir(), "failed")))
    except OSError:
        return []


def count_unread() -> None:
    """Note that an event could not be read; nothing where that cannot be noted."""
    try:
        fd = os.open(_unread(), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(fd, "ab") as out:
            out.write(b".")  # a byte each: several hooks may count at once
    except OSError:
        return


def unread() -> int:
    """How many events could not be read so far."""
    try:
        return os.stat(_unread()).st_size
    except OSError:
        return 0


def newly_unread() -> int:
    """How many of them the user has not been told of; now they are taken to be. :raises OSError: where they cannot."""
    now, before = unread(), 0
    if not now:
        return 0
    path = f"{_unread()}-told"
    try:
        with open(path, "rb") as found:
            said = found.read(20)
        before = int(said) if said.isdigit() else 0
    except FileNotFoundError:
        pass
    if now > before:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(fd, "wb") as out:
            out.write(b"%d" % now)
    return max(0, now - before)


def _unread() -> str:
    return os.path.join(make_private(state_dir()), "unread")


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
