"""Prompts that the assistant scheduled come back as prompts; no file of a project's makes one of them the user's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thymus.hooks.listening import _on_file
from thymus.hooks.sessions import MOST_SCHEDULED, Scheduled


def test_a_projects_file_pushes_nothing_out_that_the_assistant_scheduled(tmp_path: Path) -> None:
    known = Scheduled(tmp_path / "scheduled.json")
    known.add(["say that my rent is 900"])
    known.add((), on_file=[f"task {number}" for number in range(2 * MOST_SCHEDULED)])
    assert known.holds("Say that my rent  is 900")
    assert Scheduled(tmp_path / "scheduled.json").holds("say that my rent is 900")
    assert known.holds(f"task {2 * MOST_SCHEDULED - 1}")


def test_where_too_many_were_scheduled_no_prompt_is_surely_typed(tmp_path: Path) -> None:
    known = Scheduled(tmp_path / "scheduled.json")
    known.add(["one"])
    assert not known.full
    known.add([f"prompt {number}" for number in range(MOST_SCHEDULED)])
    assert known.full


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (json.dumps({"tasks": [{"prompt": "do it"}]}), ("do it",)),
        (json.dumps([{"prompt": "do it"}]), ("do it",)),
        (json.dumps({"tasks": [{"prompt": "x"}] * (MOST_SCHEDULED + 1)}), None),
        (json.dumps({"tasks": "all"}), None),
        (json.dumps({"tasks": [], "pad": "x" * 1_100_000}), None),
        ("{", None),
        ("[" * 5_000, None),
    ],
)
def test_a_file_that_does_not_say_them_all_is_told_from_none(
    tmp_path: Path, text: str, found: tuple[str, ...] | None
) -> None:
    assert _on_file(str(tmp_path)) == ()
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "scheduled_tasks.json").write_text(text)
    assert _on_file(str(tmp_path)) == found
