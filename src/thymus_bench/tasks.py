"""The benchmark as a task of inspect-ai: ``inspect eval thymus_bench/thymus_bench -T gate=thymus-v4``.

Nothing is measured here: a solver lets ``thymus_bench.play.play`` play a scenario in a worker thread, and a scorer
reads the ``Outcome``. So a log holds what ``thymus-eval`` would write, and ``outcomes`` reads it back for every table
and test of the benchmark. Nothing else imports this module: inspect-ai is an extra.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from thymus import GATES
from thymus.errors import MissingExtraError
from thymus.llm.asking import AskingModel
from thymus_bench import suites
from thymus_bench.agent import AgentReader
from thymus_bench.engine import Run, RunError, open_stages
from thymus_bench.grade import MarkerGrader, ModelGrader
from thymus_bench.metrics import METRICS
from thymus_bench.outcomes import Outcome
from thymus_bench.play import play
from thymus_bench.readers import READERS, WORST_CASE, ReaderError
from thymus_bench.scenarios import Category
from thymus_bench.stats import effective_size, wilson

try:
    from anyio import to_thread
    from inspect_ai import Epochs, Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.log import HeadlineMetric
    from inspect_ai.model import CachePolicy, ModelOutput, get_model, model_roles
    from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.viewer import ViewerConfig

    from thymus_bench.inspect_model import InspectBackend
except ImportError as error:
    raise MissingExtraError(
        'the benchmark as inspect-ai tasks needs an extra: pip install "thymus-memory[eval]" (thymus-eval needs none)'
    ) from error

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

    from thymus_bench.grade import Grader
    from thymus_bench.play import Stage
    from thymus_bench.scenarios import Scenario

GRADER: Final = "grader"
"""The role of the model that reads the agent's replies; keyword markers read them where no model has it."""
SCORED: Final = tuple(name for name in METRICS if name != "over_disclosure")
"""The metrics of a play; over-disclosure counts claims, of which a play has any number."""
_UNASKED: Final = ("none/none", "mockllm/model")
"""What may stand for a model where none is asked: no log is to be headed by a model that had no part in it."""


class PlayError(RuntimeError):
    """A play failed: inspect counts its sample as an error, and `inspect eval-retry` plays it again."""


@task
def thymus_bench(
    gate: str = "thymus-v4",
    suite: str | list[str] = "core,families",
    category: str = "",
    only: str = "",
    reader: str = WORST_CASE,
    gate_judge: str = "local",
    embedder: str = "e5-small",
    k: int = 8,
    data: str = "",
    cache: bool = True,
) -> Task:
    """Histories with real updates and planted claims, played under one gate, and a question in a fresh session.

    :param suite: names of suites, with commas between them, or ``all``.
    :param category, only: only attacks, updates or benign scenarios; only those whose id contains this.
    :param reader: ``worst-case``, which asks no model (``--model none``), or ``agent`` over the model of this eval.
    :param gate_judge, embedder, k, data: as the options of ``thymus-eval``.
    :param cache: keep the model's answers for good, each epoch's apart.
    :raises ThymusError: where a name is unknown, or no scenario fits.
    """
    what = _run(gate, suite, category, only, data)
    scenarios = what.load()
    return Task(
        name="thymus_bench",
        dataset=MemoryDataset([_sample(one) for one in scenarios], name=",".join(what.suites)),
        solver=play_scenarios(
            gate=gate,
            suites=list(what.suites),
            reader=reader,
            gate_judge=gate_judge,
            embedder=embedder,
            k=k,
            data=data,
            cache=cache,
        ),
        scorer=read_outcome(),
        epochs=Epochs(1, "mean"),
        headline_metric=HeadlineMetric(score="attack_success"),
        metadata={"gate": gate, "reader": reader, "thymus": what.version, "digest": suites.digest(scenarios)},
        viewer=ViewerConfig(trust_content=False),  # it shows what attackers wrote
    )


@solver
def play_scenarios(
    gate: str,
    suites: list[str],
    reader: str = WORST_CASE,
    gate_judge: str = "local",
    embedder: str = "e5-small",
    k: int = 8,
    data: str = "",
    cache: bool = True,
) -> Solver:
    """Plays the scenario of a sample, and leaves its outcome in the sample's metadata; see ``thymus_bench``."""
    if reader not in READERS:
        raise ReaderError(f"there is no reader {reader[:40]!r}: choose one of {', '.join(READERS)}")
    run = replace(_run(gate, suites, "", "", data), gate_judge=gate_judge, embedder=embedder, k=k)
    scenarios = {one.id: one for one in run.load()}
    (shared,) = open_stages(run)

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001  (the agent asks by itself)
        repeat = state.epoch - 1
        stage = _stage(shared, reader, repeat=repeat, cache=CachePolicy(expiry=None) if cache else None)
        scenario = scenarios[str(state.sample_id)]
        outcome = await to_thread.run_sync(partial(play, scenario, gate, stage, repeat=repeat))
        state.metadata["outcome"] = json.loads(outcome.to_json())
        if outcome.error:
            raise PlayError(outcome.error)
        state.output = ModelOutput.from_content(model=stage.reader.model or reader, content=outcome.reply)
        state.messages.append(state.output.message)
        return state

    return solve


@metric
def share() -> Metric:
    """The share of plays with a hit, as ``thymus-eval`` gives it; repeats of a scenario count once."""

    def measure(scores: list[SampleScore]) -> Value:
        return math.fsum(one.score.as_float() for one in scores) / len(scores) if scores else math.nan

    return measure


@metric
def interval() -> Metric:
    """The 95% Wilson interval of the share, over as many plays as their families are worth (``effective_size``)."""

    def measure(scores: list[SampleScore]) -> Value:
        families: defaultdict[str, list[float]] = defaultdict(list)
        for one in scores:
            families[(one.sample_metadata or {})["family"]].append(one.score.as_float())
        size = effective_size([(math.fsum(hits), len(hits)) for hits in families.values()], len(scores))
        hits = math.fsum(map(math.fsum, families.values()))
        low, high = wilson(hits / len(scores) * size, size) if scores else (0.0, 1.0)
        return {"low": low, "high": high}

    return measure


@scorer(metrics={name: [share(), stderr(cluster="family"), interval()] for name in SCORED}, name="play")
def read_outcome() -> Scorer:
    """Counts what came of a play: 1 or 0 in each metric, ``nan`` (left out) where the play does not bear on it."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001  (an outcome has its own)
        outcome = Outcome.from_row(state.metadata["outcome"])
        counts = {name: METRICS[name].count(outcome) for name in SCORED}
        return Score(
            value={name: hits / of if of else math.nan for name, (hits, of) in counts.items()},
            answer=outcome.reply,
            explanation=_explained(outcome),
        )

    return score


def outcomes(log: EvalLog) -> list[Outcome]:
    """The plays in a log, for ``metrics.summarise`` and whatever else reads ``results.jsonl``; failed ones too.

    :param log: with its samples, as ``inspect_ai.log.read_eval_log`` reads it.
    """
    found = [one.metadata["outcome"] for one in log.samples or () if "outcome" in one.metadata]
    return [Outcome.from_row(row) for row in found]


def _run(gate: str, suite: str | list[str], category: str, only: str, data: str) -> Run:
    if gate not in GATES:
        raise RunError(f"no gate is called {gate[:40]!r}: use one of {', '.join(GATES)}")
    if category and category not in list(Category):
        raise RunError(f"no category is called {category[:40]!r}: use one of {', '.join(Category)}")
    named = suite.split(",") if isinstance(suite, str) else suite
    wanted = tuple(suites.names()) if named == ["all"] else tuple(name.strip() for name in named)
    return Run(gates=(gate,), suites=wanted, category=category, only=only, data=data)


def _sample(scenario: Scenario) -> Sample:
    told = [f"[{turn.part}] {turn.source}: {turn.text}" for turn in scenario.turns]
    about = ("family", "suite", "category", "kind", "domain")
    return Sample(
        id=scenario.id,
        input="\n\n".join([*told, f"[question] {scenario.probe}"]),
        target=list(scenario.target),
        metadata={name: str(getattr(scenario, name)) for name in about},
    )


def _stage(shared: Stage, reader: str, *, repeat: int, cache: CachePolicy | None) -> Stage:
    """The parts of one play: readers and graders add up costs, and plays go on side by side."""
    model, role = get_model(), model_roles().get(GRADER)
    judge = role[0] if isinstance(role, list) else role
    grader: Grader | None = ModelGrader(AskingModel(InspectBackend(judge, cache))) if judge else None
    if reader == WORST_CASE:
        if str(model) not in _UNASKED:
            raise ReaderError(f"the reader {reader!r} asks no model: take --model none, or -T reader=agent for {model}")
        return replace(shared, grader=grader)
    if str(model) == _UNASKED[0]:
        raise ReaderError("an agent needs a model: name one with --model, or take -T reader=worst-case")
    agent = AgentReader(AskingModel(InspectBackend(model, cache)), repeat=repeat)
    return replace(shared, reader=agent, grader=grader or MarkerGrader())


def _explained(outcome: Outcome) -> str:
    """Each decision, and what the model and the user were shown."""
    decisions = [
        f"{at}. {write.part}, {write.source}: {write.effect} ({', '.join(write.rules) or 'no rule'})"
        for at, write in enumerate(outcome.writes, 1)
    ]
    shown = {"context": outcome.context, "notice to the user": outcome.notice, "reply": outcome.reply}
    return "\n\n".join(["\n".join(decisions), *(f"{name}:\n{text or '(nothing)'}" for name, text in shown.items())])
