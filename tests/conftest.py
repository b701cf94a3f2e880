"""What all tests share: Hypothesis profiles, and ``--rewrite`` for the files that are kept current by tests.

``quick`` by default, ``HYPOTHESIS_PROFILE=thorough`` for 1,000 fresh examples a property.
The quick profile draws the same examples every time, so that a failing test is always about what was just changed.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.append(str(Path(__file__).parent / "llm"))  # the fake providers serve tests of other folders, too

_SLOW_IS_FINE = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture)

settings.register_profile(
    "quick", max_examples=60, deadline=None, derandomize=True, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile("thorough", max_examples=1_000, deadline=None, suppress_health_check=_SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


FRAMEWORKS = {
    "frameworks": ("langchain", "langgraph", "mem0", "agents", "pydantic_ai", "google.adk", "llama_index.core"),
    "autogen": ("autogen_agentchat", "autogen_core"),
    "crewai": ("crewai",),
}
"""What each environment of ``make test-integrations`` has; elsewhere the tests of these skip."""

for variable in ("MEM0_TELEMETRY", "CREWAI_DISABLE_TELEMETRY", "OTEL_SDK_DISABLED", "OPENAI_AGENTS_DISABLE_TRACING"):
    os.environ.setdefault(variable, "False" if variable == "MEM0_TELEMETRY" else "true")


if not os.environ.get("THYMUS_THOROUGH"):  # minutes each: `make thorough` runs them
    collect_ignore = [
        "stores/test_postgres_faults.py",
        "web/test_web_browser.py",
        "web/test_web_faults.py",
        "web/test_web_schemathesis.py",
    ]


def pytest_configure() -> None:
    with warnings.catch_warnings(action="ignore"):  # what a framework warns of while it is imported is its own
        for framework in FRAMEWORKS.get(os.environ.get("THYMUS_ENVIRONMENT", ""), ()):
            importlib.import_module(framework)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="rewrite generated documents and golden tables")


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether generated files are to be written anew instead of compared."""
    return bool(request.config.getoption("--rewrite"))
