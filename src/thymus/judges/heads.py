"""The bundled heads: three logistic regressions over the rows of ``features`` and e5 embeddings, run with numpy alone.

* *subject*: are the two statements about the same thing? Most of what retrieval brings in as a rival is not.
* *relation*: if so, do they contradict, say the same, or go together?
* *kind*: what kind of statement is one?

How they were fitted, and their figures, are in the card beside the weights (``models/judge-heads/card.json``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thymus.core.claims import Kind
from thymus.core.relations import Label
from thymus.errors import JudgeError
from thymus.judges.features import LAYOUT, Compared, Rows, buckets, pair_rows, statement_rows
from thymus.judges.reading import Reading

FOLDER: Final = Path(__file__).parent.parent / "models" / "judge-heads"
LABELS: Final = (Label.CONTRADICTS, Label.SAME, Label.COMPATIBLE)
KINDS: Final = tuple(Kind)
SURELY_NO_CLAIM: Final = 0.6
_FARTHEST: Final = 4.0  # standard deviations: no single odd number may decide


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Where numbers lie in training, to bring each to mean 0 and deviation 1."""

    mean: Rows
    deviation: Rows

    def apply(self, rows: Rows) -> Rows:
        """Scale rows, cut at four deviations."""
        scaled: Rows = np.clip((rows - self.mean) / self.deviation, -_FARTHEST, _FARTHEST)
        return scaled


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """The embedder's space, centred and turned to its main axes.

    :param mean: shape (dim,).
    :param axes: shape (dim, k), scaled so that a vector's parts are near 1.
    """

    mean: Rows
    axes: Rows

    def centre(self, vectors: Rows) -> Rows:
        """Vectors about the mean, of unit length again."""
        centred = vectors - self.mean
        unit: Rows = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-6)
        return unit

    def project(self, centred: Rows) -> Rows:
        """The parts of centred vectors along the axes, shape (n, k)."""
        return times(centred, self.axes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """The fitted weights. Probabilities come as float64 rows that sum to 1."""

    embedder: str
    space: Space
    pair_scale: Scale
    relation: tuple[Rows, Rows]
    subject: tuple[Rows, Rows]
    kind_scale: Scale
    kind: tuple[Rows, Rows]
    kind_buckets: Rows

    def relate(
        self, pairs: Sequence[Compared], speakers: Rows, left: Rows, right: Rows
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Judge pairs.

        :param left, right: embeddings (role *passage*) of the two sides, shape (n, dim).
        :returns: the probabilities of ``LABELS`` if both are about the same thing, shape (n, 3); that they are,
            shape (n,); and the cosine of the two embeddings as they came, shape (n,).
        """
        ours, theirs = self.space.centre(left), self.space.centre(right)
        rows = self.rows(pairs, speakers, ours, theirs)
        relation = _softmax(times(rows, self.relation[0]) + self.relation[1])
        subject = times(rows[:, : len(self.subject[0])], self.subject[0][:, None])[:, 0] + self.subject[1]
        similarity = np.einsum("ij,ij->i", left, right, dtype=np.float64)
        return relation, 1 / (1 + np.exp(-subject.astype(np.float64))), similarity

    def rows(self, pairs: Sequence[Compared], speakers: Rows, ours: Rows, theirs: Rows) -> Rows:
        """Scaled rows of pairs; the parts of each side alone come last, and the head *subject* does not see them."""
        return self.pair_scale.apply(join_pair(self.space, pairs, speakers, ours, theirs))

    def classify(self, readings: Sequence[Reading], vectors: Rows) -> NDArray[np.float64]:
        """The probabilities of ``KINDS``, shape (n, 4)."""
        rows = self.kind_scale.apply(join_statement(self.space, readings, vectors))
        scores = times(rows, self.kind[0]) + self.kind[1]
        for place, reading in enumerate(readings):
            found = buckets(reading)
            scores[place] += self.kind_buckets[found].sum(axis=0) / np.sqrt(len(found) + 1)
        return _softmax(scores)


def choose_kinds(chances: NDArray[np.float64]) -> NDArray[np.intp]:
    """The kind of each row of ``Heads.classify``, as a place in ``KINDS``: the likeliest, with one exception.

    What is taken for no claim is lost, so that takes more than being the likeliest.
    """
    chances = chances.copy()
    none = KINDS.index(Kind.NOT_A_CLAIM)
    chances[chances[:, none] < SURELY_NO_CLAIM, none] = 0.0
    chosen: NDArray[np.intp] = chances.argmax(axis=1)
    return chosen


def times(rows: Rows, weights: Rows) -> Rows:
    """A matrix product without BLAS: a row's result never depends on the other rows, and no thread pool is woken for
    matrices so small (on a busy machine that costs tens of milliseconds)."""
    product: Rows = np.einsum("ij,jk->ik", rows, weights)
    return product


def join_pair(space: Space, pairs: Sequence[Compared], speakers: Rows, ours: Rows, theirs: Rows) -> Rows:
    """Rows of pairs before scaling, from centred embeddings."""
    one, two = space.project(ours), space.project(theirs)
    return np.concatenate(
        [pair_rows(pairs, speakers, ours, theirs), one * two, np.abs(one - two), one, two], axis=1, dtype=np.float32
    )


def join_statement(space: Space, readings: Sequence[Reading], vectors: Rows) -> Rows:
    """Rows of statements before scaling, without the hashed words."""
    return np.concatenate([statement_rows(readings), space.centre(vectors)], axis=1, dtype=np.float32)


def _softmax(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    wide = scores.astype(np.float64)
    wide = np.exp(wide - wide.max(axis=1, keepdims=True))
    chances: NDArray[np.float64] = wide / wide.sum(axis=1, keepdims=True)
    return chances


@cache
def load_heads(folder: Path = FOLDER) -> Heads:
    """Read the weights.

    :raises JudgeError: where they are missing, or were fitted on other rows than this version makes.
    """
    try:
        card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
        with np.load(folder / "heads.npz", allow_pickle=False) as stored:
            w = {name: stored[name].astype(np.float32) for name in stored.files}
    except (OSError, ValueError) as error:
        raise JudgeError(
            f"the judge's weights in {folder} cannot be read ({error}): reinstall thymus-memory"
        ) from error
    if card.get("layout") != LAYOUT:
        raise JudgeError(f"the judge's weights in {folder} are of another version: fit them with training/heads/fit.py")
    return Heads(
        embedder=str(card["embedder"]),
        space=Space(mean=w["space_mean"], axes=w["space_axes"]),
        pair_scale=Scale(mean=w["pair_mean"], deviation=w["pair_deviation"]),
        relation=(w["relation"], w["relation_bias"]),
        subject=(w["subject"], w["subject_bias"]),
        kind_scale=Scale(mean=w["kind_mean"], deviation=w["kind_deviation"]),
        kind=(w["kind"], w["kind_bias"]),
        kind_buckets=w["kind_buckets"],
    )
