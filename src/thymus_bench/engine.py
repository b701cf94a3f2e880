"""The engine: plays scenarios under gates in parallel, writes each outcome as it comes, and goes on where it stopped.

A run is a folder: ``run.json`` says what is played, ``results.jsonl`` holds one outcome a line, and ``summary.json``
and ``summary.md`` are made from these alone. A run that was killed loses at most what was being played; resumed, it
gives the same summary.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

from thymus import GATES, MemoryGuard, ThymusError, __version__
from thymus_bench import readers, suites
from thymus_bench.files import json_text, write_whole
from thymus_bench.grade import open_grader
from thymus_bench.metrics import summarise
from thymus_bench.once import open_embedder, open_judge
from thymus_bench.outcomes import Outcome, read_outcomes
from thymus_bench.play import Stage, failed, in_process, play
from thymus_bench.report import summary_markdown
from thymus_bench.scenarios import Category, Scenario
from thymus_bench.workers import spread

MEM0: Final = "mem0"
STORES: Final = {"memory": None, "sqlite": "memory.db", "json": "memory.json", MEM0: None}
"""Where a play keeps its memory, by name: in the process, in a file that is thrown away, or in Mem0."""
_log = logging.getLogger("thymus_bench")


class RunError(ThymusError):
    """A run that cannot be started or continued; the message says what would help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What is played.

    :param reader: ``worst-case``, or ``agent`` for a model.
    :param llm: the agent's model; ``grader``: what reads the replies (``markers`` or a model).
    :param gate_judge: what answers the gates' two questions, as ``once.open_judge`` reads it.
    :param repeats: how often each scenario is played; only a model makes these differ.
    :param cache, offline: whether answers of models, judge and embedder are kept, and nothing but these is used of a
        model.
    :param seed: of every resampling in the report.
    :param started: on which date, of the machine that began it.
    """

    gates: tuple[str, ...] = tuple(GATES)
    suites: tuple[str, ...] = suites.HEADLINE
    category: str = ""
    only: str = ""
    reader: str = "worst-case"
    llm: str = ""
    grader: str = ""
    gate_judge: str = "local"
    embedder: str = "e5-small"
    store: str = "memory"
    repeats: int = 1
    seed: int = 7
    k: int = 8
    cache: bool = True
    offline: bool = False
    data: str = ""
    version: str = __version__
    started: str = ""
    scenarios: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """The content of ``run.json``."""
        return json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The run of a folder.

        :raises RunError: where there is none.
        """
        path = folder / "run.json"
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            return cls(**(kept | {"gates": tuple(kept["gates"]), "suites": tuple(kept["suites"])}))
        except OSError as error:
            raise RunError(f"{path}: cannot be read ({error.strerror}): name the folder of an earlier run") from None
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path}: is no run of this version ({error}): start a new one") from None

    def load(self) -> list[Scenario]:
        """The scenarios that it plays.

        :raises ThymusError: where a suite is unknown, a file has a fault, or nothing is left to play.
        """
        found = suites.chosen(
            suites.load(self.suites, Path(self.data) if self.data else None),
            category=Category(self.category) if self.category else None,
            only=self.only,
        )
        if not found:
            asked = " and ".join(
                f"{name} {value!r}" for name, value in (("--category", self.category), ("--only", self.only)) if value
            )
            raise RunError(
                f"no scenario of {', '.join(self.suites)} fits {asked or 'what was asked for'}: --only is a part of an "
                "id, and `thymus-eval --suite list` says which suites there are"
            )
        return found


@dataclass(frozen=True, slots=True)
class _Job:
    """Scenarios that share a setup, under all gates: what one worker plays in one go, asking each thing once."""

    plays: tuple[tuple[Scenario, str, int], ...]


def begin(run: Run, folder: Path) -> Run:
    """Make a run's folder.

    :raises RunError: where it holds a run already, or cannot be made.
    """
    scenarios = run.load()
    content = {"count": len(scenarios), "digest": suites.digest(scenarios)}
    run = replace(run, scenarios=content, started=date.today().isoformat())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "run.json").open("x", encoding="utf-8") as file:
            file.write(run.to_json())
    except FileExistsError:
        raise RunError(f"{folder} holds a run already: continue it with --resume {folder}, or name another") from None
    except OSError as error:
        raise RunError(f"{folder}: cannot be written ({error.strerror}): name another folder with --out") from None
    return run


def play_run(
    folder: Path, *, jobs: int | None = None, on_play: Callable[[Outcome], None] = lambda _: None
) -> list[Outcome]:
    """Play what is left of a run, and write its results and summary.

    :param jobs: worker processes; as many as there are processors by default.
    :param on_play: called with each outcome as it comes, those of an earlier try first.
    :raises RunError: where the scenarios or the version are not those that it began with, a model cannot be had, or a
        worker dies.
    """
    run = Run.read(folder)
    scenarios = run.load()
    if (found := suites.digest(scenarios)) != run.scenarios.get("digest"):
        raise RunError(
            f"{folder}: its scenarios were changed since it began ({run.scenarios.get('digest')}, now {found}): "
            "start a new run"
        )
    plays = [(scenario, gate, repeat) for scenario in scenarios for gate in run.gates for repeat in range(run.repeats)]
    order = {_key(*one): place for place, one in enumerate(plays)}
    results = folder / "results.jsonl"
    done = {_key_of(one): one for one in _earlier(results) if not one.error and _key_of(one) in order}
    for outcome in done.values():
        on_play(outcome)
    todo = [one for one in plays if _key(*one) not in done]
    if todo and run.version != __version__:
        raise RunError(f"{folder}: was begun by version {run.version}, and this is {__version__}: start a new run")
    _rewrite(results, list(done.values()))
    with results.open("a", encoding="utf-8") as file:
        for outcome in _played(run, _jobs(todo), jobs or os.cpu_count() or 1, folder):
            file.write(outcome.to_json() + "\n")
            file.flush()
            done[_key_of(outcome)] = outcome
            on_play(outcome)
    outcomes = sorted(done.values(), key=lambda one: order[_key_of(one)])
    _rewrite(results, outcomes)
    write_summary(folder, outcomes)
    return outcomes


def write_summary(folder: Path, outcomes: Sequence[Outcome]) -> None:
    """``summary.json`` and ``summary.md``, from the outcomes alone."""
    summary = summarise(outcomes, seed=Run.read(folder).seed)
    write_whole(folder / "summary.json", json_text(summary, indent=2) + "\n")
    write_whole(folder / "summary.md", summary_markdown(summary))


def _key(scenario: Scenario, gate: str, repeat: int) -> tuple[str, str, int]:
    return scenario.id, gate, repeat


def _key_of(outcome: Outcome) -> tuple[str, str, int]:
    return outcome.scenario, outcome.gate, outcome.repeat


def _earlier(results: Path) -> list[Outcome]:
    try:
        return read_outcomes(results) if results.exists() else []
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise RunError(f"{results}: holds what this version did not write ({error}): start a new run") from None


def _rewrite(results: Path, outcomes: Sequence[Outcome]) -> None:
    write_whole(results, "".join(one.to_json() + "\n" for one in outcomes))


def _jobs(plays: Sequence[tuple[Scenario, str, int]]) -> list[_Job]:
    return [_Job(tuple(of)) for _, of in groupby(plays, key=lambda one: one[0].family)]


def _played(run: Run, jobs: Sequence[_Job], workers: int, folder: Path) -> Iterator[Outcome]:
    """The outcomes, as they come."""
    lost = f"a worker died (out of memory?); nothing that was played is lost: --resume {folder}, or fewer --jobs"
    for outcomes in spread([(jobs, workers)], _play_job, opened=open_stages, plan=run, refusal=RunError, lost=lost):
        yield from outcomes


def open_stages(run: Run) -> list[Stage]:
    """The parts that a run's plays share, one stage a repeat: a model answers anew in each.

    :raises ThymusError: where a reader, judge or embedder cannot be had.
    """
    embedder = open_embedder(run.embedder, once=run.cache)
    judge = open_judge(run.gate_judge, embedder, once=run.cache, offline=run.offline)
    name = STORES[run.store]
    cache = readers.DEFAULT_CACHE if run.cache else None
    return [
        Stage(
            reader=readers.open_reader(run.reader, run.llm or None, cache=cache, offline=run.offline, repeat=repeat),
            embedder=embedder,
            judge=judge,
            grader=open_grader(run.grader, cache=cache, offline=run.offline) if run.grader else None,
            k=run.k,
            place=partial(_in_file, name) if name else in_process,
            opened=_opener(run.store),
        )
        for repeat in range(run.repeats)
    ]


def _opener(store: str) -> Callable[..., AbstractContextManager[MemoryGuard]]:
    """What opens a play's guard.

    :raises MissingExtraError: where Mem0 is not installed.
    """
    if store != MEM0:
        return MemoryGuard
    from thymus_bench.mem0 import open_guard

    return open_guard


@contextmanager
def _in_file(name: str) -> Iterator[str]:
    with TemporaryDirectory(prefix="thymus-eval-") as folder:
        yield str(Path(folder) / name)


def _play_job(stages: Sequence[Stage], job: _Job) -> list[Outcome]:
    return [_play(stages[repeat], scenario, gate, repeat) for scenario, gate, repeat in job.plays]


def _play(stage: Stage, scenario: Scenario, gate: str, repeat: int) -> Outcome:
    try:
        return play(scenario, gate, stage, repeat=repeat)
    except Exception as error:  # noqa: BLE001  (one play must not end a run, and again at every --resume)
        _log.warning("%s under %s failed", scenario.id, gate, exc_info=True)
        return failed(scenario, gate, stage, error, repeat=repeat)
