"""Who is known to a user, and which of them an incoming source may be taken for.

A source is known by what it said and still counts: one whose every belief was retracted or rejected is not. A known
source stands against a lookalike only where it takes precedence: it is better proved than the lookalike as that speaks
now, or as well proved and spoke first. So nobody unverified is protected against a verified source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from thymus.core.beliefs import Status
from thymus.core.provenance import Assurance, Source
from thymus.errors import SourceError
from thymus.ports import Voice
from thymus.sources.domains import is_public_provider, organisational_domain, owner, split_address
from thymus.sources.lookalikes import clues, keys_of, resembles

if TYPE_CHECKING:
    from thymus.core.beliefs import Belief

MOST: Final = 50
"""How many resembled sources are named; who resembles more is one of a flood."""
_GONE: Final = frozenset({Status.RETRACTED, Status.REJECTED, Status.REPEATED})
_MENTION: Final = re.compile(r"[^\s<>()\[\]{},;:\"'@/]{1,64}@[\w.-]{3,253}|(?:[\w-]{1,63}\.){1,8}[^\W_]{2,63}")
_LONGEST_TEXT: Final = 20_000


class Registry:
    """The known sources of one scope, indexed so that a lookup does not read them all.

    Others may ask while one thread adds.

    :param voices: what ``Store.sources`` returns; ``add`` and ``hear`` keep it current.
    """

    def __init__(self, voices: Iterable[Voice] = ()) -> None:
        self._voices: dict[str, Voice] = {}
        self._mentions: dict[str, Voice] = {}
        self._owned: dict[str, dict[str, None]] = {}
        self._index: dict[int, dict[str, None]] = {}
        for voice in voices:
            self.add(voice)

    def add(self, voice: Voice) -> None:
        """Take a voice in, in place of what was held of the same source."""
        key = voice.source.key
        before = self._voices.get(key)
        self._voices[key] = voice
        if before is None or before.source.name != voice.source.name:
            self._enter(voice.source)

    def hear(self, belief: Belief) -> None:
        """Take in one more belief, told after all that was taken in before."""
        said = belief.claim
        before = self._voices.get(said.source.key)
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

    def mention(self, text: str, *, seq: int, at: datetime) -> None:
        """Hold the addresses and domains that the user's own words name as known, from the belief with this seq on.

        They are taken for verified, so never call it with what anybody else wrote.
        """
        for found in _MENTION.finditer(text[:_LONGEST_TEXT]):
            source = _mentioned(found[0].rstrip("."))
            if source is not None and source.key not in self._mentions:
                self._mentions[source.key] = Voice(source=source, first=seq, last=seq, since=at, until=at, counts={})
                self._enter(source)

    def resembling(self, source: Source) -> tuple[Voice, ...]:
        """The known sources that this one may be taken for and that take precedence over it, first ones first.

        At most ``MOST``. The name that the source uses now counts, and its assurance as it speaks now.
        """
        own, whose = _standing(self._voices.get(source.key)), owner(source) or source.key
        owners = dict.fromkeys(
            other for clue in clues(source) for other in tuple(self._index.get(hash(clue), ())) if other != whose
        )
        rivals = [
            voice
            for other in owners
            for key in tuple(self._owned[other])
            for voice in (self._voices.get(key), self._mentions.get(key))
            if voice is not None and _precedes(voice, source, own)
        ]
        found: dict[str, Voice] = {}
        for voice in sorted(rivals, key=lambda voice: voice.first):
            if voice.source.key not in found and resembles(source, voice.source):
                found[voice.source.key] = voice
                if len(found) == MOST:
                    break
        return tuple(found.values())

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


def _mentioned(text: str) -> Source | None:
    address = split_address(text)
    try:
        if address is not None and organisational_domain(address[1]):
            return Source(channel="email", identity="@".join(address), assurance=Assurance.AUTHENTICATED)
        if address is None and organisational_domain(text) and not is_public_provider(text):
            return Source(channel="web", identity=text, assurance=Assurance.AUTHENTICATED)
    except SourceError:
        return None
    return None
