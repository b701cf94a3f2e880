"""The OpenAI Agents SDK: hooks that learn what the tools of a run return, a run configuration that puts memory into the
instructions of each model call, and a session that learns what the user says.

>>> thymus = ThymusHooks(guard)                                                                       # doctest: +SKIP
>>> await Runner.run(agent, words, hooks=thymus, run_config=thymus.run_config(said=words))            # doctest: +SKIP

The hooks are handed the tool itself, so no model can give a result another name. Who is nested is told by the context
that the SDK makes for it: ``ToolContext`` is a run inside of a tool, whose input another agent wrote.
"""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from thymus.core.actions import Answer
from thymus.core.provenance import ASSISTANT
from thymus.errors import ConfigError
from thymus.integrations.adapter import LEARNED, Failing, context, missing, not_called, plain, speaks, wire
from thymus.integrations.runs import UNCHECKED, Runs, Whose
from thymus.results import read
from thymus.sources.origins import page

try:
    from agents import (
        FunctionTool,
        OpenAIConversationsSession,
        RunConfig,
        RunContextWrapper,
        RunHooks,
        ToolGuardrailFunctionOutput,
        ToolInputGuardrail,
        ToolInputGuardrailData,
        ToolOrigin,
        ToolOriginType,
        default_tool_error_function,
    )
    from agents.run_config import CallModelData, ModelInputData
    from agents.tool import ComputerTool
    from agents.tool_context import ToolContext
except ImportError as error:
    raise missing("openai-agents", "openai-agents") from error

if TYPE_CHECKING:
    from agents import Agent, ModelResponse, Tool, TResponseInputItem
    from agents.memory import Session

    from thymus.conversation import Conversation
    from thymus.guard import MemoryGuard

__all__ = ["ThymusHooks", "ThymusSession"]

_SESSION: Final[ContextVar[list[str] | None]] = ContextVar("thymus_openai_agents_session", default=None)
"""The session of the run that is going on: the SDK reads it in the run's own task, from which its tools start. A list,
which is emptied when the run ends: what the SDK calls then runs in a task of its own, and can set nothing here."""


class ThymusHooks(RunHooks[Any]):
    """``RunHooks`` that learn each tool's result under the tool's own name. Takes the words of ``Adapter``.

    :param hooks: your own hooks, called after these.
    :param user: whose memory a run is for: a name, or a function of the run's context object. By default the context's
        ``user_id`` (an attribute or a key), and the guard's own user where it has none.
    :param conversation: as ``user``; by default the context's ``conversation_id``, or else the ``ThymusSession``.
    :param learn_user: whether what a ``ThymusSession`` saves as a run's input is the user's. ``False`` where a model
        words it, or where a tool begins runs that it does not wait for; ``run_config(said=…)`` still counts.
    """

    def __init__(
        self,
        guard: MemoryGuard,
        *,
        hooks: RunHooks[Any] | None = None,
        user: Whose = None,
        conversation: Whose = None,
        learn_user: bool = True,
        open_world: Iterable[str] = (),
        authenticated: Iterable[str] = (),
        ignored: Iterable[str] = (),
        k: int = 8,
        on_notice: Callable[[str], object] | None = None,
        failing: Failing = "closed",
    ) -> None:
        self.runs = Runs(
            guard,
            user=user,
            conversation=conversation,
            open_world=open_world,
            authenticated=authenticated,
            ignored=ignored,
            k=k,
            on_notice=on_notice,
            failing=failing,
        )
        self._learns_user = learn_user
        self._theirs: RunHooks[Any] = RunHooks() if hooks is None else hooks

    def run_config(self, config: RunConfig | None = None, *, said: str | None = None) -> RunConfig:
        """A run configuration in which each model call has memory in its instructions, and nothing else has.

        :param config: your own; its ``call_model_input_filter`` is called first.
        :param said: the user's message, where no ``ThymusSession`` learns it: their own word, so make a configuration
            for each run, and pass nothing here that a model or another person wrote.
        """
        config = RunConfig() if config is None else config
        theirs = config.call_model_input_filter

        async def with_memory(data: CallModelData[Any]) -> ModelInputData:
            nonlocal said
            shown = data.model_data if theirs is None else theirs(data)
            given: ModelInputData = await shown if inspect.isawaitable(shown) else shown
            if said is not None:
                with self.runs.failures("what the user said was not learned"):
                    await asyncio.to_thread(self.user_said, data.context, said)
                said = None  # an agent that is a tool inherits this configuration, and its input is not the user's
            found = ""
            with self.runs.failures("a model was not given what is remembered"):
                found = await asyncio.to_thread(self._recall, data.context, list(given.input))
            if not found:
                return given
            return dataclasses.replace(given, instructions="\n\n".join(filter(None, (given.instructions, found))))

        return dataclasses.replace(config, call_model_input_filter=with_memory)

    def checked(self, tool: FunctionTool) -> FunctionTool:
        """A copy of a tool that is called only with values that ``MemoryGuard.check_action`` allows: on *ask* the run
        is interrupted for approval, on *deny* the call is refused, and the user is told why."""
        checked, theirs = copy.copy(tool), tool.needs_approval

        async def needs_approval(wrapper: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
            asked = theirs(wrapper, arguments, call_id) if callable(theirs) else theirs
            if await asked if inspect.isawaitable(asked) else asked:
                return True
            return bool(await asyncio.to_thread(self._says, Answer.ASK, wrapper.context, tool, arguments))

        async def refuse(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
            arguments = _json(data.context.tool_arguments)
            if why := await asyncio.to_thread(self._says, Answer.DENY, data.context.context, tool, arguments):
                return ToolGuardrailFunctionOutput.reject_content(not_called(tool.name, why))
            return ToolGuardrailFunctionOutput.allow()

        checked.needs_approval = needs_approval
        checked.tool_input_guardrails = [*(tool.tool_input_guardrails or ()), ToolInputGuardrail(refuse, "thymus")]
        return checked

    def user_said(self, given: object, *messages: str) -> None:
        """Learn what the user says in runs with this context object: their own word. ``run_config`` does it, too."""
        talk = self._talk(given)
        for message in messages:
            self.runs.user_said(talk, message)

    def session_saves(self, given: object, messages: list[str]) -> None:
        """Learn the input of a run, unless a tool that is being called may have begun it."""
        if self._learns_user and self.runs.attests(self._talk(given)):
            self.user_said(given, *messages)

    # What the SDK calls

    async def on_tool_end(self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool, result: object) -> None:
        """Learn a result of a tool that ran here."""
        with self.runs.failures(f"a result of {self.runs.tool(_name(tool))} was not learned"):
            await asyncio.to_thread(self._learn_result, context, tool, result)
        self.runs.call_ends(context)
        await self._theirs.on_tool_end(context, agent, tool, result)

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:
        """Learn results of tools that ran at the provider."""
        with self.runs.failures("results of hosted tools were not learned"):
            await asyncio.to_thread(self._learn_hosted, context.context, response.output)
        await self._theirs.on_llm_end(context, agent, response)

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        """Yours alone."""
        await self._theirs.on_llm_start(context, agent, system_prompt, input_items)

    async def on_agent_start(self, context: Any, agent: Agent[Any]) -> None:
        """Yours alone."""
        await self._theirs.on_agent_start(context, agent)

    async def on_agent_end(self, context: Any, agent: Agent[Any], output: Any) -> None:
        """Note that the run is over."""
        if session := _SESSION.get():
            with self.runs.failures("the end of a run was not noted"):
                if not self.runs.is_calling(await asyncio.to_thread(self._talk, context.context)):  # or a nested one's
                    session.clear()
        await self._theirs.on_agent_end(context, agent, output)

    async def on_handoff(self, context: RunContextWrapper[Any], from_agent: Agent[Any], to_agent: Agent[Any]) -> None:
        """Yours alone."""
        await self._theirs.on_handoff(context, from_agent, to_agent)

    async def on_tool_start(self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool) -> None:
        """Note that a tool is being called: the input of a run that it begins is not the user's."""
        if isinstance(context, ToolContext):  # a function's; it goes when the call does, where a tool raises
            with self.runs.failures("a call of a tool is in no conversation"):
                self.runs.call_begins(await asyncio.to_thread(self._talk, context.context), context)
        await self._theirs.on_tool_start(context, agent, tool)

    # What is done in a worker thread

    def _talk(self, given: object) -> Conversation:
        return self.runs.of(given, otherwise=next(iter(_SESSION.get() or ()), ""))

    def _recall(self, given: object, items: list[Any]) -> str:
        talk = self._talk(given)
        self._read_history(talk, items)
        question = next((text for item in reversed(items) if (text := _users(item)).strip()), "")
        return context(self.runs.recall(talk, question))

    def _read_history(self, talk: Conversation, items: list[Any]) -> None:
        """Note what the model is shown of results that no hook has seen: of earlier processes, of nested agents."""
        names = {item["call_id"]: str(item.get("name", "")) for item in items if _is(item, "function_call")}
        for item in items:
            if _is(item, "function_call_output") and self.runs.is_new(talk, str(item["call_id"]), item["output"]):
                output = [item["output"]] if isinstance(item["output"], Mapping) else item["output"]
                self.runs.tool_returned(talk, names.get(item["call_id"]) or "unknown", output, failed=True)
                self.runs.seen(talk, str(item["call_id"]), item["output"])
            for one in _hosted(item):
                if self.runs.is_new(talk, one.call_id, one.result):
                    self._learn(talk, one, failed=True)

    def _learn_result(self, wrapper: RunContextWrapper[Any], tool: Tool, result: object) -> None:
        # No id goes with what is learned: a hook is called for a call that was really made, and some providers number
        # their calls from 0 in each run.
        talk, name, arguments = self._talk(wrapper.context), _name(tool), None
        if isinstance(wrapper, ToolContext):
            arguments = _json(wrapper.tool_arguments)
        origin = _origin(tool)
        if origin is not None and origin.type is ToolOriginType.AGENT_AS_TOOL:
            self._learn_agents(talk, name, result)
        else:
            self.runs.tool_returned(
                talk,
                name,
                None if isinstance(tool, ComputerTool) else _shown(result),  # a screenshot, in base 64
                arguments=arguments,
                failed=result == _FAILED,
                open_world=not isinstance(tool, FunctionTool),  # a shell hands on whatever is on the machine
            )
        if isinstance(wrapper, ToolContext):
            self.runs.seen(talk, wrapper.tool_call_id, result)

    def _learn_agents(self, talk: Conversation, name: str, result: object) -> None:
        """An agent's answer is a model's words: from all that entered, whoever vouches for the tool's name."""
        source, before = self.runs.tool(name), talk.entered
        for piece in read(talk, wire(_shown(result)), source=source, open_world=False):
            if name not in self.runs.ignored and result != _FAILED:
                talk.learn(piece.text[:LEARNED], source=source, derived_from=(ASSISTANT, *before))

    def _learn_hosted(self, given: object, items: Iterable[object]) -> None:
        talk = self._talk(given)
        for item in items:
            for one in _hosted(plain(item)):
                self._learn(talk, one)

    def _learn(self, talk: Conversation, one: _Hosted, *, failed: bool = False) -> None:
        for url in one.seen:
            if (origin := page(url)) is not None:
                talk.read("", source=origin)
        self.runs.tool_returned(
            talk,
            one.tool,
            one.result,
            arguments=one.arguments,
            failed=failed or one.failed,
            open_world=one.open_world,
        )
        self.runs.seen(talk, one.call_id, one.result)

    def _says(self, answer: Answer, given: object, tool: FunctionTool, arguments: object) -> str:
        """What a model is told where that is the answer to a call, and the user is told more; "" where it is not."""
        talk = self._talk(given)
        verdict = self.runs.verdict(talk, tool.name, arguments if isinstance(arguments, Mapping) else {})
        if verdict is None:
            return UNCHECKED if answer is Answer.ASK else ""
        if verdict.answer is not answer:
            return ""
        self.runs.tell(str(verdict))
        return speaks(verdict)


class ThymusSession:
    """A session that keeps what another keeps, and learns what the user says: what the SDK saves as a run's input.

    Put it outermost: only the SDK itself says which run it saves for. Everything but the four methods is the other's.

    :param session: any ``Session`` but ``OpenAIConversationsSession``, which the SDK knows by its type: pass
        ``run_config(said=…)`` there.
    """

    def __init__(self, session: Session, thymus: ThymusHooks) -> None:
        if isinstance(session, OpenAIConversationsSession):
            raise ConfigError("a wrapped OpenAIConversationsSession does not work: pass run_config(said=…) instead")
        self._session, self._thymus = session, thymus

    def __getattr__(self, name: str) -> Any:
        if name == "_session":  # a copy that is still empty
            raise AttributeError(name)
        return getattr(self._session, name)

    @property
    def session_id(self) -> str:
        """The session's name, which is also that of the conversation."""
        return str(self._session.session_id)

    @session_id.setter
    def session_id(self, name: str) -> None:
        self._session.session_id = name

    @property
    def session_settings(self) -> Any:
        """The other's."""
        return self._session.session_settings

    @session_settings.setter
    def session_settings(self, settings: Any) -> None:
        self._session.session_settings = settings

    async def get_items(
        self, limit: int | None = None, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> list[TResponseInputItem]:
        """The other's."""
        _SESSION.set([self.session_id])
        return await self._session.get_items(limit, **_accepted(self._session.get_items, wrapper))

    async def add_items(
        self, items: list[TResponseInputItem], *, wrapper: RunContextWrapper[Any] | None = None
    ) -> None:
        """The other's; the user's words are learned where the SDK itself saves the input of a run, not a nested one."""
        if wrapper is not None and not isinstance(wrapper, ToolContext):
            said = [text for item in items if (text := _users(item)).strip()]
            before = _SESSION.set([self.session_id])
            try:
                with self._thymus.runs.failures("what the user said was not learned"):
                    await asyncio.to_thread(self._thymus.session_saves, wrapper.context, said)
            finally:
                _SESSION.reset(before)
        await self._session.add_items(items, **_accepted(self._session.add_items, wrapper))

    async def pop_item(self, *, wrapper: RunContextWrapper[Any] | None = None) -> TResponseInputItem | None:
        """The other's."""
        return await self._session.pop_item(**_accepted(self._session.pop_item, wrapper))

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """The other's; what was learned stays."""
        await self._session.clear_session(**_accepted(self._session.clear_session, wrapper))


# What the SDK's objects hold

_FAILED: Final = default_tool_error_function(RunContextWrapper(None), RuntimeError())


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Hosted:
    """A result of a tool that ran at the provider; ``seen`` are pages that the model was shown."""

    tool: str
    call_id: str
    result: Any = None
    arguments: Any = None
    failed: bool = False
    open_world: bool = True
    seen: tuple[str, ...] = ()


def _hosted(item: Any) -> Iterator[_Hosted]:
    kind, id_ = (item.get("type"), str(item.get("id") or "")) if isinstance(item, Mapping) else (None, "")
    if kind == "mcp_call":
        name = f"{item.get('server_label')}/{item.get('name')}"
        output, failed = item.get("output"), bool(item.get("error"))
        arguments = _json(item.get("arguments"))
        yield _Hosted(tool=name, call_id=id_, result=output, arguments=arguments, failed=failed, open_world=False)
    elif kind == "file_search_call":
        found = [one.get("text") for one in item.get("results") or ()]
        yield _Hosted(tool="file_search", call_id=id_, result=found)
    elif kind == "code_interpreter_call":
        logs = [one.get("logs") for one in item.get("outputs") or () if one.get("logs")]
        yield _Hosted(tool="code_interpreter", call_id=id_, result="\n".join(logs))
    elif kind == "web_search_call":
        action = item.get("action") or {}
        urls = [action.get("url"), *(one.get("url") for one in action.get("sources") or ())]
        yield _Hosted(tool="web_search", call_id=id_, seen=tuple(url for url in urls if isinstance(url, str)))
    elif kind == "message" and isinstance(item.get("content"), list):
        for part in item["content"]:
            for at, line, urls in _cited(part):
                yield _Hosted(tool="web_search", call_id=f"{id_}@{at}", result=line, arguments={"urls": urls})


def _cited(part: Any) -> Iterator[tuple[int, str, list[str]]]:
    """The lines of an answer that cite pages: what was found is nowhere else."""
    noted = part.get("annotations") if isinstance(part, Mapping) else None
    cited = [one for one in noted or () if isinstance(one, Mapping) and one.get("type") == "url_citation"]
    at = 0
    for line in str(part.get("text", "")).splitlines(keepends=True) if cited else ():
        urls = [str(one.get("url")) for one in cited if at <= one.get("start_index", -1) < at + len(line)]
        if urls:
            yield at, line, urls
        at += len(line)


def _name(tool: Tool) -> str:
    """The tool's own name; of a tool of an MCP server with the server's, so that none is taken for yours."""
    origin = _origin(tool)
    if origin is not None and origin.type is ToolOriginType.MCP:
        return f"{origin.mcp_server_name}/{tool.name}"
    return tool.name


def _origin(tool: Tool) -> ToolOrigin | None:
    found = getattr(tool, "_tool_origin", None)
    return found if isinstance(found, ToolOrigin) else None


def _is(item: Any, kind: str) -> bool:
    return isinstance(item, Mapping) and item.get("type") == kind and "call_id" in item


def _users(item: Any) -> str:
    """What an item of role ``user`` says; files and images say nothing here."""
    if not isinstance(item, Mapping) or item.get("role") != "user":
        return ""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(one.get("text", "")) for one in parts if isinstance(one, Mapping) and "text" in one)


def _shown(result: object) -> object:
    """A result without its images and files; a single block of text as a list of it, as a result of several is."""
    kinds = {"image", "file"}
    if isinstance(result, (list, tuple)):
        return [one for one in result if _kind(one) not in kinds]
    if _kind(result) in kinds:
        return None
    return [result] if _kind(result) == "text" else result


def _kind(block: object) -> object:
    return block.get("type") if isinstance(block, Mapping) else getattr(block, "type", None)


def _json(text: object) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _accepted(method: Callable[..., Any], wrapper: RunContextWrapper[Any] | None) -> dict[str, Any]:
    """The run's context, for a session that takes it."""
    return {"wrapper": wrapper} if wrapper is not None and "wrapper" in inspect.signature(method).parameters else {}
