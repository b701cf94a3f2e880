"""Revoking and undoing: a world that tells everything beside others in which part of it was never told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from thymus import Memory, Policy, Written, amendments
from thymus.core.beliefs import HELD_BACK, Belief, Status
from thymus.core.gates import GATES
from thymus.core.provenance import Assurance, Source
from thymus.core.replay import Revocation
from thymus.errors import InputError
from thymus.ports import Store
from thymus.stores.memory import MemoryStore
from thymus.stores.sqlite import SqliteStore

from .world import (
    ASSISTANT,
    COURIER,
    EMBEDDER,
    LOOKALIKE,
    RAVI,
    RELAY,
    REVOCABLE,
    TOPICS,
    USER,
    Deed,
    Forget,
    Resolve,
    Revoke,
    Say,
    ScriptedJudge,
    Undo,
    World,
    facts,
    flooder,
    histories,
    judges,
    numbers,
    open_guard,
    pick,
    says,
    values,
)

SUSPECTS = (LOOKALIKE, COURIER, flooder(1), RELAY, ASSISTANT, RAVI)
SAFE = [policy for policy in GATES.values() if not policy.unsafe]
POINTS = 10
several = settings(max_examples=30 if settings().max_examples < 1_000 else settings().max_examples)
"""An example is ten revocations in three worlds: half as many of them for a quick answer, all for a thorough one."""


@dataclass(frozen=True, kw_only=True)
class Tale:
    """A history, and at which points of it (by the number of deeds done) which source is revoked.

    :param ids: whether all messages have an id of their channel; the user's always have one here, because the same
        message of the user is known while it stands, and leaves no trace.
    """

    history: list[Deed]
    revocations: list[tuple[int, Source]]
    ids: bool


def floods(cast: list[Source]) -> st.SearchStrategy[list[Deed]]:
    """One says the same thing many times in other words, or many say it in the same: more than a stratum holds."""
    many = st.builds(
        lambda text, number: [Say(text=text, source=flooder(n)) for n in range(number)], facts, st.integers(4, 9)
    )
    one = st.builds(
        lambda text, source, number: [Say(text=f"{text} {'!' * n}", source=source) for n in range(number)],
        facts,
        st.sampled_from(cast),
        st.integers(4, 9),
    )
    return st.one_of(many, one)


@st.composite
def tales(draw: st.DrawFn) -> Tale:
    """Half of them quarrels of a few about one thing, which the user settles; the others of all sorts, with floods."""
    suspects = draw(st.lists(st.sampled_from(SUSPECTS), min_size=1, max_size=2, unique=True))
    settling = st.builds(Resolve, number=numbers, accept=st.sampled_from([True, True, False]))
    if draw(st.booleans()):
        others = draw(st.lists(st.sampled_from([USER, COURIER, RAVI, flooder(2)]), min_size=2, max_size=3))
        about = st.builds(f"{TOPICS[0]} is {{}}".format, values)
        cast = [*suspects, *suspects, *others]
        quarrel = says(cast, about, derived=False)
        deeds: st.SearchStrategy[Deed] = st.one_of(quarrel, quarrel, quarrel, settling, says(cast, about))
        history = draw(st.lists(deeds, min_size=4, max_size=9))
    else:
        deeds = st.one_of(
            says(texts=facts),
            says(texts=facts),
            says([*suspects, RAVI, COURIER], facts),
            says(),
            settling,
            st.builds(Forget, number=numbers),
            st.builds(Revoke, source=st.sampled_from(REVOCABLE)),
            st.builds(Undo, number=numbers),
        )
        parts = draw(
            st.lists(st.one_of(deeds.map(lambda deed: [deed]), floods([*suspects, RAVI])), min_size=6, max_size=12)
            if draw(st.integers(0, 3)) == 0
            else st.lists(deeds.map(lambda deed: [deed]), min_size=6, max_size=14)
        )
        history = [deed for part in parts for deed in part]
    points = st.tuples(st.integers(1, len(history)), st.sampled_from(suspects))
    return Tale(
        history=history, revocations=draw(st.lists(points, min_size=1, max_size=POINTS)), ids=draw(st.booleans())
    )


@dataclass
class Clock:
    """One time for all worlds; it goes on by a minute with each deed."""

    at: datetime = datetime(2026, 3, 2, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at


def everything(world: World) -> dict[str, Belief]:
    """Every belief, mere repetitions too."""
    return {belief.id: belief for belief in world.guard._parts.store.beliefs(world.guard._scope)}


def standing(statuses: dict[str, Status]) -> dict[str, Status]:
    """How beliefs stand; retracted is as good as never told."""
    return {id_: status for id_, status in statuses.items() if status is not Status.RETRACTED}


@dataclass
class Without:
    """A world in which a source has not spoken since a time, nor was anything told that was derived from its words.

    :param rows: by row of the ledger of the whole world, the row here that holds the same act.
    :param unlike: the user had more erased here than in the whole world, where a repetition was a memory of its own.
    """

    source: Source
    world: World
    since: datetime | None = None
    rows: dict[int, int] = field(default_factory=dict)
    unlike: bool = False

    def covers(self, speakers: tuple[Source, ...], told_at: datetime) -> bool:
        """Whether something that these said then is not told here."""
        named = any(speaker.key == self.source.key for speaker in speakers)
        return named and (self.since is None or told_at >= self.since)


@dataclass
class Worlds:
    """One history in several worlds: the whole of it, and once without each suspect.

    What a model merely repeats of a suspect's is not told without the suspect either; what the user does to its claims
    is done in the whole world alone. What cannot be said in all worlds alike is said in none.
    """

    whole: World
    others: list[Without]
    clock: Clock
    ids: bool
    told_at: dict[str, datetime] = field(default_factory=dict)

    def do(self, deed: Deed) -> None:
        self.clock.at += timedelta(minutes=1)
        if isinstance(deed, Say):
            self.say(deed)
        elif isinstance(deed, Resolve):
            self.resolve(deed)
        elif isinstance(deed, Forget):
            self.forget(deed)
        elif isinstance(deed, Revoke):
            others = [other for other in self.others if other.source.key != deed.source.key or other.since]
            self.act(lambda world: world.guard.revoke(deed.source), others)
        elif rows := sorted({row for other in self.others for row in other.rows}):
            row = pick(rows, deed.number)
            with self.noting():
                self.whole.guard.undo(row)
                for other in self.others:
                    if row in other.rows:
                        other.world.guard.undo(other.rows[row])

    def act(self, deed: Callable[[World], object], others: list[Without]) -> None:
        with self.noting():
            deed(self.whole)
            for other in others:
                deed(other.world)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note which rows of the ledgers hold the same act."""
        whole = self.whole.version()
        rows = [other.world.version() for other in self.others]
        yield
        if self.whole.version() > whole:
            for other, row in zip(self.others, rows, strict=True):
                if other.world.version() > row:
                    other.rows[self.whole.version()] = other.world.version()

    def say(self, deed: Say) -> None:
        known = self.whole.beliefs()
        origins = [pick(known, number) for number in deed.derived_from if known]
        speakers = (deed.source, *(one for memory in origins for one in (memory.source, *memory.lineage)))
        hearing = [other for other in self.others if not other.covers(speakers, self.clock.at)]
        if any(memory.id not in everything(other.world) for other in hearing for memory in origins):
            return
        by_model = any(speaker.assurance is Assurance.REPORTED for speaker in speakers)
        for text in deed.text.splitlines() if by_model else [deed.text]:
            self.clock.at += timedelta(seconds=1)
            with self.noting():
                written = self.tell(self.whole, text, deed.source, origins)
                for id_ in everything(self.whole).keys() - self.told_at.keys():
                    self.told_at[id_] = self.clock.at
                for other in hearing:
                    if not (by_model and self.repeats(written, other)):
                        self.tell(other.world, text, deed.source, origins)

    def tell(self, world: World, text: str, source: Source, origins: list[Memory]) -> Written:
        id_ = self.clock.at.isoformat() if self.ids or source is USER else None
        return world.guard.remember(text, source=source, derived_from=[memory.id for memory in origins], message_id=id_)

    def repeats(self, written: Written, other: Without) -> bool:
        """Whether something only repeats what is not told there."""
        return any(
            other.covers((memory.source, *memory.lineage), self.told_at[memory.id]) for memory in written.memories
        )

    def resolve(self, deed: Resolve) -> None:
        held = self.whole.guard.inbox()
        if not held:
            return
        memory = pick(held, deed.number)
        found = {other.source.key: everything(other.world).get(memory.id) for other in self.others}
        there = [other for other in self.others if found[other.source.key]]
        if all(belief is None or belief.status in HELD_BACK for belief in found.values()):
            self.act(lambda world: world.guard.resolve(memory.id, deed.accept), there)

    def forget(self, deed: Forget) -> None:
        known = self.whole.beliefs()
        if not known:
            return
        erased = self.whole.guard.forget(pick(known, deed.number).id)
        for other in self.others:
            for change in erased.changes:
                belief = everything(other.world).get(change.belief)
                if belief is not None and not belief.erased:
                    gone = {one.belief for one in other.world.guard.forget(belief.id).changes}
                    other.unlike = other.unlike or not gone <= {one.belief for one in erased.changes}

    def check(self, other: Without) -> None:
        """That a revocation now would leave the beliefs of the world in which the source did not speak."""
        guard = self.whole.guard
        revocation = Revocation(source=other.source.key, since=other.since)
        retelling = amendments.revoke(guard._parts, guard.policy, guard._scope, revocation)
        changes, edges = retelling.changes, retelling.edges
        retelling.close()
        if other.unlike or any("forgotten before" in edge.relation.because for edge in edges):
            event("a forgotten memory would have had to be compared")
            return
        event("exact")
        told = {id_: belief.status for id_, belief in everything(self.whole).items()}
        becomes = told | {change.belief: change.after for change in changes}
        alone = {id_: belief.status for id_, belief in everything(other.world).items()}
        assert standing(alone) == standing(becomes)


def check_tale(tale: Tale, judge: ScriptedJudge, policy: Policy, store: Store, *, since: int | None = None) -> None:
    clock = Clock()

    def open_world(store: Store | None = None) -> World:
        guard = open_guard(judge=judge, gate=policy, store=store)
        object.__setattr__(guard._parts, "clock", clock)
        return World(guard)

    named = {source.key: source for _, source in tale.revocations}
    at = None if since is None else clock.at + timedelta(minutes=since)
    others = {key: Without(source=source, world=open_world(), since=at) for key, source in named.items()}
    worlds = Worlds(whole=open_world(store), others=list(others.values()), clock=clock, ids=tale.ids)
    for number, deed in enumerate(tale.history, start=1):
        worlds.do(deed)
        for source in {source.key for point, source in tale.revocations if point == number}:
            worlds.check(others[source])
    last = others[tale.revocations[-1][1].key]
    worlds.check(last)
    worlds.whole.guard.revoke(last.source, since=at)
    for belief in everything(worlds.whole).values():
        if belief.status is not Status.RETRACTED:
            assert not last.covers(belief.claim.speakers, worlds.told_at[belief.id])
    assert worlds.whole.guard.verify().problems == ()


@pytest.mark.guarantee("G7")
@several
@given(tales(), judges, st.sampled_from(SAFE))
def test_a_revoked_source_might_never_have_spoken(tale: Tale, judge: ScriptedJudge, policy: Policy) -> None:
    """Revoking a source leaves the same beliefs as a history in which it never spoke.

    At ten points of a history, whoever spoke and whatever the judge thinks.
    """
    check_tale(tale, judge, policy, MemoryStore(embedder=EMBEDDER.name, dim=EMBEDDER.dim))


@pytest.mark.guarantee("G7")
@several
@given(tales(), judges, st.sampled_from(SAFE), st.integers(1, 8))
def test_an_hour_of_a_source_might_never_have_been(
    tale: Tale, judge: ScriptedJudge, policy: Policy, since: int
) -> None:
    """Revoking a source leaves the same beliefs as a history in which it never spoke.

    Since a time, if only that is asked for.
    """
    check_tale(tale, judge, policy, MemoryStore(embedder=EMBEDDER.name, dim=EMBEDDER.dim), since=since)


@pytest.mark.guarantee("G7")
@several
@given(tales(), judges, st.sampled_from(SAFE))
def test_a_revocation_holds_in_a_file(
    tmp_path_factory: pytest.TempPathFactory, tale: Tale, judge: ScriptedJudge, policy: Policy
) -> None:
    """Revoking a source leaves the same beliefs as a history in which it never spoke."""
    path = tmp_path_factory.mktemp("memory") / "memory.db"
    with_file = SqliteStore(path, embedder=EMBEDDER.name, dim=EMBEDDER.dim)
    try:
        check_tale(tale, judge, policy, with_file)
    finally:
        with_file.close()


@pytest.mark.guarantee("G6")
@given(
    histories,
    st.one_of(
        says(),
        st.builds(Resolve, number=numbers, accept=st.booleans()),
        st.builds(Revoke, source=st.sampled_from(SUSPECTS)),
    ),
    judges,
)
def test_undoing_the_last_act_restores_what_stood_before(history: list[Deed], deed: Deed, judge: ScriptedJudge) -> None:
    """Every status change has a ledger row, and can be explained and undone."""
    world = World(open_guard(judge=judge))
    world.tell(history)
    before = world.statuses()
    rows = world.version()
    world.do(deed)
    if world.version() > rows:
        done = world.statuses()
        undoing = world.guard.undo(world.version())
        assert before == {id_: status for id_, status in world.statuses().items() if id_ in before}
        assert {Status.RETRACTED} >= {status for id_, status in world.statuses().items() if id_ not in before}
        if undoing.changes:
            world.guard.undo(undoing.seq)
        assert done == world.statuses()


@pytest.mark.guarantee("G6")
@given(histories, numbers, judges)
def test_undoing_an_undoing_restores_what_stood_before(history: list[Deed], number: int, judge: ScriptedJudge) -> None:
    """Every status change has a ledger row, and can be explained and undone.

    Any act but a forgetting can be undone, however long ago; undoing that again leaves nothing changed.
    """
    world = World(open_guard(judge=judge))
    world.tell([deed for deed in history if not isinstance(deed, Undo)])
    if world.acts:
        before = world.statuses()
        undoing = world.guard.undo(pick(world.acts, number))
        if undoing.changes:
            world.guard.undo(undoing.seq)
        assert before == world.statuses()


@pytest.mark.guarantee("G6")
@given(histories)
def test_undoing_what_changed_nothing_changes_nothing(history: list[Deed]) -> None:
    """Every status change has a ledger row, and can be explained and undone."""
    world = World(open_guard())
    world.tell(history)
    before = world.statuses()
    nothing = world.guard.revoke("email:nobody@never.example")
    assert nothing.changes == ()
    with suppress(InputError):
        world.guard.undo(nothing.seq)
    assert before == world.statuses()
