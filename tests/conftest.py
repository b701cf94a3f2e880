"""What all tests share: Hypothesis profiles, and ``--rewrite`` for the files that are kept current by tests.

``quick`` by default, ``HYPOTHESIS_PROFILE=thorough`` for 1,000 fresh examples a property.
The quick profile draws the same examples every time, so that a failing test is always about what was just changed.
"""

from __future__ import annotations

import os
import sys
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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="rewrite generated documents and golden tables")


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether generated files are to be written anew instead of compared."""
    return bool(request.config.getoption("--rewrite"))
