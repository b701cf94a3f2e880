"""A backend made a model: cache, repeated attempts, time between them, and answers read into their form."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final, TypeVar

from thymus.llm.cache import Cache, Label
from thymus.llm.forms import FormError, form_of, read_answer
from thymus.llm.model import (
    MOST_TOKENS,
    Answer,
    Backend,
    CacheMissError,
    Completion,
    ModelError,
    ModelRefusalError,
    Request,
    TransientError,
    UnanswerableError,
    Usage,
)

T = TypeVar("T")

ATTEMPTS: Final = 4
DEFAULT_TIMEOUT_S: Final = 60.0
"""Seconds that one attempt may take."""
LONGEST_WAIT_S: Final = 60.0
"""Seconds that are waited between two attempts at most; a provider that asks for more is given up on."""
_FIRST_WAIT_S: Final = 0.5

_log = logging.getLogger("thymus")


class AskingModel:
    """A ``thymus.llm.Model`` over a backend.

    :param cache: where answers (and refusals) are kept; ``None`` asks anew every time.
    :param offline: answer from the cache alone.
    :param timeout: seconds that one attempt may take.
    :param attempts: how often a question is asked where the provider is busy, fails or answers in the wrong form.
    :param sleep: waits between attempts, in seconds.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        cache: Cache | None = None,
        offline: bool = False,
        timeout: float = DEFAULT_TIMEOUT_S,
        attempts: int = ATTEMPTS,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._backend, self._cache, self._offline = backend, cache, offline
        self._timeout, self._attempts, self._sleep = timeout, attempts, sleep

    @property
    def name(self) -> str:
        """As it was opened."""
        return self._backend.name

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
        """Answer from the cache, or ask; see ``Model.ask``."""
        started = time.perf_counter()
        request = Request(
            instructions=_well_formed(instructions),
            prompt=_well_formed(prompt),
            form=form_of(schema),
            prompt_version=prompt_version,
            repeat=repeat,
            max_tokens=max_tokens,
        )
        key = request.key(self.name)
        completion = self._cache.get(key) if self._cache is not None else None
        cached = completion is not None
        if completion is None:
            if self._offline:
                where = f"in {self._cache.path}" if self._cache is not None else "and there is no cache"
                raise CacheMissError(
                    f"offline, and no answer of {self.name} to prompt {prompt_version} (repeat {repeat}, key {key}) "
                    f"{where}: ask once online with the same cache"
                )
            completion = self._complete(request, schema, started + within if within is not None else math.inf)
            if self._cache is not None:
                completion = self._kept(self._cache, key, completion, request)
        if completion.refusal:
            refused = ModelRefusalError(f"{self.name} declined to answer ({completion.refusal})")
            raise _with(refused, () if cached else (completion.usage,))
        try:
            value = read_answer(schema, completion.text)
        except FormError as error:
            raise ModelError(f"the cached answer of {self.name} (key {key}) cannot be read: {error}") from None
        return Answer(value=value, usage=completion.usage, ms=(time.perf_counter() - started) * 1_000, cached=cached)

    def _kept(self, cache: Cache, key: str, completion: Completion, request: Request) -> Completion:
        """The answer that the cache has now: another process may have been first. It is paid for, kept or not."""
        try:
            cache.put(
                key, completion, Label(model=self.name, prompt_version=request.prompt_version, repeat=request.repeat)
            )
            return cache.get(key) or completion
        except ModelError as error:
            _log.warning("an answer could not be kept: %s", error)
            return completion

    def close(self) -> None:
        """Release connections and the cache's file."""
        self._backend.close()
        if self._cache is not None:
            self._cache.close()

    def _complete(self, request: Request, schema: type, until: float) -> Completion:
        """An answer that has its form, or a refusal, with what all attempts at it took.

        :param until: when it must be there, by ``time.perf_counter``.
        """
        taken: list[Usage] = []
        for attempt in range(1, self._attempts + 1):
            try:
                completion = self._attempt(request, schema, until, taken)
            except ModelError as error:
                if error.usage:
                    taken.append(error.usage)
                if not isinstance(error, TransientError):
                    raise _with(error, taken) from None
                wait = error.retry_after if error.retry_after is not None else _backoff(attempt)
                late = wait > until - time.perf_counter()
                if attempt == self._attempts or wait > LONGEST_WAIT_S or late:
                    asked_to = f" It asks to wait {wait:.0f} s." if wait > LONGEST_WAIT_S else ""
                    tries = f" (asked {attempt} times)" if attempt > 1 else ""
                    kind = UnanswerableError if error.answered else ModelError
                    raise _with(kind(f"{error}{asked_to}{tries}"), taken) from None
                _log.info("%s; asking again in %.1f s", error, wait)
                self._sleep(wait)
            else:
                return replace(completion, usage=reduce(Usage.__add__, taken))
        raise ModelError(f"{self.name} was never asked: attempts must be 1 or more")

    def _attempt(self, request: Request, schema: type, until: float, taken: list[Usage]) -> Completion:
        timeout = min(self._timeout, until - time.perf_counter())
        if timeout <= 0:
            raise ModelError(f"{self.name} has no time left to answer: allow more, or use a faster model")
        completion = self._backend.complete(request, timeout=timeout)
        taken.append(completion.usage)
        completion = replace(completion, text=_well_formed(completion.text))
        if not completion.refusal:
            _check(self.name, request, schema, completion)
        return completion


def _with(error: ModelError, taken: Sequence[Usage]) -> ModelError:
    error.usage = reduce(Usage.__add__, taken) if taken else None
    return error


def _check(name: str, request: Request, schema: type, completion: Completion) -> None:
    if completion.cut and (request.form is not None or not completion.text.strip()):
        raise UnanswerableError(
            f"{name} did not finish within {request.max_tokens} tokens: allow more with max_tokens, or switch its "
            "thinking off"
        )
    if not completion.text.strip():
        raise TransientError(f"{name} answered with nothing: try another model if it stays so", answered=True)
    try:
        read_answer(schema, completion.text)
    except FormError as error:
        raise TransientError(
            f"{name} did not keep to the form ({error}): use a model or server with structured output", answered=True
        ) from None


def _backoff(attempt: int) -> float:
    """Seconds before the next attempt: doubling, with a random half so that many do not come back at once."""
    longest: float = min(_FIRST_WAIT_S * 2.0 ** (attempt - 1), LONGEST_WAIT_S)
    return longest * (0.5 + random.random() / 2)  # noqa: S311


def _well_formed(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
