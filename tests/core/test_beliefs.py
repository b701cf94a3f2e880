"""The transition table: every (status, cause, status) is either in it and legal, or not and refused."""

from __future__ import annotations

from itertools import product

import pytest

from builders import a_belief
from thymus.core.beliefs import HELD_BACK, LIVE, TRANSITIONS, Cause, Change, Status, born, transition
from thymus.errors import TransitionError

ACTIVE, CONTESTED, QUARANTINED, SUPERSEDED, REJECTED, RETRACTED, REPEATED = Status

LEGAL = {
    (None, Cause.ADMIT, ACTIVE),
    (None, Cause.CONTEST, CONTESTED),
    (None, Cause.QUARANTINE, QUARANTINED),
    (None, Cause.REJECT, REJECTED),
    (None, Cause.REPEAT, REPEATED),
    (ACTIVE, Cause.SUPERSEDE, SUPERSEDED),
    (CONTESTED, Cause.SUPERSEDE, SUPERSEDED),
    (QUARANTINED, Cause.SUPERSEDE, SUPERSEDED),
    (CONTESTED, Cause.ACCEPT, ACTIVE),
    (QUARANTINED, Cause.ACCEPT, ACTIVE),
    (ACTIVE, Cause.DECLINE, REJECTED),
    (CONTESTED, Cause.DECLINE, REJECTED),
    (QUARANTINED, Cause.DECLINE, REJECTED),
    *((status, Cause.RETRACT, RETRACTED) for status in Status),
    *((before, Cause.REPLAY, after) for before in Status for after in Status if after not in (before, RETRACTED)),
}
"""Written out once more on purpose: widening the table must be done twice."""

EVERY = list(product((None, *Status), Cause, Status))


@pytest.mark.parametrize(("before", "cause", "after"), EVERY)
def test_every_change_of_status_is_legal_or_refused(before: Status | None, cause: Cause, after: Status) -> None:
    if (before, cause, after) in LEGAL:
        assert after is transition(before, cause, after)
        Change(belief="m_1", before=before, cause=cause, after=after)
    else:
        with pytest.raises(TransitionError, match="cannot go from"):
            transition(before, cause, after)
        with pytest.raises(TransitionError):
            Change(belief="m_1", before=before, cause=cause, after=after)


def test_the_table_holds_nothing_else() -> None:
    assert {(before, cause, after) for (before, cause), found in TRANSITIONS.items() for after in found} == LEGAL


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        TRANSITIONS[(None, Cause.REPLAY)] = frozenset(Status)  # type: ignore[index]


@pytest.mark.parametrize("cause", Cause)
def test_only_five_causes_give_birth(cause: Cause) -> None:
    births = {
        Cause.ADMIT: ACTIVE,
        Cause.CONTEST: CONTESTED,
        Cause.QUARANTINE: QUARANTINED,
        Cause.REJECT: REJECTED,
        Cause.REPEAT: REPEATED,
    }
    if cause in births:
        assert births[cause] is born(cause)
    else:
        with pytest.raises((TransitionError, KeyError)):
            born(cause)


def test_a_belief_moves_only_by_the_table() -> None:
    contested = a_belief(status=CONTESTED)
    assert ACTIVE is contested.moved(Cause.ACCEPT, ACTIVE).status
    with pytest.raises(TransitionError):
        contested.moved(Cause.ADMIT, ACTIVE)


def test_held_back_is_live_but_not_active() -> None:
    assert {CONTESTED, QUARANTINED} == HELD_BACK
    assert {ACTIVE, CONTESTED, QUARANTINED} == LIVE
