"""The command ``thymus install``: what it shows, asks, writes and says, and that the screen has no value of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from thymus.cli import installing
from thymus.cli.program import app
from thymus.install import CLIENTS

SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DB", "GATE", "LLM", "USER", "DEBUG"):
        monkeypatch.delenv(f"THYMUS_{name}", raising=False)
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "FORCE_COLOR", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    (tmp_path / ".cursor").mkdir()
    return tmp_path


def run(*args: str, given: str = "", code: int = 0) -> Result:
    done = CliRunner().invoke(app, ["install", *args], input=given)
    assert (code, done.exit_code) == (done.exit_code, code), done.output
    return done


def answer(*args: str) -> Any:
    return json.loads(run(*args, "--json").stdout)


def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "at_terminal", lambda: True)


def test_it_shows_the_change_asks_and_writes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_a_terminal(monkeypatch)
    path = home / ".cursor/mcp.json"
    path.write_text(json.dumps({"mcpServers": {"github": {"env": {"TOKEN": SECRET}}}}, indent=2))
    done = run("cursor", "--db", "m.db", given="y\n")
    assert f"{path} (changed)" in done.stdout
    assert '+    "thymus": {' in done.stdout
    assert "+        " in done.stdout
    assert '"TOKEN": "…"' in done.stdout
    assert SECRET not in done.output
    assert "what was there before: " in done.stdout
    assert "Cursor notices by itself" in done.stdout
    assert SECRET in path.read_text()
    args = json.loads(path.read_text())["mcpServers"]["thymus"]["args"]
    assert ["--db", str(home / "project/m.db")] == args[-2:]


def test_a_no_changes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_a_terminal(monkeypatch)
    for given in ("n\n", "\n"):
        assert "nothing was changed" in run("cursor", given=given, code=1).stderr
    assert list((home / ".cursor").iterdir()) == []


def test_without_a_terminal_it_asks_for_a_yes_beforehand(home: Path) -> None:
    assert "add --yes" in run("cursor", code=2).stderr
    assert "add --yes" in run("cursor", "--json", code=2).stderr
    assert not (home / ".cursor/mcp.json").exists()
    run("cursor", "--yes")
    assert "nothing to change" in run("cursor", "--yes").stdout


def test_a_dry_run_shows_and_writes_nothing(home: Path) -> None:
    assert "UserPromptSubmit" in run("claude-code", "--dry-run").stdout
    shown = answer("claude-code", "--dry-run")
    assert (shown["changed"], shown["written"]) == (True, False)
    assert [str(home / ".claude.json"), str(home / ".claude/settings.json")] == [
        each["path"] for each in shown["files"]
    ]
    assert {".cursor", "project"} == {path.name for path in home.iterdir()}


def test_json_says_all_of_it(home: Path) -> None:
    done = answer("vscode", "--scope", "project", "--yes")
    assert tuple(done[key] for key in ("client", "scope", "changed", "written", "copies")) == (
        "vscode",
        "project",
        True,
        True,
        [],
    )
    assert any("paths of this machine" in note for note in done["notes"])
    assert any("was not found" in note for note in done["notes"])
    assert {"client": "vscode", "changed": False, "written": False}.items() <= answer(
        "vscode", "--scope", "project", "--yes"
    ).items()
    gone = answer("vscode", "--scope", "project", "--uninstall", "--yes")
    assert [each["gone"] for each in gone["files"]] == [True]
    assert not (home / "project/.vscode/mcp.json").exists()


@pytest.mark.parametrize("client", CLIENTS)
def test_what_was_installed_is_taken_out_again(client: str, home: Path) -> None:
    run(client, "--yes")
    assert "removed" in run(client, "--uninstall", "--yes").stdout
    assert [path for path in home.rglob("*.json") if path.is_file()] == []
    assert "nothing to change" in run(client, "--uninstall", "--yes").stdout


def test_a_file_that_cannot_be_read_is_told_of_with_what_to_paste(home: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.write_text("{")
    done = run("cursor", "--yes", code=2)
    assert '"thymus": {' in done.stderr
    assert "line 1, column 2" in done.stderr
    assert path.read_text() == "{"


def test_a_model_that_needs_a_key_is_told_of() -> None:
    assert any("ANTHROPIC_API_KEY" in note for note in answer("cursor", "--llm", "anthropic:m", "--dry-run")["notes"])
    notes = answer("claude-desktop", "--llm", "anthropic:m", "--dry-run")["notes"]
    assert any("hands no ANTHROPIC_API_KEY on" in note for note in notes)
    assert not any("KEY" in note for note in answer("cursor", "--llm", "ollama:m", "--dry-run")["notes"])


def test_what_others_wrote_cannot_steer_the_terminal(home: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.write_text('{\n"\u202ea\u009b31m[red]":\u20281, \n "b": 2}'.replace("\u2028", " "))
    shown = run("cursor", "--dry-run").stdout
    assert "[red]" in shown
    assert not set("\x1b\u009b\u202e") & set(shown)


def test_a_line_that_is_too_long_is_laid_out(home: Path) -> None:
    (home / ".claude.json").write_text(json.dumps({"history": [SECRET * 100], "mcpServers": {}}))
    lines = answer("claude-code", "--dry-run")["files"][0]["diff"]
    assert SECRET not in "".join(lines)
    assert max(map(len, lines)) < 200


def test_the_choices_are_the_clients() -> None:
    assert list(CLIENTS) == [which.value for which in installing.Which]
