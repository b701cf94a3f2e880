"""What an adapter keeps of the runs of one conversation: what their user said in them, what the user was told, and
which calls of tools are going on; and what comes of a call that memory does not allow."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from uuid import UUID, uuid4
from weakref import WeakKeyDictionary

from thymus.core.actions import Answer
from thymus.core.provenance import ASSISTANT, Assurance, Source
from thymus.errors import ConfigError
from thymus.extract import pastes
from thymus.integrations.adapter import Adapter, speaks, tool_names
from thymus.results import LONGEST

if TYPE_CHECKING:
    from thymus.aio import AsyncMemoryGuard
    from thymus.conversation import Conversation
    from thymus.core.actions import Verdict
    from thymus.core.disclose import Recall
    from thymus.guard import MemoryGuard
    from thymus.records import Written

MOST_SAID: Final = 20
"""Messages of the user that a call is checked with: what they asked for long ago, they have not just asked for."""
_MOST_TOLD: Final = 100
"""Notices that are known again."""
UNCHECKED: Final = "its arguments could not be checked"
_ABSENT: Final = object()
_log = logging.getLogger("thymus.integrations")

Whose = str | Callable[[Any], Any] | None
"""A name, or what reads it from the object that the host hands to its run; ``None`` looks for the usual field there."""


class _Kept:
    def __init__(self) -> None:
        self.said: deque[str] = deque(maxlen=MOST_SAID)
        self.told: deque[str] = deque(maxlen=_MOST_TOLD)
        self.seen: set[int] = set()


class _Call:
    """A call of a tool, where the framework has no object for it."""


class Runs(Adapter):
    """An ``Adapter`` whose users and conversations are named by what the host hands to each run (a context, deps).

    :param user: whose memory a run is for; by default its ``user_id``, and the guard's own user where it has none.
    :param conversation: the conversation that a run belongs to; by default its ``conversation_id``.
    :param checked: names of the tools that are called only where ``MemoryGuard.check_action`` allows their arguments.
    :param approve: asked, with the verdict, where the answer is *ask*; without it that is a no.
    """

    def __init__(
        self,
        guard: MemoryGuard | AsyncMemoryGuard,
        *,
        user: Whose = None,
        conversation: Whose = None,
        checked: Iterable[str] = (),
        approve: Callable[[Verdict], object] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(guard, **options)
        self.checked, self.approve = tool_names(checked, "checked"), approve
        self._user, self._conversation = user, conversation
        self._kept: WeakKeyDictionary[Conversation, _Kept] = WeakKeyDictionary()
        self._calls: WeakKeyDictionary[object, str] = WeakKeyDictionary()
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

    # What was seen, so that the rest of a history is known for what no hook saw

    def is_new(self, talk: Conversation, call_id: str, result: object = None) -> bool:
        """Whether this result of this call was not yet ``seen``. Some providers number their calls from 0."""
        return _mark(call_id, result) not in self._of(talk).seen

    def seen(self, talk: Conversation, call_id: str, result: object = None) -> None:
        """Note a result of a call: once it was learned or read, so that one that could not be is not lost."""
        self._of(talk).seen.add(_mark(call_id, result))

    def tool_returned(  # type: ignore[override]  # it takes more
        self,
        talk: Conversation,
        tool: str,
        result: object,
        *,
        server: object = None,
        call_id: str | None = None,
        failed: bool = False,
        open_world: bool = False,
        **known: Any,
    ) -> list[Written]:
        """As ``Adapter.tool_returned``; without a ``call_id`` it is a call of its own, really made: what it says is so
        now, though the tool said it before something else.

        :param server: the MCP server that the tool is of: its name goes before the tool's, which alone vouches for
            nothing (``served``).
        """
        if server is not None:
            failed, open_world = failed or tool in self.ignored, open_world or tool in self.open_world
            tool = served(tool, server)
        known |= {"call_id": call_id or f"call/{uuid4().hex}", "failed": failed, "open_world": open_world}
        return super().tool_returned(talk, tool, result, **known)

    # Calls that are going on: what they start may run where no framework says that it is nested

    def call_begins(self, talk: Conversation, call: object) -> None:
        """Note that a tool is being called. The call is over with ``call_ends``, or when nothing holds it any more."""
        with self._keeping:
            self._calls[call] = talk.guard.user_id

    def call_ends(self, call: object) -> None:
        """Note that it returned."""
        with self._keeping:
            self._calls.pop(call, None)

    @contextlib.contextmanager
    def calling(self, talk: Conversation) -> Iterator[None]:
        """Around a call of a tool."""
        call = _Call()
        self.call_begins(talk, call)
        try:
            yield
        finally:
            self.call_ends(call)

    def is_calling(self, talk: Conversation) -> bool:
        """Whether a tool of that user's is being called; for the guard's own user, whom runs that name nobody are for,
        whether any is."""
        user = talk.guard.user_id
        with self._keeping:
            calls = set(self._calls.values())
        return bool(calls) and (user in calls or user == self.guard.user_id)

    def attests(self, talk: Conversation) -> bool:
        """Whether what a run begins with can be taken for its user's: not while ``is_calling``, for the tool may have
        begun it with what a model wrote."""
        if calling := self.is_calling(talk):
            _log.info("a message came while a tool was being called: it is not taken for the user's")
        return not calling

    # The user

    def user_said(self, talk: Conversation, text: str, *, message_id: str | None = None) -> list[Written]:
        """As ``Adapter.user_said``; ``verdict`` then knows that the user said it."""
        if own := pastes.split(text).own.strip():
            self._of(talk).said.append(own)
        self.goes_on(talk)
        return super().user_said(talk, text, message_id=message_id)

    def goes_on(self, talk: Conversation) -> None:
        """The user says something, or asks something else: they may be told the same again."""
        self._of(talk).told.clear()

    def tell_once(self, talk: Conversation, notice: str) -> None:
        """``tell``, unless the user was told this since they last said something."""
        told = self._of(talk).told
        with self._keeping:
            if notice in told:
                return
            told.append(notice)
        self.tell(notice)

    # What goes out

    def recall(self, talk: Conversation, question: str) -> Recall | None:
        """What bears on a question, asked before each call of a model: a notice is handed on once, until the user says
        something else. ``None`` where nothing is asked."""
        found = self.ask(talk, question)
        if found is not None:
            self.tell_once(talk, found.notice)
        return found

    def verdict(self, talk: Conversation, tool: str, args: Mapping[str, object]) -> Verdict | None:
        """Whether a tool may be called. ``None`` where Thymus failed and may do so: then somebody is to be asked."""
        found = None
        with self.failures("a call of a tool was not checked"):
            found = self.check(talk, tool, args, said=tuple(self._of(talk).said))
        return found  # noqa: RET504  # what fails above may have been let go

    def refusal(self, talk: Conversation, tool: str, args: Mapping[str, object]) -> str:
        """Why a checked tool is not called, for the model: the values that it is about are for the user, who is told.
        Empty where it may be called. Never raises: what was not checked, or could not be approved, is not done."""
        if tool not in self.checked:
            return ""
        try:
            verdict = self.verdict(talk, tool, args)
            if verdict is None:  # what a model wrote can make a check fail, so it is never made without one
                return UNCHECKED
            if verdict.allowed or (verdict.answer is Answer.ASK and self.approve and self.approve(verdict)):
                return ""
            self.tell(str(verdict))
        except Exception as error:  # noqa: BLE001 -- frameworks go on where a hook raises, or wait for ever
            return f"{UNCHECKED} ({type(error).__name__})"
        return speaks(verdict)

    # Agents, and tools of servers

    def agent_answered(self, talk: Conversation, tool: str, said: str) -> None:
        """Read what an agent behind a tool said: a model's words, whoever vouches for the tool's name."""
        source = Source(channel=ASSISTANT, identity=self.tool(tool).identity, assurance=Assurance.REPORTED)
        talk.read(said[:LONGEST], source=source, all_of_it=len(said) <= LONGEST)


def served(tool: str, server: object) -> str:
    """The name of a tool of an MCP server, with the server's, so that none is taken for a tool of yours.

    :param server: its name, or how it is reached: an object with a URL, whose host it is, or a command.
    """
    url, command = getattr(server, "url", None), getattr(server, "command", None)
    if url:
        name = urlsplit(str(url)).hostname
    else:
        name = str(command or (server if isinstance(server, str) else "")).replace("\\", "/").rsplit("/", 1)[-1]
    return f"{name or 'mcp'}/{tool}"


def _mark(call_id: str, result: object) -> int:
    return hash((call_id, result if isinstance(result, str) else None))


def _named(name: Whose, given: object, handed: object, field: str) -> object:
    """Who or what it is; ``_ABSENT`` where there is no place for it: an empty one may be a user not signed in."""
    if isinstance(name, str):
        return name
    if name is not None:
        return name(handed)
    return given.get(field, _ABSENT) if isinstance(given, Mapping) else getattr(given, field, _ABSENT)
