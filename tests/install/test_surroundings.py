"""Where each client keeps its configuration, on each system."""

from __future__ import annotations

from pathlib import Path

import pytest
from install_helpers import connect, machine

from thymus.install import CLIENTS, Surroundings
from thymus.install.client import Scope
from thymus.install.surroundings import System

SUPPORT = "Library/Application Support"
ROAMING = "AppData/Roaming"
PACKAGE = "AppData/Local/Packages/Claude_pzs8sxrjxfjjc"


@pytest.mark.parametrize(
    ("client", "system", "path"),
    [
        ("claude-code", "linux", ".claude.json"),
        ("claude-code", "macos", ".claude.json"),
        ("claude-code", "windows", ".claude.json"),
        ("claude-desktop", "linux", ".config/Claude/claude_desktop_config.json"),
        ("claude-desktop", "macos", f"{SUPPORT}/Claude/claude_desktop_config.json"),
        ("claude-desktop", "windows", f"{ROAMING}/Claude/claude_desktop_config.json"),
        ("cursor", "linux", ".cursor/mcp.json"),
        ("cursor", "macos", ".cursor/mcp.json"),
        ("cursor", "windows", ".cursor/mcp.json"),
        ("vscode", "linux", ".config/Code/User/mcp.json"),
        ("vscode", "macos", f"{SUPPORT}/Code/User/mcp.json"),
        ("vscode", "windows", f"{ROAMING}/Code/User/mcp.json"),
    ],
)
def test_the_file_of_the_user(client: str, system: System, path: str, tmp_path: Path) -> None:
    here = machine(tmp_path, system=system)
    assert tmp_path / path == CLIENTS[client].server_file("user", here)
    connect(client, here)
    assert (tmp_path / path).is_file()
    assert CLIENTS[client].is_here(here)


@pytest.mark.parametrize("system", ["linux", "macos", "windows"])
@pytest.mark.parametrize(
    ("scope", "path"), [("user", ".claude/settings.json"), ("project", "project/.claude/settings.local.json")]
)
def test_the_hooks_of_claude_code(system: System, scope: Scope, path: str, tmp_path: Path) -> None:
    assert tmp_path / path == CLIENTS["claude-code"].hooks_file(scope, machine(tmp_path, system=system))


def test_programs_of_windows_end_in_exe(tmp_path: Path) -> None:
    connect("cursor", machine(tmp_path, system="windows"))
    assert r"thymus/Scripts/thymus-mcp.exe" in (tmp_path / ".cursor/mcp.json").read_text()


@pytest.mark.parametrize(
    ("system", "variables", "client", "path"),
    [
        ("linux", {"XDG_CONFIG_HOME": "x"}, "vscode", "x/Code/User/mcp.json"),
        ("macos", {"XDG_CONFIG_HOME": "x"}, "vscode", f"{SUPPORT}/Code/User/mcp.json"),
        ("windows", {"APPDATA": "x"}, "claude-desktop", "x/Claude/claude_desktop_config.json"),
        ("linux", {"CLAUDE_CONFIG_DIR": "x"}, "claude-code", "x/.claude.json"),
    ],
)
def test_variables_move_folders(
    system: System, variables: dict[str, str], client: str, path: str, tmp_path: Path
) -> None:
    moved = {name: str(tmp_path / value) for name, value in variables.items()}
    here = machine(tmp_path, system=system, variables=moved)
    assert tmp_path / path == CLIENTS[client].server_file("user", here)


def test_the_settings_move_with_claude_code(tmp_path: Path) -> None:
    here = machine(tmp_path, variables={"CLAUDE_CONFIG_DIR": str(tmp_path / "x")})
    assert tmp_path / "x/settings.json" == CLIENTS["claude-code"].hooks_file("user", here)


def test_on_windows_the_package_of_claude_desktop_goes_before_the_plain_folder(tmp_path: Path) -> None:
    here = machine(tmp_path, system="windows")
    client = CLIENTS["claude-desktop"]
    (tmp_path / ROAMING / "Claude").mkdir(parents=True)
    (tmp_path / ROAMING / "Claude/claude_desktop_config.json").write_text("{}")
    (tmp_path / PACKAGE).mkdir(parents=True)
    inner = "LocalCache/Roaming/Claude/claude_desktop_config.json"
    assert tmp_path / PACKAGE / inner == client.server_file("user", here)
    used = tmp_path / "AppData/Local/Packages/Claude_zzz" / inner
    used.parent.mkdir(parents=True)
    used.write_text("{}")
    assert used == client.server_file("user", here)


def test_an_edition_of_vscode_is_taken_where_it_is_the_only_one(tmp_path: Path) -> None:
    here = machine(tmp_path)
    (tmp_path / ".config/VSCodium/User").mkdir(parents=True)
    assert tmp_path / ".config/VSCodium/User/mcp.json" == CLIENTS["vscode"].server_file("user", here)
    (tmp_path / ".config/Code/User").mkdir(parents=True)
    assert tmp_path / ".config/Code/User/mcp.json" == CLIENTS["vscode"].server_file("user", here)


def test_this_machine_can_be_described() -> None:
    here = Surroundings.here()
    assert here.system in ("linux", "macos", "windows")
    assert here.python.is_absolute()
    assert not here.passes


@pytest.mark.parametrize(
    ("python", "passes"),
    [
        ("/home/a/.cache/uv/archive-v0/x/bin/python", True),
        ("/home/a/.local/pipx/.cache/x/bin/python", True),
        ("/home/a/.local/share/uv/tools/thymus-memory/bin/python", False),
        ("/home/a/.cache/pypoetry/virtualenvs/x/bin/python", False),
    ],
)
def test_an_installation_for_one_run_is_known(python: str, passes: bool, tmp_path: Path) -> None:
    here = machine(tmp_path)
    fields = {name: getattr(here, name) for name in ("system", "home", "project", "variables", "scripts")}
    assert passes is Surroundings(**fields, python=Path(python)).passes
