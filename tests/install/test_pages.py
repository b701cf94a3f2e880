"""The pages of the documentation: the configuration that they show is what is written, and their commands exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from install_helpers import config, connect, machine, settings
from typer.testing import CliRunner

from thymus.cli.program import app
from thymus.install import CLIENTS
from thymus.install.jsonc import read

ROOT = Path(__file__).parents[2]
PAGES = ["cursor", "vscode", "claude-desktop"]


def page(name: str) -> str:
    return (ROOT / CLIENTS[name].manual).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_configuration_on_a_page_is_what_is_written(name: str, tmp_path: Path) -> None:
    here = machine(tmp_path)
    connect(name, here)
    written = config(name, here).read_text().replace(str(here.scripts[0]), "BIN")
    (shown,) = re.findall(r"^```json\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)
    assert written == re.sub(r'"/home/asha/[^"]*/bin/', '"BIN/', shown)


@pytest.mark.parametrize("name", PAGES)
def test_what_is_shown_with_comments_can_be_read(name: str) -> None:
    for shown in re.findall(r"^```jsonc\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL):
        assert read(shown).value


@pytest.mark.parametrize("name", PAGES)
def test_commands_on_a_page_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    said = page(name)
    commands = re.findall(rf"`(thymus install {name}[^`%]*)`", said) + re.findall(
        rf"^\$ (thymus install {name})", said, re.MULTILINE
    )
    assert len(commands) > 4
    for command in commands:
        done = CliRunner().invoke(app, [*command.split()[1:], "--yes", "--json"])
        assert (0, name) == (done.exit_code, json.loads(done.stdout)["client"]), command


def test_every_client_has_a_page() -> None:
    assert [client.manual for client in CLIENTS.values() if not (ROOT / client.manual).is_file()] == []


def test_the_page_of_claude_code_shows_the_hooks_and_rules_that_are_written(tmp_path: Path) -> None:
    here = machine(tmp_path)
    connect("claude-code", here)
    written = json.loads(settings(here).read_text())
    (shown,) = re.findall(r"^```json\n(.*?)^```$", page("claude-code"), re.MULTILINE | re.DOTALL)
    assert written == json.loads(shown.replace('"command": "thymus"', f'"command": "{here.scripts[0] / "thymus"}"'))
