"""Every block of the README runs: Python as it stands, `thymus` commands for real, `make` and `pip` by name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [code for found, code in BLOCKS if found == language]


def test_the_readme_has_no_block_that_nobody_runs() -> None:
    assert {"bash", "python", "text"} >= {language for language, _ in BLOCKS}


def test_python_blocks_run_in_order_and_print_what_the_readme_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    first, *rest = blocks("python")
    exec(first, names)
    shown = re.sub(r"\d{4}-\d\d-\d\d", "DATE", blocks("text")[0])
    assert re.sub(r"\d{4}-\d\d-\d\d", "DATE", capsys.readouterr().out) == shown
    for code in rest:
        exec(code, names)
    guard = names["guard"]
    guard.close()  # type: ignore[attr-defined]


def test_effects_in_comments_are_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(blocks("python")[0], names)
    seen = 0
    for line in blocks("python")[2].splitlines():
        said = re.fullmatch(r"(.*\.effect) +# (\w+)", line)
        if said:
            seen += 1
            assert (line, str(eval(said[1], names))) == (line, said[2])
        else:
            exec(line, names)
    assert seen == 2
    names["guard"].close()  # type: ignore[attr-defined]


COMMANDS = [line.split("  #")[0].strip() for code in blocks("bash") for line in code.splitlines()]


def test_make_and_pip_commands_name_what_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for command in COMMANDS:
        if command.startswith("make "):
            assert command.split()[1] in targets
        elif command.startswith("pip "):
            assert command == f"pip install {project['name']}"
        else:
            assert command.startswith("thymus ")


def test_thymus_commands_succeed(tmp_path: Path) -> None:
    environment = os.environ | {"THYMUS_DB": str(tmp_path / "memory.db"), "NO_COLOR": "1"}
    program = str(Path(sys.executable).with_name("thymus"))
    for command in COMMANDS:
        if command.startswith("thymus "):
            arguments = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', command)[1:]]
            done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, check=False)
            assert (command, done.returncode, done.stderr) == (command, 0, done.stderr)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


ELSEWHERE = {"larger-judge", "postgres"}
"""A larger judge is tried with a model of its own, in test_nli; PostgreSQL with a real server, in test_postgres."""
PAGES = sorted(page for page in (ROOT / "docs" / "how-to").glob("*.md") if page.stem not in ELSEWHERE)
FRAMEWORKS = {
    "autogen": "autogen_agentchat",
    "crewai": "crewai",
    "google-adk": "google.adk",
    "langchain": "langchain",
    "langgraph": "langgraph",
    "llama-index": "llama_index.core",
    "mem0": "mem0",
    "openai-agents": "agents",
    "pydantic-ai": "pydantic_ai",
}
"""What a page needs beside Thymus: its own tests run it in an environment that has it."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_blocks_of_the_how_to_pages_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.stem in FRAMEWORKS:
        pytest.importorskip(FRAMEWORKS[page.stem], reason="in an environment of its own: make test-integrations")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        exec(code, names)
