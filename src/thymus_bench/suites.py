"""Suites: which files of scenarios there are, by name.

``core`` and ``families`` are the 205; every file of ``scenarios/suites`` is a suite of its own name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from thymus_bench.scenarios import Category, Scenario, ScenarioError, read_file, refuse_repeats

HEADLINE: Final = ("core", "families")
"""The 205 scenarios of the headline table."""


REAL: Final = "real"
"""Made of real text that the user downloads (``thymus_bench.real``)."""


def folder(data: Path | None = None) -> Path:
    """Where the scenarios are: the folder of one's own, or else the source tree or the installed package.

    :raises ScenarioError: where there are none.
    """
    if data is not None:
        if not data.is_dir():
            raise ScenarioError(f"{data}: is no folder: name one with scenarios in it (docs/how-to/benchmark.md)")
        if not any(path for files in _FILES for path in data.glob(files)):
            raise ScenarioError(
                f"{data}: has no scenarios: they are read from {', '.join(_FILES)} (docs/how-to/benchmark.md)"
            )
        return data
    for place in (Path(__file__).parents[2] / "scenarios", Path(__file__).parent / "scenarios"):
        if (place / "families").is_dir():
            return place
    raise ScenarioError("the scenarios are not there: reinstall thymus-memory, or name a folder with --data")


_FILES: Final = ("*.json", "families/*.json", "suites/*.json")


def names(data: Path | None = None) -> list[str]:
    """The suites that need no download, the headline ones first."""
    return [*HEADLINE, *sorted(path.stem for path in (folder(data) / "suites").glob("*.json"))]


def load(suites: Iterable[str] = HEADLINE, data: Path | None = None) -> list[Scenario]:
    """The scenarios of these suites, in a fixed order.

    :param data: a folder of one's own scenarios, or the downloaded corpora of ``real``.
    :raises ScenarioError: where a suite is unknown or a file has a fault.
    """
    found = [scenario for suite in suites for scenario in _load(suite, data)]
    refuse_repeats(found, "all suites together")
    return found


def _load(suite: str, data: Path | None) -> list[Scenario]:
    if suite == REAL:
        if data is None:
            raise ScenarioError("the suite real is made of text that you download: name its folder with --data")
        from thymus_bench import real

        return real.load(data)
    if suite not in (there := names(data)):
        raise ScenarioError(f"no suite is called {suite!r}: there are {', '.join(there)}, {REAL} and longmemeval")
    root = folder(data)
    place = {"core": root, "families": root / "families"}.get(suite)
    paths = sorted(place.glob("*.json")) if place else [root / "suites" / f"{suite}.json"]
    return [scenario for path in paths for scenario in read_file(path, suite=suite)]


def chosen(scenarios: Sequence[Scenario], *, category: Category | None = None, only: str = "") -> list[Scenario]:
    """Those of a category, and those whose id contains a text."""
    return [one for one in scenarios if (category is None or one.category is category) and only.casefold() in one.id]


def digest(scenarios: Iterable[Scenario]) -> str:
    """Twelve hexadecimal digits that change with any word of any scenario (SHA-256 over their fields)."""
    whole = sha256()
    for one in sorted(scenarios, key=lambda scenario: scenario.id):
        whole.update(repr(one).encode("utf-8", "surrogatepass"))
    return whole.hexdigest()[:12]
