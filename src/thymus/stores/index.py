"""How beliefs are found: by meaning and by words, in strata, the same in every store.

A store provides a ``Shelf``: what ranking reads of one scope. Everything that decides an order is here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np

from thymus.core.beliefs import Belief, Status
from thymus.ports import Matrix, Neighbour, Probe, Vector
from thymus.stores.words import terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Seqs: TypeAlias = NDArray[np.int64]
else:
    Seqs = Any

WORD_WEIGHT: Final = 0.05
"""How much sharing every word of the probe counts, against a cosine of 1: about as much as lies between the cosines of
related and unrelated texts (0.82 and 0.75 with the bundled embedder)."""
POSTINGS: Final = 64
"""The newest beliefs looked at for each word and stratum; a word in more of them is not distinctive."""
POOL: Final = 24
"""Least number of candidates that ``search`` takes by meaning, and by words, from each stratum."""
MOST_TERMS: Final = 24
"""Words of a probe that are counted."""
TELLING: Final = 8
"""The most distinctive of them, by which candidates are taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """A class of beliefs that no other class may crowd out.

    :param from_user: only the user's own (``True``), only others (``False``), either (``None``).
    :param own: only those whose origins are (``True``) or are not (``False``) the probe's; either (``None``).
    """

    statuses: frozenset[Status]
    from_user: bool | None = None
    own: bool | None = None

    def holds(self, belief: Belief, probe: Probe) -> bool:
        """Whether a belief that is not erased belongs here."""
        return (
            belief.status in self.statuses
            and (self.from_user is None or belief.claim.from_user == self.from_user)
            and (self.own is None or (belief.claim.origins == probe.origins) == self.own)
        )


_ACTIVE: Final = frozenset({Status.ACTIVE})
STRATA: Final = (
    Stratum(statuses=_ACTIVE, from_user=True),
    Stratum(statuses=_ACTIVE, from_user=False, own=True),
    Stratum(statuses=_ACTIVE, from_user=False, own=False),
    Stratum(statuses=frozenset({Status.CONTESTED, Status.QUARANTINED})),
)
"""Where ``rivals`` looks; see ``Store.rivals``."""


class Shelf(Protocol):
    """What ranking reads of one scope, all of it at one version. Beliefs are named by their ``seq``."""

    def near(self, probe: Probe, strata: Sequence[Stratum], k: int) -> list[Seqs]:
        """For each stratum the ascending seqs of beliefs among which the ``k`` nearest by cosine are."""
        ...

    def newest(self, terms: Sequence[int], strata: Sequence[Stratum], probe: Probe, limit: int) -> list[list[Seqs]]:
        """For each stratum, for each term, the seqs of the newest ``limit`` beliefs of the stratum that have it."""
        ...

    def vectors(self, seqs: Seqs) -> Matrix:
        """The embeddings of beliefs of ascending seqs as they are kept (float16 widened), one row each."""
        ...

    def terms(self, seqs: Sequence[int]) -> list[frozenset[int]]:
        """Their terms."""
        ...

    def read(self, seqs: Sequence[int]) -> list[Belief]:
        """The beliefs themselves."""
        ...


def blend(similarity: float, overlap: float) -> float:
    """The score of a belief: its cosine joined with the share of the probe's words that it has."""
    return similarity + WORD_WEIGHT * overlap


def weigh(found: int) -> int:
    """How much a word tells that ``found`` beliefs have (counted up to ``POSTINGS`` a stratum), in thousandths.

    A whole number, so that sums of weights are the same in whichever order they are added.
    """
    return round(1_000 * math.log(1 + POSTINGS / max(1, found)))


def cosines(vectors: Matrix, vector: Vector) -> Vector:
    """Cosine of each row; a row's result never depends on the other rows, as it would with BLAS."""
    found: Vector = np.einsum("ij,j->i", vectors, vector).clip(-1.0, 1.0)
    return found


@dataclass(slots=True)
class _Hit:
    seq: int
    similarity: float
    overlap: float
    vector: Vector

    @property
    def rank(self) -> tuple[float, int]:
        return (blend(self.similarity, self.overlap), self.seq)


def rivals(shelf: Shelf, probes: Iterable[Probe], k: int) -> list[list[Neighbour]]:
    """For each probe up to ``k`` by meaning and ``k`` by words of each stratum; words are weighed in each apart."""
    groups = [[stratum] for stratum in STRATA]
    return [_neighbours(shelf, _choose(shelf, probe, groups, k)) for probe in probes]


def search(shelf: Shelf, probe: Probe, k: int, statuses: frozenset[Status]) -> list[Neighbour]:
    """The ``k`` best by ``blend``; candidates of the user's own and of others are taken apart."""
    strata = [Stratum(statuses=statuses, from_user=mine) for mine in (True, False)]
    hits = _choose(shelf, probe, [strata], max(k, POOL))
    return _neighbours(shelf, sorted(hits, key=lambda hit: hit.rank, reverse=True)[: max(0, k)])


def _choose(shelf: Shelf, probe: Probe, groups: Sequence[Sequence[Stratum]], k: int) -> list[_Hit]:
    """The ``k`` nearest and the ``k`` with most shared words of each stratum; words are weighed over each group.

    Whatever a shelf has to read is asked of it once, for all strata: a database answers over a wire.
    """
    if k <= 0:
        return []
    strata = [stratum for group in groups for stratum in group]
    asked = terms(probe.text)[:MOST_TERMS]
    posted = shelf.newest(asked, strata, probe, POSTINGS)
    near = shelf.near(probe, strata, k)
    weights: list[dict[int, int]] = []  # of each stratum: those of its group
    for group in groups:
        of_terms = zip(*posted[len(weights) : len(weights) + len(group)], strict=True)
        found = zip(asked, of_terms, strict=True)
        weights += [{term: weigh(sum(map(len, lists))) for term, lists in found}] * len(group)
    wordy = [_wordiest(each, lists, k) for each, lists in zip(weights, posted, strict=True)]
    seqs = np.unique(np.concatenate([*near, *wordy]))
    vectors = shelf.vectors(seqs)
    similar = cosines(vectors, probe.vector)
    best = [_nearest(close, similar[np.searchsorted(seqs, close)], k) for close in near]
    chosen = [np.union1d(*both) for both in zip(best, wordy, strict=True)]
    has = iter(shelf.terms(np.concatenate(chosen).tolist()))
    hits = []
    for each, some in zip(weights, chosen, strict=True):
        total = sum(each.values()) or 1
        for seq, row in zip(some.tolist(), np.searchsorted(seqs, some).tolist(), strict=True):
            own = next(has)
            shared = sum(weight for term, weight in each.items() if term in own)
            # A copy of the row: a view would keep the vectors of all candidates alive as long as the answer.
            hit = _Hit(seq=seq, similarity=float(similar[row]), overlap=shared / total, vector=vectors[row].copy())
            hits.append(hit)
    return hits


def _wordiest(weights: Mapping[int, int], lists: Sequence[Seqs], k: int) -> Seqs:
    """The ``k`` with most weight in common by the most telling words, of equal ones the newer."""
    telling = sorted(zip(weights.values(), lists, strict=True), key=itemgetter(0), reverse=True)[:TELLING]
    if not telling:
        return np.empty(0, dtype=np.int64)
    seqs, at = np.unique(np.concatenate([found for _, found in telling]), return_inverse=True)
    shares = [weight for weight, _ in telling], [len(found) for _, found in telling]
    shared = np.bincount(at, weights=np.repeat(*shares))
    return seqs[np.lexsort((seqs, shared))[::-1][:k]]


def _nearest(seqs: Seqs, similar: Vector, k: int) -> Seqs:
    """The ``k`` most similar of these; of equally near ones the newer."""
    return seqs[np.lexsort((seqs, similar))[::-1][:k]]


def _neighbours(shelf: Shelf, hits: list[_Hit]) -> list[Neighbour]:
    hits = sorted(hits, key=lambda hit: hit.rank, reverse=True)
    beliefs = shelf.read([hit.seq for hit in hits])
    return [
        Neighbour(belief=belief, similarity=hit.similarity, score=hit.rank[0], vector=hit.vector)
        for hit, belief in zip(hits, beliefs, strict=True)
    ]
