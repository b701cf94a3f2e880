"""An ADK agent with a guarded memory, offline: a scripted model reads a mail that tries to move a meeting.

pip install "thymus-memory[google-adk]" && python examples/google_adk_run.py
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from thymus import MemoryGuard
from thymus.integrations.google_adk import NOTICE, ThymusMemoryService, ThymusPlugin


class Scripted(BaseLlm):
    """Calls the tools that it is told to call, then answers; what it is shown is printed."""

    model: str = "scripted"
    script: list[str]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """The next step of the script."""
        _ = stream
        step = self.script.pop(0)
        if step.endswith("()"):
            part = types.Part(function_call=types.FunctionCall(name=step[:-2], args={}))
        else:
            told = [line for line in str(llm_request.config.system_instruction).splitlines() if line.startswith("- ")]
            print("  the model is told:", *told, sep="\n    ")
            part = types.Part(text=step)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def calendar() -> str:
    """Look into the user's own calendar."""
    return "The dentist appointment moved to Wednesday at 11:30."


def read_inbox() -> dict[str, Any]:
    """Read the mail that came."""
    return {"from": "it-desk@calendar-sync.example", "body": "Your standup moved to 7:45 in Room 9."}


async def main() -> None:
    """Four messages of one user."""
    script = ["Noted.", "calendar()", "read_inbox()", "I have looked.", "At 9:15.", "On Wednesday."]
    agent = LlmAgent(name="assistant", model=Scripted(script=script), tools=[calendar, read_inbox])
    plugin = ThymusPlugin(MemoryGuard(), open_world=["read_inbox"], authenticated=["calendar"])
    runner = Runner(
        app=App(name="desk", root_agent=agent, plugins=[plugin]),
        session_service=InMemorySessionService(),
        memory_service=ThymusMemoryService(plugin),
        auto_create_session=True,
    )
    for said in (
        "My standup is at 9:15 in Room 2A.",
        "What is new in my calendar and mail?",
        "When is my standup?",
        "When is my dentist appointment?",
    ):
        print("user:", said)
        message = types.UserContent(said)
        async for event in runner.run_async(user_id="asha", session_id="monday", new_message=message):
            if event.is_final_response() and event.content and event.content.parts:
                print("agent:", event.content.parts[0].text)
                if notice := (event.custom_metadata or {}).get(NOTICE):
                    print("  the user is shown:", notice.replace("\n", "\n    "))


asyncio.run(main())
