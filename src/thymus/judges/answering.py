"""Does a statement answer a question? Cosine says how near the two are; this, how near in what makes an answer.

A logistic regression over the products of the two embeddings, number by number: a bilinear form with a diagonal matrix.
It knows the vectors of the bundled e5-small only. Fitted on authored worlds by ``training/adjudication/fit.py``; the
weights are ``models/adjudication/answering.json``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from thymus.errors import JudgeError

if TYPE_CHECKING:
    from thymus.ports import Matrix, Vector

T = TypeVar("T")

FOLDER: Final = Path(__file__).parents[1] / "models" / "adjudication"
LAYOUT: Final = 1
"""What the weights are for; raised with every change of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """The regression.

    :param weights: of the products, shape (dim,); ``nearness``: of the cosine.
    """

    weights: Vector
    nearness: float
    bias: float

    def odds(self, question: Vector, statements: Matrix) -> Vector:
        """For each statement the log-odds that it answers.

        :param question: embedding in the role *query*, shape (dim,).
        :param statements: embeddings in the role *passage*, shape (n, dim).
        """
        weighted = question * (self.weights + self.nearness)
        odds: Vector = np.einsum("ij,j->i", statements, weighted) + self.bias  # of each row alone, whatever the others
        return odds


def read_weights(path: Path, layout: int, read: Callable[[dict[str, Any]], T]) -> T:
    """What a file of weights in JSON holds.

    :param read: makes it of the parsed file.
    :raises JudgeError: where the file is missing, broken or of another layout.
    """
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["layout"] != layout:
            raise JudgeError(f"{path} is of another version: reinstall thymus-memory")
        return read(kept)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise JudgeError(f"{path} cannot be read ({error}): reinstall thymus-memory") from error


@cache
def load_answering(folder: Path = FOLDER) -> Answering:
    """The bundled regression.

    :raises JudgeError: where the weights are missing or of another version.
    """
    return read_weights(folder / "answering.json", LAYOUT, _answering)


def _answering(kept: dict[str, Any]) -> Answering:
    weights = np.array(kept["weights"], np.float32)
    return Answering(weights=weights, nearness=float(kept["nearness"]), bias=float(kept["bias"]))
