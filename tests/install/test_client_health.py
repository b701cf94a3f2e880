"""What ``doctor`` says of the clients: connected as they should be, or what is wrong and how to put it right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from install_helpers import config, connect, machine, settings

from thymus.cli import client_health
from thymus.cli.client_health import findings
from thymus.cli.health import Finding
from thymus.config import Settings
from thymus.hooks import places, spool
from thymus.install import CLIENTS, Surroundings

EXTRA = "thymus.cli.client_health.find_spec"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Surroundings:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setenv(places.STATE, str(tmp_path / "state"))
    monkeypatch.setattr(client_health, "find_spec", lambda _: object())
    return machine(tmp_path)


def found(here: Surroundings, **options: str) -> list[Finding]:
    return list(findings(Settings.read(**options, environment={}), here))


def change(path: Path, edit: Any) -> None:
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value))


def only(here: Surroundings, **options: str) -> Finding:
    (one,) = found(here, **options)
    return one


def test_no_client_no_finding(here: Surroundings) -> None:
    assert found(here) == []


def test_a_client_that_does_not_use_thymus_is_no_fault(here: Surroundings) -> None:
    config("cursor", here)
    assert Finding(name="Cursor", state="ok", found="not connected (`thymus install cursor` would)") == only(here)


def test_all_is_well_after_an_installation(here: Surroundings) -> None:
    for client in CLIENTS:
        connect(client, here)
    said = [(one.name, one.state, one.found) for one in found(here)]
    assert said == [
        ("Claude Code", "ok", "connected: the server and all hooks"),
        ("Claude Desktop", "ok", "connected: the server"),
        ("Cursor", "ok", "connected: the server"),
        ("VS Code", "ok", "connected: the server"),
    ]


def test_an_old_path_after_an_upgrade_of_python(here: Surroundings) -> None:
    config("cursor", here).write_text(
        json.dumps({"mcpServers": {"thymus": {"command": "/gone/python3.10/bin/thymus-mcp"}}})
    )
    one = only(here)
    assert (one.state, one.remedy) == ("fail", "`thymus install cursor` names this installation")
    assert "/gone/python3.10/bin/thymus-mcp is not there" in one.found


def test_another_installation_is_asked_its_version(here: Surroundings, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = machine(tmp_path / "other")
    command = str(other.scripts[0] / "thymus-mcp")
    config("cursor", here).write_text(json.dumps({"mcpServers": {"thymus": {"command": command}}}))
    one = only(here)
    assert one.state == "warn"
    assert "another installation" in one.found
    assert "version 9.9.9" in one.found
    Path(command).write_text("#!/bin/sh\nexit 1\n")
    assert ("fail", f"{command} does not run") == (only(here).state, only(here).found)


def test_what_a_project_names_is_not_run(here: Surroundings, tmp_path: Path) -> None:
    planted = here.project / "thymus-mcp"
    planted.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho 1\n")
    planted.chmod(0o755)
    (here.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"thymus": {"command": str(planted)}}}))
    said = [one for one in found(here) if one.name == "Claude Code, project"]
    assert [one.state for one in said if "not this installation" in one.found] == ["warn"]
    assert not (tmp_path / "ran").exists()


def test_a_missing_package_is_told_of(here: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    connect("cursor", here)
    monkeypatch.setattr(client_health, "find_spec", lambda _: None)
    assert (only(here).state, only(here).remedy) == ("fail", 'pip install "thymus-memory[mcp]"')


@pytest.mark.parametrize(("said", "state"), [('{"mcpServers": {"thymus": }}', "fail"), ("{", "warn")])
def test_broken_json(said: str, state: str, here: Surroundings) -> None:
    config("cursor", here).write_text(said)
    one = only(here)
    assert state == one.state
    assert "line 1, column" in one.found
    assert "reads nothing of it" in one.remedy


def test_a_comment_in_the_settings_of_claude_code(here: Surroundings) -> None:
    connect("claude-code", here)
    settings(here).write_text("// mine\n" + settings(here).read_text())
    assert any("a comment, which is not JSON" in one.found and one.state == "fail" for one in found(here))


def test_another_server_of_our_name(here: Surroundings) -> None:
    config("cursor", here).write_text('{"mcpServers": {"thymus": {"command": "x"}}}')
    assert (only(here).state, only(here).found) == ("warn", "another server is called thymus there")


def test_hooks_that_are_missing_or_switched_off(here: Surroundings) -> None:
    connect("claude-code", here)
    change(settings(here), lambda value: value["hooks"].pop("PostToolUse"))
    assert (only(here).state, only(here).found) == ("warn", "hooks are missing: PostToolUse")
    change(settings(here), lambda value: value.update(disableAllHooks=True))
    assert any("switched off" in one.found for one in found(here))
    change(settings(here), lambda value: value.update(hooks={}, disableAllHooks=False))
    assert (only(here).state, only(here).found) == ("fail", "hooks are missing: all")


def test_rules_that_are_missing(here: Surroundings) -> None:
    connect("claude-code", here)
    change(settings(here), lambda value: value["permissions"].update(deny=["Bash(thymus:*)"]))
    one = only(here)
    assert (one.state, one.remedy) == ("warn", "`thymus install claude-code` adds what is missing")
    assert one.found.endswith("rules are missing that the assistant may not speak for you")


def test_what_became_of_the_events(here: Surroundings, tmp_path: Path) -> None:
    connect("claude-code", here)
    assert [one.state for one in found(here)] == ["ok"]
    spool.count_unread()
    spool.count_unread()
    spool.set_aside(spool.put(b"x"))
    squatted = tmp_path / f"thymus-{places.account()}"
    squatted.mkdir(exist_ok=True)
    squatted.chmod(0o755)
    said = [(one.name, one.state, one.found) for one in found(here) if one.name == "hooks"]
    assert said == [
        ("hooks", "warn", "2 events could not be read: too long, nested too deep, or damaged"),
        ("hooks", "warn", "1 event could never be learned"),
        ("hooks", "warn", f"{squatted} is open to others, or somebody else's"),
    ]
    (tmp_path / "state").chmod(0o755)
    assert [one.state for one in found(here) if one.name == "hooks"] == ["fail"]


def test_what_a_memory_that_fails_holds_up(here: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    connect("claude-code", here)
    spool.put(b"{}")
    monkeypatch.setattr("thymus.hooks.wire.ask", lambda *_: {"failures": ["the disk is full"]})
    assert ("fail", "1 event waits: the disk is full") in [(one.state, one.found) for one in found(here)]


def test_what_a_project_sets_for_the_hooks_is_told_of(here: Surroundings) -> None:
    connect("claude-code", here)
    shared = here.project / ".claude" / "settings.json"
    shared.parent.mkdir()
    shared.write_text(json.dumps({"env": {"THYMUS_HOOK_PROGRAMS": "user", "LD_PRELOAD": "/x.so", "EDITOR": "vi"}}))
    said = [one for one in found(here) if one.name == "Claude Code, project"]
    assert [(one.state, one.found) for one in said] == [
        ("warn", f"{shared} sets THYMUS_HOOK_PROGRAMS"),
        ("warn", f"{shared} sets LD_PRELOAD"),
    ]
    change(settings(here), lambda value: value.setdefault("env", {}).update(PYTHONPATH="/x"))
    assert [one.found for one in found(here) if one.name == "Claude Code"] == [f"{settings(here)} sets PYTHONPATH"]


def test_hooks_without_a_server_and_hooks_of_another_installation(here: Surroundings) -> None:
    connect("claude-code", here)

    def move(value: Any) -> None:
        for groups in value["hooks"].values():
            groups[0]["hooks"][0]["command"] = "/gone/thymus"

    change(settings(here), move)
    change(config("claude-code", here), lambda value: value.update(mcpServers={}))
    assert [(one.state, one.found) for one in found(here) if "server" in one.found] == [
        ("fail", "the server is missing, the hooks are there")
    ]
    assert len([one for one in found(here) if "/gone/thymus is not there" in one.found]) == 1


def test_a_client_that_keeps_another_memory(here: Surroundings) -> None:
    connect("cursor", here, db="other.db", user="asha")
    assert only(here).state == "warn"
    assert f"{here.project / 'other.db'} of asha" in only(here).found
    assert only(here, db=str(here.project / "other.db"), user="asha").state == "ok"


def test_hooks_and_server_that_keep_two_memories(here: Surroundings) -> None:
    connect("claude-code", here, db="one.db")
    change(settings(here), lambda value: value["env"].update(THYMUS_DB="/two.db"))
    assert any(one.state == "fail" and "the hooks /two.db of me" in one.found for one in found(here))


def test_strange_configurations_are_no_trouble(here: Surroundings) -> None:
    strange = [
        3,
        "x",
        [],
        None,
        {"mcpServers": 3},
        {"mcpServers": {"thymus": 3}},
        {"hooks": {"Stop": [3, {"hooks": 3}]}},
    ]
    for value in strange:
        for path in (config("claude-code", here), settings(here)):
            path.write_text(json.dumps(value))
        assert {"ok", "warn"} >= {one.state for one in found(here)}
