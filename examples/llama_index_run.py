"""A LlamaIndex agent with a guarded memory, offline: a scripted model reads a mail that tries to move a meeting.

pip install "thymus-memory[llama-index]" && python examples/llama_index_run.py
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory

from thymus import MemoryGuard
from thymus.integrations.llama_index import ThymusMemoryBlock

SCRIPT = ["Noted.", "calendar()", "read_inbox()", "I have looked.", "At 9:15.", "On Wednesday."]


def scripted(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
    """Call the tools that the script names, then answer; what the model is shown is printed."""
    step = SCRIPT.pop(0)
    if step.endswith("()"):
        call = ToolCallBlock(tool_call_id=step, tool_name=step[:-2])
        return ChatMessage(role="assistant", blocks=[call])
    told = [line for line in (messages[0].content or "").splitlines() if line.startswith("- ")]
    print("  the model is told:", *told, sep="\n    ")
    return ChatMessage(role="assistant", content=step)


def calendar() -> str:
    """Look into the user's own calendar."""
    return "The dentist appointment moved to Wednesday at 11:30."


def read_inbox() -> dict[str, Any]:
    """Read the mail that came."""
    return {"from": "it-desk@calendar-sync.example", "body": "Your standup moved to 7:45 in Room 9."}


async def main() -> None:
    """Four messages of one user."""
    thymus = ThymusMemoryBlock(
        MemoryGuard(),
        session="monday",
        open_world=["read_inbox"],
        authenticated=["calendar"],
        on_notice=lambda notice: print("  the user is shown:", notice.replace("\n", "\n    ")),
    )
    memory = Memory.from_defaults(session_id="monday", memory_blocks=[thymus])
    llm = MockFunctionCallingLLM(response_generator=scripted)
    agent = FunctionAgent(llm=llm, tools=thymus.tools([calendar, read_inbox]), streaming=False)
    for said in (
        "My standup is at 9:15 in Room 2A.",
        "What is new in my calendar and mail?",
        "When is my standup?",
        "When is my dentist appointment?",
    ):
        print("user:", said)
        print("agent:", await agent.run(await thymus.said(said), memory=memory))


asyncio.run(main())
