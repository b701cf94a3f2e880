"""LangChain: ``create_agent``, and the same with ``ThymusMiddleware``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from thymus.integrations.langchain import ThymusMiddleware

if TYPE_CHECKING:
    from perf.tool_calls.play import Ask, Script
    from thymus import MemoryGuard


class _Scripted(BaseChatModel):
    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> _Scripted:
        return self

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        number = self.script.model_called()
        calls = [{"name": "desk", "args": {"number": number}, "id": f"call-{number}"}] if number else []
        return ChatResult(generations=[ChatGeneration(message=AIMessage("" if number else "Done.", tool_calls=calls))])


def agent(script: Script, guard: MemoryGuard | None) -> Ask:
    """An agent with one tool."""

    @tool
    def desk(number: int) -> str:
        """Ask the desk."""
        _ = number
        return script.result()

    middleware = [ThymusMiddleware(guard)] if guard else []
    made: Any = create_agent(_Scripted(script=script), [desk], middleware=middleware, checkpointer=InMemorySaver())

    def ask(words: str, conversation: str) -> None:
        made.invoke({"messages": [("user", words)]}, {"configurable": {"thread_id": conversation}})

    return ask
