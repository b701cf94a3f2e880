"""Pydantic AI: an agent, and the same with ``ThymusCapability``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from thymus.integrations.pydantic_ai import ThymusCapability

if TYPE_CHECKING:
    from perf.tool_calls.play import Ask, Script
    from thymus import MemoryGuard


def agent(script: Script, guard: MemoryGuard | None) -> Ask:
    """An agent with one tool."""

    def scripted(*_: Any) -> ModelResponse:
        if number := script.model_called():
            return ModelResponse(parts=[ToolCallPart("desk", {"number": number}, f"call-{number}")])
        return ModelResponse(parts=[TextPart("Done.")])

    made = Agent(FunctionModel(scripted), capabilities=[ThymusCapability(guard)] if guard else [])

    @made.tool_plain
    def desk(number: int) -> str:
        """Ask the desk."""
        _ = number
        return script.result()

    async def ask(words: str, conversation: str) -> None:
        await made.run(words, conversation_id=conversation)

    return ask
