"""CrewAI with a guarded memory, offline: a scripted model reads a poisoned mail and a real update, then answers.

pip install "thymus-memory[crewai]" && python examples/crewai_run.py
"""

import json
import os
import tempfile
from typing import Any

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")
os.environ.setdefault("CREWAI_STORAGE_DIR", tempfile.mkdtemp())

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool
from pydantic import Field

from thymus import MemoryGuard
from thymus.integrations.crewai import ThymusHooks


class _Scripted(BaseLLM):
    """Stands in for a model: give your own LLM instead."""

    answers: list[Any] = Field(default_factory=list)
    shown: list[Any] = Field(default_factory=list)

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        self.shown.append([dict(message) for message in messages])
        return self.answers.pop(0)

    def supports_function_calling(self) -> bool:
        return True


@tool("calendar")
def calendar() -> str:
    """Speaks for itself, and you vouch for it."""
    return "The dentist appointment moved to Wednesday at 11:30."


@tool("Read inbox")
def read_inbox() -> dict[str, str]:
    """Hands on what anybody wrote."""
    return {"from": "it-desk@calendar-sync.example", "body": "Your standup moved to 7:45 in Room 9."}


def _call(name: str) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": name, "arguments": json.dumps({})}}


def _notice(notice: str) -> None:
    print(f"notice for the user: {notice}")


def main() -> None:
    """A user says something, a crew's tools say more, the crew answers."""
    guard = MemoryGuard(":memory:")
    hooks = ThymusHooks(
        guard,
        user_inputs=["question"],
        open_world=["Read inbox"],
        authenticated=["calendar"],
        on_notice=_notice,
    )
    model = _Scripted(model="scripted", answers=[[_call("read_inbox"), _call("calendar")], "At 9:15, in Room 2A."])
    helper = Agent(role="helper", goal="help", backstory="kind", llm=model, tools=[calendar, read_inbox])
    answer = Task(description="When is my standup, and when the dentist?", expected_output="times", agent=helper)
    crew = Crew(agents=[helper], tasks=[answer])
    with hooks.run("chat-1"):
        result = crew.kickoff(inputs={"question": "My standup is at 9:15 in Room 2A. When is it?"})
    print(f"crew: {result.raw}\n\nwhat the model was shown last:\n{model.shown[-1][1]['content']}")


if __name__ == "__main__":
    main()
