"""What LangChain's messages say and whose they are, and what a person is asked about a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from thymus.conversation import UNKNOWN
from thymus.core.provenance import UNPRINTABLE, Source
from thymus.integrations.adapter import missing

try:
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import BaseTool
    from langgraph.types import Command
except ImportError as error:
    raise missing("langchain", "langchain") from error

SAID: Final = 20
"""The user's last messages in a thread that count as said when a call is checked."""
LONGEST_SAID: Final = 20_000
"""Characters of them."""
OPEN_WORLD: Final = "openWorldHint"
"""What an MCP server says of a tool, as langchain-mcp-adapters hands it on in the tool's metadata."""
_MCP_MODULE: Final = "langchain_mcp"
MCP_MARKS: Final = frozenset({OPEN_WORLD, "readOnlyHint", "destructiveHint", "idempotentHint", "_meta"})
"""Keys of a tool's metadata by which it is an MCP server's."""
_FIRST: Final = 1
"""The step in which the first node of a new thread runs: its input came in step -1, and was handed out in step 0."""
_NEXT: Final = 3
"""Steps from a node to the first of the next run, where none ran between: one for the input, one to hand it out."""
_SOURCE: Final = "lc_source"  # by which LangChain marks a message that a middleware composed (a summary)


def get(holder: Any, name: str) -> Any:
    """A field of a mapping or an object; ``None`` where it has none."""
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def is_nested(config: Mapping[str, Any]) -> bool:
    """Whether a graph runs within another, whose nodes may have composed what it is given.

    LangGraph does not say so. A graph within a graph has a namespace of several parts. One that was called with a
    thread or namespace of its own has not; but metadata is inherited, and then still names its caller's, or has what
    the caller's node was marked with before the thread.
    """
    settings, marks = config.get("configurable") or {}, config.get("metadata") or {}
    order = [mark for mark in marks if mark in ("thread_id", "langgraph_step")]
    thread = settings.get("thread_id")
    return (
        "|" in str(settings.get("checkpoint_ns") or "")
        or bool(marks.get("checkpoint_ns"))
        or str(marks.get("thread_id", thread)) != str(thread)
        or order == ["langgraph_step", "thread_id"]
    )


def messages_of(state: Any) -> list[BaseMessage]:
    """The messages in a graph's state."""
    found = state if isinstance(state, list) else get(state, "messages")
    return [message for message in found or () if isinstance(message, BaseMessage)]


def text_of(message: BaseMessage) -> str:
    """What a message says, without images and files (a text file has a ``text``, too, and nobody typed it)."""
    if isinstance(message.content, str):
        return message.content
    typed = [block for block in message.content if isinstance(block, str) or block.get("type") == "text"]
    return "\n".join(block if isinstance(block, str) else str(block.get("text") or "") for block in typed)


def returned(result: object) -> Iterator[BaseMessage]:
    """The messages that a tool returned, themselves or as an update of the state."""
    if isinstance(result, BaseMessage):
        yield result
    elif isinstance(result, Command):
        update = result.update
        if isinstance(update, (list, tuple)) and all(isinstance(one, tuple) and len(one) == 2 for one in update):
            update = dict(update)
        yield from returned(get(update, "messages") if isinstance(update, Mapping) else update)
    elif isinstance(result, (list, tuple)):
        for one in result:
            yield from returned(one)


def mark(state: Any, config: Mapping[str, Any], *, ended: bool) -> dict[str, Any]:
    """What the state keeps of how far a run had come when it began, or ended."""
    messages = messages_of(state)
    last = (messages[-1].id or "") if messages else ""
    return {"thymus_last": last, "thymus_step": _step(config), "thymus_ended": ended}


def trailing(state: Any) -> list[BaseMessage]:
    """The messages of a user at the end of a thread, but for what was there at its last mark; oldest first."""
    last, new = get(state, "thymus_last"), []
    for message in reversed(messages_of(state)):
        if not isinstance(message, HumanMessage) or (last and message.id == last):
            break
        new.append(message)
    return new[::-1]


def handed_in(state: Any, config: Mapping[str, Any]) -> list[BaseMessage]:
    """The messages of a user that the host has just handed in, oldest first.

    Any node of a run may add messages that look the same: a tool's ``Command``, another middleware. So they are the
    host's only where no node ran after the last mark: LangGraph counts the steps of a thread. Of a thread that ended
    it may also be said by its last message, since only the host adds to it then.
    """
    new, messages, step = trailing(state), messages_of(state), _step(config)
    before = messages[-len(new) - 1] if len(messages) > len(new) else None
    if get(state, "thymus_run") is None:  # the first run: all is the host's, unless others ran here without thymus
        return new if step == _FIRST else [] if isinstance(before, ToolMessage) else new[-1:]
    idle = step == (get(state, "thymus_step") or 0) + _NEXT
    last = get(state, "thymus_last")
    ended = get(state, "thymus_ended") and last and before is not None and before.id == last
    return new if idle or ended else []


def _step(config: Mapping[str, Any]) -> int:
    step = (config.get("metadata") or {}).get("langgraph_step")
    return step if isinstance(step, int) else -1


def vouched(given: Iterable[str | BaseTool]) -> tuple[dict[str, list[BaseTool]], Iterable[str]]:
    """The tools that a host vouches for, as objects by their names, and all names."""
    if isinstance(given, str):
        return {}, given  # which is an error that the adapter tells of
    given = list(given)
    tools: dict[str, list[BaseTool]] = {}
    for one in given:
        if isinstance(one, BaseTool):
            tools.setdefault(one.name, []).append(one)
    return tools, [one.name if isinstance(one, BaseTool) else one for one in given]


def is_vouched(tool: BaseTool | None, objects: Mapping[str, list[BaseTool]]) -> bool:
    """Whether a name that is vouched for may be this tool's: it is the very object given, or no MCP server's."""
    if tool is None:
        return False
    if tool.name in objects:
        return any(tool is one for one in objects[tool.name])
    return not _is_of_mcp(tool)


def _is_of_mcp(tool: BaseTool) -> bool:
    """Whether langchain-mcp-adapters made it, or it bears what an MCP server says of its tools."""
    code = getattr(tool, "coroutine", None) or getattr(tool, "func", None)
    module = str(getattr(code, "__module__", ""))
    return module.startswith(_MCP_MODULE) or not MCP_MARKS.isdisjoint(tool.metadata or ())


def composed(message: BaseMessage) -> bool:
    """Whether a middleware of LangChain wrote it (a summary of the conversation, as a "user" message)."""
    return bool(message.additional_kwargs.get(_SOURCE))


def unmarked(message: BaseMessage, user: str) -> bool:
    """Whether it is a user's message, and no name on it says that it is somebody else's (an agent's, a member's)."""
    return isinstance(message, HumanMessage) and not composed(message) and message.name in (None, "", user)


def named(message: BaseMessage) -> Source:
    """Whoever a message says that it is from."""
    return Source(channel=UNKNOWN.channel, identity=" ".join(UNPRINTABLE.sub("", message.name or "").split())[:300])


def key(message: BaseMessage) -> object:
    """What tells a message from others; a tool's has no id yet when it is learned: its call and its words."""
    if isinstance(message, ToolMessage) or not message.id:
        return message.type, getattr(message, "tool_call_id", None), hash(str(message.content))
    return message.id


def asked_by(messages: Sequence[BaseMessage], call_id: str | None) -> str:
    """The id of the model's message that has a call: some providers count calls anew in every message."""
    for message in reversed(messages):
        if isinstance(message, AIMessage) and any(call["id"] == call_id for call in message.tool_calls):
            return message.id or ""
    return ""


def latest(said: Sequence[str]) -> list[str]:
    """The last of what a user said, within bounds."""
    kept: list[str] = []
    for text in reversed([text for text in said if text.strip()][-SAID:]):
        if sum(map(len, kept)) + len(text) > LONGEST_SAID:
            break
        kept.append(text)
    return kept[::-1]


def with_context(system: SystemMessage | None, shown: str) -> SystemMessage:
    """A system message with a context at its end; the one given is left as it is."""
    if system is None:
        return SystemMessage(shown)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{system.content}\n\n{shown}" if system.content else shown})
    return system.model_copy(update={"content": [*system.content, {"type": "text", "text": shown}]})


def question(tool: str, arguments: Mapping[str, Any], shown: str) -> dict[str, Any]:
    """What a person is asked about a call, in the form of ``HumanInTheLoopMiddleware``'s request."""
    action = {"name": tool, "args": dict(arguments), "description": shown}
    review = {"action_name": tool, "allowed_decisions": ["approve", "edit", "reject"]}
    return {"action_requests": [action], "review_configs": [review]}


def decision(answer: Any, tool: str) -> dict[str, Any]:
    """The decision in a person's answer: one, or a list of one. Whatever is none is a no; so is another tool."""
    decisions = get(answer, "decisions")
    one = decisions[0] if isinstance(decisions, list) and len(decisions) == 1 else answer
    if isinstance(one, Mapping) and one.get("type") in ("approve", "reject"):
        return dict(one)
    action = get(one, "edited_action") if isinstance(one, Mapping) and one.get("type") == "edit" else None
    if isinstance(action, Mapping) and isinstance(action.get("args"), dict) and action.get("name", tool) == tool:
        return dict(one)
    return {"type": "reject"}
