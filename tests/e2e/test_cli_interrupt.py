"""Ctrl-C while a language model is asked: ``ingest`` ends at once, keeps what is counted, and goes on from there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from test_cli_llm import Reader, address, answer, reading

WAITS_S = 120.0
"""Seconds for which the model would keep it waiting."""
ANSWERED = 5
SAID = [f"Hall {n} has {n + 2} doors." for n in range(12)]


@pytest.fixture(autouse=True)
def own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("THYMUS_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("THYMUS_DB", str(tmp_path / "memory.db"))
    return tmp_path / "memory.db"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.csv"
    path.write_text("sender,text\n" + "".join(f"ravi,{said}\n" for said in SAID))
    return path


class Stuck:
    """A model that stops answering after some questions, until it is told to go on."""

    def __init__(self) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __call__(self, number: int, _: str) -> None:
        if number > ANSWERED:
            self.reached.set()
            self.go_on.wait(WAITS_S)


def interrupted(stuck: Stuck, server: Reader, *args: str) -> tuple[int, str, str, float]:
    command = [sys.executable, "-m", "thymus.cli", "ingest", *args, "--llm", address(server), "--concurrency", "2"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert stuck.reached.wait(60)
        began = time.monotonic()
        started.send_signal(signal.SIGINT)
        shown, complaint = started.communicate(timeout=60)
        return started.returncode, shown, complaint, time.monotonic() - began
    finally:
        started.kill()


@pytest.mark.parametrize("as_json", [False, True])
def test_it_does_not_wait_for_answers_that_are_under_way(notes: Path, as_json: bool) -> None:
    stuck = Stuck()
    with reading(before=stuck) as server:
        code, shown, complaint, took = interrupted(stuck, server, str(notes), *(["--json"] if as_json else []))
        stuck.go_on.set()
        assert (code, took < WAITS_S / 2) == (130, True)
        assert complaint.splitlines()[-1] == (
            "thymus: interrupted: what is counted above is kept; the same command goes on from there; answers that "
            "were still to come are not used, and may have to be paid"
        )
        kept = [memory["text"] for memory in answer("memories", "--limit", "99")]
        assert 1 <= len(kept) < len(SAID)
        told = json.loads(shown)["messages"] if as_json else int(shown.split(" messages read")[0].split()[-1])
        late = len(kept) - told  # it was being settled when that was counted
        assert late in (0, 1)
        found = answer("ingest", str(notes), "--llm", address(server))
    assert (found["done_before"], found["messages"], found["duplicates"]) == (told, len(SAID) - told, late)
    assert [memory["text"] for memory in answer("memories", "--limit", "99")] == SAID[::-1]


def test_of_a_dry_run_it_says_that_nothing_is_kept(notes: Path, own_memory: Path) -> None:
    stuck = Stuck()
    with reading(before=stuck) as server:
        code, _, complaint, took = interrupted(stuck, server, str(notes), "--dry-run")
        stuck.go_on.set()
    assert (code, took < WAITS_S / 2, own_memory.exists()) == (130, True, False)
    assert "thymus: interrupted: it was a dry run, so nothing is kept; answers" in complaint
