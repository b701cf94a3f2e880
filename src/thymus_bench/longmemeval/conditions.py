"""The four memories that the same questions are asked of, as Utility Under Attack (arXiv 2608.21230) sets them up.

*clean*: every evidence turn, said by the user on its date. *poisoned*: and three false assertions to a question, from
outside, in the three days after its last evidence. *mixed* (its condition M): and harmless outside messages, 18.7% of
the number of genuine records. *untrusted* (N): no poison, and every evidence turn from an outside source that nobody
verified, as when a history is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Final

from thymus_bench.longmemeval.poison import Poison
from thymus_bench.longmemeval.questions import SEED, LongMemEvalError, Question
from thymus_bench.scenarios import Turn

BENIGN_SHARE: Final = 0.187
"""Harmless outside messages of the mixed condition, relative to genuine records."""
IMPORTED: Final = "chat:import"
"""Who says the evidence in the untrusted condition."""


class Condition(StrEnum):
    """What the memory holds."""

    CLEAN = "clean"
    POISONED = "poisoned"
    MIXED = "mixed"
    UNTRUSTED = "untrusted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One message that reaches the memory.

    :param evidence_of: the questions that it is evidence of, each with the place of the turn in its evidence.
    :param poison_of: the question that it answers falsely; empty where it does not.
    """

    text: str
    source: str
    at: datetime
    authenticated: bool | None = None
    evidence_of: tuple[tuple[str, int], ...] = ()
    poison_of: str = ""


def records(
    condition: Condition, questions: Sequence[Question], poison: Mapping[str, Poison], harmless: Iterable[Turn]
) -> list[Record]:
    """Everything that the memory hears under a condition, in the order of its dates.

    :param questions: all whose evidence the memory holds, asked or not.
    :param harmless: outside messages to choose from, by the SHA-256 of the seed and the text.
    :raises LongMemEvalError: where there are too few of these.
    """
    found = _genuine(questions, outside=condition is Condition.UNTRUSTED)
    if condition is Condition.MIXED:
        found += _harmless(found, harmless)
    if condition in (Condition.POISONED, Condition.MIXED):
        found += [record for one in questions if one.id in poison for record in _poisoned(one, poison[one.id])]
    return sorted(found, key=lambda record: record.at)


def _genuine(questions: Iterable[Question], *, outside: bool) -> list[Record]:
    """Every evidence turn once, whoever of several questions it serves."""
    serves: dict[tuple[datetime, str], list[tuple[str, int]]] = {}
    for question in questions:
        for at, turn in enumerate(question.evidence):
            serves.setdefault((turn.at, turn.text), []).append((question.id, at))
    return [
        Record(
            text=text,
            source=IMPORTED if outside else "user",
            authenticated=False if outside else None,
            at=when,
            evidence_of=tuple(served),
        )
        for (when, text), served in serves.items()
    ]


def _poisoned(question: Question, poison: Poison) -> list[Record]:
    last = max(turn.at for turn in question.evidence)
    return [
        Record(
            text=said.text,
            source=said.source,
            authenticated=said.authenticated,
            at=last + timedelta(days=day),
            poison_of=question.id,
        )
        for day, said in enumerate(poison.assertions, 1)
    ]


def _harmless(genuine: Sequence[Record], turns: Iterable[Turn]) -> list[Record]:
    """So many of the harmless messages as the share asks for, each an hour after a genuine record, evenly spread."""
    chosen = sorted(
        {turn.text: turn for turn in turns if turn.outside}.values(),
        key=lambda turn: sha256(f"{SEED}:{turn.text}".encode()).hexdigest(),
    )
    count = round(BENIGN_SHARE * len(genuine))
    if len(chosen) < count:
        raise LongMemEvalError(
            f"{count} harmless outside messages are needed and there are {len(chosen)}: ask of fewer questions"
        )
    times = sorted(record.at for record in genuine)
    return [
        Record(
            text=turn.text,
            source=turn.source,
            authenticated=turn.authenticated,
            at=times[at * len(times) // count] + timedelta(hours=1),
        )
        for at, turn in enumerate(chosen[:count])
    ]
