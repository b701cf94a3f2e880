"""``remember(over=…)``: the application names whose place an entry is to take, and the gate says whether it may."""

from __future__ import annotations

import pytest

from thymus import MemoryGuard, Status
from thymus.errors import InputError, MemoryNotFoundError
from thymus.records import Outcome

KEY = "Mrs Okafor keeps our spare key."
OTHER = "Blue is the colour of the front door."
"""Nothing in common: no judge says that one takes the place of the other."""
NEARER = [
    f"The ferry leaves {where}." for where in ("from pier four", "with a band", "when full", "in fog", "by night")
]
NEARER += [
    f"I like that the ferry leaves {how}." for how in ("slowly", "with gulls", "on rails", "after rain", "singing")
]
"""More memories of the ferry than are compared, so that the key is not among them."""


def open_guard(gate: str = "thymus-v4") -> MemoryGuard:
    return MemoryGuard(gate=gate, embedder="hash", judge="typed")


@pytest.mark.parametrize(
    ("first", "second", "effect"),
    [
        ("user", "user", Outcome.REPLACED),
        ("tool:crm", "user", Outcome.REPLACED),
        ("user", "tool:crm", Outcome.CONTESTED),
        ("user", "assistant", Outcome.CONTESTED),
        ("tool:crm", "tool:crm", Outcome.REPLACED),
        ("tool:crm", "tool:erp", Outcome.CONTESTED),
    ],
)
def test_who_may_take_whose_place(first: str, second: str, effect: Outcome) -> None:
    def sure(source: str) -> bool | None:
        return True if source.startswith("tool") else None

    with open_guard() as guard:
        old = guard.remember(KEY, source=first, authenticated=sure(first)).memories[0]
        plain = guard.remember(OTHER, source=second, authenticated=sure(second))
        assert plain.effect is Outcome.ADMITTED
        told = guard.remember("Aunt Vera knows a shortcut.", source=second, authenticated=sure(second), over=[old.id])
        assert told.effect is effect
        replaced = effect is Outcome.REPLACED
        assert guard.get(old.id).status is (Status.SUPERSEDED if replaced else Status.ACTIVE)
        assert told.replaced == ((old.id,) if replaced else ())
        assert told.memories[0].contradicts == (() if replaced else (old.id,))
        if not replaced:
            notice = guard.recall("Who has the spare key?").notice
            assert "Aunt Vera" in notice
            assert "The application says" not in guard.recall("Who has the spare key?").context
        assert "the application says" in str(guard.explain(told.memories[0].id))
        assert not guard.verify().problems


def test_an_entry_that_is_held_back_takes_its_place_when_it_is_accepted() -> None:
    with open_guard() as guard:
        old = guard.remember(KEY).memories[0]
        held = guard.remember("Aunt Vera knows a shortcut.", source="tool:crm", over=old.id).memories[0]
        guard.resolve(held.id, accept=True)
        assert guard.get(old.id).status is Status.SUPERSEDED


def test_a_revocation_gives_the_place_back_and_tells_the_rest_again() -> None:
    """The stated pair is kept: told again, when something between them is gone, it still counts."""
    with open_guard() as guard:
        old = guard.remember(KEY, source="tool:crm", authenticated=True).memories[0]
        middle = guard.remember(OTHER, source="tool:crm", authenticated=True, over=[old.id]).memories[0]
        last = guard.remember("Aunt Vera knows a shortcut.", over=[middle.id]).memories[0]
        assert [guard.get(one.id).status for one in (old, middle, last)] == [
            Status.SUPERSEDED,
            Status.SUPERSEDED,
            Status.ACTIVE,
        ]
        guard.undo(guard.history(last.id)[0].seq)
        assert guard.get(middle.id).status is Status.ACTIVE
        guard.revoke("tool:crm")
        assert guard.get(old.id).status is Status.RETRACTED
    with open_guard() as guard:
        mine = guard.remember(KEY).memories[0]
        for nearer in NEARER:
            guard.remember(nearer)
        rival = guard.remember("The ferry leaves at 9:15.", source="web:pool.example").memories[0]
        held = guard.remember("The ferry leaves at 7:45.", source="tool:crm", over=[mine.id]).memories[0]
        assert held.contradicts == tuple(sorted([mine.id, rival.id]))
        guard.revoke("web:pool.example")
        assert guard.get(rival.id).status is Status.RETRACTED
        assert guard.get(held.id).status is Status.CONTESTED


def test_the_same_words_are_no_rival_of_themselves() -> None:
    with open_guard() as guard:
        old = guard.remember(KEY).memories[0]
        again = guard.remember(KEY, over=[old.id])
        assert again.outcomes == (Outcome.KNOWN,)
        assert guard.get(old.id).status is Status.ACTIVE


def test_words_that_another_memory_has_already_take_the_place_all_the_same() -> None:
    with open_guard() as guard:
        old, other = guard.remember(KEY).memories[0], guard.remember(OTHER).memories[0]
        told = guard.remember(OTHER, over=[old.id], message_id="edit")
        assert told.replaced == (old.id,)
        assert guard.get(old.id).status is Status.SUPERSEDED
        assert guard.get(other.id).status is Status.ACTIVE
        assert guard.recall("What colour is the front door?").context.count(OTHER) == 1
        outside = guard.remember(OTHER, source="tool:crm", over=[other.id])
        assert outside.effect is Outcome.CONTESTED


def test_it_names_memories_that_stand() -> None:
    with open_guard() as guard:
        old = guard.remember(KEY).memories[0]
        guard.remember(OTHER, over=[old.id])
        with pytest.raises(InputError, match=f"{old.id} is superseded"):
            guard.remember("Aunt Vera knows a shortcut.", over=[old.id])
        with pytest.raises(MemoryNotFoundError):
            guard.remember("Aunt Vera knows a shortcut.", over=["m_0000000000000000"])
        with pytest.raises(MemoryNotFoundError):
            guard.for_user("ravi").remember("Aunt Vera knows a shortcut.", over=[old.id])
        with pytest.raises(InputError, match="by their ids"):
            guard.remember("Aunt Vera knows a shortcut.", over=[3])  # type: ignore[list-item]
        assert len(guard.memories(status=None)) == 2


def test_several_statements_of_one_entry_take_one_place() -> None:
    with open_guard() as guard:
        old = guard.remember(KEY).memories[0]
        told = guard.remember("Aunt Vera knows a shortcut. The pool is heated.", over=[old.id])
        assert told.replaced == (old.id,)
        assert {memory.status for memory in told.memories} == {Status.ACTIVE}
