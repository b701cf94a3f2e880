"""What a write asked of a model, and what stood in for it: whoever falls back says so here, and the write tells.

A judge or extractor returns answers, not excuses. So a write listens while it asks, as a logger would, in its own
thread (a ``ContextVar``: writes at the same time do not hear each other).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """One time that something bundled answered in a model's place.

    :param did: what was done by what; system wording.
    :param model: in whose place.
    :param because: what the model's provider said; it may quote what it was sent, so it is kept nowhere.
    """

    did: str
    model: str
    because: str

    @property
    def what(self) -> str:
        """What was done in whose place, as the ledger keeps it."""
        return f"{self.did}, in place of {self.model}"

    def __str__(self) -> str:
        return f"{self.what}: {self.because.removeprefix(self.model).lstrip(': ')}"


@dataclass(slots=True)
class Heard:
    """What was heard of one write so far.

    :param calls: questions about contradictions that were put to a model, which a budget counts.
    :param crowded: other writes ask at the same time, so this one asks one question after the other.
    """

    fallbacks: list[Fallback] = field(default_factory=list)
    calls: int = 0
    crowded: bool = False


_heard: ContextVar[Heard | None] = ContextVar("thymus_heard", default=None)


def fell_back(did: str, model: str, because: object) -> None:
    """Say that something stood in for a model."""
    if heard := _heard.get():
        heard.fallbacks.append(Fallback(did=did, model=model, because=str(because)))


def calls_so_far(more: int = 0) -> int:
    """How many questions this write has put to a model, with ``more`` that were put just now."""
    heard = _heard.get()
    if heard is None:
        return 0
    heard.calls += more
    return heard.calls


def is_crowded() -> bool:
    """Whether other writes ask at the same time."""
    heard = _heard.get()
    return heard is not None and heard.crowded


@contextmanager
def listening(heard: Heard | None = None) -> Iterator[Heard]:
    """Listen in this thread until it ends, going on from what was heard before."""
    heard = heard or Heard()
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)
