"""Fit the regression that says whether two statements are about the same thing: ``thymus/judges/subject.py``.

Pairs that authors wrote under one memory are about the same thing, or close enough that the network must read them; a
statement against the memories of other blocks of the same author, at random and among the nearest by embedding, is
not, nor are statements of real mail and SMS of strangers against each other. Cross-validated by author.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from thymus.embed import get_embedder
from thymus.judges.features import LAYOUT, Compared
from thymus.judges.local import APART
from thymus.judges.reading import read
from thymus.judges.subject import Space

SEED = 20261130
AXES = 96
STRENGTH = 0.01  # inverse of the L2 penalty
RANDOM_EACH, NEAR_EACH = 1, 3
NEAR_WEIGHT = 0.3  # some of the nearest are about the same thing after all
FOLDS = 5

Pair = dict[str, str]
_SPEAKS = {"u": 1.0, "t": 0.0}


def fit(pairs: Sequence[Pair], strangers: Sequence[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The weights, and a part of the card."""
    embedder = get_embedder("e5-small")
    texts = list(dict.fromkeys([text for pair in pairs for text in (pair["a"], pair["b"])] + list(strangers)))
    matrix = np.concatenate([embedder.embed(texts[s : s + 256], role="passage") for s in range(0, len(texts), 256)])
    vectors = dict(zip(texts, matrix, strict=True))
    space = _space(matrix)
    apart = _apart(pairs, strangers, vectors)
    everything = [*pairs, *(pair for pair, _ in apart)]
    labels = np.array([1] * len(pairs) + [0] * len(apart))
    weight = np.array([1.0] * len(pairs) + [w for _, w in apart])
    rows = _rows(everything, vectors, space)
    mean, deviation = _stored(rows[: len(pairs)].mean(axis=0)), _stored(rows[: len(pairs)].std(axis=0) + 0.01)
    scaled = np.clip((rows - mean) / deviation, -4, 4)
    authors = sorted({pair["file"] for pair in everything})
    fold = np.array([authors.index(pair["file"]) % FOLDS for pair in everything])
    chances = np.zeros(len(everything))
    for number in range(FOLDS):
        train, test = fold != number, fold == number
        chances[test] = _regress(scaled[train], labels[train], weight[train]).predict_proba(scaled[test])[:, 1]
    contradicts = np.array([pair.get("label") == "contradicts" for pair in everything])
    figures = {
        f"{cut:.2f}": {
            "contradictions kept": round(float((chances[contradicts] >= cut).mean()), 4),
            "same and compatible kept": round(float((chances[(labels == 1) & ~contradicts] >= cut).mean()), 4),
            "others let through": round(float((chances[labels == 0] >= cut).mean()), 4),
        }
        for cut in (0.02, 0.05, APART, 0.1, 0.15, 0.2)
    }
    final = _regress(scaled, labels, weight)
    arrays = {
        "space_mean": space.mean,
        "space_axes": space.axes,
        "mean": mean,
        "deviation": deviation,
        "weights": final.coef_[0],
        "bias": final.intercept_[0],
    }
    card = {"layout": LAYOUT, "embedder": embedder.name, "threshold": APART, "by threshold, authors left out": figures}
    return {name: np.asarray(array, np.float16) for name, array in arrays.items()}, card


def _regress(rows: NDArray[Any], labels: NDArray[Any], weight: NDArray[Any]) -> LogisticRegression:
    return LogisticRegression(C=STRENGTH, max_iter=200, tol=1e-4).fit(rows, labels, sample_weight=weight)


def _apart(
    pairs: Sequence[Pair], strangers: Sequence[str], vectors: dict[str, NDArray[Any]]
) -> list[tuple[Pair, float]]:
    chance = random.Random(SEED)
    found = []
    by_file: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_file.setdefault(pair["file"], []).append(pair)
    for own in by_file.values():
        stored = {pair["a"]: pair["a_speaker"] for pair in own}
        texts = list(stored)
        matrix = np.array([vectors[text] for text in texts])
        for pair in own:
            ranked = [texts[n] for n in np.argsort(-(matrix @ vectors[pair["b"]]), kind="stable")[:8]]
            near = [text for text in ranked if text != pair["a"]][:NEAR_EACH]
            drawn = [text for text in chance.sample(texts, min(RANDOM_EACH, len(texts))) if text != pair["a"]]
            for some, weight in ((near, NEAR_WEIGHT), (drawn, 1.0)):
                found += [({**pair, "a": text, "a_speaker": stored[text], "label": "apart"}, weight) for text in some]
    for a, b in zip(strangers[::2], strangers[1::2], strict=False):
        row = {"a": a, "b": b, "a_speaker": "t", "b_speaker": "t", "file": "strangers", "label": "apart"}
        found.append((row, 1.0))
    return found


def _rows(pairs: Sequence[Pair], vectors: dict[str, NDArray[Any]], space: Space) -> NDArray[np.float32]:
    made = []
    for start in range(0, len(pairs), 4096):
        some = pairs[start : start + 4096]
        compared = [Compared.of(read(pair["a"]), read(pair["b"])) for pair in some]
        speakers = np.array([(_SPEAKS[pair["a_speaker"]], _SPEAKS[pair["b_speaker"]]) for pair in some], np.float32)
        left, right = (np.array([vectors[pair[side]] for pair in some]) for side in "ab")
        made.append(space.rows(compared, speakers, left, right))
    return np.concatenate(made)


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
