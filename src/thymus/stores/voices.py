"""From who said each belief, and how it stands, to one ``Voice`` a source: the same in every store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from thymus.core.beliefs import Status
from thymus.core.provenance import Source
from thymus.ports import Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Beliefs of one direct source in one wording (assurance and name as then given) that stand alike.

    ``first`` and ``last`` are their lowest and highest seq, ``since`` and ``until`` their earliest and latest time.
    """

    source: Source
    status: Status
    number: int
    first: int
    last: int
    since: datetime
    until: datetime


def voices(said: Iterable[Said]) -> list[Voice]:
    """One voice a source key, ordered by ``first``."""
    by_key: dict[str, list[Said]] = {}
    for one in said:
        by_key.setdefault(one.source.key, []).append(one)
    return sorted(map(_voice, by_key.values()), key=lambda voice: voice.first)


def _voice(said: list[Said]) -> Voice:
    counts: dict[Status, int] = {}
    for one in said:
        counts[one.status] = counts.get(one.status, 0) + one.number
    standing = [one for one in said if one.status is not Status.RETRACTED] or said
    best = max(one.source.assurance for one in standing)
    # Who writes under a name that was proved could be called anything by whoever only claims to be it.
    likest = [one for one in standing if one.source.assurance is best]
    latest = max(likest, key=lambda one: (one.source.name != "", one.last)).source
    return Voice(
        source=replace(latest, proof=()) if latest.proof else latest,
        first=min(one.first for one in standing),
        last=max(one.last for one in standing),
        since=min(one.since for one in standing),
        until=max(one.until for one in standing),
        counts=counts,
    )
