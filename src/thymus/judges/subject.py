"""Are two statements about the same thing? Most of what retrieval brings in as a rival is not, and need not be read.

A logistic regression over the rows of ``features`` and over e5 embeddings, run with numpy in a tenth of a millisecond:
a sixtieth of what the network takes for a pair. ``training/judge/subject.py`` fits it; the card beside the weights
(``models/judge/card.json``) says how many contradictions it lets through to the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from thymus.errors import JudgeError
from thymus.judges.encoder import FOLDER, read_card
from thymus.judges.features import LAYOUT, Compared, Rows, pair_rows

if TYPE_CHECKING:
    from thymus.ports import Embedder

_FARTHEST: Final = 4.0  # standard deviations: no single odd number may decide


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

    def rows(self, pairs: Sequence[Compared], speakers: Rows, left: Rows, right: Rows) -> Rows:
        """Rows of pairs before scaling.

        :param speakers: shape (n, 2), 1 where the user speaks, 0 where someone else does, 0.5 where nobody knows.
        :param left, right: embeddings (role *passage*) of the two sides, shape (n, dim).
        """
        ours, theirs = self.centre(left), self.centre(right)
        one, two = times(ours, self.axes), times(theirs, self.axes)
        rows = [pair_rows(pairs, speakers, ours, theirs), one * two, np.abs(one - two)]
        return np.concatenate(rows, axis=1, dtype=np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectHead:
    """The fitted weights, for the vectors of one embedder."""

    embedder: str
    space: Space
    mean: Rows
    deviation: Rows
    weights: Rows
    bias: float

    def fits(self, embedder: Embedder) -> bool:
        """Whether it was fitted on this embedder's vectors."""
        return _model(embedder.name) == _model(self.embedder) and embedder.dim == len(self.space.mean)

    def relate(self, pairs: Sequence[Compared], speakers: Rows, left: Rows, right: Rows) -> NDArray[np.float64]:
        """The probability that the two are about the same thing, shape (n,); see ``Space.rows``."""
        rows = (self.space.rows(pairs, speakers, left, right) - self.mean) / self.deviation
        scores = times(np.clip(rows, -_FARTHEST, _FARTHEST), self.weights[:, None])[:, 0] + self.bias
        chances: NDArray[np.float64] = 1 / (1 + np.exp(-scores.astype(np.float64)))
        return chances


def _model(name: str) -> str:
    """The model's name without the mark of its files: a rebuilt file gives all but the same vectors."""
    return name.rpartition("-")[0] if name.count("-") else name


def times(rows: Rows, weights: Rows) -> Rows:
    """A matrix product without BLAS: a row's result never depends on the other rows, and no thread pool is woken for
    matrices so small (on a busy machine that costs tens of milliseconds)."""
    product: Rows = np.einsum("ij,jk->ik", rows, weights)
    return product


@cache
def load_subject(folder: Path = FOLDER) -> SubjectHead:
    """Read the weights.

    :raises JudgeError: where they are missing, or were fitted on other rows than this version makes.
    """
    card = read_card(folder)
    try:
        with np.load(folder / "subject.npz", allow_pickle=False) as stored:
            w = {name: stored[name].astype(np.float32) for name in stored.files}
    except (OSError, ValueError) as error:
        raise JudgeError(f"{folder / 'subject.npz'} cannot be read ({error}): reinstall thymus-memory") from error
    if card["subject"]["layout"] != LAYOUT:
        raise JudgeError(f"{folder / 'subject.npz'} is of another version: reinstall thymus-memory")
    return SubjectHead(
        embedder=str(card["subject"]["embedder"]),
        space=Space(mean=w["space_mean"], axes=w["space_axes"]),
        mean=w["mean"],
        deviation=w["deviation"],
        weights=w["weights"],
        bias=float(w["bias"]),
    )
