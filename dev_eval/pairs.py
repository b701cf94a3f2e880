"""Pairs: does the incoming statement contradict the stored one? Beside it what cosine or typed values would say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

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
from thymus import Source
from thymus.core.relations import CONFIRMED, DETECTED, Relation
from thymus.embed import get_embedder
from thymus.judges import get_judge
from thymus.ports import Statement

LABELS = ("contradicts", "same", "compatible")
THRESHOLDS = (0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40, 0.50, 0.60, 0.70)


def measure(folder: Path, judges: Sequence[str] = ("local", "typed")) -> Part:
    """Measure the judges on ``pairs.jsonl``; phenomena, thresholds and misses are those of the first judge."""
    rows = read_rows(folder, "pairs.jsonl")
    given = [(_statement(row, "a"), _statement(row, "b")) for row in rows]
    truth = [row["label"] for row in rows]
    relations = {name: get_judge(name).relate(given) for name in judges}
    answers = {name: _answers(truth, [str(one.label) for one in found]) for name, found in relations.items()}
    answers["cosine alone"] = _answers(truth, _by_cosine(rows, truth))
    first = judges[0]
    sheets = [
        _overview(answers),
        confusion(f"Pairs: confusion of {first}", answers[first], LABELS),
        _thresholds(truth, relations[first]),
        _phenomena(rows, answers[first]),
    ]
    figures = {name: _figures(some) for name, some in answers.items()}
    return Part(name="pairs", sheets=sheets, figures=figures, misses=_misses(rows, relations[first]))


def _statement(row: dict[str, Any], side: str) -> Statement:
    return Statement(text=row[side], speaker=Source.parse("user" if row[f"{side}_speaker"] == "user" else "email:"))


def _answers(truth: Sequence[str], given: Sequence[str]) -> Answers:
    return list(zip(truth, given, strict=True))


def _by_cosine(rows: Sequence[dict[str, Any]], truth: Sequence[str]) -> list[str]:
    """The two thresholds on cosine that are best on these very items: what no embedder alone can surpass."""
    embedder = get_embedder()
    left, right = (embedder.embed([row[side] for row in rows], role="passage") for side in "ab")
    cosines = np.einsum("ij,ij->i", left, right)
    cuts = np.quantile(cosines, np.linspace(0, 1, 21))
    tried = [
        ["same" if one >= high else "contradicts" if one >= low else "compatible" for one in cosines]
        for low in cuts
        for high in cuts
        if low <= high
    ]
    return max(tried, key=lambda given: macro_f1(_answers(truth, given), LABELS))


def _overview(answers: dict[str, Answers]) -> Sheet:
    return Sheet(
        title=f"Pairs ({len(next(iter(answers.values())))}), 95% bootstrap intervals",
        columns=("judge", "accuracy", "P contradicts", "R contradicts", "F1 contradicts", "macro F1"),
        rows=[
            (
                name,
                with_interval(some, accuracy),
                f"{scores(some, 'contradicts')[0]:.2f}",
                f"{scores(some, 'contradicts')[1]:.2f}",
                with_interval(some, lambda drawn: scores(drawn, "contradicts")[2]),
                with_interval(some, lambda drawn: macro_f1(drawn, LABELS)),
            )
            for name, some in answers.items()
        ],
    )


def _figures(answers: Answers) -> dict[str, Any]:
    precision, recall, f1 = scores(answers, "contradicts")
    return {
        "n": len(answers),
        "accuracy": accuracy(answers),
        "contradicts": {"precision": precision, "recall": recall, "f1": f1},
        "contradicts_f1_interval": interval(answers, lambda drawn: scores(drawn, "contradicts")[2]),
        "macro_f1": macro_f1(answers, LABELS),
        "macro_f1_interval": interval(answers, lambda drawn: macro_f1(drawn, LABELS)),
    }


def _thresholds(truth: Sequence[str], relations: Sequence[Relation]) -> Sheet:
    rows = []
    for cut in sorted({*THRESHOLDS, DETECTED, CONFIRMED}):
        seen = [true for true, one in zip(truth, relations, strict=True) if one.contradiction >= cut]
        mark = " (detected)" if cut == DETECTED else " (confirmed)" if cut == CONFIRMED else ""
        shares = [seen.count(label) / max(truth.count(label), 1) for label in LABELS]
        precision = shares and seen.count("contradicts") / len(seen) if seen else 0.0
        rows.append((f"{cut:.2f}{mark}", f"{precision:.2f}", *(f"{share:.2f}" for share in shares)))
    return Sheet(
        title="Pairs: what lies at or above a threshold of the contradiction's probability",
        columns=("threshold", "precision", *(f"of {label}" for label in LABELS)),
        rows=rows,
    )


def _phenomena(rows: Sequence[dict[str, Any]], answers: Answers) -> Sheet:
    by_kind: dict[str, list[bool]] = {}
    for row, (true, given) in zip(rows, answers, strict=True):
        by_kind.setdefault(row["kind"], []).append(true == given)
    ranked = sorted(by_kind.items(), key=lambda item: (sum(item[1]) / len(item[1]), -len(item[1]), item[0]))
    return Sheet(
        title="Pairs by phenomenon, worst first",
        columns=("phenomenon", "right", "of"),
        rows=[(kind, str(sum(right)), str(len(right))) for kind, right in ranked],
    )


def _misses(rows: Sequence[dict[str, Any]], relations: Sequence[Relation]) -> list[str]:
    return [
        f"{row['id']} ({row['kind']}) is {row['label']}, judged {one.label} {one.confidence:.2f}, "
        f"contradiction {one.contradiction:.2f}\n"
        f"  stored:   {row['a']}\n  incoming: {row['b']}\n  because:  {one.because}"
        for row, one in zip(rows, relations, strict=True)
        if one.label != row["label"]
    ]
