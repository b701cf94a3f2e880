"""A backend made a model: cache, repeated attempts, time between them, and answers read into their form."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import replace
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
)

T = TypeVar("T")

ATTEMPTS: Final = 4
LONGEST_WAIT_S: Final = 60.0
"""Seconds that are waited between two attempts at most; a provider that asks for more is given up on."""
_FIRST_WAIT_S: Final = 0.5

_log = logging.getLogger("thymus")


class AskingModel:
    """A ``thymus.llm.Model`` over a backend.

    :param cache: where answers (and refusals) are kept; ``None`` asks anew every time.
    :param offline: answer from the cache alone.
    :param attempts: how often a question is asked where the provider is busy, fails or answers in the wrong form.
    :param sleep: waits between attempts, in seconds.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        cache: Cache | None = None,
        offline: bool = False,
        attempts: int = ATTEMPTS,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._backend, self._cache, self._offline = backend, cache, offline
        self._attempts, self._sleep = attempts, sleep

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
            completion = self._complete(request, schema)
            if self._cache is not None:
                label = Label(model=self.name, prompt_version=prompt_version, repeat=repeat)
                self._cache.put(key, completion, label)
                completion = self._cache.get(key) or completion  # another process may have been first
        if completion.refusal:
            raise ModelRefusalError(f"{self.name} declined to answer ({completion.refusal})")
        try:
            value = read_answer(schema, completion.text)
        except FormError as error:
            raise ModelError(f"the cached answer of {self.name} (key {key}) cannot be read: {error}") from None
        return Answer(value=value, usage=completion.usage, ms=(time.perf_counter() - started) * 1_000, cached=cached)

    def close(self) -> None:
        """Release connections and the cache's file."""
        self._backend.close()
        if self._cache is not None:
            self._cache.close()

    def _complete(self, request: Request, schema: type) -> Completion:
        """An answer that has its form, or a refusal."""
        for attempt in range(1, self._attempts + 1):
            try:
                completion = self._backend.complete(request)
                completion = replace(completion, text=_well_formed(completion.text))
                if not completion.refusal:
                    _check(self.name, request, schema, completion)
            except TransientError as error:
                wait = error.retry_after if error.retry_after is not None else _backoff(attempt)
                if attempt == self._attempts or wait > LONGEST_WAIT_S:
                    asked_to = f" It asks to wait {wait:.0f} s." if wait > LONGEST_WAIT_S else ""
                    tries = f" (asked {attempt} times)" if attempt > 1 else ""
                    raise ModelError(f"{error}{asked_to}{tries}") from None
                _log.info("%s; asking again in %.1f s", error, wait)
                self._sleep(wait)
            else:
                return completion
        raise ModelError(f"{self.name} was never asked: attempts must be 1 or more")


def _check(name: str, request: Request, schema: type, completion: Completion) -> None:
    if completion.cut and (request.form is not None or not completion.text.strip()):
        raise ModelError(
            f"{name} did not finish within {request.max_tokens} tokens: allow more with max_tokens, or switch its "
            "thinking off"
        )
    if not completion.text.strip():
        raise TransientError(f"{name} answered with nothing: try another model if it stays so")
    try:
        read_answer(schema, completion.text)
    except FormError as error:
        raise TransientError(
            f"{name} did not keep to the form ({error}): use a model or server with structured output"
        ) from None


def _backoff(attempt: int) -> float:
    """Seconds before the next attempt: doubling, with a random half so that many do not come back at once."""
    longest: float = min(_FIRST_WAIT_S * 2.0 ** (attempt - 1), LONGEST_WAIT_S)
    return longest * (0.5 + random.random() / 2)  # noqa: S311


def _well_formed(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
