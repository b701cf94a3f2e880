"""Who has asserted what, how that stands, and what rests on it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from thymus.core.beliefs import HELD_BACK, SHOWN, Status
from thymus.records import SourceRecord

if TYPE_CHECKING:
    from thymus.core.beliefs import Belief
    from thymus.core.claims import Scope
    from thymus.core.provenance import Assurance
    from thymus.ports import Store

_HINDERED = HELD_BACK | {Status.SUPERSEDED}


def source_records(store: Store, scope: Scope) -> list[SourceRecord]:
    """One record a source, by the number of its memories. One pass over the beliefs and one over the ledger."""
    beliefs = {belief.id: belief for belief in store.beliefs(scope)}
    because: dict[str, tuple[str, ...]] = {}
    for entry in store.entries(scope):
        because |= {change.belief: change.by for change in entry.changes}
    held: dict[str, list[str]] = {}
    against: dict[str, Counter[str]] = {}
    retracts: Counter[str] = Counter()
    hinders: Counter[str] = Counter()
    proved: dict[str, set[Assurance]] = {}
    for belief in reversed(beliefs.values()):
        speakers = _speakers(belief)
        if belief.status in SHOWN - {Status.RETRACTED}:
            retracts.update(speakers)
        if belief.status is Status.ACTIVE:
            proved.setdefault(belief.claim.source.key, set()).add(belief.claim.source.assurance)
        others = [beliefs[id_] for id_ in because.get(belief.id, ()) if id_ in beliefs]
        if belief.status in _HINDERED:
            hinders.update({key for other in others for key in _speakers(other)} - speakers)
        if belief.status in HELD_BACK:
            key = belief.claim.source.key
            held.setdefault(key, []).append(belief.id)
            against.setdefault(key, Counter()).update({other.claim.source.key for other in others})
    records = [
        SourceRecord(
            source=voice.source.key,
            name=voice.source.name,
            assurance=voice.source.assurance.name.lower(),
            first=voice.since,
            last=voice.until,
            counts={status: voice.counts.get(status, 0) for status in Status if status in SHOWN},
            held_back=tuple(held.get(voice.source.key, ())),
            against=tuple(key for key, _ in against.get(voice.source.key, Counter()).most_common()),
            would_retract=retracts[voice.source.key],
            may_change=hinders[voice.source.key],
            active_assurances=tuple(one.name.lower() for one in sorted(proved.get(voice.source.key, ()))),
        )
        for voice in store.sources(scope)
        if not SHOWN.isdisjoint(voice.counts)
    ]
    return sorted(records, key=lambda record: (-sum(record.counts.values()), record.source))


def _speakers(belief: Belief) -> set[str]:
    return {source.key for source in belief.claim.speakers}
