"""What becomes of an event: the user's words are learned as the user's, a tool's as the tool's, and recall answers.

The notice goes to the user alone (``systemMessage``), the context to the model alone (``additionalContext``).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from thymus import results
from thymus.config import Settings
from thymus.conversation import HEADING, UNKNOWN, Conversation
from thymus.core.claims import Kind
from thymus.core.provenance import Source
from thymus.errors import InputError, MemoryNotFoundError, SourceError, ThymusError
from thymus.extract import pastes
from thymus.guard import MemoryGuard
from thymus.hooks import payloads, places
from thymus.hooks.memories import Memories
from thymus.hooks.payloads import text_of
from thymus.hooks.sessions import MOST_SCHEDULED, Scheduled, Session, Sessions
from thymus.hooks.spool import LaterError
from thymus.sources.origins import Piece

Answer = dict[str, Any]

RECALLED: Final = 6
"""Memories that one prompt brings into the context, at most; one that the session has is not repeated."""
STANDING: Final = 12
"""Preferences and instructions of the user that a session starts with."""
LONGEST_CONTEXT: Final = 8_000
"""Characters: the host puts away what is longer than 10,000 in a file."""
_SHORTEST_QUESTION: Final = 8
"""Characters: "yes" and "go on" ask for nothing."""
_LONGEST_QUESTION: Final = 1_000
_LONGEST_SCHEDULE: Final = 1_000_000
HOSTS: Final = frozenset({"cli", "claude-vscode", "claude-desktop", "claude-desktop-3p"})
"""``CLAUDE_CODE_ENTRYPOINT`` of what a person types into: the terminal, the extension, the desktop program. Others of
2.1.197: ``sdk-cli`` (``claude -p``), ``sdk-ts``, ``sdk-py``, ``mcp``, ``claude-code-github-action``, ``local-agent``,
``remote`` and ``remote_…`` (one of them by a timer), ``claude-in-slack``, ``claude-in-teams``."""
_HEARD: Final = frozenset({"UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Unread"})
_EMPTY: Final = frozenset({"startup", "clear"})
"""How a session starts of which nothing has entered the context yet."""
_MOST_IDS: Final = 200
_MOST_TOLD: Final = 1_000


class Listener:
    """The open memories, the sessions, and what is done with an event. Used by one thread.

    :param pause: called while something long is learned; what is urgent can be done in it.
    """

    def __init__(self, pause: Callable[[], None] = lambda: None) -> None:
        self._pause = pause
        self._memories = Memories()
        self._sessions = Sessions()
        self._told: dict[str, None] = {}
        self._scheduled = Scheduled(Path(places.make_private(places.state_dir())) / "scheduled.json")

    def close(self) -> None:
        """Close every memory."""
        self._memories.close_all()

    def hear(self, item: Mapping[str, Any], say: Callable[[Answer], None], *, name: str, at: float) -> None:
        """Learn from an event that was in the spool.

        :param say: called with the answer to a prompt as soon as there is one; what takes long is learned after that.
        :param name: its name there: the same event is never learned twice.
        :param at: when it happened, in seconds since 1970.
        :raises LaterError: it is not learned yet.
        :raises InputError, SourceError: it never will be.
        """
        event = item.get("event")
        if not isinstance(event, Mapping):
            raise InputError("an event is a JSON object")
        typed = self._note_schedules(event) and _typed(item)
        if payloads.scheduled(event) or event.get("hook_event_name") not in _HEARD:
            return
        settings, guard = self._memories.of(item.get("settings"))
        session = self._session(settings, event, guard)
        when = datetime.fromtimestamp(at, UTC)
        try:
            if event.get("hook_event_name") == "UserPromptSubmit":
                self._prompt(event, session, say, name, when, typed=typed)
            elif event.get("hook_event_name") == "Unread":
                session.talk.read("", source=UNKNOWN, all_of_it=False)
            else:
                self._result(event, session, name, when, cut=item.get("cut") is True)
        except (InputError, SourceError):
            raise
        except (ThymusError, OSError) as error:
            self._memories.close(settings)
            raise LaterError(str(error)) from error

    def tell(self, item: Mapping[str, Any]) -> Answer:
        """A session that starts, or ends. :raises LaterError: the memory cannot be read."""
        event = item.get("event")
        if not isinstance(event, Mapping):
            return {}
        self._note_schedules(event)
        settings, guard = self._memories.of(item.get("settings"))
        try:
            if event.get("hook_event_name") == "SessionEnd":
                self._sessions.end((settings, text_of(event, "session_id")))
                return {}
            session = self._session(settings, event, guard)
            return _standing(session, text_of(event, "source"))
        except (ThymusError, OSError) as error:
            self._memories.close(settings)
            raise LaterError(str(error)) from error

    def failed(self, item: Mapping[str, Any], why: str) -> Answer:
        """What the user is told of a failure, once a session."""
        told = f"{text_of(item.get('event'), 'session_id')} {why}"
        if told in self._told:
            return {}
        self._told[told] = None
        while len(self._told) > _MOST_TOLD:
            del self._told[next(iter(self._told))]
        return {
            "systemMessage": f"thymus could not use its memory: {why}. What is said meanwhile waits on disk, and is "
            "learned once that works. Run `thymus doctor`."
        }

    def _session(self, settings: Settings, event: Mapping[str, Any], guard: MemoryGuard) -> Session:
        starts = event.get("hook_event_name") == "SessionStart" and text_of(event, "source") in _EMPTY
        return self._sessions.get((settings, text_of(event, "session_id")), guard, begins=starts)

    def _note_schedules(self, event: Mapping[str, Any]) -> bool:
        """Keep what the assistant scheduled; whether a prompt can be told from all that was."""
        on_file = _on_file(text_of(event, "cwd"))
        try:
            self._scheduled.add(payloads.scheduled(event), on_file=on_file or ())
        except OSError as error:
            raise LaterError(f"its state folder cannot be written: {error.strerror}") from error
        return on_file is not None and not self._scheduled.full

    def _prompt(
        self,
        event: Mapping[str, Any],
        session: Session,
        say: Callable[[Answer], None],
        name: str,
        when: datetime,
        *,
        typed: bool,
    ) -> None:
        prompt = text_of(event, "prompt")
        if pastes.machine_made(prompt):
            return
        if self._scheduled.holds(prompt):
            say(_recalled(session, prompt, frozenset()))
            return
        words, talk = pastes.split(prompt), session.talk
        known: dict[str, Any] = {"source": Source.parse("user", authenticated=typed), "observed_at": when}
        id_ = _message_id(event, text_of(event, "prompt_id") or name)
        own = bool(words.own.strip())
        at_once = own and talk.guard.llm is None  # before the recall, so that it has what the prompt changes
        said = talk.learn(words.own, message_id=id_, **known).memories if at_once else ()
        say(_recalled(session, words.own if own else words.pasted, {memory.id for memory in said}))
        if own and not at_once:
            talk.learn(words.own, message_id=id_, **known)
        if words.pasted.strip():
            pasted, seen = words.pasted[: payloads.LONGEST_LEARNED], words.pasted[payloads.LONGEST_LEARNED :]
            if seen:
                talk.read(seen[: payloads.LONGEST_READ], source="paste", all_of_it=len(seen) <= payloads.LONGEST_READ)
            self._learn(pasted, f"{id_}/pasted", partial(talk.learn, derived_from=("paste",), **known))

    def _result(self, event: Mapping[str, Any], session: Session, name: str, when: datetime, *, cut: bool) -> None:
        """Learn what a tool brought. All that the assistant was shown has entered before any of it is learned."""
        told, talk = payloads.heard(event), session.talk
        if told is None:
            return
        source = Source.parse(told.source)
        if cut:
            talk.read("", source=source, all_of_it=False)
        if told.own:
            _read_own(talk, told.text[: payloads.LONGEST_READ], source)
            return
        known: dict[str, Any] = {"source": source, "observed_at": when}
        id_ = _message_id(event, text_of(event, "tool_use_id") or name)
        if told.result is None:
            text, whole = told.text[: payloads.LONGEST_READ], len(told.text) <= payloads.LONGEST_READ
            for origin in told.origins or (source,):
                talk.read(text[told.learn :], source=origin, all_of_it=whole)
            self._learn(text[: told.learn], id_, partial(talk.learn, derived_from=told.origins, **known))
            return
        found = results.read(
            talk, told.result, source=source, arguments=event.get("tool_input"), open_world=told.open_world
        )
        left = told.learn
        for number, piece in enumerate(found):
            text, left = piece.text[:left], max(0, left - len(piece.text))

            def learn(part: str, *, piece: Piece = piece, **ids: Any) -> object:
                return results.learn(talk, replace(piece, text=part), **known, **ids)

            self._learn(text, f"{id_}/{number}" if number else id_, learn)

    def _learn(self, text: str, message_id: str, learn: Callable[..., object]) -> None:
        for number, part in enumerate(payloads.in_parts(text)):
            if number:
                self._pause()
            learn(part, message_id=f"{message_id}#{number}" if number else message_id)


def _read_own(talk: Conversation, text: str, source: Source) -> None:
    """What a tool of Thymus showed: each memory is its source's; what else it says is its own, whoever it is."""
    for id_ in list(dict.fromkeys(payloads.MEMORY_ID.findall(text)))[:_MOST_IDS]:
        with contextlib.suppress(MemoryNotFoundError):  # of another memory, or no tool of Thymus
            memory = talk.guard.get(id_)
            talk.show(memory)
            text = text.replace(memory.text, "").replace(id_, "")
    talk.read(text, source=source)


def _typed(item: Mapping[str, Any]) -> bool:
    """Whether a person typed the prompt, as far as can be told: not where the host is none that we know as typed into,
    nor where a command of an assistant started it, or this hook itself."""
    hosts = HOSTS | set(str(item.get("hosts", "")).replace(",", " ").split())
    typed = item.get("host") in hosts and item.get("nested") is not True
    return typed or item.get("trusts_programs") is True


def _message_id(event: Mapping[str, Any], own: str) -> str:
    return f"claude-code/{text_of(event, 'session_id')}/{own}"[:500]


def _recalled(session: Session, question: str, written: Collection[str]) -> Answer:
    """What bears on a prompt and is not in the session yet; what the prompt itself just said is."""
    question = question.strip()[:_LONGEST_QUESTION]
    if len(question) < _SHORTEST_QUESTION:
        return {}
    found = session.talk.guard.recall(question, k=RECALLED)
    session.talk.show(*found.memories)  # the notice is shown to the user alone
    lines = found.context.split("\n") if found.context else []
    if len(lines) == len(found.memories):
        lines = [line for line, memory in zip(lines, found.memories, strict=True) if memory.id not in written]
    return _answer("UserPromptSubmit", session.fresh(lines), found.notice)


def _standing(session: Session, began: str) -> Answer:
    """What holds whatever is asked: the user's own preferences and instructions. And how much waits for a decision."""
    if began != "resume":  # a new context, or one that was emptied
        session.shown.clear()
    guard = session.talk.guard
    own = [
        memory
        for memory in guard.memories(limit=500)
        if memory.kind in (Kind.PREFERENCE, Kind.INSTRUCTION) and memory.source.is_user and not memory.lineage
    ][:STANDING]
    lines = [f"- {' '.join(memory.text.split())[:500]}" for memory in own]
    held = len(guard.inbox(limit=100))
    more = "" if held < 100 else " or more"
    claims = "claim waits" if held == 1 else "claims wait"
    waiting = f"{held}{more} {claims} for your decision: `thymus inbox`." if held else ""
    return _answer("SessionStart", session.fresh(lines), waiting)


def _answer(event: str, lines: list[str], notice: str) -> Answer:
    answer: Answer = {}
    context = HEADING
    for line in lines:
        if len(context) + len(line) < LONGEST_CONTEXT:
            context += f"\n{line}"
    if lines:
        answer["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": context}
    if notice:
        answer["systemMessage"] = notice
    return answer


def _on_file(folder: str) -> tuple[str, ...] | None:
    """Prompts that a project has scheduled beyond a session; a cloned project may bring them along.

    ``None`` where there is a file that does not say them all: then any prompt may be one of them.
    """
    path = Path(folder) / ".claude" / "scheduled_tasks.json"
    try:
        if not folder or not path.exists():
            return ()
        if path.stat().st_size > _LONGEST_SCHEDULE:
            return None
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    tasks = kept.get("tasks") if isinstance(kept, Mapping) else kept
    if not isinstance(tasks, list) or len(tasks) > MOST_SCHEDULED:
        return None
    return tuple(prompt for task in tasks if (prompt := text_of(task, "prompt")))
