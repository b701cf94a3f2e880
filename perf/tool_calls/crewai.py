"""CrewAI: a crew of one agent and one task, and the same in ``ThymusHooks.run``."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import tempfile
from typing import TYPE_CHECKING, Any

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")
os.environ.setdefault("CREWAI_STORAGE_DIR", tempfile.mkdtemp())

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool

from thymus.integrations.crewai import ThymusHooks

if TYPE_CHECKING:
    from perf.tool_calls.play import Ask, Script
    from thymus import MemoryGuard

logging.getLogger("crewai").setLevel(logging.ERROR)  # it tells each time that it counts tokens roughly


class _Scripted(BaseLLM):
    script: Any = None

    def call(self, *_: Any, **__: Any) -> Any:
        if number := self.script.model_called():
            function = {"name": "desk", "arguments": json.dumps({"number": number})}
            return [{"id": f"call-{number}", "type": "function", "function": function}]
        return "Done."

    def supports_function_calling(self) -> bool:
        return True


def agent(script: Script, guard: MemoryGuard | None) -> Ask:
    """An agent with one tool."""
    model = _Scripted(model="scripted", script=script)
    hooks = ThymusHooks(guard, user_inputs=["question"]) if guard else None

    @tool("desk")
    def desk(number: int) -> str:
        """Ask the desk."""
        _ = number
        return script.result()

    def ask(words: str, conversation: str) -> None:
        helper = Agent(role="helper", goal="help", backstory="kind", llm=model, tools=[desk])
        task = Task(description="{question}", expected_output="an answer", agent=helper)
        crew = Crew(agents=[helper], tasks=[task], cache=False)
        with hooks.run(conversation) if hooks else contextlib.nullcontext():
            crew.kickoff(inputs={"question": words})

    return ask
