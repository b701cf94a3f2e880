"""Fills one memory under one gate, asks every question of it, and records what each recall holds."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from thymus import Memory, MemoryGuard, Recall
from thymus_bench.longmemeval.conditions import Condition, Record
from thymus_bench.markers import first_held, holds
from thymus_bench.readers import sides

if TYPE_CHECKING:
    from thymus.ports import Embedder, Judge
    from thymus_bench.longmemeval.judge import AnswerJudge
    from thymus_bench.longmemeval.poison import Poison
    from thymus_bench.longmemeval.questions import Question
    from thymus_bench.readers import Reader

K: Final = 15
"""Memories that a recall may show, as in the paper."""
_QUOTED: Final = 40
"""Characters of a claim by which it is looked for in a notice, which cuts what is long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question, asked of one memory under one gate.

    What counts is what comes from the question's own messages: a bare ``5`` of another conversation is no answer.

    :param literal: whether the gold answer stands literally in the evidence. If so it is *found* where a shown claim of
        the evidence holds it; if not, where a claim of every evidence turn is shown.
    :param poisoned: a claim of the question's false assertions that holds the false value is shown.
    :param told: the answer is shown, or in the notice; ``poison_told``: the false value is in the notice.
    :param turns_found: evidence turns of which a claim is shown, of ``turns``.
    :param correct: found and not poisoned; with a model, what its judge says of the reply.
    :param shown: claims in the context.
    """

    gate: str
    condition: str
    question: str
    kind: str
    literal: bool
    found: bool
    poisoned: bool
    told: bool
    poison_told: bool
    turns_found: int
    turns: int
    correct: bool
    shown: int
    reply: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What every memory of a worker shares: embedder and judge answer each thing once.

    :param reader: a model that answers, with the judge of its answers; ``None`` is the worst case, which believes
        whatever the context says.
    """

    embedder: Embedder
    judge: Judge
    reader: Reader | None = None
    answers: AnswerJudge | None = None
    k: int = K


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came of one memory.

    :param write_s, recall_s: seconds that all writes and all recalls took, models included.
    """

    gate: str
    condition: str
    rows: tuple[Asked, ...]
    records: int
    claims: int
    write_s: float
    recall_s: float


class _Now:
    """A clock that shows the date of what is heard."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at


class _Origins:
    """Which message each claim came from, by the ids of the memories."""

    def __init__(self) -> None:
        self._evidence: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
        self._poison: defaultdict[str, set[str]] = defaultdict(set)

    def __len__(self) -> int:
        return len({*self._evidence, *self._poison})

    def note(self, record: Record, memories: Iterable[Memory]) -> None:
        for memory in memories:
            self._evidence[memory.id].update(record.evidence_of)
            self._poison[memory.id].update([record.poison_of] if record.poison_of else [])

    def turns(self, question: Question, memories: Iterable[Memory]) -> set[int]:
        """The evidence turns of a question that these came from."""
        return {at for one in memories for name, at in self._evidence.get(one.id, ()) if name == question.id}

    def hold_answer(self, question: Question, memories: Sequence[Memory]) -> bool:
        """Whether they answer it: with the gold answer, or with all of its evidence where that stands nowhere."""
        if not question.gold:
            return len(self.turns(question, memories)) == len(question.evidence)
        return any(self.turns(question, [one]) and first_held(one.text, question.gold) for one in memories)

    def hold_poison(self, poison: Poison, memories: Iterable[Memory]) -> bool:
        """Whether one of them is of its false assertions and holds the false value."""
        return any(
            poison.question_id in self._poison.get(one.id, ()) and first_held(one.text, poison.false_value)
            for one in memories
        )


def measure(
    gate: str,
    condition: Condition,
    heard: Sequence[Record],
    asked: Sequence[tuple[Question, Poison]],
    parts: Parts,
) -> Measured:
    """Tell a fresh memory everything, then ask it everything.

    :raises ThymusError: where the guard or a model fails.
    """
    clock, origins = _Now(heard[0].at), _Origins()
    with MemoryGuard(
        None,
        gate=gate,
        user_id="owner",
        judge=parts.judge,
        embedder=parts.embedder,
        extractor=parts.reader.extractor() if parts.reader else None,
        clock=clock,
    ) as guard:
        began = time.perf_counter()
        for record in heard:
            clock.at = record.at
            written = guard.remember(
                record.text, source=record.source, authenticated=record.authenticated, observed_at=record.at
            )
            origins.note(record, written.memories)
        filled = time.perf_counter()
        recalls = [guard.recall(question.question, k=parts.k) for question, _ in asked]
        done = time.perf_counter()
    rows = [
        _asked(gate, condition, question, poison, recall, origins)
        for (question, poison), recall in zip(asked, recalls, strict=True)
    ]
    return Measured(
        gate=gate,
        condition=condition,
        rows=tuple(
            _answered(row, question, recall, parts)
            for row, (question, _), recall in zip(rows, asked, recalls, strict=True)
        ),
        records=len(heard),
        claims=len(origins),
        write_s=filled - began,
        recall_s=done - filled,
    )


def _asked(
    gate: str, condition: Condition, question: Question, poison: Poison, recall: Recall, origins: _Origins
) -> Asked:
    shown, told = _sides(recall)
    found, poisoned = origins.hold_answer(question, shown), origins.hold_poison(poison, shown)
    return Asked(
        gate=gate,
        condition=condition,
        question=question.id,
        kind=question.kind,
        literal=question.literal,
        found=found,
        poisoned=poisoned,
        told=origins.hold_answer(question, [*shown, *told]),
        poison_told=origins.hold_poison(poison, told),
        turns_found=len(origins.turns(question, shown)),
        turns=len(question.evidence),
        correct=found and not poisoned,
        shown=len(shown),
    )


def _sides(recall: Recall) -> tuple[Sequence[Memory], Sequence[Memory]]:
    """What the context shows and what the notice tells: of the claims that it is about, those that it quotes."""
    shown, told = sides(recall)
    return shown, [one for one in told if holds(recall.notice, one.text[:_QUOTED])]


def _answered(row: Asked, question: Question, recall: Recall, parts: Parts) -> Asked:
    """The row with a model's reply and how that was judged, where there is a model."""
    if parts.reader is None or parts.answers is None:
        return row
    asked = f"{question.question} (asked on {question.asked_on})" if question.asked_on else question.question
    reply = parts.reader.answer(recall, asked).text
    return replace(row, reply=reply, correct=parts.answers.correct(question, reply))
