"""The command line: what each command answers, how it ends, and that a sender's words stay words on the screen."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.main import get_command
from typer.testing import CliRunner, Result

from thymus import GATES, Memory, MemoryGuard, Source
from thymus.cli.frame import IN_COMMANDS
from thymus.cli.program import app
from thymus.cli.screen import show_recall, write_json
from thymus.core.beliefs import Status
from thymus.core.claims import Kind
from thymus.core.disclose import Recall
from thymus.errors import InputError

ROOT = Path(__file__).parents[2]
STANDUP = "My standup is at 9:15 in Room 2A."
MOVED = ("Your standup is at 7:45 in Room 2A.", "--source", "email:noreply@calendar-sync.example")


@pytest.fixture(autouse=True)
def own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("THYMUS_GATE", "THYMUS_USER", "THYMUS_DEBUG", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(
        "THYMUS_LLM", "typed"
    )  # the judge that follows from rules: what it answers is not the subject here
    monkeypatch.setenv("THYMUS_DB", str(tmp_path / "memory.db"))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path / "memory.db"


def run(*args: str, given: str | bytes = "", code: int = 0) -> Result:
    done = CliRunner().invoke(app, list(args), input=given)
    assert (code, done.exit_code) == (done.exit_code, code), done.output
    return done


def answer(*args: str, **kwargs: Any) -> Any:
    """What a command prints with --json: one document and nothing else."""
    done = run(*args, "--json", **kwargs)
    return json.loads(done.stdout)


def process(*args: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "thymus.cli", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **kwargs)


def commands() -> dict[str, Any]:
    return get_command(app).commands  # type: ignore[attr-defined, no-any-return]


# The main job


def test_a_fact_and_a_forged_update_are_told_apart() -> None:
    assert answer("remember", STANDUP)["effect"] == "admitted"
    assert answer("remember", *MOVED)["effect"] == "contested"
    found = answer("recall", "When is my standup?")
    assert "9:15" in found["context"]
    assert "7:45" not in found["context"]
    assert "7:45" in found["notice"]


def test_recall_on_the_screen_shows_context_and_notice() -> None:
    run("remember", STANDUP)
    run("remember", *MOVED)
    shown = run("recall", "When is my standup?").stdout
    assert "What the model answers from\n  - My standup is at 9:15 in Room 2A.\n" in shown
    assert "What you are told" in shown


def test_accepting_what_was_held_back_supersedes_and_undo_takes_it_back() -> None:
    [first] = answer("remember", STANDUP)["memories"]
    answer("remember", *MOVED)
    [held] = answer("inbox")
    assert held["contradicts"] == [first["id"]]
    act = answer("resolve", held["id"], "--accept")["seq"]
    assert [held["id"]] == [memory["id"] for memory in answer("memories")]
    answer("undo", str(act))
    assert [first["id"]] == [memory["id"] for memory in answer("memories")]
    assert [event["act"] for event in answer("history", held["id"])] == ["remember", "resolve", "undo"]


def test_recall_says_how_to_settle_what_it_tells() -> None:
    run("remember", STANDUP)
    [held] = answer("remember", *MOVED)["memories"]
    shown = run("recall", "When is my standup?").stdout
    assert shown.endswith(f"  thymus resolve {held['id']} --accept\n")
    assert "thymus resolve" not in answer("recall", "When is my standup?")["notice"]
    assert "thymus resolve" not in run("recall", "When is my standup?", "--gate", "allow-all").stdout


def test_what_stood_aside_is_settled_over_what_it_stood_aside_for() -> None:
    found = Recall(
        context="",
        notice="I have not used it.",
        memories=(),
        contested=tuple(
            Memory(
                id=id_,
                text=f"The parcel comes on day {id_}.",
                kind=Kind.FACT,
                status=status,
                source=Source.parse("web:a.example"),
                lineage=(),
                observed_at=datetime(2026, 3, 1, tzinfo=UTC),
                contradicts=("m_a", "m_b"),
            )
            for id_, status in (("m_1", Status.ACTIVE), ("m_2", Status.CONTESTED))
        ),
    )
    out = Console(width=80, file=StringIO())
    show_recall(out, found)
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    assert "    thymus resolve m_1 --accept --over m_a --over m_b\n" in shown
    assert "    thymus resolve m_2 --accept\n" in shown


def test_rejecting_empties_the_inbox() -> None:
    run("remember", STANDUP)
    [held] = answer("remember", *MOVED)["memories"]
    assert "contested → rejected" in run("resolve", held["id"], "--reject").stdout
    assert answer("inbox") == []
    assert "nothing is held back" in run("inbox").stdout


def test_revoking_a_source_retracts_what_it_said() -> None:
    run("remember", STANDUP)
    run("remember", *MOVED)
    assert len(answer("sources")) == 2
    answer("revoke", "email:noreply@calendar-sync.example", "--yes")
    assert answer("inbox") == []
    assert [record["retracted"] for record in answer("sources") if record["source"].startswith("email")] == [1]


def test_forgetting_needs_a_yes_and_erases_the_text() -> None:
    [memory] = answer("remember", STANDUP)["memories"]
    assert "--yes" in run("forget", memory["id"], code=2).stderr
    run("forget", memory["id"], "--yes")
    assert "9:15" not in json.dumps(answer("export"))
    assert "erased" in run("memories", "--status", "all").stdout


def test_the_same_message_id_changes_nothing_twice() -> None:
    message = ("Your parcel arrives on Friday.", "--source", "email:a@b.example", "--message-id", "<1@b.example>")
    assert answer("remember", *message)["effect"] == "admitted"
    assert answer("remember", *message)["reasons"] == ["already-known"]
    assert len(answer("memories")) == 1


def test_a_summary_has_the_authority_of_what_it_was_made_from() -> None:
    [told] = answer("remember", "The parcel arrives on Friday.", "--source", "email:a@b.example")["memories"]
    [summary] = answer(
        "remember", "Your parcel comes on Friday.", "--source", "tool:mail", "--derived-from", told["id"]
    )["memories"]
    assert summary["derived_from"] == ["email:a@b.example"]


def test_times_and_authentication_are_kept() -> None:
    at = "2026-03-01T09:15:00+05:30"
    args = ("--source", "email:a@b.example", "--authenticated", "--observed-at", at)
    [memory] = answer("remember", "The parcel arrives on Friday.", *args)["memories"]
    assert (memory["assurance"], memory["observed_at"]) == ("authenticated", "2026-03-01T03:45:00+00:00")


def test_users_are_apart() -> None:
    run("remember", STANDUP, "--user", "asha")
    assert answer("memories", "--user", "ravi") == []
    assert len(answer("memories", "--user", "asha")) == 1


# Text from stdin


@pytest.mark.parametrize("args", [("-",), ()])
def test_text_comes_from_stdin(args: tuple[str, ...]) -> None:
    written = answer("remember", *args, "--source", "web:shop.example", given=f"{STANDUP}\n")
    assert [memory["source"] for memory in written["memories"]] == ["web:shop.example"]


@pytest.mark.parametrize("raw", [b"", b"\x00\x01\x02", b"\xff\xfe\xfa", "\u202e\u200b".encode()])
def test_bad_input_is_a_clear_answer_and_no_crash(raw: bytes) -> None:
    done = CliRunner().invoke(app, ["remember", "-", "--source", "web:x.example"], input=raw)
    assert done.exit_code in (0, 2)
    assert (done.stdout + done.stderr).strip()


# What senders write stays words


def test_markup_and_escapes_of_a_sender_reach_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    evil = "The standup is at 8:45 [blink red on white]now[/] \x1b[31mred\x1b[0m \x9b5m \u202egnp.exe :boom: see http://evil.example/x."
    run("remember", STANDUP)
    [memory] = answer("remember", "-", "--source", "web:x.example", given=evil)["memories"]
    for args in (
        ("inbox",),
        ("explain", memory["id"]),
        ("recall", "When is the standup?"),
        ("memories", "--status", "all"),
    ):
        shown = run(*args).stdout
        assert "8:45" in shown
        assert not re.search("\x1b\\[([0-9;]*;)?(31|5)m|\x9b|\u202e|\U0001f4a5", shown), args
        assert "http://evil" not in shown.split("What you are told")[-1], args


def test_json_has_no_character_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    evil = {"text": "red \x1b[31m \x9b5m \u202e\u200b\x7f end", "more": ["ü “x”"]}
    write_json(evil)
    shown = capsys.readouterr().out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", shown)
    assert "ü “x”" in shown
    assert json.loads(shown) == evil


def test_errors_are_one_line_without_escapes() -> None:
    done = run("remember", "Hello.", "--source", "no\x1b[31m\nchannel", code=2)
    assert re.fullmatch(r"thymus: [^\x1b\n]*\n", done.stderr)
    assert done.stdout == ""


# Global options and endings


@pytest.mark.parametrize(
    "args",
    [
        ("--json", "--user", "asha", "memories"),
        ("memories", "--json", "--user", "asha"),
        ("memories", "--user=asha", "--json"),
    ],
)
def test_global_options_stand_before_or_after_the_command(args: tuple[str, ...]) -> None:
    run("remember", STANDUP, "--user", "asha")
    assert len(json.loads(run(*args).stdout)) == 1


def test_after_two_dashes_everything_is_text() -> None:
    [memory] = json.loads(run("--json", "remember", "--", "--user=asha is what her parcel needs.").stdout)["memories"]
    assert memory["text"].startswith("--user=asha")
    assert len(answer("memories")) == 1


def test_flags_win_over_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THYMUS_USER", "ravi")
    run("remember", STANDUP, "--user", "asha", "--db", str(tmp_path / "other.db"))
    assert (tmp_path / "other.db").exists()
    assert not (tmp_path / "memory.db").exists()


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_user_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("remember", STANDUP)
    assert "--user (or THYMUS_USER) is a name" in run("memories", "--user", name, code=2).stderr
    monkeypatch.setenv("THYMUS_USER", name)
    assert "--user (or THYMUS_USER) is a name" in run("memories", code=2).stderr


def test_the_environment_names_gate_and_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THYMUS_GATE", "user-only")
    assert answer("remember", *MOVED)["reasons"] == ["only-the-user"]


def test_without_arguments_there_is_help() -> None:
    assert run().stdout == run("--help").stdout
    assert "thymus demo" in run().stdout


def test_version_is_the_package_s() -> None:
    from thymus import __version__

    assert run("--version").stdout == f"thymus {__version__}\n"


@pytest.mark.parametrize(
    ("args", "remedy"),
    [
        (("recall", "When?"), "thymus remember"),
        (("remember", "   "), "empty"),
        (("remember", "Hello.", "--observed-at", "yesterday"), "2026-03-01"),
        (("remember", "Hello.", "--gate", "nope"), "thymus-v3"),
        (("remember", "Hello.", "--db", "ftp://x/y"), "memory.db"),
        (("remember", "Hello.", "--llm", "nobody"), "local"),
        (("ingest", "not-there.mbox"), "exists"),
    ],
)
def test_errors_say_the_remedy_in_one_line_and_exit_with_2(args: tuple[str, ...], remedy: str) -> None:
    done = run(*args, code=2)
    assert remedy in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_reading_creates_no_memory(own_memory: Path) -> None:
    for args in (("recall", "When?"), ("inbox",), ("verify",), ("sources",), ("export",)):
        run(*args, code=2)
    assert not own_memory.exists()


def test_debug_shows_where() -> None:
    done = process("recall", "When?", "--debug")
    assert (done.returncode, "Traceback" in done.stderr) == (1, True)
    assert "Traceback" not in process("recall", "When?").stderr


def test_usage_errors_exit_with_2() -> None:
    for args in (("recall",), ("nonsense",), ("recall", "x", "--nope"), ("resolve", "m_1"), ("inbox", "--interactive")):
        run(*args, code=2)


def test_errors_speak_of_commands_and_options() -> None:
    [own] = answer("remember", STANDUP)["memories"]
    [other] = answer("remember", "The gym closes at 22:00.", "--source", "web:gym.example")["memories"]
    for args, said in (
        (("explain", "m_0"), "`thymus memories --status all` and `thymus inbox` give the ids"),
        (("resolve", own["id"], "--accept"), "(see `thymus inbox`)"),
        (("resolve", other["id"], "--accept"), "`thymus resolve ID --accept --over ID2`"),
        (("resolve", other["id"], "--accept", "--over", other["id"]), "--over names those"),
        (("resolve", other["id"], "--reject", "--over", own["id"]), "--over is for a claim that is accepted"),
        (("undo", "99"), "`thymus history ID`"),
        (("undo", "x"), "write a whole number"),
        (("recall", "When?", "-k", "x"), "write a whole number"),
        (("recall", "When?", "-k", "0"), "-k is how many"),
        (("memories", "--limit", "0"), "at least 1"),
        (("memories", "--status", "x"), "'--status': 'x' is not one of"),
        (("revoke", "user", "--yes"), "`thymus forget ID`"),
    ):
        assert said in " ".join(run(*args, code=2).stderr.split()), args
    assert "Policy" not in run("memories", "--gate", "x", code=2).stderr


def test_every_error_that_is_put_in_other_words_exists() -> None:
    files = [path for path in (ROOT / "src/thymus").rglob("*.py") if "cli" not in path.parts]
    with pytest.raises(InputError) as unnamed:
        MemoryGuard(user_id="")
    library = "".join([str(unnamed.value), *(path.read_text(encoding="utf-8") for path in files)])
    assert all(words in library for words in IN_COMMANDS), [words for words in IN_COMMANDS if words not in library]


def test_unknown_ids_exit_with_2() -> None:
    run("remember", STANDUP)
    for args in (("explain", "m_0"), ("history", "m_0"), ("resolve", "m_0", "--accept"), ("forget", "m_0", "--yes")):
        assert "m_0" in run(*args, code=2).stderr
    assert "99" in run("undo", "99", code=2).stderr


@pytest.mark.parametrize("command", ["gates", "gates --json"])
def test_a_reader_that_goes_away_is_no_error(command: str) -> None:
    pipeline = f"({sys.executable} -m thymus.cli {command}; echo code $? >&2) | true"
    done = subprocess.run(["bash", "-c", pipeline], capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == "code 141\n"


def test_interrupting_ends_with_130_and_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: MemoryGuard, *args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MemoryGuard, "remember", interrupt)
    assert run("remember", STANDUP, code=130).stderr == "thymus: interrupted: what was remembered before is kept\n"


def test_a_fault_is_one_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: MemoryGuard, *args: object, **kwargs: object) -> None:
        raise RuntimeError("a sender's \x1b[31mwords")

    monkeypatch.setattr(MemoryGuard, "remember", fail)
    assert re.fullmatch(r"thymus: a fault in Thymus[^\x1b\n]*\n", run("remember", STANDUP, code=3).stderr)


def test_a_terminal_without_unicode_still_shows_the_rest() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    run("remember", "Mein Büro heißt “Süd” und öffnet um 9:00.", "--source", "web:x.example")
    done = process("memories", env=environment)
    assert (done.returncode, "9:00" in done.stdout) == (0, True)
    assert json.loads(process("memories", "--json", env=environment).stdout)[0]["text"].startswith("Mein Büro")


@pytest.mark.parametrize("extra", [{"NO_COLOR": "1", "FORCE_COLOR": ""}, {"TERM": "dumb"}])
def test_colours_are_dropped_where_they_are_not_wanted(extra: dict[str, str]) -> None:
    assert "\x1b" not in process("gates", env=os.environ | extra).stdout


# Accounts


def test_verify_finds_a_changed_row_and_exits_with_1(own_memory: Path) -> None:
    import sqlite3

    run("remember", STANDUP)
    assert answer("verify")["ok"] is True
    with sqlite3.connect(own_memory) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        ledger = next(name for name in tables if "ledger" in name or "entr" in name)
        connection.execute(f"UPDATE {ledger} SET body = replace(body, 'remember', 'resolve')")
    connection.close()
    found = answer("verify", code=1)
    assert (found["ok"], bool(found["problems"])) == (False, True)
    assert "problems" in run("verify", code=1).stdout
    assert "fail" in run("doctor", code=1).stdout


def test_doctor_finds_everything_in_order(own_memory: Path) -> None:
    found = answer("doctor")
    assert found["ok"] is True
    assert {"Python", "SQLite", "bundled model", "judge", "place"} <= {check["name"] for check in found["checks"]}
    assert not own_memory.exists()


def test_doctor_names_a_remedy_for_each_fault(tmp_path: Path) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"this is no database at all" * 100)
    found = answer("doctor", "--db", str(broken), "--gate", "nope", code=1)
    failed = [check for check in found["checks"] if check["state"] == "fail"]
    assert {"gate", "memory"} == {check["name"] for check in failed}
    assert all(check["remedy"] for check in failed)


def test_export_writes_the_file_whole_and_for_its_owner_only(tmp_path: Path) -> None:
    run("remember", STANDUP)
    target = tmp_path / "backup.json"
    assert "1 memories written" in run("export", "--output", str(target)).stdout
    assert json.loads(target.read_text()) == answer("export")
    assert target.stat().st_mode & 0o077 == 0
    assert list(tmp_path.glob(".backup*")) == []
    assert "folder" in run("export", "--output", str(tmp_path / "nowhere" / "x.json"), code=2).stderr


def test_gates_are_listed_from_the_data() -> None:
    assert list(GATES) == [gate["name"] for gate in answer("gates")]
    shown = run("gates").stdout
    assert all(name in shown for name in GATES)


# The story


def test_the_demo_keeps_attacks_out_and_lets_updates_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THYMUS_LLM")
    steps = answer("demo")
    ending = steps[-1]
    assert (ending["attacks_that_reached_the_model"], ending["attacks"]) == (0, 6)
    assert (ending["updates_that_reached_the_model"], ending["updates"]) == (2, 2)
    heard = [(step["speaker"], step["written"]["effect"]) for step in steps if step["step"] == "heard"]
    assert ("courier", "replaced") in heard
    assert ("calendar", "contested") in heard
    assert {("attacker", "contested"), ("attacker", "rejected")} <= set(heard)


def test_the_demo_is_the_same_every_time_and_fits_the_screen() -> None:
    shown = run("demo").stdout
    assert shown == run("demo").stdout
    assert max(len(line) for line in shown.splitlines()) <= 80


def test_without_a_defence_everything_gets_in_and_locked_out_nothing_does() -> None:
    ending = answer("demo", "--gate", "allow-all")[-1]
    assert (ending["attacks_that_reached_the_model"], ending["updates_that_reached_the_model"]) == (6, 2)
    ending = answer("demo", "--gate", "user-only")[-1]
    assert (ending["attacks_that_reached_the_model"], ending["updates_that_reached_the_model"]) == (0, 0)


# Help and reference


def test_every_command_and_option_is_in_the_reference() -> None:
    reference = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## `thymus ([a-z-]+)`\n(.*?)(?=^## |\Z)", reference, re.MULTILINE | re.DOTALL))
    assert sorted(commands()) == sorted(sections)
    for name, command in commands().items():
        for param in command.params:
            for option in (*param.opts, *param.secondary_opts):
                if option.startswith("-"):
                    assert f"`{option}" in sections[name] or f" {option}" in sections[name], (name, option)
    for param in get_command(app).params:
        assert f"`{param.opts[0]}" in reference


def test_every_command_has_help_with_examples_within_80_columns() -> None:
    for name in commands():
        shown = run(name, "--help").stdout
        assert f"  thymus {name}" in shown, name
        assert max(len(line) for line in shown.splitlines()) <= 80, name


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, thymus.cli.program; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    heavy = {"numpy", "onnxruntime", "tokenizers", "rich.console", "thymus.guard", "sqlite3.dbapi2", "thymus.readers"}
    assert set() == heavy & set(done.stdout.split())
