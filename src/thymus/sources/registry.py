"""Who is known to a user, and which of them an incoming source may be taken for.

A source is known by what it said and still counts: one whose every belief was retracted or rejected is not. A known
source stands against a lookalike only where it takes precedence: it is better proved than the lookalike as that speaks
now, or as well proved and spoke first. So nobody unverified is protected against a verified source.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from heapq import nsmallest
from typing import TYPE_CHECKING, Final

from thymus.core.beliefs import Status
from thymus.core.provenance import Source
from thymus.ports import Voice
from thymus.sources.domains import owner
from thymus.sources.lookalikes import clues, keys_of, resembles

if TYPE_CHECKING:
    from thymus.core.beliefs import Belief

MOST: Final = 50
"""How many resembled sources are named; who resembles more is one of a flood."""
LOOKED_AT: Final = 256
"""How many known sources with something in common are compared with one that speaks."""
MOST_KEPT: Final = 1_000
"""Sources of which it is kept whom they resemble, until somebody new speaks."""
_GONE: Final = frozenset({Status.RETRACTED, Status.REJECTED, Status.REPEATED})


class Registry:
    """The known sources of one scope, indexed so that a lookup does not read them all.

    Others may ask while one thread adds.

    :param voices: what ``Store.sources`` returns; ``add`` and ``hear`` keep it current.
    """

    def __init__(self, voices: Iterable[Voice] = ()) -> None:
        self._voices: dict[str, Voice] = {}
        self._owned: dict[str, dict[str, None]] = {}
        self._index: dict[int, dict[str, None]] = {}
        self._resembling: dict[Source, tuple[Voice, ...]] = {}
        for voice in voices:
            self.add(voice)

    def add(self, voice: Voice) -> None:
        """Take a voice in, in place of what was held of the same source."""
        key = voice.source.key
        before = self._voices.get(key)
        self._voices[key] = voice
        if before is None or before.source.name != voice.source.name:
            self._enter(voice.source)
        self._resembling = {}  # a new one: who looks meanwhile notes into the old one

    def hear(self, belief: Belief) -> None:
        """Take in one more belief, told after all that was taken in before; one that was taken in already is let be."""
        said = belief.claim
        before = self._voices.get(said.source.key)
        if before is not None and belief.seq <= before.last:
            return
        heard = Voice(
            source=replace(said.source, proof=()),
            first=belief.seq,
            last=belief.seq,
            since=said.observed_at,
            until=said.observed_at,
            counts={belief.status: 1},
        )
        if before is not None and _standing(before):
            heard = _joined(before, heard)
        elif before is not None:
            heard = replace(heard, counts={**before.counts, **heard.counts})
        self.add(heard)

    def known(self, source: Source) -> Voice | None:
        """Since when a source is known and how many claims of each status it made; None for a stranger."""
        voice = self._voices.get(source.key)
        return voice if voice is not None and _counts(voice) else None

    def resembling(self, source: Source) -> tuple[Voice, ...]:
        """The known sources that this one may be taken for and that take precedence over it, first ones first.

        At most ``MOST``. The name that the source uses now counts, and its assurance as it speaks now.
        """
        kept = self._resembling
        found = kept.get(source)
        if found is None:
            found = self._look_alike(source)
            if len(kept) >= MOST_KEPT:
                kept.clear()
            kept[source] = found
        return found

    def _look_alike(self, source: Source) -> tuple[Voice, ...]:
        own, whose = _standing(self._voices.get(source.key)), owner(source) or source.key
        owners = dict.fromkeys(
            other for clue in clues(source) for other in tuple(self._index.get(hash(clue), ())) if other != whose
        )
        rivals = (self._voices[key] for other in owners for key in tuple(self._owned[other]))
        rivals = (voice for voice in rivals if _precedes(voice, source, own))
        # The best proved are looked at first: forged names in any number hide none of them.
        looked_at = nsmallest(LOOKED_AT, rivals, key=lambda voice: (-voice.source.assurance, voice.first))
        found = [voice for voice in looked_at if resembles(source, voice.source)]
        return tuple(sorted(found, key=lambda voice: voice.first)[:MOST])

    def _enter(self, source: Source) -> None:
        whose = owner(source) or source.key
        self._owned.setdefault(whose, {})[source.key] = None
        for key in keys_of(source):
            self._index.setdefault(hash(key), {})[whose] = None


def _standing(voice: Voice | None) -> Voice | None:
    """The voice, unless all that it said is retracted: it is then as if it had never spoken (G7)."""
    return voice if voice is not None and voice.counts.keys() - {Status.RETRACTED} else None


def _counts(voice: Voice) -> bool:
    return any(number for status, number in voice.counts.items() if status not in _GONE)


def _joined(before: Voice, heard: Voice) -> Voice:
    better = heard.source.assurance > before.source.assurance
    as_good = heard.source.assurance == before.source.assurance and heard.source.name != ""
    (status,) = heard.counts
    return Voice(
        source=heard.source if better or as_good else before.source,
        first=before.first,
        last=heard.last,
        since=min(before.since, heard.since),
        until=max(before.until, heard.until),
        counts={**before.counts, status: before.counts.get(status, 0) + 1},
    )


def _precedes(voice: Voice, source: Source, own: Voice | None) -> bool:
    if voice.counts and not _counts(voice):
        return False
    theirs, ours = voice.source.assurance, source.assurance
    return theirs > ours or (theirs == ours and (own is None or voice.first < own.first))
