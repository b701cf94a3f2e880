"""What was handed over stays until the memory has it; what ends every process that learns it is set aside."""

from __future__ import annotations

import json
import os
import socket
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from thymus.hooks import places, spool
from thymus.hooks.resident import Resident, _Ask
from thymus.hooks.sessions import Scheduled


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(places.STATE, str(tmp_path / "state"))
    return tmp_path / "state"


class Ear:
    """In the place of a ``Listener``: does what it is told to."""

    def __init__(self, *outcomes: Exception | None) -> None:
        self.outcomes = list(outcomes)
        self.heard: list[dict[str, Any]] = []

    def hear(self, item: dict[str, Any], say: Any, **_: Any) -> None:
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if outcome is not None:
            raise outcome
        self.heard.append(item)
        say({"systemMessage": "heard"})

    def failed(self, item: dict[str, Any], why: str) -> dict[str, Any]:
        return {"systemMessage": why}


def resident() -> Any:
    """One that nobody reaches: its line is closed."""
    with socket.socket() as line:
        return Resident("nowhere", line, "", 1.0)


def learn(ours: Any, ear: Ear, name: str) -> dict[str, Any]:
    """What somebody who waits is answered."""
    ask = _Ask({"wait": 5})
    ours._learn(ear, name, ask)
    return ask.answer


def test_events_come_back_in_order_and_only_for_this_account(state: Path) -> None:
    names = [spool.put(str(number).encode()) for number in range(5)]
    assert spool.waiting() == names
    assert [spool.take(name) for name in names] == [b"0", b"1", b"2", b"3", b"4"]
    assert {path.stat().st_mode & 0o077 for path in [state, *state.rglob("*")]} == {0}


def test_a_name_leads_nowhere_else(state: Path) -> None:
    (state.parent / "secret").write_text("x")
    spool.folder()
    with pytest.raises(OSError, match="No such file"):
        spool.take("../../secret")


def test_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MOST_WAITING", 3)
    for _ in range(3):
        spool.put(b"x")
    with pytest.raises(spool.SpoolFullError, match="thymus doctor"):
        spool.put(b"x")
    monkeypatch.setattr(spool, "MOST_WAITING", 9)
    monkeypatch.setattr(spool, "MOST_BYTES", 10)
    with pytest.raises(spool.SpoolFullError):
        spool.put(b"12345678")


def test_an_event_that_is_learned_while_another_is_put(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted, and gone before it is measured."""
    name, listed = spool.put(b"x"), os.scandir

    def scandir(where: str) -> Any:
        with listed(where) as found:
            entries = list(found)
        spool.done(name)
        return nullcontext(entries)

    monkeypatch.setattr(os, "scandir", scandir)
    assert spool.take(spool.put(b"y")) == b"y"


def test_a_folder_of_others_is_refused(state: Path) -> None:
    state.mkdir(mode=0o700)
    state.chmod(0o755)
    with pytest.raises(places.PlaceError, match="chmod 700"):
        spool.put(b"x")


def test_an_event_that_could_not_be_kept_leaves_nothing(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        spool.put(b"x")
    assert list((state / "waiting").iterdir()) == []


def test_what_is_learned_leaves_the_spool() -> None:
    name, ear = spool.put(b'{"event": 1}'), Ear()
    assert learn(resident(), ear, name) == {"systemMessage": "heard"}
    assert (ear.heard, spool.waiting()) == ([{"event": 1}], [])
    assert learn(resident(), ear, name) == {}, "twice is once"


def test_what_cannot_be_learned_now_waits_and_holds_up_no_other_memory() -> None:
    one, other = spool.put(b"{}", memory=1), spool.put(b"{}", memory=2)
    ours, ear = resident(), Ear(spool.LaterError("the disk is full"))
    assert ours._next() == (None, one)
    assert learn(ours, ear, one) == {"systemMessage": "the disk is full"}
    assert ours._next() == (None, other)
    assert learn(ours, ear, one) == {"systemMessage": "the disk is full"}, "at once, without another try"
    assert spool.waiting() == [one, other]


@pytest.mark.parametrize("given", [b"", b"\xff", b"[" * 100_000, b"{}"])
def test_what_can_never_be_learned_is_set_aside(given: bytes) -> None:
    name = spool.put(given)
    assert learn(resident(), Ear(ValueError("no")), name) == {}
    assert (spool.waiting(), spool.failed()) == ([], [name])


def test_what_ended_every_process_is_set_aside() -> None:
    """An exception that nothing catches plays the end of a process."""
    name = spool.put(b"{}")
    for _ in range(spool.ATTEMPTS):
        with pytest.raises(SystemExit):
            learn(resident(), Ear(SystemExit()), name)  # type: ignore[arg-type]
        assert spool.waiting() == [name]
    learn(resident(), Ear(), name)
    assert (spool.waiting(), spool.failed()) == ([], [name])


def test_scheduled_prompts_outlive_the_process(tmp_path: Path) -> None:
    Scheduled(tmp_path / "s.json").add(["Check  the deploy.", "x"])
    kept = Scheduled(tmp_path / "s.json")
    assert [kept.holds(words) for words in ("check the\ndeploy.", "X", "Check the deploy")] == [True, True, False]
    assert b"deploy" not in (tmp_path / "s.json").read_bytes()


@pytest.mark.parametrize("kept", ["", "[]", '{"a": "b"}', '{"a": null}', "\x00"])
def test_a_damaged_list_of_scheduled_prompts(tmp_path: Path, kept: str) -> None:
    (tmp_path / "s.json").write_text(kept)
    assert not Scheduled(tmp_path / "s.json").holds("x")


def test_the_list_of_scheduled_prompts_has_an_end(tmp_path: Path) -> None:
    found = Scheduled(tmp_path / "s.json")
    found.add(map(str, range(2_000)))
    assert (found.holds("0"), found.holds("1999")) == (False, True)
    assert len(json.loads((tmp_path / "s.json").read_bytes())) == 500
