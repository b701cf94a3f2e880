"""Google ADK: a plugin that sees every message, tool call and model call of a runner, and a memory service.

``Runner(app=App(name="…", root_agent=agent, plugins=[plugin]), memory_service=ThymusMemoryService(plugin), …)``

The user's words are what the host hands to ``run_async`` of a run that no tool call has begun. ADK itself writes in the
user's name too: a workflow's input to an agent, and the message that ``AgentTool`` sends in a run of its own, through
the same plugins. A model worded those; they are nobody's here.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakSet

from thymus.core.actions import Answer
from thymus.core.provenance import ASSISTANT, USER, Source
from thymus.errors import ConfigError, InputError, MemoryNotFoundError
from thymus.integrations.adapter import LEARNED, Failing, context, missing, not_called, plain, speaks
from thymus.integrations.runs import UNCHECKED, Runs, served
from thymus.results import LONGEST
from thymus.sources.origins import NOBODY

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.workflow import BaseNode
    from google.genai import types
except ImportError as error:
    raise missing("google-adk", "google-adk") from error

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events.event import Event
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.sessions.session import Session
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

    from thymus.aio import AsyncMemoryGuard
    from thymus.conversation import Conversation
    from thymus.core.disclose import Recall
    from thymus.guard import MemoryGuard

NOTICE: Final = "thymus_notice"
"""Where the notice stands in the ``custom_metadata`` of a model's event, which no model is shown."""
_RECALLS: Final = "load_memory"
"""ADK's own tool: what it returns was remembered before."""
_ASKED_BY_ADK: Final = frozenset({"adk_request_confirmation", "adk_request_credential", "adk_request_input"})
"""Calls that ADK itself puts to the host: no tool ran, and a password may be the answer."""
_SEARCHES: Final = "adk-searches"
"""The conversation of the searches of which nothing says in which session they are made."""
_DEEPEST_PART: Final = 2


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """A tool call that is going on: in whose memory and which conversation, and ADK's object for it."""

    memory: _Memory
    talk: Conversation | None
    where: ToolContext


_WITHIN: Final[ContextVar[tuple[_Call, ...]]] = ContextVar("thymus_adk_within", default=())
"""The tool calls around this code, the outermost first."""


def user_of(app_name: str, user_id: str) -> str:
    """The user's name in a guard: ``guard.for_user(user_of("bank", "asha"))``, that is ``"bank/asha"``.

    What is no letter, digit or mark of a name is written as in a URL, so that no two pairs have the same name.
    """
    return f"{quote(app_name, safe='')}/{quote(user_id, safe='@')}"


@dataclass(slots=True)
class _Heard:
    """What is kept of a conversation while it goes on.

    :param notice: the one that stands.
    :param events: ids of the events that the memory service has taken.
    :param begun: whether what its session held before was looked at.
    """

    notice: str = ""
    events: set[str] = field(default_factory=set)
    begun: bool = False


class _Memory:
    """What the plugin and the memory service share. Called in threads."""

    def __init__(self, adapter: Runs, *, users_words: bool, whose: Callable[[str, str], str]) -> None:
        self.adapter, self.users_words, self._whose = adapter, users_words, whose
        self.agents: set[str] = set()
        self.servers: dict[str, object] = {}
        self._heard: WeakKeyDictionary[Conversation, _Heard] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def talk(self, app_name: str, user_id: str, session_id: str | None = None) -> Conversation:
        """The conversation of a session; within a tool call of the same user, that in which the call was made.

        :param session_id: ``None`` for a search of which nothing says where it is made.
        """
        user = self._whose(app_name, user_id)
        for call in _WITHIN.get()[:1]:
            if call.memory is self and call.talk is not None and call.talk.guard.user_id == user:
                return call.talk
        return self.adapter.conversation(_SEARCHES if session_id is None else f"adk/{session_id}", user=user)

    def talk_in(self, session: Session) -> Conversation:
        """``talk``. When it begins, what the session holds is read: an earlier process may have shown it to a model."""
        talk = self.talk(session.app_name, session.user_id, session.id)
        heard = self.heard(talk)
        if not heard.begun:
            for event in list(session.events):
                for answer in _responses(event.content) if event.content is not None else ():
                    self.answered(talk, session.id, answer, _call_of(session.events, answer), states=False)
                if event.grounding_metadata is not None:
                    talk.read("", source=NOBODY)
            heard.begun = True
        return talk

    def heard(self, talk: Conversation) -> _Heard:
        """What is kept of a conversation."""
        with self._lock:
            return self._heard.setdefault(talk, _Heard())

    def searches(self, talk: Conversation) -> Conversation:
        """The conversation of this user's searches, beside which is kept what they were told in whatever session."""
        return self.adapter.conversation(_SEARCHES, user=talk.guard.user_id)

    def recall(self, talk: Conversation, question: str, *, again: bool = False) -> Recall | None:
        """What bears on a question. Each notice is told once for each message of the user, or else ``again``."""
        found = self.adapter.ask(talk, question)
        if found is None:
            return None
        self.heard(talk).notice = found.notice
        if again:
            self.adapter.tell(found.notice)
        else:
            self.adapter.tell_once(self.searches(talk), found.notice)
        return found

    def take_message(self, run: InvocationContext, message: types.Content) -> None:
        """Learn a message that the host handed in."""
        session = run.session
        talk, text = self.talk_in(session), _text(message)
        if not self.adapter.attests(talk):
            return
        self.heard(talk).notice = ""
        self.adapter.goes_on(self.searches(talk))
        for answer in _responses(message):
            call = _call_of(session.events, answer)
            self.answered(talk, f"{session.id}/{run.invocation_id}", answer, call, states=call is not None)
        if text:
            self.said(talk, text, message_id=f"adk/{session.id}/{run.invocation_id}")

    def said(self, talk: Conversation, text: str, *, message_id: str) -> None:
        """Learn what a message says."""
        if self.users_words:
            self.adapter.user_said(talk, text, message_id=message_id)
        else:
            talk.learn(text[:LEARNED], source=Source(channel=USER), message_id=message_id)

    def answered(
        self,
        talk: Conversation,
        where: str,
        answer: types.FunctionResponse,
        call: types.FunctionCall | None,
        *,
        states: bool,
    ) -> None:
        """Learn a tool's result as it stands in an event.

        :param where: the session and the invocation: some providers' ids of calls begin anew in each.
        """
        name = answer.name or ""
        if name not in _ASKED_BY_ADK:
            call_id = f"adk/{where}/{answer.id}" if answer.id else None
            arguments = call.args if call is not None else None
            self.returned(talk, name, answer.response, arguments=arguments, call_id=call_id, states=states)

    def returned(
        self,
        talk: Conversation,
        tool: str,
        result: object,
        *,
        arguments: object = None,
        call_id: str | None,
        states: bool = True,
        open_world: bool = False,
    ) -> None:
        """Learn what a tool returned; what an agent did, and what had been remembered before, has only been read."""
        if tool == _RECALLS:
            self._show_again(talk, result)
            return
        if tool in self.agents:
            self.adapter.agent_answered(talk, tool, "\n".join(_texts(plain(result))))
            return
        server = self.servers.get(tool)
        self.adapter.tool_returned(
            talk,
            tool,
            _without_media(result),
            arguments=arguments,
            call_id=call_id,
            failed=not states or _failed(result),
            server=server,
            open_world=open_world
            and (tool if server is None else served(tool, server)) not in self.adapter.authenticated,
        )

    def _show_again(self, talk: Conversation, result: object) -> None:
        value = plain(result)
        found = value.get("result", value) if isinstance(value, Mapping) else {}
        for entry in found.get("memories") or () if isinstance(found, Mapping) else ():
            try:
                talk.show(talk.guard.get(entry["id"]))
            except (KeyError, TypeError, InputError, MemoryNotFoundError):  # another service's, or forgotten since
                said = "\n".join(_texts(entry))
                talk.read(said[:LONGEST], source=NOBODY, all_of_it=len(said) <= LONGEST)

    def take_events(self, app_name: str, user_id: str, session_id: str, events: Sequence[Event]) -> None:
        """Learn a session's events that were not learned before."""
        talk, searches = self.talk(app_name, user_id, session_id), self.talk(app_name, user_id)
        done = self.heard(talk).events
        for event in events:
            if event.partial or event.content is None or event.id in done:
                continue
            # The host's events stand at the top; those that a node of a workflow wrote, an agent's input too, name it.
            hosts = event.author == "user" and bool(event.invocation_id) and not event.node_info.path
            for answer in _responses(event.content):
                call = _call_of(events, answer)
                # A node that answers a call in the user's name is an agent that did a task: it has only been read.
                states = event.author != "user" or (hosts and call is not None)
                self.answered(talk, f"{session_id}/{event.invocation_id}", answer, call, states=states)
            if (text := _text(event.content)) and hosts:
                self.said(talk, text, message_id=f"adk/{session_id}/{event.invocation_id}")
            elif text and event.author != "user":
                if event.grounding_metadata is not None:
                    talk.read("", source=NOBODY)  # the model has read the web, where no plugin sees it
                talk.guard.remember(
                    text[:LEARNED],
                    source=ASSISTANT,
                    derived_from=(*talk.entered, *searches.entered),
                    message_id=f"adk/{session_id}/{event.id}",
                )
            done.add(event.id)


class ThymusPlugin(BasePlugin):
    """Learns what the user says and what tools return, and gives the model what is remembered.

    Put it first among the plugins: ADK asks none of those that follow one that answers.

    :param checked: names of the tools that are called only where ``MemoryGuard.check_action`` allows their arguments.
        Where the answer is *ask*, ADK asks the user for a confirmation; where it is *deny*, the tool is not called.
    :param users_words: whether the messages that the runner is handed are its user's. ``False`` where other agents send
        them (A2A) or a job does: then they are learned as words that nobody vouches for.
    :param whose: the user's name in the guard, from the app's name and the user's id.
    :param open_world, authenticated, ignored, k, on_notice, failing: as for ``thymus.integrations.adapter.Adapter``.
        ``on_notice`` is called in a thread.
    """

    def __init__(
        self,
        guard: MemoryGuard | AsyncMemoryGuard,
        *,
        name: str = "thymus",
        open_world: Iterable[str] = (),
        authenticated: Iterable[str] = (),
        ignored: Iterable[str] = (),
        checked: Iterable[str] = (),
        users_words: bool = True,
        whose: Callable[[str, str], str] = user_of,
        k: int = 8,
        on_notice: Callable[[str], object] | None = None,
        failing: Failing = "closed",
    ) -> None:
        super().__init__(name=name)
        self._adapter = Runs(
            guard,
            checked=checked,
            open_world=open_world,
            authenticated=authenticated,
            ignored=ignored,
            k=k,
            on_notice=on_notice,
            failing=failing,
        )
        self._memory = _Memory(self._adapter, users_words=users_words, whose=whose)
        self._not_run: WeakSet[ToolContext] = WeakSet()

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> None:
        """Learn what the host handed in as its user's message, and the answers of long-running tools in it."""
        if _WITHIN.get():
            return  # a run within a tool call: a model worded it
        with self._adapter.failures("a message of the user's was not learned"):
            await asyncio.to_thread(self._memory.take_message, invocation_context, user_message)

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Add what bears on the message to the system instruction, for this call only."""
        with self._adapter.failures("nothing was recalled"):
            self._note_tools(llm_request.tools_dict.values())
            question = _text(callback_context.user_content)
            talk = await asyncio.to_thread(self._talk, callback_context)
            found = await asyncio.to_thread(self._memory.recall, talk, question)
            if text := context(found):
                llm_request.append_instructions([text])

    async def after_model_callback(self, *, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """Put the notice into the metadata of the event that this becomes."""
        with self._adapter.failures("a notice is not in the metadata of an event"):
            notice = self._memory.heard(self._talk(callback_context)).notice
            if notice and not llm_response.partial:
                llm_response.custom_metadata = {**(llm_response.custom_metadata or {}), NOTICE: notice}

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Refuse a call of a checked tool, or have ADK ask the user, where memory does not allow it."""
        talk = refused = None
        with self._adapter.failures(f"a call of {tool.name[:80]} is in no conversation"):
            self._note_tools([tool])
            talk = await asyncio.to_thread(self._talk, tool_context)
            self._adapter.call_begins(talk, tool_context)
        if tool.name in self._adapter.checked:
            refused = await asyncio.to_thread(self._refused, talk, tool, tool_args, tool_context)
        if refused is not None:
            self._not_run.add(tool_context)
        _WITHIN.set((*_WITHIN.get(), _Call(self._memory, talk, tool_context)))
        return refused

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> None:
        """Learn what the tool returned. It is handed on as it is."""
        self._over(tool_context)
        states = tool_context not in self._not_run
        with self._adapter.failures(f"a result of {tool.name[:80]} was not learned"):
            await asyncio.to_thread(self._take, tool, tool_args, tool_context, result, states)

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: BaseException
    ) -> None:
        """Note what the error says, which states nothing. What becomes of it is ADK's business."""
        self._not_run.add(tool_context)  # what another plugin makes of it is no result
        self._over(tool_context)
        if isinstance(error, Exception):  # who is cancelled says nothing
            with self._adapter.failures(f"an error of {tool.name[:80]} was not noted"):
                await asyncio.to_thread(self._take, tool, tool_args, tool_context, str(error), False)

    def _over(self, where: ToolContext) -> None:
        self._adapter.call_ends(where)
        _WITHIN.set(tuple(call for call in _WITHIN.get() if call.where is not where))

    def _talk(self, where: CallbackContext | ToolContext) -> Conversation:
        return self._memory.talk_in(where.session)

    def _note_tools(self, tools: Iterable[object]) -> None:
        """Note which tools are agents and which are of MCP servers: the events of a session have only their names."""
        for tool in tools:
            name = str(getattr(tool, "name", ""))
            if any(isinstance(getattr(tool, inner, None), BaseNode) for inner in ("agent", "node")):
                self._memory.agents.add(name)
            if getattr(tool, "raw_mcp_tool", None) is not None:
                manager = getattr(tool, "_mcp_session_manager", None)
                reached = getattr(manager, "_connection_params", None)
                self._memory.servers[name] = getattr(reached, "server_params", None) or reached or "mcp"

    def _take(self, tool: BaseTool, arguments: dict[str, Any], where: ToolContext, result: Any, states: bool) -> None:
        hints = getattr(getattr(tool, "raw_mcp_tool", None), "annotations", None)
        self._memory.returned(
            self._talk(where),
            tool.name,
            result,
            arguments=arguments,
            call_id=f"adk/{where.session.id}/{where.invocation_id}/{where.function_call_id or uuid4().hex}",
            states=states,
            open_world=any(getattr(hints, hint, None) is True for hint in ("open_world_hint", "openWorldHint")),
        )

    def _refused(
        self, talk: Conversation | None, tool: BaseTool, arguments: dict[str, Any], where: ToolContext
    ) -> dict[str, Any] | None:
        """What the model is told in place of a result; the values that it is about are for the user alone."""
        if talk is None:
            return {"error": not_called(tool.name, "nothing says in whose conversation")}
        try:
            verdict = self._adapter.verdict(talk, tool.name, arguments)
        except Exception as error:  # noqa: BLE001 -- whatever it is: what was not checked is not done
            return {"error": not_called(tool.name, f"{UNCHECKED} ({type(error).__name__})")}
        if verdict is None:
            return {"error": not_called(tool.name, UNCHECKED)}
        if verdict.allowed:
            return None
        asked = where.tool_confirmation
        if verdict.answer is Answer.ASK and asked is None and where.function_call_id:
            where.request_confirmation(hint=str(verdict))
            where.actions.skip_summarization = True
            return {"error": f"{tool.name} waits for the user's confirmation ({', '.join(verdict.reasons)})"}
        if verdict.answer is Answer.ASK and asked is not None and asked.confirmed:
            return None
        self._adapter.tell(str(verdict))
        return {"error": not_called(tool.name, speaks(verdict))}


class ThymusMemoryService(BaseMemoryService):
    """ADK's memory over a guard: sessions are learned with whose words their events are, searches are guarded.

    Works with ``load_memory``, ``preload_memory`` and the plugin; what both see is learned once.

    :param guard: a guard, or the plugin that it works beside, whose options and conversations it then shares.
    :param options: those of ``ThymusPlugin``, where there is none.
    """

    def __init__(self, guard: MemoryGuard | AsyncMemoryGuard | ThymusPlugin, **options: Any) -> None:
        if isinstance(guard, ThymusPlugin) and options:
            raise ConfigError(f"the plugin's options are the memory service's too: give {min(options)!r} to it")
        plugin = guard if isinstance(guard, ThymusPlugin) else ThymusPlugin(guard, **options)
        self._memory = plugin._memory  # noqa: SLF001 -- its other half
        self._alone = plugin is not guard

    async def add_session_to_memory(self, session: Session) -> None:
        """Learn a session; the events of it that were learned before are passed over."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Learn events: the user's as the user's, a tool's result as the tool's, an agent's as its report, derived from
        all that entered. Metadata says nothing about whose words they are."""
        _ = custom_metadata
        with self._memory.adapter.failures("events were not learned"):
            await asyncio.to_thread(self._memory.take_events, app_name, user_id, session_id or "", list(events))

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember texts as an assistant's report, derived from all that entered; their ``author`` can be a model's
        invention. What you know the source of is for ``MemoryGuard.remember``."""
        _ = custom_metadata
        with self._memory.adapter.failures("memories were not kept"):
            talk = self._memory.talk(app_name, user_id)
            for text in filter(None, (_text(memory.content) for memory in memories)):
                await asyncio.to_thread(talk.write, text)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """What bears on a query: an entry a memory, each outside one quoted with its source. What is contested is in
        the notice, for the user, and in no entry."""
        found = None
        with self._memory.adapter.failures("nothing was recalled"):
            talk = self._memory.talk(app_name, user_id)
            found = await asyncio.to_thread(self._memory.recall, talk, query, again=self._alone)
        lines = zip(found.context.splitlines(), found.memories, strict=True) if found is not None else ()
        entries = [
            MemoryEntry(
                content=types.Content(parts=[types.Part(text=line.removeprefix("- "))]),
                id=memory.id,
                author=memory.source.channel,
                timestamp=memory.observed_at.isoformat(),
            )
            for line, memory in lines
        ]
        return SearchMemoryResponse(memories=entries)


def _text(content: types.Content | None) -> str:
    """What is said in a content; not a model's thoughts."""
    parts = content.parts if content is not None else None
    return "\n".join(part.text for part in parts or () if part.text and not part.thought).strip()


def _responses(content: types.Content) -> Iterator[types.FunctionResponse]:
    return (part.function_response for part in content.parts or () if part.function_response is not None)


def _call_of(events: Iterable[Event], answer: types.FunctionResponse) -> types.FunctionCall | None:
    """The call that is answered: what it was made with can only take authority away, so that a wrong one does no
    harm."""
    calls = [call for event in events for call in event.get_function_calls()]
    return next((call for call in reversed(calls) if (call.id, call.name) == (answer.id, answer.name)), None)


def _failed(result: object) -> bool:
    """Whether it says that the tool failed: MCP's mark, or an error and nothing else, as ADK words its own."""
    return isinstance(result, Mapping) and (result.get("isError") is True or set(result) == {"error"})


def _without_media(value: Any, deep: int = 0) -> Any:
    """The text of ADK's parts in place of them, as deep as ADK itself looks for media."""
    if isinstance(value, types.FunctionResponse):
        value = value.response
    if isinstance(value, types.Part):
        return value.text
    if deep < _DEEPEST_PART and isinstance(value, Mapping):
        return {key: _without_media(one, deep + 1) for key, one in value.items()}
    if deep < _DEEPEST_PART and isinstance(value, (list, tuple)):
        return [_without_media(one, deep + 1) for one in value]
    return value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
