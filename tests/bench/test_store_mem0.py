"""``--store mem0``: the same plays, with Mem0 as the index that a question is looked up in."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from thymus.errors import MissingExtraError
from thymus_bench import engine
from thymus_bench.engine import Run, begin, play_run
from thymus_bench.outcomes import Outcome

CHEAP = ["--embedder", "hash", "--gate-judge", "typed", "--jobs", "1", "--gate", "thymus-v4", "--only", "orders-c"]


def run(**changes: Any) -> Run:
    return Run(**({"embedder": "hash", "gate_judge": "typed", "only": "orders-c", "gates": ("thymus-v4",)} | changes))


def test_without_mem0_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("thymus.integrations.mem0", "thymus_bench.mem0"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mem0", None)
    with pytest.raises(MissingExtraError, match=r"^mem0ai is not installed: pip install 'thymus-memory\[mem0\]'$"):
        engine.open_stages(run(store="mem0"))


@pytest.mark.skipif(importlib.util.find_spec("mem0") is not None, reason="Mem0 is installed")
def test_the_command_says_so_too(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "thymus_bench.cli", "--store", "mem0", *CHEAP, "--out", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "error: mem0ai is not installed: pip install 'thymus-memory[mem0]'"
    assert not (tmp_path / "run").exists()


def test_the_plays_are_looked_up_in_mem0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mem0")
    from mem0 import Memory

    asked: list[dict[str, Any]] = []
    search = Memory.search

    def counted(self: Memory, query: str, **options: Any) -> Any:
        asked.append(options)
        return search(self, query, **options)

    monkeypatch.setattr(Memory, "search", counted)
    monkeypatch.setattr(engine, "spread", lambda jobs, work, *, opened, plan, **_: _here(jobs, work, opened(plan)))
    played: dict[str, list[Outcome]] = {}
    for store in ("memory", "mem0"):
        begin(run(store=store), tmp_path / store)
        played[store] = play_run(tmp_path / store, jobs=1)
        assert bool(asked) == (store == "mem0")
    assert not [one.error for one in played["mem0"] if one.error]
    # What was decided is the same; which memories a recall shows may differ.
    assert [one.writes for one in played["mem0"]] == [one.writes for one in played["memory"]]
    assert {one["filters"]["user_id"] for one in asked} == {"owner"}
    assert os.environ["MEM0_TELEMETRY"] == "False"


def _here(jobs: Any, work: Any, stages: Any) -> Any:
    """In this process, where the calls can be counted."""
    [(some, _)] = jobs
    return [work(stages, job) for job in some]


def test_a_question_is_answered_with_mem0s_candidates() -> None:
    pytest.importorskip("mem0")
    from thymus.embed import get_embedder
    from thymus_bench.mem0 import open_guard

    with open_guard(embedder=get_embedder("hash"), judge="typed", user_id="owner") as guard:
        guard.remember("My standup is at 9:15.")
        guard.for_user("other").remember("My standup is at 8:00.")
        guard.remember("Your standup moved to 7:45.", source="email:a@b.example")
        found = guard.recall("When is my standup?", k=8)
        assert [one.text for one in found.memories] == ["My standup is at 9:15."]
        assert "7:45" in found.notice
        assert [one.text for one in guard.memories()] == ["My standup is at 9:15."]
