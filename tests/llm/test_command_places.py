"""Where the programs behind ``claude-code`` and ``codex`` are found, and how they are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from binaries import Binary

from thymus.errors import ConfigError
from thymus.llm import ModelError, names_model, open_model
from thymus.llm.claude_code import CLAUDE
from thymus.llm.codex import CODEX
from thymus.llm.commands import Program, find
from thymus.llm.names import _checked

# Where they are


@pytest.mark.parametrize("program", [CLAUDE, CODEX], ids=["claude-code", "codex"])
def test_one_that_is_missing_says_what_to_install(tmp_path: Path, program: Program) -> None:
    with pytest.raises(ModelError, match=f"{program.name} is not installed: install .* or set {program.variable}"):
        find(_but_here(program), {"PATH": str(tmp_path), "HOME": str(tmp_path)})


@pytest.mark.parametrize("program", [CLAUDE, CODEX], ids=["claude-code", "codex"])
def test_one_that_is_named_must_be_there(tmp_path: Path, program: Program) -> None:
    binary = Binary(tmp_path / "binary", program.name)
    known = {"PATH": str(binary.path.parent)}
    assert find(program, known) == binary.path
    for wrong in (tmp_path / "none", tmp_path, tmp_path / "text"):
        (tmp_path / "text").write_text("no program")
        with pytest.raises(ModelError, match=f"{program.variable} names '{wrong}'"):
            find(program, known | {program.variable: str(wrong)})
    other = _installed(tmp_path / "other")
    assert find(program, known | {program.variable: str(other)}) == other


@pytest.mark.parametrize(
    ("program", "place"),
    [
        (CLAUDE, ".local/bin/claude"),
        (CLAUDE, ".claude/local/claude"),
        (CLAUDE, ".nvm/versions/node/v24.1.0/bin/claude"),
        (CLAUDE, "Library/Application Support/Claude/claude-code/2.1.10/claude.app/Contents/MacOS/claude"),
        (CLAUDE, "AppData/Claude/claude-code/2.1.10/claude.exe"),
        (CODEX, ".local/bin/codex"),
        (CODEX, "Applications/ChatGPT.app/Contents/Resources/codex"),
        (CODEX, "AppData/OpenAI/Codex/bin/codex.exe"),
    ],
)
def test_one_that_is_off_the_path_is_found_where_it_is_installed(tmp_path: Path, program: Program, place: str) -> None:
    appdata = str(tmp_path / "AppData")
    known = {"PATH": str(tmp_path), "HOME": str(tmp_path), "APPDATA": appdata, "LOCALAPPDATA": appdata}
    installed = _installed(tmp_path / place)
    assert find(_but_here(program), known) == installed


def test_of_several_versions_the_highest_is_taken(tmp_path: Path) -> None:
    for version in ("2.1.9", "2.1.10", "2.0.30"):
        _installed(tmp_path / f"Library/Application Support/Claude/claude-code/{version}/claude")
    assert find(_but_here(CLAUDE), {"HOME": str(tmp_path)}).parent.name == "2.1.10"


def test_a_relative_path_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _installed(tmp_path / "claude")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="not installed"):
        find(_but_here(CLAUDE), {"PATH": ".:", "HOME": str(tmp_path / "home")})


def _installed(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def _but_here(program: Program) -> Program:
    """The program without what may be installed for all users of this machine."""
    return replace(program, places=[place for place in program.places if not place.startswith("/")])


# Names


def test_a_program_may_be_named_with_a_model_or_without() -> None:
    assert _checked("claude-code") == ("claude-code", "", None)
    assert _checked("codex:gpt-5:x") == ("codex", "gpt-5:x", None)
    assert names_model("codex")
    assert names_model("claude-code:haiku")


@pytest.mark.parametrize("name", ["claude-code:", "codex: ", "claude-code:x@http://h/v1", "claude", "codex-x"])
def test_a_name_that_cannot_be_read_says_which_can(name: str) -> None:
    with pytest.raises(ConfigError, match=r"claude-code|http://HOST/v1"):
        open_model(name, cache=None, environment={})
