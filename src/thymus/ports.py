"""What the guard needs from the outside, as small protocols. A store, judge, extractor or embedder of your own fits
when it has these methods; ``thymus.testing.conformance`` says whether a store keeps its promises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from thymus.core.beliefs import Act, Belief, Change, Edge, Revision, Status
from thymus.core.claims import Claim, Evidence, Kind, Scope
from thymus.core.provenance import Source
from thymus.core.relations import Relation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]
    """One embedding, shape (dim,), of unit length."""
    Matrix: TypeAlias = NDArray[np.float32]
    """Embeddings, shape (n, dim), each row of unit length."""
else:
    Vector = Matrix = Any

Clock: TypeAlias = Callable[[], datetime]
"""Returns the present moment with a time zone."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product says how much they are about the same thing."""

    @property
    def name(self) -> str:
        """Written into the store: vectors of different names are never compared."""
        ...

    @property
    def dim(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str], *, role: Literal["query", "passage"]) -> Matrix:
        """Return one row of unit length a text, shape (n, dim); the same whatever else is in the batch."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a judge reads: the text and, where known, who speaks, when, and its embedding (role *passage*).

    :param id: of the belief that it is of, where it is stored; no answer may depend on it.
    """

    text: str
    speaker: Source | None = None
    observed_at: datetime | None = None
    vector: Vector | None = field(default=None, compare=False, repr=False)
    id: str = field(default="", compare=False, repr=False)

    @classmethod
    def of(cls, given: str | Claim | Statement) -> Statement:
        """Read a plain string, a claim or a statement alike."""
        if isinstance(given, Statement):
            return given
        if isinstance(given, Claim):
            return cls(text=given.text, speaker=given.source, observed_at=given.observed_at)
        return cls(text=given)


class Judge(Protocol):
    """Answers two narrow questions. The rules decide the rest.

    A judge that fails raises ``JudgeError``; the guard then goes on as if a contradiction were detected.
    """

    @property
    def name(self) -> str:
        """Shown by ``explain`` and kept with each answer."""
        ...

    def relate(self, pairs: Sequence[tuple[str | Claim | Statement, str | Claim | Statement]]) -> list[Relation]:
        """For each (stored, incoming): do they contradict, say the same, or go together?"""
        ...

    def classify(self, statements: Sequence[str | Claim | Statement]) -> list[Kind]:
        """For each statement: fact, preference, instruction or not a claim, by content and not by who may say it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A stretch of a message that may be a claim: its text on one line, and [start, end) in the message.

    :param kind: what the extractor takes it for; ``None`` where that is the judge's to say alone.
    """

    text: str
    span: tuple[int, int]
    kind: Kind | None = None


class Extractor(Protocol):
    """Splits a message into atomic statements."""

    def extract(self, text: str, *, source: Source) -> Sequence[Passage]:
        """Return the statements in order of their spans; nothing for a message that states nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What retrieval looks for: words, meaning and (for a write) whose word it is."""

    text: str
    vector: Vector = field(compare=False, repr=False)
    origins: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A stored belief near a probe.

    :param similarity: cosine of the embeddings, in [-1, 1].
    :param score: what the order follows: similarity joined with shared words; comparable within one answer only.
    """

    belief: Belief
    similarity: float
    score: float
    vector: Vector = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """What one source said directly in a scope, in numbers.

    All but ``counts`` is read from its beliefs that are not retracted (from all of them where none is left).

    :param source: with the best assurance that it had, and the name that it last used at that assurance.
    :param first, last: seq of its first and last belief.
    :param since, until: when it said the earliest and the latest of them (``observed_at``).
    :param counts: how many of its beliefs have each status; a status that none has is left out.
    """

    source: Source
    first: int
    last: int
    since: datetime
    until: datetime
    counts: Mapping[Status, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of the ledger: an act, its changes and its place in the hash chain. Holds no text of any message."""

    seq: int
    at: datetime
    act: Act
    changes: tuple[Change, ...]
    evidence_id: str | None
    note: Mapping[str, str]
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What ``verify`` found: how many rows it read and, in words, every one that does not fit."""

    entries: int
    beliefs: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether everything fits."""
        return not self.problems


class Store(Protocol):
    """Keeps beliefs, evidence, judged pairs and the ledger. Every call names the scope; none ever crosses it (G5).

    Safe to use from several threads. ``commit`` is atomic and durable when it returns (G11).
    """

    def rivals(self, scope: Scope, probes: Sequence[Probe], k: int) -> tuple[list[list[Neighbour]], int]:
        """For each probe the live beliefs nearest to it, and the scope's version that they were read at.

        Up to ``k`` by meaning and up to ``k`` by shared words are taken from each of four strata apart, so that no
        flood pushes a belief out of sight: active ones of the user; active ones whose origins are the probe's; other
        active ones; contested and quarantined ones. Nearest first, each belief once.
        """
        ...

    def search(
        self, scope: Scope, probe: Probe, k: int, *, statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    ) -> list[Neighbour]:
        """The ``k`` beliefs of these statuses that answer the probe best, best first."""
        ...

    def commit(self, revision: Revision, *, expecting: int | None = None) -> int:
        """Write all of the revision or nothing, and return the scope's new version.

        A belief or evidence whose id exists is left as it is. Each new belief needs a vector in ``revision.vectors``.

        :raises StaleVersionError: where ``expecting`` is given and the scope has moved on since.
        :raises StoreLockedError, StoreFullError: nothing was written.
        """
        ...

    def get(self, scope: Scope, ids: Sequence[str]) -> dict[str, Belief]:
        """The beliefs of these ids that exist."""
        ...

    def vectors(self, scope: Scope, ids: Sequence[str]) -> dict[str, Vector]:
        """The embeddings of these beliefs (none for an erased one)."""
        ...

    def evidence(self, scope: Scope, ids: Sequence[str]) -> dict[str, Evidence]:
        """The raw messages of these ids that exist; the text of one that was forgotten is empty."""
        ...

    def beliefs(
        self,
        scope: Scope,
        *,
        statuses: frozenset[Status] | None = None,
        after: int = 0,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Belief]:
        """Beliefs in the order they were told, from ``seq > after`` on.

        Newest first they go down from ``seq < after``, or from the last one where ``after`` is 0.
        """
        ...

    def brought(self, scope: Scope, ids: Sequence[str], *, limit: int | None = None) -> dict[str, list[Belief]]:
        """What each of these messages brought, in the order it was told, at most ``limit`` beliefs of each.

        A message that brought nothing is left out.
        """
        ...

    def edges(self, scope: Scope, ids: Sequence[str]) -> list[Edge]:
        """Judged pairs in which one of these beliefs takes part, on either side."""
        ...

    def entries(self, scope: Scope, *, belief_id: str | None = None, after: int = 0) -> Iterator[Entry]:
        """The ledger in order; with ``belief_id`` only the acts that changed it."""
        ...

    def sources(self, scope: Scope) -> list[Voice]:
        """One voice for each source key that is the direct source of a belief, in the order they first spoke."""
        ...

    def version(self, scope: Scope) -> int:
        """The scope's version: the ``seq`` of its last ledger row, 0 for an empty scope."""
        ...

    def scopes(self) -> list[Scope]:
        """Every scope that has a ledger (for ``doctor`` and backups, not for reading across)."""
        ...

    def verify(self, scope: Scope | None = None) -> Verification:
        """Check the whole store: hash chain, contents against their digests, statuses against the told changes.

        :param scope: only this one's rows, and nothing else is read.
        """
        ...

    def bulk(self) -> AbstractContextManager[None]:
        """Within it commits may share a sync to disk; all of them are durable when it closes."""
        ...

    def close(self) -> None:
        """Release files and connections; closing twice is fine."""
        ...
