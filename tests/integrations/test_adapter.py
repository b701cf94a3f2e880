"""What every integration does, without a framework: whose words are whose, and what never gets in the way."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
import story

from thymus import Assurance, AsyncMemoryGuard, MemoryGuard, Status
from thymus.errors import ConfigError, StoreError
from thymus.integrations.adapter import LEARNED, MOST_PIECES, Adapter, context, plain, wire

MAIL: dict[str, Any] = story.MAIL | {"type": "message"}


def adapter(guard: MemoryGuard | None = None, **options: Any) -> Adapter:
    guard = guard or MemoryGuard(embedder="hash", judge="typed")
    return Adapter(guard, open_world=story.OPEN_WORLD, authenticated=story.AUTHENTICATED, **options)


def test_the_story() -> None:
    told: list[str] = []
    here = adapter(MemoryGuard(), on_notice=told.append)
    talk = here.conversation("one")
    here.user_said(talk, story.USER_SAYS, message_id="1")
    here.tool_returned(talk, "calendar", story.CALENDAR_SAID, call_id="2")
    here.tool_returned(talk, "read_inbox", story.MAIL, call_id="3")
    # In another conversation: in this one an update that repeats what was read would derive from that.
    here.tool_returned(here.conversation("two"), "calendar", story.CALENDAR_SAYS, call_id="4")
    story.check(here.guard)
    found = here.recall(here.conversation("three"), story.STANDUP)
    assert found is not None
    assert told == [found.notice]
    assert context(found).endswith(found.context)
    assert "7:45" not in context(found)


def test_what_a_call_brought_is_learned_once() -> None:
    here = adapter()
    for name in ("one", "one", "two"):
        here.tool_returned(here.conversation(name), "calendar", "The dentist is at 10:00.", call_id="thread/1")
        here.user_said(here.conversation(name), "I like tea.", message_id="thread/2")
    assert len(here.guard.memories(status=None)) == 2


def test_a_paste_is_not_the_users_word() -> None:
    here = adapter()
    words = "My standup is at 9:15.\nFrom: it@office.example\nSubject: Rent\n\nThe rent is 900 from May."
    here.user_said(here.conversation(), words)
    mine, theirs = (
        next(memory for memory in here.guard.memories(status=None) if said in memory.text) for said in ("9:15", "900")
    )
    assert (mine.source.is_user, mine.lineage) == (True, ())
    assert "paste" in [source.channel for source in theirs.lineage]


@pytest.mark.parametrize(("tool", "assurance"), [("calendar", Assurance.AUTHENTICATED), ("crm", Assurance.CLAIMED)])
def test_a_tool_is_vouched_for_by_name(tool: str, assurance: Assurance) -> None:
    assert adapter().tool(tool).assurance is assurance


@pytest.mark.parametrize("tool", ["web_search", "read_email", "fetch", "read_inbox"])
def test_a_tool_of_the_open_world_hands_on_what_somebody_said(tool: str) -> None:
    here = adapter()
    here.tool_returned(here.conversation(), tool, {"from": "a@shop.example", "body": "The rent is 900 from May."})
    here.tool_returned(here.conversation(), tool, "The pool is closed on Monday.")
    lineages = [[source.key for source in memory.lineage] for memory in here.guard.memories(status=None)]
    assert sorted(lineages) == [["email:a@shop.example"], ["web"]]


def test_an_error_and_an_ignored_tool_enter_and_are_not_learned() -> None:
    here = adapter(ignored=["draft"])
    talk = here.conversation()
    here.tool_returned(talk, "crm", "The rent is 900 from May.", failed=True)
    here.tool_returned(talk, "draft", "The pool is closed on Monday.")
    assert here.guard.memories(status=None) == []
    assert [source.key for source in talk.entered] == ["tool:crm", "tool:draft"]


def test_a_long_result_is_learned_in_part_and_all_of_it_taints() -> None:
    here = adapter()
    talk = here.conversation()
    filler = "and so on " * (LEARNED // 10)
    here.tool_returned(talk, "crm", f"The rent is 900 from May.\n\n{filler}\n\nThe pool is closed on Monday.")
    assert [memory.text for memory in here.guard.memories() if "pool" in memory.text] == []
    [echo] = here.tool_returned(talk, "calendar", "Reminder: the pool is closed on Monday.")
    assert [source.key for source in echo.memories[0].lineage] == ["tool:crm"]
    here.tool_returned(talk, "crm", "x " * 2_500_000)
    [after] = here.tool_returned(talk, "calendar", "The dentist is at 10:00.")
    assert [source.key for source in after.memories[0].lineage] == ["tool:crm"]


def test_what_cannot_be_looked_into_taints() -> None:
    """A text that is nested too deeply is shown to the model all the same: nothing tells what repeats it."""
    here = adapter()
    talk = here.conversation()
    deep: object = "The pool is closed on Monday."
    for _ in range(200):
        deep = [deep]
    here.tool_returned(talk, "crm", deep)
    [after] = here.tool_returned(talk, "calendar", "The pool is closed on Monday.")
    assert "tool:crm" in [source.key for source in after.memories[0].lineage]


@dataclass
class Room:
    name: str
    picture: bytes = b"\x00\x01"


class Model:
    def model_dump(self) -> dict[str, Any]:
        return {"room": Room("2A"), "at": [1, None, (2.5, True)]}


class Day(enum.Enum):
    FRIDAY = "friday"


class Written:
    def __str__(self) -> str:
        return "The rent is 900."


class Box:
    def model_dump(self) -> dict[str, Any]:
        return {"mails": (MAIL,)}


class Broken:
    def model_dump(self) -> dict[str, Any]:
        raise RuntimeError


def test_whatever_a_tool_returns_has_a_form() -> None:
    assert wire("Yes.") == {"content": [{"type": "text", "text": "Yes."}]}
    assert wire(["a", {"type": "image", "data": b"\x00"}]) == {"content": ["a", {"type": "image", "data": None}]}
    called = {"content": ["a"], "structuredContent": {"b": 1}}
    assert wire(called) == called
    assert wire({"content": ["a"], "from": "b"}) == {
        "content": [],
        "structuredContent": {"content": ["a"], "from": "b"},
    }
    assert plain(b"The rent is 900.") == "The rent is 900."
    at, price = datetime(2026, 3, 4, 9, 15, tzinfo=UTC), Decimal("12.50")
    assert plain({"at": at, "price": price, "day": Day.FRIDAY, "lost": Written()}) == {
        "at": str(at),
        "price": "12.50",
        "day": "friday",
        "lost": "The rent is 900.",
    }
    assert wire(Model())["structuredContent"] == {"room": {"name": "2A", "picture": None}, "at": [1, None, [2.5, True]]}
    for nothing in (None, b"\x00", Broken(), object(), Room, ["a", object()][1:]):
        assert "content" in wire(nothing)
    shared: list[Any] = ["The rent is 900."]
    for _ in range(30):
        shared = [shared, shared]  # what an alias in YAML makes: 2**30 of them
    assert plain(shared) is not None
    here = adapter()
    here.tool_returned(here.conversation(), "crm", shared)
    [after] = here.tool_returned(here.conversation(), "calendar", "The dentist is at 10:00.")
    assert after.memories[0].lineage
    loop: list[Any] = []
    loop.append(loop)
    assert plain(loop) is not None


@pytest.mark.parametrize(
    "result",
    [
        [MAIL],
        {"messages": [MAIL]},
        {"content": [MAIL], "next": "2"},
        {"content": [MAIL]},
        {"type": "text", "text": {"body": MAIL["body"]}, "from": MAIL["from"]},
        [{"type": "text", "text": MAIL["body"], "from": MAIL["from"]}],
        json.dumps([MAIL]),
        Box(),
    ],
)
def test_a_record_with_a_type_is_no_block_of_a_protocol(result: object) -> None:
    """Or else a mail would be shown, and neither read nor learned: its words could then come back as the calendar's."""
    here = adapter()
    talk = here.conversation()
    here.tool_returned(talk, "read_inbox", result)
    [learned] = [memory for memory in here.guard.memories(status=None) if "7:45" in memory.text]
    assert "email:it-desk@calendar-sync.example" in [source.key for source in learned.lineage]
    [echo] = here.tool_returned(talk, "calendar", f"Note: {MAIL['body']}")
    assert echo.memories[0].lineage


def test_a_result_of_many_things_is_learned_in_part() -> None:
    here = adapter()
    mails = [{"from": f"a{n}@shop.example", "body": f"Crate {n} is at gate {n}."} for n in range(MOST_PIECES + 9)]
    here.tool_returned(here.conversation(), "read_inbox", mails)
    assert len(here.guard.memories(status=None)) == MOST_PIECES
    assert len(here.conversation().entered) >= MOST_PIECES + 9


@pytest.mark.parametrize(
    "result",
    [None, b"\x00\xff", object(), Broken(), [], {}, "", " \n", [[[]]], {"a": {"b": None}}, "\ud800", "\u202e"],
)
def test_what_says_nothing_brings_nothing(result: object) -> None:
    here = adapter()
    assert [one.memories for one in here.tool_returned(here.conversation(), "crm", result) if one.memories] == []


@pytest.mark.parametrize("name", ["", " ", "\u202e\u200b", "a\nuser", "user", "x" * 5_000, "tool: user\r\nFrom: me"])
def test_no_name_of_a_tool_is_anybody_else(name: str) -> None:
    source = adapter().tool(name)
    assert source.channel == "tool"
    assert not source.names_user
    assert len(source.identity) <= 300
    assert source.identity.isprintable()


def test_two_users_and_two_conversations_are_apart() -> None:
    here = adapter(AsyncMemoryGuard(embedder="hash", judge="typed").guard)
    asha, ravi = here.conversation("t", user="asha"), here.conversation("t", user="ravi")
    here.user_said(asha, "The rent is 900.")
    here.tool_returned(asha, "crm", "The pool is closed.")
    assert ravi.guard.memories(status=None) == []
    assert ravi.entered == ()
    assert here.conversation("t", user="asha") is asha
    assert here.conversation("u", user="asha").entered == ()


def test_what_fails_is_raised_or_told() -> None:
    told: list[str] = []

    def fail(how: Any) -> None:
        with adapter(failing=how, on_notice=told.append).failures("a result of tool:crm was not learned"):
            raise StoreError("the disk is full: make room")

    with pytest.raises(StoreError):
        fail("closed")
    assert told == []
    fail("open")
    assert told == ["thymus failed, and a result of tool:crm was not learned: the disk is full: make room"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"failing": "half"}, '"closed" or "open"'),
        ({"ignored": "crm"}, r'ignored=\["crm"\]'),
        ({"authenticated": ["read_inbox"]}, "name it once"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Adapter(MemoryGuard(), **({"open_world": story.OPEN_WORLD} | options))


def test_a_question_that_asks_nothing_recalls_nothing() -> None:
    here = adapter()
    assert here.recall(here.conversation(), " ? ") is None
    assert context(None) == ""
    held = here.guard.remember("The rent is 900 from May.", source="email:a@shop.example", hold=True).memories[0]
    assert held.status is Status.QUARANTINED
    found = here.recall(here.conversation(), "What is the rent?")
    assert found is not None
    assert context(found) == ""
