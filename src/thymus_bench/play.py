"""Plays one scenario through a real ``MemoryGuard`` and records what came of it. Plain functions; nothing is shared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from thymus import MemoryGuard, ThymusError, Written
from thymus_bench.markers import first_held
from thymus_bench.once import ModelJudges, PlayJudge
from thymus_bench.outcomes import Cost, Outcome, Verdict, Write
from thymus_bench.readers import sides
from thymus_bench.scenarios import Category, Part, Scenario, Turn

if TYPE_CHECKING:
    from thymus.ports import Embedder, Judge
    from thymus_bench.grade import Grader
    from thymus_bench.readers import Reader

START: Final = datetime(2026, 1, 5, 9, tzinfo=UTC)
"""When the first turn arrives, on a clock of its own: two runs show the same dates."""
_APART: Final = timedelta(minutes=10)
_HELD_BACK: Final = ("contested", "quarantined", "rejected")


@contextmanager
def in_process() -> Iterator[None]:
    """A memory that is gone when its guard is."""
    yield None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What every play of a run shares.

    :param judge: shared as it is, or a language model that gives each play a judge of its own.
    :param k: how many memories a recall may show.
    :param place: gives each play a path for its memory, and clears it away (``None``: in the process).
    :param opened: opens the guard, with the arguments of ``MemoryGuard``.
    """

    reader: Reader
    embedder: Embedder
    judge: Judge | ModelJudges
    grader: Grader | None = None
    k: int = 8
    place: Callable[[], AbstractContextManager[str | None]] = in_process
    opened: Callable[..., AbstractContextManager[MemoryGuard]] = MemoryGuard


class _Clock:
    """Stands still within a turn and moves on by the same step after it."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def tick(self) -> None:
        self.now += _APART


def play(scenario: Scenario, gate: str, stage: Stage, *, repeat: int = 0) -> Outcome:
    """Play a scenario under a gate.

    A play that a model or a gate refuses does not stop a run: its outcome says why. So does one in which something else
    judged in a language model's place.
    """
    try:
        return _play(scenario, gate, stage, _unplayed(scenario, gate, stage, repeat))
    except ThymusError as error:
        return failed(scenario, gate, stage, error, repeat=repeat)


def failed(scenario: Scenario, gate: str, stage: Stage, error: Exception, *, repeat: int = 0) -> Outcome:
    """What is kept of a play that came to nothing: why. What it used so far is counted for no other play."""
    for spender in (stage.reader, stage.grader):
        if spender:
            spender.costs()
    said = f"{type(error).__name__}: {error}"[:500]
    return replace(_unplayed(scenario, gate, stage, repeat), error=said)


def _unplayed(scenario: Scenario, gate: str, stage: Stage, repeat: int) -> Outcome:
    return Outcome(
        scenario=scenario.id,
        family=scenario.family,
        suite=scenario.suite,
        category=scenario.category,
        kind=scenario.kind,
        domain=scenario.domain,
        gate=gate,
        reader=stage.reader.name,
        model=stage.reader.model,
        repeat=repeat,
        turns=len(scenario.turns) + 1,
    )


def _play(scenario: Scenario, gate: str, stage: Stage, outcome: Outcome) -> Outcome:
    clock = _Clock()
    writes: list[Write] = []
    harmless: set[str] = set()
    extractor = stage.reader.extractor()
    judge = stage.judge
    if isinstance(judge, ModelJudges):
        judge = judge.for_play(repeat=outcome.repeat, sorts=extractor is None)
    opened = partial(stage.opened, gate=gate, user_id="owner", judge=judge, embedder=stage.embedder)
    with stage.place() as path, opened(path, extractor=extractor, clock=clock) as guard:
        began = time.perf_counter()
        for turn in scenario.turns:
            written = stage.reader.hear(guard.for_user(turn.user) if turn.user else guard, turn)
            if isinstance(judge, PlayJudge):
                judge.check(written)
            clock.tick()
            writes.append(_write(turn, written))
            if turn.part is Part.DISTRACTOR and turn.outside and not turn.user:
                harmless |= {memory.id for memory in written.memories}
        heard = time.perf_counter()
        recall = guard.recall(scenario.probe, k=stage.k)
        recalled = time.perf_counter()
        active = [memory.text for memory in guard.memories()]
    reply = stage.reader.answer(recall, scenario.probe)
    costs = (
        Cost(job="write", calls=len(writes), ms=(heard - began) * 1_000),
        Cost(job="recall", calls=1, ms=(recalled - heard) * 1_000),
        *stage.reader.costs(),
        *(judge.costs() if isinstance(judge, PlayJudge) else ()),
        *reply.costs,
    )
    outcome = graded(scenario, outcome, reply.text, stage.grader)
    if stage.grader:
        costs += stage.grader.costs()
    shown, told = ({memory.id for memory in side} for side in sides(recall))
    context, notice = _undated(recall.context), _undated(recall.notice)
    kept = _says(context, scenario.old_value) if scenario.category is Category.ATTACK and scenario.old_value else None
    return replace(
        outcome,
        writes=tuple(writes),
        context=recall.context,
        notice=recall.notice,
        stored=any(_says(text, scenario.target) for text in active),
        retrieved=_says(context, scenario.target),
        disclosed=_says(notice, scenario.target),
        kept=kept,
        outside_claims=sum(write.claims for write in writes if write.outside),
        notices=len(told),
        harmless=len(harmless & (shown | told)),
        harmless_told=len(harmless & (told - shown)),
        costs=costs,
    )


def graded(scenario: Scenario, outcome: Outcome, reply: str, grader: Grader | None) -> Outcome:
    """The outcome with the reply and how it is read; without a grader a value counts wherever it stands."""
    undated = _undated(reply)
    target, old = _says(undated, scenario.target), _says(undated, scenario.old_value)
    markers = Verdict(mentioned=target, adopted=target, old=old and scenario.category is not Category.BENIGN)
    verdict = grader.grade(scenario, reply) if grader else markers
    return replace(
        outcome,
        reply=reply,
        verdict=verdict if grader else None,
        markers=markers,
        adopted=verdict.adopted,
        stale=scenario.category is Category.UPDATE and verdict.old and not verdict.adopted,
        beside=verdict.old and verdict.adopted,
    )


def _write(turn: Turn, written: Written) -> Write:
    return Write(
        part=turn.part,
        source=turn.source,
        outside=turn.outside,
        effect=written.effect,
        rules=written.reasons,
        claims=len(written.memories),
        held=sum(outcome in _HELD_BACK for outcome in written.outcomes),
    )


def _says(text: str, markers: Sequence[str]) -> bool:
    return bool(first_held(text, markers))


def _undated(text: str) -> str:
    """Without the dates that the system writes: a value may look like a part of one."""
    return text.replace(START.date().isoformat(), "")
