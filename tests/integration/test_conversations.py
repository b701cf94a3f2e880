"""The conversations that go on: within bounds, apart, and as careful as what was forgotten of them calls for."""

from __future__ import annotations

import pytest

from thymus import MemoryGuard, conversation
from thymus.conversation import UNKNOWN, Conversation, Conversations


def begin(most: int, now: list[float] | None = None) -> Conversations[Conversation]:
    guard = MemoryGuard(embedder="hash", judge="typed")
    time = now or [0.0]
    return Conversations(
        guard, lambda guard, before: Conversation(guard, before=before), most=most, idle_s=60, clock=lambda: time[0]
    )


def test_only_what_was_forgotten_begins_unsure() -> None:
    now = [0.0]
    going_on = begin(2, now)
    for name in ("a", "b", "c"):  # which forgets the first
        going_on.of(name)
    assert going_on.of("d").entered == ()
    assert going_on.of("d", user="ravi").entered == ()
    assert going_on.of("a").entered == (UNKNOWN,)
    now[0] = 61.0
    assert going_on.of("b").entered == ()


def test_where_it_is_not_known_which_were_forgotten_all_begin_unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "MOST_FORGOTTEN", 2)
    going_on = begin(1)
    for name in "abcd":
        going_on.of(name)
    assert going_on.of("new").entered == (UNKNOWN,)


def test_a_user_of_the_guards_own_tenant_is_the_same_however_named() -> None:
    going_on = begin(9)
    here = going_on.of("a", user="asha")
    assert going_on.of("a", user="asha", tenant="default") is here
    assert going_on.of("a", user="asha", tenant="acme") is not here
    assert going_on.of("a", user="asha", tenant="acme").guard.tenant == "acme"


def test_what_was_not_all_read_taints_what_is_learned_and_not_the_user() -> None:
    here = begin(9).of("a")
    here.read("The gym opens at 7.", source="web:gym.example", all_of_it=False)
    learned = here.learn("The dentist is at 10:00.", source="tool:calendar", authenticated=True).memories[0]
    assert [source.key for source in learned.lineage] == ["web:gym.example"]
    assert here.learn("My standup is at 9:15.", source="user").memories[0].lineage == ()
    given = here.learn("Rent is 900.", source="tool:crm", derived_from="email:a@b.example").memories[0]
    assert {source.key for source in given.lineage} == {"email:a@b.example", "web:gym.example"}
