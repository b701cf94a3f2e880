"""What a framework hands over, taken into a conversation and into memory. Every integration is a thin layer over this.

A framework's hook sees what the model cannot touch: the name of the tool that ran and what it returned, the words that
the host handed in as its user's, and the user that a run is for. So that is where provenance comes from; what a model
says of it never counts.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from thymus import results
from thymus.aio import AsyncMemoryGuard
from thymus.conversation import HEADING, Conversation, Conversations
from thymus.core.provenance import TOOL, UNPRINTABLE, USER, Assurance, Source
from thymus.errors import ConfigError, MissingExtraError
from thymus.extract import pastes
from thymus.sources.origins import NOBODY

if TYPE_CHECKING:
    from thymus.core.actions import Verdict
    from thymus.core.disclose import Recall
    from thymus.guard import MemoryGuard
    from thymus.records import Written

LEARNED: Final = 6_000
"""Characters of one result that are learned; the rest has only been read. A call waits for it: a second or two."""
MOST_PIECES: Final = 25
"""Pieces of one result (mails of a mailbox) that are learned; the rest have only been read."""
SHORTEST_QUESTION: Final = 3
LONGEST_QUESTION: Final = 2_000
"""Characters of a question that a recall is asked with."""
_DEEPEST: Final = 60
_MOST_NODES: Final = 100_000
"""Lists, records and objects in one result that are looked into."""
_OF_RESULT: Final = frozenset({"content", "structuredContent", "isError", "_meta", "meta", "artifact"})

Failing = Literal["closed", "open"]
"""What becomes of a call when Thymus itself fails: ``"closed"`` raises, ``"open"`` goes on without it and says so."""

_log = logging.getLogger("thymus.integrations")


class Adapter:
    """A guard, and what a framework's hooks make of it. Safe to use from several threads.

    :param guard: its user is whom a run is for that names nobody.
    :param open_world: names of the tools that hand on what anybody wrote (a browser, a mailbox): what they return is
        the words of the pages and senders that it names. Tools whose names say so (``web_search``, ``read_email``) are
        taken for such without being listed.
    :param authenticated: names of the tools that speak for themselves and that you vouch for (your own calendar): what
        they say may replace what they said before.
    :param ignored: names of the tools whose results are not learned; they are read all the same.
    :param k: how many memories a context may hold.
    :param on_notice: called with each notice, for the user; never shown to the model.
    :param failing: ``"closed"`` (the default) or ``"open"``.
    """

    def __init__(
        self,
        guard: MemoryGuard | AsyncMemoryGuard,
        *,
        open_world: Iterable[str] = (),
        authenticated: Iterable[str] = (),
        ignored: Iterable[str] = (),
        k: int = 8,
        on_notice: Callable[[str], object] | None = None,
        failing: Failing = "closed",
    ) -> None:
        self.guard: MemoryGuard = guard.guard if isinstance(guard, AsyncMemoryGuard) else guard
        self.open_world = tool_names(open_world, "open_world")
        self.authenticated = tool_names(authenticated, "authenticated")
        self.ignored = tool_names(ignored, "ignored")
        if both := sorted(self.open_world & self.authenticated):
            raise ConfigError(f"{both[0]!r} hands on what others wrote, so that it cannot be vouched for: name it once")
        if failing not in ("closed", "open"):
            raise ConfigError(f'failing is "closed" or "open", not {str(failing)[:40]!r}')
        self.k, self.on_notice, self.failing = k, on_notice, failing
        self._going_on = Conversations(self.guard, lambda guard, before: Conversation(guard, before=before))

    def conversation(self, name: str = "", *, user: str | None = None) -> Conversation:
        """The conversation (a thread, a session) of that name, of this user."""
        return self._going_on.of(name, user=user)

    # What comes in

    def user_said(self, talk: Conversation, text: str, *, message_id: str | None = None) -> list[Written]:
        """Learn a message that the host handed in as its user's: what was typed is the user's own; what was pasted
        is not, and has no authority."""
        words = pastes.split(text)
        written = []
        if words.own.strip():
            written.append(talk.learn(words.own, source=USER, message_id=message_id))
        if words.pasted.strip():
            pasted, seen = words.pasted[:LEARNED], words.pasted[LEARNED:]
            id_ = f"{message_id}/pasted" if message_id else None
            written.append(talk.learn(pasted, source=USER, derived_from=("paste",), message_id=id_))
            if seen:
                talk.read(seen, source="paste")
        return written

    def tool_returned(
        self,
        talk: Conversation,
        tool: str,
        result: object,
        *,
        arguments: object = None,
        call_id: str | None = None,
        failed: bool = False,
        open_world: bool = False,
    ) -> list[Written]:
        """Learn what a tool returned, under its own name; one result a piece that is of one origin.

        :param result: text, content blocks, a record, or whatever object it is: what is no text is left alone.
        :param arguments: what it was called with; a URL in it is where the result is from.
        :param call_id: the framework's id of the call: the same call is learned once.
        :param failed: it is an error, which is read and states nothing.
        :param open_world: the framework itself says that it hands on what others wrote.
        """
        open_world = (
            open_world or tool in self.open_world or (tool not in self.authenticated and results.hands_on(tool))
        )
        source = self.tool(tool)
        learned = 0 if failed or tool in self.ignored else LEARNED
        written = []
        look = _Look()
        form = _formed(look.at(result))
        found = results.read(talk, form, source=source, arguments=arguments, open_world=open_world)
        for whose in (source, NOBODY) if look.cut else ():
            talk.read("", source=whose, all_of_it=False)
        for number, piece in enumerate(found[:MOST_PIECES]):
            text, learned = piece.text[:learned], max(0, learned - len(piece.text))
            if text.strip():
                known = {"message_id": f"{call_id}#{number}" if number else call_id} if call_id else {}
                cut = dataclasses.replace(piece, text=text)
                written.append(results.learn(talk, cut, source=source, **known))
        return written

    def tool(self, name: str) -> Source:
        """A tool of this name as a source, ``tool:NAME``."""
        vouched = name in self.authenticated
        return Source(
            channel=TOOL,
            identity="".join(UNPRINTABLE.sub("", name).split())[:300] or "unnamed",
            assurance=Assurance.AUTHENTICATED if vouched else Assurance.CLAIMED,
        )

    # What goes out

    def ask(self, talk: Conversation, question: str) -> Recall | None:
        """What bears on a question; nobody is told. ``None`` where nothing is asked."""
        question = question.strip()[:LONGEST_QUESTION]
        return talk.recall(question, k=self.k) if len(question) >= SHORTEST_QUESTION else None

    def recall(self, talk: Conversation, question: str) -> Recall | None:
        """What bears on a question; the notice is handed on. ``None`` where nothing is asked."""
        found = self.ask(talk, question)
        if found is not None:
            self.tell(found.notice)
        return found

    def tell(self, notice: str) -> None:
        """Hand a notice to the user, where there is one."""
        if notice and self.on_notice is not None:
            self.on_notice(notice)

    def check(self, talk: Conversation, tool: str, args: Mapping[str, object], *, said: Sequence[str] = ()) -> Verdict:
        """Whether a tool may be called with these values (``MemoryGuard.check_action``)."""
        return talk.guard.check_action(tool, args, said=said)

    @contextlib.contextmanager
    def failures(self, what: str) -> Iterator[None]:
        """Where ``failing`` is ``"open"``, what fails within is logged and the user told; otherwise it is raised.

        :param what: what is not done then, as in "a result of tool:x was not learned".
        """
        try:
            yield
        except Exception as error:
            if self.failing == "closed":
                raise
            _log.warning("%s: %s", what, type(error).__name__)
            _log.debug("its failure", exc_info=True)
            with contextlib.suppress(Exception):
                self.tell(f"thymus failed, and {what}: {error}")


def context(found: Recall | None) -> str:
    """A recall as it stands in a system message; empty where nothing was found."""
    return f"{HEADING}\n{found.context}" if found is not None and found.context else ""


def speaks(verdict: Verdict) -> str:
    """What a model is told of a verdict: the values that it is about are for the user."""
    return f"memory says {verdict.answer.name.lower()} ({', '.join(verdict.reasons)}); the user was told"


def not_called(tool: str, why: str) -> str:
    """What a model gets in place of the result of a call that is not made."""
    return f"{tool} was not called: {why}".strip()


def wire(result: object) -> dict[str, Any]:
    """Whatever a tool returned, in the form of MCP's ``CallToolResult``; no text in it for what holds none."""
    return _formed(plain(result))


def plain(value: object) -> Any:
    """A value in JSON's types: models and dataclasses as their fields, dates and other objects as they are written;
    ``None`` for what says nothing as text."""
    return _Look().at(value)


def _formed(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"content": [{"type": "text", "text": value}]}
    if isinstance(value, Mapping) and isinstance(value.get("content"), list) and value.keys() <= _OF_RESULT:
        return {"content": value["content"], "structuredContent": value.get("structuredContent")}
    if isinstance(value, list):
        return {"content": value}
    return {"content": [], "structuredContent": value if isinstance(value, Mapping) else {"result": value}}


class _Look:
    """A look at a value, within bounds.

    :ivar cut: whether something was left out that may have said something.
    """

    def __init__(self) -> None:
        self.cut = False
        self._seen = 0

    def at(self, value: object, depth: int = 0) -> Any:
        """The value in JSON's types."""
        if isinstance(value, enum.Enum):
            return self.at(value.value, depth + 1)
        if value is None or isinstance(value, (str, bool, int, float)):
            return value
        if isinstance(value, (bytes, bytearray, memoryview)):
            return _decoded(bytes(value))
        self._seen += 1
        if depth == _DEEPEST or self._seen > _MOST_NODES:  # aliases of YAML blow up a page to any size
            self.cut = True
            return None
        if isinstance(value, Mapping):
            return {str(key)[:200]: self.at(one, depth + 1) for key, one in value.items()}
        if isinstance(value, (list, tuple, set, frozenset, deque)):
            return [self.at(one, depth + 1) for one in value]
        return self._object(value, depth)

    def _object(self, value: object, depth: int) -> Any:
        """The fields of a model; of any other object what a framework shows of it: a date, an amount."""
        if isinstance(value, type):
            return None
        with contextlib.suppress(Exception):  # somebody's own code
            if callable(dump := getattr(value, "model_dump", None)):
                return self.at(dump(), depth + 1)
            if dataclasses.is_dataclass(value):
                fields = {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
                return self.at(fields, depth + 1)
            if type(value).__str__ is not object.__str__:
                return str(value)[: results.LONGEST]
        self.cut = True
        return None


def _decoded(data: bytes) -> str | None:
    """Bytes that are text."""
    with contextlib.suppress(UnicodeDecodeError):
        text = data[: results.LONGEST].decode()
        return None if "\0" in text else text
    return None


def missing(module: str, extra: str) -> MissingExtraError:
    """The error where a framework is not installed."""
    return MissingExtraError(f"{module} is not installed: pip install 'thymus-memory[{extra}]'")


def tool_names(given: Iterable[str], what: str) -> frozenset[str]:
    """Names of tools, as an option gives them.

    :raises ConfigError: where it is one name: its letters would be taken for names.
    """
    if isinstance(given, str):
        raise ConfigError(f'{what} is a list of names of tools: {what}=["{given[:40]}"]')
    return frozenset(given)
