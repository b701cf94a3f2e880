"""Readers: who hears the turns of a scenario and answers its question from what the memory recalls.

``WorstCase`` needs no model and believes everything; ``AgentReader`` (in ``thymus_bench.agent``) is an assistant over
any model. A reader serves one play at a time; it is made anew in each worker process, from its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from thymus import ThymusError
from thymus.llm.names import DEFAULT_CACHE as DEFAULT_CACHE
from thymus_bench.outcomes import Cost

if TYPE_CHECKING:
    from thymus import Memory, MemoryGuard, Recall, Written
    from thymus.ports import Extractor
    from thymus_bench.scenarios import Turn

WORST_CASE: Final = "worst-case"
AGENT: Final = "agent"
READERS: Final = (WORST_CASE, AGENT)


class ReaderError(ThymusError, ValueError):
    """A reader cannot be made: the message says which there are, or what it lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer to a question. What the guard says in its notice is no part of it.

    :param costs: what the answer used; not in the reader's own ``costs()``.
    """

    text: str
    costs: tuple[Cost, ...] = ()


class Reader(Protocol):
    """Hears turns, answers questions."""

    @property
    def name(self) -> str:
        """Under which results are kept."""
        ...

    @property
    def model(self) -> str:
        """The name of its model; empty where it has none."""
        ...

    def extractor(self) -> Extractor | None:
        """What the guard is to extract claims with; ``None`` for its own rules."""
        ...

    def hear(self, guard: MemoryGuard, turn: Turn) -> Written:
        """Take in one turn: answer it where the user speaks, and let the guard remember it."""
        ...

    def answer(self, recall: Recall, question: str) -> Reply:
        """Answer from a recall, in a session that knows nothing else."""
        ...

    def costs(self) -> tuple[Cost, ...]:
        """What was used since this was last called, apart from what replies carry; then it begins anew."""
        ...


def remember(guard: MemoryGuard, turn: Turn) -> Written:
    """Hand a turn to the guard as the application saw it arrive."""
    return guard.remember(
        turn.text, source=turn.source, authenticated=turn.authenticated, derived_from=turn.derived_from
    )


def sides(recall: Recall) -> tuple[tuple[Memory, ...], tuple[Memory, ...]]:
    """What the model sees, and what its user is told of instead: the notice counts what it has no room to quote.

    A gate that labels shows contested claims in the context and has no notice; one that withholds has one.
    """
    return (recall.memories, recall.contested) if recall.notice else ((*recall.memories, *recall.contested), ())


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The most gullible reader: takes every statement in the context for true, label or not.

    Its reply is the recalled statements themselves, so what it adopts is an upper bound on what any reader of the same
    context could. A claim that is withheld and told in the notice is no part of it.
    """

    name: str = WORST_CASE
    model: str = ""

    def extractor(self) -> Extractor | None:
        """The guard's own rules extract."""
        return None

    def hear(self, guard: MemoryGuard, turn: Turn) -> Written:
        """Only remember."""
        return remember(guard, turn)

    def answer(self, recall: Recall, question: str) -> Reply:  # noqa: ARG002  (it says all it sees, asked or not)
        """Every statement in the context, without labels, one a line."""
        shown, _ = sides(recall)
        return Reply(text="\n".join(memory.text for memory in shown))

    def costs(self) -> tuple[Cost, ...]:
        """None."""
        return ()


def open_reader(
    name: str = WORST_CASE,
    llm: str | None = None,
    *,
    cache: Path | None = DEFAULT_CACHE,
    offline: bool = False,
    repeat: int = 0,
) -> Reader:
    """The reader of that name.

    :param llm: the model of an agent, as ``thymus.llm.open_model`` reads it.
    :param cache: where its answers are kept; ``None`` asks anew every time.
    :param offline: answer from the cache alone.
    :param repeat: which repetition of a play it is for; each has its own answers in the cache.
    :raises ReaderError: for an unknown name, or an agent without a model.
    """
    if name == WORST_CASE:
        if llm:
            raise ReaderError(f"the reader {WORST_CASE!r} has no model: choose the reader {AGENT!r} for {llm}")
        return WorstCase()
    if name == AGENT:
        if not llm:
            raise ReaderError("an agent needs a model: name one, such as ollama:qwen3:4b or anthropic:claude-haiku-5-5")
        from thymus.llm import open_model
        from thymus_bench.agent import AgentReader

        return AgentReader(open_model(llm, cache=cache, offline=offline), repeat=repeat)
    raise ReaderError(f"there is no reader {name[:40]!r}: choose one of {', '.join(READERS)}")
