"""The values of a guarded LangGraph store as they are kept: with who put each, and the memories that it states."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from langgraph.store.base import Item, PutOp

from thymus.core.beliefs import HELD_BACK, LIVE, Status
from thymus.core.provenance import Assurance, Source
from thymus.errors import InputError
from thymus.integrations import keyed

if TYPE_CHECKING:
    from thymus.core.beliefs import Belief
    from thymus.guard import MemoryGuard
    from thymus.records import Written

Namespace: TypeAlias = tuple[str, ...]
Place: TypeAlias = tuple[Namespace, str]

RESERVED: Final = "__thymus__"
"""The first label of the namespaces that callers can neither read nor write."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value that was put at a key, with its provenance.

    :param id: of the memory that it states, the first where it states several; ``resolve`` takes it.
    :param value: as it was put; ``None`` for a request to delete what stands there.
    :param status: of what it states: the most careful of them.
    :param shown: whether ``get`` and ``search`` give it.
    :param contradicts: ids of the memories that it was held back against.
    """

    id: str
    namespace: Namespace
    key: str
    value: Mapping[str, Any] | None
    source: Source
    lineage: tuple[Source, ...]
    at: datetime
    status: Status
    shown: bool
    memories: tuple[str, ...]
    contradicts: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Who:
    """Who writes, and what that derives from."""

    source: Source
    lineage: tuple[Source, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """All of them, the source first: who each is, and how that is known."""
        return (_speaker(self.source), *sorted(map(_speaker, self.lineage)))

    @property
    def is_user(self) -> bool:
        """Whether the user says it and nothing of it is from elsewhere."""
        return self.source.is_user and not self.lineage

    @property
    def verified(self) -> bool:
        """Whether each of them is verified as who it is."""
        return all(source.authenticated for source in (self.source, *self.lineage))


def _speaker(source: Source) -> str:
    return f"{source.key} {source.assurance.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class Doc:
    """A value as it is kept on the shelf: with who put it, the memories that it states, and its number at its key."""

    key: str
    value: Mapping[str, Any]

    @classmethod
    def new(cls, place: Place, op: PutOp, who: Who, written: Written, *, number: int, seq: int, is_data: bool) -> Doc:
        """A value that was put just now."""
        ids = list(dict.fromkeys(one.id for one in written.memories))
        kept: Any = None if op.value is None else dict(op.value)
        with contextlib.suppress(Exception):  # what cannot be copied is kept as the wrapped store keeps it
            kept = copy.deepcopy(kept)
        at = digest(*place[0], place[1])
        return cls(
            f"{at}.{digest(*who.keys, *ids)}",
            {
                "at": at,
                "ids": ids,
                "value": kept,
                "index": op.index,
                "ttl": op.ttl,
                "speakers": list(who.keys),
                "sources": [_packed(source) for source in (who.source, *who.lineage)],
                "put_at": datetime.now(UTC).isoformat(),
                "n": number,
                "seq": seq,
                "data": is_data,
                "unasked": any(one.status is Status.REJECTED for one in written.memories),
            },
        )

    @property
    def ids(self) -> list[str]:
        """Of the memories that it states."""
        return list(self.value["ids"])

    @property
    def speakers(self) -> list[str]:
        """``Who.keys`` of whoever put it."""
        return list(self.value["speakers"])

    @property
    def sources(self) -> list[Source]:
        """Whoever put it, and what it derives from."""
        return [
            Source(channel=channel, identity=identity, assurance=Assurance(assurance))
            for channel, identity, assurance in self.value["sources"]
        ]

    @property
    def name(self) -> str:
        """Names this value at its key, and no later one that says the same."""
        return f"{self.key}:{self.value['n']}"

    def put(self, place: Place) -> PutOp:
        """Shows it, as it was put."""
        return PutOp(*place, self.value["value"], self.value["index"], self.value["ttl"])


def _packed(source: Source) -> list[Any]:
    return [source.channel, source.identity, int(source.assurance)]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A key as it is: what is shown, all that is kept for it, and the memories that these values state.

    :param kept: the user's own memories that the user's own words superseded.
    """

    item: Item | None
    docs: list[Doc]
    known: Mapping[str, Belief]
    shown: str
    count: int
    kept: frozenset[str] = frozenset()

    @property
    def current(self) -> Doc | None:
        """The value that is shown."""
        return next((doc for doc in self.docs if doc.name == self.shown), None) if self.item else None

    def live(self, doc: Doc | None) -> list[str]:
        """The memories of a value whose place can be taken."""
        return [id_ for id_ in (doc.ids if doc else ()) if id_ in self.known and self.known[id_].status in LIVE]

    @property
    def is_vacant(self) -> bool:
        """Whether nothing is shown."""
        return self.item is None

    @property
    def is_foreign(self) -> bool:
        """Whether what is shown was put past the guard, so that nobody knows whose it is."""
        return self.item is not None and self.current is None

    def is_mine(self, who: Who) -> bool:
        """Whether what is shown has the same speakers, each known the same way."""
        return self.current is not None and set(self.current.speakers) == set(who.keys)

    def is_own_data(self, who: Who) -> bool:
        """Whether what is shown states nothing and was put by the same source, whatever it derives from."""
        current = self.current
        return current is not None and current.value["data"] and current.speakers[0] == who.keys[0]

    def to_replace(self, text: str, who: Who) -> list[str]:
        """The memories that a text at this key is to take the place of. What its owner says again stands."""
        over = [] if self.is_own_data(who) else self.live(self.current)
        if who.is_user or self.is_mine(who):
            said = " ".join(text.split())
            over = [id_ for id_ in over if " ".join(self.known[id_].claim.text.split()) not in said]
        return over

    def stands(self, doc: Doc) -> bool:
        """Whether a value may be seen: nothing of it is held back, and not all that it states is superseded.

        Of what the user put, nothing is withheld on account of what the user put elsewhere: each key is the user's to
        change.
        """
        beliefs = [self.known.get(id_) for id_ in doc.ids]
        if any(one is None or one.status not in (Status.ACTIVE, Status.SUPERSEDED) for one in beliefs):
            return False
        found = [one for one in beliefs if one]
        stated = [one for one in found if not keyed.is_labelled(one.claim.text)] or found
        return any(one.status is Status.ACTIVE or one.id in self.kept for one in stated)

    def superseded_last(self) -> list[Belief]:
        """The superseded memories of values that were put after all that stand: the others cannot be shown anyway."""
        newest = max((doc.value["seq"] for doc in self.docs if self.stands(doc)), default=-1)
        later = [id_ for doc in self.docs if doc.value["seq"] > newest for id_ in doc.ids if id_ in self.known]
        return [self.known[id_] for id_ in later if self.known[id_].status is Status.SUPERSEDED]

    def rank(self, doc: Doc, last: Mapping[str, int]) -> tuple[int, int]:
        """Which of several values that stand is shown, the last: the one that was put or accepted last."""
        moved = [last.get(id_, 0) for id_ in doc.ids if self.known[id_].status is Status.ACTIVE]
        return max(doc.value["seq"], *moved, 0), doc.value["n"]

    def is_open(self, doc: Doc) -> bool:
        """Whether a value may yet be shown without an undo."""
        return doc.value["unasked"] or bool(self.live(doc))

    def status(self, doc: Doc) -> Status:
        """How a value stands as a whole."""
        found = {self.known[id_].status for id_ in doc.ids if id_ in self.known}
        if len(found) == 0 or self.stands(doc):
            return Status.ACTIVE if found else Status.RETRACTED
        return next(status for status in _MOST_CAREFUL if status in found)


_MOST_CAREFUL: Final = (
    Status.RETRACTED,
    Status.QUARANTINED,
    Status.CONTESTED,
    Status.REJECTED,
    Status.SUPERSEDED,
    Status.REPEATED,
    Status.ACTIVE,
)


class Pair:
    """The guard of a scope, twice: one takes values apart into what they state, one takes a text whole."""

    def __init__(self, guard: MemoryGuard, scope: str) -> None:
        self.scope = scope
        self.lines, self.whole = guard.for_user(scope), guard.for_user(scope)
        parts = guard._parts  # noqa: SLF001  (there is no public way to give a guard another judge)
        judge = keyed.ByPath(parts.judge)
        self.lines._parts = dataclasses.replace(parts, judge=judge, extractor=keyed.Lines(parts.extractor))  # noqa: SLF001
        self.whole._parts = dataclasses.replace(parts, judge=judge, extractor=keyed.Whole())  # noqa: SLF001
        self.whole._writing = self.lines._writing  # noqa: SLF001  (they write to one memory)
        self._store, self._scope = parts.store, self.lines._scope  # noqa: SLF001

    def version(self) -> int:
        """Of the memory: it grows with each act."""
        return self._store.version(self._scope)

    def changed(self, since: int) -> list[str]:
        """The memories that acts after this one changed."""
        entries = self._store.entries(self._scope, after=since)
        return list(dict.fromkeys(change.belief for entry in entries for change in entry.changes))

    def last_changes(self, since: int) -> dict[str, int]:
        """The act that last changed each memory, of the acts after this one."""
        entries = self._store.entries(self._scope, after=since)
        return {change.belief: entry.seq for entry in entries for change in entry.changes}

    def known(self, ids: Sequence[str]) -> dict[str, Belief]:
        """The memories of these ids that exist."""
        return self._store.get(self._scope, list(dict.fromkeys(ids)))

    def superseded_by_user(self, beliefs: Iterable[Belief]) -> frozenset[str]:
        """Those of the user's memories that words of the user's own superseded."""
        own = [one.id for one in beliefs if one.status is Status.SUPERSEDED and one.claim.from_user]
        by: dict[str, tuple[str, ...]] = {}
        for id_ in own:
            for entry in self._store.entries(self._scope, belief_id=id_):
                by[id_] = next(change.by for change in entry.changes if change.belief == id_)
        others = self.known([other for ids in by.values() for other in ids])
        return frozenset(
            id_ for id_, ids in by.items() if ids and all(i in others and others[i].claim.from_user for i in ids)
        )

    def against(self, ids: Sequence[str]) -> tuple[str, ...]:
        """What memories were held back against."""
        return tuple(dict.fromkeys(rival for id_ in ids for rival in self.lines.get(id_).contradicts))

    def are_live(self, ids: Sequence[str]) -> bool:
        """Whether all of these memories stand or are held back."""
        known = self.known(ids)
        return all(id_ in known and known[id_].status in LIVE for id_ in ids)

    def note(self, text: str, message_id: str, **known: Any) -> Written:
        """Take a text whole: the same text once, as long as it stands."""
        written = self.whole.remember(text, **known)
        if any(one.status not in LIVE for one in written.memories):
            return self.whole.remember(text, message_id=message_id, **known)
        return written

    def ask(self, text: str, *, over: Sequence[str], **known: Any) -> Written | None:
        """Hold a text until the user settles it; ``None`` where what it is against is gone."""
        try:
            return self.whole.remember(text, over=over, hold=True, **known)
        except InputError:
            if self.are_live(over):
                raise
            return None

    def settle(self, ids: Sequence[str], accept: bool, over: Sequence[str]) -> None:
        """Settle what is held back of these memories."""
        for id_, belief in self.known(ids).items():
            if belief.status in HELD_BACK:
                self.lines.resolve(id_, accept, over=over)

    def forget(self, ids: Sequence[str]) -> None:
        """Erase memories."""
        for id_, belief in self.known(ids).items():
            if not belief.erased:
                self.lines.forget(id_)


def message_id(op: PutOp, number: int) -> str:
    """What the guard knows a put by: the same call again has the same id."""
    return f"langgraph/{digest(*op.namespace, op.key)}#{number}"


def digest(*parts: str) -> str:
    """Names, as one short name that no others have."""
    packed = json.dumps(parts, ensure_ascii=True).encode()
    return hashlib.blake2b(packed, digest_size=8).hexdigest()


def marks(place: Place) -> Namespace:
    """Where it is noted what is shown at a key."""
    return (RESERVED, "key", *place[0])


def shelf(place: Place) -> Namespace:
    """Where the values of a key are kept: one of 256 shelves, so that a search for them reads little."""
    return (RESERVED, "value", digest(*place[0], place[1])[:2])


def index_of(scope: str) -> Namespace:
    """Where it is noted at which keys a memory is stated."""
    return (RESERVED, "belief", digest(scope))
