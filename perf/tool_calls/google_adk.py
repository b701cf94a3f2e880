"""Google ADK: a runner, and the same with ``ThymusPlugin``."""

from __future__ import annotations

import logging
import warnings
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from thymus.integrations.google_adk import ThymusPlugin

if TYPE_CHECKING:
    from perf.tool_calls.play import Ask, Script
    from thymus import MemoryGuard

warnings.filterwarnings("ignore", message=".*EXPERIMENTAL.*")
logging.getLogger("google_adk").setLevel(logging.ERROR)


class _Scripted(BaseLlm):
    model: str = "scripted"
    script: Any

    async def generate_content_async(self, *_: Any, **__: Any) -> AsyncGenerator[LlmResponse, None]:
        if number := self.script.model_called():
            part = types.Part(function_call=types.FunctionCall(name="desk", args={"number": number}))
        else:
            part = types.Part(text="Done.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def agent(script: Script, guard: MemoryGuard | None) -> Ask:
    """An agent with one tool."""

    def desk(number: int) -> str:
        """Ask the desk."""
        _ = number
        return script.result()

    made = LlmAgent(name="assistant", model=_Scripted(script=script), tools=[desk])
    plugins: list[Any] = [ThymusPlugin(guard, whose=lambda _, user: user)] if guard else []
    runner = Runner(
        app=App(name="desk", root_agent=made, plugins=plugins),
        session_service=InMemorySessionService(),
        auto_create_session=True,
    )

    async def ask(words: str, conversation: str) -> None:
        message = types.UserContent(words)
        async for _ in runner.run_async(user_id="perf", session_id=conversation, new_message=message):
            pass

    return ask
