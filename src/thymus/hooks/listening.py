"""What becomes of an event: the user's words are learned as the user's, a tool's as the tool's, and recall answers.

The notice goes to the user alone (``systemMessage``), the context to the model alone (``additionalContext``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from thymus.config import Settings
from thymus.conversation import HEADING
from thymus.core.claims import Kind
from thymus.core.gates import DEFAULT_GATE
from thymus.core.provenance import Source
from thymus.errors import InputError, SourceError, ThymusError
from thymus.extract import pastes
from thymus.guard import MemoryGuard
from thymus.hooks import payloads, places
from thymus.hooks.payloads import text_of
from thymus.hooks.sessions import MOST_SCHEDULED, Scheduled, Session, Sessions
from thymus.hooks.spool import LaterError

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
_MOST_GUARDS: Final = 8
_MOST_TOLD: Final = 1_000


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


class Listener:
    """The open memories, the sessions, and what is done with an event. Used by one thread.

    :param pause: called while something long is learned; what is urgent can be done in it.
    """

    def __init__(self, pause: Callable[[], None] = lambda: None) -> None:
        self._pause = pause
        self._open: dict[tuple[str, str, str | None], _Open] = {}
        self._sessions = Sessions()
        self._told: dict[str, None] = {}
        self._scheduled = Scheduled(Path(places.make_private(places.state_dir())) / "scheduled.json")

    def close(self) -> None:
        """Close every memory."""
        while self._open:
            self._open.popitem()[1].guard.close()

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
        if payloads.scheduled(event) or event.get("hook_event_name") not in (
            "UserPromptSubmit",
            "PostToolUse",
            "PostToolUseFailure",
        ):
            return
        settings, guard = self._guard(item)
        session = self._session(settings, event, guard)
        when = datetime.fromtimestamp(at, UTC)
        try:
            if event.get("hook_event_name") == "UserPromptSubmit":
                self._prompt(event, guard, session, say, name, when, typed=typed)
            else:
                self._result(event, session, name, when)
        except (InputError, SourceError):
            raise
        except (ThymusError, OSError) as error:
            self._close(settings)
            raise LaterError(str(error)) from error

    def tell(self, item: Mapping[str, Any]) -> Answer:
        """A session that starts, or ends. :raises LaterError: the memory cannot be read."""
        event = item.get("event")
        if not isinstance(event, Mapping):
            return {}
        self._note_schedules(event)
        settings, guard = self._guard(item)
        try:
            if event.get("hook_event_name") == "SessionEnd":
                self._sessions.end((settings, text_of(event, "session_id")))
                return {}
            session = self._session(settings, event, guard)
            return _standing(guard, session, text_of(event, "source"))
        except (ThymusError, OSError) as error:
            self._close(settings)
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

    def _guard(self, item: Mapping[str, Any]) -> tuple[Settings, MemoryGuard]:
        given = item.get("settings")
        named = {name: str(value) for name, value in given.items()} if isinstance(given, Mapping) else {}
        settings = Settings.read(
            **{name: named.get(name) for name in ("db", "gate", "llm", "user")},
            environment={},
        )
        key = (settings.db, settings.gate or DEFAULT_GATE, settings.llm)
        opened = self._open.get(key)
        if opened is not None and opened.file != _file(settings.db):
            self._close(settings)  # it was replaced or removed: what is written to the old file nobody would find
            opened = None
        try:
            if opened is None:
                while len(self._open) >= _MOST_GUARDS:
                    self._open.pop(next(iter(self._open))).guard.close()
                guard = MemoryGuard(settings.db, gate=settings.gate, llm=settings.llm, user_id=settings.user)
                opened = self._open[key] = _Open(guard, _file(settings.db))
            return settings, opened.of(settings.user)
        except (ThymusError, OSError) as error:
            raise LaterError(str(error)) from error

    def _close(self, settings: Settings) -> None:
        opened = self._open.pop((settings.db, settings.gate or DEFAULT_GATE, settings.llm), None)
        if opened is not None:
            opened.guard.close()

    def _session(self, settings: Settings, event: Mapping[str, Any], guard: MemoryGuard) -> Session:
        key = (settings, text_of(event, "session_id"))
        return self._sessions.get(key, guard)

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
        guard: MemoryGuard,
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
        words = pastes.split(prompt)
        known: dict[str, Any] = {
            "source": Source.parse("user", authenticated=typed, user_id=guard.user_id),
            "observed_at": when,
        }
        id_ = _message_id(event, text_of(event, "prompt_id") or name)
        own = bool(words.own.strip())
        at_once = own and guard.llm is None  # before the recall, so that it has what the prompt changes
        said = session.turn.remember(words.own, message_id=id_, **known).memories if at_once else ()
        say(_recalled(session, words.own if own else words.pasted, {memory.id for memory in said}))
        if own and not at_once:
            session.turn.remember(words.own, message_id=id_, **known)
        if words.pasted.strip():
            session.entered += 1
            pasted = words.pasted[: payloads.LONGEST_LEARNED]
            self._learn(session, pasted, derived_from=("paste",), message_id=f"{id_}/pasted", **known)

    def _result(self, event: Mapping[str, Any], session: Session, name: str, when: datetime) -> None:
        told = payloads.heard(event)
        if told is None:
            return
        session.entered += 1
        text = told.text[: payloads.LONGEST_READ]
        id_ = _message_id(event, text_of(event, "tool_use_id") or name)
        learnt, seen = text[: told.learn], text[told.learn :]
        self._learn(session, learnt, source=told.source, derived_from=told.origins, message_id=id_, observed_at=when)
        if seen:
            session.turn.read(seen, source=told.origins[0] if told.origins else told.source)

    def _learn(self, session: Session, text: str, *, message_id: str, **known: Any) -> None:
        for number, part in enumerate(payloads.in_parts(text)):
            if number:
                self._pause()
            session.turn.remember(part, message_id=f"{message_id}#{number}" if number else message_id, **known)


def _typed(item: Mapping[str, Any]) -> bool:
    """Whether a person typed the prompt. A program that runs the host (``claude -p``, an SDK) may hand in anything."""
    host = str(item.get("host", ""))
    return not (host.startswith(("sdk", "mcp")) or "action" in host) or item.get("trusts_programs") is True


def _message_id(event: Mapping[str, Any], own: str) -> str:
    return f"claude-code/{text_of(event, 'session_id')}/{own}"[:500]


def _recalled(session: Session, question: str, written: Collection[str]) -> Answer:
    """What bears on a prompt and is not in the session yet; what the prompt itself just said is."""
    question = question.strip()[:_LONGEST_QUESTION]
    if len(question) < _SHORTEST_QUESTION:
        return {}
    found = session.turn.recall(question, k=RECALLED)
    lines = found.context.split("\n") if found.context else []
    if len(lines) == len(found.memories):
        lines = [line for line, memory in zip(lines, found.memories, strict=True) if memory.id not in written]
    return _answer("UserPromptSubmit", session.fresh(lines), found.notice)


def _standing(guard: MemoryGuard, session: Session, began: str) -> Answer:
    """What holds whatever is asked: the user's own preferences and instructions. And how much waits for a decision."""
    if began != "resume":  # a new context, or one that was emptied
        session.shown.clear()
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


def _file(db: str) -> tuple[int, int] | None:
    """Which SQLite file a path names now; a snapshot (``.json``) is a new file after every write."""
    if "://" in db or db == ":memory:" or db.endswith(".json"):
        return None
    try:
        found = os.stat(db)  # noqa: PTH116  (a path of any kind)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino
