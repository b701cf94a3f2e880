"""Histories told again without a source or an act: small ones, written out by hand, through the guard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from builders import ASSISTANT, CONFIRMED, COURIER, DETECTED, LOOKALIKE, NOON, RAVI, SHOP, USER
from thymus import Event, Memory, MemoryGuard, Written
from thymus.core.beliefs import Change, Status
from thymus.core.claims import Claim, Kind
from thymus.core.gates import GATES, THYMUS_V3, UNSAFE_ALLOW_ALL
from thymus.core.policy import Policy
from thymus.core.provenance import Source
from thymus.core.relations import Label, Relation
from thymus.embed import HashEmbedder
from thymus.errors import InputError
from thymus.ports import Passage, Statement, Store
from thymus.sources.registry import Registry
from thymus.stores.memory import MemoryStore

ACTIVE, CONTESTED, QUARANTINED, SUPERSEDED, REJECTED, RETRACTED, REPEATED = Status
EMBEDDER = HashEmbedder()
COMPATIBLE = Relation(label=Label.COMPATIBLE, confidence=0.95)


@dataclass
class TableJudge:
    """Answers from a table by (stored text, incoming text); what is not in it is compatible."""

    table: dict[tuple[str, str], Relation] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    name: str = "table"

    def relate(self, pairs: Sequence[tuple[str | Claim | Statement, str | Claim | Statement]]) -> list[Relation]:
        found = [(Statement.of(stored).text, Statement.of(incoming).text) for stored, incoming in pairs]
        self.asked += found
        return [self.table.get(pair, COMPATIBLE) for pair in found]

    def classify(self, statements: Sequence[str | Claim | Statement]) -> list[Kind]:
        return [Kind.FACT for _ in statements]


class LineExtractor:
    """Every line is a claim."""

    def extract(self, text: str, *, source: Source) -> list[Passage]:
        start, found = 0, []
        for line in text.split("\n"):
            found.append(Passage(text=line, span=(start, start + len(line))))
            start += len(line) + 1
        return found


@dataclass
class Story:
    """A memory in which texts stand for themselves, one told a minute."""

    store: Store = field(default_factory=lambda: MemoryStore(embedder=EMBEDDER.name, dim=EMBEDDER.dim))
    judge: TableJudge = field(default_factory=TableJudge)
    minute: int = 0

    def __post_init__(self) -> None:
        self.guard = self.open(THYMUS_V3)

    def open(self, gate: Policy) -> MemoryGuard:
        return MemoryGuard(
            gate=gate, judge=self.judge, extractor=LineExtractor(), embedder=EMBEDDER, store=self.store, clock=self.tick
        )

    def tick(self) -> datetime:
        self.minute += 1
        return NOON + timedelta(minutes=self.minute)

    def told(self, text: str, source: Source = USER, /, **against: Relation) -> Written:
        """Tell a claim; ``against`` says how it relates to earlier ones (spaces are written _)."""
        for stored, relation in against.items():
            self.judge.table[stored.replace("_", " "), text] = relation
        id_ = f"<{self.minute}@mail.example>"
        return self.guard.remember(text, source=source, message_id=id_)

    def memory(self, text: str) -> Memory:
        return next(memory for memory in self.guard.memories(status=None) if memory.text == text)

    def stands(self) -> dict[str, Status]:
        return {memory.text: memory.status for memory in reversed(self.guard.memories(status=None))}

    def row(self) -> int:
        return self.store.version(self.guard._scope)


@pytest.fixture
def story() -> Story:
    return Story()


def test_what_a_revoked_source_held_back_stands_again(story: Story) -> None:
    story.told("evil", LOOKALIKE)
    story.told("true", COURIER, evil=CONFIRMED)
    assert story.stands() == {"evil": ACTIVE, "true": CONTESTED}
    story.guard.revoke(LOOKALIKE)
    assert story.stands() == {"evil": RETRACTED, "true": ACTIVE}


def test_what_was_derived_from_a_revoked_source_goes_with_it(story: Story) -> None:
    story.told("x1", LOOKALIKE)
    story.guard.remember("summary", source=SHOP, derived_from=[COURIER, LOOKALIKE])
    story.told("own", SHOP)
    story.guard.revoke(LOOKALIKE)
    assert story.stands() == {"x1": RETRACTED, "summary": RETRACTED, "own": ACTIVE}


def test_a_chain_of_decisions_is_followed_to_its_end(story: Story) -> None:
    story.told("evil", LOOKALIKE)
    story.told("x1", COURIER, evil=CONFIRMED)
    story.told("x2", COURIER, evil=CONFIRMED, x1=CONFIRMED)
    story.told("shop", SHOP, x1=CONFIRMED, x2=CONFIRMED)
    assert story.stands() == {"evil": ACTIVE, "x1": CONTESTED, "x2": CONTESTED, "shop": ACTIVE}
    story.guard.revoke(LOOKALIKE)
    assert story.stands() == {"evil": RETRACTED, "x1": SUPERSEDED, "x2": ACTIVE, "shop": CONTESTED}


def test_the_users_acceptance_of_a_revoked_source_falls_with_it(story: Story) -> None:
    story.told("x1")
    held = story.told("x2", LOOKALIKE, x1=CONFIRMED).memories[0]
    story.guard.resolve(held.id, accept=True)
    assert story.stands() == {"x1": SUPERSEDED, "x2": ACTIVE}
    story.guard.revoke(LOOKALIKE)
    assert story.stands() == {"x1": ACTIVE, "x2": RETRACTED}


def test_the_users_decline_outlives_the_reason_to_ask(story: Story) -> None:
    story.told("evil", LOOKALIKE)
    held = story.told("x1", SHOP, evil=CONFIRMED).memories[0]
    story.guard.resolve(held.id, accept=False)
    story.guard.revoke(LOOKALIKE)
    assert story.stands() == {"evil": RETRACTED, "x1": REJECTED}


def test_what_was_forgotten_stays_forgotten(story: Story) -> None:
    story.told("evil", LOOKALIKE)
    story.told("x1", COURIER, evil=CONFIRMED)
    story.guard.forget(story.memory("x1").id)
    story.guard.revoke(LOOKALIKE)
    assert story.stands() == {"evil": RETRACTED, "": RETRACTED}


def test_what_was_never_compared_is_judged_now(story: Story) -> None:
    """x3 was never compared with x1, which was superseded when x3 came."""
    story.told("x1")
    story.told("x2", x1=CONFIRMED)
    story.told("x3", LOOKALIKE, x2=CONFIRMED)
    story.judge.table["x1", "x3"] = DETECTED
    story.judge.asked.clear()
    story.guard.undo(2)
    assert story.judge.asked == [("x1", "x3")]
    assert story.stands() == {"x1": ACTIVE, "x2": RETRACTED, "x3": CONTESTED}
    story.judge.asked.clear()
    story.guard.undo(story.guard.undo(4).seq)
    assert story.judge.asked == []


def test_a_forgotten_memory_that_was_never_compared_is_reckoned_with(story: Story) -> None:
    """Nobody can judge x1 and x3 any more: unknown is the careful answer."""
    story.told("x1")
    story.told("x2", x1=CONFIRMED)
    story.told("x3", LOOKALIKE, x2=CONFIRMED)
    story.guard.forget(story.memory("x1").id)
    story.guard.undo(2)
    assert story.stands() == {"": RETRACTED, "x2": RETRACTED, "x3": CONTESTED}


def test_what_a_flood_pushed_out_of_sight_is_seen_without_it(story: Story) -> None:
    """Many claims of one source, nearer to the shop's than the courier's is, so that the two were never compared."""
    story.told("parcel at the gate on monday", COURIER)
    for number in range(12):
        story.told(f"parcel at the door on friday {number}", LOOKALIKE)
    said = "parcel at the door on friday"
    story.judge.table["parcel at the gate on monday", said] = CONFIRMED
    assert story.told(said, SHOP).effect == "admitted"
    story.guard.revoke(LOOKALIKE)
    assert story.memory(said).status is CONTESTED


def test_what_a_source_says_again_counts_where_it_had_taken_it_back(story: Story) -> None:
    """Held back by the lookalike's claim, the courier's update could not replace x1, so x1 again was no news."""
    story.told("x1", COURIER)
    story.told("evil", LOOKALIKE)
    story.told("x2", COURIER, x1=CONFIRMED, evil=CONFIRMED)
    story.judge.table["x2", "x1"] = CONFIRMED
    story.told("x1", COURIER)
    assert [memory.status for memory in story.guard.memories(status=None)] == [CONTESTED, ACTIVE, ACTIVE]
    story.guard.revoke(LOOKALIKE)
    found = [(memory.text, memory.status) for memory in reversed(story.guard.memories(status=None))]
    assert found == [("x1", SUPERSEDED), ("evil", RETRACTED), ("x2", SUPERSEDED), ("x1", ACTIVE)]


def test_what_a_model_repeats_of_a_revoked_source_falls_with_it(story: Story) -> None:
    story.told("x1", LOOKALIKE)
    story.told("x1", ASSISTANT)
    story.guard.revoke(LOOKALIKE)
    assert story.guard.memories() == []


def test_forgetting_erases_what_only_repeats_it(story: Story) -> None:
    """And the same message is not new when it comes once more."""
    story.told("x1")
    story.guard.remember("x1", source=SHOP)
    story.guard.forget(story.memory("x1").id)
    assert [belief.erased for belief in story.store.beliefs(story.guard._scope)] == [True, True]
    assert story.guard.remember("x1", source=SHOP).reasons == ("already-known",)
    assert story.stands() == {"": RETRACTED}


def test_a_repetition_is_shown_nowhere(story: Story) -> None:
    story.told("x1")
    before = story.guard.export()
    assert story.told("x1", SHOP).memories == (story.memory("x1"),)
    assert before == story.guard.export()
    assert [memory.text for memory in story.guard.memories(status=None)] == ["x1"]


def test_undoing_twice_is_doing_nothing(story: Story) -> None:
    story.told("evil", LOOKALIKE)
    story.told("x1", COURIER, evil=CONFIRMED)
    before = story.stands()
    revoked = story.guard.revoke(LOOKALIKE)
    undone = story.guard.undo(revoked.seq)
    assert before == story.stands()
    again = story.guard.undo(undone.seq)
    assert story.stands() == {"evil": RETRACTED, "x1": ACTIVE}
    story.guard.undo(again.seq)
    assert before == story.stands()


def test_undoing_a_decision_of_the_user_holds_the_claim_back_again(story: Story) -> None:
    story.told("x1")
    held = story.told("x2", LOOKALIKE, x1=CONFIRMED).memories[0]
    story.guard.undo(story.guard.resolve(held.id, accept=True).seq)
    assert story.stands() == {"x1": ACTIVE, "x2": CONTESTED}


def test_what_cannot_be_undone_is_said(story: Story) -> None:
    story.told("x1")
    forgot = story.guard.forget(story.memory("x1").id)
    for seq, why in ((0, "changed nothing"), (99, "no act 99"), (forgot.seq, "cannot be undone")):
        with pytest.raises(InputError, match=why):
            story.guard.undo(seq)
    with pytest.raises(InputError, match="the user cannot be revoked"):
        story.guard.revoke("user")


def test_a_recorded_outcome_stands_though_the_gate_is_another_one(story: Story) -> None:
    """Under allow-all, nothing that was decided under v3 is decided anew but what the revocation touches."""
    story.told("x1")
    story.told("held", SHOP, x1=CONFIRMED)
    story.told("evil", LOOKALIKE)
    story.told("true", COURIER, evil=CONFIRMED)
    story.told("later", SHOP, x1=CONFIRMED, true=CONFIRMED)
    lenient = story.open(UNSAFE_ALLOW_ALL)
    lenient.revoke(LOOKALIKE)
    assert story.stands() == {"x1": ACTIVE, "held": CONTESTED, "evil": RETRACTED, "true": CONTESTED, "later": CONTESTED}


def test_what_earlier_revocations_came_to_stands_though_the_gate_is_another_one(story: Story) -> None:
    story.told("evil", LOOKALIKE)
    story.told("x1", COURIER, evil=CONFIRMED)
    story.told("shop", SHOP, x1=CONFIRMED, evil=CONFIRMED)
    story.guard.revoke(LOOKALIKE)
    assert story.stands() == {"evil": RETRACTED, "x1": ACTIVE, "shop": CONTESTED}
    story.told("ravi", RAVI)
    story.open(UNSAFE_ALLOW_ALL).revoke(RAVI)
    assert story.stands() == {"evil": RETRACTED, "x1": ACTIVE, "shop": CONTESTED, "ravi": RETRACTED}


def test_an_hour_of_a_mailbox_is_undone(story: Story) -> None:
    story.told("x1", COURIER)
    since = NOON + timedelta(minutes=story.minute + 1)
    story.told("x2", COURIER, x1=CONFIRMED)
    story.told("x3", SHOP, x2=CONFIRMED)
    story.guard.revoke(COURIER, since=since)
    assert story.stands() == {"x1": ACTIVE, "x2": RETRACTED, "x3": ACTIVE}


def test_a_dry_run_only_says_what_would_change(story: Story) -> None:
    story.told("evil", LOOKALIKE)
    story.told("x1", COURIER, evil=CONFIRMED)
    before, rows = story.stands(), story.row()
    would = story.guard.revoke(LOOKALIKE, dry_run=True)
    assert (would.seq, before, rows) == (0, story.stands(), story.row())
    assert would.changes == story.guard.revoke(LOOKALIKE).changes


def test_the_user_is_asked_first(story: Story) -> None:
    story.told("evil", LOOKALIKE)
    asked: list[tuple[Change, ...]] = []

    def refuse(event: Event) -> bool:
        asked.append(event.changes)
        return False

    assert story.guard.revoke(LOOKALIKE, confirm=refuse).seq == 0
    assert story.stands() == {"evil": ACTIVE}
    story.guard.revoke(LOOKALIKE, confirm=lambda event: asked[0] == event.changes)
    assert story.stands() == {"evil": RETRACTED}


def test_what_others_do_meanwhile_is_told_as_well(story: Story) -> None:
    """And asked about again, where it changes what would change."""
    story.told("evil", LOOKALIKE)
    asked: list[int] = []

    def interrupt(event: Event) -> bool:
        asked.append(len(event.changes))
        if len(asked) == 1:
            story.told("x1", COURIER, evil=CONFIRMED)
        return True

    story.guard.revoke(LOOKALIKE, confirm=interrupt)
    assert asked == [1, 2]
    assert story.stands() == {"evil": RETRACTED, "x1": ACTIVE}


def test_a_revocation_meanwhile_is_told_from_the_start(story: Story) -> None:
    story.told("evil", LOOKALIKE)
    story.told("x1", COURIER, evil=CONFIRMED)
    story.told("x2", SHOP, x1=CONFIRMED, evil=CONFIRMED)
    asked: list[int] = []

    def interrupt(event: Event) -> bool:
        asked.append(len(event.changes))
        if len(asked) == 1:
            story.guard.revoke(COURIER)
        return True

    story.guard.revoke(LOOKALIKE, confirm=interrupt)
    assert story.stands() == {"evil": RETRACTED, "x1": RETRACTED, "x2": ACTIVE}


def test_progress_is_told(story: Story) -> None:
    story.told("before", COURIER)
    story.told("evil", LOOKALIKE)
    story.told("x1", COURIER, evil=CONFIRMED)
    steps: list[tuple[int, int]] = []
    story.guard.revoke(LOOKALIKE, on_step=lambda done, of: steps.append((done, of)))
    assert steps == [(1, 2), (2, 2)]


def test_a_revocation_without_effect_counts_later(story: Story) -> None:
    """The courier's only claim was forgotten; what the user's acceptance of it had done falls all the same."""
    story.told("evil", LOOKALIKE)
    story.told("x1", RAVI, evil=CONFIRMED)
    held = story.told("x2", COURIER, evil=CONFIRMED, x1=CONFIRMED).memories[0]
    story.guard.forget(story.memory("evil").id)
    story.guard.resolve(held.id, accept=True)
    story.guard.forget(held.id)
    revoked = story.guard.revoke(COURIER)
    assert revoked.changes == ()
    assert revoked.seq == story.row()
    story.guard.revoke(LOOKALIKE)
    assert [memory.text for memory in story.guard.memories()] == ["x1"]


def test_a_source_that_never_spoke_leaves_no_trace(story: Story) -> None:
    story.told("x1", COURIER)
    rows = story.row()
    assert story.guard.revoke("email:nobody@never.example").seq == 0
    assert rows == story.row()


def test_a_pair_found_compatible_is_not_judged_again(story: Story) -> None:
    story.told("evil", LOOKALIKE)
    for number in range(4):
        story.told(f"x{number}", COURIER, evil=CONFIRMED)
    story.judge.asked.clear()
    story.guard.revoke(LOOKALIKE)
    assert story.judge.asked == []


def test_what_the_user_named_is_superseded_again(story: Story) -> None:
    story.told("x1")
    story.told("evil", LOOKALIKE, x1=CONFIRMED)
    story.guard.resolve(story.memory("evil").id, accept=True)
    held = story.told("x2", SHOP, evil=CONFIRMED).memories[0]
    story.guard.resolve(held.id, accept=True, over=[story.memory("x1").id, story.memory("evil").id])
    assert story.stands() == {"x1": SUPERSEDED, "evil": SUPERSEDED, "x2": ACTIVE}
    story.guard.revoke(LOOKALIKE)
    assert story.stands() == {"x1": SUPERSEDED, "evil": RETRACTED, "x2": ACTIVE}


def test_what_would_only_have_repeated_a_forgotten_memory_counts_for_itself(story: Story) -> None:
    """The user had the first x1 erased, not the second, which nobody can tell any more to be a repetition."""
    story.told("x1", COURIER)
    story.told("evil", LOOKALIKE, x1=CONFIRMED)
    story.guard.resolve(story.memory("evil").id, accept=True)
    story.told("x1", COURIER, evil=CONFIRMED)
    first, second = reversed([memory for memory in story.guard.memories(status=None) if memory.text == "x1"])
    assert (first.status, second.status) == (SUPERSEDED, CONTESTED)
    story.guard.forget(first.id)
    story.guard.revoke(LOOKALIKE)
    assert story.guard.get(second.id).status is ACTIVE


def test_what_was_told_between_a_revocation_and_its_undoing_is_told_right(story: Story) -> None:
    story.told("x1", LOOKALIKE)
    revoked = story.guard.revoke(LOOKALIKE)
    story.told("y", RAVI)
    story.told("z", COURIER, x1=CONFIRMED, y=CONFIRMED)
    story.judge.table["x1", "y"] = story.judge.table["y", "x1"] = COMPATIBLE
    story.guard.undo(revoked.seq)
    assert story.stands() == {"x1": ACTIVE, "y": ACTIVE, "z": CONTESTED}
    story.guard.revoke(RAVI)
    assert story.stands() == {"x1": ACTIVE, "y": RETRACTED, "z": CONTESTED}


def test_who_was_known_is_who_was_known_without_the_source(story: Story) -> None:
    """The lookalike resembled the courier, and where the courier never spoke it resembles nobody."""
    guard = story.open(GATES["thymus-v4"])
    guard.remember("x1", source=COURIER)
    for text in ("the sky is blue", "the hat is red"):
        guard.remember(text, source=SHOP)
    assert guard.remember("the bin is green", source=LOOKALIKE).effect == "contested"
    guard.revoke(COURIER)
    assert (story.memory("x1").status, story.memory("the bin is green").status) == (RETRACTED, ACTIVE)


def test_an_acceptance_supersedes_what_stands_without_the_source(story: Story) -> None:
    """The lookalike's accepted claim had already taken the place of x1."""
    story.told("x1")
    story.told("held", SHOP, x1=CONFIRMED)
    story.told("evil", LOOKALIKE, x1=CONFIRMED)
    story.guard.resolve(story.memory("evil").id, accept=True)
    story.guard.resolve(story.memory("held").id, accept=True)
    assert story.stands() == {"x1": SUPERSEDED, "held": ACTIVE, "evil": ACTIVE}
    story.guard.revoke(LOOKALIKE)
    assert story.stands() == {"x1": SUPERSEDED, "held": ACTIVE, "evil": RETRACTED}


def test_a_revoked_source_that_speaks_again_is_known_for_that_alone(story: Story) -> None:
    """Unverified now, it is not taken for the verified one that was revoked."""
    guard = story.open(GATES["thymus-v4"])
    unverified = Source.parse(COURIER.key)
    guard.remember("x1", source=COURIER)
    guard.revoke(COURIER)
    guard.remember("x2", source=unverified)
    guard.remember("x3", source=SHOP)
    known = guard._parts.registries.of(story.store, guard._scope).known(unverified)
    assert known is not None
    assert (known.source.assurance, known.first) == (unverified.assurance, 2)
    assert known == Registry(story.store.sources(guard._scope)).known(unverified)
