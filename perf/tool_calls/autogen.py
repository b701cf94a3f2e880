"""AutoGen: an ``AssistantAgent``, and the same with ``ThymusMemory``, its context and its tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import ChatCompletionClient, CreateResult, ModelFamily, RequestUsage

from thymus.integrations.autogen import ThymusMemory

if TYPE_CHECKING:
    from perf.tool_calls.play import Ask, Script
    from thymus import MemoryGuard


class _Scripted(ChatCompletionClient):
    model_info: ClassVar[Any] = {
        "vision": False,
        "function_calling": True,
        "json_output": False,
        "structured_output": False,
        "family": ModelFamily.UNKNOWN,
    }
    capabilities = model_info

    def __init__(self, script: Script) -> None:
        self._script = script

    async def create(self, *_: Any, **__: Any) -> CreateResult:
        content: str | list[FunctionCall] = "Done."
        if number := self._script.model_called():
            content = [FunctionCall(id=f"call-{number}", name="desk", arguments=json.dumps({"number": number}))]
        return CreateResult(finish_reason="unknown", content=content, usage=RequestUsage(0, 0), cached=False)

    def create_stream(self, *_: Any, **__: Any) -> Any: ...
    async def close(self) -> None: ...
    def actual_usage(self) -> RequestUsage:
        return RequestUsage(0, 0)

    total_usage = actual_usage

    def count_tokens(self, *_: Any, **__: Any) -> int:
        return 0

    remaining_tokens = count_tokens


def agent(script: Script, guard: MemoryGuard | None) -> Ask:
    """An agent with one tool."""
    model = _Scripted(script)

    def desk(number: int) -> str:
        """Ask the desk."""
        _ = number
        return script.result()

    async def ask(words: str, conversation: str) -> None:
        task: Any = words
        if guard:
            memory = ThymusMemory(guard, session=conversation)
            given: dict[str, Any] = {
                "memory": [memory],
                "model_context": memory.context(),
                "workbench": memory.tools([desk]),
            }
            task = await memory.said(words)
        else:
            given = {"tools": [desk]}
        await AssistantAgent("helper", model, max_tool_iterations=9, **given).run(task=task)

    return ask
