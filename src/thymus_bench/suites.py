"""Suites: which files of scenarios there are, by name.

``core`` and ``families`` are the 205; every file of ``scenarios/suites`` is a suite of its own name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Final

from thymus_bench.scenarios import Category, Scenario, ScenarioError, read_file, refuse_repeats

HEADLINE: Final = ("core", "families")
"""The 205 scenarios of the headline table."""


def folder() -> Path:
    """Where the scenarios of this version are: in the source tree, or inside the installed package."""
    for place in (Path(__file__).parents[2] / "scenarios", Path(str(files("thymus_bench"))) / "scenarios"):
        if (place / "families").is_dir():
            return place
    raise ScenarioError(
        "the scenarios are not there: reinstall thymus-memory, or name a folder of your own with --data"
    )


def names(root: Path | None = None) -> list[str]:
    """The suites, the headline ones first."""
    root = root or folder()
    return [*HEADLINE, *sorted(path.stem for path in (root / "suites").glob("*.json"))]


def load(suites: Iterable[str] = HEADLINE, root: Path | None = None) -> list[Scenario]:
    """The scenarios of these suites, in a fixed order.

    :raises ScenarioError: where a suite is unknown or a file has a fault.
    """
    root = root or folder()
    found: list[Scenario] = []
    for suite in suites:
        found += _load(suite, root)
    refuse_repeats(found, "all suites together")
    return found


def _load(suite: str, root: Path) -> list[Scenario]:
    if suite not in names(root):
        raise ScenarioError(f"no suite is called {suite!r}: there are {', '.join(names(root))}")
    place = {"core": root, "families": root / "families"}.get(suite)
    paths = sorted(place.glob("*.json")) if place else [root / "suites" / f"{suite}.json"]
    return [scenario for path in paths for scenario in read_file(path, suite=suite)]


def chosen(scenarios: Sequence[Scenario], *, category: Category | None = None, only: str = "") -> list[Scenario]:
    """Those of a category, and those whose id contains a text."""
    return [one for one in scenarios if (category is None or one.category is category) and (only in one.id)]


def digest(scenarios: Iterable[Scenario]) -> str:
    """Twelve hexadecimal digits that change with any word of any scenario (SHA-256 over their fields)."""
    whole = sha256()
    for one in sorted(scenarios, key=lambda scenario: scenario.id):
        whole.update(repr(one).encode("utf-8", "surrogatepass"))
    return whole.hexdigest()[:12]
