"""Fit the heads of ``LocalJudge`` and measure them.

    python training/heads/fit.py --data ../shared/data/train/authored \\
        --strangers ../shared/data/public/sms/mishra_soni_half_a.csv ../shared/data/public/email/spamassassin

Reads the authored pairs and statements, embeds them with the bundled e5-small, cross-validates by leaving out one file
(one author) at a time, fits on all of it and writes ``heads.npz`` and ``card.json``. Same input, same weights.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from data import (
    AUTHORED,
    DERIVED,
    NEAR,
    NOTICE,
    PLAIN,
    RANDOM,
    SWAPPED,
    Labelled,
    Pair,
    derive,
    notices,
    read_pairs,
    read_plain,
    read_plain_statements,
    read_statements,
    strangers,
    swap,
    unrelated,
)
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from thymus.embed import get_embedder
from thymus.judges.features import BUCKETS, LAYOUT, Compared, buckets
from thymus.judges.heads import FOLDER, KINDS, LABELS, Space, choose_kinds, join_pair, join_statement
from thymus.judges.reading import read

SEED = 20261129
AXES = 96
STRENGTH = {"relation": 0.002, "subject": 0.01, "kind": 0.005}  # inverse of the L2 penalty
WEIGHTS = {AUTHORED: 1.0, PLAIN: 3.0, DERIVED: 0.3, SWAPPED: 0.3, RANDOM: 0.5, NEAR: 0.15, NOTICE: 0.1}
BUCKET_SCALE = 12.0  # how much more freely the hashed words may weigh than scaled numbers
SPEAKS = {"u": 1.0, "t": 0.0}

Array = NDArray[np.float64]


def main() -> None:
    options = _options()
    written, statements = read_pairs(options.data), read_statements(options.data)
    pairs = written + read_plain(Path(__file__).parent)
    statements = statements + notices(written) + read_plain_statements(Path(__file__).parent)
    related = pairs + derive(pairs) + swap(pairs, SEED)
    others = strangers(options.strangers)
    texts = [*(text for pair in related + others for text in (pair.a, pair.b)), *(one.text for one in statements)]
    vectors, embedder = _embed(texts, options.vectors)
    space = _space(np.array(list(vectors.values())))
    everything = related + unrelated(pairs + others, vectors, SEED)
    weights, figures = {"space_mean": space.mean, "space_axes": space.axes}, {}
    for fit, rows in ((_fit_pairs, everything), (_fit_kinds, statements)):
        fitted, measured = fit(rows, vectors, space)
        weights |= fitted
        figures |= measured
    authored = sum(one.origin == AUTHORED for one in statements)
    _write(options.out, weights, figures, embedder, len(written), authored)
    print(json.dumps(figures, indent=2))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with *.pairs.jsonl and *.claims.jsonl")
    parser.add_argument("--strangers", type=Path, nargs="*", default=[], help="files or folders of real mail and SMS")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the weights and their card go")
    parser.add_argument("--vectors", type=Path, help="a file that keeps the embeddings from run to run")
    return parser.parse_args()


def _embed(texts: Sequence[str], kept: Path | None) -> tuple[dict[str, NDArray[np.float32]], str]:
    embedder = get_embedder("e5-small")
    once = list(dict.fromkeys(texts))
    mark = hashlib.sha256("\0".join([embedder.name, *once]).encode()).hexdigest()
    if kept and kept.exists():
        with np.load(kept) as stored:
            if str(stored["mark"]) == mark:
                return dict(zip(once, stored["matrix"], strict=True)), embedder.name
    matrix = np.concatenate(
        [embedder.embed(once[start : start + 256], role="passage") for start in range(0, len(once), 256)]
    )
    if kept:
        np.savez(kept, matrix=matrix, mark=mark)
    return dict(zip(once, matrix, strict=True)), embedder.name


def _space(matrix: NDArray[np.float32]) -> Space:
    mean = _stored(matrix.mean(axis=0))
    centred = matrix - mean
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    _, turned = np.linalg.eigh(centred.T.astype(np.float64) @ centred)
    axes = turned[:, ::-1][:, :AXES]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), range(AXES)])  # a sign that no library version changes
    return Space(mean=mean, axes=_stored(axes * np.sqrt(AXES) / 2))


def _stored(numbers: NDArray[np.floating]) -> NDArray[np.float32]:
    """Numbers as they come back from the half precision that they are shipped in."""
    return numbers.astype(np.float16).astype(np.float32)


def _scale(rows: NDArray[np.float32], own: NDArray[np.bool_]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return _stored(rows[own].mean(axis=0)), _stored(rows[own].std(axis=0) + 0.01)


def _regress(rows: NDArray[np.float32], labels: NDArray[np.int64], weight: Array, head: str) -> tuple[Array, Array]:
    fitted = LogisticRegression(C=STRENGTH[head], max_iter=200, tol=1e-4).fit(rows, labels, sample_weight=weight)
    return fitted.coef_.T, fitted.intercept_


def _softmax(scores: Array) -> Array:
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def _fit_pairs(
    pairs: Sequence[Pair], vectors: dict[str, NDArray[np.float32]], space: Space
) -> tuple[dict[str, Array], dict[str, object]]:
    rows = _pair_rows(pairs, vectors, space)
    files, origins = np.array([p.file for p in pairs]), np.array([p.origin for p in pairs])
    labels = np.array([LABELS.index(p.label) for p in pairs])
    weight = np.array([WEIGHTS[origin] for origin in origins])
    related = np.isin(origins, (AUTHORED, PLAIN, DERIVED, SWAPPED))
    alone = rows.shape[1] - 2 * AXES

    def fit(train: NDArray[np.bool_]) -> dict[str, Array]:
        mean, deviation = _scale(rows, train & (origins == AUTHORED))
        scaled = np.clip((rows - mean) / deviation, -4, 4)
        both, all_ = train & related, train
        relation = _regress(scaled[both], labels[both], weight[both], "relation")
        subject = _regress(scaled[all_, :alone], related[all_].astype(int), weight[all_], "subject")
        return {
            "pair_mean": mean,
            "pair_deviation": deviation,
            "relation": relation[0],
            "relation_bias": relation[1],
            "subject": subject[0][:, 0],
            "subject_bias": subject[1],
        }

    def predict(w: dict[str, Array], rows: NDArray[np.float32]) -> Array:
        scaled = np.clip((rows - w["pair_mean"]) / w["pair_deviation"], -4, 4)
        subject = 1 / (1 + np.exp(-(scaled[:, :alone] @ w["subject"] + w["subject_bias"])))
        return np.column_stack([_softmax(scaled @ w["relation"] + w["relation_bias"]), subject])

    answers = _leave_one_out(files, fit, lambda w, test: predict(w, rows[test]), 4)
    kinds = np.array([p.kind for p in pairs])
    known = set(files[origins == AUTHORED])
    far = np.array([file not in known and origin == NEAR for file, origin in zip(files, origins, strict=True)])
    clash = answers[:, 0] * answers[:, 3]
    figures = _pair_figures(answers, labels, origins, kinds)
    figures["false on nearest strangers"] = {
        file: {str(t): round(float((clash[far & (files == file)] >= t).mean()), 4) for t in (0.2, 0.3, 0.4, 0.6)}
        for file in sorted(set(files[far]))
    }
    return fit(np.ones(len(pairs), bool)), {"pairs": figures}


def _pair_rows(pairs: Sequence[Pair], vectors: dict[str, NDArray[np.float32]], space: Space) -> NDArray[np.float32]:
    readings = {text: read(text) for pair in pairs for text in (pair.a, pair.b)}
    made = []
    for start in range(0, len(pairs), 4096):
        some = pairs[start : start + 4096]
        speakers = np.array([(SPEAKS[p.a_speaker], SPEAKS[p.b_speaker]) for p in some], np.float32)
        ours = space.centre(np.array([vectors[p.a] for p in some]))
        theirs = space.centre(np.array([vectors[p.b] for p in some]))
        made.append(join_pair(space, [Compared.of(readings[p.a], readings[p.b]) for p in some], speakers, ours, theirs))
    return np.concatenate(made)


def _leave_one_out(
    files: NDArray[np.str_],
    fit: Callable[[NDArray[np.bool_]], dict[str, Array]],
    predict: Callable[[dict[str, Array], NDArray[np.bool_]], Array],
    width: int,
) -> Array:
    answers = np.zeros((len(files), width))
    for file in sorted(set(files)):
        answers[files == file] = predict(fit(files != file), files == file)
    return answers


def _pair_figures(
    answers: Array, labels: NDArray[np.int64], origins: NDArray[np.str_], kinds: NDArray[np.str_]
) -> dict[str, object]:
    """Figures of the authored pairs, and how often unrelated ones seem to contradict, by threshold."""
    own, plain, swapped = (origins == origin for origin in (AUTHORED, PLAIN, SWAPPED))
    given = answers[own, :3].argmax(axis=1)
    clash = answers[:, 0] * answers[:, 3]
    scores = f1_score(labels[own], given, average=None)
    curve = {}
    for threshold in (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7):
        seen = clash >= threshold
        curve[f"{threshold:.2f}"] = {
            "recall": round(float(seen[own & (labels == 0)].mean()), 3),
            "precision": round(float((labels[own & seen] == 0).mean()), 3),
            "false on compatible": round(float(seen[own & (labels == 2)].mean()), 3),
            "false on same": round(float(seen[own & (labels == 1)].mean()), 3),
            "recall on plain": round(float(seen[plain & (labels == 0)].mean()), 3),
            "false on plain compatible": round(float(seen[plain & (labels == 2)].mean()), 3),
            "recall on swapped": round(float(seen[swapped & (labels == 0)].mean()), 3),
            "false on random": round(float(seen[origins == RANDOM].mean()), 4),
            "false on nearest": round(float(seen[origins == NEAR].mean()), 4),
        }
    right = given == labels[own]
    common = [kind for kind in sorted(set(kinds[own])) if (kinds[own] == kind).sum() >= 40]
    return {
        "accuracy": round(float(accuracy_score(labels[own], given)), 3),
        "macro F1": round(float(scores.mean()), 3),
        "F1": {str(label): round(float(score), 3) for label, score in zip(LABELS, scores, strict=True)},
        "accuracy on plain pairs": round(float((answers[plain, :3].argmax(axis=1) == labels[plain]).mean()), 3),
        "thresholds": curve,
        "accuracy by phenomenon": {kind: round(float(right[kinds[own] == kind].mean()), 2) for kind in common},
    }


def _fit_kinds(
    statements: Sequence[Labelled], vectors: dict[str, NDArray[np.float32]], space: Space
) -> tuple[dict[str, Array], dict[str, object]]:
    readings = [read(one.text) for one in statements]
    rows = join_statement(space, readings, np.array([vectors[one.text] for one in statements]))
    hashed = np.zeros((len(statements), BUCKETS), np.float32)
    for place, reading in enumerate(readings):
        found = buckets(reading)
        hashed[place, found] = BUCKET_SCALE / np.sqrt(len(found) + 1)
    files = np.array([one.file for one in statements])
    labels = np.array([KINDS.index(one.label) for one in statements])
    origins = np.array([one.origin for one in statements])
    own = origins == AUTHORED
    weight = np.array([WEIGHTS[one.origin] for one in statements])

    def fit(train: NDArray[np.bool_]) -> dict[str, Array]:
        mean, deviation = _scale(rows, train & own)
        scaled = np.clip((rows - mean) / deviation, -4, 4)
        joined = np.concatenate([scaled, hashed], axis=1)
        weights, bias = _regress(joined[train], labels[train], weight[train], "kind")
        width = rows.shape[1]
        return {
            "kind_mean": mean,
            "kind_deviation": deviation,
            "kind": weights[:width],
            "kind_bias": bias,
            "kind_buckets": weights[width:] * BUCKET_SCALE,
        }

    def predict(w: dict[str, Array], test: NDArray[np.bool_]) -> Array:
        scaled = np.clip((rows[test] - w["kind_mean"]) / w["kind_deviation"], -4, 4)
        return _softmax(scaled @ w["kind"] + w["kind_bias"] + hashed[test] @ w["kind_buckets"] / BUCKET_SCALE)

    answers = _leave_one_out(files, fit, predict, len(KINDS))
    given = choose_kinds(answers)
    scores = f1_score(labels[own], given[own], average=None)
    figures = {
        "accuracy": round(float(accuracy_score(labels[own], given[own])), 3),
        "macro F1": round(float(scores.mean()), 3),
        "F1": {str(kind): round(float(score), 3) for kind, score in zip(KINDS, scores, strict=True)},
        "confusion, rows true": confusion_matrix(labels[own], given[own]).tolist(),
        "notices taken for facts": round(float((given[origins == NOTICE] == KINDS.index("fact")).mean()), 3),
        "accuracy on plain statements": round(float((given[files == PLAIN] == labels[files == PLAIN]).mean()), 3),
    }
    return fit(np.ones(len(statements), bool)), {"kinds": figures}


def _write(
    out: Path, weights: dict[str, Array], figures: dict[str, object], embedder: str, pairs: int, statements: int
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out / "heads.npz", **{name: array.astype(np.float16) for name, array in weights.items()})
    card = {
        "name": "judge-heads",
        "what": "logistic regressions that judge pairs of statements and kinds of statements: thymus/judges/heads.py",
        "layout": LAYOUT,
        "embedder": embedder,
        "licence": "MIT",
        "fitted_by": "training/heads/fit.py",
        "fitted_on": f"{pairs} pairs and {statements} statements written for this project by a language model, "
        "sentence by sentence under seven briefs (synthetic, not templated), with the plain ones beside "
        "training/heads/fit.py, what others say in the pairs as facts, and pairs derived from all of these; as pairs "
        "about different things also statements of real SMS (Mishra & Soni 2022, CC BY 4.0) and mail (SpamAssassin, "
        "public domain)",
        "known_skews": "about half of the pairs are compatible; contradictions lean to outside speakers and run a "
        "little longer; long mails and languages other than English are few",
        "measured": "leaving out one of the authors' files at a time",
        "figures": figures,
        "files": {"heads.npz": hashlib.sha256((out / "heads.npz").read_bytes()).hexdigest()},
    }
    (out / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
