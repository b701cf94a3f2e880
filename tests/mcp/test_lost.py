"""A result that a busy memory does not take at once is learned later; one that is lost is told to the user."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from proxy_helpers import open_guard
from server_helpers import ERAS, connect, fields, shown

from thymus import results
from thymus.errors import StaleVersionError, StoreCorruptError, StoreLockedError
from thymus.mcp import learning
from thymus.mcp.callers import HERE, Caller
from thymus.mcp.conversation import Conversation, Conversations
from thymus.mcp.learning import PAUSES_S, Learner
from thymus.mcp.server import build_server
from thymus.mcp.watching import Seen


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def seen(said: str, tool: str = "t", *, learnt: bool = True) -> Seen:
    result = {"content": [{"type": "text", "text": said}]}
    return Seen(tool=tool, arguments={}, result=result, open_world=False, learnt=learnt)


class Busy:
    """Fails so often, and then learns."""

    def __init__(self, times: int, error: Exception) -> None:
        self.left, self.error, self.tries = times, error, 0

    def __call__(self, *args: Any, **known: Any) -> Any:
        self.tries += 1
        self.left -= 1
        if self.left >= 0:
            raise self.error
        return learn(*args, **known)


learn = results.learn
LOCKED = StoreLockedError("locked by another process")


def run(monkeypatch: pytest.MonkeyPatch, busy: Busy, *, over: bool = False) -> tuple[Conversation, list[float]]:
    monkeypatch.setattr(results, "learn", busy)
    conversation, pauses = Conversation(open_guard(":memory:")), list[float]()

    def pause(seconds: float) -> bool:
        pauses.append(seconds)
        return over

    learner = Learner(conversation, lambda tool: ("s", tool), pause=pause)
    learner.note(seen("The lamp in the hall is on."))
    assert learner.finish(20) == 0
    return conversation, pauses


@pytest.mark.parametrize("error", [LOCKED, StaleVersionError("read the rivals again")])
@pytest.mark.parametrize("times", [1, len(PAUSES_S)])
def test_a_busy_memory_is_tried_again(monkeypatch: pytest.MonkeyPatch, error: Exception, times: int) -> None:
    conversation, pauses = run(monkeypatch, Busy(times, error))
    assert [one.text for one in conversation.guard.memories()] == ["The lamp in the hall is on."]
    assert (pauses, conversation.lost()) == (list(PAUSES_S[:times]), 0)


@pytest.mark.parametrize(
    ("busy", "over", "tries"),
    [
        (Busy(100, LOCKED), False, len(PAUSES_S) + 1),
        (Busy(100, LOCKED), True, 1),
        (Busy(100, StoreCorruptError("damaged")), False, 1),
    ],
    ids=["within bounds", "not beyond the end", "not what waiting does not mend"],
)
def test_what_is_lost_is_counted_once(monkeypatch: pytest.MonkeyPatch, busy: Busy, over: bool, tries: int) -> None:
    conversation, _ = run(monkeypatch, busy, over=over)
    assert (busy.tries, conversation.guard.memories(status=None)) == (tries, [])
    assert (conversation.lost(), conversation.lost()) == (1, 0)


def stuck(conversation: Conversation, work: Callable[[Learner], None]) -> None:
    """Do something while nothing that was noted is read."""
    held, at_work = threading.Event(), threading.Event()
    learner = Learner(conversation, lambda tool: ("s", tool))

    def hold() -> None:
        at_work.set()
        held.wait(20)

    learner._reading.add(hold)
    at_work.wait(20)
    try:
        work(learner)
    finally:
        held.set()
    assert learner.finish(20) == 0


def test_of_what_had_no_room_the_caution_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing tells what repeats it, so whatever is learned from now on derives from it."""
    monkeypatch.setattr(learning, "MOST_WAITING", 0)
    conversation = Conversation(open_guard(":memory:"))
    stuck(conversation, lambda learner: learner.note(seen("The rent goes to account 5512.", "mail")))
    conversation.learn("The lamp in the hall is on.", source="mcp:s/lamp")
    [memory] = conversation.guard.memories(status=None)
    assert {source.key for source in memory.lineage} == {"mcp:s/mail", "web"}
    assert conversation.lost() == 1


def test_an_error_that_had_no_room_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "MOST_WAITING", 0)
    conversation = Conversation(open_guard(":memory:"))
    stuck(conversation, lambda learner: learner.note(seen("It failed.", learnt=False)))
    assert conversation.lost() == 0


def test_of_what_cannot_be_read_the_caution_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise RecursionError

    monkeypatch.setattr(results, "read", fails)
    conversation = Conversation(open_guard(":memory:"))
    learner = Learner(conversation, lambda tool: ("s", tool))
    learner.note(seen("The rent goes to account 5512.", "mail"))
    assert learner.finish(20) == 0
    conversation.learn("The lamp in the hall is on.", source="mcp:s/lamp")
    assert {source.key for source in conversation.guard.memories(status=None)[0].lineage} == {"mcp:s/mail", "web"}
    assert conversation.lost() == 1


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("recall", {"question": "Is it on?"}), ("remember", {"text": "It is on."}), ("inbox", {}), ("sources", {})],
)
async def test_the_next_answer_tells_the_user_what_was_lost(era: str, tool: str, arguments: dict[str, Any]) -> None:
    guard = open_guard(":memory:")
    conversations, caller = Conversations(guard), Caller(user=None, conversation=HERE)
    for _ in range(1_200):
        conversations.of(caller).lose()
    async with connect(build_server(guard, whose=lambda _: caller, conversations=conversations), era) as client:
        first, second = [await client.call_tool(tool, arguments) for _ in range(2)]
    told = "1,200 results of tools, or parts of them, were not learned: the memory was busy"
    assert told in shown(first, "user")
    assert "not learned" not in str(second)
    if "notice" in fields(first):
        assert told in fields(first)["notice"]


def test_one_result_is_told_as_one() -> None:
    from thymus.mcp import wording

    assert wording.not_learned(1).startswith("A result of a tool was not learned: ")
    assert wording.not_learned(0) == ""


def test_settled_waits_for_what_was_noted_however_much_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "MOST_WAITING", 0)
    learner = Learner(Conversation(open_guard(":memory:")), lambda tool: ("s", tool))
    asyncio.run(asyncio.wait_for(learner.settled(), 20))
