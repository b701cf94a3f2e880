"""The cache of answers: what it is keyed by, who may use it at once, how large it grows, and reading it offline."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from thymus.llm import CacheMissError, ModelError, ModelRefusalError, Usage, open_model
from thymus.llm.asking import AskingModel
from thymus.llm.cache import Cache, Label
from thymus.llm.limits import LimitedModel, SpendingLimitError
from thymus.llm.model import Completion, Request

LABEL = Label(model="m", prompt_version="1", repeat=0)
REQUEST = Request(instructions="i", prompt="p", form=None, prompt_version="1", repeat=0, max_tokens=9)


class Scripted:
    """A backend that counts its answers."""

    name = "scripted"

    def __init__(self, refusal: str = "") -> None:
        self.asked = 0
        self._refusal = refusal

    def complete(self, request: Request, *, timeout: float) -> Completion:
        self.asked += 1
        usage = Usage(tokens_in=3, tokens_out=1, usd=0.5)
        return Completion(text=f"answer {self.asked}", usage=usage, refusal=self._refusal)

    def close(self) -> None:
        """Nothing."""


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "llm")


def test_everything_that_makes_a_question_is_in_its_key() -> None:
    others = [
        replace(REQUEST, instructions="x"),
        replace(REQUEST, prompt="x"),
        replace(REQUEST, form={"type": "object"}),
        replace(REQUEST, prompt_version="2"),
        replace(REQUEST, repeat=1),
        replace(REQUEST, max_tokens=8),
        replace(REQUEST, instructions="ip", prompt=""),
    ]
    keys = {REQUEST.key("m"), REQUEST.key("n"), *(one.key("m") for one in others)}
    assert 2 + len(others) == len(keys)
    assert REQUEST.key("m") == replace(REQUEST).key("m")


def test_an_answer_comes_back_with_what_it_took(cache: Cache) -> None:
    backend = Scripted()
    model = AskingModel(backend, cache=cache)
    first = model.ask("i", "p", str, prompt_version="1")
    again = AskingModel(backend, cache=Cache(cache.path.parent)).ask("i", "p", str, prompt_version="1")
    assert (backend.asked, first.value, again.value) == (1, "answer 1", "answer 1")
    assert (first.cached, again.cached) == (False, True)
    assert Usage(tokens_in=3, tokens_out=1, usd=0.5) == first.usage == again.usage
    assert model.ask("i", "p", str, prompt_version="1", repeat=1).value == "answer 2"


def test_a_refusal_is_kept_too(cache: Cache) -> None:
    backend = Scripted(refusal="no")
    model = AskingModel(backend, cache=cache)
    for _ in range(2):
        with pytest.raises(ModelRefusalError):
            model.ask("i", "p", str, prompt_version="1")
    assert backend.asked == 1


def test_the_question_itself_is_not_kept(cache: Cache) -> None:
    model = AskingModel(Scripted(), cache=cache)
    model.ask("i", "SECRET WORDS", str, prompt_version="1")
    model.close()
    assert b"SECRET" not in cache.path.read_bytes()


def test_offline_reads_and_names_the_key_that_is_missing(tmp_path: Path) -> None:
    open_model("echo", cache=tmp_path).ask("i", "p", str, prompt_version="1")
    name = "anthropic:claude-x"
    kept = AskingModel(_named(name), cache=Cache(tmp_path))
    kept.ask("i", "p", str, prompt_version="1")
    kept.close()
    offline = open_model(name, cache=tmp_path, offline=True, environment={})
    assert offline.ask("i", "p", str, prompt_version="1").cached
    key = replace(REQUEST, prompt="q", max_tokens=2_048).key(name)
    with pytest.raises(CacheMissError, match=key):
        offline.ask("i", "q", str, prompt_version="1")
    offline.close()


def _named(name: str) -> Scripted:
    backend = Scripted()
    backend.name = name
    return backend


def test_offline_without_a_file_is_empty_and_makes_none(tmp_path: Path) -> None:
    with pytest.raises(CacheMissError):
        open_model("echo", cache=tmp_path / "none", offline=True).ask("i", "p", str, prompt_version="1")
    assert not (tmp_path / "none").exists()
    with pytest.raises(ModelError, match="name its folder"):
        open_model("echo", cache=None, offline=True)


def test_the_oldest_go_where_it_grows_too_large(tmp_path: Path) -> None:
    cache = Cache(tmp_path, most_bytes=200_000)
    for at in range(300):
        cache.put(f"key {at}", Completion(text="x" * 2_000, usage=Usage()), LABEL)
    assert cache.get("key 0") is None
    assert cache.get("key 299") is not None
    assert 40 < cache.count() < 100
    cache.close()
    assert cache.path.stat().st_size < 400_000


def test_threads_share_one_cache(cache: Cache) -> None:
    threads = [threading.Thread(target=_fill, args=(cache, at)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.count() == 8 * 20


def _fill(cache: Cache, at: int) -> None:
    for number in range(20):
        cache.put(f"{at} {number}", Completion(text="x", usage=Usage()), LABEL)


def _fill_folder(folder: Path, at: int) -> None:
    _fill(Cache(folder), at)


def test_processes_share_one_cache(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    others = [spawn.Process(target=_fill_folder, args=(tmp_path, at)) for at in range(2)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert [other.exitcode for other in others] == [0, 0]
    assert Cache(tmp_path).count() == 2 * 20


def test_the_first_answer_of_a_key_stays(cache: Cache) -> None:
    for text in ("one", "two"):
        cache.put("k", Completion(text=text, usage=Usage()), LABEL)
    assert getattr(cache.get("k"), "text", None) == "one"


def test_a_damaged_file_says_what_to_do(cache: Cache) -> None:
    cache.path.parent.mkdir()
    cache.path.write_bytes(b"this is no database" * 100)
    with pytest.raises(ModelError, match="delete it"):
        cache.get("k")


@pytest.mark.skipif(os.name == "nt", reason="permissions are another thing there")
def test_nobody_else_may_read_it(cache: Cache) -> None:
    """Answers quote messages."""
    before = os.umask(0o022)
    try:
        cache.put("k", Completion(text="My IBAN", usage=Usage()), LABEL)
    finally:
        os.umask(before)
    files = [path for path in cache.path.parent.iterdir() if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_cache_that_cannot_be_written_costs_no_answer(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It was paid for: it is given and counted."""

    def full(*_: object) -> None:
        raise ModelError("the disk is full")

    monkeypatch.setattr(cache, "put", full)
    backend = Scripted()
    model = LimitedModel(AskingModel(backend, cache=cache), max_usd=1.0)
    answers = [model.ask("i", "p", str, prompt_version="1") for _ in range(2)]
    assert [(answer.value, answer.cached) for answer in answers] == [("answer 1", False), ("answer 2", False)]
    assert (backend.asked, model.spent.usd, model.spent.failed) == (2, 1.0, 0)
    assert "the disk is full" in caplog.text
    with pytest.raises(SpendingLimitError):
        model.ask("i", "p", str, prompt_version="1")


def test_it_is_a_plain_table(cache: Cache) -> None:
    cache.put("k", Completion(text="x", usage=Usage()), LABEL)
    cache.close()
    connection = sqlite3.connect(cache.path)
    assert connection.execute("SELECT model, prompt_version, text FROM answers").fetchall() == [("m", "1", "x")]
    connection.close()
