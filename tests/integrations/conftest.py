"""Which frameworks each environment of ``make test-integrations`` has: there they must be, elsewhere their tests skip."""

from __future__ import annotations

import importlib
import os

FRAMEWORKS = {
    "": (),
    "frameworks": ("langchain", "langgraph", "mem0", "agents", "pydantic_ai", "google.adk", "llama_index.core"),
    "autogen": ("autogen_agentchat", "autogen_core"),
    "crewai": ("crewai",),
}

os.environ.setdefault("MEM0_TELEMETRY", "False")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")
os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")


def pytest_configure() -> None:
    for framework in FRAMEWORKS[os.environ.get("THYMUS_ENVIRONMENT", "")]:
        importlib.import_module(framework)
