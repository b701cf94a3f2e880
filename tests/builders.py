"""Short ways to make the core's values, and Hypothesis strategies for them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from hypothesis import strategies as st

from thymus.core import relations as thresholds
from thymus.core.beliefs import Belief, Status
from thymus.core.claims import Claim, Kind
from thymus.core.policy import Rival
from thymus.core.provenance import Source, lineage_of
from thymus.core.relations import Label, Relation

NOON: Final = datetime(2026, 3, 2, 12, tzinfo=UTC)

USER: Final = Source.user()
UNATTESTED_USER: Final = Source.parse("user", authenticated=False)
COURIER: Final = Source.parse("email:courier@parcels.example", authenticated=True)
UNVERIFIED_COURIER: Final = Source.parse("email:courier@parcels.example")
LOOKALIKE: Final = Source.parse("email:courier@parce1s.example", authenticated=True)
SHOP: Final = Source.parse("web:shop.example", authenticated=True)
RAVI: Final = Source.parse("user:ravi", authenticated=True)
ASSISTANT: Final = Source.parse("assistant")
ANONYMOUS: Final = Source.parse("web", authenticated=True)

SOURCES: Final = (
    USER,
    UNATTESTED_USER,
    COURIER,
    UNVERIFIED_COURIER,
    LOOKALIKE,
    SHOP,
    RAVI,
    ASSISTANT,
    ANONYMOUS,
)

COMPATIBLE: Final = Relation(label=Label.COMPATIBLE, confidence=0.98)
SAME: Final = Relation(label=Label.SAME, confidence=0.98)
DETECTED: Final = Relation(label=Label.CONTRADICTS, confidence=(thresholds.DETECTED + thresholds.CONFIRMED) / 2)
CONFIRMED: Final = Relation(label=Label.CONTRADICTS, confidence=0.95)
UNKNOWN: Final = Relation.unknown("no answer")


def a_claim(
    text: str = "delivery is 5 pm",
    source: Source = USER,
    *,
    derived_from: tuple[Source, ...] = (),
    kind: Kind = Kind.FACT,
    at: datetime = NOON,
) -> Claim:
    return Claim(
        text=text,
        kind=kind,
        evidence_id="e_1",
        span=(0, len(text)),
        source=source,
        lineage=lineage_of((source, ()) for source in derived_from),
        observed_at=at,
    )


def a_belief(
    id_: str = "m_1",
    text: str = "delivery is 3 pm",
    source: Source = USER,
    *,
    derived_from: tuple[Source, ...] = (),
    kind: Kind = Kind.FACT,
    status: Status = Status.ACTIVE,
    seq: int = 1,
) -> Belief:
    claim = a_claim(text, source, derived_from=derived_from, kind=kind)
    return Belief(id=id_, claim=claim, status=status, seq=seq)


_ALIKE = [USER, COURIER, UNVERIFIED_COURIER, COURIER, UNVERIFIED_COURIER]
sources = st.sampled_from([*SOURCES, *_ALIKE])
"""All sorts, and often two that could be one."""
outsiders = sources.filter(lambda source: source is not USER)
lineages = st.one_of(
    st.just(()),
    st.just(()),
    st.lists(sources, max_size=2).map(lambda found: lineage_of((source, ()) for source in found)),
)
kinds = st.sampled_from([*[Kind.FACT] * 6, Kind.PREFERENCE, Kind.INSTRUCTION])
statuses = st.sampled_from([Status.ACTIVE, Status.ACTIVE, Status.ACTIVE, Status.CONTESTED, Status.QUARANTINED])


@st.composite
def odd_relations(draw: st.DrawFn) -> Relation:
    """Any answer that a judge can word, sensible or not."""
    label = draw(st.sampled_from(Label))
    contradiction = draw(st.one_of(st.just(-1.0), st.floats(0, 1)))
    return Relation(label=label, confidence=draw(st.floats(0, 1)), contradiction=contradiction)


relations = st.one_of(st.sampled_from([CONFIRMED, CONFIRMED, DETECTED, UNKNOWN, SAME, COMPATIBLE]), odd_relations())


@st.composite
def claims(draw: st.DrawFn, speakers: st.SearchStrategy[Source] = sources) -> Claim:
    return a_claim(source=draw(speakers), derived_from=draw(lineages), kind=draw(kinds))


@st.composite
def rivals(draw: st.DrawFn, *, most: int = 3) -> list[Rival]:
    """Rivals as a store gives them: live beliefs, each once."""
    return [
        Rival(
            belief=a_belief(
                f"m_{number}",
                source=draw(sources),
                derived_from=draw(lineages),
                kind=draw(kinds),
                status=draw(statuses),
                seq=number + 1,
            ),
            relation=draw(relations),
        )
        for number in range(draw(st.integers(0, most)))
    ]
