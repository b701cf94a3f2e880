"""LlamaIndex: a ``FunctionAgent`` with a ``Memory``, and the same with ``ThymusMemoryBlock``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory

from thymus.integrations.llama_index import ThymusMemoryBlock

if TYPE_CHECKING:
    from perf.tool_calls.play import Ask, Script
    from thymus import MemoryGuard

warnings.filterwarnings("ignore", category=DeprecationWarning)  # it looks at every attribute of its own models


def agent(script: Script, guard: MemoryGuard | None) -> Ask:
    """An agent with one tool."""

    def scripted(*_: Any, **__: Any) -> ChatMessage:
        if number := script.model_called():
            call = ToolCallBlock(tool_call_id=f"call-{number}", tool_name="desk", tool_kwargs={"number": number})
            return ChatMessage(role="assistant", blocks=[call])
        return ChatMessage(role="assistant", content="Done.")

    def desk(number: int) -> str:
        """Ask the desk."""
        _ = number
        return script.result()

    llm = MockFunctionCallingLLM(response_generator=scripted)

    async def ask(words: str, conversation: str) -> None:
        block = ThymusMemoryBlock(guard, session=conversation) if guard else None
        tools: list[Any] = block.tools([desk]) if block else [desk]
        memory = Memory.from_defaults(session_id=conversation, memory_blocks=[block] if block else [])
        made = FunctionAgent(llm=llm, tools=tools, streaming=False)
        await made.run(await block.said(words) if block else words, memory=memory)
        if (engine := memory.sql_store._async_engine) is not None:  # noqa: SLF001  (it never closes it)
            await engine.dispose()

    return ask
