"""OpenAI Agents SDK: an agent in a session, and the same with ``ThymusHooks`` and ``ThymusSession``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agents import Agent, Model, ModelResponse, Runner, SQLiteSession, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from thymus.integrations.openai_agents import ThymusHooks, ThymusSession

if TYPE_CHECKING:
    from perf.tool_calls.play import Ask, Script
    from thymus import MemoryGuard

set_tracing_disabled(True)


class _Scripted(Model):
    def __init__(self, script: Script) -> None:
        self._script = script

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        said: ResponseFunctionToolCall | ResponseOutputMessage
        if number := self._script.model_called():
            arguments = json.dumps({"number": number})
            said = ResponseFunctionToolCall(
                type="function_call", name="desk", call_id=f"call-{number}", arguments=arguments
            )
        else:
            text = ResponseOutputText(type="output_text", text="Done.", annotations=[])
            said = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def agent(script: Script, guard: MemoryGuard | None) -> Ask:
    """An agent with one tool."""

    @function_tool
    def desk(number: int) -> str:
        """Ask the desk."""
        _ = number
        return script.result()

    made: Agent[None] = Agent(name="assistant", model=_Scripted(script), tools=[desk])
    hooks = ThymusHooks(guard) if guard else None

    async def ask(words: str, conversation: str) -> None:
        session = SQLiteSession(conversation)
        try:
            if hooks:
                guarded = ThymusSession(session, hooks)
                await Runner.run(made, words, hooks=hooks, run_config=hooks.run_config(), session=guarded)
            else:
                await Runner.run(made, words, session=session)
        finally:
            session.close()

    return ask
