"""A ledger's memories as Mem0 keeps them: what is active under the user's own id, everything else on a shelf beside it.

The two stores cannot commit together. The ledger is written first and alone decides; Mem0 follows it, act by act, and
what it missed it is given again. So whatever goes wrong in between, nothing that was learned is lost, and whoever reads
Mem0 directly finds under the user's id no claim that was held back from its beginning.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from thymus.core.beliefs import Belief, Status
from thymus.core.provenance import ASSISTANT

if TYPE_CHECKING:
    from thymus.core.claims import Scope
    from thymus.ports import Store

Item: TypeAlias = dict[str, Any]
"""A memory as Mem0's own methods return it."""

SHELF: Final = "thymus-shelf:"
"""Before a user's id: where Mem0 keeps what is not active. No user may be called so."""
ADOPTED: Final = "thymus_adopted"
"""In the metadata: the id that Mem0 knew it by before it was adopted."""
NOT_A_CLAIM: Final = "not-a-claim"
"""The status of a memory that was found in Mem0 and states nothing."""
MOST: Final = 10_000
"""Memories that are listed at once: some vector stores give no more."""
_IDENTITY: Final = ("agent_id", "run_id")
_log = logging.getLogger("thymus.integrations")


def facts(belief: Belief) -> dict[str, str]:
    """What the ledger says of a memory, as Mem0's metadata: flat, and strings alone, which every vector store takes."""
    claim = belief.claim
    return {
        "thymus_id": belief.id,
        "thymus_status": belief.status.value,
        "thymus_source": claim.source.key,
        "thymus_assurance": claim.source.assurance.name.lower(),
        "thymus_derived_from": ", ".join(source.key for source in claim.lineage),
        "thymus_kind": claim.kind.value,
        "thymus_observed_at": claim.observed_at.isoformat(),
    }


def is_ours(key: str) -> bool:
    """Whether a key of the metadata is kept by Thymus, so that no application may set it."""
    return key.startswith("thymus_")


def known_as(item: Item) -> str:
    """The id in the ledger that a memory of Mem0 says it has."""
    return str((item.get("metadata") or {}).get("thymus_id") or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What an application keeps with a memory in Mem0; the ledger has no place for it."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    agent_id: str | None = None
    run_id: str | None = None
    expiration_date: Any = None

    @classmethod
    def of(cls, item: Item) -> Beside:
        """What is kept with a memory as Mem0 returns it, from under the user or from the shelf."""
        kept = item.get("metadata") or {}
        identity = {key: item.get(key) or kept.get(f"thymus_{key}") for key in _IDENTITY}
        metadata = {key: value for key, value in kept.items() if key == ADOPTED or not is_ours(key)}
        return cls(metadata=metadata, expiration_date=item.get("expiration_date"), **identity)


class Mirror:
    """Keeps one user's memories in Mem0 as the ledger has them. Safe to use from several threads.

    :param memory: Mem0's ``Memory``.
    """

    def __init__(self, memory: Any, store: Store, scope: Scope) -> None:
        self.memory, self.store, self.scope = memory, store, scope
        self.user, self.shelf = scope.user, f"{SHELF}{scope.user}"
        self.lock = threading.RLock()
        self._at: int | None = None
        self._beside: dict[str, Beside] = {}

    def note(self, ids: Iterable[str], beside: Beside) -> None:
        """Keep what the application gave along with these memories, until they are in Mem0."""
        self._beside.update(dict.fromkeys(ids, beside))

    def follow(
        self,
        copies: Callable[[str], Sequence[Item]] | None = None,
        *,
        fresh: Collection[str] = (),
        also: Iterable[str] = (),
    ) -> None:
        """Give Mem0 what the ledger has and it lacks: all of it the first time, then what changed since.

        What fails is raised, and done again the next time.

        :param copies: the memories of Mem0 that are known to be of this id; asked of Mem0 by default.
        :param fresh: ids that were given by this very call, so that Mem0 cannot have them.
        :param also: ids that are looked at whether they changed or not.
        """
        with self.lock:
            now = self.store.version(self.scope)
            if self._at is None:
                self.sync()
            elif now != self._at or also:
                entries = self.store.entries(self.scope, after=self._at)
                ids = dict.fromkeys([*(change.belief for entry in entries for change in entry.changes), *also])
                for id_, belief in self.store.get(self.scope, list(ids)).items():
                    self._put(belief, () if id_ in fresh else (copies or self.copies)(id_))
            self._at = now
            self._beside.clear()

    def sync(self) -> int:
        """Compare everything, and mend what differs; how many memories of Mem0 were written or removed for it.

        What is in Mem0 and not in the ledger is left alone: ``adopt`` takes it in.
        """
        with self.lock:
            found: defaultdict[str, list[Item]] = defaultdict(list)
            listed = [self.listed(home) for home in (self.user, self.shelf)]
            for item in (item for items in listed for item in items):
                found[known_as(item)].append(item)
            complete = all(len(items) < MOST for items in listed)
            now, mended = self.store.version(self.scope), 0
            for belief in self.store.beliefs(self.scope):
                copies = found.pop(belief.id, ()) or (() if complete else self.copies(belief.id))
                mended += self._put(belief, copies)
            if strangers := sum(
                (item.get("metadata") or {}).get("thymus_status") != NOT_A_CLAIM
                for items in found.values()
                for item in items
            ):
                _log.warning(
                    "%d memories in Mem0 were not written through Thymus, and are not shown: adopt() takes them in",
                    strangers,
                )
            self._at = now
            return mended

    def listed(self, home: str) -> list[Item]:
        """What Mem0 has under this user or on this shelf, expired or not; at most ``MOST``."""
        return self._all({"user_id": home})

    def copies(self, belief_id: str) -> list[Item]:
        """The memories of Mem0 that are of this id: one, unless a write was cut short or made twice."""
        return self._with({"thymus_id": belief_id})

    def adopted_as(self, mem0_id: str) -> list[Item]:
        """The memories that one of Mem0's has become."""
        return self._with({ADOPTED: mem0_id})

    def _with(self, filters: Mapping[str, str]) -> list[Item]:
        return [item for home in (self.user, self.shelf) for item in self._all({"user_id": home, **filters})]

    def kept(self, asked: Mapping[str, str]) -> list[Item]:
        """What Mem0 has under the user or on the shelf, adopted or not; only that of an agent or run, if asked for."""
        items = [item for home in (self.user, self.shelf) for item in self.listed(home)]
        return [item for item in items if all(getattr(Beside.of(item), key) == asked[key] for key in asked)]

    def take_out(self, asked: Mapping[str, str]) -> None:
        """Delete what ``kept`` gives."""
        gone: set[str] = set()
        while found := [item for item in self.kept(asked) if item["id"] not in gone]:
            self._drop(found)
            gone |= {item["id"] for item in found}

    def _all(self, filters: Mapping[str, str]) -> list[Item]:
        found: list[Item] = self.memory.get_all(filters=dict(filters), top_k=MOST, show_expired=True)["results"]
        return found

    def _put(self, belief: Belief, copies: Sequence[Item]) -> int:
        """Have Mem0 hold a memory once, where it belongs and as it stands; how much had to be done."""
        if belief.erased or belief.status is Status.REPEATED:
            return self._drop(copies)
        home = self.user if belief.status is Status.ACTIVE else self.shelf
        # A claim keeps the memory that names it; one that is being adopted comes after.
        here = sorted(
            (item for item in copies if item.get("user_id") == home), key=lambda it: known_as(it) != belief.id
        )
        done = 0
        if not here:
            self._add(belief, home, self._beside.get(belief.id) or (Beside.of(copies[0]) if copies else Beside()))
            done = 1
        elif differs(here[0], belief):
            self.memory.update(here[0]["id"], text=belief.claim.text, metadata=facts(belief))
            done = 1
        return done + self._drop([*here[1:], *(item for item in copies if item.get("user_id") != home)])

    def _add(self, belief: Belief, home: str, beside: Beside) -> None:
        claim, identity = belief.claim, {key: getattr(beside, key) for key in _IDENTITY}
        given = {key: value for key, value in identity.items() if value}
        # On the shelf these would make it visible to whoever asks for an agent or a run alone.
        shelved = {f"thymus_{key}": value for key, value in given.items()} if home == self.shelf else {}
        message = {"role": role(belief), "content": claim.text}
        if not claim.from_user:
            message["name"] = claim.source.key
        self.memory.add(
            [message],
            user_id=home,
            metadata={**beside.metadata, **shelved, **facts(belief)},
            expiration_date=beside.expiration_date,
            infer=False,
            **({} if shelved else given),
        )

    def _drop(self, copies: Sequence[Item]) -> int:
        for item in copies:
            self.memory.delete(item["id"])
        return len(copies)


def differs(item: Item, belief: Belief) -> bool:
    """Whether a memory of Mem0 is not as the ledger has it."""
    metadata = item.get("metadata") or {}
    return item.get("memory") != belief.claim.text or any(metadata.get(k) != v for k, v in facts(belief).items())


def role(belief: Belief) -> str:
    """The role that Mem0 notes: whose message it was."""
    if belief.claim.from_user:
        return "user"
    return "assistant" if belief.claim.source.channel == ASSISTANT else "tool"
