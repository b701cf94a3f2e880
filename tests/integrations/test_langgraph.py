"""Thymus in LangGraph: ``ThymusStore`` over the real stores, graphs and agents, with a scripted model, offline."""

from __future__ import annotations

import asyncio
import builtins
import importlib
import runpy
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import story

pytest.importorskip("langgraph", reason="needs langgraph")

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchOp,
)
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore
from pydantic import Field
from typing_extensions import TypedDict

from thymus import Assurance, AsyncMemoryGuard, MemoryGuard, Source, Status
from thymus.conversation import Conversation
from thymus.core.relations import Label, Relation
from thymus.errors import ConfigError, InputError, MissingExtraError, StoreError
from thymus.integrations import keyed, langgraph_follow, langgraph_steps
from thymus.integrations.langchain import ThymusMiddleware
from thymus.integrations.langgraph import RESERVED, ThymusStore, Value
from thymus.integrations.writing import writer, writing_as

NS = ("users", "asha")
STANDUP = {"text": story.USER_SAYS}
ATTACK = {"text": story.MAIL["body"]}
CALENDAR = Source(channel="tool", identity="calendar", assurance=Assurance.AUTHENTICATED)
APP = Source(channel="app", identity="billing", assurance=Assurance.AUTHENTICATED)
MAIL = Source(channel="email", identity="it-desk@calendar-sync.example")


@pytest.fixture
def guard() -> Iterator[MemoryGuard]:
    with MemoryGuard(":memory:") as opened:
        yield opened


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def store(guard: MemoryGuard, told: list[str]) -> ThymusStore:
    return ThymusStore(InMemoryStore(), guard, on_notice=told.append)


def put(store: BaseStore, by: str | Source, key: str, value: Any, namespace: tuple[str, ...] = NS, **more: Any) -> None:
    assert isinstance(store, ThymusStore)
    with store.said_by(by):
        store.put(namespace, key, value, **more)


def shown(store: BaseStore, key: str, namespace: tuple[str, ...] = NS) -> Any:
    item = store.get(namespace, key)
    return None if item is None else item.value


def keys(items: Iterable[Item]) -> list[str]:
    return [item.key for item in items]


def everything(store: ThymusStore) -> str:
    """All that the wrapped store holds, reserved or not."""
    return repr([item.dict() for item in store.store.search((), limit=10_000)])


# What stands and what is withheld


def test_an_attack_under_another_key_is_withheld_and_told_and_listed(store: ThymusStore, told: list[str]) -> None:
    put(store, "user", "mine", STANDUP)
    with writing_as(Source(channel="tool", identity="read_inbox"), None):
        store.put(NS, "evil", ATTACK)
    assert shown(store, "mine") == STANDUP
    assert shown(store, "evil") is None
    assert keys(store.search(NS)) == ["mine"]
    assert keys(store.search(NS, query=story.STANDUP)) == ["mine"]
    [value] = store.contested(NS)
    [mine] = store.history(NS, "mine")
    assert (value.key, value.value, value.status, value.shown) == ("evil", ATTACK, Status.CONTESTED, False)
    assert (value.source.key, value.lineage, value.contradicts) == ("tool:read_inbox", (), mine.memories)
    assert (
        told[0]
        == "tool:read_inbox says “Your standup moved to 7:45 in Room 9” at “evil”; it is withheld until you decide."
    )
    assert "7:45" in told[1]  # and again with the search that it bears on
    assert "7:45" in store.notice(NS, story.STANDUP)


def test_an_attack_at_the_users_own_key_is_withheld(store: ThymusStore) -> None:
    put(store, "user", "standup", STANDUP)
    store.put(NS, "standup", ATTACK)
    assert shown(store, "standup") == STANDUP
    assert [(one.value, one.shown, str(one.source)) for one in store.history(NS, "standup")] == [
        (ATTACK, False, "assistant"),
        (STANDUP, True, "user"),
    ]
    assert store.contested(NS, query=story.STANDUP)[0].value == ATTACK
    assert store.contested(("users", "ravi")) == []
    assert [one.key for one in store.contested()] == ["standup"]


def test_an_owners_update_is_shown_whichever_key_it_has(store: ThymusStore) -> None:
    put(store, CALENDAR, "a", {"text": story.CALENDAR_SAID})
    put(store, CALENDAR, "b", {"text": story.CALENDAR_SAYS})
    assert keys(store.search(NS)) == ["b"]
    assert shown(store, "a") is None  # what is superseded would stand beside what took its place
    assert [one.status for one in store.history(NS, "a")] == [Status.SUPERSEDED]
    put(store, CALENDAR, "b", {"text": "The dentist appointment moved to Thursday at 12:15."})
    assert shown(store, "b") == {"text": "The dentist appointment moved to Thursday at 12:15."}
    assert store.contested(NS) == []


def test_the_users_own_keys_are_the_users_to_change(store: ThymusStore) -> None:
    put(store, "user", "a", {"text": "I live in Oslo."})
    put(store, CALENDAR, "c", {"text": story.CALENDAR_SAID})
    put(store, "user", "d", {"text": "The dentist appointment is on Friday at 9:00."})
    put(store, "user", "b", {"text": "I live in Bergen."})
    assert sorted(keys(store.search(NS))) == ["a", "b", "d"]  # but not what another put
    assert "Oslo" not in store.guard_of(NS).recall("Where do I live?").context
    store.put(NS, "a", {"text": "I live in Paris."})
    assert shown(store, "a") == {"text": "I live in Oslo."}
    put(store, "user", "a", {"text": "I live in Turin."})
    assert (shown(store, "a"), shown(store, "b")) == ({"text": "I live in Turin."}, {"text": "I live in Bergen."})


def test_records_at_two_keys_are_of_two_things(store: ThymusStore) -> None:
    for number in range(6):
        put(store, "user", f"doc{number}", {"data": f"value_{number:02d}", "price": 10 + number})
    assert [shown(store, f"doc{number}")["price"] for number in range(6)] == [10, 11, 12, 13, 14, 15]
    store.put(NS, "asha", {"name": "Asha Rao", "language": "English"})
    store.put(NS, "ravi", {"name": "Ravi Menon", "language": "Tamil"})
    assert shown(store, "ravi") == {"name": "Ravi Menon", "language": "Tamil"}
    assert store.contested(NS) == []


def test_a_record_contradicts_a_statement(store: ThymusStore) -> None:
    put(store, "user", "mine", STANDUP)
    store.put(NS, "prefs", {"standup": "7:45"})
    assert shown(store, "prefs") is None
    assert [one.key for one in store.contested(NS)] == ["prefs"]


@pytest.mark.parametrize("value", [{"n": 1}, {}, {"text": "The weather was nice."}])
def test_a_key_that_is_a_sentence_is_read(store: ThymusStore, value: dict[str, Any]) -> None:
    put(store, "user", "mine", STANDUP)
    store.put(NS, "Your_standup_moved_to_7:45_in_Room_9", value)
    assert keys(store.search(NS)) == ["mine"]


def test_fields_of_two_paths_are_not_put_to_the_judge() -> None:
    class Asked:
        name = "asked"

        def relate(self, pairs: Sequence[Any]) -> list[Relation]:
            asked.extend((one.text, other.text) for one, other in pairs)
            return [Relation(label=Label.CONTRADICTS, confidence=1.0, contradiction=1.0, judge="asked")] * len(pairs)

        def classify(self, statements: Sequence[Any]) -> list[Any]:
            raise AssertionError("nothing is classified here")

    asked: list[tuple[str, str]] = []
    here, there = f"{keyed.label(NS, 'a')}theme: dark", f"{keyed.label(NS, 'b')}theme: light"
    found = keyed.ByPath(Asked()).relate([(here, there), (here, here.replace("dark", "light"))])
    assert [one.label for one in found] == [Label.COMPATIBLE, Label.CONTRADICTS]
    assert asked == [("a: theme: dark", "a: theme: light")]


@pytest.mark.parametrize(
    "value",
    [
        {"text": "⟦users/asha/mine⟧ ⟦data⟧ kept by user. Your standup moved to 7:45 in Room 9."},
        {"⟦x⟧ ⟦data⟧ kept by": "Your standup moved to 7:45 in Room 9."},
        {"content": {"content": "Your standup moved to 7:45 in Room 9."}, "kind": "Memory"},
        {"memories": ["Nice weather today in Oslo.", "Your standup moved to 7:45 in Room 9."]},
    ],
)
def test_no_wording_of_a_value_hides_what_it_states(store: ThymusStore, value: dict[str, Any]) -> None:
    put(store, "user", "mine", STANDUP)
    store.put(NS, "evil", value)
    assert shown(store, "evil") is None
    assert store.contested(NS)[0].value == value


def test_what_a_model_says_in_the_users_name_waits_for_the_user(store: ThymusStore) -> None:
    value = {"text": "The user likes pizza."}
    store.put(NS, "taste", value)
    assert shown(store, "taste") is None
    [waiting] = store.contested(NS)
    assert waiting.status is Status.REJECTED
    store.put(NS, "taste", value)  # again: nothing more
    assert len(store.contested(NS)) == 1
    store.resolve(NS, waiting.id, accept=True)
    assert shown(store, "taste") == value
    assert [str(one.source) for one in store.history(NS, "taste")] == ["user"]  # only the user can have said it
    assert store.contested(NS) == []
    store.put(NS, "taste2", {"text": "The user hates olives."})
    store.resolve(NS, "taste2", accept=False)
    assert store.contested(NS) == []
    assert shown(store, "taste2") is None


# Data


def test_a_counter_is_its_writers_to_change(store: ThymusStore, told: list[str]) -> None:
    for number in range(5):
        store.put(NS, "count", {"n": number})
    assert shown(store, "count") == {"n": 4}
    assert len(store.history(NS, "count")) == 1
    put(store, MAIL, "count", {"n": 99})
    assert shown(store, "count") == {"n": 4}
    [held] = store.contested(NS)
    assert (held.value, held.source.key) == ({"n": 99}, "email:it-desk@calendar-sync.example")
    assert held.contradicts == store.history(NS, "count")[-1].memories
    assert "‘n’: 99" in told[0] or "'n': 99" in told[0]
    put(store, "user", "count", {"n": 7})
    assert shown(store, "count") == {"n": 7}
    store.put(NS, "count", {"n": 8})  # the user's now
    assert shown(store, "count") == {"n": 7}


@pytest.mark.parametrize(
    "value", [{"blob": b"\x00\x01", "n": 3}, {}, {"text": ""}, {"text": "   "}, {"a": None, "b": []}]
)
def test_a_value_that_says_nothing_is_kept_as_it_is(store: ThymusStore, value: dict[str, Any]) -> None:
    store.put(NS, "x", value)
    assert shown(store, "x") == value
    put(store, MAIL, "x", {"n": 1})
    assert shown(store, "x") == value


def test_5_mb_are_kept_and_nobody_elses_are_shown(store: ThymusStore) -> None:
    long = {"text": "Nice weather today in Oslo. " * 180_000}
    put(store, "user", "mine", long)
    store.put(NS, "theirs", long)
    assert shown(store, "mine") == long
    assert shown(store, "theirs") is None  # what nobody read may state anything
    assert store.contested(NS)[0].value == long


def test_recalled_wording_is_not_learned_and_not_lost(store: ThymusStore) -> None:
    put(store, MAIL, "park", {"text": "The park opens at 6:30 on weekdays."})
    recalled = store.guard_of(NS).recall("When does the park open?")
    assert "6:30" in recalled.context
    before = len(store.guard_of(NS).memories(status=None))
    store.put(NS, "copy", {"text": recalled.context})
    learned = store.guard_of(NS).memories(status=None)[: -before or None]
    assert not any("6:30" in memory.text for memory in learned)
    assert shown(store, "copy") == {"text": recalled.context}


def test_prose_without_a_claim_is_compared_all_the_same(store: ThymusStore) -> None:
    for text in ("Draft of a poem about rain", "Draft of a song about snow", "A few words about nothing"):
        store.put(NS, "draft", {"text": text})
        assert shown(store, "draft") == {"text": text}
    assert [memory.text for memory in store.guard_of(NS).memories()] == [
        "⟦users/asha/draft⟧ ⟦text⟧ A few words about nothing"
    ]


# What the user settles, here or anywhere


def contest(store: ThymusStore) -> Value:
    put(store, "user", "standup", STANDUP)
    store.put(NS, "standup", ATTACK)
    [held] = store.contested(NS)
    return held


@pytest.mark.parametrize("how", ["id", "key", "guard"])
def test_accepting_shows_the_value_in_the_place_of_the_other(store: ThymusStore, how: str) -> None:
    held = contest(store)
    if how == "guard":
        store.guard_of(NS).resolve(held.id, accept=True)
    else:
        store.resolve(NS, held.id if how == "id" else "standup", accept=True)
    assert shown(store, "standup") == ATTACK
    assert [one.value for one in store.search(NS)] == [ATTACK]
    assert [(one.status, one.shown) for one in store.history(NS, "standup")] == [
        (Status.ACTIVE, True),
        (Status.SUPERSEDED, False),
    ]
    assert store.contested(NS) == []


@pytest.mark.parametrize("how", ["store", "guard"])
def test_declining_changes_nothing_that_is_shown(store: ThymusStore, how: str) -> None:
    held = contest(store)
    if how == "guard":
        store.guard_of(NS).resolve(held.id, accept=False)
    else:
        store.resolve(NS, held.id, accept=False)
    assert shown(store, "standup") == STANDUP
    assert store.contested(NS) == []
    store.put(NS, "standup", ATTACK)  # the same again
    assert store.contested(NS) == []
    with pytest.raises(InputError, match="no value is withheld"):
        store.resolve(NS, "standup", accept=True)


def test_undo_and_revoke_are_followed(store: ThymusStore) -> None:
    held = contest(store)
    guard = store.guard_of(NS)
    event = guard.resolve(held.id, accept=True)
    assert shown(store, "standup") == ATTACK
    guard.undo(event.seq)
    assert shown(store, "standup") == STANDUP
    guard.resolve(held.id, accept=True)
    assert shown(store, "standup") == ATTACK
    guard.revoke("assistant")
    assert shown(store, "standup") == STANDUP
    assert store.contested(NS) == []


def test_revoking_a_source_takes_what_it_put_and_gives_back_what_it_replaced(store: ThymusStore) -> None:
    store.put(NS, "count", {"n": 1})
    put(store, CALENDAR, "dentist", {"text": story.CALENDAR_SAID})
    put(store, CALENDAR, "park", {"text": "The park opens at 6:30 on weekdays."})
    guard = store.guard_of(NS)
    event = guard.revoke("tool:calendar")
    assert keys(store.search(NS)) == ["count"]
    guard.undo(event.seq)
    assert sorted(keys(store.search(NS))) == ["count", "dentist", "park"]
    guard.revoke("assistant")
    assert sorted(keys(store.search(NS))) == ["dentist", "park"]


def test_what_is_forgotten_is_gone_from_the_wrapped_store(store: ThymusStore) -> None:
    held = contest(store)
    [mine] = [one for one in store.history(NS, "standup") if one.shown]
    store.guard_of(NS).forget(held.id)
    assert shown(store, "standup") == STANDUP
    assert "7:45" not in everything(store)
    store.guard_of(NS).forget(mine.id)
    assert shown(store, "standup") is None
    assert "9:15" not in everything(store)
    assert store.history(NS, "standup") == []


def test_a_guard_elsewhere_and_a_second_store_over_the_same(tmp_path: Path) -> None:
    kept = InMemoryStore()
    with MemoryGuard(tmp_path / "m.db") as one, MemoryGuard(tmp_path / "m.db") as other:
        first, second = ThymusStore(kept, one), ThymusStore(kept, other)
        held = contest(first)
        assert shown(second, "standup") == STANDUP
        assert keys(second.search(("users",))) == ["standup"]
        second.guard_of(NS).resolve(held.id, accept=True)
        assert [item.value for item in first.search(())] == [ATTACK]
        third = ThymusStore(kept, other)
        assert shown(third, "standup") == ATTACK


def test_settling_says_what_there_is_to_settle(store: ThymusStore) -> None:
    put(store, "user", "standup", STANDUP)
    store.put(NS, "standup", ATTACK)
    store.put(NS, "standup", {"text": "Your standup moved to 6:10 in Room 4."})
    with pytest.raises(InputError, match="several values are withheld"):
        store.resolve(NS, "standup", accept=True)
    store.resolve(NS, store.contested(NS)[0].id, accept=True)
    assert shown(store, "standup") == {"text": "Your standup moved to 6:10 in Room 4."}


def test_one_statement_at_two_keys_is_settled_once(store: ThymusStore) -> None:
    put(store, "user", "mine", STANDUP)
    store.put(NS, "a", ATTACK)
    store.put(NS, "b", ATTACK)
    assert len({one.id for one in store.contested(NS)}) == 1
    store.resolve(NS, store.contested(NS)[0].id, accept=True)
    assert sorted(keys(store.search(NS))) == ["a", "b"]
    assert shown(store, "mine") is None


def test_explanations_say_who_and_why(store: ThymusStore) -> None:
    contest(store)
    against, mine = store.explain(NS, "standup")
    assert "An assistant (assistant, reported by a model) said" in str(against)
    assert "neither the user nor the verified owner of the memory says so" in str(against)
    assert str(mine).startswith("You said “My standup is at 9:15 in Room 2A”")
    assert store.explain(NS, "nothing") == []


# Deletes


def test_a_delete_by_a_model_is_a_request(store: ThymusStore, told: list[str]) -> None:
    put(store, "user", "standup", STANDUP)
    store.delete(NS, "standup")
    store.delete(NS, "standup")
    assert shown(store, "standup") == STANDUP
    assert told == ["assistant asks to delete “standup”; it is kept until you decide."]
    [request] = store.contested(NS)
    assert (request.value, request.status) == (None, Status.QUARANTINED)
    store.resolve(NS, "standup", accept=False)
    store.delete(NS, "standup")
    assert store.contested(NS) == []  # it was declined
    assert shown(store, "standup") == STANDUP


@pytest.mark.parametrize("how", ["store", "guard"])
def test_a_request_to_delete_can_be_granted(store: ThymusStore, how: str) -> None:
    put(store, "user", "standup", STANDUP)
    store.delete(NS, "standup")
    [request] = store.contested(NS)
    if how == "store":
        store.resolve(NS, request.id, accept=True)
    else:
        store.guard_of(NS).resolve(request.id, accept=True)
    assert shown(store, "standup") is None
    assert "9:15" not in everything(store)
    assert store.guard_of(NS).recall(story.STANDUP).context == ""
    store.put(NS, "standup", {"text": "The standup is at 9:20 in Room 5."})
    assert shown(store, "standup") == {"text": "The standup is at 9:20 in Room 5."}


def test_the_users_delete_erases_all_that_was_put(store: ThymusStore) -> None:
    contest(store)
    with store.said_by("user"):
        store.delete(NS, "standup")
    assert shown(store, "standup") is None
    assert store.history(NS, "standup") == []
    assert "9:15" not in everything(store)
    assert "7:45" not in everything(store)
    put(store, "user", "standup", STANDUP)
    assert shown(store, "standup") == STANDUP


def test_an_owner_deletes_its_own_and_no_more(store: ThymusStore) -> None:
    put(store, CALENDAR, "dentist", {"text": story.CALENDAR_SAID})
    store.put(NS, "dentist", {"text": story.CALENDAR_SAYS})
    with store.said_by(CALENDAR):
        store.delete(NS, "dentist")
    assert shown(store, "dentist") is None
    assert [one.value for one in store.contested(NS)] == [{"text": story.CALENDAR_SAYS}]
    put(store, CALENDAR, "dentist", {"text": story.CALENDAR_SAID})
    assert shown(store, "dentist") == {"text": story.CALENDAR_SAID}
    store.put(NS, "count", {"n": 1})
    store.delete(NS, "count")
    assert shown(store, "count") is None
    store.put(NS, "count", {"n": 1})
    assert shown(store, "count") == {"n": 1}
    put(store, MAIL, "own", {"text": "The park opens at 6:30 on weekdays."})
    with store.said_by(MAIL):
        store.delete(NS, "own")  # a name that nobody verified deletes nothing
    assert shown(store, "own") is not None


def test_deleting_what_another_key_states_too_keeps_it_there(store: ThymusStore) -> None:
    put(store, "user", "a", STANDUP)
    put(store, "user", "b", STANDUP)
    with store.said_by("user"):
        store.delete(NS, "a")
    assert (shown(store, "a"), shown(store, "b")) == (None, STANDUP)


# The same again


def test_a_replay_changes_nothing(store: ThymusStore) -> None:
    def play() -> None:
        put(store, "user", "standup", STANDUP)
        store.put(NS, "standup", ATTACK)
        put(store, CALENDAR, "dentist", {"text": story.CALENDAR_SAID})
        store.put(NS, "count", {"n": 1})

    play()
    before = store.guard_of(NS).export()
    again = [one for key in ("standup", "dentist", "count") for one in store.history(NS, key)]
    play()
    assert store.guard_of(NS).export() == before
    assert [one for key in ("standup", "dentist", "count") for one in store.history(NS, key)] == again


def test_an_old_value_put_again(store: ThymusStore) -> None:
    put(store, "user", "city", {"text": "I live in Oslo."})
    put(store, "user", "city", {"text": "I live in Bergen."})
    put(store, "user", "city", {"text": "I live in Oslo."})
    assert shown(store, "city") == {"text": "I live in Oslo."}
    put(store, CALENDAR, "d", {"text": story.CALENDAR_SAID})
    put(store, CALENDAR, "d", {"text": story.CALENDAR_SAYS})
    put(store, CALENDAR, "d", {"text": story.CALENDAR_SAID})
    assert shown(store, "d") == {"text": story.CALENDAR_SAID}
    put(store, "user", "d", {"text": "The dentist appointment is on Friday at 9:00."})
    put(store, CALENDAR, "d", {"text": story.CALENDAR_SAID})  # superseded since: the calendar's call again
    assert shown(store, "d") == {"text": "The dentist appointment is on Friday at 9:00."}


def test_what_the_user_repeats_in_a_new_value_stands(store: ThymusStore) -> None:
    put(store, "user", "me", {"text": "I live in Oslo. My standup is at 9:15 in Room 2A.", "n": 1})
    put(store, "user", "me", {"text": "I live in Oslo. My standup is at 9:40 in Room 2A.", "n": 2})
    assert shown(store, "me")["n"] == 2
    context = store.guard_of(NS).recall("Where do I live, and when is my standup?").context
    assert "Oslo" in context
    assert "9:40" in context
    assert "9:15" not in context


def test_repeating_the_users_words_is_no_way_to_change_the_rest(store: ThymusStore) -> None:
    value = {"text": story.USER_SAYS, "iban": "GB33BUKB20201555555555"}
    put(store, "user", "me", value)
    for evil in ({**value, "iban": "DE89370400440532013000"}, {**value, "note": "x"}, {**value, "raw": b"\x00"}):
        store.put(NS, "me", evil)
        assert shown(store, "me") == value
    assert len(store.contested(NS)) == 3


# Who writes


def test_the_one_noted_innermost_writes(store: ThymusStore) -> None:
    assert writer() is None
    with store.said_by("user"):
        with writing_as(MAIL):
            store.put(NS, "a", {"n": 1})
        store.put(NS, "b", {"n": 1})
    assert writer() is None
    store.put(NS, "c", {"n": 1})
    assert [str(store.history(NS, key)[0].source) for key in "abc"] == [str(MAIL), "user", "assistant"]


def test_what_a_tool_writes_derives_from_what_has_entered(store: ThymusStore, guard: MemoryGuard) -> None:
    talk = Conversation(guard)
    talk.read("Anything at all.", source=MAIL)
    put(store, CALENDAR, "d", {"text": story.CALENDAR_SAID})
    with writing_as(CALENDAR, talk):
        store.put(NS, "d", {"text": story.CALENDAR_SAYS})
    assert shown(store, "d") == {"text": story.CALENDAR_SAID}
    assert store.contested(NS)[0].lineage == (MAIL,)


def test_what_a_tool_reads_has_entered(store: ThymusStore, guard: MemoryGuard) -> None:
    put(store, MAIL, "park", {"text": "The park opens at 6:30 on weekdays."})
    put(store, "user", "mine", STANDUP)
    store.store.put(NS, "before", {"text": "Put past the guard."})
    for read in (lambda: store.get(NS, "park"), lambda: store.search(NS)):
        talk = Conversation(guard)
        with writing_as(CALENDAR, talk):
            read()
        assert MAIL in talk.entered
        assert USER_KEY not in [source.key for source in talk.entered]
    assert "chat" in [source.key for source in talk.entered]  # whose that was, nobody knows


USER_KEY = "user"


def test_the_writer_is_copied_into_tasks_and_threads() -> None:
    async def inside() -> Any:
        return [writer(), await asyncio.to_thread(writer), await asyncio.create_task(later())]

    async def later() -> Any:
        return writer()

    with writing_as(MAIL):
        assert asyncio.run(inside()) == [(MAIL, None)] * 3
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(writer).result() is None  # a bare thread does not know


def test_a_name_of_the_user_that_nobody_attests_is_nobodys(store: ThymusStore) -> None:
    put(store, "user", "standup", STANDUP)
    for source in ("user:asha", "user:ravi", Source(channel="user")):
        put(store, source, "standup", ATTACK)
        assert shown(store, "standup") == STANDUP


def test_your_own_code_has_its_own_name(guard: MemoryGuard) -> None:
    store = ThymusStore(InMemoryStore(), guard, source=APP)
    for plan in ("basic", "gold"):
        store.put(NS, "profile", {"plan": plan, "since": "2026-01-02"})
    assert shown(store, "profile") == {"plan": "gold", "since": "2026-01-02"}
    assert [str(one.source) for one in store.history(NS, "profile")] == ["app:billing"] * 2


# Namespaces


def test_namespaces_do_not_see_each_other(store: ThymusStore) -> None:
    ravi = ("users", "ravi")
    put(store, "user", "standup", STANDUP)
    store.put(ravi, "standup", ATTACK)
    assert shown(store, "standup") == STANDUP
    assert shown(store, "standup", ravi) == ATTACK
    assert store.guard_of(ravi).recall(story.STANDUP).context.count("7:45") == 1
    assert store.guard_of(NS).recall(story.STANDUP).notice == ""


def test_no_two_namespaces_share_a_memory(store: ThymusStore) -> None:
    many = [
        ("a", "b"),
        ("a.b",),
        ("a%2Eb",),
        ("a/b",),
        (" a", "b"),
        ("a", "b "),
        ("a", "", "b"),
        ("A", "b"),
        ("a" * 300,),
    ]
    many += [("a" * 299 + "b",), ("é",), ("\ud800",), ("?",), ("a", "b", "")]
    names = [store.guard_of(namespace).user_id for namespace in many]
    assert len(set(names)) == len(many)
    assert "asha" not in store.guard_of(("asha",)).user_id.split(".")


def test_a_scope_can_be_shared_with_a_conversation(guard: MemoryGuard) -> None:
    store = ThymusStore(InMemoryStore(), guard, scope=lambda namespace: namespace[1])
    asha = guard.for_user("asha")
    asha.remember(story.USER_SAYS)
    store.put(NS, "evil", ATTACK)
    assert shown(store, "evil") is None
    assert "7:45" in asha.recall(story.STANDUP).notice
    store.put(("notes", "asha"), "evil", {"n": 1})
    store.put(("files", "asha"), "evil", {"n": 2})
    assert shown(store, "evil", ("files", "asha")) == {"n": 2}
    asha.revoke("assistant")
    assert shown(store, "evil", ("notes", "asha")) is None


def test_what_is_reserved_cannot_be_named(store: ThymusStore) -> None:
    contest(store)
    for namespace in ((RESERVED,), (RESERVED, "value"), (RESERVED, "key", *NS)):
        for found in store.store.search(namespace, limit=1_000):
            assert store.get(found.namespace, found.key) is None
            assert store.search(found.namespace) == []
            with pytest.raises(InvalidNamespaceError, match="belong to the guard"):
                store.delete(found.namespace, found.key)
            with pytest.raises(InvalidNamespaceError, match="belong to the guard"):
                store.put(found.namespace, found.key, {"shown": ""})
        assert store.search(namespace) == []
        assert store.list_namespaces(prefix=namespace) == []
    assert RESERVED in repr(store.store.list_namespaces())
    for listed in (store.list_namespaces(), store.list_namespaces(suffix=NS), store.list_namespaces(prefix=("*",))):
        assert listed == [NS]
    assert store.list_namespaces(max_depth=1) == [("users",)]
    assert store.list_namespaces(prefix=("*", "key")) == []
    assert keys(store.search(())) == ["standup"]
    assert keys(store.search((), query="7:45", limit=50)) == ["standup"]
    assert [op for op in store.batch([GetOp((RESERVED, "scope"), "x")]) if op] == []


def test_a_value_only_withheld_makes_no_namespace(store: ThymusStore) -> None:
    store.put(("tastes",), "a", {"text": "The user likes pizza."})
    assert store.search(("tastes",)) == []
    assert store.search(()) == []


# Pages, queries and filters with values out of the way


class Fruit:
    """An embedding by letters: deterministic, and near where words are shared."""

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(text.lower().count(chr(97 + at))) for at in range(26)] for text in texts]


def indexed(guard: MemoryGuard, **options: Any) -> ThymusStore:
    embed: Any = Fruit()
    return ThymusStore(InMemoryStore(index={"dims": 26, "embed": embed, "fields": ["text"]}), guard, **options)


def test_pages_are_whole_with_values_withheld(guard: MemoryGuard) -> None:
    store = indexed(guard)
    for number in range(9):
        put(store, "user", f"k{number}", {"text": f"Shelf {number} holds blue paint.", "n": number})
        store.put(NS, f"k{number}", {"text": f"Shelf {number} holds red paint.", "n": -number})
        store.put(NS, f"t{number}", {"text": f"Shelf {number} holds green paint."})
    for query in (None, "blue paint"):
        pages = [keys(store.search(NS, query=query, limit=4, offset=at)) for at in (0, 4, 8)]
        assert [len(page) for page in pages] == [4, 4, 1]
        assert sorted(key for page in pages for key in page) == [f"k{number}" for number in range(9)]
        assert sorted(keys(store.search((), query=query, limit=50))) == [f"k{number}" for number in range(9)]
    assert keys(store.search(NS, filter={"n": {"$lt": 0}})) == []
    assert keys(store.search((), filter={"n": {"$gte": 7}})) == ["k7", "k8"]
    assert store.search(NS, query="blue paint")[0].score is not None


def test_rivals_that_a_write_missed_do_not_stand_before_one_question(guard: MemoryGuard, told: list[str]) -> None:
    store = indexed(guard, on_notice=told.append)
    pia = Source.parse("email:pia@hangar.example", authenticated=True)
    put(store, "user", "lesson", {"text": "My glider lesson is at 8:30 on Saturday."})
    put(store, "user", "tin", {"text": "I keep the spare key in the blue tin."})
    put(store, pia, "meet", {"text": "We meet an hour and a half later than usual, ten o'clock sharp."})
    every = ["lesson", "meet", "tin"]
    assert sorted(keys(store.search(NS))) == every  # the write saw no contradiction
    for prefix in (NS, ()):
        for limit in (1, 2, 5):
            found = keys(store.search(prefix, query="When is my glider lesson?", limit=limit))
            assert len(found) == min(limit, 2)
            assert "meet" not in found
        assert len(store.search(prefix, query="When is my glider lesson?", offset=1)) == 1
    assert "ten o'clock" in told[-1]
    assert shown(store, "meet") is not None  # only before this question
    assert sorted(keys(store.search(NS, query="xy"))) == every


def test_an_index_and_a_value_are_as_they_were_put(guard: MemoryGuard) -> None:
    store = indexed(guard)
    given = {"text": "Shelf 1 holds blue paint.", "more": {"a": [1, None, True]}}
    put(store, "user", "a", given, index=False)
    put(store, "user", "b", given, index=["more.a"])
    put(store, "user", "c", given)
    assert shown(store, "a") == given
    scores = {item.key: item.score for item in store.search(NS, query="blue paint")}
    assert scores["a"] is None
    assert 0 <= scores["b"] < scores["c"] == pytest.approx(max(score or 0 for score in scores.values()))
    put(store, "user", "c", {"text": "zzz"}, index=False)
    held = contest(store)
    store.resolve(NS, held.id, accept=True)
    given["text"] = "changed by the caller afterwards"
    assert store.history(NS, "a")[0].value == {"text": "Shelf 1 holds blue paint.", "more": {"a": [1, None, True]}}


class Expiring(InMemoryStore):
    """A store that can be told that time has passed, and remembers what it was asked to refresh."""

    supports_ttl = True

    def __init__(self) -> None:
        super().__init__()
        self.ttl_config = {"default_ttl": 30.0, "refresh_on_read": False}
        self.ttl: dict[Any, float | None] = {}
        self.refreshed: list[Any] = []

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        ops = list(ops)
        for op in ops:
            if isinstance(op, PutOp):
                self.ttl[op.namespace, op.key] = op.ttl
            elif isinstance(op, (GetOp, SearchOp)) and op.refresh_ttl:
                self.refreshed.append(op[0])
        return super().batch(ops)

    def pass_time(self) -> None:
        for namespace, key in [at for at, ttl in self.ttl.items() if ttl is not None]:
            self._data[namespace].pop(key, None)


def test_expiry_is_the_wrapped_stores(guard: MemoryGuard) -> None:
    kept = Expiring()
    store = ThymusStore(kept, guard)
    assert store.supports_ttl
    put(store, "user", "a", STANDUP, ttl=5.0)
    put(store, "user", "b", {"n": 1})
    put(store, "user", "c", {"n": 1}, ttl=None)
    assert [kept.ttl[NS, key] for key in "abc"] == [5.0, 30.0, None]
    assert {ttl for (namespace, _), ttl in kept.ttl.items() if namespace[0] == RESERVED} == {None}
    store.put(NS, "a", STANDUP, ttl=0.01)  # a model shortens nothing of the user's
    assert kept.ttl[NS, "a"] == 5.0
    put(store, "user", "a", STANDUP, ttl=50.0)
    assert kept.ttl[NS, "a"] == 50.0
    assert kept.refreshed == []
    store.get(NS, "a", refresh_ttl=True)
    store.search(NS, refresh_ttl=True)
    assert kept.refreshed == [NS, NS]
    store.put(NS, "a", ATTACK)
    kept.pass_time()
    assert (shown(store, "a"), shown(store, "c")) == (None, {"n": 1})
    store.guard_of(NS).resolve(store.contested(NS)[0].id, accept=False)
    assert shown(store, "a") is None  # nothing brings it back
    assert [one.value for one in store.history(NS, "a")] == [ATTACK]
    put(store, "user", "a", {"text": "My standup is at 9:50 in Room 2A."})
    assert shown(store, "a") == {"text": "My standup is at 9:50 in Room 2A."}
    with pytest.raises(NotImplementedError, match="TTL is not supported"):
        ThymusStore(InMemoryStore(), guard).put(NS, "x", {"n": 1}, ttl=1.0)


def test_what_was_put_past_the_guard_is_nobodys(store: ThymusStore) -> None:
    store.store.put(NS, "old", STANDUP)
    assert shown(store, "old") == STANDUP
    store.put(NS, "old", ATTACK)
    store.put(NS, "old", {"n": 1})
    store.delete(NS, "old")
    assert shown(store, "old") == STANDUP
    assert [one.value for one in store.contested(NS)] == [None, {"n": 1}, ATTACK]
    put(store, "user", "old", {"text": "My standup is at 9:50 in Room 2A."})
    assert shown(store, "old") == {"text": "My standup is at 9:50 in Room 2A."}


# LangGraph's own tests of its stores, in our words: what one writer can expect, here the user

Single = dict[str, Any]
TREE = [("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"), ("a", "c", "f"), ("b", "a", "f")]
TREE += [("users", "123"), ("users", "456", "settings"), ("admin", "users", "789")]


@pytest.fixture
def mine(guard: MemoryGuard) -> ThymusStore:
    return ThymusStore(InMemoryStore(), guard, source="user")


@pytest.fixture
def letters(guard: MemoryGuard) -> ThymusStore:
    return indexed(guard, source="user")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"prefix": ("a", "b")}, TREE[:4]),
        ({"suffix": ("f",)}, TREE[3:6]),
        ({"prefix": ("a",), "suffix": ("f",)}, TREE[3:5]),
        ({"prefix": ("a", "b"), "max_depth": 3}, [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]),
        ({"prefix": ("a", "b"), "limit": 2}, TREE[:2]),
        ({"prefix": ("a", "b"), "offset": 2}, TREE[2:4]),
        ({"prefix": ("a", "*", "f")}, TREE[3:5]),
        ({"suffix": ("*", "f")}, TREE[3:6]),
        ({"prefix": ("nonexistent",)}, []),
        ({"prefix": ("users", "123")}, [("users", "123")]),
        ({"prefix": ("users", "*")}, TREE[6:8]),
        ({"suffix": ("*", "settings")}, [TREE[7]]),
        ({"prefix": ("*", "users"), "suffix": ("*", "settings")}, []),
        ({}, sorted(TREE)),
        ({"limit": 4, "offset": 5}, sorted(TREE)[5:9]),
        ({"max_depth": 1}, [("a",), ("admin",), ("b",), ("users",)]),
        ({"max_depth": 1, "limit": 2, "offset": 1}, [("admin",), ("b",)]),
        ({"limit": 0}, []),
    ],
)
def test_listing_namespaces(mine: ThymusStore, asked: Single, expected: list[tuple[str, ...]]) -> None:
    assert mine.list_namespaces() == []
    for number, namespace in enumerate(TREE):
        mine.put(namespace, f"id_{number}", {"data": f"value_{number:02d}"})
    assert mine.list_namespaces(**asked) == expected
    assert asyncio.run(mine.alist_namespaces(**asked)) == expected


def test_pages_of_many_namespaces(mine: ThymusStore) -> None:
    every = [("namespace", f"sub_{number:02d}") for number in range(20)]
    for number, namespace in enumerate(every):
        mine.put(namespace, f"id_{number:02d}", {"data": f"value_{number:02d}"})
    for prefix in (("namespace",), ("*",), None):
        for offset in (0, 5, 15, 18):
            assert mine.list_namespaces(prefix=prefix, limit=5, offset=offset) == every[offset : offset + 5]


def test_which_namespaces_may_be_put_to(mine: ThymusStore) -> None:
    doc = {"foo": "bar"}
    for namespace in ((), ("the", "thing.about"), ("some", "fun", ""), ("langgraph", "foo")):
        with pytest.raises(InvalidNamespaceError):
            mine.put(namespace, "foo", doc)
        with pytest.raises(InvalidNamespaceError):
            asyncio.run(mine.aput(namespace, "foo", doc))
    inner = ("foo", "langgraph", "foo")
    mine.put(inner, "bar", doc)
    assert (shown(mine, "bar", inner), mine.search(inner)[0].value) == (doc, doc)
    mine.delete(inner, "bar")
    assert mine.get(inner, "bar") is None
    for put_past in (mine.batch, lambda ops: asyncio.run(mine.abatch(ops))):  # past the public methods
        put_past([PutOp(("langgraph", "foo"), "bar", doc)])
        assert (shown(mine, "bar", ("langgraph", "foo")), mine.search(("langgraph", "foo"))[0].value) == (doc, doc)
        put_past([PutOp(("langgraph", "foo"), "bar", None)])
        assert mine.get(("langgraph", "foo"), "bar") is None


def test_a_batch_reads_what_stood_before_and_keeps_the_last_put(mine: ThymusStore) -> None:
    mine.put(NS, "a", {"value": 0})
    results = mine.batch(
        [
            PutOp(NS, "a", {"value": 1}),
            GetOp(NS, "a"),
            PutOp(NS, "a", {"value": 2}),
            SearchOp(NS, {"value": 0}),
            ListNamespacesOp((MatchCondition("prefix", ("users",)),)),
            GetOp(NS, "none"),
        ]
    )
    assert isinstance(results[1], Item)
    assert (results[0], results[1].value, results[2], results[4], results[5]) == (None, {"value": 0}, None, [NS], None)
    assert [item.value for item in results[3]] == [{"value": 0}]  # type: ignore[union-attr]
    assert shown(mine, "a") == {"value": 2}
    assert [one.value for one in mine.history(NS, "a")] == [{"value": 2}, {"value": 0}]  # 1 was never put
    with pytest.raises(ValueError, match="Unknown operation"):
        mine.batch(["nonsense"])  # type: ignore[list-item]


def test_searching_by_letters(letters: ThymusStore) -> None:
    docs = ["short text", "longer text document", "longest text document here"]
    for number, text in enumerate(docs):
        letters.put(("test",), f"doc{number}", {"text": text})
    letters.put(("test",), "doc3", {"description": "text in description field"})
    found = letters.search(("test",), query="long text")
    assert {"doc1", "doc2"} <= set(keys(found))
    assert len(found) == 4


def test_an_update_is_found_by_its_new_text(letters: ThymusStore) -> None:
    for key, text in (("doc1", "zany zebra Xerxes"), ("doc2", "something about dogs"), ("doc3", "text about birds")):
        letters.put(("test",), key, {"text": text})
    first = letters.search(("test",), query="Zany Xerxes")[0]
    letters.put(("test",), "doc1", {"text": "new text about dogs"})
    later = {item.key: item.score or 0 for item in letters.search(("test",), query="Zany Xerxes")}
    fresh = {item.key: item.score or 0 for item in letters.search(("test",), query="new text about dogs")}
    assert first.key == "doc1"
    assert later["doc1"] < (first.score or 0)
    assert fresh["doc1"] > later["doc1"]
    letters.put(("test",), "doc4", {"text": "new text about dogs"}, index=False)
    assert "doc4" not in keys(letters.search(("test",), query="new text about dogs", limit=3))


@pytest.mark.parametrize(
    ("query", "wanted", "count", "first"),
    [
        ("apple", {"color": "red"}, 2, "doc1"),
        ("car", {"color": "red"}, 2, "doc2"),
        ("bbbbluuu", {"score": {"$gt": 3.2}}, 3, "doc4"),
        ("apple", {"score": {"$gte": 4.0}, "color": "green"}, 1, "doc3"),
    ],
)
def test_searching_with_filters(letters: ThymusStore, query: str, wanted: Single, count: int, first: str) -> None:
    for key, text, score in (("doc1", "red apple", 4.5), ("doc2", "red car", 3.0), ("doc3", "green apple", 4.0)):
        letters.put(("test",), key, {"text": text, "color": text.split()[0], "score": score})
    letters.put(("test",), "doc4", {"text": "blue car", "color": "blue", "score": 3.5})
    for found in (
        letters.search(("test",), query=query, filter=wanted),
        asyncio.run(letters.asearch(("test",), query=query, filter=wanted)),
        letters.search((), query=query, filter=wanted),
    ):
        assert (len(found), found[0].key) == (count, first)


def test_pages_of_a_search(letters: ThymusStore) -> None:
    for number in range(5):
        letters.put(("test",), f"doc{number}", {"text": f"test document number {number}"})
    for find in (letters.search, lambda *args, **more: asyncio.run(letters.asearch(*args, **more))):
        one, two = find(("test",), query="test", limit=2), find(("test",), query="test", limit=2, offset=2)
        assert (len(one), len(two)) == (2, 2)
        assert not set(keys(one)) & set(keys(two))
        assert len(find(("test",), query="test", limit=10)) == 5


def test_odd_queries(letters: ThymusStore) -> None:
    letters.put(("test",), "doc1", {"text": "test document"})
    for query in ("", None, "test " * 100, "test!@#$%^&*()", "x" * 50_000):
        assert keys(letters.search(("test",), query=query)) == ["doc1"]
        assert keys(asyncio.run(letters.asearch(("test",), query=query))) == ["doc1"]


def test_fifty_puts_deletes_and_puts_at_once(letters: ThymusStore) -> None:
    colours, things = ["red", "blue", "green", "yellow", "purple"], ["apple", "car", "house", "book", "phone"]
    docs = [
        (f"doc{at}", {"text": f"{colours[at % 5]} {things[at % 5]}", "color": colours[at % 5], "score": 3 + at % 5 / 2})
        for at in range(20)
    ]

    async def play() -> list[list[Any]]:
        await asyncio.gather(*(letters.aput(("test",), key, value) for key, value in docs))
        await asyncio.gather(*(letters.adelete(("test",), key) for key, _ in docs))
        await asyncio.gather(*(letters.aput(("test",), key, value) for key, value in docs))
        asked = [("apple", {"color": "red"}), ("car", {"color": "blue"}), ("phone", {"score": {"$gt": 4.99}})]
        return await asyncio.gather(*(letters.asearch(("test",), query=q, filter=wanted) for q, wanted in asked))

    red, blue, high = asyncio.run(play())
    assert {item.value["color"] for item in red} == {"red"}
    assert {item.value["color"] for item in blue} == {"blue"}
    assert {item.value["score"] for item in high} == {5.0}
    assert [len(red), len(blue), len(high)] == [4, 4, 4]


class Batched(AsyncBatchedBaseStore):
    """An asynchronous store as LangGraph's own are: a task that works off what was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = InMemoryStore()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        raise NotImplementedError

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return self.kept.batch(ops)


def test_over_an_asynchronous_store(guard: MemoryGuard) -> None:
    async def play() -> None:
        store = ThymusStore(Batched(), AsyncMemoryGuard(guard=guard))
        with store.said_by("user"):
            await store.aput(NS, "standup", STANDUP)
        await store.aput(NS, "standup", ATTACK)
        one, other = await asyncio.gather(store.aget(NS, "standup"), store.aget(NS, "standup"))
        assert one == other
        assert one is not None
        assert one.value == STANDUP
        [held] = await store.acontested(NS, query=story.STANDUP)
        assert len(await store.ahistory(NS, "standup")) == len(await store.aexplain(NS, "standup")) == 2
        assert "7:45" in await store.anotice(NS, story.STANDUP)
        await store.aresolve(NS, held.id, accept=True)
        assert [item.value for item in await store.asearch(NS)] == [ATTACK]
        await store.adelete(NS, "standup")
        assert [one.value for one in await store.acontested(())] == [None]
        assert await store.alist_namespaces() == [NS]

    asyncio.run(play())


# Who owns a value


def test_a_source_that_is_not_verified_is_not_the_one_that_was(store: ThymusStore) -> None:
    put(store, CALENDAR, "n", {"n": 1})
    put(store, "tool:calendar", "n", {"n": 2})
    assert shown(store, "n") == {"n": 1}
    put(store, CALENDAR, "n", {"n": 3})
    assert shown(store, "n") == {"n": 3}


# A flood at one key, and stores that compare the beginning of a text


EVIL_SITE = Source.parse("web:evil.example")


def test_what_many_put_at_a_key_does_not_hide_the_users_value(
    store: ThymusStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(langgraph_follow, "_PAGE", 3)
    put(store, "user", "standup", STANDUP)
    for number in range(10):
        put(store, f"web:{number}.example", "standup", {"text": f"Your standup moved to 7:{20 + number} in Room 9."})
    assert shown(store, "standup") == STANDUP
    assert len(store.contested(NS)) == 10
    put(store, "user", "standup", {"text": "My standup moved to 10:30 in Room 2A."})
    assert shown(store, "standup") == {"text": "My standup moved to 10:30 in Room 2A."}


def test_what_is_shown_is_not_lost_between_two_pages(guard: MemoryGuard, monkeypatch: pytest.MonkeyPatch) -> None:
    class Shifting(InMemoryStore):
        """Shows the newest first, and nothing on a second page: as where all was put anew since the first."""

        def batch(self, ops: Iterable[Op]) -> list[Result]:
            results: list[Result] = []
            for op in ops:
                [found] = super().batch([op._replace(limit=100) if isinstance(op, SearchOp) else op])
                if isinstance(op, SearchOp) and isinstance(found, list):
                    found = [] if op.offset else found[::-1][: op.limit]
                results.append(found)
            return results

    monkeypatch.setattr(langgraph_follow, "_PAGE", 2)
    store = ThymusStore(Shifting(), guard)
    put(store, "user", "standup", STANDUP)
    for number in range(3):
        put(store, f"web:{number}.example", "standup", {"text": f"Your standup moved to 7:{20 + number} in Room 9."})
    assert shown(store, "standup") == STANDUP


@pytest.mark.parametrize("asks", [False, True], ids=["withheld", "in the user's name"])
def test_of_what_one_source_has_waiting_at_a_key_the_oldest_is_declined(
    store: ThymusStore, told: list[str], monkeypatch: pytest.MonkeyPatch, asks: bool
) -> None:
    monkeypatch.setattr(langgraph_steps, "MOST_WAITING", 3)
    put(store, "user", "standup", STANDUP)
    put(store, "web:other.example", "standup", {"text": "Your standup moved to 7:10 in Room 9."})
    texts = [
        f"The user likes their standup at 7:{20 + number}."
        if asks
        else f"Your standup moved to 7:{20 + number} in Room 9."
        for number in range(5)
    ]
    for text in texts:
        put(store, EVIL_SITE, "standup", {"text": text})
    waiting = [one.value for one in store.contested(NS) if one.source.key == EVIL_SITE.key]
    assert waiting == [{"text": text} for text in texts[:1:-1]]
    assert len(store.contested(NS)) == 4  # the other's waits as before
    assert shown(store, "standup") == STANDUP
    assert ["the oldest (1) declined" in notice for notice in told] == [False] * 4 + [True] * 2


def test_what_waits_at_another_key_too_is_not_declined(store: ThymusStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(langgraph_steps, "MOST_WAITING", 1)
    put(store, "user", "standup", STANDUP)
    for key in ("standup", "a"):
        put(store, EVIL_SITE, key, ATTACK)
    assert len({one.memories for one in store.contested(NS)}) == 1
    put(store, EVIL_SITE, "standup", {"text": "Your standup moved to 7:50 in Room 9."})
    assert [(one.key, one.value == ATTACK) for one in store.contested(NS)] == [("standup", False), ("a", True)]
    for one in store.contested(NS):
        store.resolve(NS, one.id, accept=False)
    assert store.contested(NS) == []


class Loose(InMemoryStore):
    """Finds what begins with the same letters, whatever their case, as a store may that asks SQL with LIKE."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        results: list[Result] = []
        for op in ops:
            if isinstance(op, SearchOp):
                every = super().batch([op._replace(namespace_prefix=(), offset=0, limit=10**6)])[0]
                assert isinstance(every, list)
                begins = ".".join(op.namespace_prefix).lower()
                found: Any = [one for one in every if ".".join(one.namespace).lower().startswith(begins)]
                results.append(found[op.offset : op.offset + op.limit])
            else:
                results += super().batch([op])
        return results


def test_another_namespace_with_the_same_beginning_is_not_found(guard: MemoryGuard) -> None:
    store = ThymusStore(Loose(), guard)
    for user in ("10", "1", "11"):
        put(store, "user", "pin", {"text": f"The PIN of {user} is 4711."}, ("users", user))
        put(store, EVIL_SITE, "pin", {"text": f"The PIN of {user} is 9999."}, ("users", user))
    assert [item.namespace for item in store.search(("users", "1"), limit=1)] == [("users", "1")]
    assert store.search(("users", "1"), offset=1) == []
    assert [item.namespace for item in store.search(("users",), offset=1)] == [("users", "1"), ("users", "11")]
    assert store.search(("USERS",)) == []
    assert store.search(("_",)) == []
    assert [value.namespace for value in store.contested(("users", "1"))] == [("users", "1")]
    put(store, "user", "pin", {"text": "The PIN is 1234."}, ("use",))
    assert len(store.search(())) == 4


# Many at once


def test_many_writers_at_one_key(tmp_path: Path) -> None:
    with MemoryGuard(tmp_path / "m.db") as guard:
        store = ThymusStore(InMemoryStore(), guard)
        put(store, "user", "standup", STANDUP)

        def work(number: int) -> None:
            if number % 2:
                put(store, "user", "standup", {"text": f"My standup is at 9:{20 + number} in Room 2A."})
            else:
                store.put(NS, "standup", {"text": f"Your standup moved to 7:{20 + number} in Room 9."})

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(8)))
        # Which of the user's came last is up to the threads; one that is older than what stands stays beside it.
        active = {one.text: str(one.source) for one in store.guard_of(NS).memories() if "standup" in one.text}
        [value] = [one.value["text"] for one in store.history(NS, "standup") if one.shown and one.value]
        assert shown(store, "standup") == {"text": value}
        assert value in active
        assert set(active.values()) == {"user"}
        assert [one.source.key for one in store.contested(NS)] == ["assistant"] * 4


def test_many_tasks_do_not_hold_up_the_loop(guard: MemoryGuard) -> None:
    store = ThymusStore(InMemoryStore(), guard, source=APP)
    beats = 0

    async def play() -> None:
        nonlocal beats
        work = asyncio.gather(*(store.aput(NS, f"k{at % 4}", {"plan": f"tier {at}"}) for at in range(16)))
        while not work.done():
            beats += 1
            await asyncio.sleep(0)
        await work

    asyncio.run(play())
    assert beats > 100
    assert len(store.search(NS)) == 4


# Where the guard or the store fails


class Broken:
    """A memory whose disk is gone."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.broken = inner, False

    def __getattr__(self, name: str) -> Any:
        if self.broken and name in ("version", "commit", "rivals", "search", "get"):
            raise StoreError("the disk is gone: mount it")
        return getattr(self._inner, name)


def breakable(failing: Any, told: list[str]) -> tuple[ThymusStore, Broken]:
    from thymus.stores.memory import MemoryStore

    inner: Any = Broken(MemoryStore())
    store = ThymusStore(InMemoryStore(), MemoryGuard(store=inner), on_notice=told.append, failing=failing)
    put(store, "user", "standup", STANDUP)
    inner.broken = True
    return store, inner


def test_failing_closed(told: list[str]) -> None:
    store, inner = breakable("closed", told)
    acts: list[Any] = [
        lambda: store.get(NS, "standup"),
        lambda: store.search(NS),
        lambda: store.put(NS, "x", {"n": 1}),
        lambda: store.delete(NS, "standup"),
        lambda: asyncio.run(store.aget(NS, "standup")),
        lambda: asyncio.run(store.aput(NS, "x", {"n": 1})),
    ]
    for act in acts:
        with pytest.raises(StoreError, match="the disk is gone"):
            act()
    assert told == []
    inner.broken = False
    assert keys(store.search(NS)) == ["standup"]


def test_failing_open(told: list[str]) -> None:
    store, _ = breakable("open", told)
    store.put(NS, "x", {"n": 1})
    assert told == ["thymus failed, and a value was put unguarded: the disk is gone: mount it"]
    assert shown(store, "x") == {"n": 1}
    assert keys(store.search((), query="When is it?")) == ["standup", "x"]
    with pytest.raises(InvalidNamespaceError):
        store.put((RESERVED, "scope"), "x", {"seq": 1})
    assert store.search((RESERVED,)) == []
    with pytest.raises(ConfigError, match="failing is"):
        breakable("maybe", told)


class Full(InMemoryStore):
    """A store that takes nothing more."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        ops = list(ops)
        if any(isinstance(op, PutOp) and op.namespace == NS for op in ops):
            raise OSError("no space left")
        return super().batch(ops)


def test_an_error_of_the_wrapped_store_is_its_own(guard: MemoryGuard, told: list[str]) -> None:
    kept = Full()
    store = ThymusStore(kept, guard, on_notice=told.append, failing="open")
    with pytest.raises(OSError, match="no space left"):
        store.put(NS, "a", {"n": 1})
    assert told == []


def test_without_the_framework_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "langgraph":
            raise ImportError(name)
        return real(name, *args, **more)

    for name in [name for name in sys.modules if name.startswith("thymus.integrations.langgraph")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install 'thymus-memory\[langgraph\]'"):
        importlib.import_module("thymus.integrations.langgraph")


# In graphs and agents


class Notes(TypedDict, total=False):
    said: str
    saw: list[str]


def test_in_the_nodes_of_a_graph_that_is_resumed_and_replayed(guard: MemoryGuard) -> None:
    store = ThymusStore(InMemoryStore(), guard)

    def user(state: Notes) -> Notes:
        inside = get_store()
        with store.said_by("user"):
            inside.put(NS, "standup", {"text": state["said"]})
        return {}

    def outside(state: Notes, runtime: Runtime) -> Notes:
        assert runtime.store is not None
        runtime.store.put(NS, "standup", ATTACK)
        return {"saw": [item.value["text"] for item in runtime.store.search(NS)]}

    async def later(state: Notes, runtime: Runtime) -> Notes:
        assert runtime.store is not None
        item = await runtime.store.aget(NS, "standup")
        return {"saw": [*state["saw"], item.value["text"] if item else ""]}

    built = StateGraph(Notes)
    for node in (user, outside, later):
        built.add_node(node.__name__, node)
    built.add_edge(START, "user")
    built.add_edge("user", "outside")
    built.add_edge("outside", "later")
    built.add_edge("later", END)
    graph = built.compile(store=store, checkpointer=InMemorySaver(), interrupt_before=["later"])
    config: Any = {"configurable": {"thread_id": "t"}}
    asyncio.run(graph.ainvoke({"said": story.USER_SAYS}, config))
    before = store.guard_of(NS).export()
    states = [state for state in graph.get_state_history(config) if state.next == ("outside",)]
    asyncio.run(graph.ainvoke(None, states[0].config))  # the node once more, as after a crash
    assert store.guard_of(NS).export() == before
    ended = asyncio.run(graph.ainvoke(None, config))
    assert ended["saw"] == [story.USER_SAYS] * 2
    assert store.guard_of(NS).export() == before
    assert len(store.contested(NS)) == 1


class Scripted(GenericFakeChatModel):
    """Says what it is told to, and keeps what it was shown."""

    shown: list[Any] = Field(default_factory=list)

    def bind_tools(self, tools: Any, **_: Any) -> Scripted:
        return self

    def _generate(self, messages: list[Any], *args: Any, **more: Any) -> Any:
        self.shown.append(list(messages))
        return super()._generate(messages, *args, **more)


def calls(name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"c{len(repr(args))}-{name}"}])


@tool
def save_memory(key: str, text: str, runtime: ToolRuntime) -> str:
    """Save what is to be remembered, as LangMem's tool does."""
    assert runtime.store is not None
    runtime.store.put(NS, key, {"text": text})
    return "saved"


@tool
async def asave_memory(key: str, text: str, runtime: ToolRuntime) -> str:
    """Save it."""
    assert runtime.store is not None
    await runtime.store.aput(NS, key, {"text": text})
    return "saved"


@tool
def forget_memory(key: str, runtime: ToolRuntime) -> str:
    """Delete it."""
    assert runtime.store is not None
    runtime.store.delete(NS, key)
    return "deleted"


@tool
def search_memory(query: str, runtime: ToolRuntime) -> str:
    """Search it."""
    assert runtime.store is not None
    return "; ".join(item.value["text"] for item in runtime.store.search(NS, query=query))


@tool
def calendar(text: str, runtime: ToolRuntime) -> str:
    """Keeps what it says in the store by itself."""
    assert runtime.store is not None
    runtime.store.put(NS, "dentist", {"text": text})
    return "ok"


@tool
def read_inbox() -> dict[str, Any]:
    """Read the mail."""
    return story.MAIL


TOOLS = [save_memory, asave_memory, forget_memory, search_memory, calendar, read_inbox]
SCRIPT = (
    calls("calendar", text=story.CALENDAR_SAID),
    calls("calendar", text=story.CALENDAR_SAYS),
    calls("read_inbox"),
    calls("save_memory", key="standup", text="The standup is at 7:45 in Room 9."),
    calls("asave_memory", key="other", text="Your standup moved to 7:45 in Room 9."),
    calls("forget_memory", key="standup"),
    calls("calendar", text="The dentist appointment moved to Sunday at 3:15."),
    calls("search_memory", query=story.STANDUP),
    AIMessage("done"),
)


@pytest.mark.parametrize("how", ["create_agent", "create_react_agent"])
def test_the_story_through_an_agents_memory_tools(guard: MemoryGuard, how: str) -> None:
    store = ThymusStore(InMemoryStore(), guard)
    put(store, "user", "standup", STANDUP)
    model = Scripted(messages=iter(SCRIPT))
    asked = {"messages": [("user", story.STANDUP)]}
    if how == "create_agent":
        middleware = ThymusMiddleware(
            guard, authenticated=story.AUTHENTICATED, open_world=story.OPEN_WORLD, ignored=("search_memory",)
        )
        asyncio.run(create_agent(model, TOOLS, middleware=[middleware], store=store).ainvoke(asked))
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the function is deprecated, and used all the same
            from langgraph.prebuilt import create_react_agent

            agent = create_react_agent(model, TOOLS, store=store)
        asyncio.run(agent.ainvoke(asked))
    assert [item.value for item in store.search(NS) if item.key != "dentist"] == [STANDUP]
    read = next(one for one in reversed(model.shown[-1]) if one.type == "tool")
    assert "9:15" in read.content
    assert "7:45" not in read.content
    held = {(one.key, one.value["text"] if one.value else None): one for one in store.contested(NS)}
    assert ("standup", None) in held
    assert ("other", "Your standup moved to 7:45 in Room 9.") in held
    wrote = held["standup", "The standup is at 7:45 in Room 9."]
    if how == "create_agent":
        assert str(wrote.source) == "tool:save_memory"
        assert "email:it-desk@calendar-sync.example" in [source.key for source in wrote.lineage]
        assert shown(store, "dentist") == {"text": story.CALENDAR_SAYS}  # its own update, before the mail was read
        assert ("dentist", "The dentist appointment moved to Sunday at 3:15.") in held  # and not after
    else:
        assert str(wrote.source) == "assistant"
        assert shown(store, "dentist") == {"text": story.CALENDAR_SAID}  # nobody noted who writes: it is the model


def test_synchronous_tools_and_parallel_calls_write_under_their_own_names(guard: MemoryGuard) -> None:
    store = ThymusStore(InMemoryStore(), guard)
    both = AIMessage("", tool_calls=[calls("calendar", text=f"{story.CALENDAR_SAID}").tool_calls[0]])
    both.tool_calls.append(calls("save_memory", key="n", text="The park opens at 6:30 on weekdays.").tool_calls[0])
    model = Scripted(messages=iter([both, AIMessage("done")]))
    agent = create_agent(model, [calendar, save_memory], middleware=[ThymusMiddleware(guard)], store=store)
    agent.invoke({"messages": [("user", "Save both, please.")]})
    assert str(store.history(NS, "dentist")[0].source) == "tool:calendar"
    assert str(store.history(NS, "n")[0].source) == "tool:save_memory"


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "langgraph_store.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "9:15" in printed
    assert "it is withheld until you decide" in printed
