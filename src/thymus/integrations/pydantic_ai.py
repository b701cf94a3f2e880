"""Pydantic AI: a capability that learns what the user says and what tools return, and adds memory to each model call.

>>> agent = Agent(model, capabilities=[ThymusCapability(guard)])                                      # doctest: +SKIP

Its hooks are handed the tool's definition, so no model can give a result another name. A run that begins inside of
another (a tool that calls an agent) is known by the run that is going on there: its prompt is not the user's. Where a
tool begins it on a bare thread nothing tells; so no prompt is taken for the user's while a tool of theirs is called.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from thymus.core.actions import Answer
from thymus.integrations.adapter import Failing, context, missing, not_called, speaks
from thymus.integrations.runs import Runs, Whose

try:
    from pydantic_ai._run_context import get_current_run_context  # the one thing that tells a nested run from others
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import (
        ApprovalRequired,
        CallDeferred,
        ModelRetry,
        ToolFailed,
        ToolFailedError,
        ToolRetryError,
    )
    from pydantic_ai.messages import (
        BinaryContent,
        CachePoint,
        FileUrl,
        InstructionPart,
        NativeToolCallPart,
        NativeToolReturnPart,
        TextContent,
        ToolReturn,
        ToolReturnPart,
        UploadedFile,
        UserPromptPart,
    )
    from pydantic_core import to_jsonable_python
except ImportError as error:
    raise missing("pydantic-ai-slim (2.68 or later)", "pydantic-ai") from error

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities.abstract import WrapRunHandler, WrapToolExecuteHandler
    from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import ToolDefinition

    from thymus.conversation import Conversation
    from thymus.core.actions import Verdict
    from thymus.guard import MemoryGuard

__all__ = ["ThymusCapability"]

MOST_DEFERRED: Final = 1_000
"""Calls that a tool deferred whose results are waited for."""
_OUTERMOST: Final[ContextVar[str]] = ContextVar("thymus_pydantic_ai_conversation", default="")
"""The conversation of the outermost run that is going on: what a nested one reads has entered there."""
_FAILURES: Final = (ModelRetry, ToolFailed, ToolRetryError, ToolFailedError)
_FILES: Final = (BinaryContent, FileUrl, UploadedFile, CachePoint)


class ThymusCapability(AbstractCapability[Any]):
    """A capability that gives an agent a guarded memory. Takes the words of ``Adapter``.

    :param user: whose memory a run is for: a name, or a function of its ``RunContext``. By default ``deps.user_id``
        (an attribute or a key), and the guard's own user where deps have none.
    :param conversation: as ``user``; by default ``deps.conversation_id``, or else the run's own ``conversation_id``.
    :param checked: names of the tools that are called only with values that ``MemoryGuard.check_action`` allows: on
        *ask* the call is deferred for approval, on *deny* it is refused, and the user is told why.
    :param learn_user: whether prompts are the user's. ``False`` where a model or another agent words them, or where a
        tool begins runs that it does not wait for.
    """

    def __init__(
        self,
        guard: MemoryGuard,
        *,
        user: Whose = None,
        conversation: Whose = None,
        learn_user: bool = True,
        checked: Iterable[str] = (),
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
            checked=checked,
            open_world=open_world,
            authenticated=authenticated,
            ignored=ignored,
            k=k,
            on_notice=on_notice,
            failing=failing,
        )
        self._learns_user = learn_user
        self._deferred: deque[str] = deque(maxlen=MOST_DEFERRED)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """``None``: a guard cannot be written down in an agent's specification."""
        return None

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Learn what the host handed in as its user's message."""
        before = _OUTERMOST.get()
        if not before:
            _OUTERMOST.set(ctx.conversation_id or "")
        try:
            if self._learns_user and get_current_run_context() is None:
                with self.runs.failures("what the user said was not learned"):
                    await asyncio.to_thread(self._learn_prompt, ctx)
            return await handler()
        finally:
            _OUTERMOST.set(before)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Add memory to the instructions of this call; what is changed here is not kept in the history."""
        found = ""
        with self.runs.failures("a model was not given what is remembered"):
            found = await asyncio.to_thread(self._recall, ctx, request_context)
        if not found:
            return request_context
        asked = request_context.model_request_parameters
        parts = [*(asked.instruction_parts or ()), InstructionPart(content=found, dynamic=True)]
        return dataclasses.replace(
            request_context, model_request_parameters=dataclasses.replace(asked, instruction_parts=parts)
        )

    async def after_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,  # noqa: ARG002
        response: ModelResponse,
    ) -> ModelResponse:
        """Learn results of tools that ran at the provider."""
        with self.runs.failures("results of native tools were not learned"):
            await asyncio.to_thread(self._learn_native, ctx, response)
        return response

    async def before_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,  # noqa: ARG002
        tool_def: ToolDefinition,
        args: dict[str, Any],
    ) -> dict[str, Any]:
        """Check a call."""
        if tool_def.name in self.runs.checked:
            verdict = await asyncio.to_thread(self._verdict, ctx, tool_def.name, args)
            if verdict is not None and verdict.answer is Answer.DENY:
                self.runs.tell(str(verdict))
                raise ToolFailed(not_called(tool_def.name, speaks(verdict)))
            if not ctx.tool_call_approved and (verdict is None or verdict.answer is Answer.ASK):
                self.runs.tell(str(verdict or ""))
                raise ApprovalRequired(metadata=verdict.to_dict() if verdict else None)
        return args

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Learn a tool's result, which is handed on as it is."""
        try:
            result = await self._called(ctx, handler, args)
        except _FAILURES as failure:
            await self._returned(ctx, call, tool_def, args, str(failure), failed=True)
            raise
        except CallDeferred:
            self._deferred.append(call.tool_call_id)
            raise
        await self._returned(ctx, call, tool_def, args, result)
        return result

    async def _called(self, ctx: RunContext[Any], handler: WrapToolExecuteHandler, args: dict[str, Any]) -> Any:
        going_on: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        with self.runs.failures("a call of a tool is in no conversation"):
            going_on = self.runs.calling(await asyncio.to_thread(self._talk, ctx))
        with going_on:
            return await handler(args)

    async def _returned(
        self,
        ctx: RunContext[Any],
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        result: object,
        *,
        failed: bool = False,
    ) -> None:
        with self.runs.failures(f"a result of {self.runs.tool(tool_def.name)} was not learned"):
            await asyncio.to_thread(self._learn_result, ctx, call.tool_call_id, tool_def, args, result, failed)

    # What is done in a worker thread

    def _talk(self, ctx: RunContext[Any]) -> Conversation:
        return self.runs.of(ctx.deps, otherwise=_OUTERMOST.get() or ctx.conversation_id or "", handed=ctx)

    def _learn_prompt(self, ctx: RunContext[Any]) -> None:
        talk = self._talk(ctx)
        if (said := _text(ctx.prompt)).strip() and self.runs.attests(talk):
            self.runs.user_said(talk, said, message_id=f"pydantic-ai/{ctx.conversation_id}/{ctx.run_id}")

    def _recall(self, ctx: RunContext[Any], asked: ModelRequestContext) -> str:
        talk = self._talk(ctx)
        self._read_history(ctx, talk, asked)
        return context(self.runs.recall(talk, _text(ctx.prompt) or _last_prompt(asked.messages)))

    def _read_history(self, ctx: RunContext[Any], talk: Conversation, asked: ModelRequestContext) -> None:
        """Note what the model is shown of results that no hook has seen; learn those that the host was to bring."""
        brought = {one.name: one for one in asked.model_request_parameters.function_tools if one.kind == "external"}
        for message in asked.messages:
            for part in message.parts:
                if not isinstance(part, (ToolReturnPart, NativeToolReturnPart)):
                    continue
                awaited = part.tool_name in brought or part.tool_call_id in self._deferred
                learn = awaited and message is asked.messages[-1] and part.outcome == "success"
                # Brought anew in each run, whatever the provider's number of the call is.
                id_ = f"{ctx.run_id}/{part.tool_call_id}" if learn else part.tool_call_id
                if self.runs.is_new(talk, id_, part.content):
                    self.runs.tool_returned(
                        talk,
                        part.tool_name,
                        _said(part.content),
                        call_id=self._call_id(ctx, part.tool_call_id),
                        failed=not learn,
                    )
                    self.runs.seen(talk, id_, part.content)
                    self.runs.seen(talk, part.tool_call_id, part.content)

    def _call_id(self, ctx: RunContext[Any], call_id: str) -> str:
        return f"pydantic-ai/{ctx.conversation_id}/{ctx.run_id}/{call_id}"  # some providers number calls from 0

    def _learn_result(
        self,
        ctx: RunContext[Any],
        call_id: str,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        result: object,
        failed: bool,
    ) -> None:
        talk = self._talk(ctx)
        hints = (tool_def.metadata or {}).get("annotations")
        self.runs.tool_returned(
            talk,
            tool_def.name,
            _said(result),
            arguments=args,
            call_id=self._call_id(ctx, f"{ctx.run_step}/{call_id}"),
            failed=failed or tool_def.tool_kind is not None,  # the framework's own, such as a search for tools
            open_world=isinstance(hints, Mapping) and hints.get("openWorldHint") is True,
        )
        self.runs.seen(talk, call_id, result)

    def _learn_native(self, ctx: RunContext[Any], response: ModelResponse) -> None:
        talk = self._talk(ctx)
        calls = {part.tool_call_id: part.args for part in response.parts if isinstance(part, NativeToolCallPart)}
        for part in response.parts:
            if isinstance(part, NativeToolReturnPart):  # of this very response: each comes here once
                self.runs.tool_returned(
                    talk,
                    part.tool_name,
                    _said(part.content),
                    arguments=calls.get(part.tool_call_id),
                    call_id=self._call_id(ctx, f"{ctx.run_step}/{part.tool_call_id}"),
                    failed=part.outcome != "success" or part.tool_kind is not None,
                    open_world=True,
                )
                self.runs.seen(talk, part.tool_call_id, part.content)

    def _verdict(self, ctx: RunContext[Any], tool: str, args: dict[str, Any]) -> Verdict | None:
        return self.runs.verdict(self._talk(ctx), tool, to_jsonable_python(args, fallback=str))


def _text(prompt: object) -> str:
    """What a prompt says; files in it say nothing here."""
    if isinstance(prompt, str):
        return prompt
    parts = prompt if isinstance(prompt, (list, tuple)) else ()
    return "\n".join(
        part if isinstance(part, str) else part.content for part in parts if isinstance(part, (str, TextContent))
    )


def _last_prompt(messages: list[ModelMessage]) -> str:
    for message in reversed(messages):
        for part in reversed(message.parts):
            if isinstance(part, UserPromptPart):
                return _text(part.content)
    return ""


def _said(result: Any) -> Any:
    """What of a result the model is shown as text: no files, and not what is for the application alone."""
    if isinstance(result, ToolReturn):
        more = result.content
        return _said([result.return_value, *([more] if isinstance(more, str) else more or ())])
    if isinstance(result, TextContent):
        return result.content
    if isinstance(result, _FILES):
        return None
    if isinstance(result, (list, tuple)):
        return [_said(one) for one in result if not isinstance(one, _FILES)]
    if isinstance(result, Mapping):
        return {key: _said(one) for key, one in result.items()}
    return result
