"""What ``add`` is given: a text or messages with roles, each learned as the words of whoever spoke them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thymus.core.provenance import ASSISTANT, TOOL, UNPRINTABLE, USER, Source
from thymus.errors import InputError
from thymus.extract import pastes
from thymus.integrations.adapter import LEARNED, Adapter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from thymus.conversation import Conversation
    from thymus.core.disclose import Memory
    from thymus.guard import MemoryGuard
    from thymus.records import Written

_UNSPOKEN = ("system", "developer")
_log = logging.getLogger("thymus.integrations")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the host says of what it hands in, as ``MemoryGuard.remember`` takes it.

    :param speaker: whose words are those that are the user's otherwise.
    """

    speaker: str | Source | None = None
    authenticated: bool | None = None
    derived_from: tuple[str | Source | Memory, ...] = ()
    observed_at: datetime | None = None
    message_id: str | None = None

    def known(self, **changes: Any) -> dict[str, Any]:
        """The arguments of ``remember``."""
        return {
            "authenticated": self.authenticated,
            "derived_from": self.derived_from,
            "observed_at": self.observed_at,
            "message_id": self.message_id,
        } | changes


def read(given: object) -> list[Mapping[str, Any]]:
    """Messages in any of the forms that Mem0 takes. Those without a role or content are skipped, as Mem0 does.

    :raises InputError: where they are none.
    """
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    found = [given] if isinstance(given, Mapping) else given
    if not isinstance(found, list):
        raise InputError("messages are a text, a message with role and content, or a list of these")
    whole = [one for one in found if isinstance(one, Mapping) and one.get("role") and one.get("content") is not None]
    if len(whole) < len(found):
        _log.warning("%d messages have no role or no content, and were skipped", len(found) - len(whole))
    return whole


def learn(
    guard: MemoryGuard,
    adapter: Adapter,
    talk: Conversation,
    message: Mapping[str, Any],
    said: Said,
    *,
    run_id: str | None = None,
) -> Iterable[Written]:
    """Learn one message by its role.

    A host sets the roles, and a model's role counts against it whatever the host says of the rest.

    :param run_id: the run that the ids of tool calls are of: some providers number them from 0 in each.
    """
    text, role, name = _text(message["content"]), message["role"], _name(message)
    if role in _UNSPOKEN:
        return ()
    if role in (TOOL, "function"):
        call = message.get("tool_call_id")
        id_ = f"mem0/{run_id or ''}/{call}" if call else None
        return adapter.tool_returned(talk, name, message["content"], call_id=id_, open_world=not name)
    if not text.strip():
        return ()
    if role == ASSISTANT:
        return (talk.write(text),)
    if role != USER:
        return (talk.learn(text, source="chat"),)
    speaker = said.speaker
    if speaker is None and message.get("name"):
        speaker = f"user:{name}" if name else "chat"
    if speaker is None:
        return _own_words(guard, text, said)
    talk.read(text, source=speaker, authenticated=said.authenticated)
    return (guard.remember(text, source=speaker, **said.known()),)


def _own_words(guard: MemoryGuard, text: str, said: Said) -> Iterator[Written]:
    """What the user typed is the user's own; what was pasted is not, and has no authority."""
    words, id_ = pastes.split(text), said.message_id
    if words.own.strip():
        yield guard.remember(words.own, source=USER, **said.known())
    if words.pasted.strip():
        apart = said.known(derived_from=("paste",), message_id=f"{id_}/pasted" if id_ else None)
        yield guard.remember(words.pasted[:LEARNED], source=USER, **apart)


def _name(message: Mapping[str, Any]) -> str:
    """The name that a message bears, without what cannot be seen in it: anybody may call themselves anything."""
    return " ".join(UNPRINTABLE.sub("", str(message.get("name") or "")).split())[:300]


def _text(content: object) -> str:
    """The text of a message; pictures are nobody's statement."""
    blocks = content if isinstance(content, list) else [content]
    said = [one.get("text") if isinstance(one, Mapping) else one for one in blocks]
    return "\n".join(one for one in said if isinstance(one, str))
