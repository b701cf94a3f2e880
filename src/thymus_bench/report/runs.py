"""The folders of runs, read back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from thymus import ThymusError
from thymus_bench.metrics import ALLOW_ALL, summarise
from thymus_bench.outcomes import Outcome, read_outcomes
from thymus_bench.stats import SEED

RESULTS: Final = Path("results")
_RESULTS_FILE: Final = "results.jsonl"


class ReportError(ThymusError):
    """A run, or a file of the leaderboard, that nothing can be told of; the message says what would help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One or more runs: where they are, what they were asked to play (of the first) and what came of it."""

    folder: Path
    config: dict[str, Any]
    outcomes: list[Outcome]

    @property
    def seed(self) -> int:
        """Of every resampling."""
        seed = self.config.get("seed", SEED)
        return seed if isinstance(seed, int) else SEED

    @property
    def gates(self) -> list[str]:
        """Those that were played."""
        return sorted({one.gate for one in self.outcomes})

    def summarise(self, baseline: str | None = None) -> dict[str, Any]:
        """All figures.

        :raises ReportError: where a baseline is asked for that the run has not played.
        """
        if baseline and baseline not in self.gates:
            raise ReportError(f"the run has no gate {baseline!r} to compare with: it has {', '.join(self.gates)}")
        return summarise(self.outcomes, baseline=baseline or ALLOW_ALL, seed=self.seed)


_FACTS: Final = (
    *("version", "started", "reader", "llm"),
    *("grader", "gate_judge", "embedder", "store", "k", "seed"),
)
"""Of ``run.json``, what a reader of tables wants to know: alone they look alike, whatever judged and embedded."""


def facts(config: Mapping[str, Any]) -> Iterator[str]:
    """What was measured and with what, in a sentence, and a warning where that says nothing of any defence."""
    told = [f"{name.replace('_', ' ')} {config[name]}" for name in _FACTS if config.get(name) not in (None, "")]
    scenarios = config.get("scenarios")
    if isinstance(scenarios, dict) and scenarios.get("digest"):
        told.append(f"scenarios {scenarios['digest']}")
    if told:
        yield ", ".join(told).capitalize() + "."
    if "echo" in (config.get("llm"), config.get("grader")) or config.get("embedder") == "hash":
        yield "A test of the pipeline: meaningless as a result."


def newest(results: Path = RESULTS) -> Path:
    """The folder that was written to last.

    :raises ReportError: where there is none.
    """
    found = sorted(results.glob(f"*/{_RESULTS_FILE}"), key=lambda path: (path.stat().st_mtime, path.parent.name))
    if not found:
        raise ReportError(f"there is no run in {results}: play one with thymus-eval, or name the folder of one")
    return found[-1].parent


def read_runs(folders: Sequence[Path]) -> Run:
    """Runs as one, such as those of several models.

    :raises ReportError: where one cannot be read, or two played the same thing.
    """
    runs = [read_run(folder) for folder in folders]
    outcomes = [one for run in runs for one in run.outcomes]
    if len(runs) > 1 and (again := [key for key, times in Counter(one.key for one in outcomes).items() if times > 1]):
        gate, reader, model, scenario, _ = again[0]
        raise ReportError(
            f"more than one of these runs has {scenario} under {gate} by {model or reader}: put them side by side with "
            f"thymus-report compare {folders[0]} {folders[1]}"
        )
    return Run(folder=runs[0].folder, config=runs[0].config, outcomes=outcomes)


def read_run(folder: Path) -> Run:
    """The run of a folder, or of a ``results.jsonl``.

    :raises ReportError: names the file and the line.
    """
    results = folder if folder.suffix == ".jsonl" else folder / _RESULTS_FILE
    try:
        outcomes = read_outcomes(results)
    except OSError as error:
        raise ReportError(
            f"{results}: cannot be read ({error.strerror}): name the folder of a run, as in results/"
        ) from None
    except UnicodeDecodeError:
        raise ReportError(f"{results}: is not UTF-8: it is no results.jsonl of thymus-eval") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ReportError(
            f"{results}: holds a line that is no outcome of this version ({error}): play the run again"
        ) from None
    if not outcomes:
        raise ReportError(f"{results}: holds no outcome yet: wait for the first plays, or --resume the run")
    return Run(folder=results.parent, config=_config(results.parent / "run.json"), outcomes=outcomes)


def _config(path: Path) -> dict[str, Any]:
    """What the run was asked for; nothing where that is not there (results alone are enough for the tables)."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ReportError(f"{path}: cannot be read ({error}): restore it, or remove it") from None
    if not isinstance(found, dict):
        raise ReportError(f"{path}: an object in braces is expected: restore it, or remove it")
    return found
