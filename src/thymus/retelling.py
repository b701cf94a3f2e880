"""A history told again without part of it: what ``revoke`` and ``undo`` come to.

The acts are read from the ledger. Up to the first of which something is left out they are copied; from there on each
message is settled again, by the code that settles new ones, in worlds side by side: *told*, the history as it was, and
one for each way of leaving something out. A recorded outcome stands unless today's code makes something else of the act
where something is left out than in *told* (``core.replay.outcome``): a new gate or judge alone changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from thymus.core.beliefs import Act, Belief, Change, Edge
from thymus.core.replay import Omission, Outcome, difference, outcome
from thymus.ports import Entry, Store
from thymus.worlds import Kept, Stage, World, brought

if TYPE_CHECKING:
    from thymus.core.claims import Scope
    from thymus.core.policy import Policy
    from thymus.intake import Parts

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many acts were told again so far, and of how many."""

_FROM_THE_START: Final = frozenset({Act.REVOKE, Act.UNDO, Act.FORGET})
"""Acts after which a retelling that was under way is not what one from the start would be."""
_PORTION: Final = 500
"""Acts whose vectors and judged pairs are read at once."""


@dataclass(slots=True, kw_only=True)
class History:
    """The acts of a scope up to a version, and every belief that they brought."""

    scope: Scope
    version: int = 0
    entries: list[Entry] = field(default_factory=list)
    beliefs: dict[str, Belief] = field(default_factory=dict)

    def read_on(self, store: Store) -> list[Entry]:
        """Read what was done since, and return it."""
        seen, self.version = self.version, store.version(self.scope)
        new = [entry for entry in store.entries(self.scope, after=seen) if entry.seq <= self.version]
        last = max((belief.seq for belief in islice(reversed(self.beliefs.values()), 1)), default=0)
        self.beliefs |= {belief.id: belief for belief in store.beliefs(self.scope, after=last)}
        self.entries += new
        return new


class Retelling:
    """The difference that it makes to leave out ``after`` instead of ``before``.

    :param before: what is left out of the history as it stands.
    :param after: what is to be left out instead.
    """

    def __init__(
        self,
        parts: Parts,
        policy: Policy,
        history: History,
        *,
        before: Omission,
        after: Omission,
        on_step: Progress | None = None,
    ) -> None:
        self._parts = parts
        self._policy = policy
        self._history = history
        self._omissions = (before, after)
        self._on_step = on_step
        self._kept = Kept(judge=parts.judge)
        self._worlds: list[World] = []
        lacking = [_lacking(omission, history) for omission in self._omissions]
        if lacking[0] != lacking[1]:
            self._begin()

    @property
    def version(self) -> int:
        """The version of the scope that the changes start from."""
        return self._history.version

    @property
    def matters(self) -> bool:
        """Whether anything is left out instead that was not left out before."""
        return bool(self._worlds)

    @property
    def changes(self) -> tuple[Change, ...]:
        """The status changes that lead from the beliefs as they stand to the history without ``after``."""
        if not self._worlds:
            return ()
        told, before, after = self._worlds
        return difference(told.statuses, before.statuses, after.statuses)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """What was judged on the way; worth keeping, since one of the two may be forgotten."""
        return tuple(
            Edge(claim=claim, rival=rival, relation=relation) for (claim, rival), relation in self._kept.fresh.items()
        )

    def catch_up(self) -> bool:
        """Tell what was done meanwhile; ``False`` where that needs a retelling from the start."""
        new = self._history.read_on(self._parts.store)
        if not self._worlds or any(entry.act in _FROM_THE_START for entry in new):
            return False
        for world, omission in zip(self._worlds[1:], self._omissions, strict=True):
            world.left_out = omission.of(self._history.entries, self._history.beliefs)
        self._tell(new)
        return True

    def close(self) -> None:
        """Let go of the worlds."""
        for world in self._worlds:
            world.store.close()

    def _begin(self) -> None:
        entries, beliefs = self._history.entries, self._history.beliefs
        left_out = [omission.of(entries, beliefs) for omission in self._omissions]
        undone = self._omissions[0].undone | self._omissions[1].undone
        missing = left_out[0] | left_out[1]
        first = next(
            number
            for number, entry in enumerate(entries)
            if entry.seq in undone or not missing.isdisjoint(brought(entry))
        )
        told = self._copied(entries[:first])
        plain = not left_out[0] and not any(entry.act in (Act.REVOKE, Act.UNDO) for entry in entries)
        others = [told.copy(omission, gone) for omission, gone in zip(self._omissions, left_out, strict=True)]
        self._worlds = [told, told if plain else others[0], others[1]]
        self._tell(entries[first:])

    def _copied(self, entries: Sequence[Entry]) -> World:
        """A world in which these acts came to what they came to."""
        store = Stage(embedder=self._parts.embedder.name, dim=self._parts.embedder.dim)
        world = World(parts=self._parts, policy=self._policy, scope=self._history.scope, kept=self._kept, store=store)
        world.store.fill(
            world.recorded(entry, self._history.beliefs)
            for portion in _portions(entries)
            for entry in self._remind(portion, judged=False)
        )
        world.erase(self._kept.forgotten & world.statuses.keys(), self._history.entries[0].at)
        return world

    def _remind(self, entries: Sequence[Entry], *, judged: bool) -> Sequence[Entry]:
        """Have vectors, and what was judged, of these acts at hand."""
        ids = [id_ for entry in entries for id_ in brought(entry)]
        settled = [entry.note["memory"] for entry in entries if entry.act is Act.RESOLVE]
        store, scope = self._parts.store, self._history.scope
        beliefs = [self._history.beliefs[id_] for id_ in ids]
        edges = store.edges(scope, [*ids, *settled]) if judged else []
        self._kept.remind(beliefs, store.vectors(scope, ids), edges)
        return entries

    def _tell(self, entries: Sequence[Entry]) -> None:
        done = 0
        for portion in _portions(entries):
            for entry in self._remind(portion, judged=True):
                self._tell_one(entry)
                done += 1
                if self._on_step:
                    self._on_step(done, len(entries))

    def _tell_one(self, entry: Entry) -> None:
        told = self._worlds[0]
        others = [world for world in self._worlds[1:] if world is not told]
        if entry.act is Act.REMEMBER:
            self._remember(entry, told, others)
        elif entry.act is Act.RESOLVE:
            then = told.contradicted(entry)
            for world in others:
                world.resolve(entry, then)
        elif entry.act is Act.FORGET:
            for world in others:
                world.forget(entry)
        told.store.commit(told.recorded(entry, self._history.beliefs))
        told.erase(self._kept.forgotten.intersection(brought(entry)), entry.at)

    def _remember(self, entry: Entry, told: World, others: Sequence[World]) -> None:
        ids = brought(entry)
        heard = [(world, [id_ for id_ in ids if id_ not in world.left_out]) for world in others]
        if not any(known for _, known in heard):
            return
        self._kept.begin()
        beliefs = self._history.beliefs
        then = told.rule([beliefs[id_] for id_ in ids])
        for world, known in heard:
            if not known:
                continue
            now = world.rule([beliefs[id_] for id_ in known])
            world.remember(
                entry,
                {
                    id_: outcome(Outcome.recorded(id_, entry.changes), then=then[id_], now=now[id_], live=world.live)
                    for id_ in known
                },
                beliefs,
            )


def _lacking(omission: Omission, history: History) -> tuple[set[str], set[int]]:
    """What an omission leaves out of a history: beliefs, and decisions of the user by their ``seq``."""
    settled = {entry.seq for entry in history.entries if entry.act is Act.RESOLVE and entry.seq in omission.undone}
    return omission.of(history.entries, history.beliefs), settled


def _portions(entries: Sequence[Entry]) -> Iterable[Sequence[Entry]]:
    return (entries[start : start + _PORTION] for start in range(0, len(entries), _PORTION))
