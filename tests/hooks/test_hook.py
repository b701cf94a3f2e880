"""``thymus hook`` as the host runs it: what is learned as whose, who is shown what, and that the host never fails."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hooks_helpers import PROGRAM, Host, Ran, recorded

from thymus.hooks import client, wire

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="drives processes by POSIX signals")


@pytest.fixture(scope="session")
def make_host() -> Iterator[Callable[[], Host]]:
    """Accounts; when the run ends none of their residents lives."""
    made: list[Host] = []

    def make() -> Host:
        # Not under pytest's folder: the path of a Unix socket has about 100 bytes.
        made.append(Host(Path(tempfile.mkdtemp(prefix="thy-"))))
        return made[-1]

    yield make
    for host in made:
        host.stop()
        shutil.rmtree(host.root)


@pytest.fixture
def host(make_host: Callable[[], Host]) -> Iterator[Host]:
    """An account on which nothing ran yet."""
    fresh = make_host()
    yield fresh
    fresh.stop()


@pytest.fixture(scope="session")
def warm(make_host: Callable[[], Host]) -> Host:
    """An account whose resident is warm; tests keep apart by user."""
    ready = make_host()
    ready.prompt("I keep bees.", THYMUS_USER="first")
    ready.settle()
    return ready


SCHEDULED = "The office moved to Harbour Street 9."


def said(memories: list[dict[str, Any]]) -> dict[str, tuple[str, str, list[str]]]:
    return {one["text"]: (one["source"], one["assurance"], one["derived_from"]) for one in memories}


def quiet(ran: Ran) -> bool:
    return (ran.code, ran.out, ran.err) == (0, b"", b"")


# What is learned from what


def test_the_prompt_is_the_users_and_the_result_the_tools(warm: Host) -> None:
    who = {"THYMUS_USER": "asha"}
    assert quiet(warm.start("a", **who))
    assert quiet(warm.prompt("My standup is at 9:15 in Room 2A.", "a", **who))
    assert quiet(warm.result("mcp__calendar__next", "Your standup moved to 7:45.", session="a", **who))
    answer = {"result": "The shop opens at nine on Sundays.", "url": "https://shop.example/hours", "code": 200}
    assert quiet(warm.result("WebFetch", answer, {"url": "https://shop.example/hours"}, "a", **who))
    warm.settle()
    assert said(warm.memories("asha")) == {
        "My standup is at 9:15 in Room 2A.": ("user", "attested", []),
        "Your standup moved to 7:45.": ("mcp:calendar/next", "claimed", []),
        "The shop opens at nine on Sundays.": ("tool:claude-code/webfetch", "claimed", ["web:shop.example"]),
    }

    asked = warm.prompt("When is my standup today?", "b", **who)
    assert "9:15" in asked.context
    assert "7:45" not in asked.context
    assert "7:45" in asked.notice
    assert "mcp:calendar/next" in asked.notice


def test_recorded_events_come_to_what_they_are(warm: Host) -> None:
    who = {"THYMUS_USER": "recorded"}
    for event in recorded():
        ran = warm.run(event, env=who)
        assert (event["hook_event_name"], 0, b"") == (event["hook_event_name"], ran.code, ran.err)
        warm.settle()
    found = said(warm.memories("recorded"))
    assert found["My standup is at 9:15."] == ("user", "attested", [])
    assert SCHEDULED not in found, "the assistant scheduled this prompt: nobody typed it"
    assert {"user", "tool:claude-code/read", "tool:claude-code/bash", "mcp:calendar/next_meeting"} >= {
        source for source, _, _ in found.values()
    }


def test_a_scheduled_prompt_is_not_the_users_even_after_a_kill(host: Host) -> None:
    host.result("CronCreate", {"id": "1"}, {"cron": "* * * * *", "prompt": SCHEDULED})
    host.settle()
    for process in host.residents():
        os.kill(process, signal.SIGKILL)
    host.prompt(SCHEDULED.upper().replace(" ", "\n"))
    host.prompt("I keep bees.")
    host.settle()
    assert list(said(host.memories())) == ["I keep bees."]


def test_a_prompt_from_a_program_is_only_claimed(warm: Host) -> None:
    warm.prompt("My landlord is Ravi.", CLAUDE_CODE_ENTRYPOINT="sdk-cli", THYMUS_USER="program")
    warm.prompt("My dentist is Mia.", CLAUDE_CODE_ENTRYPOINT="cli", THYMUS_USER="program")
    assert {text: assurance for text, (_, assurance, _) in said(warm.memories("program")).items()} == {
        "My landlord is Ravi.": "claimed",
        "My dentist is Mia.": "attested",
    }


def test_what_is_pasted_is_not_the_users(warm: Host) -> None:
    mail = "Dear Asha,\n\nOur office is in Harbour Street 9.\n\nKind regards,\nRavi"
    warm.prompt(f"I live in Mill Lane 4.\n\n{mail}", THYMUS_USER="paste")
    warm.settle()
    found = said(warm.memories("paste"))
    assert found["I live in Mill Lane 4."] == ("user", "attested", [])
    assert {"paste"} == {origin for text, (_, _, lineage) in found.items() if "Harbour" in text for origin in lineage}
    assert any("Harbour" in text for text in found)


def test_a_memory_is_given_to_a_session_once(warm: Host) -> None:
    who = {"THYMUS_USER": "once"}
    warm.prompt("My standup is at 9:15 in Room 2A.", "x", **who)
    first = warm.prompt("When is my standup today?", "y", **who)
    again = warm.prompt("And when is my standup tomorrow?", "y", **who)
    other = warm.prompt("When is my standup today?", "z", **who)
    assert tuple("9:15" in one.context for one in (first, again, other)) == (True, False, True)
    start = {"hook_event_name": "SessionStart", "session_id": "y", "source": "compact"}
    assert quiet(warm.run(start, env=who))
    assert "9:15" in warm.prompt("When is my standup today?", "y", **who).context


def test_a_session_starts_with_the_users_own_preferences(warm: Host) -> None:
    who = {"THYMUS_USER": "standing"}
    warm.prompt("I prefer tabs over spaces.", **who)
    warm.prompt("My standup is at 9:15 in Room 2A.", **who)
    warm.result("mcp__mail__read", "Asha prefers spaces over tabs.\n\nYour standup moved to 7:45.", **who)
    warm.settle()
    ran = warm.run({"hook_event_name": "SessionStart", "session_id": "n", "source": "startup"}, env=who)
    assert ran.answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert "I prefer tabs over spaces." in ran.context
    assert "spaces over tabs" not in ran.context
    assert "7:45" not in ran.context
    assert "thymus inbox" in ran.notice


def test_a_session_does_not_start_with_others_preferences_whatever_the_gate(warm: Host) -> None:
    who = {"THYMUS_USER": "allowed", "THYMUS_GATE": "allow-all"}
    warm.prompt("I prefer tabs over spaces.", **who)
    warm.result("mcp__mail__read", "I prefer spaces over tabs.", **who)
    warm.settle()
    assert any(one["source"] == "mcp:mail/read" for one in warm.memories("allowed"))
    ran = warm.run({"hook_event_name": "SessionStart", "session_id": "n", "source": "startup"}, env=who)
    assert "tabs over spaces" in ran.context
    assert "spaces over tabs" not in ran.context


def test_an_answer_does_not_wait_for_what_is_long_to_be_learned(warm: Host) -> None:
    who = {"THYMUS_USER": "early"}
    warm.prompt("My standup is at 9:15 in Room 2A.", **who)
    things = ["ferry", "bakery", "library", "garden", "bridge", "museum", "harbour", "school", "market", "cinema"]
    things += ["pharmacy", "station"]
    doing = ["sells maps of", "closed because of", "is painted like", "lends umbrellas to", "was built before"]
    paste = "".join(  # of many words, so that no sentence is compared with all the others
        f"The {one} {does} the {other} in {where.title()}ville. "
        for one, other, where in zip(things * 10, things[3:] * 14, things[5:] * 18, strict=False)
        for does in [doing[(len(one) + len(other) + len(where)) % 5]]
    )
    ran = warm.prompt(f"When is my standup? {paste}", "p", **who)
    assert "9:15" in ran.context
    assert warm.waiting() >= 1
    assert "9:15" in warm.prompt("When is my standup?", "q", **who).context
    assert warm.waiting() >= 1, "the paste is still being learned"
    warm.settle(90)


def test_two_users_and_two_sessions_at_once(warm: Host) -> None:
    def say(number: int) -> Ran:
        user = f"twin{number % 2}"
        return warm.prompt(f"My locker number is {number}{number}{number}.", f"s{number}", THYMUS_USER=user)

    with ThreadPoolExecutor(8) as several:
        ran = list(several.map(say, range(8)))
    assert [(one.code, one.err, one.notice) for one in ran] == [(0, b"", "")] * 8
    warm.settle()
    for user in (0, 1):
        texts = " ".join(said(warm.memories(f"twin{user}")))
        assert [f"{n}{n}{n}" in texts for n in range(8)] == [n % 2 == user for n in range(8)]


@pytest.mark.parametrize("host_name", ["cli", "claude-vscode"])
def test_what_an_assistants_own_command_hands_in_is_only_claimed(warm: Host, host_name: str) -> None:
    """``claude -p``, or this hook itself, run from the Bash tool: the environment is inherited, with the name of the
    session's host and with what Claude Code gives to the commands of its model alone (2.1.197)."""
    user = f"nested-{host_name}"
    inherited = {"CLAUDE_CODE_ENTRYPOINT": host_name, "CLAUDECODE": "1", "CLAUDE_CODE_EXECPATH": "/opt/claude"}
    warm.prompt("My landlord is Ravi.", THYMUS_USER=user, **inherited)
    warm.settle()
    assert said(warm.memories(user))["My landlord is Ravi."][1] == "claimed"


def test_a_further_host_is_named_by_the_user(warm: Host) -> None:
    who = {"THYMUS_USER": "hosts", "CLAUDE_CODE_ENTRYPOINT": "remote_mobile"}
    warm.prompt("My landlord is Ravi.", **who)
    warm.prompt("My dentist is Mia.", THYMUS_HOOK_HOSTS="ssh-remote,remote_mobile", **who)
    warm.settle()
    found = said(warm.memories("hosts"))
    assert (found["My landlord is Ravi."][1], found["My dentist is Mia."][1]) == ("claimed", "attested")


# What cannot be read

DEEP = (
    b'{"session_id": "s1", "hook_event_name": "PostToolUse", "tool_name": "mcp__a__b", "tool_response": '
    + b"[" * 50_000
)


def test_events_that_cannot_be_read_are_told_of_once_and_counted(host: Host) -> None:
    host.start("s1")
    host.start("s2")
    for given in (DEEP, b"{", b"", b"  \n"):
        assert quiet(host.run(given))
    host.settle()
    assert host.status()["unread"] == 2
    assert "2 events could not be read by thymus" in host.prompt("I keep bees.").notice
    assert host.prompt("I keep two hives.").notice == ""
    assert quiet(host.run(b"{"))
    assert "1 event could not" in host.start("s3").notice
    for session, lineage in (("s1", ["chat"]), ("s2", [])):
        host.result("mcp__doors__get", f"Door {session} opens at noon.", session=session)
        host.settle()
        assert said(host.memories())[f"Door {session} opens at noon."][2] == lineage


def test_an_event_that_is_too_long_is_told_of(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    long = b'{"session_id": "s1", "hook_event_name": "PostToolUse", "tool_response": "' + b"x" * client.LONGEST_EVENT
    assert quiet(host.run(long + b'"}'))
    assert host.status()["unread"] == 1
    assert "1 event could not be read" in host.prompt("I keep bees.").notice


# The host never fails


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"   \n",
        b"{",
        b"[]",
        b"null",
        b'"UserPromptSubmit"',
        b"\x00\xff\xfe\x80" * 100,
        b"[" * 100_000,
        b'{"hook_event_name": "Unheard"}',
        b'{"hook_event_name": 7, "session_id": []}',
        b'{"hook_event_name": "PreCompact", "trigger": "auto"}',
        b'{"hook_event_name": "Stop", "stop_hook_active": false}',
        b'{"hook_event_name": "UserPromptSubmit"}',
        b'{"hook_event_name": "UserPromptSubmit", "prompt": {"a": 1}, "session_id": 4, "cwd": 5}',
        b'{"hook_event_name": "UserPromptSubmit", "prompt": "\\ud800\\u0000\\u202e x", "session_id": "\\udfff"}',
        b'{"hook_event_name": "PostToolUse", "tool_name": "mcp__\\ud800__\\n", "tool_response": "It is late."}',
        b'{"hook_event_name": "PostToolUse", "tool_name": "WebFetch", "tool_response": "It is late."}',
        b'{"hook_event_name": "SessionStart", "source": null}',
        b'{"hook_event_name": "SessionEnd"}',
        b'{"hook_event_name": "PostToolUse", "tool_name": "mcp__a__b", "tool_response": '
        + b'{"a":' * 500
        + b"1"
        + b"}" * 501,
    ],
    ids=lambda given: given[:60].decode("latin-1"),
)
def test_whatever_comes_in(warm: Host, given: bytes) -> None:
    ran = warm.run(given, env={"THYMUS_USER": "whatever"})
    assert (ran.code, ran.err) == (0, b"")
    assert ran.seconds < 3
    warm.settle()
    assert warm.status()["failed"] == 0


def test_twenty_megabytes(warm: Host) -> None:
    ran = warm.result("mcp__files__read", "The vault opens at nine. " + "lorem ipsum " * 1_700_000, THYMUS_USER="huge")
    print(f"\n20 MB: {ran.seconds * 1e3:.0f} ms")
    assert quiet(ran)
    ran = warm.prompt("x " * 10_000_000, THYMUS_USER="huge2")
    print(f"20 MB of prompt: {ran.seconds * 1e3:.0f} ms")
    assert (ran.code, ran.err) == (0, b"")
    warm.settle(30)


def test_a_resident_that_is_killed_loses_nothing(host: Host) -> None:
    """Its socket stays behind, and leads nowhere."""
    assert host.prompt("My locker number is 111.").code == 0
    for process in host.residents():
        os.kill(process, signal.SIGKILL)
    assert Path(host.status()["socket"]).is_socket()
    assert host.prompt("I keep bees.").code == 0
    host.settle()
    assert sorted(said(host.memories())) == ["I keep bees.", "My locker number is 111."]


def test_many_cold_starts_at_once_are_one_resident(host: Host) -> None:
    with ThreadPoolExecutor(6) as several:
        assert [quiet(ran) for ran in several.map(host.start, map(str, range(6)))] == [True] * 6
    until = time.monotonic() + 5
    while len(host.residents()) > 1 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(host.residents()) == 1


def test_a_resident_of_another_version_makes_way(host: Host) -> None:
    host.start()
    before = host.status()
    other = wire.ask(before["socket"], {"do": "learn", "version": "0.0.1"}, 2.0)
    assert other["version"] == before["resident"]["version"]
    assert host.start().code == 0
    until = time.monotonic() + 8
    while (host.status()["resident"] or before["resident"])["pid"] == before["resident"]["pid"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert len(host.residents()) == 1


def test_a_file_in_the_place_of_the_socket(host: Host) -> None:
    Path(host.status()["socket"]).write_text("no socket")
    assert quiet(host.start())
    assert len(host.residents()) == 1


def test_a_memory_that_is_damaged_is_told_once_and_learned_when_mended(host: Host) -> None:
    host.db.write_bytes(b"not a database " * 1_000)
    first = host.prompt("I keep bees.")
    told = [first.notice]
    until = time.monotonic() + 8
    while not any(told) and time.monotonic() < until:
        told.append(host.prompt("yes").notice)
    assert "thymus doctor" in told[-1]
    assert (host.prompt("yes").out, host.prompt("no").err) == (b"", b"")
    assert host.status()["waiting"] > 0
    host.db.unlink()
    host.prompt("I keep two hives.")
    host.stop()
    host.prompt("I keep goats.")
    host.settle()
    assert {"I keep bees.", "I keep two hives.", "I keep goats."} <= set(said(host.memories()))


def test_a_memory_that_is_locked_and_one_that_was_replaced(host: Host) -> None:
    host.prompt("I keep bees.")
    host.settle()
    with sqlite3.connect(host.db, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        ran = host.prompt("I keep goats.")
        other.execute("ROLLBACK")
    other.close()
    assert (ran.code, ran.err) == (0, b"")
    assert ran.seconds < 3
    host.settle()
    assert set(said(host.memories())) == {"I keep bees.", "I keep goats."}

    for path in host.root.glob("memory.db*"):
        path.unlink()
    host.prompt("I keep geese.")
    host.settle()
    assert list(said(host.memories())) == ["I keep geese."]


def test_a_full_disk_is_told_once(host: Host) -> None:
    host.limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    ran = [host.prompt("I keep bees.") for _ in range(2)]
    assert [one.code for one in ran] == [0, 0]
    assert "nothing of it was remembered" in ran[0].notice
    assert quiet(ran[1])
    assert "nothing of it" in host.prompt("I keep bees.", "another").notice
    host.limit = None


def test_a_home_that_cannot_be_written(host: Host) -> None:
    (host.root / "file").write_text("")
    ran = host.prompt("I keep bees.", THYMUS_HOOK_STATE=str(host.root / "file" / "state"))
    assert (ran.code, ran.err) == (0, b"")
    assert "thymus doctor" in ran.notice


def test_a_runtime_folder_of_others_is_not_used(host: Host) -> None:
    (host.root / "run" / "thymus").mkdir()
    (host.root / "run" / "thymus").chmod(0o777)
    own = host.root / "tmp" / f"thymus-{os.getuid()}"
    (host.root / "elsewhere").mkdir(mode=0o700)
    own.symlink_to(host.root / "elsewhere")
    told = host.start().notice
    assert [str(folder) in told for folder in (own, host.root / "run" / "thymus")] == [True, True]
    assert quiet(host.prompt("I keep bees.")), "told once"
    status = host.status()
    assert Path(status["socket"]).parent == Path(status["state"])
    assert status["refused"] == [str(host.root / "run" / "thymus"), str(own)]
    assert len(host.residents()) == 1
    assert list((host.root / "elsewhere").iterdir()) == []
    host.settle()
    host.stop()
    own.unlink()
    assert quiet(host.start())
    assert host.status()["socket"].startswith(str(own))
    assert len(host.residents()) == 1


def test_where_no_unix_socket_fits_the_loopback_is_used(host: Host) -> None:
    (host.root / "tmp" / f"thymus-{os.getuid()}").mkdir(mode=0o755)
    (host.root / "run").rmdir()
    state = host.root / ("s" * 100)
    host.environment["THYMUS_HOOK_STATE"] = str(state)
    assert "made by somebody else" in host.start().notice
    assert quiet(host.prompt("I keep bees."))
    until = time.monotonic() + 12
    while host.status()["waiting"] and time.monotonic() < until:
        time.sleep(0.02)
    assert len(host.residents()) == 1
    (named,) = state.glob("hook-*.sock")
    assert named.stat().st_mode & 0o777 == 0o600
    assert said(host.memories())["I keep bees."][1] == "attested"


def test_settings_that_are_wrong_are_told(host: Host) -> None:
    told = [host.prompt("I keep bees.", THYMUS_GATE="none-such").notice for _ in range(3)]
    assert ["none-such" in one for one in told if one] == [True]


def test_modules_in_the_folder_of_the_host_are_not_run(host: Host) -> None:
    project = host.root / "project"
    project.mkdir()
    for name in ("json", "socket", "thymus", "sitecustomize"):
        for folder in (project, host.root / "home"):
            (folder / f"{name}.py").write_text("raise SystemExit('somebody else is run')")
    before = Path.cwd()
    os.chdir(project)
    try:
        assert quiet(host.start())
    finally:
        os.chdir(before)
    assert len(host.residents()) == 1


def test_without_unix_sockets_a_secret_is_asked_for(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.environment["THYMUS_HOOK_LOOPBACK"] = "1"
    assert quiet(host.start())
    path = Path(host.status()["socket"])
    assert path.stat().st_mode & 0o777 == 0o600
    port, secret = path.read_text().split()
    monkeypatch.setenv("THYMUS_HOOK_LOOPBACK", "1")
    assert wire.ask(str(path), {"do": "status"}, 2.0)["pid"] in host.residents()
    for wrong in (f"{port} {secret[:-1]}x", f"{port} ", port, "", f"x {secret}"):
        path.write_text(wrong)
        with pytest.raises(wire.WireError):
            wire.ask(str(path), {"do": "status"}, 2.0)
    path.write_text(f"{port} {secret}")


def test_the_resident_ends_by_itself(host: Host) -> None:
    host.environment["THYMUS_HOOK_IDLE"] = "0.3"
    host.start()
    until = time.monotonic() + 8
    while host.residents() and time.monotonic() < until:
        time.sleep(0.02)
    assert host.residents() == []
    assert not Path(host.status()["socket"]).exists()


def test_arguments() -> None:
    """Run on no account of its own: nothing is started."""
    done = subprocess.run([PROGRAM, "hook", "--help"], capture_output=True, check=False)
    assert (done.returncode, done.stdout[:5]) == (0, b"Usage")
    done = subprocess.run([PROGRAM, "hook", "--nonsense"], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr[:5]) == (2, b"", b"Usage")


def test_latency(warm: Host, host: Host) -> None:
    """Printed, and not held to a figure: machines differ."""

    def shown(name: str, runs: list[Ran]) -> None:
        times = sorted(ran.seconds * 1e3 for ran in runs)
        p95 = times[int(len(times) * 0.95)]
        print(f"{name:28s} p50 {statistics.median(times):4.0f} ms   p95 {p95:4.0f} ms   ({len(times)} events)")

    who = {"THYMUS_USER": "latency"}
    print()
    warm.settle(90)
    cold = [host.start()]
    host.stop()
    shown("first event, cold", cold)
    shown("prompt that states", [warm.prompt(f"My room number is {n + 400}.", **who) for n in range(8)])
    shown("prompt that asks", [warm.prompt(f"What is room {n + 400} for?", **who) for n in range(8)])
    shown("tool result", [warm.result("mcp__rooms__get", f"Room {n} opens at {n % 12}:30.", **who) for n in range(8)])
    shown("event of no interest", [warm.run(b'{"hook_event_name": "Stop"}', env=who) for _ in range(8)])
    assert all(ran.code == 0 for ran in cold)
    warm.settle(90)


def test_status_is_json(warm: Host) -> None:
    found = warm.status()
    assert {"state", "socket", "waiting", "failed", "unread", "refused", "resident"} == found.keys()
    assert json.dumps(found)
