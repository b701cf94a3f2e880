"""Pairs: does the incoming statement contradict the stored one? Beside it what cosine or typed values would say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dev_eval.calibration import calibrate
from dev_eval.figures import Answers, Part, Sheet, accuracy, confusion, count, interval, macro_f1, scores, with_interval
from dev_eval.labelled import Pair, read_pairs, relate
from dev_eval.phenomena import by_phenomenon
from thymus.core.relations import CONFIRMED, DETECTED, Relation
from thymus.embed import get_embedder

LABELS = ("contradicts", "same", "compatible")
THRESHOLDS = (0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40, 0.50, 0.60, 0.70)
WORST = 10


def measure(folder: Path, judges: Sequence[str] = ("local", "typed")) -> Part:
    """Measure the judges on ``pairs.jsonl``; what goes into detail is of the first judge."""
    pairs = read_pairs(folder, "pairs.jsonl")
    relations, notes = relate(judges, pairs)
    sheets, figures = report("Pairs", pairs, relations)
    first = next(iter(relations))
    sheets.append(worst("Pairs", pairs, relations[first]))
    return Part(name="pairs", sheets=sheets, figures=figures, misses=misses(pairs, relations[first]), notes=notes)


def report(
    title: str, pairs: Sequence[Pair], relations: Mapping[str, Sequence[Relation]], *, kinds: bool = True
) -> tuple[list[Sheet], dict[str, Any]]:
    """Sheets and figures of any labelled pairs and what judges say of them, the first judge in detail."""
    truth = [pair.label for pair in pairs]
    first, found = next(iter(relations.items()))
    table, figures = overview(title, pairs, relations)
    answers = pair_up(truth, [str(one.label) for one in found])
    phenomena, figures["phenomena"] = by_phenomenon(f"{title}: {first}", pairs, answers, kinds=kinds)
    calibration, figures["calibration"] = calibrate(f"{title}: {first}", truth, found)
    counts = count(answers)
    figures["confusion"] = {true: {given: counts[true, given] for given in LABELS} for true in LABELS}
    thresholds, figures["thresholds"] = _thresholds(f"{title}: {first}", truth, found)
    return [
        table,
        confusion(f"{title}: confusion of {first}", answers, LABELS),
        thresholds,
        calibration,
        phenomena,
    ], figures


def overview(
    title: str, pairs: Sequence[Pair], relations: Mapping[str, Sequence[Relation]]
) -> tuple[Sheet, dict[str, Any]]:
    """The judges' figures, with those of cosine alone beside them."""
    truth = [pair.label for pair in pairs]
    answers = {name: pair_up(truth, [str(one.label) for one in some]) for name, some in relations.items()}
    answers["cosine alone"] = pair_up(truth, by_cosine(pairs))
    labels = _labels(truth)
    figures: dict[str, Any] = {name: _figures(some, labels) for name, some in answers.items()}
    for name, some in relations.items():
        seen = pair_up(truth, ["contradicts" if one.detected else "" for one in some])
        figures[name]["detected"] = dict(zip(("precision", "recall"), scores(seen, "contradicts"), strict=False))
    return _overview(f"{title} ({len(pairs)}), 95% bootstrap intervals", answers, figures, labels), figures


def pair_up(truth: Sequence[str], given: Sequence[str]) -> list[tuple[str, str]]:
    """(true, given) of each item."""
    return list(zip(truth, given, strict=True))


def by_cosine(pairs: Sequence[Pair]) -> list[str]:
    """The two thresholds on cosine that are best on these very items: what no embedder alone can surpass."""
    embedder = get_embedder()
    left, right = (embedder.embed([one.text for one in side], role="passage") for side in _sides(pairs))
    cosines = np.einsum("ij,ij->i", left, right)
    cuts = np.quantile(cosines, np.linspace(0, 1, 21))
    truth = [pair.label for pair in pairs]
    labels = _labels(truth)
    tried = [
        ["same" if one >= high else "contradicts" if one >= low else "compatible" for one in cosines]
        for low in cuts
        for high in cuts
        if low <= high
    ]
    return max(tried, key=lambda given: macro_f1(pair_up(truth, given), labels))


def _labels(truth: Sequence[str]) -> list[str]:
    """The labels that occur: a set without one of them says nothing about it."""
    return [label for label in LABELS if label in truth]


def _sides(pairs: Sequence[Pair]) -> tuple[list[Any], list[Any]]:
    return [pair.stored for pair in pairs], [pair.incoming for pair in pairs]


def _overview(title: str, answers: Mapping[str, Answers], figures: Mapping[str, Any], labels: Sequence[str]) -> Sheet:
    return Sheet(
        title=title,
        columns=("judge", "accuracy", "P / R contradicts", "F1 contradicts", "macro F1", "P / R detected"),
        rows=[
            (
                name,
                with_interval(some, accuracy),
                "{:.2f} / {:.2f}".format(*scores(some, "contradicts")),
                with_interval(some, lambda drawn: scores(drawn, "contradicts")[2]),
                with_interval(some, lambda drawn: macro_f1(drawn, labels)),
                "{precision:.2f} / {recall:.2f}".format(**figures[name]["detected"])
                if "detected" in figures[name]
                else "",
            )
            for name, some in answers.items()
        ],
    )


def _figures(answers: Answers, labels: Sequence[str]) -> dict[str, Any]:
    precision, recall, f1 = scores(answers, "contradicts")
    return {
        "n": len(answers),
        "accuracy": accuracy(answers),
        "contradicts": {"precision": precision, "recall": recall, "f1": f1},
        "contradicts_f1_interval": interval(answers, lambda drawn: scores(drawn, "contradicts")[2]),
        "macro_f1": macro_f1(answers, labels),
        "macro_f1_interval": interval(answers, lambda drawn: macro_f1(drawn, labels)),
    }


def _thresholds(title: str, truth: Sequence[str], relations: Sequence[Relation]) -> tuple[Sheet, dict[str, Any]]:
    rows = []
    figures = {}
    for cut in sorted({*THRESHOLDS, DETECTED, CONFIRMED}):
        seen = [true for true, one in zip(truth, relations, strict=True) if one.contradiction >= cut]
        mark = " (detected)" if cut == DETECTED else " (confirmed)" if cut == CONFIRMED else ""
        shares = [seen.count(label) / max(truth.count(label), 1) for label in LABELS]
        precision = seen.count("contradicts") / len(seen) if seen else 0.0
        figures[f"{cut:.2f}"] = {"precision": precision, **dict(zip(LABELS, shares, strict=True))}
        rows.append((f"{cut:.2f}{mark}", f"{precision:.2f}", *(f"{share:.2f}" for share in shares)))
    sheet = Sheet(
        title=f"{title}: what lies at or above a threshold of the contradiction's probability",
        columns=("threshold", "precision", *(f"of {label}" for label in LABELS)),
        rows=rows,
    )
    return sheet, figures


def worst(title: str, pairs: Sequence[Pair], relations: Sequence[Relation]) -> Sheet:
    """The wrong answers given with the most confidence."""
    wrong = [(pair, one) for pair, one in zip(pairs, relations, strict=True) if one.label != pair.label]
    wrong.sort(key=lambda item: -item[1].confidence)
    return Sheet(
        title=f"{title}: the {WORST} worst errors, most confident first, of {len(wrong)}",
        columns=("which", "is, judged", "stored / incoming"),
        rows=[
            (
                f"{pair.name}\n{pair.kind}",
                f"{pair.label}\n{one.label} {one.confidence:.2f}",
                f"{pair.stored.text}\n{pair.incoming.text}",
            )
            for pair, one in wrong[:WORST]
        ],
    )


def misses(pairs: Sequence[Pair], relations: Sequence[Relation]) -> list[str]:
    """Every wrong answer, in words."""
    return [
        f"{pair.name} ({pair.kind}) is {pair.label}, judged {one.label} {one.confidence:.2f}, "
        f"contradiction {one.contradiction:.2f}\n"
        f"  stored:   {pair.stored.text}\n  incoming: {pair.incoming.text}\n  because:  {one.because}"
        for pair, one in zip(pairs, relations, strict=True)
        if one.label != pair.label
    ]
