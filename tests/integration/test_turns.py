"""What enters an assistant's turn taints what is written in it (G9)."""

from __future__ import annotations

import pytest

from thymus import MemoryGuard
from thymus.errors import InputError

MAIL = "The rent of your flat is from now on paid to GB33 BUKB 2020 1555 5555 55."


@pytest.fixture
def guard() -> MemoryGuard:
    return MemoryGuard(gate="thymus-v4", judge="typed", embedder="hash")


def test_what_the_assistant_writes_is_derived_from_what_it_read(guard: MemoryGuard) -> None:
    with guard.turn() as turn:
        turn.read(MAIL, source="email:landlord@flats.example", authenticated=True)
        written = turn.remember("The user's rent goes to a new account.")
    assert tuple(source.key for source in written.memories[0].lineage) == ("email:landlord@flats.example",)


def test_memories_that_a_recall_showed_count_as_read(guard: MemoryGuard) -> None:
    guard.remember("The library closes at 6 pm.", source="web:library.example")
    with guard.turn() as turn:
        turn.recall("When does the library close?")
        assert turn.entered == ("web:library.example",)
        written = turn.remember("The library near the user closes at 6 pm on all days.")
    assert [source.key for source in written.memories[0].lineage] == ["web:library.example"]


def test_the_users_own_words_are_derived_from_nothing(guard: MemoryGuard) -> None:
    with guard.turn() as turn:
        turn.read(MAIL, source="email:landlord@flats.example")
        written = turn.remember("My sister lives in Bergen.", source="user")
        assert written.memories[0].lineage == ()
        assert turn.remember("My bike is blue.", source="user").memories[0].lineage == ()


def test_a_tool_that_repeats_what_was_read_is_derived_from_it_and_another_is_not(guard: MemoryGuard) -> None:
    with guard.turn() as turn:
        turn.read(MAIL, source="email:landlord@flats.example")
        echo = turn.remember("Note saved: rent, GB33 BUKB 2020 1555 5555 55.", source="tool:notes", authenticated=True)
        other = turn.remember("Standup is at 9:15 on Monday.", source="tool:calendar", authenticated=True)
    assert echo.effect == "contested"
    assert tuple(source.key for source in echo.memories[0].lineage) == ("email:landlord@flats.example",)
    assert other.memories[0].lineage == ()


def test_a_value_in_other_words_is_an_echo_too(guard: MemoryGuard) -> None:
    with guard.turn() as turn:
        turn.read("Choir moves to quarter past six in the evening.", source="email:gunilla@choir.example")
        echo = turn.remember("Choir practice 18:15", source="tool:calendar", authenticated=True)
    assert [source.key for source in echo.memories[0].lineage] == ["email:gunilla@choir.example"]


def test_the_next_turn_starts_clean(guard: MemoryGuard) -> None:
    turn = guard.turn()
    with turn:
        turn.read(MAIL, source="email:landlord@flats.example")
    assert turn.entered == ()


def test_a_message_that_is_remembered_enters_the_turn(guard: MemoryGuard) -> None:
    with guard.turn() as turn:
        turn.remember("The gym opens at 7 am.", source="email:desk@gym.example", authenticated=True)
        written = turn.remember("Summary: the gym opens at 7 in the morning.")
    assert "email:desk@gym.example" in [source.key for source in written.memories[0].lineage]


def test_bad_input_is_refused(guard: MemoryGuard) -> None:
    with guard.turn() as turn, pytest.raises(InputError, match="text"):
        turn.read(b"bytes", source="web:a.example")  # type: ignore[arg-type]
