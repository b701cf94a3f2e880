"""The guarantees through the guard, on random histories of every actor, with judges that err and fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from thymus import MemoryGuard
from thymus.core.beliefs import Status
from thymus.core.provenance import Source
from thymus.errors import MemoryNotFoundError

from .checks import (
    check_disclosure,
    check_ledger,
    check_no_outside_voice,
    check_superseders,
    contradicting,
    has_authority,
)
from .world import (
    ASSISTANT,
    COURIER,
    LOOKALIKE,
    OUTSIDERS,
    RAVI,
    RELAY,
    SPOOF,
    TOPICS,
    USER,
    Deed,
    Say,
    ScriptedJudge,
    World,
    facts,
    flooder,
    histories,
    judges,
    messages,
    open_guard,
    pick,
    says,
)


def told(history: Sequence[Deed], judge: ScriptedJudge | None = None) -> World:
    world = World(open_guard(judge=judge))
    world.tell(history)
    return world


@pytest.mark.guarantee("G1")
@given(histories, judges)
def test_nobody_else_speaks_for_the_user(history: list[Deed], judge: ScriptedJudge) -> None:
    """Outside content never becomes an active preference or instruction."""
    check_no_outside_voice(told(history, judge))


@pytest.mark.guarantee("G2")
@given(histories, judges)
def test_every_superseder_had_authority(history: list[Deed], judge: ScriptedJudge) -> None:
    """A belief is superseded only by the user or by its own authenticated identity."""
    check_superseders(told(history, judge))


@pytest.mark.guarantee("G3")
@given(histories, judges, st.integers(1, 8))
def test_the_contested_is_withheld_and_disclosed(history: list[Deed], judge: ScriptedJudge, k: int) -> None:
    """Under a disclosing gate no contested value reaches the context, and each one related to a recalled belief is in
    the notice with its source.
    """
    check_disclosure(told(history, judge), k=k)


@pytest.mark.guarantee("G3")
@given(histories, facts, st.sampled_from(OUTSIDERS))
def test_what_contradicts_without_authority_is_told_to_the_user_alone(
    history: list[Deed], text: str, teller: Source
) -> None:
    """Under a disclosing gate no contested value reaches the context, and each one related to a recalled belief is in
    the notice with its source.
    """
    world = told(history)
    before = world.guard.memories()
    written = world.guard.remember(text, source=teller)
    fresh = [memory for memory in written.memories if "already-known" not in written.reasons]
    for memory in fresh:
        against = [other for other in before if contradicting(memory, other) and not has_authority(memory, other)]
        if against:
            assert memory.status is Status.CONTESTED
            recall = world.guard.recall(against[0].text, k=1)
            assert memory.id not in {shown.id for shown in recall.memories}
            if against[0].id in {shown.id for shown in recall.memories}:
                assert memory.id in {contested.id for contested in recall.contested}


@pytest.mark.guarantee("G4")
@given(facts, facts, st.sampled_from(OUTSIDERS))
def test_a_broken_judge_lets_nothing_past_the_user(mine: str, theirs: str, teller: Source) -> None:
    """Verification never lowers caution.

    While no judge answers, what an outsider says beside a memory of the user is held back.
    """
    guard = open_guard(judge=ScriptedJudge(broken=True))
    guard.remember(mine)
    written = guard.remember(theirs, source=teller)
    assert mine == theirs or [memory.status for memory in written.memories] == [Status.CONTESTED]
    assert [memory.text for memory in guard.recall(theirs).memories] == [mine]


@pytest.mark.guarantee("G5")
@given(histories, histories)
def test_one_users_history_never_shows_in_anothers(mine: list[Deed], theirs: list[Deed]) -> None:
    """No read or effect crosses a scope.

    Two users of one store stand where each would stand alone, and no id of the one means anything to the other.
    """
    alone = told(mine)
    first = World(open_guard())
    second = World(first.guard.for_user("ravi"))
    for number in range(max(len(mine), len(theirs))):
        if number < len(mine):
            first.do(mine[number])
        if number < len(theirs):
            second.do(theirs[number])
    assert list(alone.statuses().values()) == list(first.statuses().values())
    assert [memory.text for memory in alone.beliefs()] == [memory.text for memory in first.beliefs()]
    assert not first.statuses().keys() & second.statuses().keys()
    for memory in first.beliefs():
        for deed in (second.guard.get, second.guard.forget, second.guard.explain, second.guard.history):
            with pytest.raises(MemoryNotFoundError):
                deed(memory.id)
        with pytest.raises(MemoryNotFoundError):
            second.guard.remember("rent is 5", derived_from=[memory.id])
        with pytest.raises(MemoryNotFoundError):
            second.guard.resolve(memory.id, accept=True)
    theirs_only = {memory.text for memory in second.beliefs()} - {memory.text for memory in first.beliefs()} - {""}
    for topic in TOPICS:
        recall = first.guard.recall(f"what is {topic}")
        assert not [text for text in theirs_only if text in recall.context or text in recall.notice]


@pytest.mark.guarantee("G6")
@given(histories, judges)
def test_the_ledger_tells_every_status(history: list[Deed], judge: ScriptedJudge) -> None:
    """Every status change has a ledger row, and can be explained and undone."""
    check_ledger(told(history, judge))


@pytest.mark.guarantee("G8")
@given(
    st.lists(says(), max_size=6),
    facts,
    st.integers(2, 14),
    st.lists(says([USER, COURIER, LOOKALIKE, RAVI], derived=False), max_size=4),
    st.integers(1, 4),
)
def test_a_flood_does_no_more_than_its_first_message(
    before: list[Say], lie: str, many: int, after: list[Say], k: int
) -> None:
    """Any number of outside sources agreeing has no more effect than one of them.

    Once with one source and once with many: the same texts stand, and recalls show the same texts.
    """
    one, flood = World(open_guard()), World(open_guard())
    for world, number in ((one, 1), (flood, many)):
        world.tell(before)
        world.tell([Say(text=lie, source=flooder(100 + n)) for n in range(number)])
        world.tell(after)
    assert one.active() == flood.active()
    others = {id_: status for id_, status in flood.statuses().items() if id_ in one.statuses()}
    assert one.statuses() == others
    for topic in TOPICS:
        asked, asked_in_flood = (world.guard.recall(f"what is {topic}", k=k) for world in (one, flood))
        assert sorted(memory.text for memory in asked.memories) == sorted(
            memory.text for memory in asked_in_flood.memories
        )
        assert {memory.text for memory in asked.contested} == {memory.text for memory in asked_in_flood.contested}
        for memory in asked.contested:
            assert (f"“{memory.text}”" in asked.notice) == (f"“{memory.text}”" in asked_in_flood.notice)


@pytest.mark.guarantee("G9")
@given(histories, messages, st.sampled_from([USER, COURIER, RELAY, ASSISTANT, LOOKALIKE]), st.integers(0, 30))
def test_passing_it_on_adds_no_authority(history: list[Deed], text: str, teller: Source, number: int) -> None:
    """A claim derived from others never has more authority than the weakest of them.

    What is told in an earlier memory's wake replaces only what both its teller and that memory's speakers may replace.
    """
    world = told(history)
    known = world.beliefs()
    assume(known)
    origin = pick(known, number)
    before = {memory.id: memory for memory in known}
    written = world.guard.remember(text, source=teller, derived_from=[origin.id])
    lineage = {origin.source, *origin.lineage}
    for memory in written.memories:
        if memory.id not in before:
            assert set(memory.lineage) == lineage
    for replaced in written.replaced:
        for speaker in (teller, *lineage):
            alone = replace(written.memories[0], source=speaker, lineage=())
            assert has_authority(alone, before[replaced])


@pytest.mark.guarantee("G12")
@given(histories, messages, st.sampled_from(OUTSIDERS), judges)
def test_no_outsider_takes_a_belief_away(history: list[Deed], text: str, teller: Source, judge: ScriptedJudge) -> None:
    """A claim without authority never makes an active belief unavailable."""
    world = told(history, judge)
    before = world.guard.memories()
    written = world.guard.remember(text, source=teller)
    after = {memory.id for memory in world.guard.memories()}
    by = written.memories[0] if written.memories else None
    for memory in before:
        if by is None or not has_authority(by, memory):
            assert memory.id in after
    for topic in TOPICS:
        context = {memory.text for memory in world.guard.recall(f"what is {topic}", k=99).memories}
        assert {memory.text for memory in world.guard.memories()} == context


@pytest.mark.guarantee("G13")
@given(histories, st.one_of(says(derived=False), says([USER], derived=False)), judges)
def test_the_same_message_again_changes_nothing(history: list[Deed], said: Say, judge: ScriptedJudge) -> None:
    """Remembering the same message again, or what a recall returned, changes nothing."""
    world = told([*history, said], judge)
    before = world.guard.export()
    again = world.guard.remember(said.text, source=said.source)
    assert before == world.guard.export()
    assert {"already-known"} >= set(again.reasons)


@pytest.mark.guarantee("G13")
@given(
    histories,
    st.sampled_from([USER, COURIER, LOOKALIKE, ASSISTANT, RELAY, RAVI]),
    st.sampled_from(["context", "notice", "both"]),
    st.booleans(),
)
def test_a_recall_that_comes_back_teaches_nothing(
    history: list[Deed], teller: Source, part: str, derived: bool
) -> None:
    """Remembering the same message again, or what a recall returned, changes nothing.

    Whoever hands it in: the user, the assistant, a tool, an e-mail.
    """
    world = told(history)
    recall = world.guard.recall(f"what is {TOPICS[0]}", k=99)
    said = {"context": recall.context, "notice": recall.notice, "both": f"{recall.context}\n\n{recall.notice}"}[part]
    assume(said.strip())
    before = world.guard.export()
    world.guard.remember(said, source=teller, derived_from=recall.memories if derived else ())
    assert before == world.guard.export()


@pytest.mark.guarantee("G13")
@given(st.lists(says(derived=False), min_size=1, max_size=12), judges)
def test_a_whole_mailbox_twice_is_a_mailbox_once(mailbox: list[Say], judge: ScriptedJudge) -> None:
    """Remembering the same message again, or what a recall returned, changes nothing.

    A channel's own ids tell the same message from the same words said again.
    """
    guard = open_guard(judge=judge)

    def deliver(guard: MemoryGuard) -> None:
        for number, said in enumerate(mailbox):
            guard.remember(said.text, source=said.source, message_id=f"<{number}@mail.example>")

    deliver(guard)
    before = guard.export()
    deliver(guard)
    assert before == guard.export()


@pytest.mark.guarantee("G13")
def test_what_was_forgotten_is_not_learned_again_from_the_same_message() -> None:
    """Remembering the same message again, or what a recall returned, changes nothing."""
    world = told([Say(text="rent is 5", source=COURIER)])
    world.guard.forget(world.beliefs()[0].id)
    world.guard.remember("rent is 5", source=COURIER)
    assert list(world.statuses().values()) == [Status.RETRACTED]


@pytest.mark.guarantee("G13")
@pytest.mark.parametrize("source", [USER, COURIER])
def test_a_mailbox_that_repeats_itself_brings_no_old_value_back(source: Source) -> None:
    """Remembering the same message again, or what a recall returned, changes nothing."""
    guard = open_guard()
    for _ in range(2):
        for number, text in enumerate(["rent is 5", "rent is 5", "rent is 7"]):
            guard.remember(text, source=source, message_id=f"<{number}@mail.example>")
        assert [memory.text for memory in guard.memories()] == ["rent is 7"]


@pytest.mark.guarantee("G12")
def test_nobody_can_say_first_what_a_verified_source_will_say() -> None:
    """A claim without authority never makes an active belief unavailable.

    Nor a belief to come: an unverified copy sent ahead does not make the real message a repetition.
    """
    guard = open_guard()
    guard.remember("rent is 5", source=COURIER)
    guard.remember("rent is 7", source=SPOOF)
    assert guard.remember("rent is 7", source=COURIER).effect == "replaced"


@pytest.mark.guarantee("G13")
def test_a_message_of_the_user_of_which_half_is_out_of_date_is_news() -> None:
    """Remembering the same message again, or what a recall returned, changes nothing.

    But the user may say again what was superseded meanwhile, in a message that also says what still stands.
    """
    guard = open_guard()
    for text in ("rent is 5\ngym is 5", "rent is 7", "rent is 5\ngym is 5"):
        guard.remember(text)
    assert {memory.text for memory in guard.memories()} == {"rent is 5", "gym is 5"}


@pytest.mark.guarantee("G3")
def test_what_is_accepted_ends_what_it_contradicts_on_either_side() -> None:
    """Under a disclosing gate no contested value reaches the context, and each one related to a recalled belief is in
    the notice with its source.

    Nor do an accepted value and the one it contradicts stand side by side, whichever was told first.
    """
    guard = open_guard()
    guard.remember("rent is 5", source=COURIER)
    held = guard.remember("rent is 7", source=LOOKALIKE).memories[0]
    guard.remember("rent is 9", source=COURIER)
    guard.resolve(held.id, accept=True)
    assert [memory.text for memory in guard.memories()] == ["rent is 7"]
