"""What an adapter keeps of the runs of one conversation: what their user said in them, and what the user was told."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID
from weakref import WeakKeyDictionary

from thymus.errors import ConfigError
from thymus.extract import pastes
from thymus.integrations.adapter import Adapter

if TYPE_CHECKING:
    from thymus.conversation import Conversation
    from thymus.core.actions import Verdict
    from thymus.core.disclose import Recall
    from thymus.guard import MemoryGuard
    from thymus.records import Written

MOST_SAID: Final = 20
"""Messages of the user that a call is checked with: what they asked for long ago, they have not just asked for."""
_SHORTEST_QUESTION: Final = 3
_LONGEST_QUESTION: Final = 2_000
_ABSENT: Final = object()

Whose = str | Callable[[Any], Any] | None
"""A name, or what reads it from the object that the host hands to its run; ``None`` looks for the usual field there."""


class _Kept:
    def __init__(self) -> None:
        self.said: deque[str] = deque(maxlen=MOST_SAID)
        self.told = ""
        self.seen: set[int] = set()


class Runs(Adapter):
    """An ``Adapter`` whose users and conversations are named by what the host hands to each run (a context, deps).

    :param user: whose memory a run is for; by default its ``user_id``, and the guard's own user where it has none.
    :param conversation: the conversation that a run belongs to; by default its ``conversation_id``.
    """

    def __init__(self, guard: MemoryGuard, *, user: Whose = None, conversation: Whose = None, **options: Any) -> None:
        super().__init__(guard, **options)
        self._user, self._conversation = user, conversation
        self._kept: WeakKeyDictionary[Conversation, _Kept] = WeakKeyDictionary()
        self._keeping = threading.Lock()

    def of(self, given: object, *, otherwise: str = "", handed: object = None) -> Conversation:
        """The conversation of a run.

        :param given: the object that the host handed to it.
        :param otherwise: the conversation's name where that object has none.
        :param handed: what ``user`` and ``conversation`` are called with, where that is not ``given``.
        :raises ConfigError: where it has a place for a user and names nobody: nobody's run gets the guard's own memory.
        """
        handed = given if handed is None else handed
        user = _named(self._user, given, handed, "user_id")
        if user is not _ABSENT and (isinstance(user, bool) or not isinstance(user, (str, int, UUID)) or user == ""):
            raise ConfigError(
                f"the user of this run is {str(user)[:40]!r}: set its user_id, or pass user= to say whose it is"
            )
        name = _named(self._conversation, given, handed, "conversation_id")
        called = otherwise if name is _ABSENT or name is None else str(name)
        return self.conversation(called, user=None if user is _ABSENT else str(user))

    def _of(self, talk: Conversation) -> _Kept:
        with self._keeping:
            return self._kept.setdefault(talk, _Kept())

    def first(self, talk: Conversation, call_id: str, result: object = None) -> bool:
        """Whether this result of this call comes for the first time. Some providers number their calls from 0."""
        key, seen = hash((call_id, result if isinstance(result, str) else None)), self._of(talk).seen
        if key in seen:
            return False
        seen.add(key)
        return True

    def user_said(self, talk: Conversation, text: str, *, message_id: str | None = None) -> list[Written]:
        """As ``Adapter.user_said``; ``verdict`` then knows that the user said it."""
        kept = self._of(talk)
        kept.said.append(pastes.split(text).own)
        kept.told = ""
        return super().user_said(talk, text, message_id=message_id)

    def recall(self, talk: Conversation, question: str) -> Recall | None:
        """What bears on a question, asked before each call of a model: a notice is handed on once, until the user says
        something else. ``None`` where nothing is asked."""
        question = question.strip()[:_LONGEST_QUESTION]
        if len(question) < _SHORTEST_QUESTION:
            return None
        found, kept = talk.recall(question, k=self.k), self._of(talk)
        if found.notice != kept.told:
            self.tell(found.notice)
        kept.told = found.notice
        return found

    def verdict(self, talk: Conversation, tool: str, args: Mapping[str, object]) -> Verdict | None:
        """Whether a tool may be called. ``None`` where Thymus failed and may do so: then somebody is to be asked."""
        found = None
        with self.failures("a call of a tool was not checked"):
            found = self.check(talk, tool, args, said=tuple(self._of(talk).said))
        return found  # noqa: RET504  # what fails above may have been let go


def _named(name: Whose, given: object, handed: object, field: str) -> object:
    """Who or what it is; ``_ABSENT`` where there is no place for it: an empty one may be a user not signed in."""
    if isinstance(name, str):
        return name
    if name is not None:
        return name(handed)
    return given.get(field, _ABSENT) if isinstance(given, Mapping) else getattr(given, field, _ABSENT)
