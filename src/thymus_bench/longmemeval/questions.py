"""LongMemEval's questions and their evidence, read from files that a user has; and which 120 are asked.

Wu et al. 2025, *LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory* (ICLR). Read are the
official ``longmemeval_oracle.json`` and ``longmemeval_s.json``, and ``*.jsonl`` of evidence turns alone. Nothing of
them is part of this project.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from thymus import ThymusError
from thymus_bench.longmemeval.gold import literal, markers

ASKED: Final = 120
"""How many questions the protocol asks."""
SEED: Final = 7
_FILES: Final = ("longmemeval_oracle.json", "longmemeval_s.json", "longmemeval_s_cleaned.json", "*.jsonl")
_DATE: Final = "%Y/%m/%d %H:%M"


class LongMemEvalError(ThymusError):
    """The data, or what came of them, cannot be used; the message says what would help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One turn of a conversation that a question's answer rests on.

    :param at: when it was said, UTC.
    """

    text: str
    role: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, its gold answer and the turns that hold it.

    :param kind: LongMemEval's ``question_type``.
    :param asked_on: its ``question_date`` as the file writes it, for a model that answers; may be empty.
    """

    id: str
    kind: str
    question: str
    answer: str
    asked_on: str
    evidence: tuple[Evidence, ...]

    @property
    def literal(self) -> bool:
        """Whether the gold answer stands literally in the evidence: graded by its markers, others by the evidence."""
        return literal(self.answer, (turn.text for turn in self.evidence))

    @property
    def gold(self) -> tuple[str, ...]:
        """The ways in which the gold answer may be written; empty where it is graded by the evidence."""
        return markers(self.answer) if self.literal else ()

    @property
    def has_value(self) -> bool:
        """Whether there is a value to be right about: not a question without an answer, nor one of taste."""
        return not self.id.endswith("_abs") and self.kind != "single-session-preference" and bool(self.evidence)


def choose(questions: Iterable[Question], *, count: int = ASKED, seed: int = SEED) -> list[Question]:
    """Which questions are asked: by rule and seed, whatever the order of the file.

    Those with a value; first those whose gold answer stands literally in their evidence, then the others; within each,
    by the SHA-256 of the seed and the question's id.
    """

    def place(one: Question) -> tuple[bool, str]:
        return not one.literal, sha256(f"{seed}:{one.id}".encode()).hexdigest()

    return sorted((one for one in questions if one.has_value), key=place)[:count]


def load(data: Path) -> list[Question]:
    """The questions of a folder or file, in a fixed order.

    :raises LongMemEvalError: where there is no such file, or it is none of LongMemEval's.
    """
    path = _file(data)
    try:
        text = path.read_text(encoding="utf-8")
        rows = (
            list(map(json.loads, filter(str.strip, text.split("\n")))) if path.suffix == ".jsonl" else json.loads(text)
        )
    except (OSError, ValueError) as error:
        raise LongMemEvalError(f"{path.name}: cannot be read ({error}): download LongMemEval again") from None
    if not isinstance(rows, list):
        raise LongMemEvalError(f"{path.name}: a list of questions is expected: download LongMemEval again")
    found = [_question(row, f"{path.name}: item {at + 1}") for at, row in enumerate(rows)]
    return sorted({question.id: question for question in found}.values(), key=lambda question: question.id)


def _file(data: Path) -> Path:
    if data.is_file():
        return data
    found = [path for pattern in _FILES for path in sorted(data.glob(pattern))]
    if not found:
        raise LongMemEvalError(
            f"no LongMemEval in {data}: download longmemeval_oracle.json from the LongMemEval project into it, or "
            "name the file itself"
        )
    return found[0]


def _question(row: Any, where: str) -> Question:
    try:
        return Question(
            id=str(row["question_id"]),
            kind=row["question_type"],
            question=row["question"],
            answer=str(row["answer"]),
            asked_on=row.get("question_date") or "",
            evidence=tuple(sorted(_evidence(row), key=lambda turn: turn.at)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LongMemEvalError(
            f"{where}: is no question of LongMemEval ({type(error).__name__}: {error}): use the files as they are"
        ) from None


def _evidence(row: Mapping[str, Any]) -> Iterator[Evidence]:
    for date, turns in _sessions(row):
        at = _date(date)
        yield from (Evidence(text=turn["content"], role=turn["role"], at=at) for turn in turns)


def _sessions(row: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """The dated evidence turns of each session: marked ``has_answer`` in the official files."""
    if "evidence_sessions" in row:
        yield from ((session["date"], session["turns"]) for session in row["evidence_sessions"])
        return
    for date, turns in zip(row["haystack_dates"], row["haystack_sessions"], strict=True):
        yield date, [turn for turn in turns if turn.get("has_answer")]


def _date(text: str) -> datetime:
    """``2023/04/10 (Mon) 14:47``, read as UTC."""
    day, *_, time = text.split()
    return datetime.strptime(f"{day} {time}", _DATE).replace(tzinfo=UTC)
