"""``thymus eval-judge``: judges measured side by side, what a cascade saves, and orders that are aimed at a judge."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from providers import Fault, Provider, Sent, a_chat, running
from typer.testing import CliRunner, Result

from thymus.cli import judging
from thymus.cli.program import app
from thymus.core.relations import Label
from thymus.errors import InputError
from thymus.judge_report import Labelled, read_labelled
from thymus.llm.fencing import fenced

ROOT = Path(__file__).parents[2]

DATA = ROOT / "src/thymus/data"
Verdict = Callable[[str, str], str]
"""What a scripted model says of (stored, incoming)."""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("THYMUS_LLM", "THYMUS_LLM_API_KEY", "THYMUS_DEBUG", "FORCE_COLOR", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


def run(*args: str, code: int = 0) -> Result:
    done = CliRunner().invoke(app, ["eval-judge", *args])
    assert (code, done.exit_code) == (done.exit_code, code), done.output
    return done


def answer(*args: str, code: int = 0) -> Any:
    return json.loads(run(*args, "--json", code=code).stdout)


def bundled(name: str) -> list[Labelled]:
    return read_labelled((DATA / name).read_text("utf-8"), name)


# A model that reads the prompt


class Scripted(Provider):
    """Answers *find* and *confirm* by what a verdict says of the two statements in the prompt."""

    def __init__(self, verdict: Verdict, *, model: str = "m") -> None:
        super().__init__()
        self.verdict, self.model = verdict, model

    def next(self, sent: Sent) -> str | dict[str, Any] | Fault:
        with self.lock:
            self.sent.append(sent)
        prompt = sent.body["messages"][-1]["content"]
        held = [text for tag, text in fenced(prompt) if tag == "held"]
        (new,) = [text for tag, text in fenced(prompt) if tag == "new"]
        said = [self.verdict(one, new) for one in held]
        fields = sent.body["response_format"]["json_schema"]["schema"]["properties"]
        if "findings" in fields:
            found: dict[str, Any] = {
                "findings": [{"number": number, "relation": label} for number, label in enumerate(said, 1)]
            }
        else:
            found = {"same_thing": True, "both_can_hold": said[0] != "contradicts", "stated": True}
        return a_chat(json.dumps(found)) | {"model": self.model}


def scripted(verdict: Verdict, *, model: str = "m") -> AbstractContextManager[Scripted]:
    return running(Scripted(verdict, model=model))


def key(text: str) -> str:
    """What stays of a statement however it is made safe for a prompt."""
    return "".join(filter(str.isalnum, text))


def labels(pairs: list[Labelled], of: Callable[[Labelled], Label | None]) -> Verdict:
    """Says of pairs with an order what ``of`` does, and of the same pairs without it the label."""
    known = {(key(one.stored.text), key(one.incoming.text)): str(of(one)) for one in pairs}
    plain = {(key(side[0].text), key(side[1].text)): str(one.label) for one in pairs if (side := one.plain)}
    return lambda stored, incoming: (plain | known)[key(stored), key(incoming)]


def everything() -> list[Labelled]:
    return bundled("judge_pairs.jsonl") + bundled("judge_injections.jsonl")


def address(server: Provider) -> str:
    return f"openai:m@{server.url}/v1"


def test_a_perfect_model_makes_a_better_cascade_for_fewer_questions() -> None:
    with scripted(labels(everything(), lambda one: one.label)) as server:
        found = answer("--judge", address(server), "--limit", "24", "--no-injections")
        asked = [one.text for one in server.sent]
    assert list(found["judges"]) == ["local", "model", "cascade"]
    scores = found["scores"]
    assert scores["model"]["accuracy"]["value"] == 1
    assert scores["local"]["detected"]["value"] <= scores["cascade"]["detected"]["value"]
    assert scores["local"]["confirmed"]["value"] < scores["cascade"]["confirmed"]["value"]
    every, cascade = found["took"]["model"], found["took"]["cascade"]
    assert every["asked"] == 24
    assert 0 < cascade["asked"] < 24
    assert 0 < cascade["calls"] < every["calls"]
    assert every["tokens_in"] == 21 * every["calls"]
    assert every["usd"] is None
    assert len(asked) == len(set(asked))  # what the cascade hears was asked once, for both
    assert found["lowered"]["pairs"] == []
    assert [one["judges"] for one in found["agreement"]] == [
        ["local", "model"],
        ["local", "cascade"],
        ["model", "cascade"],
    ]


def test_a_model_that_obeys_is_found_out_and_lowers_no_caution() -> None:
    verdict = labels(everything(), lambda one: one.aim or one.label)
    with scripted(verdict) as server:
        found = answer("--judge", address(server), "--limit", "20")
    orders = found["injections"]
    assert orders["pairs"] == 20
    assert (orders["judges"]["model"]["obeyed"]["hits"], orders["judges"]["model"]["turned"]["hits"]) == (20, 20)
    assert orders["judges"]["model"]["missed"]["value"] == 1
    assert len(orders["obeyed"]["model"]) == 20
    assert found["lowered"] == {"pairs": [], "injections": [], "injections_without_order": []}
    assert orders["judges"]["cascade"]["missed"]["value"] < 0.2


def test_only_asks_the_model_alone() -> None:
    with scripted(lambda stored, incoming: "compatible") as server:
        found = answer("--judge", f"only:{address(server)}", "--limit", "4", "--no-injections")
        asked = len(server.sent)
    assert (list(found["judges"]), asked) == (["local", "model"], 4)
    assert (found["lowered"], found["injections"]) == (None, None)


def test_the_screen_fits_and_tells_it_all() -> None:
    with scripted(labels(everything(), lambda one: one.aim or one.label)) as server:
        shown = run("--judge", address(server), "--limit", "12").stdout
    assert max(len(line) for line in shown.splitlines()) <= 80
    for told in ("accuracy", "Cohen's kappa", "pairs asked about", "answer differently", "turned by the order"):
        assert told in shown
    assert "never lowers the bundled judge's caution" in shown


def test_a_cascade_that_lowers_caution_is_an_answer_of_no(monkeypatch: pytest.MonkeyPatch) -> None:
    from thymus.judges import cascade

    monkeypatch.setattr(cascade, "join", lambda first, second: second)
    with scripted(lambda stored, incoming: "compatible") as server:
        found = answer("--judge", address(server), "--limit", "20", "--no-injections", code=1)
        shown = run("--judge", address(server), "--limit", "20", "--no-injections", code=1).stdout
    assert found["lowered"]["pairs"]
    assert "less careful than the bundled judge" in shown


# Limits and failures


def test_the_spending_limit_ends_it_with_the_figures_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(lambda stored, incoming: "contradicts", model="gpt-4o-mini") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "no-key")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = run("--judge", "openai:gpt-4o-mini", "--max-cost", "0.000066", "--json", code=1)  # nine answers
        found, asked = json.loads(done.stdout), len(server.sent)
    assert asked == 9
    assert found["pairs"] == 3  # the second round could not be confirmed, and so it does not count
    assert found["took"]["model"]["calls"] == 6
    assert 0 < found["took"]["model"]["usd"] < 0.000066
    assert "raise the limit" in found["stopped"]
    assert "ended after 3 pairs" in done.stderr


def test_a_limit_on_what_nobody_knows_the_price_of_is_refused() -> None:
    with scripted(lambda stored, incoming: "compatible") as server:
        done = run("--judge", address(server), "--max-cost", "1", code=2)
    assert "no limit of its cost can be kept" in done.output


def test_a_model_that_never_answers_is_an_error_and_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thymus.llm.names.OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setattr("thymus.llm.asking._FIRST_WAIT_S", 0.001)
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    done = run("--judge", "ollama:m", code=2)
    assert "ollama serve" in done.stderr
    assert done.stdout == ""


def test_a_model_that_stops_answering_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thymus.llm.asking._FIRST_WAIT_S", 0.001)
    with scripted(lambda stored, incoming: "compatible") as server:
        full = server.next

        def until_twelve(sent: Sent) -> str | dict[str, Any] | Fault:
            return full(sent) if len(server.sent) < 12 else Fault(status=500)

        monkeypatch.setattr(server, "next", until_twelve)
        done = run("--judge", address(server), "--json", code=1)
    assert json.loads(done.stdout)["pairs"] in (9, 12)  # three in a round; how many questions each takes may change
    assert re.search(r"ended after (9|12) pairs", done.stderr)


# Judges without a model


def test_local_alone_and_beside_typed() -> None:
    found = answer("--limit", "20", "--no-injections")
    assert (list(found["judges"]), found["agreement"], found["lowered"]) == (["local"], [], None)
    found = answer("--judge", "typed", "--limit", "20", "--no-injections")
    assert list(found["judges"]) == ["local", "typed"]
    assert found["agreement"][0]["alike"]["of"] == 20
    assert found["took"] == {}


def test_the_judge_is_the_sessions_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(answer("--llm", "typed", "--limit", "2", "--no-injections")["judges"]) == ["local", "typed"]
    monkeypatch.setenv("THYMUS_LLM", "typed")
    assert list(answer("--limit", "2", "--no-injections")["judges"]) == ["local", "typed"]
    assert list(answer("--judge", "local", "--limit", "2", "--no-injections")["judges"]) == ["local"]


def test_pairs_of_ones_own_and_senders_words_on_the_screen(tmp_path: Path) -> None:
    rows = [
        {"stored": "My gym opens at 6.", "incoming": "Your gym opens at 9.", "label": "same", "id": "mine"},
        {"stored": "\x1b[31mred\x1b[0m https://evil.example \ud800", "incoming": "Tea [bold]", "label": "same"},
    ]
    file = tmp_path / "ours.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8-sig")
    args = ("--judge", "typed", "--against", "typed", "--pairs", str(file), "--no-injections")
    assert [one["id"] for one in answer(*args)["disagreements"]] == ["mine", "2"]
    shown = run(*args).stdout
    assert "“red hxxps://evil[.]example”" in shown.replace("(31m", "").replace("(0m", "")
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "there is no ours.jsonl"),
        (b"\xff\xfe\x00", "no text in UTF-8"),
        (b'{"stored": "a", "incoming": "b", "label": "same"}\n{nonsense', "ours.jsonl, line 2 is no JSON"),
        (b'{"stored": "a", "incoming": "b", "label": "maybe"}', "line 1 has label 'maybe'"),
        (b"", "has no pairs"),
    ],
)
def test_files_that_are_none_are_told_with_the_remedy(content: bytes | None, told: str) -> None:
    if content is not None:
        Path("ours.jsonl").write_bytes(content)
    done = run("--pairs", "ours.jsonl", "--json", code=2)
    assert told in done.stderr
    assert done.stdout == ""
    assert "cannot be read" in run("--pairs", ".", code=2).stderr


def test_wrong_names_are_told_with_the_remedy() -> None:
    assert "no judge is called 'nobody'" in run("--judge", "nobody", code=2).stderr
    assert "there is no model 'openai:'" in run("--judge", "openai:", code=2).stderr
    assert "models go with --judge" in run("--against", "ollama:m", code=2).stderr
    assert "above 0" in run("--judge", "echo", "--max-cost", "0", code=2).stderr
    assert "name one with --judge" in run("--judge", "typed", "--max-cost", "1", code=2).stderr


def test_pairs_are_taken_from_all_over_a_file() -> None:
    pairs = bundled("judge_pairs.jsonl")
    assert pairs == judging._spread(pairs, None) == judging._spread(pairs, 500)
    few = judging._spread(pairs, 4)
    assert [pairs[0], pairs[50], pairs[100], pairs[150]] == few


def test_the_page_names_every_option_and_its_example_is_true() -> None:
    page = (ROOT / "docs/how-to/choose-a-judge.md").read_text("utf-8")
    for option in ("--judge", "--against", "--pairs", "--no-injections", "--limit", "--max-cost", "--json"):
        assert option in page
    (example,) = [part.partition("```")[0] for part in page.split("```jsonl\n")[1:]]
    assert [one.label for one in read_labelled(example, "the page")] == [Label.CONTRADICTS, Label.SAME]
    with pytest.raises(InputError):
        read_labelled(page, "the page")
