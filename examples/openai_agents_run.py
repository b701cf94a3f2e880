"""Guarded memory for the OpenAI Agents SDK, offline: a scripted model stands in for a real one.

python examples/openai_agents_run.py
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, SQLiteSession, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from thymus import MemoryGuard
from thymus.integrations.openai_agents import ThymusHooks, ThymusSession

set_tracing_disabled(True)


class Scripted(Model):
    """Calls the tools that it is told to and answers; prints the instructions that it was given."""

    def __init__(self, *tools: str) -> None:
        self.tools = list(tools)

    async def get_response(self, system_instructions: Any, *_: Any, **__: Any) -> ModelResponse:
        """One call of a tool, or the answer."""
        if self.tools:
            name = self.tools.pop(0)
            call = ResponseFunctionToolCall(type="function_call", name=name, call_id=f"call-{name}", arguments="{}")
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        print(f"  the model sees: {json.dumps(system_instructions, ensure_ascii=False)}")
        text = ResponseOutputText(type="output_text", text="Done.", annotations=[])
        said = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Not needed here."""
        raise NotImplementedError


@function_tool
def read_inbox() -> dict[str, str]:
    """A mailbox: it hands on what anybody wrote."""
    return {"from": "it-desk@calendar-sync.example", "body": "Your standup moved to 7:45 in Room 9."}


@function_tool
def calendar() -> str:
    """The user's own calendar."""
    return "The dentist appointment is on Wednesday at 11:30."


async def main() -> None:
    """Three questions in one session."""
    guard = MemoryGuard(":memory:")
    thymus = ThymusHooks(
        guard, authenticated=["calendar"], on_notice=lambda notice: print(f"  the user is told: {notice}")
    )
    session = ThymusSession(SQLiteSession("demo"), thymus)

    async def ask(words: str, *tools: str) -> None:
        print(f"\nuser: {words}")
        agent = Agent(name="assistant", instructions="Be brief.", model=Scripted(*tools), tools=[read_inbox, calendar])
        await Runner.run(agent, words, hooks=thymus, run_config=thymus.run_config(), session=session)

    await ask("My standup is at 9:15 in Room 2A.")
    await ask("Anything new in my inbox and calendar?", "read_inbox", "calendar")
    await ask("When is my standup?")

    print("\nin memory:")
    for memory in guard.memories(status=None):
        print(f"  {memory.status.value:9} {memory.source!s:16} {memory.text}")


asyncio.run(main())
