"""The bundled network: a small transformer that reads both statements at once and answers the judge's two questions.

How it was trained, what it was trained on and its figures are in the card beside the weights
(``models/judge/card.json``) and in ``docs/reference/judge.md``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from thymus.core.claims import Kind
from thymus.core.relations import Label
from thymus.errors import JudgeError
from thymus.judges.marks import LAYOUT, Row, Side, pair_row, split, statement_row
from thymus.judges.reading import Reading
from thymus.runtime import open_model, run_each

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Chances = NDArray[np.float64]

FOLDER: Final = Path(__file__).parent.parent / "models" / "judge"
LABELS: Final = (Label.CONTRADICTS, Label.SAME, Label.COMPATIBLE)
KINDS: Final = (Kind.FACT, Kind.PREFERENCE, Kind.INSTRUCTION, Kind.NOT_A_CLAIM)
_THREADS: Final = min(4, os.cpu_count() or 1)
"""At most so many rows are read at the same time, each on one processor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The loaded network. Safe to share among threads; an answer never depends on the batch."""

    session: Any
    tokenizer: Any
    ends: dict[str, int]
    temperatures: dict[str, float]

    def relate(self, pairs: Sequence[tuple[tuple[Reading, int], tuple[Reading, int]]]) -> Chances:
        """The probabilities of ``LABELS``, shape (n, 3); with each reading who speaks (``marks.USER`` ...)."""
        sides: dict[tuple[Reading, int], Side] = {}

        def side(given: tuple[Reading, int]) -> Side:
            if given not in sides:
                sides[given] = self._side(*given)
            return sides[given]

        rows = [pair_row(side(stored), side(incoming), **self.ends) for stored, incoming in pairs]
        return self._answer("relation", rows, len(LABELS))

    def classify(self, statements: Sequence[tuple[Reading, int]]) -> Chances:
        """The probabilities of ``KINDS``, shape (n, 4)."""
        return self._answer("kind", [statement_row(self._side(*one), **self.ends) for one in statements], len(KINDS))

    def _side(self, reading: Reading, speaker: int) -> Side:
        pieces, spans = split(self.tokenizer, reading.text)
        return Side(reading=reading, speaker=speaker, pieces=pieces, spans=spans)

    def _answer(self, head: str, rows: Sequence[Row], width: int) -> Chances:
        logits = np.array(
            run_each(lambda row: self._run(head, row), rows, threads=_THREADS, name="judge"), np.float64
        ).reshape(len(rows), width)
        scores = np.exp((logits - logits.max(axis=1, keepdims=True)) / self.temperatures[head])
        chances: Chances = scores / scores.sum(axis=1, keepdims=True)
        return chances

    def _run(self, head: str, row: Row) -> Any:
        names = ("pieces", "sides", "marks")
        feeds = {name: np.array([getattr(row, name)], np.int64) for name in names}
        return self.session.run([head], feeds)[0][0]


def read_card(folder: Path) -> dict[str, Any]:
    """The card beside the weights.

    :raises JudgeError: where it is missing or no card.
    """
    try:
        card: dict[str, Any] = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise JudgeError(f"the judge's card in {folder} cannot be read ({error}): reinstall thymus-memory") from error
    return card


@cache
def load_network(folder: Path = FOLDER) -> Network:
    """Load the network once a process.

    :raises JudgeError: where its files are missing, broken or of another version.
    """
    card = read_card(folder)
    if card["layout"] != LAYOUT:
        raise JudgeError(f"the judge in {folder} is of another version: reinstall thymus-memory")
    try:
        session, tokenizer = open_model(folder / "model.onnx", folder / card["tokenizer"])
    except Exception as error:
        raise JudgeError(f"the judge in {folder} cannot be loaded ({error}): reinstall thymus-memory") from error
    first, last = card["ends"]
    return Network(
        session=session,
        tokenizer=tokenizer,
        ends={"first": first, "last": last},
        temperatures={head: float(value) for head, value in card["temperatures"].items()},
    )
