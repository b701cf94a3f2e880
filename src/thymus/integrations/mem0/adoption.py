"""What was in Mem0 before Thymus came: told to the ledger in the order of its writing, and judged like the rest.

Mem0 does not record who said what it stores. So whatever nobody vouches for is a model's report; what only the user may
say (a preference, a standing instruction) waits in the inbox, and an overt order to an assistant is rejected.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from thymus.core.provenance import ASSISTANT, Source
from thymus.errors import ThymusError
from thymus.intake import prepare
from thymus.integrations.mem0.mirror import ADOPTED, NOT_A_CLAIM, Beside, Item, Mirror, known_as
from thymus.records import Outcome

if TYPE_CHECKING:
    from thymus.guard import MemoryGuard
    from thymus.intake import Message, Parts
    from thymus.records import Written
    from thymus.retelling import Progress

Speaker: TypeAlias = str | Source | Callable[[Mapping[str, Any]], str | Source | None] | None
"""Who said what is adopted: everybody's, or a function of Mem0's item; ``None`` for who is not known."""
_AT_ONCE: Final = 64
_NOT_CLAIMS: Final = "no-claim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """What became of one memory of Mem0.

    :param outcome: admitted, replaced, contested, quarantined, rejected, known (it repeats another) or no-claim (it
        states nothing, and was left where it is).
    :param contradicts: the texts of the memories that it was held back against.
    :param hazards: what is dangerous on its face, as ``injection: override`` or ``secret: card``.
    :param memories: the ids that its claims have now.
    """

    mem0_id: str
    text: str
    source: str
    outcome: str
    reasons: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    hazards: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The record in JSON's types."""
        return {
            "mem0_id": self.mem0_id,
            "text": self.text,
            "source": self.source,
            "outcome": self.outcome,
            "reasons": list(self.reasons),
            "contradicts": list(self.contradicts),
            "hazards": list(self.hazards),
            "memories": list(self.memories),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """What ``adopt`` did, or would do; ``str()`` gives it in lines.

    :param dry_run: nothing was written.
    """

    items: tuple[Adopted, ...]
    dry_run: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """How many came to what, most frequent first."""
        return dict(Counter(one.outcome for one in self.items).most_common())

    @property
    def contradictions(self) -> tuple[Adopted, ...]:
        """Those that contradict another one."""
        return tuple(one for one in self.items if one.contradicts)

    @property
    def hazards(self) -> tuple[Adopted, ...]:
        """Those that are dangerous on their face."""
        return tuple(one for one in self.items if one.hazards)

    def __str__(self) -> str:
        counts = ", ".join(f"{number} {outcome}" for outcome, number in self.counts.items()) or "nothing to adopt"
        lines = [f"{'would adopt' if self.dry_run else 'adopted'}: {counts}"]
        lines += [f"contradicts {one.contradicts[0]!r}: {one.text!r}" for one in self.contradictions]
        lines += [f"{', '.join(one.hazards)}: {one.text!r}" for one in self.hazards]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The account in JSON's types."""
        return {"dry_run": self.dry_run, "counts": self.counts, "items": [one.to_dict() for one in self.items]}


def adopt(
    guard: MemoryGuard, parts: Parts, mirror: Mirror, source: Speaker, *, dry_run: bool, on_step: Progress | None
) -> Adoption:
    """Take in what is under the user's id in Mem0 and not in the ledger (``ThymusMemory.adopt``)."""
    listed = [*mirror.listed(mirror.user), *mirror.listed(mirror.shelf)]
    ledger = mirror.store.get(mirror.scope, [known_as(item) for item in listed])
    strangers = sorted(
        (item for item in listed if _is_strange(item, mirror, ledger)),
        key=lambda item: (str(item.get("created_at") or ""), str(item["id"])),
    )
    done: list[Adopted] = []
    for portion in _portions(strangers):
        messages = [_message(guard, parts, item, source) for item in portion]
        written = list(guard.remember_many(messages))
        done += [_account(guard, *one) for one in zip(portion, messages, written, strict=True)]
        if not dry_run:
            _place(mirror, portion, written)
        if on_step is not None:
            on_step(len(done), len(strangers))
    return Adoption(items=tuple(done), dry_run=dry_run)


def _is_strange(item: Item, mirror: Mirror, ledger: Mapping[str, object]) -> bool:
    looked_at = (item.get("metadata") or {}).get("thymus_status") == NOT_A_CLAIM
    said = str(item.get("memory") or "").strip()
    return item.get("user_id") == mirror.user and known_as(item) not in ledger and not looked_at and bool(said)


def _portions(items: Sequence[Item]) -> Iterator[list[Item]]:
    stream = iter(items)
    while portion := list(islice(stream, _AT_ONCE)):
        yield portion


def _message(guard: MemoryGuard, parts: Parts, item: Item, source: Speaker) -> Message:
    given = source(item) if callable(source) else source
    speaker = Source.parse(ASSISTANT if given is None else given, user_id=guard.user_id)
    message = guard.message(
        str(item["memory"]),
        source=speaker,
        derived_from=() if given is not None else _named(item, guard.user_id),
        observed_at=_at(item.get("created_at")),
        message_id=f"mem0/{item['id']}",
    )
    if speaker.is_user:
        return message
    # Looked at twice: only what was read of it tells that the user has to be asked, not the gate that would reject it.
    [prepared] = prepare(parts, [message])
    asked = any(draft.claim.speaks_for_user for draft in prepared.drafts)
    ordered = any(hazard.startswith("injection") for hazard in prepared.hazards)
    return replace(message, hold=asked and not ordered)


def _named(item: Item, user_id: str) -> tuple[Source, ...]:
    """Whom Mem0 names as the actor. It takes the name from the message, so that it only ever takes away."""
    actor = str(item.get("actor_id") or "").strip()
    if not actor or actor == user_id:
        return ()
    try:
        return (Source.parse(f"user:{actor}", authenticated=False, user_id=user_id),)
    except ThymusError:  # nobody's name
        return (Source(channel="chat"),)


def _at(said: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(said))
    except ValueError:
        return None


def _account(guard: MemoryGuard, item: Item, message: Message, written: Written) -> Adopted:
    against = dict.fromkeys(id_ for memory in written.memories for id_ in memory.contradicts)
    known = written.memories and all(outcome is Outcome.KNOWN for outcome in written.outcomes)
    return Adopted(
        mem0_id=str(item["id"]),
        text=str(item["memory"]),
        source=message.source.key,
        outcome=_NOT_CLAIMS if not written.memories else "known" if known else written.effect.value,
        reasons=written.reasons,
        contradicts=tuple(guard.get(id_).text for id_ in against),
        hazards=written.hazards,
        memories=tuple(memory.id for memory in written.memories),
    )


def _place(mirror: Mirror, portion: Sequence[Item], written: Sequence[Written]) -> None:
    """Let the first claim of each memory have Mem0's own, where it stands at all, and add the others beside it."""
    with mirror.lock:
        given: defaultdict[str, list[Item]] = defaultdict(list)
        born: set[str] = set()
        for item, told in zip(portion, written, strict=True):
            if not told.memories:
                mirror.memory.update(item["id"], metadata={"thymus_status": NOT_A_CLAIM})
                continue
            beside = Beside.of(item)
            beside = replace(beside, metadata={**beside.metadata, ADOPTED: item["id"]})
            mirror.note((memory.id for memory in told.memories), beside)
            for place, (memory, outcome) in enumerate(zip(told.memories, told.outcomes, strict=True)):
                given[memory.id] += [] if place else [item]
                if outcome is not Outcome.KNOWN:
                    born.add(memory.id)
        mirror.follow(lambda id_: [*(() if id_ in born else mirror.copies(id_)), *given.get(id_, ())], also=given)
