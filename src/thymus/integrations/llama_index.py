"""LlamaIndex: a memory block that recalls, and tools that are learned from as they are called.

``memory = Memory.from_defaults(memory_blocks=[thymus])``, ``FunctionAgent(tools=thymus.tools([…]), …)``, then
``await agent.run(await thymus.said("…"), memory=memory)``.

A memory's messages do not say who spoke: ``CodeActAgent`` writes what its code printed as a message of the role
``user``, an agent that calls another one words the other's. So the user's words are those that the host hands to
``said``, and no others. Nor does a flushed result of a tool say which tool it is from: only the model's message before
it does. So a tool's name and result are taken where the call is made, in the tool.
"""

from __future__ import annotations

import asyncio
import copy
import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from thymus import results
from thymus.conversation import UNKNOWN
from thymus.core.provenance import ASSISTANT, TOOL, Source
from thymus.errors import InputError
from thymus.integrations.adapter import LEARNED, Failing, context, missing, not_called, wire
from thymus.integrations.runs import Runs

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
    from llama_index.core.bridge.pydantic import BaseModel, PrivateAttr
    from llama_index.core.memory.memory import BaseMemoryBlock
    from llama_index.core.tools.function_tool import FunctionTool
    from llama_index.core.tools.types import AsyncBaseTool, BaseTool, ToolOutput, adapt_to_async_tool
except ImportError as error:
    raise missing("llama-index-core", "llama-index") from error

if TYPE_CHECKING:
    from thymus.aio import AsyncMemoryGuard
    from thymus.conversation import Conversation
    from thymus.core.actions import Verdict
    from thymus.core.disclose import Recall
    from thymus.guard import MemoryGuard

_MOST_SHOWN: Final = 20
"""Recalled contexts that are known again, should a chat store keep them in a message."""
_HANDOFF: Final = "handoff"
"""The tool of ``AgentWorkflow`` that returns what the model gave it."""


class ThymusMemoryBlock(BaseMemoryBlock[str]):
    """One conversation of one user: a block of its ``Memory``.

    :param user: whose memory it is; ``None`` is the user that the guard was opened for.
    :param session: the name of the conversation, as the ``session_id`` of its ``Memory``.
    :param name, priority: as for every memory block: what stands around the block, and when it is left out (0: never).
    :param checked: names of the tools that are called only where ``MemoryGuard.check_action`` allows their arguments.
    :param approve: asked, with the verdict, where the answer is *ask*; without it that is a no. Called in a thread.
    :param open_world, authenticated, ignored, k, on_notice, failing: as for ``thymus.integrations.adapter.Adapter``.
        With ``failing="closed"`` a tool's result that cannot be learned is kept from the model.
    """

    _adapter: Runs = PrivateAttr()
    _talk: Conversation = PrivateAttr()
    _kept: _Kept = PrivateAttr()

    def __init__(
        self,
        guard: MemoryGuard | AsyncMemoryGuard,
        *,
        user: str | None = None,
        session: str = "",
        name: str = "thymus",
        priority: int = 0,
        open_world: Iterable[str] = (),
        authenticated: Iterable[str] = (),
        ignored: Iterable[str] = (),
        checked: Iterable[str] = (),
        approve: Callable[[Verdict], object] | None = None,
        k: int = 8,
        on_notice: Callable[[str], object] | None = None,
        failing: Failing = "closed",
    ) -> None:
        super().__init__(name=name, priority=priority)
        self._kept = _Kept(session)
        self._adapter = Runs(
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
        self._talk = self._adapter.conversation(session, user=user)

    # What comes in

    async def said(self, text: str, *, message_id: str | None = None) -> ChatMessage:
        """Learn what the host's user said, and give the message to run an agent with.

        Call it with what the user typed and nothing else: no other way leads to the user's authority.

        :param message_id: your own id of the message: the same message is learned once.
        """
        if not isinstance(text, str):
            raise InputError(f"what the user said is text, not {type(text).__name__}")
        known = f"llama-index/{self._kept.session}/{message_id}" if message_id else None
        with self._adapter.failures("a message of the user's was not learned"):
            await asyncio.to_thread(self._adapter.user_said, self._talk, text, message_id=known)
        self._kept.heard.add(_mark(text))
        return ChatMessage(role=MessageRole.USER, content=text)

    def tools(self, tools: Iterable[BaseTool | Callable[..., Any]]) -> list[BaseTool | Callable[..., Any]]:
        """The same tools, which are learned from as they are called: for ``FunctionAgent(tools=…)`` and its like."""
        return [self._learned_from(_tool(tool)) for tool in tools]

    def _learned_from(self, tool: AsyncBaseTool) -> AsyncBaseTool:
        name, server = tool.metadata.get_name(), _server(tool)
        self._kept.tools.add(name)

        def known(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
            unnamed = {str(number): one for number, one in enumerate(args)}
            return {**unnamed, **{key: one for key, one in kwargs.items() if key != _of_context(tool)}}

        def call(*args: Any, **kwargs: Any) -> ToolOutput:
            arguments = known(args, kwargs)
            if why := self._adapter.refusal(self._talk, name, arguments):
                return _refusal(name, arguments, why)
            try:
                output = tool.call(*args, **kwargs)
            except Exception as error:
                self._take_error(name, error)
                raise
            self._take_output(name, arguments, output, server)
            return output

        async def acall(*args: Any, **kwargs: Any) -> ToolOutput:
            arguments = known(args, kwargs)
            if why := await asyncio.to_thread(self._adapter.refusal, self._talk, name, arguments):
                return _refusal(name, arguments, why)
            try:
                output = await tool.acall(*args, **kwargs)
            except Exception as error:
                await asyncio.to_thread(self._take_error, name, error)
                raise
            await asyncio.to_thread(self._take_output, name, arguments, output, server)
            return output

        learned_from = copy.copy(tool)  # of its own class: agents look whether a tool wants their context
        vars(learned_from).update(call=call, acall=acall)
        return learned_from

    def _take_output(self, name: str, arguments: Mapping[str, Any], output: ToolOutput, server: object) -> None:
        with self._adapter.failures(f"a result of {name[:80]} was not learned"):
            self._adapter.tool_returned(
                self._talk,
                name,
                _returned(output),
                arguments=arguments,
                server=server,
                failed=output.is_error,
                open_world=_hands_on(output.raw_output) and name not in self._adapter.authenticated,
            )
            self._kept.returned.add(_mark(output.content))

    def _take_error(self, name: str, error: Exception) -> None:
        with self._adapter.failures(f"an error of {name[:80]} was not noted"):
            self._adapter.tool_returned(self._talk, name, str(error), failed=True)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Learn messages that have become too many for the history: what an agent wrote as its report, derived from all
        that entered; a tool's result that was not learned when it was called as an unverified tool's. What a message
        says of the user's is known since ``said``, or is nobody's."""
        with self._adapter.failures("messages were not learned"):
            await asyncio.to_thread(self._take_messages, list(messages))

    def _take_messages(self, messages: list[ChatMessage]) -> None:
        names = _called(messages)
        for message in messages:
            text = _text(message, self._kept.shown if message.role == MessageRole.USER else ())
            if not text:
                continue
            if message.role in (MessageRole.ASSISTANT, MessageRole.CHATBOT, MessageRole.MODEL):
                self._talk.guard.remember(text[:LEARNED], source=ASSISTANT, derived_from=self._talk.entered)
            elif message.role in (MessageRole.TOOL, MessageRole.FUNCTION):
                self._take_flushed(names.get(_call_id(message), ""), text)
            elif message.role == MessageRole.USER and _mark(text) not in self._kept.heard:
                self._talk.read(text[: results.LONGEST], source=UNKNOWN, all_of_it=len(text) <= results.LONGEST)

    def _take_flushed(self, name: str, text: str) -> None:
        """A tool's result of which the model's message says the name: it hands on what nobody vouches for."""
        if _mark(text) in self._kept.returned:
            return
        if name == _HANDOFF or not name:
            self._talk.read(text[: results.LONGEST], source=UNKNOWN, all_of_it=len(text) <= results.LONGEST)
            return
        source = Source(channel=TOOL, identity=self._adapter.tool(name).identity)
        learned = 0 if name in self._kept.tools | self._adapter.ignored else LEARNED
        for piece in results.read(self._talk, wire(text), source=source, open_world=True):
            cut, learned = piece.text[:learned], max(0, learned - len(piece.text))
            if cut.strip():
                results.learn(self._talk, dataclasses.replace(piece, text=cut), source=source)

    # What goes out

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """What bears on the latest message of the user's, for the place that the memory gives its blocks."""
        _ = block_kwargs
        users = (_text(one, self._kept.shown) for one in reversed(messages or ()) if one.role == MessageRole.USER)
        question = next(filter(None, users), "")
        if question != self._kept.question:  # another one may have the same notice again
            self._kept.question = question
            self._adapter.goes_on(self._talk)
        if not self._kept.begun:  # what an earlier process read in this history nobody knows
            self._kept.begun = True
            if any(one.role not in (MessageRole.USER, MessageRole.SYSTEM) for one in messages or ()):
                self._talk.read("", source=UNKNOWN, all_of_it=False)
        found: Recall | None = None
        with self._adapter.failures("nothing was recalled"):
            found = await asyncio.to_thread(self._adapter.recall, self._talk, question)
        if text := context(found):
            self._kept.shown.append(text)
        return text


class _Kept:
    """What a block keeps of its conversation."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.tools: set[str] = set()
        self.heard: set[int] = set()
        self.returned: set[int] = set()
        self.shown: deque[str] = deque(maxlen=_MOST_SHOWN)
        self.question = ""
        self.begun = False


def _server(tool: AsyncBaseTool) -> str | None:
    """Of which MCP server a tool is: LlamaIndex keeps no name of it, only a function of its own."""
    module = str(getattr(getattr(tool, "real_fn", None), "__module__", ""))
    return "mcp" if module.startswith("llama_index.tools.mcp") else None


def _tool(tool: object) -> AsyncBaseTool:
    if isinstance(tool, BaseTool):
        return adapt_to_async_tool(tool)
    if not callable(tool):
        raise InputError(f"a tool is a function or a BaseTool, not {type(tool).__name__}")
    return FunctionTool.from_defaults(tool)


def _of_context(tool: AsyncBaseTool) -> str | None:
    """The parameter in which an agent hands in its own context."""
    return tool.ctx_param_name if isinstance(tool, FunctionTool) else None


def _refusal(name: str, arguments: Mapping[str, Any], why: str) -> ToolOutput:
    text = not_called(name, why)
    return ToolOutput(tool_name=name, content=text, raw_input=dict(arguments), raw_output=text, is_error=True)


def _returned(output: ToolOutput) -> object:
    """What the model is shown; as the record that it is, where that is what it shows."""
    raw = output.raw_output
    record = isinstance(raw, (Mapping, list, tuple, BaseModel)) or dataclasses.is_dataclass(raw)
    if record and not hasattr(raw, "source_nodes") and str(raw) == output.content:
        return raw
    return output.content


def _hands_on(raw: object) -> bool:
    """Whether it is from documents: a query engine's answer, a retriever's passages."""
    return hasattr(raw, "source_nodes") or (isinstance(raw, list) and any(hasattr(one, "node") for one in raw))


def _text(message: ChatMessage, shown: Iterable[str] = ()) -> str:
    """What a message says.

    :param shown: what was recalled, which some chat stores keep in the message that it was shown in.
    """
    texts = [block.text for block in message.blocks if isinstance(block, TextBlock)]
    known = tuple(shown)
    return "\n".join(text for text in texts if not any(one in text for one in known)).strip()


def _mark(text: str) -> int:
    """What tells a text from others in this process."""
    return hash(text.strip())


def _call_id(message: ChatMessage) -> str:
    return str(message.additional_kwargs.get("tool_call_id", ""))


def _called(messages: Iterable[ChatMessage]) -> dict[str, str]:
    """The tools' names by the ids of the calls; none where an id was given to calls of two tools."""
    named: dict[str, set[str]] = {}
    for message in messages:
        for block in message.blocks:
            if isinstance(block, ToolCallBlock) and block.tool_call_id:
                named.setdefault(block.tool_call_id, set()).add(block.tool_name)
        if (name := message.additional_kwargs.get("name")) and (id_ := _call_id(message)):
            named.setdefault(id_, set()).add(str(name))
    return {id_: names.pop() for id_, names in named.items() if len(names) == 1}
