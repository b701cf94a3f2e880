"""Revoking and undoing: a world that tells everything beside one in which part of it was never told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thymus import Written
from thymus.core.beliefs import Status
from thymus.core.provenance import Source
from thymus.errors import InputError
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
)

HELD_BACK = (Status.CONTESTED, Status.QUARANTINED)


SUSPECTS = (LOOKALIKE, COURIER, flooder(1), RELAY, ASSISTANT, RAVI)


@st.composite
def quarrels(draw: st.DrawFn) -> tuple[Source, list[Deed]]:
    """A source to revoke, and a history: half of them quarrels of a few about one thing, which the user settles."""
    suspect = draw(st.sampled_from(SUSPECTS))
    settling = st.builds(Resolve, number=numbers, accept=st.sampled_from([True, True, False]))
    if draw(st.booleans()):
        others = draw(st.lists(st.sampled_from([USER, COURIER, RAVI, flooder(2)]), min_size=2, max_size=3))
        about = facts.filter(lambda text: text.startswith(TOPICS[0]))
        cast = [suspect, suspect, *others]
        quarrel = says(cast, about, derived=False)
        return suspect, draw(
            st.lists(st.one_of(quarrel, quarrel, quarrel, settling, says(cast, about)), min_size=4, max_size=7)
        )
    deeds = st.one_of(
        says(texts=facts),
        says(texts=facts),
        says([suspect, RAVI, COURIER], facts),
        says(),
        settling,
        st.builds(Forget, number=numbers),
        st.builds(Revoke, source=st.sampled_from(REVOCABLE)),
        st.builds(Undo, number=numbers),
    )
    return suspect, draw(st.lists(deeds, min_size=6, max_size=12))


@dataclass
class Twins:
    """Two worlds with one history, but in ``without`` the source never speaks.

    What was derived from its words, or only repeats them, is not told there either; what the user does to its words is
    done in ``whole`` alone.
    """

    source: Source
    whole: World
    without: World
    acts: list[tuple[int, int]] = field(default_factory=list)
    """Rows of the two ledgers that hold the same act."""

    def do(self, deed: Deed) -> None:
        if isinstance(deed, Say):
            self._say(deed)
        elif isinstance(deed, Resolve):
            self._resolve(deed)
        elif isinstance(deed, Forget):
            self._forget(deed)
        elif isinstance(deed, Revoke):
            if deed.source.key != self.source.key:
                self._both(lambda world: world.guard.revoke(deed.source))
        elif self.acts:
            whole, without = pick(self.acts, deed.number)
            self._both(lambda world: world.guard.undo(whole if world is self.whole else without))

    def _both(self, deed: Callable[[World], object]) -> None:
        rows = self.whole.version(), self.without.version()
        deed(self.whole)
        deed(self.without)
        after = self.whole.version(), self.without.version()
        if after[0] > rows[0] and after[1] > rows[1]:
            self.acts.append(after)

    def _say(self, deed: Say) -> None:
        known = self.whole.beliefs()
        origins = [pick(known, number) for number in deed.derived_from if known]
        also_told = self.without.statuses()
        theirs = self._is_theirs(deed.source) or any(
            self._is_theirs(source) for memory in origins for source in (memory.source, *memory.lineage)
        )
        if not theirs and any(memory.id not in also_told for memory in origins):
            return
        rows = self.whole.version(), self.without.version()
        written = self._tell(self.whole, deed, [memory.id for memory in origins])
        echoes = any(
            self._is_theirs(source) for memory in written.memories for source in (memory.source, *memory.lineage)
        )
        if theirs or echoes:
            return
        self._tell(self.without, deed, [memory.id for memory in origins])
        after = self.whole.version(), self.without.version()
        if after[0] > rows[0] and after[1] > rows[1]:
            self.acts.append(after)

    def _tell(self, world: World, deed: Say, origins: list[str]) -> Written:
        return world.guard.remember(deed.text, source=deed.source, derived_from=origins)

    def _is_theirs(self, source: Source) -> bool:
        return source.key == self.source.key

    def _resolve(self, deed: Resolve) -> None:
        held = self.whole.guard.inbox()
        if not held:
            return
        memory = pick(held, deed.number)
        elsewhere = self.without.statuses().get(memory.id)
        if elsewhere is None:
            self.whole.guard.resolve(memory.id, deed.accept)
        elif elsewhere in HELD_BACK:
            self._both(lambda world: world.guard.resolve(memory.id, deed.accept))

    def _forget(self, deed: Forget) -> None:
        known = self.whole.beliefs()
        if known:
            memory = pick(known, deed.number)
            self.whole.guard.forget(memory.id)
            if memory.id in self.without.statuses():
                self.without.guard.forget(memory.id)


def without_repetitions(history: list[Deed]) -> list[Deed]:
    """The history without what a source says in words of its own that it has used before.

    A mere repetition is not kept, so a replay cannot count it where the first saying stands differently without the
    revoked source: the one known gap of G7 (docs/adr/0005-replay.md).
    """
    said: set[tuple[str, str]] = set()
    kept = []
    for deed in history:
        if isinstance(deed, Say):
            words = {(deed.source.key, line) for line in deed.text.splitlines()}
            if words & said:
                continue
            said |= words
        kept.append(deed)
    return kept


def check_revocation(source: Source, history: list[Deed], judge: ScriptedJudge, whole: World) -> None:
    twins = Twins(source=source, whole=whole, without=World(open_guard(judge=judge)))
    for deed in history:
        twins.do(deed)
    twins.whole.guard.revoke(source)
    told, alone = twins.whole.statuses(), twins.without.statuses()
    assert {id_: status for id_, status in alone.items() if id_ in told} == {
        id_: status for id_, status in told.items() if id_ in alone
    }
    assert twins.without.active() == twins.whole.active()
    assert not [
        memory
        for memory in twins.whole.beliefs()
        if memory.status is not Status.RETRACTED
        and any(speaker.key == source.key for speaker in (memory.source, *memory.lineage))
    ]
    assert twins.whole.guard.verify().problems == ()


@pytest.mark.guarantee("G7")
@given(quarrels())
def test_a_revoked_source_might_never_have_spoken(told: tuple[Source, list[Deed]]) -> None:
    """Revoking a source leaves the same beliefs as a history in which it never spoke."""
    judge = ScriptedJudge()
    check_revocation(*told, judge, World(open_guard(judge=judge)))


@pytest.mark.guarantee("G7")
@given(quarrels(), judges)
def test_a_revoked_source_might_never_have_spoken_whatever_the_judge_thinks(
    told: tuple[Source, list[Deed]], judge: ScriptedJudge
) -> None:
    """Revoking a source leaves the same beliefs as a history in which it never spoke."""
    source, history = told
    check_revocation(source, without_repetitions(history), judge, World(open_guard(judge=judge)))


@pytest.mark.guarantee("G7")
@given(quarrels())
def test_a_revocation_holds_in_a_file(
    tmp_path_factory: pytest.TempPathFactory, told: tuple[Source, list[Deed]]
) -> None:
    """Revoking a source leaves the same beliefs as a history in which it never spoke."""
    path = tmp_path_factory.mktemp("memory") / "memory.db"
    judge = ScriptedJudge()
    with open_guard(judge=judge, store=SqliteStore(path, embedder=EMBEDDER.name, dim=EMBEDDER.dim)) as guard:
        check_revocation(*told, judge, World(guard))


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
