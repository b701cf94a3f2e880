"""Language models on the command line: what ``doctor`` says of them, and ``ingest`` that is paid by the message."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from providers import Fault, Provider, Sent, a_chat, running
from typer.testing import CliRunner, Result

from thymus.cli import bulk, costs, model_health, waiting
from thymus.cli.program import app
from thymus.llm import asking
from thymus.llm.echo import sentences
from thymus.llm.fencing import fenced

Step: TypeAlias = "str | dict[str, Any] | Fault"
ORDER = "Attention, language model"


@pytest.fixture(autouse=True)
def own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (*(name for name in os.environ if name.startswith(("THYMUS_", "OPENAI_"))), "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("THYMUS_DB", str(tmp_path / "memory.db"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(asking, "_FIRST_WAIT_S", 0.01)
    return tmp_path / "memory.db"


def run(*args: str, code: int = 0) -> Result:
    done = CliRunner().invoke(app, list(args))
    assert (code, done.exit_code) == (done.exit_code, code), done.output
    return done


def answer(*args: str, code: int = 0) -> Any:
    return json.loads(run(*args, "--json", code=code).stdout)


# A model that reads what it is shown


def unmoved(text: str) -> list[str]:
    """Everything that a message states, whatever it orders."""
    return [said for said in sentences(text) if ORDER not in said]


class Reader(Provider):
    """Answers each question from the texts in its prompt, and counts how many it was asked at the same time.

    :param quote: what it quotes from a message.
    :param relate: how it finds that a new statement stands to one that is held.
    :param before: what it answers with instead, by the number of the request and what it shows.
    :param wait_s: seconds that it thinks.
    """

    def __init__(
        self,
        *,
        quote: Callable[[str], list[str]] = unmoved,
        relate: Callable[[str, str], str] = lambda held, _: "contradicts" if "appointment" in held else "compatible",
        before: Callable[[int, str], Step | None] = lambda *_: None,
        wait_s: float = 0.0,
    ) -> None:
        super().__init__()
        self.quote, self.relate, self.before, self.wait_s = quote, relate, before, wait_s
        self.under_way = self.most_at_once = 0

    def next(self, sent: Sent) -> Step:
        with self.lock:
            self.sent.append(sent)
            number = len(self.sent)
            self.under_way += 1
            self.most_at_once = max(self.most_at_once, self.under_way)
        time.sleep(self.wait_s)
        with self.lock:
            self.under_way -= 1
        instead = self.before(number, sent.text)
        if instead is not None:
            return instead
        usage = {"prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 1_100}
        return a_chat(json.dumps(self._answer(sent))) | {"model": "gpt-4o-mini", "usage": usage}

    def _answer(self, sent: Sent) -> dict[str, Any]:
        shown = list(fenced(sent.body["messages"][-1]["content"]))
        fields = sent.body["response_format"]["json_schema"]["schema"]["properties"]
        if "colour" in fields:
            return {"colour": "green", "locks": 2}
        if "statements" in fields:
            words = [words for _, text in shown for words in self.quote(text)]
            return {"statements": [{"words": one, "kind": "fact", "about": ""} for one in words]}
        held, new = [text for tag, text in shown if tag == "held"], shown[-1][1]
        if "findings" in fields:
            return {"findings": [{"number": at, "relation": self.relate(one, new)} for at, one in enumerate(held, 1)]}
        return {"same_thing": True, "both_can_hold": False, "stated": True}


def reading(**kwargs: Any) -> AbstractContextManager[Reader]:
    return running(Reader(**kwargs))


def address(server: Provider) -> str:
    """A server of one's own: nobody lists what it costs."""
    return f"openai:m@{server.url}/v1"


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch) -> Callable[[Reader], str]:
    """The same under the name of a model with a list price: $0.00021 a question."""

    def name(server: Reader) -> str:
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        return "openai:gpt-4o-mini"

    return name


# doctor


def checks(*args: str, code: int = 0) -> dict[str, Any]:
    """What ``doctor`` finds, by name."""
    return {check["name"]: check for check in answer("doctor", *args, code=code)["checks"]}


def test_doctor_tells_what_a_write_takes_and_how_the_model_judges(priced: Callable[[Reader], str]) -> None:
    with reading() as server:
        done = run("doctor", "--llm", priced(server))
        asked = len(server.sent)
    shown = " ".join(done.stdout.split())
    assert "answers in the form asked for" in shown
    assert re.search(r"a write \d+\.\d s, 1\.\d questions, 1,\d{3} tokens", shown)
    assert re.search(r"\$0\.\d\d and up for 1,000 short messages, \$0\.000\d and up a write at list price", shown)
    assert "found a contradiction, and confirmed it" in shown
    assert "obeyed none of 2" in shown
    assert "local and typed first, openai:gpt-4o-mini where they are unsure" in shown
    assert "thymus: asks openai:gpt-4o-mini about 8 questions" in done.stderr
    assert abs(asked - model_health.QUESTIONS) <= 2
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_doctor_gives_programs_the_figures(priced: Callable[[Reader], str]) -> None:
    with reading() as server:
        found = checks("--llm", priced(server))
        spent = len(server.sent) - 1 - 3  # without the first question and those of the judgement
    assert {check["state"] for check in found.values()} == {"ok"}
    figures = found["a write"]["figures"] | found["cost"]["figures"]
    assert figures["questions"] == pytest.approx(spent / 3, abs=0.01)
    assert figures["tokens"] == pytest.approx(1_100 * spent / 3, abs=1)
    assert figures["usd_per_1000"] == pytest.approx(0.21 * spent / 3, abs=0.001)
    assert figures["seconds"] > 0


def test_doctor_without_a_price_tells_the_tokens() -> None:
    with reading() as server:
        found = checks("--llm", address(server))
    assert found["cost"]["figures"] == {"usd": None, "usd_per_1000": None}
    assert re.search(
        "no list price is known .* 1,000 short messages take [0-9.]+ million tokens and up", found["cost"]["found"]
    )


@pytest.mark.parametrize(
    ("step", "remedy"),
    [
        (Fault(status=401), "refuses the key: check THYMUS_LLM_API_KEY"),
        (Fault(status=429), "asked too often"),
        (Fault(status=500), "try again later"),
        (Fault(body="{"), "try again later"),
        (a_chat("certainly!"), "did not keep to the form"),
        (a_chat(None, refusal="I cannot."), "declined to answer"),
        (a_chat(""), "answered with nothing"),
    ],
    ids=["wrong key", "too often", "broken", "malformed", "another form", "refusal", "empty"],
)
def test_doctor_says_why_a_model_does_not_answer_and_who_takes_over(step: Step, remedy: str) -> None:
    with reading(before=lambda *_: step) as server:
        found = checks("--llm", address(server), code=1)
        assert len(server.sent) <= 2
    assert (found["model"]["state"], found["memory"]["state"]) == ("fail", "ok")
    assert remedy in found["model"]["remedy"]
    assert "the bundled judge and rules take over" in found["model"]["remedy"]
    assert "cost" not in found


def test_doctor_of_a_provider_that_is_not_there() -> None:
    with reading() as server:
        name = address(server)
    run("remember", "My standup is at 9:15.", "--llm", "typed")
    found = checks("--llm", name, code=1)
    assert "start the server at" in found["model"]["remedy"]
    assert found["ledger"]["state"] == "ok"


def test_doctor_waits_only_so_long_and_warns_of_slow_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_health, "SLOW_S", 0.05)
    with reading(wait_s=0.06) as server:
        found = checks("--llm", address(server))
        assert found["a write"]["state"] == "warn"
        assert "--concurrency" in found["a write"]["remedy"]
        monkeypatch.setattr(model_health, "PATIENCE_S", 0.03)
        found = checks("--llm", address(server), code=1)
    assert "did not answer within" in found["model"]["remedy"]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("openai:gpt-4o-mini", "OPENAI_API_KEY"),
        ("openai:", "name one as"),
        ("ollama:m@http://127.0.0.1:1/v1", "goes with openai"),
    ],
)
def test_doctor_of_a_model_that_cannot_be_opened_asks_nothing(name: str, remedy: str) -> None:
    run("remember", "My standup is at 9:15.", "--llm", "typed")
    done = run("doctor", "--llm", name, code=1)
    assert "asks" not in done.stderr
    assert done.stdout.count("fail ") == 1  # a model that is away is no fault of the memory
    shown = " ".join(done.stdout.split())
    assert remedy in shown
    assert "commands with this model end with that error" in shown


def test_doctor_warns_of_a_model_that_obeys_senders() -> None:
    obeying = {
        "quote": lambda text: [] if ORDER in text else sentences(text),
        "relate": lambda held, new: "compatible" if ORDER in new or "floor" in held else "contradicts",
    }
    with reading(**obeying) as server:
        found = checks("--llm", address(server))["hidden orders"]
    assert (found["state"], found["found"]) == (
        "warn",
        "it obeyed: left out what a message states and called a contradiction none",
    )
    assert "no decision less careful" in found["remedy"]


def test_doctor_warns_of_a_model_that_judges_badly() -> None:
    for relate, said in (
        (lambda *_: "compatible", "overlooked a contradiction"),
        (lambda *_: "contradicts", "one where there is none"),
    ):
        with reading(relate=relate) as server:
            found = checks("--llm", address(server))
        assert found["judging"]["state"] == "warn"
        assert said in found["judging"]["found"]
        assert "thymus eval-judge --judge" in found["judging"]["remedy"]
        assert found["hidden orders"]["state"] == "ok"  # who overlooks it anyway obeyed nobody


def test_doctor_warns_of_a_model_that_words_anew() -> None:
    with reading(quote=lambda text: [*sentences(text), f"In short: {text}"]) as server:
        found = checks("--llm", address(server))
    assert (found["quoting"]["state"], found["quoting"]["found"]) == (
        "warn",
        "3 of 7 quotations not in the message, so refused",
    )
    with reading(quote=lambda text: [f"In short: {text}"]) as server:
        found = checks("--llm", address(server), code=1)
    assert "quoted nothing that the message says" in found["writing"]["remedy"]


def test_doctor_tells_of_a_model_that_fails_in_between() -> None:
    with reading(before=lambda number, _: Fault(status=400) if number in (2, 3) else None) as server:
        found = checks("--llm", address(server))
    assert (found["writing"]["state"], found["writing"]["found"]) == ("warn", "2 of 3 trial writes went without it")
    assert "the bundled judge and rules took over" in found["writing"]["remedy"]
    with reading(before=lambda number, _: Fault(status=400) if number > 1 else None) as server:
        found = checks("--llm", address(server), code=1)
    assert found["writing"]["state"] == "fail"
    assert not found.keys() & {"cost", "a write", "hidden orders"}
    assert found["judging"]["state"] == "warn"


def test_doctor_takes_echo_for_no_model() -> None:
    found = checks("--llm", "echo")
    assert "it is no model" in found["model"]["remedy"]
    assert found["cost"]["found"] == "nothing"


def test_doctor_says_where_answers_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THYMUS_LLM_CACHE", str(tmp_path / "kept"))
    assert "`thymus forget` does not reach them" in checks("--llm", "echo")["answers"]["found"]
    assert not (tmp_path / "kept").exists()


def test_no_other_command_asks_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    run("remember", "My standup is at 9:15.", "--llm", "typed")
    with reading() as server:
        monkeypatch.setenv("THYMUS_LLM", address(server))
        for args in (["memories"], ["recall", "When is my standup?"], ["inbox"], ["sources"], ["gates"], ["verify"]):
            run(*args)
        assert server.sent == []


@pytest.mark.parametrize("extra", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_are_dropped_where_they_are_not_wanted(extra: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[" in run("doctor", "--llm", "echo").stdout
    for name, value in extra.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("FORCE_COLOR")
    assert "\x1b" not in run("doctor", "--llm", "echo").stdout


# remember


def test_remember_shows_what_stood_in_for_the_model() -> None:
    with reading(before=lambda *_: Fault(status=401)) as server:
        done = run("remember", "My standup is at 9:15 in Room 2A.", "--llm", address(server))
        shown = " ".join(done.stdout.split())
        assert shown.startswith("admitted")
        assert "the bundled rules extracted, in place of openai:m" in shown
        assert "check THYMUS_LLM_API_KEY" in shown
        assert len(answer("remember", "My gym closes at 22:00.", "--llm", address(server))["fallbacks"]) == 1
    assert max(map(len, done.stdout.splitlines())) <= 80


# ingest


TOLD = """\
The ferry to Texel leaves at 9:40.
Asha is allergic to peanuts.
The gym closes at 22:00 on Sundays.
Our boiler was serviced in March.
The printer on floor two is called Hugo.
The library lends films for a week.
The piano is tuned every autumn.
Ravi works for a bakery in Leeds.
The garden gate has a green handle.
The invoice of the plumber is paid.
Mira plays chess with her uncle.
The car park charges four euros an hour.
The tent weighs three kilograms.
Olive oil is in the upper cupboard.
The choir rehearses in the old town hall.
Jonas speaks Danish and some Polish.""".splitlines()
"""Statements that have nothing to do with one another, so that no judge is unsure of a pair."""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.csv"
    path.write_text("sender,text\n" + "".join(f"ravi,{told}\n" for told in TOLD))
    return path


def test_so_many_messages_are_asked_about_at_once_and_settled_in_order(notes: Path) -> None:
    with reading(wait_s=0.05) as server:
        found = answer("ingest", str(notes), "--llm", address(server), "--concurrency", "5")
        assert server.most_at_once == 5
        assert found["model"]["calls"] == len(server.sent)
    assert (found["messages"], found["with_claims"], found["fell_back"]) == (16, 16, 0)
    told = [memory["text"] for memory in answer("memories", "--limit", "99")]
    assert TOLD[::-1] == told


def test_one_at_a_time_and_the_usual_eight(notes: Path) -> None:
    for given, at_once in ((("--concurrency", "1"), 1), ((), 8)):
        with reading(wait_s=0.3) as server:
            run("ingest", str(notes), "--dry-run", "--limit", "12", "--llm", address(server), *given)
            assert at_once - at_once // 4 <= server.most_at_once <= at_once  # the machine may be busy


def test_the_account_says_what_the_model_took(notes: Path, priced: Callable[[Reader], str]) -> None:
    with reading() as server:
        shown = run("ingest", str(notes), "--llm", priced(server), "--limit", "8").stdout
        asked = len(server.sent)
    text = " ".join(shown.split())
    assert "8 messages read" in text
    assert (
        f"{asked:,} calls to openai:gpt-4o-mini {1_100 * asked:,} tokens {1_000 * asked:,} in, {100 * asked:,} out"
        in text
    )
    assert f"${0.00021 * asked:.4f} cost at list price" in text
    assert "fell back" not in text
    assert max(map(len, shown.splitlines())) <= 80


def test_a_dry_run_says_that_it_costs_all_the_same(
    notes: Path, priced: Callable[[Reader], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with reading() as server:
        args = ("ingest", str(notes), "--dry-run", "--llm")
        text = " ".join(run(*args, priced(server), "--limit", "1").stdout.split())
        assert "nothing was kept, but the 1 call to openai:gpt-4o-mini cost $0.0002 all the same." in text
        text = " ".join(run(*args, address(server), "--limit", "1").stdout.split())
        assert "1 call all the same. Without --dry-run it is learned." in text
        monkeypatch.setenv("THYMUS_LLM_CACHE", str(tmp_path / "kept"))
        run(*args, address(server), "--limit", "3")
        text = " ".join(run(*args, address(server), "--limit", "3").stdout.split())
    assert "0 calls" in text
    assert "3 cached answered before" in text
    assert "A dry run: nothing was kept. Without" in text


def test_at_the_limit_it_stops_says_so_and_goes_on_from_there(notes: Path, priced: Callable[[Reader], str]) -> None:
    with reading(wait_s=0.01) as server:
        args = ("ingest", str(notes), "--llm", priced(server), "--concurrency", "2", "--max-cost", "0.001")
        done = run(*args, code=1)
        assert "stopped: openai:gpt-4o-mini has cost the $0.001 that it may." in done.stderr
        assert "the same command goes on from there" in done.stderr
        assert "--max-cost goes further" in done.stderr
        asked = len(server.sent)
        assert asked in (5, 6)  # at $0.00021, and what was under way
        found = answer(*args, code=1)
    assert found["done_before"] in (5, 6)
    assert found["model"]["max_usd"] == 0.001
    assert 0.001 <= found["model"]["usd"] < 0.0013
    assert found["stopped"]
    last = answer("ingest", str(notes))
    assert last["done_before"] == found["done_before"] + found["messages"]
    assert TOLD[::-1] == [memory["text"] for memory in answer("memories", "--limit", "99")]


def test_a_limit_that_the_last_message_reaches_stops_nothing(notes: Path, priced: Callable[[Reader], str]) -> None:
    with reading() as server:
        limited = ("--llm", priced(server), "--max-cost", "0.0002", "--concurrency", "1")
        assert answer("ingest", str(notes), *limited, "--limit", "1")["stopped"] == ""


def test_at_the_limit_no_further_file_is_begun(notes: Path, priced: Callable[[Reader], str]) -> None:
    known = notes.with_name("known.csv")
    known.write_text("sender,text\nravi,The bus stop is behind the bank.\n")
    run("ingest", str(known))
    with reading() as server:
        limited = ("--llm", priced(server), "--max-cost", "0.0002", "--concurrency", "1")
        found = answer("ingest", str(notes), str(known), *limited, code=1)
        assert (found["messages"], found["done_before"], bool(found["stopped"])) == (1, 0, True)
        dry = run("ingest", str(notes), *limited, "--dry-run", code=1)
        assert "a higher --max-cost reads more" in dry.stderr


def test_without_a_price_no_limit_can_be_kept(notes: Path) -> None:
    with reading() as server:
        done = run("ingest", str(notes), "--llm", address(server), "--max-cost", "1", "--concurrency", "2", code=2)
        assert not server.sent
    assert "no list price" in done.output


def test_a_provider_that_is_down_costs_no_message(notes: Path) -> None:
    with reading(before=lambda number, _: Fault(status=503) if number > 2 else None) as server:
        shown = run("ingest", str(notes), "--llm", address(server), "--concurrency", "2").stdout
        assert len(server.sent) < 16  # it is left alone once it has failed several times
    text = " ".join(shown.split())
    assert "16 messages read" in text
    assert re.search(r"\b1[3456] fell back messages that what is bundled took over", text)
    assert " messages were learned without the language model, in part or whole; none is lost." in text
    assert re.search("The first time: the (bundled rules extracted|judge local judged alone), in place of openai", text)
    assert len(answer("memories", "--limit", "99")) == 16
    assert max(map(len, shown.splitlines())) <= 80


def test_one_failure_is_counted_as_one(notes: Path) -> None:
    def declines(_: int, text: str) -> Step | None:
        return a_chat(None, refusal="no") if "<message-" in text and "Asha" in text else None

    with reading(before=declines) as server:
        found = answer("ingest", str(notes), "--llm", address(server), "--concurrency", "1", "--limit", "4")
    assert (found["fell_back"], found["model"]["refused"], found["model"]["failed"]) == (1, 1, 0)
    assert "declined" in found["first_fallback"]


def test_options_of_models_want_a_model(notes: Path, own_memory: Path) -> None:
    for args in (("--concurrency", "4"), ("--max-cost", "1")):
        for llm in ((), ("--llm", "typed")):
            done = run("ingest", str(notes), *args, *llm, code=2)
            assert args[0] in done.stderr
            assert "name one with --llm" in done.stderr
    assert (
        "--max-cost is a number of US dollars above 0"
        in run("ingest", str(notes), "--llm", "echo", "--max-cost", "0", code=2).stderr
    )
    assert not own_memory.exists()


def test_lines_of_progress_say_the_cost_so_far(
    notes: Path, priced: Callable[[Reader], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LINE_EVERY", 0.0)
    with reading() as server:
        done = run("ingest", str(notes), "--llm", priced(server), "--concurrency", "1", "--limit", "2")
        assert re.match(r"1 messages, [0-9.,]+/s, \$0\.0002 in 1 call\n", done.stderr)
        done = run("ingest", str(notes), "--llm", address(server), "--concurrency", "1", "--limit", "2", "--restart")
        assert re.match(r"1 messages, [0-9.,]+/s, [0-9]+ calls?\n", done.stderr)


def test_interrupted_it_keeps_what_is_settled_and_goes_on(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "GRACE_S", 60.0)  # without any, it would end this process

    def interrupts(number: int, _: str) -> None:
        if number == 6:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    if threading.current_thread() is not threading.main_thread():
        pytest.skip("an interrupt reaches the main thread only")
    with reading(before=interrupts, wait_s=0.05) as server:
        args = ("ingest", str(notes), "--llm", address(server), "--concurrency", "2")
        done = run(*args, code=130)
        assert "messages read" in done.stdout
        said = [line for line in done.stderr.splitlines() if line.startswith("thymus: ")]
        assert said == ["thymus: interrupted: what is counted above is kept; the same command goes on from there"]
        kept = len(answer("memories"))
        assert 3 <= kept <= 5
        found = answer(*args)
    assert (found["done_before"], found["messages"], found["duplicates"]) == (kept, 16 - kept, 0)
    assert TOLD[::-1] == [memory["text"] for memory in answer("memories", "--limit", "99")]


@pytest.mark.parametrize(
    ("usd", "words"),
    [
        (0, "$0.00"),
        (0.00001, "less than $0.0001"),
        (0.0014, "$0.0014"),
        (0.1, "$0.10"),
        (1.4, "$1.40"),
        (2e3, "$2,000.00"),
    ],
)
def test_amounts_can_be_read(usd: float, words: str) -> None:
    assert words == costs.dollars(usd)


def test_what_asks_no_model_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is missing keeps nobody from reading and deciding."""
    run("remember", "My standup is at 9:15.")
    monkeypatch.setenv("THYMUS_LLM", "anthropic:claude-haiku-5-5")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", "/nowhere")
    for command in (["recall", "When is my standup?"], ["memories"], ["inbox"], ["verify"]):
        run(*command)
    run("remember", "My gym is at 7.", code=2)
