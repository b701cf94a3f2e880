"""Everybody at once: user, courier, lookalike, flooder and relay act in any order on two stores, step by step.

The in-memory store is the oracle; a SQLite file must say the same after every step.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from thymus import Memory, Source
from thymus.core.beliefs import Status
from thymus.stores.sqlite import SqliteStore

from .checks import check_disclosure, check_ledger, check_no_outside_voice, check_superseders, has_authority
from .manifest import GUARANTEES
from .world import (
    ASSISTANT,
    COURIER,
    EMBEDDER,
    LOOKALIKE,
    PRETENDER,
    RAVI,
    RELAY,
    REVOCABLE,
    SPOOF,
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
    judges,
    messages,
    numbers,
    open_guard,
)


class Crowd(RuleBasedStateMachine):
    """Two worlds with one history."""

    @initialize(judge=judges)
    def open(self, judge: ScriptedJudge) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "memory.db"
        self.memory = World(open_guard(judge=judge))
        store = SqliteStore(path, embedder=EMBEDDER.name, dim=EMBEDDER.dim)
        self.file = World(open_guard(judge=judge, store=store))
        self.neighbours = [World(world.guard.for_user("ravi")) for world in (self.memory, self.file)]
        for neighbour in self.neighbours:
            neighbour.guard.remember("rent is 9")
        self.said: list[Say] = []

    def teardown(self) -> None:
        if hasattr(self, "file"):
            self.file.guard.close()
            self.folder.cleanup()

    def both(self, deed: Deed) -> None:
        before = {memory.id: memory for memory in self.memory.guard.memories()}
        done = self.memory.do(deed)
        assert done == self.file.do(deed)  # G10
        if isinstance(deed, Say):
            self.said.append(deed)
            self.nothing_was_taken(before)

    def nothing_was_taken(self, before: dict[str, Memory]) -> None:
        """G12: what left the active ones was superseded by authority, and only by that."""
        known = {memory.id: memory for memory in self.memory.beliefs()}
        for id_ in before.keys() - {memory.id for memory in self.memory.guard.memories()}:
            assert known[id_].status is Status.SUPERSEDED
            last = self.memory.guard.history(id_)[-1].changes[-1]
            assert all(has_authority(known[by], known[id_]) for by in last.by)

    @rule(text=messages)
    def user_says(self, text: str) -> None:
        self.both(Say(text=text, source=USER))

    @rule(text=messages)
    def courier_says(self, text: str) -> None:
        self.both(Say(text=text, source=COURIER))

    @rule(text=messages, source=st.sampled_from([LOOKALIKE, SPOOF, RAVI, PRETENDER]))
    def lookalike_says(self, text: str, source: Source) -> None:
        self.both(Say(text=text, source=source))

    @rule(text=facts, count=st.integers(1, 4))
    def flooder_says(self, text: str, count: int) -> None:
        for number in range(count):
            self.both(Say(text=text, source=flooder(number)))

    @rule(text=messages, number=numbers, source=st.sampled_from([RELAY, ASSISTANT, COURIER]))
    def relay_passes_on(self, text: str, number: int, source: Source) -> None:
        self.both(Say(text=text, source=source, derived_from=(number,)))

    @rule(number=numbers, accept=st.booleans())
    def user_resolves(self, number: int, accept: bool) -> None:
        self.both(Resolve(number=number, accept=accept))

    @rule(number=numbers)
    def user_forgets(self, number: int) -> None:
        self.both(Forget(number=number))

    @rule(source=st.sampled_from(REVOCABLE))
    def user_revokes(self, source: Source) -> None:
        self.both(Revoke(source=source))

    @rule(number=numbers)
    def user_undoes(self, number: int) -> None:
        self.both(Undo(number=number))

    @precondition(lambda self: self.said)
    @rule()
    def the_last_message_comes_again(self) -> None:
        """G13, for what is told at first hand: its last telling still stands."""
        said = self.said[-1]
        if not said.derived_from and said.source is not USER:
            before = self.memory.statuses()
            self.memory.do(said)
            self.file.do(said)
            assert before == self.memory.statuses()

    @rule(topic=st.sampled_from(TOPICS), teller=st.sampled_from([USER, ASSISTANT, RELAY, LOOKALIKE]))
    def a_recall_comes_back(self, topic: str, teller: Source) -> None:
        """G13."""
        recall = self.memory.guard.recall(f"what is {topic}")
        assert recall == self.file.guard.recall(f"what is {topic}")
        for said in (recall.context, recall.notice):
            if said:
                before = self.memory.statuses()
                for world in (self.memory, self.file):
                    world.guard.remember(said, source=teller)
                assert before == self.memory.statuses()

    @invariant()
    def guarantees_hold(self) -> None:
        if not hasattr(self, "memory"):
            return
        check_no_outside_voice(self.memory)
        check_superseders(self.memory)
        check_disclosure(self.memory)
        check_ledger(self.memory)

    @invariant()
    def stores_agree(self) -> None:
        if hasattr(self, "memory"):
            assert self.memory.guard.export() == self.file.guard.export()
            assert self.file.guard.verify().problems == ()

    @invariant()
    def the_neighbour_is_left_alone(self) -> None:
        """G5."""
        if hasattr(self, "memory"):
            for neighbour in self.neighbours:
                assert [memory.text for memory in neighbour.guard.memories(status=None)] == ["rent is 9"]


CHECKED = ("G1", "G2", "G3", "G5", "G6", "G10", "G12", "G13")


def test_the_crowd_breaks_nothing() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    thorough = settings().max_examples >= 1_000
    run_state_machine_as_test(
        Crowd, settings=settings(max_examples=200 if thorough else 25, stateful_step_count=30 if thorough else 15)
    )


for _id in CHECKED:
    test_the_crowd_breaks_nothing = pytest.mark.guarantee(_id)(test_the_crowd_breaks_nothing)
test_the_crowd_breaks_nothing.__doc__ = "\n".join(GUARANTEES[_id] for _id in CHECKED)
