"""From messages to claims: extract, embed and classify. Needs no store, so many messages are prepared at once."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from thymus import config
from thymus.circumstances import Registries
from thymus.core.claims import Claim, Kind, fold, more_careful
from thymus.core.disclose import mask_own_wording
from thymus.core.provenance import Source, lineage_of
from thymus.errors import SourceError
from thymus.extract.attribution import forwarded
from thymus.fallbacks import Heard, fell_back, listening
from thymus.ports import Clock, Embedder, Extractor, Judge, Statement, Store, Vector

if TYPE_CHECKING:
    from thymus.extract.attribution import Forwarded
    from thymus.ports import Matrix, Passage
    from thymus.recognizers.hazards import Hazard

_log = logging.getLogger("thymus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The adapters that a guard works with, and what it knows of the store's sources."""

    store: Store
    judge: Judge
    extractor: Extractor
    embedder: Embedder
    clock: Clock
    registries: Registries = field(default_factory=Registries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message with everything the host application knows about it.

    :param message_id: what the channel itself calls it (a Message-ID); with it, or with ``observed_at``, the same text
        from the same source is a new message where these differ.
    :param hidden: the names of hazards in what came that no person could read, and that is not in ``text``.
    :param hold: keep what it states from the model until the user settles it, whatever the gate says.
    :param over: ids of the memories whose place it is to take, as the application knows without a judge.
    """

    text: str
    source: Source
    lineage: tuple[Source, ...] = ()
    observed_at: datetime | None = None
    message_id: str | None = None
    hidden: tuple[str, ...] = ()
    hold: bool = False
    over: tuple[str, ...] = ()

    @classmethod
    def read(cls, raw: str, **known: Any) -> Message:
        """A message as it came: HTML becomes what a person could read, and hazards in the rest are noted."""
        text = config.readable(raw)
        return cls(text=text, hidden=() if text == raw else _names(_hazards(raw)), **known)


def _hazards(text: str) -> Sequence[Hazard]:
    from thymus.recognizers.hazards import find_hazards

    return find_hazards(text)


def _names(hazards: Iterable[Hazard]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{hazard.kind}: {hazard.name}" for hazard in hazards))


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A claim that is ready to be decided on."""

    claim: Claim
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A message with its claims. The evidence id is settled later: it depends on what the store holds."""

    message: Message
    at: datetime
    drafts: tuple[Draft, ...]
    hazards: tuple[str, ...] = ()
    heard: Heard = field(default_factory=Heard)


def prepare(parts: Parts, messages: Sequence[Message]) -> list[Prepared]:
    """Extract, embed and classify: one batch for the embedder and one for the judge."""
    at = parts.clock()
    found: list[list[Passage]] = []
    heard: list[Heard] = []
    for message in messages:
        with listening() as extracting:
            found.append(_passages(parts.extractor, message))
        heard.append(extracting)
    texts = [passage.text for passages in found for passage in passages]
    vectors = iter(_halved(parts.embedder.embed(texts, role="passage")) if texts else ())
    statements = [
        Statement(
            text=passage.text, speaker=message.source, observed_at=message.observed_at or at, vector=next(vectors)
        )
        for message, passages in zip(messages, found, strict=True)
        for passage in passages
    ]
    with listening() as sorting:
        kinds = iter(_classify(parts.judge, statements))
    ready = iter(statements)
    prepared = []
    for message, passages, told in zip(messages, found, heard, strict=True):
        told.fallbacks += sorting.fallbacks if passages else ()
        drafts, hazards = [], _hazards(message.text)
        orders = [hazard.span for hazard in hazards if hazard.kind == "injection"]
        passed_on = forwarded(message.text, own=message.source.is_user)
        for passage in passages:
            statement = next(ready)
            claim = Claim(
                text=passage.text,
                kind=next(kinds),
                evidence_id="",
                span=passage.span,
                source=message.source,
                lineage=_lineage(message, passed_on, passage.span[0]),
                observed_at=message.observed_at or at,
            )
            kind = _kind(claim, passage)
            if any(_says(passage, message.text, order) for order in orders):
                kind = Kind.INSTRUCTION  # an overt order to an assistant is one, whatever the judge says
            if kind is not Kind.NOT_A_CLAIM and statement.vector is not None:
                drafts.append(Draft(claim=replace(claim, kind=kind), vector=statement.vector))
        names = tuple(dict.fromkeys((*_names(hazards), *message.hidden)))
        prepared.append(Prepared(message=message, at=at, drafts=tuple(drafts), hazards=names, heard=told))
    return prepared


def _says(passage: Passage, text: str, order: tuple[int, int]) -> bool:
    """Whether an overt order stands in a passage, or in the words of the message that were put in front of it."""
    start, end = order
    within = start < passage.span[1] and passage.span[0] < end
    return within or fold(text[start:end]) in fold(passage.text)


def _kind(claim: Claim, passage: Passage) -> Kind:
    """The kind that the judge gave, or the extractor. Where an outsider had a part in it, the one that is treated with
    more care: a model has read the outsider's words."""
    if passage.kind is None:
        return claim.kind
    return passage.kind if claim.from_user else more_careful(claim.kind, passage.kind)


def _lineage(message: Message, passed_on: Sequence[Forwarded], at: int) -> tuple[Source, ...]:
    """What a statement at this place was derived from: the message's inputs, and whose mail it forwards there."""
    before = bisect_right(passed_on, at, key=lambda part: part.start)
    if not before:
        return message.lineage
    try:
        origin = Source(channel="email", identity=passed_on[before - 1].sender)
    except SourceError:  # nobody's address
        origin = Source(channel="email")
    return lineage_of([(source, ()) for source in (*message.lineage, origin)])


def _halved(vectors: Matrix) -> Matrix:
    """Vectors as stores keep them: what is seen now is what is seen when the history is told again."""
    halved: Matrix = vectors.astype("float16").astype("float32")
    return halved


def _passages(extractor: Extractor, message: Message) -> list[Passage]:
    """What the message states, each wording once, without anything that a recall worded (G13)."""
    text = mask_own_wording(message.text)
    once = {fold(passage.text): passage for passage in reversed(extractor.extract(text, source=message.source))}
    return sorted((passage for said, passage in once.items() if said), key=lambda passage: passage.span)


def _classify(judge: Judge, statements: Sequence[Statement]) -> list[Kind]:
    """The kinds, from the typed rules where the judge fails: a message is never lost for want of a judge."""
    if not statements:
        return []
    try:
        kinds = judge.classify(statements)
        if len(kinds) == len(statements):
            return [Kind(kind) for kind in kinds]
        _log.warning("judge %s gave %d kinds for %d statements", judge.name, len(kinds), len(statements))
    except Exception as error:  # noqa: BLE001  (whatever a judge does, no message is lost)
        _log.warning("judge %s could not classify: %s", judge.name, type(error).__name__)
        _log.debug("its failure", exc_info=True)
        fell_back("the typed rules sorted", f"the judge {judge.name}", error)
    from thymus.judges import get_judge

    return get_judge("typed").classify(statements)
