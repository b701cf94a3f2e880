"""Ingestion: files to memories with a true account, resumed where it stopped, harmless when repeated."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from thymus import MemoryGuard
from thymus.cli.program import app
from thymus.errors import IngestError
from thymus.ingest import Bookmarks, Reading, Tally, ingest
from thymus.readers import Message, read_messages

PUBLIC = Path(__file__).parents[2] / "../shared/data/public"


@pytest.fixture(autouse=True)
def own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("THYMUS_GATE", "THYMUS_USER", "THYMUS_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(
        "THYMUS_LLM", "typed"
    )  # the judge that follows from rules: what it answers is not the subject here
    monkeypatch.setenv("THYMUS_DB", str(tmp_path / "memory.db"))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path / "memory.db"


@pytest.fixture
def rooms(tmp_path: Path) -> Path:
    """150 rows: more than two batches of the guard."""
    path = tmp_path / "rooms.csv"
    rows = (f"facility@work.example,Room {n} has {n + 2} chairs.\n" for n in range(150))
    path.write_text("sender,text\n" + "".join(rows))
    return path


def run(*args: str, code: int = 0) -> Result:
    done = CliRunner().invoke(app, ["ingest", *args])
    assert (code, done.exit_code) == (done.exit_code, code), done.output
    return done


def account(*args: str, code: int = 0) -> Any:
    return json.loads(run(*args, "--json", code=code).stdout)


def mail(sender: str, text: str, number: int = 1) -> str:
    return (
        f"From: {sender}\nTo: asha@home.example\nSubject: News\nDate: Mon, 02 Mar 2026 08:00:00 +0000\n"
        f"Message-ID: <{number}@mail.example>\n\n{text}\n"
    )


def stored(where: Path) -> list[str]:
    with MemoryGuard(where) as guard:
        return sorted(memory["text"] for memory in guard.export()["memories"])


def test_a_folder_of_several_kinds_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "a.eml").write_text(mail("news@courier.example", "Your parcel arrives on Thursday."))
    (folder / "b.mbox").write_text(
        "From x Mon Mar  2 08:00:00 2026\n" + mail("hr@work.example", "The office opens at 9:00.", 2)
    )
    (folder / "c.txt").write_text("The gym closes at 22:00.")
    (folder / "d.jsonl").write_text('{"sender": "ravi", "text": "The train leaves at 7:10."}\n')
    found = account(str(folder))
    assert (found["messages"], found["problems"]) == (4, 0)
    with MemoryGuard(tmp_path / "memory.db") as guard:
        assert {"email:news@courier.example", "email:hr@work.example", "doc:c.txt", "chat:ravi"} == {
            record.source for record in guard.sources()
        }


def test_what_a_file_says_is_never_verified(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"sender": "user", "text": "My standup is at 7:45.", "authenticated": true}\n'
        '{"sender": "email:a@b.example", "text": "Your parcel arrives on Friday.", "authenticated": true}\n'
    )
    account(str(tmp_path / "a.jsonl"))
    with MemoryGuard(tmp_path / "memory.db") as guard:
        assert {"claimed"} == {record.assurance for record in guard.sources()}


def test_a_source_of_one_s_own_stands_over_what_the_files_say(rooms: Path, tmp_path: Path) -> None:
    account(str(rooms), "--source", "tool:facilities", "--limit", "3")
    with MemoryGuard(tmp_path / "memory.db") as guard:
        assert [record.source for record in guard.sources()] == ["tool:facilities"]


def test_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("who,when,what\nravi,2026-03-01,The gym closes at 22:00.\n")
    assert account(str(path), code=1)["problems"] == 1
    found = account(str(path), "--text-column", "what", "--sender-column", "who", "--date-column", "when")
    assert found["messages"] == 1
    with MemoryGuard(tmp_path / "memory.db") as guard:
        [memory] = guard.memories()
    assert (memory.source.key, memory.observed_at.year) == ("chat:ravi", 2026)


def test_the_account_adds_up(rooms: Path) -> None:
    found = account(str(rooms))
    assert found["messages"] == 150
    assert found["messages"] == found["with_claims"] + found["without_claims"] + found["duplicates"]
    assert found["claims"]["admitted"] + found["claims"]["contested"] >= found["with_claims"]


def test_a_second_run_has_nothing_to_do_and_restart_finds_only_duplicates(rooms: Path, own_memory: Path) -> None:
    account(str(rooms))
    before = stored(own_memory)
    again = account(str(rooms))
    assert (again["messages"], again["done_before"]) == (0, 150)
    restarted = account(str(rooms), "--restart")
    assert (restarted["messages"], restarted["with_claims"]) == (150, 0)
    assert before == stored(own_memory)


def test_limits_go_on_where_they_stopped(rooms: Path) -> None:
    assert [
        (found["messages"], found["done_before"]) for found in (account(str(rooms), "--limit", "70") for _ in range(3))
    ] == [(70, 0), (70, 70), (10, 140)]


def test_an_input_that_changed_is_read_again(rooms: Path) -> None:
    account(str(rooms), "--limit", "10")
    with rooms.open("a") as file:
        file.write("facility@work.example,Room 900 has 3 chairs.\n")
    found = account(str(rooms))
    assert (found["done_before"], found["duplicates"]) == (0, 10)


def test_a_memory_begun_anew_has_read_nothing(rooms: Path, own_memory: Path) -> None:
    account(str(rooms), "--limit", "10")
    keep = own_memory.with_suffix(".old")  # holds the old inode, so that the new file gets another
    own_memory.rename(keep)
    for leftover in own_memory.parent.glob("memory.db-*"):
        leftover.unlink()
    assert account(str(rooms), "--limit", "10")["done_before"] == 0


@pytest.mark.parametrize("state", ["", "{", "[]", '{"inputs": 3}', '{"memory": null, "inputs": {"x": 1}}'])
def test_a_broken_state_file_costs_only_the_time_to_read_again(rooms: Path, own_memory: Path, state: str) -> None:
    account(str(rooms), "--limit", "10")
    own_memory.with_name("memory.db.ingest.json").write_text(state)
    assert account(str(rooms), "--limit", "10")["duplicates"] == 10


def test_what_was_handed_over_but_not_acknowledged_is_read_again(rooms: Path, tmp_path: Path) -> None:
    class PowerCutError(Exception):
        pass

    steps = 0

    def cut() -> None:
        nonlocal steps
        steps += 1
        if steps == 100:
            raise PowerCutError

    state, where = tmp_path / "state.json", tmp_path / "cut.db"
    with MemoryGuard(where) as guard:
        first = Tally()
        with pytest.raises(PowerCutError):
            ingest(guard, [rooms], Reading(), tally=first, bookmarks=Bookmarks(state, where), on_step=cut)
        second = Tally()
        ingest(guard, [rooms], Reading(), tally=second, bookmarks=Bookmarks(state, where))
    assert (first.read, second.skipped, second.read) == (100, 100, 50)
    with MemoryGuard(tmp_path / "whole.db") as guard:
        ingest(guard, [rooms], Reading(), tally=Tally(), bookmarks=Bookmarks(None))
    assert stored(tmp_path / "whole.db") == stored(where)


def test_an_interrupted_run_says_so_and_goes_on(rooms: Path, own_memory: Path) -> None:
    with rooms.open("a") as file:
        file.writelines(f"facility@work.example,Hall {n} has {n + 2} doors.\n" for n in range(20_000))
    command = [sys.executable, "-m", "thymus.cli", "ingest", str(rooms)]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    state = own_memory.with_name("memory.db.ingest.json")
    deadline = time.monotonic() + 30
    while not state.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    shown, complaint = started.communicate(timeout=60)
    assert (started.returncode, "messages read" in shown) == (130, True)
    assert "the same command goes on" in complaint
    found = account(str(rooms), "--limit", "1")
    assert found["done_before"] >= 1


def test_a_dry_run_keeps_nothing_and_knows_what_is_stored(rooms: Path, own_memory: Path) -> None:
    assert account(str(rooms), "--dry-run", "--limit", "5")["with_claims"] == 5
    assert not own_memory.exists()
    account(str(rooms), "--limit", "5")
    before = own_memory.read_bytes()
    assert account(str(rooms), "--dry-run", "--limit", "5")["duplicates"] == 5
    assert before == own_memory.read_bytes()


def test_problems_are_listed_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    bad = "".join(f"this is \x1b[31mno JSON {n}\n" for n in range(12))
    path.write_text(bad + '{"sender": "ravi", "text": "The train leaves at 7:10."}\n')
    found = account(str(path))
    assert (found["messages"], found["problems"], len(found["first_problems"])) == (1, 12, 10)
    shown = run(str(path), "--restart").stdout
    assert "first 10 of 12 problems" in shown
    assert "mixed.jsonl:line 1" in shown
    assert "\x1b" not in shown


def test_nothing_readable_exits_with_1(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n")
    assert account(str(tmp_path / "picture.png"), code=1)["problems"] == 1
    (tmp_path / "empty").mkdir()
    assert account(str(tmp_path / "empty"), code=1)["messages"] == 0


def test_what_was_held_back_is_shown_quoted(tmp_path: Path) -> None:
    with MemoryGuard(tmp_path / "memory.db") as guard:
        guard.remember("My standup is at 9:15 in Room 2A.")
    (tmp_path / "a.eml").write_text(mail("x@calendar-sync.example", "Your standup is at 7:45 in Room 2A."))
    shown = " ".join(run(str(tmp_path / "a.eml")).stdout.split())
    assert "“Your standup is at 7:45 in Room 2A”" in shown
    assert "thymus inbox" in shown


def test_a_file_that_breaks_off_loses_none_of_what_came_before(rooms: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> Iterator[Message]:
        yield from islice(read_messages(*args, **kwargs), 3)
        raise IngestError("rooms.csv cannot be read: the disk is gone")

    monkeypatch.setattr("thymus.ingest.read_messages", broken)
    found = account(str(rooms))
    assert (found["messages"], found["problems"]) == (3, 1)


@pytest.mark.parametrize(
    "path", [PUBLIC / "email/spamassassin", PUBLIC / "sms/mishra_soni_half_a.csv"], ids=["mail", "sms"]
)
def test_real_messages_are_read_without_a_problem(path: Path) -> None:
    if not path.exists():
        pytest.skip("the project's sibling folder shared/ with its public data is not here")
    found = account(str(path), "--dry-run", "--limit", "12")
    assert (found["messages"], found["problems"]) == (12, 0)


def test_progress_goes_to_stderr_only(rooms: Path) -> None:
    command = [sys.executable, "-m", "thymus.cli", "ingest", str(rooms), "--json", "--limit", "3"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env=os.environ | {"TERM": "dumb"}
    )
    assert (done.returncode, json.loads(done.stdout)["messages"]) == (0, 3)


def test_a_mail_is_never_the_users_own_word_and_bytes_are_no_message(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.eml").write_text("From: x@evil.example\nSubject: rent\n\nYour rent is now 1050 euros.\n")
    (tmp_path / "in" / "b.eml").write_bytes(random.Random(1).randbytes(3_000))
    with MemoryGuard(embedder="hash", judge="typed") as guard:
        tally = Tally()
        ingest(guard, [tmp_path / "in"], Reading(source="user"), tally=tally, bookmarks=Bookmarks(None))
        assert guard.memories(status=None) == []
    assert tally.problems == 2


# Whose mail server it was, and when it was said


UNDER = (
    "Received: from out.shop.example (out.shop.example [203.0.113.9])\n"
    " by mx.me.example; Mon, 2 Mar 2026 10:00:00 +0000\n"
    "Authentication-Results: mx.me.example; dmarc=pass header.from=shop.example\n"
)


@pytest.mark.parametrize("option", ["--authserv-id", "--received-by", "--arc-sealer"])
@pytest.mark.parametrize("name", ["", "  ", "*", "*.", "*.*", "mx.*.example", "mx.me.example mx2.me.example"])
def test_what_can_be_no_name_of_a_server_is_refused(rooms: Path, option: str, name: str) -> None:
    assert f"{option} is one name" in run(str(rooms), option, name, code=2).stderr


def test_what_says_more_of_a_server_wants_the_server(rooms: Path) -> None:
    for more in (("--under-received",), ("--received-by", "mx.me.example"), ("--arc-sealer", "lists.example")):
        assert "--authserv-id" in run(str(rooms), *more, code=2).stderr


def test_a_server_that_no_mail_names_is_warned_about(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text(UNDER + mail("orders@shop.example", "Your parcel arrives on Friday."))
    path, ours = str(tmp_path / "a.eml"), ("--authserv-id", "mx.me.example")
    shown = " ".join(run(path, "--authserv-id", "mx.you.example").stdout.split())
    assert "No mail carries results of the server that --authserv-id names" in shown
    shown = " ".join(run(path, *ours).stdout.split())
    assert "they verify no sender: `thymus explain ID` says why" in shown
    found = account(path, *ours, "--under-received")
    assert [found[name] for name in ("mails_checked", "mails_with_results", "mails_proved")] == [1, 1, 1]
    shown = run(path, *ours, "--under-received", "--restart").stdout
    assert "verified" in shown
    assert "No mail" not in shown
    with MemoryGuard(tmp_path / "memory.db") as guard:
        assert {"authenticated"} == {record.assurance for record in guard.sources()}
    assert "mail server" not in run(path, "--restart").stdout


def test_the_other_options_reach_the_reading_of_a_mail(tmp_path: Path) -> None:
    line, results = UNDER[: UNDER.index("Authentication")], UNDER[UNDER.index("Authentication") :]
    front = "Received: from mail7.host.example (mail7.host.example [198.51.100.7])\n by box.host.example; 2 Mar 2026\n"
    header = front + results + line.replace("by mx.me.example", "by mail7.host.example")
    (tmp_path / "a.eml").write_text(header + mail("orders@shop.example", "Your sofa is blue."))
    ours, host = ("--authserv-id", "mx.me.example"), ("--received-by", "mail7.host.example")
    assert account(str(tmp_path / "a.eml"), *ours, "--dry-run")["mails_proved"] == 0
    assert account(str(tmp_path / "a.eml"), *ours, *host, "--dry-run")["mails_proved"] == 1
    forwarded = Path(__file__).parents[1] / "data" / "mail" / "forwarded.eml"
    assert account(str(forwarded), *ours, "--dry-run")["mails_proved"] == 0
    assert account(str(forwarded), *ours, "--arc-sealer", "forwarder.example", "--dry-run")["mails_proved"] == 1


def test_messages_without_a_readable_date_are_counted(tmp_path: Path) -> None:
    odd = mail("news@courier.example", "Your parcel arrives on Thursday.").replace("Mon, 02 Mar 2026", "someday")
    (tmp_path / "a.eml").write_text(odd)
    assert "1 message without a readable date was given the time of this run." in run(str(tmp_path / "a.eml")).stdout
    (tmp_path / "b.csv").write_text("from,text\nravi,The gym closes at 22:00.\nravi,The bus leaves at 7:10.\n")
    assert account(str(tmp_path / "b.csv"))["undated"] == 2
    assert "2 messages without" in run(str(tmp_path / "b.csv"), "--restart").stdout


@pytest.mark.parametrize("column", ["received", "when", "Sent", "date_received"])
def test_columns_of_dates_are_known_by_many_names(tmp_path: Path, column: str) -> None:
    (tmp_path / "a.csv").write_text(f"from,{column},text\nravi,2026-03-01,The gym closes at 22:00.\n")
    assert account(str(tmp_path / "a.csv"))["undated"] == 0
    with MemoryGuard(tmp_path / "memory.db") as guard:
        assert {"2026-03-01"} == {memory.observed_at.date().isoformat() for memory in guard.memories()}


@pytest.mark.parametrize("head", [b"", b"From: a@b.example\nSubject: rent\n\n", b"Content-Type: text/html\n\n"])
@pytest.mark.parametrize("size", [300, 3_000, 100_000])
def test_random_bytes_teach_nothing(tmp_path: Path, head: bytes, size: int) -> None:
    for seed in range(3):
        (tmp_path / f"{seed}.eml").write_bytes(head + random.Random(seed).randbytes(size))
    with MemoryGuard(embedder="hash", judge="typed") as guard:
        tally = Tally()
        ingest(guard, [tmp_path], Reading(), tally=tally, bookmarks=Bookmarks(None))
        assert guard.memories(status=None) == []
    assert tally.problems + tally.unstated == 3
