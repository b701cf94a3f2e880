"""Limits on asking: what a model may cost, and how long one that keeps failing is left alone.

Every guard asks through this, so that a provider that is down costs its time limit once and not with every message.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from thymus.errors import ConfigError
from thymus.llm.model import MOST_TOKENS, Answer, CacheMissError, ModelError, ModelRefusalError, UnanswerableError

if TYPE_CHECKING:
    from thymus.llm.model import Model, Usage

T = TypeVar("T")

FAILURES: Final = 3
"""Failures in a row after which a model is left alone."""
PAUSE_S: Final = 30.0
"""Seconds for which it is."""
FAIR_S: Final = 2.0
"""Seconds that a question must have had for its failure to count."""
AT_ONCE: Final = 8
"""Questions that are under way at the same time, however many threads ask."""


class SpendingLimitError(ModelError):
    """The model has cost what it may cost, or nobody knows what it costs; nothing was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a model took so far.

    :param calls: questions that were put to it, answered ones and others.
    :param cached: those that were answered from the cache, so that nothing was spent.
    :param refused: those that it declined; ``failed`` those that it did not answer.
    :param tokens_in, tokens_out, usd: what was spent now, refusals and useless answers too, without what came from the
        cache; dollars at list price.
    :param unpriced: answers without a list price, which ``usd`` does not contain.
    :param ms: milliseconds that were waited, added up over calls, those at the same time as well.
    """

    calls: int = 0
    cached: int = 0
    refused: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    unpriced: int = 0
    ms: float = 0.0

    def __sub__(self, before: Spent) -> Spent:
        """What was taken since."""
        return Spent(**{name: getattr(self, name) - getattr(before, name) for name in Spent.__slots__})


class LimitedModel:
    """A model (``thymus.llm.Model``) that counts what it takes and keeps limits; safe to share among threads.

    :param max_usd: US dollars at list price after which nothing more is asked; questions that are under way at that
        moment are still paid. ``None`` for no limit.
    :param clock: seconds that only go forward.
    :raises ConfigError: for a limit that is none.
    """

    def __init__(
        self, model: Model, *, max_usd: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if max_usd is not None and not max_usd > 0:
            raise ConfigError(f"a spending limit is a number of US dollars above 0, not {max_usd}")
        self._model, self.max_usd, self._clock = model, max_usd, clock
        self._lock = threading.Lock()
        self._turn = threading.Condition()
        self._under_way = 0
        self._most = [AT_ONCE]
        self._spent = Spent()
        self._in_a_row = 0
        self._left_alone_until = float("-inf")
        self._last = ""

    @property
    def name(self) -> str:
        """Of the model behind it."""
        return self._model.name

    @property
    def spent(self) -> Spent:
        """What it took so far."""
        return self._spent

    @property
    def at_once(self) -> int:
        """How many questions are under way at most."""
        return self._most[-1]

    @property
    def exhausted(self) -> bool:
        """Whether the spending limit is reached, so that nothing more is asked."""
        return self.max_usd is not None and (self._spent.usd >= self.max_usd or self._spent.unpriced > 0)

    def ask(
        self,
        instructions: str,
        prompt: str,
        schema: type[T],
        *,
        prompt_version: str,
        repeat: int = 0,
        max_tokens: int = MOST_TOKENS,
        within: float | None = None,
    ) -> Answer[T]:
        """Ask the model behind it, unless a limit forbids it.

        :raises SpendingLimitError: the spending limit is reached.
        :raises ModelError: as ``Model.ask``; at once where the model failed ``FAILURES`` times in a row just now; and
            where too many questions were before this one for too long.
        """
        begun = time.perf_counter()
        with self._in_turn(within):
            self._admit()
            left = None if within is None else within - (time.perf_counter() - begun)
            if left is not None and left <= 0:
                raise ModelError(f"{self.name} has no time left to answer: allow more, or use a faster model")
            known: dict[str, Any] = {"repeat": repeat, "max_tokens": max_tokens, "within": left}
            return self._counted(
                lambda: self._model.ask(instructions, prompt, schema, prompt_version=prompt_version, **known),
                fair=left is None or left >= FAIR_S,
            )

    @contextmanager
    def at_most(self, many: int) -> Iterator[None]:
        """Have this many questions at most under way, until it ends; of several that say so, the last one's holds."""
        self._most.append(many)
        try:
            yield
        finally:
            with self._turn:
                self._most.remove(many)
                self._turn.notify_all()

    def close(self) -> None:
        """Close the model behind it."""
        self._model.close()

    @contextmanager
    def _in_turn(self, within: float | None) -> Iterator[None]:
        with self._turn:
            if not self._turn.wait_for(lambda: self._under_way < self.at_once, within):
                raise ModelError(f"{self.name} had too many questions before this one: run fewer at once")
            self._under_way += 1
        try:
            yield
        finally:
            with self._turn:
                self._under_way -= 1
                self._turn.notify()

    def _admit(self) -> None:
        with self._lock:
            if self.exhausted and self._spent.unpriced:
                raise SpendingLimitError(
                    f"nobody publishes what {self.name} costs, so the limit of ${self.max_usd:.2f} cannot be kept: "
                    "leave the limit out, or use a model with a list price"
                )
            if self.exhausted:
                raise SpendingLimitError(f"{self.name} has cost the ${self.max_usd:.2f} that it may: raise the limit")
            if self._clock() < self._left_alone_until:
                raise ModelError(f"{self._last} (it is left alone for a while after {FAILURES} failures in a row)")

    def _counted(self, ask: Callable[[], Answer[T]], *, fair: bool) -> Answer[T]:
        """Ask, and count what came of it. An answer shows that the model works, and so does a refusal.

        :param fair: whether it had the time that an answer takes, so that a failure says something of it.
        """
        begun = time.perf_counter()
        try:
            answer = ask()
        except ModelRefusalError as error:
            self._count(begun, error.usage, refused=1)
            raise
        except ModelError as error:
            self._count(begun, error.usage, failed=1)
            if isinstance(error, UnanswerableError):
                self._in_a_row = 0
            elif fair and not isinstance(error, CacheMissError):
                self._note(error)
            raise
        self._count(begun, None if answer.cached else answer.usage, cached=int(answer.cached))
        return answer

    def _count(self, begun: float, usage: Usage | None, **counted: float) -> None:
        counted |= {"calls": 1, "ms": (time.perf_counter() - begun) * 1_000}
        if usage:
            counted |= {"tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out, "usd": usage.usd or 0.0}
            counted["unpriced"] = usage.usd is None
        with self._lock:
            more: dict[str, Any] = {name: getattr(self._spent, name) + value for name, value in counted.items()}
            self._spent = replace(self._spent, **more)
            if "failed" not in counted:
                self._in_a_row = 0

    def _note(self, error: ModelError) -> None:
        """A failure: after some in a row the model is left alone; then a single one more is enough."""
        with self._lock:
            self._in_a_row += 1
            if self._in_a_row >= FAILURES:
                self._in_a_row, self._last = FAILURES - 1, str(error)
                self._left_alone_until = self._clock() + PAUSE_S
