"""Two arms, played in turns: a framework alone, and the same with Thymus."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from perf import world
from thymus import MemoryGuard

if TYPE_CHECKING:
    from pathlib import Path

    from thymus.ports import Embedder

Ask = Callable[[str, str], Coroutine[Any, Any, object] | None]
"""Hands a user's message to an agent, in the conversation of that name."""
Operations = dict[str, Callable[[str, str], object]]
"""What a store does with a key and a text, by what it is called."""
Times = dict[str, list[float]]
"""Seconds, by what took them."""

NOTHING, FACT, LARGE = "states nothing", "one fact", "5 MB of text"
TOOL, MESSAGE = "tool call", "message"
_CALLS = 4  # in one conversation
_SENTENCES = 100_000  # 5 MB and a little


class Script:
    """What the model and the tool of one arm do: the model calls the tool so many times, then answers.

    A tool call is timed from where the model has asked for it until the model is called again: the tool itself, what
    the framework does around it and, with Thymus, learning the result and recalling for the next call of the model.
    A message is timed until the model is called first.
    """

    def __init__(self, results: Iterator[str]) -> None:
        self.times: Times = defaultdict(list)
        self._results, self._ready = results, list[str]()
        self._left, self._what, self._since = 0, MESSAGE, 0.0

    def begin(self, calls: int) -> None:
        """A message is about to be handed in."""
        self._ready = [next(self._results) for _ in range(calls)]  # to make them takes time that is not measured
        self._left, self._what, self._since = calls, MESSAGE, time.perf_counter()

    def model_called(self) -> int:
        """The model is called: the number of the tool call that it makes, or 0 where it answers."""
        self.times[self._what].append(time.perf_counter() - self._since)
        number, self._what = self._left, TOOL
        self._left = max(0, number - 1)
        self._since = time.perf_counter()
        return number

    def result(self) -> str:
        """What the tool returns."""
        return self._ready.pop(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Milliseconds of each arm, in the order in which they were measured."""

    what: str
    result: str
    alone: list[float]
    guarded: list[float]
    memories: int  # that the guard holds in the end, of all statuses

    @property
    def medians(self) -> tuple[float, float]:
        """Of the framework alone, and with Thymus."""
        return statistics.median(self.alone), statistics.median(self.guarded)


def results(kind: str) -> Iterator[str]:
    """What a tool returns, call by call; never the same fact or large text twice."""
    if kind == NOTHING:
        while True:
            yield "ok"
    if kind == FACT:
        yield from world.sentences(10_000, seed=11)
    yield "ok"  # to warm up
    for seed in count(100):
        yield " ".join(world.sentences(_SENTENCES, seed))[:5_000_000]


def agent(
    build: Callable[[Script, MemoryGuard | None], Ask], kind: str, calls: int, path: Path, embedder: Embedder
) -> list[Measured]:
    """Time so many tool calls of an agent in each arm, after a conversation to warm up."""
    each = 1 if kind == LARGE else _CALLS
    with MemoryGuard(path, user_id="perf", embedder=embedder) as guard, asyncio.Runner() as loop:
        scripts = Script(results(kind)), Script(results(kind))
        asks = build(scripts[0], None), build(scripts[1], guard)
        rounds = -(-calls // each)
        for number in range(rounds + 1):
            for script, ask in _in_turn(number, list(zip(scripts, asks, strict=True))):
                script.begin(each)
                running = ask(f"Is there any news of parcel {1_000 + number}?", f"conversation-{number}")
                if running is not None:
                    loop.run(running)
        alone, guarded = (script.times for script in scripts)
        warm = {MESSAGE: 1, TOOL: each}
        for times in (alone, guarded):
            if {what: len(seconds) for what, seconds in times.items()} != {
                w: n * (rounds + 1) for w, n in warm.items()
            }:
                raise RuntimeError(f"the agent did not call its model and tool as scripted: {times}")
        return _measured(kind, alone, guarded, warm, guard)


def store(
    build: Callable[[MemoryGuard | None, Path], Operations], kind: str, calls: int, path: Path, embedder: Embedder
) -> list[Measured]:
    """Time so many calls of each operation of a store in each arm, after one to warm up."""
    with MemoryGuard(path, user_id="perf", embedder=embedder) as guard:
        arms: list[tuple[Operations, Iterator[str], Times]] = [
            (build(which, path.with_suffix(name)), results(kind), defaultdict(list))
            for name, which in ((".alone", None), (".guarded", guard))
        ]
        for number in range(calls + 1):
            for operations, texts, times in _in_turn(number, arms):
                text = next(texts)
                for what, do in operations.items():
                    start = time.perf_counter()
                    do(f"key-{number}", text)
                    times[what].append(time.perf_counter() - start)
        return _measured(kind, arms[0][2], arms[1][2], dict.fromkeys(arms[0][0], 1), guard)


def _in_turn(number: int, arms: list[Any]) -> list[Any]:
    """Neither arm is always the first."""
    return random.Random(number).sample(arms, len(arms))


def _measured(kind: str, alone: Times, guarded: Times, warm: dict[str, int], guard: MemoryGuard) -> list[Measured]:
    memories = len(guard.memories(status=None))
    if kind == FACT and not memories:
        raise RuntimeError("the guard learned no fact, so that nothing was measured")
    return [
        Measured(
            what=what,
            result=kind,
            alone=[1_000 * one for one in alone[what][first:]],
            guarded=[1_000 * one for one in guarded[what][first:]],
            memories=memories,
        )
        for what, first in warm.items()
    ]
