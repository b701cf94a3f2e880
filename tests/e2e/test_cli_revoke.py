"""The command line around revoking: what it would cost, asking first, and who said what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from thymus.cli import decisions
from thymus.cli.program import app

EVIL, TRUE, SHOP = "email:post@parce1s.example", "email:post@parcels.example", "web:shop.example"


@pytest.fixture(autouse=True)
def own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("THYMUS_USER", "THYMUS_DEBUG", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("THYMUS_GATE", "thymus-v3")
    monkeypatch.setenv("THYMUS_LLM", "typed")
    monkeypatch.setenv("THYMUS_DB", str(tmp_path / "memory.db"))
    monkeypatch.setenv("COLUMNS", "200")
    run("remember", "The parcel arrives at 9:15.", "--source", EVIL, "--authenticated")
    run("remember", "The parcel arrives at 7:45.", "--source", TRUE, "--authenticated")


def run(*args: str, given: str = "", code: int = 0) -> Result:
    done = CliRunner().invoke(app, list(args), input=given)
    assert done.exit_code == code, done.output
    return done


def answer(*args: str) -> Any:
    return json.loads(run(*args, "--json").stdout)


def statuses() -> set[tuple[str, str]]:
    return {(memory["source"], memory["status"]) for memory in answer("memories", "--status", "all")}


BEFORE = {(EVIL, "active"), (TRUE, "contested")}
AFTER = {(EVIL, "retracted"), (TRUE, "active")}


def test_a_dry_run_shows_the_cost_and_changes_nothing() -> None:
    shown = run("revoke", EVIL, "--dry-run").stdout
    assert "Memories that it retracts: 1; others that stand differently then: 1." in shown
    assert "retracted (was active)" in shown
    assert "active (was contested)" in shown
    assert "9:15" in shown
    assert answer("revoke", EVIL, "--dry-run")["seq"] == 0
    assert statuses() == BEFORE


def test_at_a_terminal_it_asks_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "at_terminal", lambda: True)
    refused = run("revoke", EVIL, given="n\n")
    assert "Memories that it retracts: 1" in refused.stderr
    assert "Nothing was changed." in refused.stderr
    assert statuses() == BEFORE
    assert "Act 3; `thymus undo 3` takes it back." in run("revoke", EVIL, given="y\n").stdout
    assert statuses() == AFTER


def test_it_does_not_ask_where_it_is_told_not_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "at_terminal", lambda: True)
    run("revoke", EVIL, "--yes")
    assert statuses() == AFTER
    run("undo", "3")
    assert statuses() == BEFORE


def test_where_nobody_can_be_asked_it_wants_a_yes() -> None:
    for args in ((), ("--json",)):
        assert "--yes" in run("revoke", EVIL, *args, code=2).stderr
    assert statuses() == BEFORE
    run("revoke", EVIL, "--dry-run")
    assert answer("revoke", EVIL, "--yes")["seq"] == 3
    assert statuses() == AFTER


def test_of_a_source_that_never_spoke_it_says_so_with_the_names_most_like_it() -> None:
    mistyped = "email:post@parcel.example"
    for args in (("--dry-run",), ("--yes",)):
        shown = run("revoke", mistyped, *args).stdout
        assert f"{mistyped} has said nothing here: the names most like it are {TRUE}" in shown
        assert "`thymus sources` lists who has" in run("revoke", "sms:+4915112345678", *args).stdout
        told = run("revoke", mistyped, *args, "--json")
        assert json.loads(told.stdout)["seq"] == 0
        assert "has said nothing here" in told.stderr
    run("revoke", EVIL, "--yes")
    assert "has said nothing" not in run("revoke", EVIL, "--yes").stdout


def test_sources_tell_where_what_is_active_is_proved_less() -> None:
    run("remember", "The depot is in Leeds.", "--source", SHOP)
    run("remember", "The parcel arrives at 6:10.", "--source", SHOP, "--authenticated")
    found = {record["source"]: record for record in answer("sources")}
    assert (found[SHOP]["assurance"], found[SHOP]["active_assurances"]) == ("authenticated", ["claimed"])
    shown = run("sources").stdout
    assert "authenticated (active: claimed)" in shown
    assert "proved as" in shown
    assert "retracts: memories gone with the source" in shown
    assert found[EVIL]["active_assurances"] == ["authenticated"]


def test_sources_tell_what_rests_on_them() -> None:
    run("remember", "The parcel is large.", "--source", SHOP, "--derived-from", EVIL)
    found = {record["source"]: record for record in answer("sources")}
    assert [found[EVIL][name] for name in ("active", "would_retract", "may_change")] == [1, 2, 1]
    assert (found[EVIL]["held_back"], found[EVIL]["against"]) == ([], [])
    assert [found[TRUE][name] for name in ("contested", "would_retract", "may_change")] == [1, 1, 0]
    assert found[TRUE]["held_back"] == [memory["id"] for memory in answer("inbox")]
    assert found[TRUE]["against"] == [EVIL]
    shown = run("sources").stdout
    assert "retracts" in shown
    assert "held back against" in shown


def test_who_only_repeats_is_no_source() -> None:
    run("remember", "I live in Oslo.")
    run("remember", "I live in Oslo.", "--source", SHOP)
    assert {EVIL, TRUE, "user"} == {record["source"] for record in answer("sources")}
