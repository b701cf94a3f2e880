"""AutoGen: a ``Memory`` for agents, and the workbench that its tools are called through.

AutoGen's own events do not say who spoke: a message whose source is ``"user"`` can be any agent's, and ``run(task=…)``
makes one of whatever text it is given, an ``AgentTool``'s that a model composed too. So the user's words are those that
the host hands to ``said``, and no others. A tool's name and result are taken where the call is made, in the workbench.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn
from weakref import WeakSet

from thymus.conversation import HEADING, UNKNOWN
from thymus.errors import InputError
from thymus.integrations.adapter import LEARNED, Failing, context, missing, not_called, plain
from thymus.integrations.runs import Runs

try:
    from autogen_agentchat.messages import TextMessage
    from autogen_agentchat.tools import AgentTool, TeamTool
    from autogen_core import CancellationToken
    from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
    from autogen_core.model_context import ChatCompletionContext, UnboundedChatCompletionContext
    from autogen_core.models import (
        AssistantMessage,
        FunctionExecutionResultMessage,
        LLMMessage,
        SystemMessage,
        UserMessage,
    )
    from autogen_core.tools import (
        BaseTool,
        FunctionTool,
        StaticStreamWorkbench,
        TextResultContent,
        ToolResult,
        ToolSchema,
        Workbench,
    )
except ImportError as error:
    raise missing("autogen-agentchat", "autogen") from error

if TYPE_CHECKING:
    from thymus.aio import AsyncMemoryGuard
    from thymus.conversation import Conversation
    from thymus.core.actions import Verdict
    from thymus.core.disclose import Recall
    from thymus.guard import MemoryGuard

_NO_CONFIG: Final = "a memory is no configuration: dump the agent without it, and pass it again on loading"
_TEXTS: Final = frozenset({MemoryMimeType.TEXT.value, MemoryMimeType.MARKDOWN.value, MemoryMimeType.JSON.value})


class _Session:
    """What the parts of one conversation share: the memory, the context and the workbench."""

    def __init__(self, runs: Runs, talk: Conversation) -> None:
        self.runs, self.talk = runs, talk
        self._looked_at: WeakSet[ChatCompletionContext] = WeakSet()

    def look_at(self, context: ChatCompletionContext, messages: Iterable[LLMMessage]) -> None:
        """Note what a context brings with it when it is first seen: nobody knows what an earlier process read there."""
        if context not in self._looked_at:
            self._looked_at.add(context)
            if any(isinstance(one, (AssistantMessage, FunctionExecutionResultMessage)) for one in messages):
                self.talk.read("", source=UNKNOWN, all_of_it=False)

    def look_again(self, context: ChatCompletionContext) -> None:
        """Another state was loaded into it."""
        self._looked_at.discard(context)

    async def recall(self, question: str) -> Recall | None:
        """What bears on a question; the notice is handed on."""
        found: list[Recall | None] = [None]
        with self.runs.failures("nothing was recalled"):
            found = [await asyncio.to_thread(self.runs.recall, self.talk, question)]
        return found[0]

    async def refusal(self, tool: str, arguments: Mapping[str, Any] | None) -> ToolResult | None:
        """What a checked tool's call comes to where it may not be made."""
        why = await asyncio.to_thread(self.runs.refusal, self.talk, tool, arguments or {})
        return _failure(tool, not_called(tool, why)) if why else None

    async def taken(self, name: str, result: ToolResult, take: Callable[[], None]) -> ToolResult:
        """The very result, once it was taken in; one that could not be is kept from the model."""
        try:
            with self.runs.failures(f"a result of {name[:80]} was not learned"):
                await asyncio.to_thread(take)
        except Exception as error:  # noqa: BLE001 -- what is raised here would leave AutoGen waiting for ever
            return _failure(name, f"the result of {name} is held back: it was not learned ({type(error).__name__})")
        return result


class ThymusMemory(Memory):
    """One conversation of one user, for every agent that takes part in it.

    Its ``clear`` erases all that is remembered of this user, of other conversations too: never offer it to a model.

    ``AssistantAgent(…, memory=[memory], workbench=memory.tools([…]))``, then
    ``await agent.run(task=await memory.said("…"))``.

    :param user: whose memory it is; ``None`` is the user that the guard was opened for.
    :param session: the name of the conversation.
    :param checked: names of the tools that are called only where ``MemoryGuard.check_action`` allows their arguments.
    :param approve: asked, with the verdict, where the answer is *ask*; without it that is a no. Called in a thread.
    :param open_world, authenticated, ignored, k, on_notice, failing: as for ``thymus.integrations.adapter.Adapter``.
        With ``failing="closed"`` a recall that fails raises, and a tool's result that cannot be learned is kept from
        the model.
    """

    def __init__(
        self,
        guard: MemoryGuard | AsyncMemoryGuard,
        *,
        user: str | None = None,
        session: str = "",
        open_world: Iterable[str] = (),
        authenticated: Iterable[str] = (),
        ignored: Iterable[str] = (),
        checked: Iterable[str] = (),
        approve: Callable[[Verdict], object] | None = None,
        k: int = 8,
        on_notice: Callable[[str], object] | None = None,
        failing: Failing = "closed",
    ) -> None:
        self._runs = Runs(
            guard,
            checked=checked,
            approve=approve,
            open_world=open_world,
            authenticated=authenticated,
            ignored=ignored,
            k=k,
            on_notice=on_notice,
            failing=failing,
        )
        self._talk, self._name = self._runs.conversation(session, user=user), session
        self._session = _Session(self._runs, self._talk)

    # What comes in

    async def said(self, text: str, *, message_id: str | None = None) -> TextMessage:
        """Learn what the host's user said, and give the message to run a task with.

        Call it with what the user typed and nothing else: no other way leads to the user's authority.

        :param message_id: your own id of the message: the same message is learned once.
        """
        if not isinstance(text, str):
            raise InputError(f"what the user said is text, not {type(text).__name__}")
        message = TextMessage(content=text, source="user")
        if message_id:
            message.id = message_id
        with self._runs.failures("a message of the user's was not learned"):
            known = f"autogen/{self._name}/{message.id}"
            await asyncio.to_thread(self._runs.user_said, self._talk, text, message_id=known)
        return message

    def tools(self, inner: Workbench | Sequence[BaseTool[Any, Any] | Callable[..., Any]]) -> ThymusWorkbench:
        """The workbench of these tools that learns what they return: ``AssistantAgent(…, workbench=…)``."""
        return ThymusWorkbench(inner, self._session)

    def context(self, inner: ChatCompletionContext | None = None) -> ThymusContext:
        """A model context in which what is recalled is never stored: ``AssistantAgent(…, model_context=…)``.

        :param inner: keeps the messages and says which of them a model sees; all, by default.
        """
        return ThymusContext(self._session, inner)

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """Remember a text as an assistant's report, derived from all that entered the conversation.

        Its ``metadata`` says nothing about whose words they are: a model can have filled it in. What you know the
        source of is for ``MemoryGuard.remember``.

        :raises InputError: for images and other bytes.
        """
        _ = cancellation_token
        text = _text(content)
        with self._runs.failures("a memory was not kept"):
            await asyncio.to_thread(self._talk.write, text)

    # What goes out

    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,
        **kwargs: Any,
    ) -> MemoryQueryResult:
        """What bears on a question: a text a memory, each outside one quoted with its source. The notice is handed to
        ``on_notice`` and stands in the metadata, which no model is shown."""
        _ = cancellation_token, kwargs
        return MemoryQueryResult(
            results=_contents(await self._session.recall(query if isinstance(query, str) else _text(query)))
        )

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add what bears on the latest message as a system message, in place of the one of the turn before.

        It stands in ``model_context`` until the next turn; in a ``ThymusContext`` it never does.
        """
        messages = await model_context.get_messages()
        self._session.look_at(model_context, messages)
        found = await self._session.recall(_question(messages))
        if not isinstance(model_context, ThymusContext):
            await _take_out(model_context)
            if text := context(found):
                await model_context.add_message(SystemMessage(content=text))
        return UpdateContextResult(memories=MemoryQueryResult(results=_contents(found)))

    # The end

    async def clear(self) -> None:
        """Erase all that is remembered of this user, whoever said it: text gone everywhere (``MemoryGuard.forget``).

        Not this conversation alone, and nothing brings it back: call it only where the user asks for that.
        """
        await asyncio.to_thread(self._clear)

    def _clear(self) -> None:
        for memory in self._talk.guard.memories(status=None):
            self._talk.guard.forget(memory.id)

    async def close(self) -> None:
        """Nothing to do: the guard is yours to close."""

    def _to_config(self) -> NoReturn:
        raise NotImplementedError(_NO_CONFIG)


class ThymusContext(ChatCompletionContext):
    """Shows what bears on the latest message in front of the others, and never stores it (``ThymusMemory.context``)."""

    component_type = "chat_completion_context"

    def __init__(self, session: _Session, inner: ChatCompletionContext | None) -> None:
        super().__init__()
        self._session, self._inner = session, UnboundedChatCompletionContext() if inner is None else inner

    async def add_message(self, message: LLMMessage) -> None:
        """Add a message to the inner context."""
        await self._inner.add_message(message)

    async def get_messages(self) -> list[LLMMessage]:
        """What the inner context shows, behind what is remembered."""
        messages = await self._inner.get_messages()
        self._session.look_at(self, messages)
        text = context(await self._session.recall(_question(messages)))
        return [SystemMessage(content=text), *messages] if text else messages

    async def clear(self) -> None:
        """Clear the inner context; what is remembered stays."""
        await self._inner.clear()

    async def save_state(self) -> Mapping[str, Any]:
        """The inner context's state."""
        return await self._inner.save_state()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Load the inner context's state; what was read in it before is unknown here."""
        self._session.look_again(self)
        await self._inner.load_state(state)

    def _to_config(self) -> NoReturn:
        raise NotImplementedError(_NO_CONFIG)


class ThymusWorkbench(StaticStreamWorkbench):
    """The tools of another workbench; what they return is learned under their names and handed on as it is
    (``ThymusMemory.tools``)."""

    # An AssistantAgent streams only what is a StaticStreamWorkbench; nothing else of that class is used.

    def __init__(self, inner: Workbench | Sequence[BaseTool[Any, Any] | Callable[..., Any]], session: _Session) -> None:
        super().__init__([])
        self._agents: frozenset[str] = frozenset()
        self._servers: dict[str, object] = {}
        if not isinstance(inner, Workbench):
            tools = [one if isinstance(one, BaseTool) else _function(one) for one in inner]
            # What an agent behind a tool says, a model says.
            self._agents = frozenset(tool.name for tool in tools if isinstance(tool, (AgentTool, TeamTool)))
            self._servers = {tool.name: server for tool in tools if (server := _server(tool)) is not None}
            inner = StaticStreamWorkbench(tools)
        self._inner, self._session = inner, session

    async def list_tools(self) -> list[ToolSchema]:
        """The inner workbench's tools."""
        return await self._inner.list_tools()

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> ToolResult:
        """Call a tool; the very result that it gave, once learned."""
        if (refusal := await self._session.refusal(name, arguments)) is not None:
            return refusal
        return await self._taken(
            name, arguments, await self._inner.call_tool(name, arguments, cancellation_token, call_id)
        )

    async def call_tool_stream(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> AsyncGenerator[Any | ToolResult, None]:
        """Call a tool; what it streams on its way is handed on, and its result once learned."""
        if not isinstance(self._inner, StaticStreamWorkbench):
            yield await self.call_tool(name, arguments, cancellation_token, call_id)
            return
        if (refusal := await self._session.refusal(name, arguments)) is not None:
            yield refusal
            return
        async for event in self._inner.call_tool_stream(name, arguments, cancellation_token, call_id):
            yield await self._taken(name, arguments, event) if isinstance(event, ToolResult) else event

    async def _taken(self, name: str, arguments: Mapping[str, Any] | None, result: ToolResult) -> ToolResult:
        return await self._session.taken(name, result, lambda: self._take(name, arguments, result))

    def _take(self, name: str, arguments: Mapping[str, Any] | None, result: ToolResult) -> None:
        runs, talk = self._session.runs, self._session.talk
        texts = [part.content for part in result.result if isinstance(part, TextResultContent)]
        if name in self._agents:
            runs.agent_answered(talk, name, "\n".join(texts))
            return
        # A call that comes here is really made: AutoGen replays none, and its ids repeat with some providers.
        runs.tool_returned(
            talk,
            name,
            _returned(texts),
            server=self._servers.get(name) or _server(self._inner),
            arguments=arguments,
            failed=result.is_error,
        )

    async def start(self) -> None:
        """Start the inner workbench."""
        await self._inner.start()

    async def stop(self) -> None:
        """Stop the inner workbench."""
        await self._inner.stop()

    async def reset(self) -> None:
        """Reset the inner workbench; what is remembered stays."""
        await self._inner.reset()

    async def save_state(self) -> Mapping[str, Any]:
        """The inner workbench's state."""
        return await self._inner.save_state()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Load the inner workbench's state."""
        await self._inner.load_state(state)

    def _to_config(self) -> NoReturn:  # inherited, it would dump a workbench that learns nothing
        raise NotImplementedError(_NO_CONFIG)


def _server(of: object) -> object:
    """How the MCP server of a tool or of a workbench is reached; ``None`` where it is of none."""
    return getattr(of, "server_params", None) or getattr(of, "_server_params", None)


def _function(tool: object) -> FunctionTool:
    if not callable(tool):
        raise InputError(f"a tool is a function or a BaseTool, not {type(tool).__name__}")
    return FunctionTool(tool, description=tool.__doc__ or "")


def _failure(name: str, text: str) -> ToolResult:
    return ToolResult(name=name, result=[TextResultContent(content=text)], is_error=True)


def _returned(texts: list[str]) -> object:
    """What a tool returned; AutoGen writes a mapping or a list as Python does, which is read back."""
    if len(texts) == 1 and len(texts[0]) <= LEARNED and texts[0].lstrip()[:1] in ("{", "["):
        with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            return ast.literal_eval(texts[0].strip())
    return {"content": texts}


def _text(content: MemoryContent) -> str:
    kind = content.mime_type.value if isinstance(content.mime_type, MemoryMimeType) else content.mime_type
    value = content.content
    if kind.partition(";")[0].strip() not in _TEXTS or not isinstance(value, (str, dict)):
        raise InputError(f"thymus remembers what is said in words, not {kind[:40]}: describe it in a text")
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)


def _contents(found: Recall | None) -> list[MemoryContent]:
    """The memories one by one; the notice beside the first, or alone where there is none."""
    if found is None:
        return []
    known: list[MemoryContent] = [
        MemoryContent(
            content=line.removeprefix("- "),
            mime_type=MemoryMimeType.TEXT,
            metadata={"id": memory.id, "source": memory.source.key, "observed_at": memory.observed_at.isoformat()},
        )
        for line, memory in zip(found.context.splitlines(), found.memories, strict=False)
    ]
    if found.notice:
        first = known or [MemoryContent(content="", mime_type=MemoryMimeType.TEXT, metadata={})]
        first[0].metadata = {**(first[0].metadata or {}), "notice": found.notice}
        return first
    return known


def _question(messages: Sequence[LLMMessage]) -> str:
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            parts = [message.content] if isinstance(message.content, str) else message.content
            return "\n".join(part for part in parts if isinstance(part, str))
    return ""


async def _take_out(model_context: ChatCompletionContext) -> None:
    """Remove what was recalled before, also what its context no longer shows or has loaded from elsewhere."""
    state = await model_context.save_state()
    messages = state.get("messages")
    if not isinstance(messages, list):
        return
    kept = [one for one in messages if not (one["type"] == "SystemMessage" and one["content"].startswith(HEADING))]
    if len(kept) < len(messages):
        await model_context.load_state({**state, "messages": kept})
