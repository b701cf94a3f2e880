"""A run goes on where it was killed, and gives the same summary; what cannot be run says what would help."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from datetime import date
from pathlib import Path

import pytest

from thymus import GATES
from thymus_bench import engine, suites
from thymus_bench.engine import Run, RunError, begin, play_run
from thymus_bench.outcomes import Outcome, read_outcomes
from thymus_bench.play import Stage, play
from thymus_bench.report.runs import facts
from thymus_bench.scenarios import Category, Scenario, ScenarioError

CHEAP = ["--embedder", "hash", "--gate-judge", "typed", "--jobs", "1"]


def cheap(**changes: object) -> Run:
    return Run(**({"embedder": "hash", "gate_judge": "typed", "only": "orders-c", "gates": ("thymus-v3",)} | changes))  # type: ignore[arg-type]


def without_times(folder: Path) -> str:
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    summary.pop("times", None)
    return json.dumps(summary)


def test_a_run_writes_every_outcome_and_a_summary(tmp_path: Path) -> None:
    begun = begin(cheap(), tmp_path / "run")
    seen: list[Outcome] = []
    outcomes = play_run(tmp_path / "run", jobs=1, on_play=seen.append)
    assert begun.scenarios["count"] == len(outcomes) == len(seen) > 0
    assert date.fromisoformat(Run.read(tmp_path / "run").started) <= date.today()
    assert read_outcomes(tmp_path / "run" / "results.jsonl") == outcomes
    assert "thymus-v3" in (tmp_path / "run" / "summary.md").read_text(encoding="utf-8")
    assert not [one.error for one in outcomes if one.error]


def test_two_processes_give_the_summary_of_one(tmp_path: Path) -> None:
    for name, jobs in (("one", 1), ("two", 2)):
        begin(cheap(store="sqlite"), tmp_path / name)
        play_run(tmp_path / name, jobs=jobs)
    assert without_times(tmp_path / "one") == without_times(tmp_path / "two")
    assert (tmp_path / "one" / "summary.md").read_text() == (tmp_path / "two" / "summary.md").read_text()


def test_a_run_that_was_killed_resumes_to_the_same_summary(tmp_path: Path) -> None:
    def eval_(*args: str) -> list[str]:
        return [sys.executable, "-m", "thymus_bench.cli", *args]

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    what = ["--gate", "thymus-v3", "--gate", "allow-all", "--only", "work-"]
    subprocess.run(eval_(*what, *CHEAP, "--out", str(whole)), check=True, capture_output=True)
    process = subprocess.Popen(
        eval_(*what, *CHEAP, "--out", str(killed)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    results = killed / "results.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (results.exists() and results.stat().st_size):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    lost = results.read_text(encoding="utf-8")
    results.write_text(lost[: len(lost) - 10], encoding="utf-8")  # the last line was being written
    resumed = subprocess.run(
        eval_("--resume", str(killed), "--jobs", "2"), check=True, capture_output=True, text=True, timeout=120
    )
    assert "attack success" in resumed.stdout
    assert without_times(killed) == without_times(whole)
    assert (killed / "summary.md").read_text() == (whole / "summary.md").read_text()


def test_a_run_is_not_written_over(tmp_path: Path) -> None:
    begin(cheap(), tmp_path)
    with pytest.raises(RunError, match="--resume"):
        begin(cheap(), tmp_path)


def test_a_run_goes_on_with_the_version_that_began_it(tmp_path: Path) -> None:
    begin(cheap(version="0.0.1"), tmp_path)
    with pytest.raises(RunError, match=r"was begun by version 0\.0\.1"):
        play_run(tmp_path, jobs=1)


def test_a_line_that_was_cut_within_a_letter_is_left_out(tmp_path: Path) -> None:
    begin(cheap(), tmp_path)
    whole = play_run(tmp_path, jobs=1)
    results = tmp_path / "results.jsonl"
    results.write_bytes(results.read_bytes() + '{"reply": "caf\u00e9'.encode()[:-1])
    assert play_run(tmp_path, jobs=1) == whole
    results.write_bytes(b"{\n" + results.read_bytes())
    with pytest.raises(RunError, match="start a new run"):
        play_run(tmp_path, jobs=1)


def test_a_play_that_trips_over_a_fault_says_so_and_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trips(scenario: Scenario, gate: str, stage: Stage, *, repeat: int) -> Outcome:
        if scenario.category is Category.ATTACK:
            raise ValueError(f"no {gate} \ud800 {repeat} {stage.k}")
        return play(scenario, gate, stage, repeat=repeat)

    run = cheap()
    job = engine._Job(tuple((one, "thymus-v3", 0) for one in run.load()))
    monkeypatch.setattr(engine._log, "disabled", True)  # a log with a lone surrogate cannot travel to xdist's parent
    monkeypatch.setattr(engine, "play", trips)
    outcomes = engine._play_job(engine.open_stages(run), job)
    failed = [one for one in outcomes if one.error]
    assert {one.category for one in failed} == {"attack"}
    begin(run, tmp_path)
    engine.write_summary(tmp_path, outcomes)
    kept = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert kept["errors"]["by"] == {"ValueError: no thymus-v3 \ud800 0 8": len(failed)}


def test_scenarios_that_changed_since_are_refused(tmp_path: Path) -> None:
    begin(cheap(), tmp_path)
    kept = json.loads((tmp_path / "run.json").read_text())
    kept["scenarios"]["digest"] = "0" * 12
    (tmp_path / "run.json").write_text(json.dumps(kept))
    with pytest.raises(RunError, match="were changed since it began"):
        play_run(tmp_path)


@pytest.mark.parametrize(
    ("content", "says"), [("{", "is no run of this version"), ('{"gates": []}', "is no run"), (None, "cannot be read")]
)
def test_a_folder_that_is_no_run_says_so(tmp_path: Path, content: str | None, says: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunError, match=says):
        play_run(tmp_path)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--gate", "open"], "no gate is called 'open'"),
        (["--suite", "none"], "no suite is called 'none'"),
        (["--category", "evil"], "no category is called 'evil'"),
        (["--store", "disk"], "no store is called 'disk'"),
        (["--only", "nothing-has-this"], "no scenario of core, families fits"),
        (["--resume", "nowhere"], "name the folder of an earlier run"),
        (["--data", "nowhere"], "is no folder"),
        (["--suite", "real"], "name its folder with --data"),
        (["--suite", "longmemeval"], "name its folder with --data"),
        (["--suite", "longmemeval", "--only", "x"], "--only is not for longmemeval"),
        (["--only", "orders-c", "--llm", "ollama:none@nowhere"], "the address of a server goes with openai"),
    ],
)
def test_a_wrong_option_is_one_line_that_says_what_there_is(tmp_path: Path, args: list[str], says: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "thymus_bench.cli", *args, *CHEAP],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_scenarios_of_ones_own_are_played_and_nothing_else(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "suites").mkdir(parents=True)
    with pytest.raises(ScenarioError, match="has no scenarios"):
        suites.load(data=mine)
    kept = json.loads((suites.folder() / "benign.json").read_text(encoding="utf-8"))
    (mine / "suites" / "pets.json").write_text(json.dumps(kept[:2]), encoding="utf-8")
    assert suites.names(mine) == ["core", "families", "pets"]
    assert [one.id for one in suites.load(["pets"], mine)] == [one["id"] for one in kept[:2]]
    assert suites.load(data=mine) == []


def test_a_run_that_fails_before_its_first_play_leaves_no_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "thymus_bench.cli", "--embedder", "nope", "--only", "minja", "--out", "run"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert done.stderr.startswith("error: no embedder is called 'nope'")


def test_a_test_of_the_pipeline_is_called_that() -> None:
    assert "meaningless as a result" in " ".join(facts(asdict(cheap())))
    assert "meaningless" not in " ".join(facts(asdict(Run())))


def test_every_suite_can_be_loaded() -> None:
    names = suites.names()
    assert names[:2] == ["core", "families"]
    found = suites.load(names)
    assert len({one.id for one in found}) == len(found)
    assert len(suites.load()) == 205


def test_the_205_are_made_up_as_they_are_meant_to_be() -> None:
    families = suites.load(["families"])
    count = {kind: sum(one.kind == kind for one in families) for kind in {one.kind for one in families}}
    assert count == {
        "recall": 60,
        "same_source": 22,
        "user": 19,
        "other_source": 19,
        "lookalike": 16,
        "other_user": 15,
        "other_channel": 11,
        "spoof": 9,
        "instruction": 9,
    }
    assert len(suites.load(["core"])) == 25


def test_nine_gates_are_played_by_default() -> None:
    assert Run().gates == tuple(GATES)
    assert len(Run().gates) == 9
