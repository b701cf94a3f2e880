"""What the command line prints for copying works as it stands; names stay whole, and a lookalike is said to be one."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from thymus.cli.accounts import shortened
from thymus.cli.frame import Session
from thymus.cli.program import app
from thymus.cli.typed import typed

LONG = "email:notifications.of.every.kind.to.everybody@calendar-sync.department.work.example"
TRUE, EVIL = "email:post@parcels.example", "email:post@parce1s.example"


@pytest.fixture(autouse=True)
def usual_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("THYMUS_USER", "THYMUS_GATE", "THYMUS_DEBUG", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("THYMUS_LLM", "typed")
    monkeypatch.setenv("THYMUS_DB", str(tmp_path / "memory.db"))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path / "memory.db"


def run(*args: str, code: int = 0) -> Result:
    done = CliRunner().invoke(app, list(args))
    assert (code, done.exit_code) == (done.exit_code, code), done.output
    return done


def contest(*options: str) -> str:
    """Have a claim contested; its id."""
    run("remember", "My standup is at 9:15 in Room 2A.", *options)
    run("remember", "The standup is at 7:45 in Room 2A.", "--source", LONG, *options)
    return str(json.loads(run("inbox", "--json", *options).stdout)[0]["id"])


def commands(shown: str) -> list[str]:
    return [line.strip() for line in shown.splitlines() if line.strip().startswith("thymus ")]


@pytest.mark.parametrize("options", [(), ("--user", "asha rao"), ("--db", "OTHER"), ("--user", "a", "--db", "OTHER")])
def test_the_command_of_a_recall_settles_the_claim_that_it_is_about(tmp_path: Path, options: tuple[str, ...]) -> None:
    other = str(tmp_path / "a folder of mine with quite a long name, so that no line has room for it" / "m.db")
    Path(other).parent.mkdir()
    options = tuple(other if one == "OTHER" else one for one in options)
    held = contest(*options)
    [command] = commands(run("recall", "When is the standup?", *options).stdout)
    assert command == shlex.join(["thymus", "resolve", held, "--accept", *options])
    run(*shlex.split(command)[1:])
    assert json.loads(run("inbox", "--json", *options).stdout) == []


@pytest.mark.parametrize(("options", "said"), [((), ""), (("--user", "asha"), " --user asha")])
def test_every_command_that_is_shown_names_the_memory(options: tuple[str, ...], said: str) -> None:
    held = contest(*options)
    shown = run("inbox", *options).stdout
    assert f"Decide: `thymus resolve ID --accept{said}` or `--reject`, or one by one: `thymus inbox -i{said}`." in shown
    assert f"; `thymus undo 3{said}` takes it back." in run("resolve", held, "--reject", *options).stdout
    again = ("remember", "The standup is at 7:50 in Room 2A.", "--source", EVIL, *options)
    assert f"until you decide: thymus inbox{said}\n" in run(*again).stdout


def test_what_is_usual_and_a_password_are_not_repeated(monkeypatch: pytest.MonkeyPatch, usual_memory: Path) -> None:
    assert typed(Session(db=str(usual_memory), user="me"), "inbox") == "thymus inbox"
    url = "postgresql://asha:p@ss:w0rd@db.example/thymus"
    assert typed(Session(db=url), "inbox") == "thymus inbox --db 'postgresql://asha:***@db.example/thymus'"
    monkeypatch.setenv("THYMUS_USER", "asha")
    assert typed(Session(), "inbox") == "thymus inbox"
    assert typed(Session(user="me"), "inbox") == "thymus inbox --user me"


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_name_of_a_source_is_broken_over_lines(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    contest()
    run("remember", "The standup is at 8:00 in Room 2A.", "--source", f"{LONG}.of-another", "--derived-from", LONG)
    lines = run("sources").stdout.splitlines()
    assert [line for line in lines if line.startswith("email:")] == [
        shortened(LONG, columns),
        shortened(f"{LONG}.of-another", columns),
    ]
    assert max(map(len, lines)) <= columns
    assert {record["source"] for record in json.loads(run("sources", "--json").stdout)} >= {LONG}


@pytest.mark.parametrize(
    ("name", "longest", "shown"),
    [
        ("a@b.example", 11, "a@b.example"),
        ("abcdefghijkl@b.example", 11, "abcd…xample"),
        ("abcdef", 3, "a…f"),
        ("abcdef", 1, "a…f"),
    ],
)
def test_a_name_is_shortened_in_its_middle(name: str, longest: int, shown: str) -> None:
    assert shown == shortened(name, longest)


def inbox() -> str:
    return " ".join(run("inbox").stdout.split())


def test_a_lookalike_is_said_to_be_one_and_whose() -> None:
    run("remember", "Your parcel is large.", "--source", TRUE, "--authenticated")
    run("remember", "The hall has a blue door.", "--source", EVIL)
    [held] = json.loads(run("inbox", "--json").stdout)
    assert (held["source"], held["contradicts"]) == (EVIL, [])
    assert f"resembles {TRUE}, known to you: it may only pose as that" in inbox()


def test_a_sender_that_was_proved_before_and_is_not_now_is_said_to_be_that() -> None:
    run("remember", "Your parcel is large.", "--source", TRUE, "--authenticated")
    run("remember", "The hall has a blue door.", "--source", TRUE)
    assert f"earlier messages of {TRUE} were verified, and this one is not" in inbox()


def test_of_what_resembles_nobody_nothing_is_said() -> None:
    contest()
    assert "resembles" not in inbox()
