"""``LocalJudge``: the default judge. Typed values, words and sentence embeddings, joined by the bundled heads.

Two probabilities come of a pair. The *label* is the likeliest answer if both statements are about the same thing, as
people who compare two statements take for granted. ``Relation.contradiction`` also counts how likely that is, because
most rivals that retrieval brings in are about something else.

The heads know the bundled e5-small only. With another embedder the typed rules answer, with that embedder's cosine
(where it is known, ``SAME_SUBJECT``) to say which statements are about the same thing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from thymus.core.claims import Claim, Kind
from thymus.core.relations import CONFIRMED, DETECTED, Label, Relation
from thymus.errors import JudgeError, ThymusError
from thymus.judges.features import Compared, Rows
from thymus.judges.heads import KINDS, LABELS, Heads, choose_kinds, load_heads
from thymus.judges.overt import CONFIDENCE as OVERT
from thymus.judges.overt import is_hedged, is_overt
from thymus.judges.reading import LONGEST, read
from thymus.judges.typed import classify_reading, relate_readings, sets_apart
from thymus.judges.wording import describe
from thymus.ports import Statement

if TYPE_CHECKING:
    from thymus.ports import Embedder

_Pair = tuple[Statement, Statement]
_Given = str | Claim | Statement

SAME_SUBJECT: Final = {"minilm": 0.55}
"""By embedder: from which cosine on two statements are taken to be about the same thing by the typed rules."""
_AT_ONCE: Final = 256
"""Pairs judged together: a mail of a hundred statements has thousands, and their rows would take tens of megabytes."""
_UNCONFIRMED: Final = CONFIRMED - 0.01
_SAME_SUBJECT: Final = 0.5
_LABEL_ODDS: Final = 8.0
"""How much likelier two statements are about the same thing when somebody asks for a label than among rivals."""


class LocalJudge:
    """Judges with the bundled heads; safe to share among threads."""

    def __init__(self, *, embedder: Embedder | None = None) -> None:
        """Remember the embedder; nothing is loaded before the first statement."""
        self._given = embedder
        self._lock = threading.Lock()
        self._loaded: tuple[Embedder, Heads | None] | None = None

    @property
    def name(self) -> str:
        """``local``."""
        return "local"

    def relate(self, pairs: Sequence[tuple[_Given, _Given]]) -> list[Relation]:
        """Judge each (stored, incoming); texts without a vector are embedded in one batch.

        :raises JudgeError: where the embedder or the weights cannot be used.
        """
        return [
            answer
            for start in range(0, len(pairs), _AT_ONCE)
            for answer in self._relate(pairs[start : start + _AT_ONCE])
        ]

    def _relate(self, pairs: Sequence[tuple[_Given, _Given]]) -> list[Relation]:
        embedder, heads = self._parts()
        read_pairs = [(Statement.of(stored), Statement.of(incoming)) for stored, incoming in pairs]
        compared = [Compared.of(read(stored.text), read(incoming.text)) for stored, incoming in read_pairs]
        vectors = _vectors(embedder, [statement for pair in read_pairs for statement in pair])
        left, right = vectors[0::2], vectors[1::2]
        if heads is None:
            return _by_rule(embedder.name, compared, np.einsum("ij,ij->i", left, right))
        speakers = np.array([[_speaks(statement) for statement in pair] for pair in read_pairs], np.float32)
        relation, subject, similarity = heads.relate(compared, speakers, left, right)
        return [
            _answer(pair, *row)
            for pair, *row in zip(compared, relation, subject.tolist(), similarity.tolist(), strict=True)
        ]

    def classify(self, statements: Sequence[_Given]) -> list[Kind]:
        """Judge each statement by its content; who says it plays no part.

        :raises JudgeError: where the embedder or the weights cannot be used.
        """
        if not statements:
            return []
        embedder, heads = self._parts()
        given = [Statement.of(statement) for statement in statements]
        readings = [read(statement.text) for statement in given]
        if heads is None:
            return [classify_reading(reading) for reading in readings]
        places = choose_kinds(heads.classify(readings, _vectors(embedder, given)))
        return [
            KINDS[place] if reading.words else Kind.NOT_A_CLAIM for reading, place in zip(readings, places, strict=True)
        ]

    def _parts(self) -> tuple[Embedder, Heads | None]:
        """The embedder, and the heads where they were fitted for it."""
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._given)
            return self._loaded


def _load(embedder: Embedder | None) -> tuple[Embedder, Heads | None]:
    try:
        if embedder is None:
            from thymus.embed import get_embedder

            embedder = get_embedder()
        heads = load_heads()
        fits = _model(embedder.name) == _model(heads.embedder) and embedder.dim == len(heads.space.mean)
    except JudgeError:
        raise
    except ThymusError as error:
        raise JudgeError(f"the local judge has no embedder: {error}; get_judge('typed') needs none") from error
    return embedder, heads if fits else None


def _model(name: str) -> str:
    """The model's name without the mark of its files: a rebuilt file gives all but the same vectors."""
    return name.rpartition("-")[0] if name.count("-") else name


def _vectors(embedder: Embedder, statements: Sequence[Statement]) -> Rows:
    """One row a statement: the vector that it brings where it is this embedder's, else a new one."""
    dim = embedder.dim
    missing = list(
        dict.fromkeys(one.text[:LONGEST] for one in statements if one.vector is None or np.shape(one.vector) != (dim,))
    )
    made: dict[str, NDArray[np.float32]] = {}
    if missing:
        try:
            made = dict(zip(missing, embedder.embed(missing, role="passage"), strict=True))
        except ThymusError as error:
            raise JudgeError(f"the statements could not be embedded: {error}") from error
    rows = [made.get(one.text[:LONGEST], one.vector) for one in statements]
    matrix = np.asarray(rows, np.float32)
    return np.where(np.isfinite(matrix), matrix, 0)


def _speaks(statement: Statement) -> float:
    """1 for the user, 0 for somebody else, 0.5 where nobody knows."""
    return 0.5 if statement.speaker is None else float(statement.speaker.names_user)


def _answer(pair: Compared, relation: NDArray[np.float64], subject: float, similarity: float) -> Relation:
    if pair.stored.folded == pair.incoming.folded:
        return Relation(label=Label.SAME, confidence=0.99, contradiction=0.0, judge="local", because="the same wording")
    likely = subject * _LABEL_ODDS / (subject * _LABEL_ODDS + 1 - subject)
    chances = relation * likely
    chances[LABELS.index(Label.COMPATIBLE)] += 1 - likely
    place = int(chances.argmax())
    label, confidence, contradiction = LABELS[place], _chance(chances[place]), _chance(relation[0] * subject)
    if is_hedged(pair.stored, pair.incoming):
        contradiction = min(contradiction, _UNCONFIRMED)
    because = f"same subject {subject:.2f}, similarity {similarity:.2f}"
    if label is not Label.COMPATIBLE or contradiction >= DETECTED:  # nobody reads about the rest, and they are many
        because = f"{describe(pair.agreement)}; {because}"
    if (
        contradiction < OVERT
        and subject >= _SAME_SUBJECT
        and is_overt(pair.stored, pair.incoming, pair.agreement)
        and not sets_apart(pair.stored, pair.incoming)
    ):
        label, confidence, contradiction = Label.CONTRADICTS, OVERT, OVERT
        because = f"{because}; the same words with another value"
    return Relation(label=label, confidence=confidence, contradiction=contradiction, judge="local", because=because)


def _chance(number: float) -> float:
    return min(max(float(number), 0.0), 1.0)


def _by_rule(name: str, pairs: Sequence[Compared], cosines: NDArray[np.float32]) -> list[Relation]:
    """The typed rules, with what the embedder says of the subject where its cosine is known."""
    least = SAME_SUBJECT.get(_model(name))
    return [
        relate_readings(pair.stored, pair.incoming, same_subject=None if least is None else bool(cosine >= least))
        for pair, cosine in zip(pairs, cosines.tolist(), strict=True)
    ]
