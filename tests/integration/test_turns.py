"""What enters an assistant's turn taints what is written in it (G9)."""

from __future__ import annotations

import asyncio
import time

import pytest

from thymus import AsyncMemoryGuard, MemoryGuard, Recall
from thymus.aio import AsyncTurn
from thymus.errors import InputError
from thymus.records import Written

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


@pytest.mark.parametrize(
    ("read", "told"),
    [
        ("Choir is at quarter past six, tea at noon.", "Choir practice 18:15, dentist 14:40"),
        ("Choir is at quarter past six. " + " ".join(f"Bus {n} at {n % 24}:{n % 60:02}." for n in range(90)), "18:15"),
    ],
    ids=["among other values on both sides", "among more than are compared"],
)
def test_padding_hides_no_echo(guard: MemoryGuard, read: str, told: str) -> None:
    with guard.turn() as turn:
        turn.read(read, source="email:gunilla@choir.example")
        echo = turn.remember(f"Practice {told}", source="tool:calendar", authenticated=True)
    assert [source.key for source in echo.memories[0].lineage] == ["email:gunilla@choir.example"]


def test_a_bare_number_among_others_is_no_echo(guard: MemoryGuard) -> None:
    with guard.turn() as turn:
        turn.read("The dice showed 12 and then 3.", source="web:farm.example")
        other = turn.remember("Scores: 3, 8", source="tool:calendar", authenticated=True)
    assert other.memories[0].lineage == ()


def test_what_one_source_said_in_parts_is_all_remembered(guard: MemoryGuard) -> None:
    with guard.turn() as turn:
        for part in ("Choir is at quarter past six.", "Tea is at noon."):
            turn.read(part, source="email:gunilla@choir.example")
        for told in ("Practice 18:15", "Tea 12:00"):
            echo = turn.remember(told, source="tool:calendar", authenticated=True)
            assert [source.key for source in echo.memories[0].lineage] == ["email:gunilla@choir.example"]
    assert turn.entered == ()


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


def test_a_turn_that_is_over_takes_and_tells_nothing_more(guard: MemoryGuard) -> None:
    with guard.turn() as turn:
        turn.read(MAIL, source="email:landlord@flats.example")
    for late in (
        lambda: turn.remember("The user's rent goes to a new account."),
        lambda: turn.remember("My bike is blue.", source="user"),
        lambda: turn.read(MAIL, source="web:a.example"),
        lambda: turn.recall("Where does the rent go?"),
        turn.__enter__,
    ):
        with pytest.raises(InputError, match="this turn is over"):
            late()
    assert guard.memories(status=None) == []


def test_an_asynchronous_turn_is_the_same(guard: MemoryGuard, monkeypatch: pytest.MonkeyPatch) -> None:
    guard.remember("The library closes at 6 pm.", source="web:library.example")
    recall = guard.recall

    def slow(question: str, *, k: int) -> Recall:
        time.sleep(0.1)
        return recall(question, k=k)

    monkeypatch.setattr(guard, "recall", slow)

    async def play() -> tuple[Written, AsyncTurn]:
        async with AsyncMemoryGuard(guard=guard).turn() as turn:
            turn.read(MAIL, source="email:landlord@flats.example")
            recalled, written = await asyncio.gather(
                turn.recall("When does the library close?", k=3),
                turn.remember("The user's rent goes to a new account, and the library is near."),
            )
            assert [memory.source.key for memory in recalled.memories] == ["web:library.example"]
            assert turn.entered == ("email:landlord@flats.example", "web:library.example")
        with pytest.raises(InputError, match="this turn is over"):
            await turn.remember("The user's rent goes to a new account.")
        return written, turn

    written, turn = asyncio.run(play())
    assert {"email:landlord@flats.example", "web:library.example"} == {one.key for one in written.memories[0].lineage}
    assert turn.entered == ()


def test_bad_input_is_refused(guard: MemoryGuard) -> None:
    with guard.turn() as turn, pytest.raises(InputError, match="text"):
        turn.read(b"bytes", source="web:a.example")  # type: ignore[arg-type]
