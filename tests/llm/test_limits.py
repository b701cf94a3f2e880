"""What a model may cost, what it took, and how long one that keeps failing is left alone; the clock is a fake."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from thymus.errors import ConfigError
from thymus.llm import Answer, CacheMissError, LimitedModel, ModelError, ModelRefusalError, Spent, Usage
from thymus.llm.asking import AskingModel
from thymus.llm.cache import Cache
from thymus.llm.limits import AT_ONCE, FAILURES, PAUSE_S, SpendingLimitError
from thymus.llm.model import Completion, Request, TransientError, UnanswerableError

PRICED: Final = Usage(tokens_in=100, tokens_out=10, usd=0.25)
UNPRICED: Final = Usage(tokens_in=100, tokens_out=10)
LASTING: Final = ModelError("refuses the key")


@dataclass
class Scripted:
    """A model that does what its script says, the last step for ever: an answer's usage, or an error."""

    script: list[Usage | ModelError] = field(default_factory=lambda: [PRICED])
    cached: bool = False
    name: str = "scripted"
    asked: int = 0
    during: Callable[[], object] = lambda: None
    known: dict[str, Any] = field(default_factory=dict)
    closed: bool = False

    def ask(self, instructions: str, prompt: str, schema: Any, **known: Any) -> Answer[Any]:
        self.known = {"instructions": instructions, "prompt": prompt, **known}
        self.asked += 1
        step = self.script[min(self.asked, len(self.script)) - 1]
        self.during()
        if isinstance(step, ModelError):
            raise step
        return Answer(value="yes", usage=step, ms=1.0, cached=self.cached)

    def close(self) -> None:
        self.closed = True


@dataclass
class Clock:
    """Seconds that pass when they are told to."""

    at: float = 1_000.0

    def __call__(self) -> float:
        return self.at


def ask(model: LimitedModel, **known: Any) -> Answer[str]:
    return model.ask("i", "p", str, prompt_version="1", **known)


def failing(model: LimitedModel) -> str:
    """What the error says that asking ends in."""
    with pytest.raises(ModelError) as raised:
        ask(model)
    return str(raised.value)


def answered(error: ModelError) -> ModelError:
    """The error, of an answer that was paid for."""
    error.usage = PRICED
    return error


# Counting


def test_what_answers_took_is_added_up() -> None:
    model = LimitedModel(Scripted([PRICED, UNPRICED]))
    assert Spent() == model.spent
    for _ in range(3):
        ask(model)
    spent = model.spent
    assert (spent.calls, spent.cached, spent.refused, spent.failed, spent.unpriced) == (3, 0, 0, 0, 2)
    assert (spent.tokens_in, spent.tokens_out, spent.usd) == (300, 30, 0.25)
    assert 0 <= spent.ms < 5_000


def test_refusals_and_failures_are_counted_apart() -> None:
    model = LimitedModel(Scripted([ModelRefusalError("no"), ModelError("down"), CacheMissError("absent"), PRICED]))
    for _ in range(3):
        failing(model)
    ask(model)
    spent = model.spent
    assert (spent.calls, spent.refused, spent.failed, spent.usd) == (4, 1, 2, 0.25)


def test_a_difference_is_what_was_taken_since() -> None:
    model = LimitedModel(Scripted())
    ask(model)
    before = model.spent
    ask(model)
    since = model.spent - before
    assert (since.calls, since.tokens_in, since.usd) == (1, 100, 0.25)


def test_an_answer_from_the_cache_costs_nothing() -> None:
    model = LimitedModel(Scripted([UNPRICED], cached=True), max_usd=0.01)
    for _ in range(5):
        ask(model)
    spent = model.spent
    assert (spent.calls, spent.cached, spent.tokens_in, spent.usd, spent.unpriced) == (5, 5, 0, 0.0, 0)
    assert not model.exhausted


def test_a_question_reaches_the_model_as_it_was_asked() -> None:
    inner = Scripted()
    model = LimitedModel(inner)
    ask(model, repeat=3, max_tokens=77)
    assert inner.known == {
        "instructions": "i",
        "prompt": "p",
        "prompt_version": "1",
        "repeat": 3,
        "max_tokens": 77,
        "within": None,
    }
    ask(model, within=9.0)
    assert 8.0 < inner.known["within"] <= 9.0
    assert model.name == "scripted"
    model.close()
    assert inner.closed


# What it may cost


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_a_limit_that_is_none_is_refused(limit: float) -> None:
    with pytest.raises(ConfigError, match="above 0"):
        LimitedModel(Scripted(), max_usd=limit)


def test_nothing_is_asked_once_the_limit_is_reached() -> None:
    inner = Scripted()
    model = LimitedModel(inner, max_usd=0.6)
    for _ in range(3):
        ask(model)
    assert model.exhausted
    for _ in range(5):
        with pytest.raises(SpendingLimitError, match=r"the \$0\.60 that it may: raise the limit"):
            ask(model)
    assert (inner.asked, model.spent.calls, model.spent.failed, model.spent.usd) == (3, 3, 0, 0.75)


def test_without_a_limit_it_goes_on() -> None:
    model = LimitedModel(Scripted([UNPRICED]))
    for _ in range(9):
        ask(model)
    assert (model.spent.unpriced, model.exhausted) == (9, False)


def test_where_nobody_knows_the_price_a_limit_cannot_be_kept_and_says_so() -> None:
    inner = Scripted([UNPRICED])
    model = LimitedModel(inner, max_usd=5.0)
    ask(model)
    with pytest.raises(SpendingLimitError, match="list price"):
        ask(model)
    assert inner.asked == 1


@pytest.mark.parametrize("refused", [True, False])
def test_what_refusals_and_useless_answers_cost_counts_as_well(refused: bool) -> None:
    inner = Scripted([answered(ModelRefusalError("no") if refused else UnanswerableError("in no form"))])
    model = LimitedModel(inner, max_usd=0.5)
    for _ in range(2):
        failing(model)
    with pytest.raises(SpendingLimitError):
        ask(model)
    assert (inner.asked, model.spent.usd, model.spent.tokens_in) == (2, 0.5, 200)


def test_what_is_under_way_at_the_limit_is_paid_and_no_more() -> None:
    together = threading.Barrier(4)
    inner = Scripted(during=lambda: together.wait(5))
    model = LimitedModel(inner, max_usd=0.25)
    errors = in_threads(4, lambda: ask(model))
    assert (errors, inner.asked, model.spent.usd) == ([], 4, 1.0)
    assert [type(error) for error in in_threads(3, lambda: ask(model))] == [SpendingLimitError] * 3
    assert inner.asked == 4


def test_threads_lose_no_count() -> None:
    model = LimitedModel(Scripted([PRICED]))
    assert in_threads(8, lambda: [ask(model) for _ in range(100)]) == []
    assert (model.spent.calls, model.spent.usd, model.spent.tokens_out) == (800, 200.0, 8_000)


def test_no_more_than_so_many_are_under_way_at_once() -> None:
    under_way: list[int] = []
    most: list[int] = []
    lock = threading.Lock()

    def during() -> None:
        with lock:
            under_way.append(1)
            most.append(len(under_way))
        time.sleep(0.005)
        with lock:
            under_way.pop()

    model = LimitedModel(Scripted(during=during))
    assert in_threads(AT_ONCE * 2, lambda: ask(model)) == []
    assert max(most) <= AT_ONCE
    most.clear()
    with model.at_most(2):
        assert in_threads(6, lambda: ask(model)) == []
    assert max(most) <= 2


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_that_say_how_many_none_leaves_its_number_behind(order: tuple[int, int]) -> None:
    model = LimitedModel(Scripted())
    blocks = [model.at_most(1), model.at_most(16)]
    for block in blocks:
        block.__enter__()
    assert model._most[-1] == 16
    blocks[order[0]].__exit__(None, None, None)
    assert model._most[-1] == (16, 1)[order[0]]
    blocks[order[1]].__exit__(None, None, None)
    assert model._most == [AT_ONCE]


def test_waiting_for_a_turn_ends_with_the_time_and_is_no_failure_of_the_model() -> None:
    free, begun = threading.Event(), threading.Event()

    def during() -> None:
        begun.set()
        free.wait(5)

    inner = Scripted(during=during)
    model = LimitedModel(inner)
    with model.at_most(1):
        thread = threading.Thread(target=ask, args=(model,))
        thread.start()
        begun.wait(5)
        for _ in range(FAILURES + 1):
            with pytest.raises(ModelError, match="run fewer at once"):
                ask(model, within=0.01)
        free.set()
        thread.join()
        ask(model)
    assert (inner.asked, model.spent.calls, model.spent.failed) == (2, 2, 0)


def in_threads(many: int, work: Callable[[], object]) -> list[Exception]:
    errors: list[Exception] = []

    def tried() -> None:
        try:
            work()
        except ModelError as error:
            errors.append(error)

    threads = [threading.Thread(target=tried) for _ in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


# Leaving it alone


def test_after_three_failures_it_is_left_alone_for_a_while() -> None:
    clock, inner = Clock(), Scripted([LASTING])
    model = LimitedModel(inner, clock=clock)
    for _ in range(FAILURES):
        assert failing(model) == "refuses the key"
    said = failing(model)
    assert said == f"refuses the key (it is left alone for a while after {FAILURES} failures in a row)"
    assert (inner.asked, model.spent.calls, model.spent.failed) == (FAILURES, FAILURES, FAILURES)
    clock.at += PAUSE_S - 0.001
    failing(model)
    assert inner.asked == FAILURES


def test_after_the_while_one_more_failure_is_enough() -> None:
    clock, inner = Clock(), Scripted([LASTING])
    model = LimitedModel(inner, clock=clock)
    for _ in range(FAILURES):
        failing(model)
    clock.at += PAUSE_S
    failing(model)
    failing(model)
    assert inner.asked == FAILURES + 1


def test_after_the_while_an_answer_makes_all_well() -> None:
    clock, inner = Clock(), Scripted([LASTING, LASTING, LASTING, PRICED, LASTING, LASTING, PRICED])
    model = LimitedModel(inner, clock=clock)
    for _ in range(FAILURES):
        failing(model)
    clock.at += PAUSE_S
    ask(model)
    failing(model)
    failing(model)
    ask(model)
    assert inner.asked == 7


@pytest.mark.parametrize(
    "between",
    [PRICED, ModelRefusalError("no"), answered(UnanswerableError("in no form"))],
    ids=["an answer", "a refusal", "an answer in no form"],
)
def test_failures_are_in_a_row_only_where_nothing_shows_that_it_works(between: Usage | ModelError) -> None:
    inner = Scripted([LASTING, LASTING, between, LASTING, LASTING, PRICED])
    model = LimitedModel(inner, clock=Clock())
    for _ in range(5):
        try:
            ask(model)
        except ModelError:
            continue
    ask(model)
    assert inner.asked == 6


@pytest.mark.parametrize(
    "error",
    [ModelRefusalError("no"), UnanswerableError("too long"), CacheMissError("absent")],
    ids=["refusal", "unanswerable", "offline"],
)
def test_a_question_that_is_to_blame_is_no_failure_of_the_model(error: ModelError) -> None:
    """Or else three mails of one sender would switch it off."""
    inner = Scripted([error])
    model = LimitedModel(inner, clock=Clock())
    for _ in range(9):
        assert "left alone" not in failing(model)
    assert inner.asked == 9


def test_questions_at_once_that_all_fail_are_left_alone_once() -> None:
    clock, together = Clock(), threading.Barrier(5)
    inner = Scripted([LASTING] * 5 + [PRICED], during=lambda: together.wait(5))
    model = LimitedModel(inner, clock=clock)
    assert len(in_threads(5, lambda: ask(model))) == 5
    assert "left alone" in failing(model)
    clock.at += PAUSE_S
    inner.during = lambda: None
    ask(model)
    assert inner.asked == 6


# With the model that attempts, and its cache


class Backend:
    """Gives these completions in order, the last for ever."""

    name = "backend"

    def __init__(self, *completions: Completion | ModelError) -> None:
        self._steps = completions
        self.asked = 0

    def complete(self, request: Request, *, timeout: float) -> Completion:
        self.asked += 1
        step = self._steps[min(self.asked, len(self._steps)) - 1]
        if isinstance(step, ModelError):
            raise step
        return step

    def close(self) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Form:
    yes: bool


GOOD: Final = Completion(text='{"yes": true}', usage=PRICED)
PROSE: Final = Completion(text="yes", usage=PRICED)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    cache = Cache(tmp_path)
    yield cache
    cache.close()


@pytest.mark.parametrize(
    ("steps", "asked", "usd"),
    [
        ((GOOD,), 1, 0.25),
        ((PROSE, GOOD), 2, 0.5),
        ((PROSE, PROSE), 2, 0.5),
        ((TransientError("500"), PROSE), 2, 0.25),
        ((Completion(text="", usage=PRICED, refusal="no"),), 1, 0.25),
        ((Completion(text='{"ye', usage=PRICED, cut=True),), 1, 0.25),
        ((PROSE, Completion(text='{"ye', usage=PRICED, cut=True)), 2, 0.5),
        ((PROSE, TransientError("500")), 2, 0.25),
    ],
    ids=["good", "second time", "never", "failed, never", "refusal", "cut", "prose, then cut", "prose, then failed"],
)
def test_every_attempt_that_was_answered_is_paid(
    steps: tuple[Completion | ModelError, ...], asked: int, usd: float
) -> None:
    backend = Backend(*steps)
    model = LimitedModel(AskingModel(backend, attempts=2, sleep=lambda _: None))
    try:
        model.ask("i", "p", Form, prompt_version="1")
    except ModelError:
        assert steps[-1] is not GOOD
    assert (backend.asked, model.spent.usd) == (asked, usd)


def test_an_answer_of_the_cache_is_paid_once(cache: Cache) -> None:
    backend = Backend(GOOD)
    for _ in range(2):
        model = LimitedModel(AskingModel(backend, cache=cache), max_usd=1.0)
        model.ask("i", "p", Form, prompt_version="1")
    assert (backend.asked, model.spent.cached, model.spent.usd) == (1, 1, 0.0)


def test_a_refusal_of_the_cache_is_paid_once(cache: Cache) -> None:
    backend = Backend(Completion(text="", usage=PRICED, refusal="no"))
    model = LimitedModel(AskingModel(backend, cache=cache))
    for _ in range(3):
        with pytest.raises(ModelRefusalError):
            model.ask("i", "p", Form, prompt_version="1")
    assert (backend.asked, model.spent.refused, model.spent.usd) == (1, 3, 0.25)


def test_no_time_left_is_no_failure_of_the_model() -> None:
    model = LimitedModel(AskingModel(Backend(GOOD)))
    for _ in range(FAILURES + 1):
        with pytest.raises(ModelError, match=r"time left|before this one"):
            model.ask("i", "p", Form, prompt_version="1", within=-1.0)
    assert model.ask("i", "p", Form, prompt_version="1").value == Form(yes=True)
