"""inspect-ai tasks: every score is that of ``thymus-eval``, a log holds each decision, and models are inspect's own."""

from __future__ import annotations

import gc
import inspect
import json
import re
import runpy
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factory import run as made_up

import thymus_bench
from thymus import ThymusError
from thymus.errors import MissingExtraError
from thymus.llm.asking import AskingModel
from thymus.llm.echo import Echo
from thymus.llm.model import Completion, Request
from thymus_bench.agent import REFUSED, AgentReader
from thymus_bench.engine import Run, begin, open_stages, play_run
from thymus_bench.grade import MarkerGrader
from thymus_bench.metrics import METRICS, figure, summarise
from thymus_bench.outcomes import Outcome
from thymus_bench.play import play

TASKS = Path(thymus_bench.__file__).with_name("tasks.py")
QUICK: dict[str, Any] = {"suite": "families", "embedder": "hash", "gate_judge": "typed"}
PLAYS = Run(gates=("thymus-v3",), suites=("families",), only="home-b", embedder="hash", gate_judge="typed")
"""Two families, six scenarios."""


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(MissingExtraError, match=r'pip install "thymus-memory\[eval\]"'):
        runpy.run_path(str(TASKS))


inspect_ai = pytest.importorskip("inspect_ai", reason="the extra [eval] is not installed")

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log  # noqa: E402
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model  # noqa: E402
from inspect_ai.scorer import SampleScore, Score  # noqa: E402

from thymus_bench.tasks import SCORED, PlayError, interval, outcomes, share  # noqa: E402
from thymus_bench.tasks import thymus_bench as the_task  # noqa: E402

Answer = Callable[[Request], Completion]


@pytest.fixture(autouse=True)
def a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("INSPECT_EVAL_MODEL", raising=False)
    monkeypatch.setattr("thymus.llm.asking._FIRST_WAIT_S", 0.0)


@contextmanager
def calm() -> Iterator[None]:
    """Without the warnings that inspect gives rise to, even later on when its streams are collected."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unclosed <MemoryObject", ResourceWarning)
        warnings.filterwarnings("ignore", "The 'initial' parameter", DeprecationWarning)  # between it and tenacity
        yield
        gc.collect()


def played(folder: Path, *, model: str | Model = "none", roles: Any = None, epochs: int = 1, **given: Any) -> EvalLog:
    """One eval, read back from the file that it wrote."""
    with calm():
        (log,) = inspect_ai.eval(
            the_task(**(QUICK | {"gate": "thymus-v3", "only": "home-b"} | given)),
            model=model,
            model_roles=roles,
            epochs=epochs,
            log_dir=str(folder),
            display="none",
            score_display=False,
        )
    return read_eval_log(log.location)


def echo(request: Request) -> Completion:
    return Echo().complete(request, timeout=60.0)


def mock(answer: Answer, asked: list[Request] | None = None) -> Model:
    """A model of inspect's that answers like a backend of ours."""

    def generate(messages: Sequence[Any], _tools: Any, _choice: Any, config: Any) -> ModelOutput:
        form = config.response_schema.json_schema.model_dump(exclude_none=True) if config.response_schema else None
        request = Request(
            instructions=messages[0].text,
            prompt=messages[1].text,
            form=form,
            prompt_version="",
            repeat=0,
            max_tokens=config.max_tokens,
        )
        if asked is not None:
            asked.append(request)
        done = answer(request)
        output = ModelOutput.from_content("mockllm", done.text, "content_filter" if done.refusal else "stop")
        output.usage = ModelUsage(input_tokens=done.usage.tokens_in, output_tokens=done.usage.tokens_out)
        return output

    return get_model("mockllm/model", custom_outputs=generate, memoize=False)


def plain(found: Sequence[Outcome]) -> list[Outcome]:
    """In the order of scenarios, without what two runs may differ in."""
    bare = [replace(one, model="", costs=tuple(replace(cost, ms=0.0) for cost in one.costs)) for one in found]
    return sorted(bare, key=lambda one: one.key)


def values(log: EvalLog) -> dict[str, dict[str, float]]:
    assert log.results
    return {
        one.name: {name.rpartition("/")[2]: each.value for name, each in one.metrics.items()}
        for one in log.results.scores
    }


# The worst case, without a model


def test_scores_are_those_of_a_run_and_the_log_holds_every_decision(tmp_path: Path) -> None:
    begin(PLAYS, tmp_path / "run")
    expected = play_run(tmp_path / "run", jobs=1)
    log = played(tmp_path / "logs")
    assert log.status == "success"
    assert plain(expected) == plain(outcomes(log))
    measured = values(log)
    assert set(measured) == set(SCORED)
    for name, found in measured.items():
        told = figure(expected, METRICS[name])
        assert (name, told["share"]) == (name, pytest.approx(found["share"], abs=1e-4))
        assert (told["low"], told["high"]) == pytest.approx((found["interval_low"], found["interval_high"]), abs=1e-4)
        assert found["stderr"] >= 0
    assert [Path(one.name).name for one in list_eval_logs(str(tmp_path / "logs"))] == [Path(log.location).name]
    assert log.samples
    for sample in log.samples:
        outcome = next(one for one in expected if one.scenario == sample.id)
        shown = sample.scores["play"].explanation if sample.scores else None
        assert shown
        assert outcome.context in shown
        assert outcome.notice in shown
        for write in outcome.writes:
            assert f"{write.source}: {write.effect} ({', '.join(write.rules) or 'no rule'})" in shown
        assert outcome.reply == sample.output.completion
    assert log.eval.viewer
    assert log.eval.viewer.trust_content is False
    headline = log.results and log.results.headline
    assert headline
    assert (headline.score, str(headline.metric).rpartition("/")[2]) == ("attack_success", "share")


def test_a_category_alone_leaves_the_others_unmeasured(tmp_path: Path) -> None:
    log = played(tmp_path, category="benign")
    assert log.results
    scored = {one.name: one.scored_samples for one in log.results.scores}
    assert {name for name, many in scored.items() if many} == {"benign_accuracy"}
    assert (values(log)["attack_success"]["interval_low"], values(log)["attack_success"]["interval_high"]) == (0, 1)


@pytest.mark.parametrize("name", ["attack_success", "update_told", "old_kept", "benign_accuracy"])
@pytest.mark.parametrize("repeats", [1, 3])
def test_metrics_are_those_of_the_tables_with_repeats_too(name: str, repeats: int) -> None:
    """Families count as they depend, and repeats of a scenario count once, as inspect's reducer has it."""
    given = [replace(one, family=one.family[:-1]) for one in made_up(["thymus-v3"], families=60, repeats=repeats)]
    scores = []
    for scenario in sorted({one.scenario for one in given}):
        counts = [(METRICS[name].count(one), one.family) for one in given if one.scenario == scenario]
        hits, of = (sum(count[at] for count, _ in counts) for at in (0, 1))
        if of:
            scores.append(SampleScore(score=Score(value=hits / of), sample_metadata={"family": counts[0][1]}))
    told, found = figure(given, METRICS[name]), interval()(scores)  # type: ignore[arg-type]
    assert isinstance(found, dict)
    assert (told["low"], told["high"]) == pytest.approx((found["low"], found["high"]), abs=1e-4)
    assert told["share"] == pytest.approx(share()(scores), abs=1e-4)  # type: ignore[arg-type]


# The agent, over a model that inspect hands in


def test_the_agent_asks_the_model_of_the_eval_and_plays_as_ours_does(tmp_path: Path) -> None:
    run = replace(PLAYS, category="attack")
    (stage,) = open_stages(run)
    stage = replace(stage, reader=AgentReader(AskingModel(Echo())), grader=MarkerGrader())
    expected = [play(one, "thymus-v3", stage) for one in run.load()]
    asked: list[Request] = []
    log = played(tmp_path / "logs", model=mock(echo, asked), reader="agent", category="attack")
    ours = [replace(one, costs=()) for one in plain(outcomes(log))]
    assert [replace(one, costs=()) for one in plain(expected)] == ours
    assert {one.model for one in outcomes(log)} == {"mockllm/model"}
    assert {cost.job for one in outcomes(log) for cost in one.costs} == {"write", "recall", "extract", "answer"}
    assert any(request.form for request in asked)
    assert all(json.dumps(request.form)[:20] in request.instructions for request in asked if request.form)
    assert log.samples
    assert all(any(event.event == "model" for event in sample.events) for sample in log.samples)
    before = len(asked)
    again = played(tmp_path / "more", model=mock(echo, asked), reader="agent", category="attack")
    assert len(asked) == before, "every answer was in the cache"
    assert plain(outcomes(again)) == plain(outcomes(log))


def test_a_grader_has_a_role_and_epochs_are_repeats(tmp_path: Path) -> None:
    def no(request: Request) -> Completion:
        return replace(echo(request), text='{"yes": false}')

    graded: list[Request] = []
    log = played(
        tmp_path,
        model=mock(echo),
        roles={"grader": mock(no, graded)},
        reader="agent",
        only="home-bin-day--attack",
        gate="allow-all",
        epochs=2,
    )
    found = outcomes(log)
    assert [one.repeat for one in found] == [0, 1]
    for one in found:
        assert one.markers
        assert one.verdict
        assert (one.markers.mentioned, one.verdict.mentioned, one.adopted) == (True, False, False)
        assert "grade" in {cost.job for cost in one.costs}
    assert graded
    assert summarise(found)["repeats"] == 2
    assert values(log)["attack_success"]["share"] == 0


def test_a_refusal_is_no_answer_and_a_broken_form_is_asked_again(tmp_path: Path) -> None:
    asked: list[Request] = []

    def odd(request: Request) -> Completion:
        if request.form is None:
            return replace(echo(request), refusal="no")
        seen = sum(one.prompt == request.prompt for one in asked)
        return replace(echo(request), text="{") if seen == 1 else echo(request)

    log = played(tmp_path, model=mock(odd, asked), reader="agent", only="home-bin-day--attack")
    (found,) = outcomes(log)
    assert found.reply == REFUSED
    assert not found.error
    assert any(write.claims for write in found.writes)


# What cannot be played


def test_a_play_that_fails_is_an_error_of_its_sample(tmp_path: Path) -> None:
    log = played(tmp_path, model=mock(lambda request: replace(echo(request), text=" ")), reader="agent")
    assert log.status == "error"
    assert log.error
    assert PlayError.__name__ in log.error.message


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"gate": "open"}, "no gate is called 'open'"),
        ({"suite": "none"}, "no suite is called 'none'"),
        ({"suite": ["core", "none"]}, "no suite is called 'none'"),
        ({"category": "evil"}, "no category is called 'evil'"),
        ({"only": "nothing-has-this"}, "fits --only"),
        ({"reader": "eager"}, "there is no reader 'eager'"),
    ],
)
def test_a_wrong_parameter_says_what_there_is(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ThymusError, match=says):
        the_task(**(QUICK | given))


@pytest.mark.parametrize(
    ("model", "reader", "says"),
    [("none", "agent", "an agent needs a model"), ("mockllm/other", "worst-case", "asks no model")],
)
def test_a_log_is_never_headed_by_a_model_that_was_not_asked(
    tmp_path: Path, model: str, reader: str, says: str
) -> None:
    log = played(tmp_path, model=model, reader=reader, category="benign")
    assert log.status == "error"
    assert log.error
    assert says in log.error.message


def test_all_is_every_suite() -> None:
    assert len(the_task(suite="all", embedder="hash", gate_judge="typed").dataset) > len(the_task(**QUICK).dataset)


# The page about it


def test_the_page_runs_and_names_every_parameter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "inspect.md").read_text("utf-8")
    named = "".join(re.findall(r"^\|(.*?)\|", page, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", named)) >= set(inspect.signature(the_task).parameters)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INSPECT_DISPLAY", "none")
    (code,) = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    with calm():
        exec(code, {})
    printed = capsys.readouterr().out
    assert "allow-all" in printed
    assert "thymus-v4" in printed
