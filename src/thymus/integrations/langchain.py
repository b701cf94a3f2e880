"""Thymus in LangChain: ``ThymusMiddleware`` for ``create_agent``, and a callback handler for anything else.

The middleware stands where the model cannot reach: it sees which tool ran and what it returned, what the host handed in
as its user's message, and what a consequential tool is about to be called with. It alters no message. What it recalls
is in the system message of one model call, never in the state; the notice is in the state and never in a message.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, NotRequired, cast

from thymus import results
from thymus.aio import AsyncMemoryGuard
from thymus.conversation import UNKNOWN, Conversation, Conversations
from thymus.core.action_rules import ActionPolicy
from thymus.core.actions import Answer
from thymus.errors import ConfigError, InputError
from thymus.extract import pastes
from thymus.integrations import langchain_messages as lc
from thymus.integrations.adapter import Adapter, Failing, context, missing, not_called, speaks
from thymus.integrations.langchain_callbacks import ThymusCallbackHandler, recall_messages
from thymus.integrations.writing import writer, writing_as
from thymus.sources.origins import NOBODY

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import (
        ExtendedModelResponse,
        ModelRequest,
        ModelResponse,
        OmitFromInput,
        PrivateStateAttr,
        ToolCallRequest,
    )
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
    from langchain_core.tools import BaseTool
    from langgraph.config import get_config
    from langgraph.errors import GraphBubbleUp
    from langgraph.types import Command, interrupt
except ImportError as error:
    raise missing("langchain", "langchain") from error

if TYPE_CHECKING:
    from thymus.core.actions import Verdict
    from thymus.core.disclose import Recall
    from thymus.core.provenance import Source
    from thymus.guard import MemoryGuard


__all__ = ["ThymusCallbackHandler", "ThymusMiddleware", "ThymusState", "recall_messages"]


class ThymusState(AgentState[Any]):
    """What the middleware keeps beside the messages; the host can hand none of it in.

    ``thymus_notice`` is what the user is to be told of this run. The others are private: a run's own name, the last
    message and the step when a run was last begun or ended, whether it ended, and what the user said.
    """

    thymus_notice: NotRequired[Annotated[str, OmitFromInput]]
    thymus_run: NotRequired[Annotated[str, PrivateStateAttr]]
    thymus_last: NotRequired[Annotated[str, PrivateStateAttr]]
    thymus_step: NotRequired[Annotated[int, PrivateStateAttr]]
    thymus_ended: NotRequired[Annotated[bool, PrivateStateAttr]]
    thymus_said: NotRequired[Annotated[list[str], PrivateStateAttr]]


class _Talk(Conversation):
    """A conversation, and what is kept of it while it goes on. What has entered can be read from the state again."""

    def __init__(self, guard: MemoryGuard) -> None:
        super().__init__(guard)
        self.catching_up = threading.Lock()
        self.fresh = True
        self.known: set[object] = set()
        self.delegating: set[str] = set()
        self.recalled: tuple[object, Recall | None] = (None, None)
        self.notice = ""
        self.told: dict[str, None] = {}
        self.asked: dict[str, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """The run that a hook is called in.

    :param nested: it is not the one that the host began, so that a model may have worded its "user" messages.
    :param within: of those, one that a tool of this conversation began.
    """

    talk: _Talk
    name: str
    nested: bool
    within: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """One call of a tool. ``run`` is ``None`` where Thymus failed and the tool runs all the same."""

    run: _Run | None
    request: ToolCallRequest
    tool: str
    adapter: Adapter
    source: Source
    id: str

    @property
    def arguments(self) -> dict[str, Any]:
        arguments: dict[str, Any] = self.request.tool_call["args"]
        return arguments


_NOTING: Final[ContextVar[_Talk | None]] = ContextVar("thymus_noting", default=None)


class ThymusMiddleware(AgentMiddleware[ThymusState, Any, Any]):
    """Long-term memory for an agent of ``create_agent``; put it first in ``middleware=``.

    Learns what the host's user says and what each tool returns, shows the model what bears on the user's question,
    tells the user about the rest, and has calls of consequential tools checked. Serves many users and threads at once.

    :param guard: its user is whom a run is for whose context names nobody.
    :param checked: names of consequential tools, which are checked as highly sensitive before they run; or an
        ``ActionPolicy``, by which every tool is. Allowed calls run; others are put to a person by ``interrupt`` (which
        needs a checkpointer) or refused.
    :param user: whose run it is, from the runtime (``lambda runtime: runtime.context.account``). By default
        ``user_id`` of the context, an attribute or a key.
    :param learn_user: whether the user's messages are learned. Not where something else words them: an agent that a
        program of yours calls with texts it composed.
    :param authenticated: the tools that you vouch for: the objects, or names where all of the agent's tools are yours.
        A name does not vouch for what an MCP server offers under it.
    :param open_world, ignored, k, on_notice, failing: as of ``thymus.integrations.adapter.Adapter``.
    :raises ConfigError: where the options contradict each other.
    """

    state_schema = ThymusState

    def __init__(
        self,
        guard: MemoryGuard | AsyncMemoryGuard,
        *,
        checked: Collection[str] | ActionPolicy = (),
        user: Callable[[Any], object] | None = None,
        learn_user: bool = True,
        open_world: Iterable[str] = (),
        authenticated: Iterable[str | BaseTool] = (),
        ignored: Iterable[str] = (),
        k: int = 8,
        on_notice: Callable[[str], object] | None = None,
        failing: Failing = "closed",
    ) -> None:
        super().__init__()
        if isinstance(checked, str):
            raise ConfigError(f'checked is a list of names of tools, or an ActionPolicy: checked=["{checked[:40]}"]')
        if isinstance(checked, ActionPolicy):
            self._checked, self._policy = None, checked
        else:
            self._checked = frozenset(checked)
            self._policy = ActionPolicy().adjusted(tools=dict.fromkeys(self._checked, "high"))
        self._user, self._learn_user, self._on_notice = user, learn_user, on_notice
        self._vouched, names = lc.vouched(authenticated)
        options: dict[str, Any] = {
            "open_world": open_world,
            "ignored": ignored,
            "k": k,
            "on_notice": self._note,
            "failing": failing,
        }
        self._adapter = Adapter(guard, authenticated=names, **options)
        self._plain = Adapter(guard, **options)  # for tools that only bear the name of one that is vouched for
        # One that was forgotten is read from the state again: nothing unknown has entered it.
        self._talks = Conversations(self._adapter.guard, lambda guard, _: _Talk(guard))

    # The framework's hooks

    def before_agent(self, state: ThymusState, runtime: Any) -> dict[str, Any]:
        """Learn what the host handed in as its user's message."""
        name = uuid.uuid4().hex
        update: dict[str, Any] = {"thymus_run": name, "thymus_notice": "", **lc.mark(state, get_config(), ended=False)}
        lost = "the user's message was not learned"
        run = self._run({**state, "thymus_run": name}, runtime, lost)
        if run is not None:
            if not run.within:
                run.talk.notice, run.talk.told = "", {}
            with _noting(run.talk), self._adapter.failures(lost):
                update["thymus_said"] = self._hear(run, state)
        return update

    async def abefore_agent(self, state: ThymusState, runtime: Any) -> dict[str, Any]:
        """As ``before_agent``."""
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def after_agent(self, state: ThymusState, runtime: Any) -> dict[str, Any]:  # noqa: ARG002
        """Note where the run ended: what comes next in the thread is what the host hands in."""
        return lc.mark(state, get_config(), ended=True)

    async def aafter_agent(self, state: ThymusState, runtime: Any) -> dict[str, Any]:
        """As ``after_agent``."""
        return self.after_agent(state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ExtendedModelResponse[Any]:
        """Add what bears on the user's question to the system message of this call."""
        request, run = self._show(request)
        return self._heard(run, handler(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ExtendedModelResponse[Any]:
        """As ``wrap_model_call``."""
        request, run = await asyncio.to_thread(self._show, request)
        response = await handler(request)
        return await asyncio.to_thread(self._heard, run, response)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Check the call where that is asked for, and learn what the tool returns; the result itself is untouched."""
        call = self._admit(request)
        if isinstance(call, ToolMessage):
            return call
        with self._calling(call):
            result = handler(call.request)
        self._learn(call, result)
        return result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """As ``wrap_tool_call``."""
        call = await asyncio.to_thread(self._admit, request)
        if isinstance(call, ToolMessage):
            return call
        with self._calling(call):
            result = await handler(call.request)
        await asyncio.to_thread(self._learn, call, result)
        return result

    # Whose run it is

    def _run(self, state: Any, runtime: Any, lost: str) -> _Run | None:
        run: _Run | None = None
        with self._adapter.failures(lost):
            user, config = self._whose(runtime), get_config()
            thread = (config.get("configurable") or {}).get("thread_id")
            name = str(thread) if thread else f"run/{lc.get(state, 'thymus_run') or ''}"
            caller, talk = writer() or (None, None)
            if isinstance(talk, _Talk) and talk.guard.user_id == user and _share(talk.guard, self._adapter.guard):
                talk.delegating.add(str(caller))  # what this tool returns, a model has worded
                run = _Run(talk=talk, name=name, nested=True, within=True)
            else:
                nested = caller is not None or lc.is_nested(config)
                run = _Run(talk=self._talks.of(name, user=user), name=name, nested=nested, within=False)
        return run

    def _whose(self, runtime: Any) -> str:
        given = getattr(runtime, "context", None)
        if self._user is None and not (
            hasattr(given, "user_id") or (isinstance(given, Mapping) and "user_id" in given)
        ):
            return self._adapter.guard.user_id
        found = self._user(runtime) if self._user is not None else lc.get(given, "user_id")
        if isinstance(found, uuid.UUID) or (isinstance(found, int) and not isinstance(found, bool)):
            found = str(found)
        if not isinstance(found, str) or not found.strip():
            raise InputError("the run names no user: give its context a user_id, or user= of ThymusMiddleware a name")
        return found.strip()

    # What comes in

    def _hear(self, run: _Run, state: ThymusState) -> list[str]:
        """Learn the user's new messages; what the user has said in this thread so far."""
        messages, user = lc.messages_of(state), run.talk.guard.user_id
        said: list[str] = []
        if not run.nested:
            said += state.get("thymus_said") or ()
            first = "thymus_run" not in state
            new = lc.handed_in(state, get_config())
            own = [message for message in new if lc.unmarked(message, user)]
            if not new and lc.trailing(state):
                self._note("The run before broke off: what has come into the thread since was not learned as yours.")
            # In the first run the history is the host's, too; its tools' results and models' words still enter.
            theirs = [message for message in messages if lc.unmarked(message, user)] if first else own
            run.talk.known.update(map(lc.key, theirs))
            for message in own if self._learn_user else ():
                text = lc.text_of(message)
                id_ = f"langchain/{run.name}/{message.id}" if message.id else None
                self._adapter.user_said(run.talk, text, message_id=id_)
                said.append(pastes.split(text).own)
        self._catch_up(run, messages, said)
        return lc.latest(said)

    def _catch_up(self, run: _Run, messages: Sequence[BaseMessage], said: Sequence[str]) -> None:
        """Read what the model is shown and what has not entered yet: from an earlier process, by another hand."""
        talk = run.talk
        with talk.catching_up:
            for message in messages:
                if (key := lc.key(message)) in talk.known:
                    continue
                text = lc.text_of(message)
                if isinstance(message, ToolMessage):
                    name = message.name if message.name and message.status != "error" else ""  # it may be invented
                    self._adapter.tool_returned(talk, name, message.content, failed=True)
                elif isinstance(message, HumanMessage) and not run.within and pastes.split(text).own not in said:
                    talk.read(text, source=lc.named(message))
                elif isinstance(message, AIMessage) and talk.fresh:  # what it was made from, nobody knows any more
                    talk.read(text, source=UNKNOWN)
                talk.known.add(key)
            talk.fresh = False

    def _learn(self, call: _Call, result: object) -> None:
        run = call.run
        if run is None:
            return
        with _noting(run.talk), self._adapter.failures(f"a result of {call.source} was not learned"):
            earlier = {message.id for message in lc.messages_of(call.request.state)} - {None}
            for message in lc.returned(result):
                its = isinstance(message, ToolMessage) and message.tool_call_id == call.request.tool_call["id"]
                if not its and message.id in earlier:
                    continue  # the history, handed on with a hand-off
                run.talk.known.add(lc.key(message))
                states = its and call.request.tool is not None and getattr(message, "status", "") != "error"
                self._take(call, run, message.content, states=states)

    def _take(self, call: _Call, run: _Run, content: object, *, states: bool) -> None:
        metadata = getattr(call.request.tool, "metadata", None) or {}
        call.adapter.tool_returned(
            run.talk,
            call.tool if call.request.tool is not None else "",
            content,
            arguments=call.arguments,
            call_id=call.id,
            failed=not states,
            open_world=metadata.get(lc.OPEN_WORLD) is True or str(call.source) in run.talk.delegating,
        )

    @contextlib.contextmanager
    def _calling(self, call: _Call) -> Iterator[None]:
        """While a tool runs it is the one who writes. What it raises may be shown to the model by who catches it."""
        # Where nobody knows what has entered, nobody vouches for what is written either.
        with writing_as(call.source, call.run.talk) if call.run else writing_as(UNKNOWN):
            try:
                yield
            except GraphBubbleUp:
                raise
            except Exception as error:
                if call.run is not None:
                    with self._adapter.failures(f"an error of {call.source} was not read"):
                        self._take(call, call.run, str(error), states=False)
                raise

    # What goes out

    def _show(self, request: ModelRequest[Any]) -> tuple[ModelRequest[Any], _Run | None]:
        lost = "nothing was recalled"
        run = self._run(request.state, request.runtime, lost)
        if run is not None:
            with _noting(run.talk), self._adapter.failures(lost):
                self._catch_up(run, request.messages, lc.get(request.state, "thymus_said") or ())
                if shown := context(self._recall(run, request.messages)):
                    return request.override(system_message=lc.with_context(request.system_message, shown)), run
        return request, run

    def _recall(self, run: _Run, messages: Sequence[BaseMessage]) -> Recall | None:
        """What bears on the latest question: found once, and again where memory has changed since."""
        asked = (message for message in reversed(messages) if isinstance(message, HumanMessage))
        question = next((lc.text_of(message) for message in asked if not lc.composed(message)), "")
        talk = run.talk
        key = (question, talk.guard.version())  # memory may change by another process, or in the inbox
        if talk.recalled[0] != key:
            found = self._adapter.recall(talk, question)
            talk.recalled = (key, found)
            if found is not None and not run.within:  # it takes the place of the notice of the recall before
                talk.told.pop(found.notice, None)
                talk.notice = found.notice
        return talk.recalled[1]

    def _heard(self, run: _Run | None, response: ModelResponse[Any]) -> ExtendedModelResponse[Any]:
        """The response, with the notice for the state; what the provider's own tools brought has entered."""
        if run is None:
            return ExtendedModelResponse(response)
        with _noting(run.talk), self._adapter.failures("what the model looked up was not read"):
            for message in response.result:
                run.talk.known.add(lc.key(message))
                for block in message.content_blocks if isinstance(message.content, list) else ():
                    if block["type"] in ("server_tool_call", "server_tool_result"):
                        text = str(block.get("output") or "")
                        all_of_it = len(text) <= results.LONGEST
                        run.talk.read(text[: results.LONGEST], source=NOBODY, all_of_it=all_of_it)
        told = "" if run.within else "\n\n".join(filter(None, (run.talk.notice, *run.talk.told)))
        return ExtendedModelResponse(response, Command(update={"thymus_notice": told}))

    def _note(self, notice: str) -> None:
        """Hand a notice to the user, once a run."""
        talk = _NOTING.get()
        if talk is not None:
            if notice in talk.told or notice == talk.notice:
                return
            talk.told[notice] = None
        if self._on_notice is not None:
            self._on_notice(notice)

    # What may be called

    def _admit(self, request: ToolCallRequest) -> _Call | ToolMessage:
        """The call as it may be made, or what the model is told instead."""
        asked_for = request.tool_call["name"]
        name = request.tool.name if request.tool is not None else asked_for
        lost = f"a result of tool {name!r} is not learned"
        run = self._run(request.state, request.runtime, lost)
        messages = lc.messages_of(request.state)
        if run is not None and run.talk.fresh:  # a run that goes on in another process
            with _noting(run.talk), self._adapter.failures(lost):
                self._catch_up(run, messages, lc.get(request.state, "thymus_said") or ())
        of = lc.asked_by(messages, request.tool_call["id"])
        adapter = self._adapter if lc.is_vouched(request.tool, self._vouched) else self._plain
        call = _Call(
            run=run,
            request=request,
            tool=name,
            adapter=adapter,
            source=adapter.tool(name if request.tool is not None else ""),
            id=f"langchain/{run.name if run is not None else ''}/{of}/{request.tool_call['id']}",
        )
        if self._checked is not None and self._checked.isdisjoint((name, asked_for)):
            return call
        return self._permit(call)

    def _permit(self, call: _Call) -> _Call | ToolMessage:
        """Have a call checked, and put to a person where memory cannot vouch for it.

        What goes on after an answer begins here again, so memory is asked anew: a yes is none to what is denied by now.
        """
        talk = call.run.talk if call.run is not None else None
        asked = talk.asked if talk is not None else {}
        answers = 0
        while True:
            answer, why, shown = self._weigh(call)
            if answer is Answer.DENY:
                with _noting(talk):
                    self._note(shown)
                return _refusal(call, not_called(call.tool, why))
            if answer is Answer.ALLOW and answers >= asked.get(call.id, 0):
                return call
            # Whoever was asked is heard, whatever memory has come to say meanwhile: their no stays one.
            asked[call.id] = max(answers + 1, asked.get(call.id, 0))
            decision = lc.decision(interrupt(lc.question(call.tool, call.arguments, shown)), call.tool)
            answers += 1
            if decision["type"] == "approve":
                return call
            if decision["type"] == "reject":
                return _refusal(call, not_called(call.tool, f"the user said no. {decision.get('message') or ''}"))
            edited = cast("Any", {**call.request.tool_call, "args": decision["edited_action"]["args"]})
            call = replace(call, request=call.request.override(tool_call=edited))

    def _weigh(self, call: _Call) -> tuple[Answer, str, str]:
        """The answer to a call, why in words that quote nobody, and what the user is shown."""
        verdict: Verdict | None = None
        with self._adapter.failures(f"a call of tool {call.tool!r} could not be checked"):
            if call.run is not None:
                said = () if call.run.nested else lc.get(call.request.state, "thymus_said") or ()
                guard = call.run.talk.guard
                try:
                    verdict = guard.check_action(call.tool, call.arguments, said=said, policy=self._policy)
                except InputError as error:  # arguments that cannot be read: what the model made up
                    return Answer.DENY, str(error), f"deny: {call.tool!r}: {error}"
        if verdict is None:  # failing="open": still not what nobody has looked at
            return Answer.ASK, "", f"ask: {call.tool!r}: what it rests on could not be checked"
        return verdict.answer, speaks(verdict), str(verdict)


@contextlib.contextmanager
def _noting(talk: _Talk | None) -> Iterator[None]:
    """Within, what the user is told is also kept for the state."""
    token = _NOTING.set(talk)
    try:
        yield
    finally:
        _NOTING.reset(token)


def _refusal(call: _Call, why: str) -> ToolMessage:
    """What the model is told of a call that is not made."""
    id_ = call.request.tool_call["id"] or ""
    message = ToolMessage(content=why.strip(), name=call.tool, tool_call_id=id_, status="error")
    if call.run is not None:
        call.run.talk.known.add(lc.key(message))  # nobody else's words
    return message


def _share(one: MemoryGuard, other: MemoryGuard) -> bool:
    """Whether two guards are over the same store."""
    return one._parts is other._parts  # noqa: SLF001
