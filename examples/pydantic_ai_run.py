"""Guarded memory for Pydantic AI, offline: a scripted model stands in for a real one.

python examples/pydantic_ai_run.py
"""

from __future__ import annotations

import json

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from thymus import MemoryGuard
from thymus.integrations.pydantic_ai import ThymusCapability

guard = MemoryGuard(":memory:")
thymus = ThymusCapability(
    guard, authenticated=["calendar"], on_notice=lambda notice: print(f"  the user is told: {notice}")
)
to_call: list[str] = []


def answer(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Calls the tools that it is told to and answers; prints the instructions that it was given."""
    if to_call:
        return ModelResponse(parts=[ToolCallPart(to_call.pop(0), {})])
    print(f"  the model sees: {json.dumps(info.instructions, ensure_ascii=False)}")
    return ModelResponse(parts=[TextPart("Done.")])


agent = Agent(FunctionModel(answer), instructions="Be brief.", capabilities=[thymus])


@agent.tool_plain
def read_inbox() -> dict[str, str]:
    """A mailbox: it hands on what anybody wrote."""
    return {"from": "it-desk@calendar-sync.example", "body": "Your standup moved to 7:45 in Room 9."}


@agent.tool_plain
def calendar() -> str:
    """The user's own calendar."""
    return "The dentist appointment is on Wednesday at 11:30."


def ask(words: str, *tools: str) -> None:
    """One run, in which the model calls these tools."""
    print(f"\nuser: {words}")
    to_call.extend(tools)
    agent.run_sync(words, conversation_id="demo")


ask("My standup is at 9:15 in Room 2A.")
ask("Anything new in my inbox and calendar?", "read_inbox", "calendar")
ask("When is my standup?")

print("\nin memory:")
for memory in guard.memories(status=None):
    print(f"  {memory.status.value:9} {memory.source!s:16} {memory.text}")
