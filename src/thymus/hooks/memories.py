"""The memories that the resident holds open: one store each, with a guard for every user of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from thymus.config import Settings
from thymus.core.gates import DEFAULT_GATE
from thymus.errors import ThymusError
from thymus.guard import MemoryGuard
from thymus.hooks.spool import LaterError

_MOST_OPEN: Final = 8


@dataclass(frozen=True, slots=True)
class _Open:
    """A memory that is open: for each user a guard over the same store."""

    guard: MemoryGuard
    file: tuple[int, int] | None
    users: dict[str, MemoryGuard] = field(default_factory=dict)

    def of(self, user: str) -> MemoryGuard:
        if user not in self.users:
            self.users[user] = self.guard.for_user(user)
        return self.users[user]


class Memories:
    """Those that are open. Used by one thread."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str, str | None], _Open] = {}

    def of(self, given: object) -> tuple[Settings, MemoryGuard]:
        """The settings that an event came with, and the guard of its user.

        :raises LaterError: the memory cannot be opened now.
        """
        named = {name: str(value) for name, value in given.items()} if isinstance(given, Mapping) else {}
        settings = Settings.read(
            **{name: named.get(name) for name in ("db", "gate", "llm", "user")},
            environment={},
        )
        opened = self._open.get(_key(settings))
        if opened is not None and opened.file != _file(settings.db):
            self.close(settings)  # it was replaced or removed: what is written to the old file nobody would find
            opened = None
        try:
            if opened is None:
                while len(self._open) >= _MOST_OPEN:
                    self._open.pop(next(iter(self._open))).guard.close()
                guard = MemoryGuard(settings.db, gate=settings.gate, llm=settings.llm, user_id=settings.user)
                opened = self._open[_key(settings)] = _Open(guard, _file(settings.db))
            return settings, opened.of(settings.user)
        except (ThymusError, OSError) as error:
            raise LaterError(str(error)) from error

    def close(self, settings: Settings) -> None:
        """Close the memory of these settings; the next event opens it anew."""
        opened = self._open.pop(_key(settings), None)
        if opened is not None:
            opened.guard.close()

    def close_all(self) -> None:
        """Close every memory."""
        while self._open:
            self._open.popitem()[1].guard.close()


def _key(settings: Settings) -> tuple[str, str, str | None]:
    return settings.db, settings.gate or DEFAULT_GATE, settings.llm


def _file(db: str) -> tuple[int, int] | None:
    """Which SQLite file a path names now; a snapshot (``.json``) is a new file after every write."""
    if "://" in db or db == ":memory:" or db.endswith(".json"):
        return None
    try:
        found = os.stat(db)  # noqa: PTH116  (a path of any kind)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino
