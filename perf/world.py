"""Synthetic memories to measure on: many topics, many senders, no text of anybody."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from thymus.core.beliefs import Act, Belief, Cause, Change, Revision, Status
from thymus.core.claims import Claim, Evidence, Kind, Scope
from thymus.core.provenance import Assurance, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from thymus.ports import Embedder

START = datetime(2026, 1, 1, tzinfo=UTC)
_THINGS = [
    "standup",
    "parcel",
    "invoice",
    "dentist",
    "flight",
    "lease",
    "gym",
    "piano",
    "train",
    "broker",
    "school",
    "boiler",
    "visa",
    "concert",
    "meeting",
]
_PEOPLE = [
    "Priya",
    "Tomas",
    "Wen",
    "Ines",
    "Farid",
    "Olga",
    "Kofi",
    "Marta",
    "Sven",
    "Leila",
    "Juno",
    "Amir",
    "Rosa",
    "Pavel",
    "Noor",
]
_PLACES = [
    "Hexham",
    "Porto",
    "Bergen",
    "Pune",
    "Lyon",
    "Graz",
    "Oulu",
    "Cork",
    "Turin",
    "Ghent",
    "Lodz",
    "Bari",
    "Malmo",
    "Vigo",
    "Brno",
]
_SHAPES = (
    "The {thing} with {person} is at {hour}:{minute:02d} in {place}.",
    "{person} said the {thing} costs {amount} euros this year.",
    "Your {thing} in {place} was booked under reference {code}.",
    "{person} moved to {place} and keeps the {thing} papers there.",
    "The {thing} desk in {place} answers on 555-01{minute:02d}, ask for {person}.",
)


def sentences(n: int, seed: int) -> list[str]:
    """Different plausible sentences, the same for a seed."""
    rng = random.Random(seed)
    return [
        rng.choice(_SHAPES).format(
            thing=rng.choice(_THINGS),
            person=rng.choice(_PEOPLE),
            place=rng.choice(_PLACES),
            hour=rng.randint(7, 20),
            minute=rng.randint(0, 59),
            amount=rng.randint(20, 9_000),
            code=f"{rng.choice('QXZKV')}{rng.randint(10_000, 99_999)}",
        )
        for _ in range(n)
    ]


def vectors(n: int, embedder: Embedder, seed: int) -> tuple[list[str], NDArray[np.float32]]:
    """Sentences and vectors for them: real embeddings of a few thousand, each spread a little for the rest.

    Embedding 100,000 texts would take minutes and change nothing that is measured here.
    """
    texts = sentences(n, seed)
    real = embedder.embed(texts[: min(n, 2_000)], role="passage")
    rng = np.random.default_rng(seed)
    spread = real[rng.integers(0, len(real), n)] + rng.normal(0, 0.02, (n, real.shape[1])).astype(np.float32)
    spread[: len(real)] = real
    return texts, spread / np.linalg.norm(spread, axis=1, keepdims=True)


def revisions(scope: Scope, texts: Sequence[str], rows: NDArray[np.float32]) -> Iterator[Revision]:
    """One committed message a text: a third from the user, the rest from 200 senders."""
    for n, (text, row) in enumerate(zip(texts, rows, strict=True)):
        source = (
            Source.user()
            if n % 3 == 0
            else Source(channel="email", identity=f"sender{n % 200}@post.example", assurance=Assurance.AUTHENTICATED)
        )
        yield told(scope, str(n), text, row, source, START + timedelta(minutes=n), gate="thymus-v3")


def told(
    scope: Scope, id_: str, text: str, row: NDArray[np.float32], source: Source, at: datetime, *, gate: str
) -> Revision:
    """What a message of one fact commits where it is admitted."""
    evidence = Evidence(id=f"e_{id_}", text=text, source=source, observed_at=at)
    span = (0, len(text))
    claim = Claim(text=text, kind=Kind.FACT, evidence_id=evidence.id, span=span, source=source, observed_at=at)
    belief = Belief(id=f"m_{id_}", claim=claim, status=Status.ACTIVE)
    return Revision(
        scope=scope,
        act=Act.REMEMBER,
        at=at,
        evidence=evidence,
        beliefs=(belief,),
        changes=(Change(belief=belief.id, before=None, cause=Cause.ADMIT, after=Status.ACTIVE),),
        vectors={belief.id: row},
        note={"gate": gate},
    )
