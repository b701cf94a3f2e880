"""Hypothesis strategies for what a store is handed: scopes, sources, claims, beliefs, and histories of revisions.

A history is drawn as small *steps* that name beliefs by number, so that it shrinks well; ``Author`` turns each step
into a legal revision against the statuses so far.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import numpy as np
from hypothesis import strategies as st

from thymus.core.beliefs import TRANSITIONS, Act, Belief, Cause, Change, Edge, Revision, Status, born
from thymus.core.claims import Claim, Evidence, Kind, Scope
from thymus.core.provenance import Assurance, Source
from thymus.core.relations import Label, Relation
from thymus.ports import Probe

if TYPE_CHECKING:
    from thymus.ports import Vector

DIM: Final = 16
"""Length of the vectors drawn here."""
START: Final = datetime(2026, 1, 1, 9, 30, tzinfo=UTC)

_PLAIN: Final = "standup room delivery moves Friday 9:15 7:45 AI-302 asha@example.org parcel dose 250 mg the is O'Brien"
_WORDS: Final = (
    *_PLAIN.split(),
    *("東京", "встреча", "Ｆull-width", '"quoted"', "NEAR(", "OR", "*", "--", "\x00", "\ud800", "\u200b", "🎂"),
)

texts = st.one_of(
    st.lists(st.sampled_from(_WORDS), min_size=1, max_size=6).map(" ".join),
    st.text(st.characters(), max_size=20),
)
names = st.text(st.characters(), max_size=6)
scopes = st.builds(Scope, tenant=names, user=names)
times = st.builds(
    lambda seconds, hours: (START + timedelta(seconds=seconds)).astimezone(timezone(timedelta(hours=hours))),
    st.integers(0, 10**7) | st.floats(0, 10**7),
    st.integers(-12, 14),
)
sources = st.one_of(
    st.just(Source.user()),
    st.builds(
        Source,
        channel=st.sampled_from(["email", "tool", "web", "user"]),
        identity=st.sampled_from(["", "a@b.example", "calendar", "ravi", "ünï:cødé"]),
        assurance=st.sampled_from([Assurance.REPORTED, Assurance.CLAIMED, Assurance.AUTHENTICATED]),
    ),
)
lineages = st.lists(sources, max_size=2).map(tuple)
relations = st.builds(
    Relation,
    label=st.sampled_from(Label),
    confidence=st.floats(0, 1),
    judge=st.sampled_from(["typed", "local"]),
    because=st.sampled_from(["", "the times differ"]),
)


def vector_of(text: str, dim: int = DIM) -> Vector:
    """A vector that only depends on the text: equal texts have equal vectors."""
    seed = int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "little")
    drawn = np.random.default_rng(seed).standard_normal(dim).astype(np.float32)
    unit: Vector = drawn / np.linalg.norm(drawn)
    return unit


def probe_of(text: str, source: Source | None = None, dim: int = DIM) -> Probe:
    """A probe for a text, as of a claim by this source."""
    origins = frozenset({source.key}) if source else frozenset[str]()
    return Probe(text=text, vector=vector_of(text, dim), origins=origins)


@st.composite
def evidences(draw: st.DrawFn) -> Evidence:
    """Evidence whose id is a digest of what it says and who says it."""
    text, source, lineage, at = draw(texts), draw(sources), draw(lineages), draw(times)
    key = repr((text, source, lineage)).encode("utf-8", "backslashreplace")
    return Evidence(id=sha256(key).hexdigest()[:16], text=text, source=source, lineage=lineage, observed_at=at)


def claim_of(evidence: Evidence, text: str, kind: Kind = Kind.FACT) -> Claim:
    """A claim from a piece of evidence."""
    return Claim(
        text=text,
        kind=kind,
        evidence_id=evidence.id,
        span=(0, len(text)),
        source=evidence.source,
        lineage=evidence.lineage,
        observed_at=evidence.observed_at,
    )


claims = st.builds(claim_of, evidences(), texts, st.sampled_from(Kind))
beliefs = st.builds(
    lambda claim, number, status: Belief(id=f"{claim.evidence_id}-{number}", claim=claim, status=status),
    claims,
    st.integers(0, 9),
    st.sampled_from([Status.ACTIVE, Status.CONTESTED, Status.QUARANTINED, Status.REJECTED]),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One act, in numbers: what is told, and which of the beliefs so far it moves, judges or erases."""

    act: Act
    evidence: Evidence
    at: datetime
    told: tuple[tuple[str, Kind, Cause], ...] = ()
    moved: tuple[tuple[int, int], ...] = ()
    judged: tuple[tuple[int, int, Relation], ...] = ()
    erased: tuple[int, ...] = ()


_NUMBERS = st.integers(0, 30)
_BIRTHS = st.sampled_from([Cause.ADMIT, Cause.ADMIT, Cause.CONTEST, Cause.QUARANTINE, Cause.REJECT])

steps = st.builds(
    Step,
    act=st.sampled_from(Act),
    evidence=evidences(),
    at=times,
    told=st.lists(st.tuples(texts, st.sampled_from(Kind), _BIRTHS), max_size=3).map(tuple),
    moved=st.lists(st.tuples(_NUMBERS, _NUMBERS), max_size=2).map(tuple),
    judged=st.lists(st.tuples(_NUMBERS, _NUMBERS, relations), max_size=2).map(tuple),
    erased=st.just(()) | st.just(()) | st.tuples(_NUMBERS),
)


@dataclass(slots=True)
class Author:
    """Writes legal revisions for one scope and remembers how each belief stands."""

    scope: Scope
    dim: int = DIM
    statuses: dict[str, Status] = field(default_factory=dict)

    def write(self, step: Step) -> Revision:
        """The revision of a step; what it names that does not exist is left out."""
        known = list(self.statuses)
        new = [
            (
                Belief(id=f"{step.evidence.id}-{at}", claim=claim_of(step.evidence, text, kind), status=born(cause)),
                cause,
            )
            for at, (text, kind, cause) in enumerate(step.told)
        ]
        changes = [Change(belief=belief.id, before=None, cause=cause, after=belief.status) for belief, cause in new]
        fresh = {belief.id: belief.status for belief, _ in new if belief.id not in self.statuses}
        self.statuses |= fresh
        changes += [self._move(known[at % len(known)], choice) for at, choice in step.moved if known]
        everyone = list(self.statuses)
        edges = tuple(
            Edge(claim=everyone[claim % len(everyone)], rival=everyone[rival % len(everyone)], relation=relation)
            for claim, rival, relation in step.judged
            if everyone
        )
        return Revision(
            scope=self.scope,
            act=step.act,
            at=step.at,
            evidence=step.evidence if step.told else None,
            beliefs=tuple(belief for belief, _ in new),
            changes=tuple(changes),
            edges=edges,
            vectors={belief.id: vector_of(belief.claim.text, self.dim) for belief, _ in new},
            erase=tuple(known[at % len(known)] for at in step.erased if known),
            note={"accepted": "yes"} if step.act is Act.RESOLVE else {},
        )

    def _move(self, belief_id: str, choice: int) -> Change:
        before = self.statuses[belief_id]
        legal = sorted(
            (cause, after) for (status, cause), ends in TRANSITIONS.items() if status is before for after in ends
        )
        cause, after = legal[choice % len(legal)]
        self.statuses[belief_id] = after
        return Change(belief=belief_id, before=before, cause=cause, after=after, rules=("tested",), by=(belief_id,))
