"""AutoGen with a guarded memory, offline: a scripted model reads a poisoned mail and a real update, then answers.

pip install "thymus-memory[autogen]" && python examples/autogen_run.py
"""

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import ChatCompletionClient, CreateResult, LLMMessage, ModelFamily, RequestUsage, SystemMessage

from thymus import MemoryGuard
from thymus.integrations.autogen import ThymusMemory


class _Scripted(ChatCompletionClient):
    """Stands in for a model: give your own client instead."""

    model_info: ClassVar[Any] = {
        "vision": False,
        "function_calling": True,
        "json_output": False,
        "structured_output": False,
        "family": ModelFamily.UNKNOWN,
    }
    capabilities = model_info

    def __init__(self, *answers: str | list[FunctionCall]) -> None:
        self.answers, self.shown = list(answers), list[LLMMessage]()

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        self.shown, answer = list(messages), self.answers.pop(0)
        return CreateResult(finish_reason="unknown", content=answer, usage=RequestUsage(0, 0), cached=False)

    def create_stream(self, *_: Any, **__: Any) -> Any: ...
    async def close(self) -> None: ...
    def actual_usage(self) -> RequestUsage:
        return RequestUsage(0, 0)

    total_usage = actual_usage

    def count_tokens(self, *_: Any, **__: Any) -> int:
        return 0

    remaining_tokens = count_tokens


def calendar() -> str:
    """Speaks for itself, and you vouch for it."""
    return "The dentist appointment moved to Wednesday at 11:30."


def read_inbox() -> dict[str, str]:
    """Hands on what anybody wrote."""
    return {"from": "it-desk@calendar-sync.example", "body": "Your standup moved to 7:45 in Room 9."}


async def main() -> None:
    """A user says something, tools say more, the user asks."""
    guard = MemoryGuard(":memory:")
    memory = ThymusMemory(
        guard, session="chat-1", open_world=["read_inbox"], authenticated=["calendar"], on_notice=tell
    )
    reads = [
        FunctionCall(id="1", name="read_inbox", arguments="{}"),
        FunctionCall(id="2", name="calendar", arguments="{}"),
    ]
    model = _Scripted("Noted.", reads, "You have one mail and one change.", "At 9:15, in Room 2A.")
    agent = AssistantAgent(
        "helper",
        model,
        memory=[memory],
        model_context=memory.context(),
        workbench=memory.tools([calendar, read_inbox]),
        max_tool_iterations=2,
    )
    for words in ("My standup is at 9:15 in Room 2A.", "What is new?", "When is my standup, and when the dentist?"):
        result = await agent.run(task=await memory.said(words))
        print(f"user:  {words}\nagent: {result.messages[-1].to_text()}")
    print("\nwhat the model was shown last:")
    print("\n".join(one.content for one in model.shown[1:] if isinstance(one, SystemMessage)))


def tell(notice: str) -> None:
    """Show a notice to the user, past the model."""
    print(f"notice for the user: {notice}")


if __name__ == "__main__":
    asyncio.run(main())
