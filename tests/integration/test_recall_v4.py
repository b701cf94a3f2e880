"""A recall under ``thymus-v4``: what stands aside, what takes its place, what the user is told and may do about it.

One world is played with the bundled judge; elsewhere a table says which claim answers otherwise than which memory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from builders import NOON
from guarantees.world import LineExtractor
from thymus import Memory, MemoryGuard, Recall, Source, retrieval
from thymus.core.adjudicate import Contention
from thymus.core.beliefs import Status
from thymus.core.claims import Kind
from thymus.core.disclose import MOST_DISCLOSED
from thymus.core.provenance import Assurance
from thymus.core.relations import Label, Relation
from thymus.errors import InputError, StaleVersionError
from thymus.ports import Embedder, Matrix, Voice
from thymus.settlement import ATTEMPTS
from thymus.sources.registry import Registry

# One world, with everything that is bundled

LESSON = "My glider lesson is at 8:30 on Saturday."
MAIL = "Hello all! We meet an hour and a half later than usual, ten o'clock sharp. Please bring gloves and a hat."
LATER = "We meet an hour and a half later than usual, ten o'clock sharp."
GLOVES = "Please bring gloves and a hat."
LUNCH = "The hangar cafe serves lunch until 2 pm."
WHEN = "When is my glider lesson?"
PIA = Source.parse("email:pia@hangar.example", authenticated=True)
CAFE = Source.parse("email:cafe@airfield.example", authenticated=True)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[MemoryGuard]:
    with MemoryGuard(tmp_path / "memory.db", gate="thymus-v4") as guard:
        guard.remember(LESSON)
        guard.remember("I keep the spare key in the blue tin.")
        assert guard.remember(MAIL, source=PIA).effect == "admitted"
        assert guard.remember(LUNCH, source=CAFE).effect == "admitted"
        yield guard


def texts(memories: Sequence[Memory]) -> list[str]:
    return [memory.text for memory in memories]


def named(found: Recall, text: str) -> Memory:
    return next(memory for memory in found.contested if memory.text == text)


def test_a_rival_that_the_write_missed_stands_aside_and_a_neighbour_does_not(world: MemoryGuard) -> None:
    found = world.recall(WHEN)
    assert "8:30" in found.context
    assert "ten o'clock" not in found.context
    assert "lunch" in found.context
    assert "ten o'clock" in found.notice
    assert "8:30" in found.notice
    aside = named(found, LATER)
    assert aside.status is Status.ACTIVE
    assert texts([world.get(id_) for id_ in aside.contradicts]) == [LESSON]


def test_what_else_the_message_said_is_told_beside_it(world: MemoryGuard) -> None:
    found = world.recall(WHEN)
    assert GLOVES in texts(found.contested)
    assert "gloves" in found.notice
    assert "gloves" not in found.context


def test_reading_changes_nothing(world: MemoryGuard) -> None:
    before = world.export()
    world.recall(WHEN)
    assert world.export() == before
    assert "lunch" in world.recall("What does the cafe serve?").context


def test_accepting_what_stood_aside_and_taking_that_back(world: MemoryGuard) -> None:
    aside = named(world.recall(WHEN), LATER)
    event = world.resolve(aside.id, accept=True)
    assert [(change.belief, change.after) for change in event.changes] == [(aside.contradicts[0], Status.SUPERSEDED)]
    found = world.recall(WHEN)
    assert "ten o'clock" in found.context
    assert "8:30" not in found.context
    world.undo(event.seq)
    found = world.recall(WHEN)
    assert "8:30" in found.context
    assert "ten o'clock" not in found.context
    assert "ten o'clock" in found.notice


def test_declining_what_stood_aside_and_taking_that_back(world: MemoryGuard) -> None:
    aside = named(world.recall(WHEN), LATER)
    event = world.resolve(aside.id, accept=False)
    assert event.note == {"memory": aside.id, "accept": "false"}
    found = world.recall(WHEN)
    assert LATER not in texts(found.contested)
    assert "ten o'clock" not in found.context
    assert world.get(aside.contradicts[0]).status is Status.ACTIVE
    world.undo(event.seq)
    assert LATER in texts(world.recall(WHEN).contested)


# A table in place of the judge


class Blind:
    """Nothing contradicts anything, and everything is a fact."""

    name = "blind"

    def relate(self, pairs: Sequence[object]) -> list[Relation]:
        return [Relation(label=Label.COMPATIBLE, confidence=1.0)] * len(pairs)

    def classify(self, statements: Sequence[object]) -> list[Kind]:
        return [Kind.FACT] * len(statements)


class Table:
    """Pairs (claim, memory) of which the first answers otherwise than the second; ``*`` stands for every memory."""

    def __init__(self, *pairs: tuple[str, str]) -> None:
        self.pairs = set(pairs)

    def __call__(self, question: object, found: Sequence[Contention], *, embedder: object) -> list[float]:
        return [float(self.otherwise(contention)) for contention in found]

    def otherwise(self, contention: Contention) -> bool:
        memory = contention.memory.belief.claim.text
        claims = [one.belief.claim.text for one in contention.claims]
        return any((claim, memory) in self.pairs or (claim, "*") in self.pairs for claim in claims)


@pytest.fixture
def guard() -> MemoryGuard:
    return MemoryGuard(judge=Blind(), extractor=LineExtractor(), embedder="hash", gate="thymus-v4")


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Table:
    made = Table()
    monkeypatch.setattr(retrieval, "likely", made)
    return made


def a_source(name: str) -> Source:
    return Source.parse(f"email:x@{name}.example", authenticated=True)


RED, GREEN = a_source("brightwell"), a_source("larkfield")


def test_what_is_next_takes_the_place_and_is_held_to_the_same(guard: MemoryGuard, table: Table) -> None:
    guard.remember("tour starts when green")
    for text, source in (
        ("tour starts when red", RED),
        ("tour starts when blue", GREEN),
        ("tour starts soon", a_source("hollis")),
        ("tour starts", a_source("northbank")),
    ):
        guard.remember(text, source=source)
    table.pairs |= {("tour starts when red", "*"), ("tour starts when blue", "*")}
    found = guard.recall("tour starts when", k=3)
    assert set(texts(found.contested)) == {"tour starts when red", "tour starts when blue"}
    assert sorted(texts(found.memories)) == ["tour starts", "tour starts soon", "tour starts when green"]


def test_the_context_never_holds_more_than_was_asked_for(guard: MemoryGuard, table: Table) -> None:
    """Also where the user says the same as somebody else, who then stands aside for nobody."""
    guard.remember("tour starts when green")
    guard.remember("tour starts when red", source=RED)
    guard.remember("tour starts when red")
    guard.remember("tour starts today", source=GREEN)
    table.pairs |= {("tour starts when red", "tour starts when green")}
    found = guard.recall("tour starts when", k=2)
    assert "tour starts when red" not in texts(found.contested)
    assert set(texts(found.memories)) == {"tour starts when green", "tour starts when red"}


def test_one_owner_fills_no_more_than_its_share(guard: MemoryGuard, table: Table) -> None:
    for number in range(20):
        guard.remember(f"tour starts {number}", source=Source.parse(f"email:p{number}@flood.example"))
    for name in ("brightwell", "larkfield"):
        guard.remember(f"tour of {name}", source=a_source(name))
    found = guard.recall("tour starts", k=8)
    assert len(found.memories) == 8
    assert {"tour of brightwell", "tour of larkfield"} <= set(texts(found.memories))


def test_one_owner_fills_the_rest_where_nobody_else_speaks(guard: MemoryGuard, table: Table) -> None:
    for number in range(20):
        guard.remember(f"tour starts {number}", source=RED)
    assert len(guard.recall("tour starts", k=8).memories) == 8


def test_the_users_own_words_have_no_share(guard: MemoryGuard, table: Table) -> None:
    for number in range(8):
        guard.remember(f"tour starts {number}")
    guard.remember("tour of red", source=RED)
    assert all(memory.source.is_user for memory in guard.recall("tour starts", k=8).memories)


def test_siblings_of_what_stands_aside_are_told_and_never_shown_twice(guard: MemoryGuard, table: Table) -> None:
    guard.remember("tour starts when green")
    guard.remember("tour starts when red\nbees are fed\nkeys are lost", source=RED)
    guard.remember("tour starts")
    guard.remember("tour of town")
    table.pairs |= {("tour starts when red", "*")}
    found = guard.recall("tour starts when", k=3)
    assert sorted(texts(found.memories)) == ["tour of town", "tour starts", "tour starts when green"]
    assert sorted(texts(found.contested)) == ["bees are fed", "keys are lost", "tour starts when red"]
    against = {memory.text: memory.contradicts for memory in found.contested}
    assert against["tour starts when red"]
    assert against["bees are fed"] == against["keys are lost"] == ()
    bees = next(memory for memory in found.contested if memory.text == "bees are fed")
    with pytest.raises(InputError, match="over="):  # a yes to the harmless half takes nobody's place
        guard.resolve(bees.id, accept=True)
    everything = guard.recall("tour starts when", k=9)
    assert not set(texts(everything.memories)) & set(texts(everything.contested))


def test_what_came_with_a_held_back_claim_and_was_accepted_stands(guard: MemoryGuard, table: Table) -> None:
    mail = "tour desk: call +44 20 7946 0958\nbees are fed"
    held, accepted = guard.remember(mail, source="email:x@brightwell.example").memories
    assert held.status is accepted.status is Status.CONTESTED
    guard.resolve(accepted.id, accept=True)
    guard.remember("tour desk is far")
    found = guard.recall("tour desk: call", k=1)
    assert texts(found.memories) == ["tour desk is far"]
    assert texts(found.contested) == [held.text]


# What the user decides about it


def a_memory(id_: str, status: Status = Status.ACTIVE) -> Memory:
    return Memory(id=id_, text="x", kind=Kind.FACT, status=status, source=RED, lineage=(), observed_at=NOON)


def aside(guard: MemoryGuard, table: Table, users: MemoryGuard | None = None) -> tuple[Memory, Memory, Memory]:
    """The user's two memories and the claim that a recall of this guard sets aside for the first of them."""
    users = users or guard
    [first] = users.remember("tour starts when green").memories
    [second] = users.remember("tour ends when green").memories
    [claim] = users.remember("tour starts when red", source=RED).memories
    table.pairs |= {("tour starts when red", "tour starts when green")}
    guard.recall("tour starts when")
    return first, second, claim


def stands(guard: MemoryGuard, *memories: Memory) -> list[Status]:
    return [guard.get(memory.id).status for memory in memories]


def test_accepting_takes_the_place_of_what_it_stood_aside_for(guard: MemoryGuard, table: Table) -> None:
    first, second, claim = aside(guard, table)
    event = guard.resolve(claim.id, accept=True)
    assert event.note["over"] == first.id
    assert stands(guard, first, second, claim) == [Status.SUPERSEDED, Status.ACTIVE, Status.ACTIVE]
    guard.undo(event.seq)
    assert stands(guard, first, second, claim) == [Status.ACTIVE] * 3


def test_the_user_may_name_another(guard: MemoryGuard, table: Table) -> None:
    first, second, claim = aside(guard, table)
    event = guard.resolve(claim.id, accept=True, over=second.id)
    assert stands(guard, first, second, claim) == [Status.ACTIVE, Status.SUPERSEDED, Status.ACTIVE]
    guard.undo(event.seq)
    assert stands(guard, first, second, claim) == [Status.ACTIVE] * 3


def test_declining_leaves_what_it_stood_aside_for(guard: MemoryGuard, table: Table) -> None:
    first, second, claim = aside(guard, table)
    event = guard.resolve(claim.id, accept=False)
    assert event.note == {"memory": claim.id, "accept": "false"}
    assert stands(guard, first, second, claim) == [Status.ACTIVE, Status.ACTIVE, Status.REJECTED]
    guard.undo(event.seq)
    assert stands(guard, first, second, claim) == [Status.ACTIVE] * 3


def test_what_nobody_recalled_has_nothing_to_take_the_place_of(guard: MemoryGuard, table: Table) -> None:
    first, second, claim = aside(guard, table)
    other = guard.for_user("asha")
    theirs = aside(other, table)
    assert set(guard._set_aside._against) == {claim.id}
    assert set(other._set_aside._against) == {theirs[2].id}
    again = guard.for_user("me")  # the same user, and nothing recalled in this guard
    with pytest.raises(InputError, match="over="):
        again.resolve(claim.id, accept=True)
    assert stands(guard, first, second, claim) == [Status.ACTIVE] * 3


def test_what_is_to_be_replaced_is_named_by_ids_of_this_user(guard: MemoryGuard, table: Table) -> None:
    _, _, claim = aside(guard, table)
    [theirs] = guard.for_user("asha").remember("tour is far").memories
    for over in ([theirs.id], ["m_0"], "m_0"):
        with pytest.raises(InputError, match="no memory"):
            guard.resolve(claim.id, accept=True, over=over)
    with pytest.raises(InputError, match="ids"):
        guard.resolve(claim.id, accept=True, over=[7])  # type: ignore[list-item]


def test_the_latest_recalls_are_remembered(guard: MemoryGuard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "MOST_SET_ASIDE", 2)
    for number, expected in ((0, "0"), (1, "01"), (0, "10"), (2, "02")):
        guard._set_aside.note([a_memory(f"{number}"), a_memory("held", Status.CONTESTED)])
        assert "".join(guard._set_aside._against) == expected


def test_what_was_held_back_since_counts_as_the_judge_has_it(guard: MemoryGuard, table: Table) -> None:
    first, _, claim = aside(guard, table)
    assert guard._set_aside.against(guard._belief(claim.id)) == (first.id,)
    guard.resolve(claim.id, accept=False)
    assert guard._set_aside.against(guard._belief(claim.id)) == ()


def test_threads_recall_at_once(guard: MemoryGuard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "MOST_SET_ASIDE", 1)
    failed: list[BaseException] = []
    found = [a_memory(f"{number}") for number in range(300)]

    def note() -> None:
        try:
            for _ in range(100):
                guard._set_aside.note(found)
        except BaseException as error:  # noqa: BLE001  (told to the test)
            failed.append(error)

    threads = [threading.Thread(target=note) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(guard._set_aside._against) == 1


# Senders


def test_only_senders_that_the_notice_names_are_looked_at(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of lookalikes costs its writers something, and not whoever reads."""
    guard = MemoryGuard(judge="typed", embedder="hash", gate="thymus-v4")
    guard.remember("My standup is at 9:15.")
    for number in range(40):
        guard.remember(f"Your standup moved to 10:{number:02}.", source=f"email:a{number}@hollis{number}x.example")
    looked: list[str] = []
    resembling = Registry.resembling

    def look(registry: Registry, source: Source) -> tuple[Voice, ...]:
        looked.append(source.key)
        return resembling(registry, source)

    monkeypatch.setattr(Registry, "resembling", look)
    found = guard.recall("When is my standup?")
    assert len(found.contested) == 40
    assert len(looked) == MOST_DISCLOSED


def test_a_sender_whose_key_cannot_be_read_again_breaks_no_recall() -> None:
    guard = MemoryGuard(judge="typed", embedder="hash", gate="thymus-v4")
    for identity in (" ", " ravi"):
        proved = Source(channel="user", identity=identity, assurance=Assurance.AUTHENTICATED)
        guard.remember("The gate code is 4471.", source=proved)
        claimed = Source(channel="user", identity=identity)
        assert "lookalike" in guard.remember("The gate code is 5512 from now on.", source=claimed).reasons
        assert "Earlier messages of" in guard.recall("What is the gate code?").notice


# A scope that never stands still


def test_where_others_never_stop_writing_the_users_word_replaces_nothing(
    guard: MemoryGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where its message forwards something that is held back on that account."""
    sure = Relation(label=Label.CONTRADICTS, confidence=0.99)
    monkeypatch.setattr(Blind, "relate", lambda self, pairs: [sure] * len(pairs))
    monkeypatch.setattr("thymus.settlement._PAUSE", 0.0)
    guard.remember("door is green")
    store = guard._parts.store
    commit, turned_away = store.commit, 0

    def moved_on(revision: object, *, expecting: int | None = None) -> int:
        nonlocal turned_away
        if expecting is None:
            return commit(revision)  # type: ignore[arg-type]
        turned_away += 1
        raise StaleVersionError("somebody else wrote")

    monkeypatch.setattr(store, "commit", moved_on)
    written = guard.remember("door is red\n\n---------- Forwarded message ---------\nFrom: a@b.example\ndoor is blue")
    assert turned_away == ATTEMPTS
    assert written.replaced == ()
    assert "scope-too-busy" in written.reasons
    assert guard.memories(status=Status.SUPERSEDED) == []


@pytest.mark.parametrize("source", ["email:a@b.example", "tool:calendar", "web:shop.example", "assistant"])
@pytest.mark.parametrize("said", ["My standup is at 9:15 in Room 2A.", "Your standup is at 9:15 in Room 2A."])
def test_what_the_user_confirms_in_the_same_words_contradicts_nobody(source: str, said: str) -> None:
    with MemoryGuard() as guard:
        guard.remember(said, source=source)
        guard.remember("My standup is at 9:15 in Room 2A.")
        guard.remember("Your dentist is Dr Rao.", source=source)
        guard.remember("My dentist is Dr Rao.")
        assert guard.recall("When is my standup?").notice == ""
        assert guard.recall("Who is my dentist?").notice == ""


def test_a_users_question_is_embedded_once_and_nobody_elses_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each user's vectors are their own: no answer is quicker because another user asked the same."""
    asked: list[str] = []
    with MemoryGuard(None, embedder="hash", judge="typed") as asha:
        embedder = type(asha._parts.embedder)
        embed = embedder.embed

        def counted(self: Embedder, given: Sequence[str], *, role: Any) -> Matrix:
            asked.extend(given)
            return embed(self, given, role=role)

        monkeypatch.setattr(embedder, "embed", counted)
        ravi = asha.for_user("ravi")
        for guard in (asha, asha, ravi, ravi):
            guard.recall(WHEN)
        assert asked == [WHEN, WHEN]
        for number in range(retrieval.MOST_ASKED):
            asha.recall(f"What is in tin {number}?")
        asha.recall(WHEN)
        assert asked.count(WHEN) == 3
        assert len(asha._asked._vectors) == retrieval.MOST_ASKED
