"""What asking a model means: the protocol, its answer and its errors, and what a backend has to do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from thymus.errors import ThymusError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

MOST_TOKENS: Final = 2_048
"""Tokens that an answer may have where nobody says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one answer took, as the provider counts it; estimated at four characters a token where it does not.

    :param usd: list price in US dollars; ``None`` where none is known (a server of your own).
    """

    tokens_in: int = 0
    tokens_out: int = 0
    usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        prices = [usage.usd for usage in (self, other) if usage.usd is not None]
        return Usage(
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            usd=sum(prices) if prices else None,
        )


class ModelError(ThymusError):
    """A model could not answer; the message says what would help (a key, a server, a larger limit).

    ``usage`` is what the attempts took all the same; ``None`` where nothing was answered at all.
    """

    usage: Usage | None = None


class UnanswerableError(ModelError):
    """The model works, and not for this question: too long, cut short, or answered in no form that was asked for."""


class ModelRefusalError(ModelError):
    """The model, or a content filter before it, declined to answer: *unknown*, neither yes nor no."""


class CacheMissError(ModelError):
    """An answer was asked for offline and is not in the cache; the message names its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T_co]):
    """What a model said.

    :param value: in the form that was asked for.
    :param usage: what it took when the model was asked, be that now or earlier.
    :param ms: wall-clock milliseconds that this call took, waits and repeated attempts included.
    :param cached: whether it came from the cache, so that nothing was spent now.
    """

    value: T_co
    usage: Usage
    ms: float
    cached: bool = False


class Model(Protocol):
    """Answers one question at a time; safe to use from several threads."""

    @property
    def name(self) -> str:
        """As it was opened; results are kept under it."""
        ...

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
        """Answer a prompt.

        :param instructions: our own words; what others wrote never goes in here.
        :param prompt: the question with its data; what others wrote stands in ``fence`` s.
        :param schema: ``str`` for free text, or a dataclass of texts, numbers, booleans, ``Literal`` s, lists of these
            and further dataclasses; the answer is one of it.
        :param prompt_version: changes when the wording does, so that answers to another wording are not taken for it.
        :param repeat: which repetition of the same question; each is asked and cached apart.
        :param within: seconds that all attempts and the waits between them may take together; ``None`` for as many as
            the attempts take.
        :raises ModelRefusalError: the model declined.
        :raises ModelError: anything else that kept it from answering.
        """
        ...

    def close(self) -> None:
        """Release connections and files; closing twice is fine."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question as a backend gets it.

    :param form: JSON schema of the answer; ``None`` for free text.
    """

    instructions: str
    prompt: str
    form: Mapping[str, Any] | None
    prompt_version: str
    repeat: int
    max_tokens: int

    def key(self, model: str) -> str:
        """What makes two questions the same: 64 hexadecimal digits over the model and everything in here."""
        parts = (model, self.prompt_version, self.instructions, self.prompt, self.form, self.repeat, self.max_tokens)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What came back, still as text.

    :param refusal: why the model declined; empty where it answered.
    :param cut: whether it ran into ``max_tokens``.
    """

    text: str
    usage: Usage
    refusal: str = ""
    cut: bool = False


class TransientError(ModelError):
    """An attempt failed in a way that may pass: too many requests, a server error, a time limit, a broken answer.

    :param retry_after: seconds that the provider asked to wait; ``None`` where it did not.
    :param answered: whether there was an answer, and it was of no use.
    """

    def __init__(self, message: str, *, retry_after: float | None = None, answered: bool = False) -> None:
        super().__init__(message)
        self.retry_after, self.answered = retry_after, answered


class Backend(Protocol):
    """Makes one attempt at a question."""

    @property
    def name(self) -> str:
        """As it was opened."""
        ...

    def complete(self, request: Request, *, timeout: float) -> Completion:
        """Ask once.

        :param timeout: seconds that this attempt may take.
        :raises TransientError: another attempt may do.
        :raises ModelError: none will.
        """
        ...

    def close(self) -> None:
        """Release connections; closing twice is fine."""
        ...
