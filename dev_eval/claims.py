"""Claims: what kind of statement is one?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dev_eval.figures import (
    Answers,
    Part,
    Sheet,
    accuracy,
    confusion,
    interval,
    macro_f1,
    read_rows,
    scores,
    with_interval,
)
from thymus.core.claims import Kind
from thymus.judges import get_judge

LABELS = tuple(str(kind) for kind in Kind)
SPEAKING_FOR_USER = ("preference", "instruction")


def measure(folder: Path, judges: Sequence[str] = ("local", "typed")) -> Part:
    """Measure the judges on ``claims.jsonl``; confusion and misses are those of the first judge."""
    rows = read_rows(folder, "claims.jsonl")
    texts = [row["text"] for row in rows]
    answers: dict[str, Answers] = {
        name: [(row["label"], str(kind)) for row, kind in zip(rows, get_judge(name).classify(texts), strict=True)]
        for name in judges
    }
    first = answers[judges[0]]
    sheets = [
        _overview(answers, rows),
        _by_class(first, judges[0]),
        confusion(f"Claims: confusion of {judges[0]}", first, LABELS),
    ]
    return Part(
        name="claims",
        sheets=sheets,
        figures={name: _figures(some, rows) for name, some in answers.items()},
        misses=[
            f"{row['id']} is {true}, judged {given} ({row['speaker']}, {row['source']})\n  {row['text']}"
            for row, (true, given) in zip(rows, first, strict=True)
            if true != given
        ],
    )


def _let_in(answers: Answers, rows: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """Outside statements that speak for the user: how many were taken for facts (and would be let in), of how many."""
    outside = [
        given
        for row, (true, given) in zip(rows, answers, strict=True)
        if row["speaker"] != "user" and true in SPEAKING_FOR_USER
    ]
    return outside.count("fact"), len(outside)


def _lost(answers: Answers, rows: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """Outside facts that were not taken for facts: a gate would reject or pass over them, of how many."""
    outside = [
        given for row, (true, given) in zip(rows, answers, strict=True) if row["speaker"] != "user" and true == "fact"
    ]
    return len(outside) - outside.count("fact"), len(outside)


def _overview(answers: dict[str, Answers], rows: Sequence[dict[str, Any]]) -> Sheet:
    return Sheet(
        title=f"Claims ({len(rows)}), 95% bootstrap intervals",
        columns=("judge", "accuracy", "macro F1", "outside orders or tastes taken for facts", "outside facts lost"),
        rows=[
            (
                name,
                with_interval(some, accuracy),
                with_interval(some, lambda drawn: macro_f1(drawn, LABELS)),
                "{} of {}".format(*_let_in(some, rows)),
                "{} of {}".format(*_lost(some, rows)),
            )
            for name, some in answers.items()
        ],
    )


def _by_class(answers: Answers, judge: str) -> Sheet:
    return Sheet(
        title=f"Claims by kind: {judge}",
        columns=("kind", "precision", "recall", "F1"),
        rows=[(label, *(f"{score:.2f}" for score in scores(answers, label))) for label in LABELS],
    )


def _figures(answers: Answers, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "n": len(answers),
        "accuracy": accuracy(answers),
        "macro_f1": macro_f1(answers, LABELS),
        "macro_f1_interval": interval(answers, lambda drawn: macro_f1(drawn, LABELS)),
        "f1": {label: scores(answers, label)[2] for label in LABELS},
        "outside_taken_for_facts": _let_in(answers, rows)[0],
        "outside_facts_lost": _lost(answers, rows)[0],
    }
