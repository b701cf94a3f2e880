"""Numbers that the regression in front of the network reads: one row a pair of statements.

``training/judge/subject.py`` fits it on exactly these rows. A change here needs a new fit: ``LAYOUT`` is written into
the weights' card, and other weights are refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thymus.core.values import Agreement, ValueKind, compare_all
from thymus.judges.reading import Reading

Rows: TypeAlias = NDArray[np.float32]

LAYOUT: Final = 1
"""Which rows these are; raised with every change of them."""

_KINDS: Final = tuple(ValueKind)
_OUTCOMES: Final = ("same", "different", "mixed", "unknown", "only_a", "only_b", "extra_a", "extra_b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two readings side by side, and how their typed values agree."""

    stored: Reading
    incoming: Reading
    agreement: Agreement

    @classmethod
    def of(cls, stored: Reading, incoming: Reading) -> Compared:
        """Compare the typed values of two readings."""
        return cls(stored=stored, incoming=incoming, agreement=compare_all(stored.values, incoming.values))

    @property
    def related(self) -> bool:
        """Whether they share a word that says something about the topic, or a kind of value."""
        agreement = self.agreement
        shared = agreement.same | agreement.different | agreement.mixed | agreement.unknown
        return bool(shared or self.stored.stems & self.incoming.stems)


def pair_rows(pairs: Sequence[Compared], speakers: Rows, left: Rows, right: Rows) -> Rows:
    """Describe pairs without their embeddings' directions.

    :param speakers: shape (n, 2), 1 where the user speaks, 0 where someone else does, 0.5 where nobody knows.
    :param left, right: embeddings of the two sides, centred and of unit length, shape (n, dim).
    :returns: shape (n, features).
    """
    cosine = np.einsum("ij,ij->i", left, right)[:, None]
    plain = np.array([_words(pair.stored, pair.incoming) for pair in pairs], np.float32)
    typed = np.array([_typed(pair) for pair in pairs], np.float32)
    ours = np.array([pair.stored.cues for pair in pairs], np.float32)
    theirs = np.array([pair.incoming.cues for pair in pairs], np.float32)
    present = np.minimum(theirs, 1)
    return np.concatenate(
        [
            cosine,
            speakers,
            speakers[:, :1] * speakers[:, 1:],
            plain,
            np.minimum(ours, 1),
            np.minimum(theirs, 2),
            np.clip(theirs - ours, -1, 1),
            present * plain[:, :1],
            present * cosine,
            typed,
            typed[:, -_SUMMARY:] * cosine * 2,
        ],
        axis=1,
        dtype=np.float32,
    )


def _words(one: Reading, two: Reading) -> list[float]:
    return _overlaps(one, two) + _shape(one, two)


def _overlaps(one: Reading, two: Reading) -> list[float]:
    found: list[float] = []
    for ours, theirs in (
        (one.stems, two.stems),
        (one.names, two.names),
        (one.numbers, two.numbers),
        (one.grams, two.grams),
        (one.names, two.vocabulary),
        (two.names, one.vocabulary),
    ):
        shared = len(ours & theirs)
        found += (shared / (len(ours) or 1), shared / (len(theirs) or 1), float(shared > 0), min(shared, 5) / 5)
    return found


def _shape(one: Reading, two: Reading) -> list[float]:
    longer, shorter = math.log1p(len(one.words)), math.log1p(len(two.words))
    gained, lost = bool(two.numbers - one.numbers), bool(one.numbers - two.numbers)
    return [
        float(bool(one.names)),
        float(bool(two.names)),
        float(bool(one.numbers)),
        float(bool(two.numbers)),
        float(gained and lost),
        float(gained),
        float(bool(one.numbers) and not two.numbers),
        longer,
        shorter,
        shorter - longer,
        min(two.questions, 2),
        float(two.asks),
        min(one.questions, 1),
    ]


def _typed(pair: Compared) -> list[float]:
    """For each kind of value how the two sides stand, then the sums: the last ``_SUMMARY`` numbers."""
    agreement = pair.agreement
    row = [0.0] * (len(_KINDS) * len(_OUTCOMES))
    sums = []
    for place, outcome in enumerate(_OUTCOMES):
        kinds: frozenset[ValueKind] = getattr(agreement, outcome)
        sums.append(float(min(len(kinds), 3)))
        for kind in kinds:
            row[_KIND_PLACE[kind] * len(_OUTCOMES) + place] = 1.0
    same, different = bool(agreement.same), bool(agreement.different)
    return [
        *row,
        *sums,
        float(same and not different and not agreement.mixed),
        float(different and not same),
        float(different and same),
        float(not pair.stored.values),
        float(not pair.incoming.values),
        float(not pair.stored.values and not pair.incoming.values),
    ]


_KIND_PLACE: Final = {kind: place for place, kind in enumerate(_KINDS)}
_SUMMARY: Final = len(_OUTCOMES) + 6
