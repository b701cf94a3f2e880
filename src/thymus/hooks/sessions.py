"""What the resident knows of each session: what entered it, what its model was shown, what its user was told."""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from thymus.conversation import UNKNOWN, Conversation

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from thymus.guard import MemoryGuard

MOST_SESSIONS: Final = 64
MOST_SHOWN: Final = 2_000
MOST_SCHEDULED: Final = 500
_ON_FILE: Final = "file:"
SCHEDULED_FOR_S: Final = 10 * 24 * 3600
"""Seconds for which a scheduled prompt is known; the host itself forgets one after seven days."""


@dataclass(slots=True)
class Session:
    """One session of the host, for one memory.

    :param talk: what entered it.
    :param shown: lines of context that its model has been given and still has.
    """

    talk: Conversation
    shown: set[str] = field(default_factory=set)

    def fresh(self, lines: Iterable[str]) -> list[str]:
        """Those lines that its model has not been given, which it then has."""
        new = [line for line in lines if line not in self.shown]
        if len(self.shown) > MOST_SHOWN:
            self.shown.clear()
        self.shown.update(new)
        return new


class Sessions:
    """The latest sessions, by memory and id; the one that was silent longest is forgotten first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Session] = OrderedDict()

    def get(self, key: Hashable, guard: MemoryGuard, *, begins: bool = False) -> Session:
        """The session of that key, with this guard.

        :param begins: whether its context is empty now. Of one that goes on and is not known (it was forgotten here,
            or it began before this process) something unknown may have entered.
        """
        session = self._kept.get(key)
        if session is None:
            session = self._kept[key] = Session(Conversation(guard, before=() if begins else (UNKNOWN,)))
        elif session.talk.guard is not guard:  # the memory was opened anew: what entered has, its words are forgotten
            session.talk = Conversation(guard, before=session.talk.entered)
        self._kept.move_to_end(key)
        while len(self._kept) > MOST_SESSIONS:
            self._kept.popitem(last=False)
        return session

    def end(self, key: Hashable) -> None:
        """Forget a session."""
        self._kept.pop(key, None)


class Scheduled:
    """Prompts that the assistant scheduled, by a digest, for as long as they may come back. Kept in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._until: dict[str, float] = {}
        try:
            kept = json.loads(path.read_bytes())
            self._until = {str(digest): float(until) for digest, until in kept.items()}
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return  # none yet

    def add(self, prompts: Iterable[str], *, on_file: Iterable[str] = ()) -> None:
        """Know these from now on. :raises OSError: where that cannot be kept.

        :param on_file: what a project's own file names: anybody may have written it, and it pushes none of the others
            out.
        """
        now = time.time()
        new = {_digest(prompt): now + SCHEDULED_FOR_S for prompt in prompts}
        new |= {_ON_FILE + _digest(prompt): now + SCHEDULED_FOR_S for prompt in on_file}
        if not new or new.keys() <= {digest for digest, until in self._until.items() if until > now + 3600}:
            return
        live = {digest: until for digest, until in self._until.items() if until > now and digest not in new}
        every = [*live.items(), *new.items()]
        named = [one for one in every if not one[0].startswith(_ON_FILE)]
        filed = [one for one in every if one[0].startswith(_ON_FILE)]
        self._until = dict([*named[-MOST_SCHEDULED:], *filed[-MOST_SCHEDULED:]])
        unfinished = self._path.with_suffix(".new")
        unfinished.touch(0o600)
        unfinished.write_text(json.dumps(self._until))
        unfinished.replace(self._path)

    def holds(self, prompt: str) -> bool:
        """Whether it is one of them."""
        digest, now = _digest(prompt), time.time()
        return max(self._until.get(digest, 0.0), self._until.get(_ON_FILE + digest, 0.0)) > now

    @property
    def full(self) -> bool:
        """Whether some of them may have been forgotten."""
        return sum(not digest.startswith(_ON_FILE) for digest in self._until) >= MOST_SCHEDULED


def _digest(prompt: str) -> str:
    return hashlib.sha256(" ".join(prompt.casefold().split()).encode("utf-8", "replace")).hexdigest()
