"""What a history is told without, when a recorded outcome stands, and what differs: by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from builders import ASSISTANT, COURIER, LOOKALIKE, NOON, SHOP, a_belief
from thymus.core.beliefs import Act, Belief, Cause, Change, Status, birth
from thymus.core.provenance import Source
from thymus.core.replay import Omission, Outcome, Revocation, difference, outcome

ACTIVE, CONTESTED, QUARANTINED, SUPERSEDED, REJECTED, RETRACTED, REPEATED = Status


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a ledger; row n is of the nth minute after noon."""

    seq: int
    act: Act
    changes: tuple[Change, ...] = ()
    note: dict[str, str] = field(default_factory=dict)

    @property
    def at(self) -> datetime:
        return NOON + timedelta(minutes=self.seq)


@dataclass
class History:
    rows: list[Row] = field(default_factory=list)
    beliefs: dict[str, Belief] = field(default_factory=dict)

    def told(self, id_: str, source: Source, /, *, derived_from: tuple[Source, ...] = (), repeats: str = "") -> int:
        self.beliefs[id_] = a_belief(id_, id_, source, derived_from=derived_from)
        change = birth(id_, ACTIVE)
        if repeats:
            change = Change(belief=id_, before=None, cause=Cause.REPEAT, after=REPEATED, by=(repeats,))
        return self.act(Act.REMEMBER, change)

    def act(self, act: Act, /, *changes: Change, **note: str) -> int:
        self.rows.append(Row(seq=len(self.rows) + 1, act=act, changes=changes, note=note))
        return len(self.rows)

    def left_out(self, omission: Omission | None = None) -> set[str]:
        return (omission or Omission.standing(self.rows)).of(self.rows, self.beliefs)


def test_nothing_is_left_out_of_a_history_as_it_was() -> None:
    history = History()
    history.told("x1", COURIER)
    assert Omission() == Omission.standing(history.rows)
    assert set() == history.left_out()


def test_what_a_revoked_source_said_or_had_a_part_in_is_left_out() -> None:
    history = History()
    history.told("x1", LOOKALIKE)
    history.told("summary", SHOP, derived_from=(COURIER, LOOKALIKE))
    history.told("own", SHOP)
    history.act(Act.REVOKE, source=LOOKALIKE.key)
    assert {"x1", "summary"} == history.left_out()


def test_what_a_model_repeats_of_it_goes_with_it_and_what_others_repeat_does_not() -> None:
    history = History()
    history.told("x1", LOOKALIKE)
    history.told("y1", COURIER)
    history.told("echo of x1", ASSISTANT, repeats="x1")
    history.told("echo of y1", ASSISTANT, repeats="y1")
    history.told("again", COURIER, repeats="y1")
    history.act(Act.REVOKE, source=LOOKALIKE.key)
    assert {"x1", "echo of x1"} == history.left_out()


def test_an_old_revocation_does_not_reach_what_the_source_said_afterwards() -> None:
    history = History()
    history.told("x1", COURIER)
    history.act(Act.REVOKE, source=COURIER.key)
    history.told("x2", COURIER)
    assert {"x1"} == history.left_out()
    assert {"x1", "x2"} == history.left_out(Omission(revoked=(Revocation(source=COURIER.key),)))


def test_an_undone_act_is_left_out_and_an_undone_undoing_counts_again() -> None:
    history = History()
    told = history.told("x1", COURIER)
    undoing = history.act(Act.UNDO, act=str(told))
    assert {"x1"} == history.left_out()
    again = history.act(Act.UNDO, act=str(undoing))
    assert set() == history.left_out()
    history.act(Act.UNDO, act=str(again))
    assert {"x1"} == history.left_out()


def test_an_undone_revocation_leaves_nothing_out() -> None:
    history = History()
    history.told("x1", COURIER)
    history.act(Act.UNDO, act=str(history.act(Act.REVOKE, source=COURIER.key)))
    assert set() == history.left_out()


def test_a_sender_cannot_escape_a_revocation_by_an_early_date() -> None:
    belief = a_belief("x1", "x1", LOOKALIKE)
    hour = Revocation(source=LOOKALIKE.key, since=NOON + timedelta(minutes=30))
    assert not hour.covers(belief.claim, NOON + timedelta(minutes=29))
    assert hour.covers(belief.claim, NOON + timedelta(minutes=31))
    assert not hour.covers(a_belief(source=SHOP).claim, NOON + timedelta(minutes=31))


def test_the_time_of_a_revocation_is_read_from_its_note() -> None:
    history = History()
    history.told("x1", COURIER)
    history.told("x2", COURIER)
    history.act(Act.REVOKE, source=COURIER.key, since=(NOON + timedelta(minutes=2)).isoformat())
    assert {"x2"} == history.left_out()


def test_an_outcome_is_read_from_the_changes_of_its_act() -> None:
    changes = (
        birth("x2", ACTIVE),
        birth("x3", CONTESTED),
        Change(belief="x1", before=ACTIVE, cause=Cause.SUPERSEDE, after=SUPERSEDED, by=("x2",)),
        Change(belief="echo", before=None, cause=Cause.REPEAT, after=REPEATED, by=("x0",)),
    )
    assert Outcome(status=ACTIVE, supersedes=frozenset({"x1"})) == Outcome.recorded("x2", changes)
    assert Outcome(status=CONTESTED) == Outcome.recorded("x3", changes)
    assert Outcome(status=REPEATED, repeats="x0") == Outcome.recorded("echo", changes)


def test_a_recorded_outcome_stands_where_leaving_out_makes_no_difference() -> None:
    """Even if today's gate would decide it in another way."""
    recorded, today = Outcome(status=QUARANTINED), Outcome(status=ACTIVE)
    assert recorded == outcome(recorded, then=today, now=today, live=set().__contains__)
    assert today == outcome(recorded, then=Outcome(status=CONTESTED), now=today, live=set().__contains__)


def test_what_is_not_there_is_not_superseded() -> None:
    recorded = Outcome(status=ACTIVE, supersedes=frozenset({"x1", "gone"}))
    now = Outcome(status=ACTIVE, supersedes=frozenset({"x1"}))
    assert now == outcome(recorded, then=recorded, now=now, live={"x1"}.__contains__)
    more = Outcome(status=ACTIVE, supersedes=frozenset({"x1", "back"}))
    assert more == outcome(recorded, then=recorded, now=more, live={"x1", "back"}.__contains__)


def test_another_thing_that_is_repeated_is_a_difference() -> None:
    recorded, now = Outcome(status=REPEATED, repeats="x1"), Outcome(status=REPEATED, repeats="x2")
    assert now == outcome(recorded, then=recorded, now=now, live={"x1", "x2"}.__contains__)


def test_only_what_the_omission_changes_is_changed() -> None:
    told = {"evil": ACTIVE, "true": CONTESTED, "other": QUARANTINED, "gone": RETRACTED, "new": ACTIVE}
    before = {"evil": ACTIVE, "true": CONTESTED, "other": ACTIVE, "new": ACTIVE}
    after = {"true": ACTIVE, "other": ACTIVE, "new": REPEATED}
    assert difference(told, before, after) == (
        Change(belief="evil", before=ACTIVE, cause=Cause.RETRACT, after=RETRACTED),
        Change(belief="true", before=CONTESTED, cause=Cause.REPLAY, after=ACTIVE),
        Change(belief="new", before=ACTIVE, cause=Cause.REPLAY, after=REPEATED),
    )
    assert difference(told, before, before) == ()
