"""What was said: a raw message (evidence) and the atomic statements in it (claims)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from thymus.core.provenance import Assurance, Source


class Kind(StrEnum):
    """What sort of statement it is, by content and not by who may say it."""

    FACT = "fact"
    PREFERENCE = "preference"
    INSTRUCTION = "instruction"
    NOT_A_CLAIM = "not_a_claim"


_CARE: Final = (Kind.NOT_A_CLAIM, Kind.FACT, Kind.PREFERENCE, Kind.INSTRUCTION)


def more_careful(one: Kind, other: Kind) -> Kind:
    """Of two kinds of an outsider's statement the one that is treated with more care: an order or the user's taste
    before a fact, and a fact before what would be lost."""
    return max(one, other, key=_CARE.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memory: every read and write names one, and none ever crosses it (G5)."""

    tenant: str
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The immutable raw message.

    :param id: digest of what makes it *this* message (see ``guard``): the same message has the same id.
    :param lineage: sources of the memories it was derived from, flattened; empty for a message at first hand.
    :param observed_at: when it was said or arrived, with a time zone.
    """

    id: str
    text: str
    source: Source
    lineage: tuple[Source, ...] = ()
    observed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One atomic statement from one piece of evidence.

    :param text: the statement as it is kept and shown, on one line.
    :param span: where in the evidence text it stands, as [start, end) in characters.
    """

    text: str
    kind: Kind
    evidence_id: str
    span: tuple[int, int]
    source: Source
    lineage: tuple[Source, ...] = ()
    observed_at: datetime

    @property
    def speakers(self) -> tuple[Source, ...]:
        """Its source and everything it was derived from: a test of authority must hold for each."""
        return (self.source, *self.lineage)

    @property
    def origins(self) -> frozenset[str]:
        """The identities that own what it says: those it was derived from, else its own source."""
        return frozenset(source.key for source in (self.lineage or (self.source,)))

    @property
    def from_user(self) -> bool:
        """Whether the user said it, and nothing of it came from elsewhere."""
        return self.source.is_user and all(source.is_user for source in self.lineage)

    @property
    def assurance(self) -> Assurance:
        """The weakest assurance in its lineage (G9)."""
        weakest = self.source.assurance
        for source in self.lineage:
            weakest = min(weakest, source.assurance)
        return weakest

    @property
    def verified(self) -> bool:
        """Whether everybody who had a part in it is verified as the identity that it names."""
        return self.assurance >= Assurance.AUTHENTICATED

    @property
    def speaks_for_user(self) -> bool:
        """Whether it says what the user likes or wants, or directs the assistant."""
        return self.kind in (Kind.PREFERENCE, Kind.INSTRUCTION)


_MARKS: Final = re.compile(r"^(?:[>•*-] )+")


def fold(text: str) -> str:
    """The text as compared for *same wording*: Unicode NFC; white space, list and quotation marks before it, the first
    capital and a full stop set aside.

    Other case is kept, because a password or code may differ in nothing else. So are compatibility forms: a look-alike
    letter must not make two texts the same.
    """
    words = _MARKS.sub("", " ".join(unicodedata.normalize("NFC", text).split())).removesuffix(".")
    opening = words.partition(" ")[0]
    return words[:1].lower() + words[1:] if opening[1:].islower() or len(opening) == 1 else words
