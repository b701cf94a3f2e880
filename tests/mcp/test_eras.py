"""A real client drives the server in both protocol eras, with a user to ask and without; what needs a yes gets it."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequestParams, ElicitResult
from server_helpers import ERAS, MAIL, Host, connect, fault, fields, open_guard, over_stdio, shown

from thymus import MemoryGuard, Status
from thymus.errors import MemoryNotFoundError

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]
MINE = {"text": "My standup is at 9:15 in Room 2A.", "said_by_user": True}
NO = [Host(action="decline"), Host(action="cancel"), Host(content={"confirm": False}), None]
NO_IDS = ["declined", "cancelled", "accepted without a tick", "no way to ask"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def guard() -> MemoryGuard:
    return open_guard()


async def test_what_the_user_confirms_is_theirs(era: str, guard: MemoryGuard) -> None:
    host = Host()
    async with connect(guard, era, host) as client:
        told = fields(await client.call_tool("remember", MINE))
    assert (told["confirmed_by_user"], told["effect"], told["notice"]) == (True, "admitted", "")
    assert [(one.text, str(one.source)) for one in guard.memories()] == [(MINE["text"], "user")]
    assert len(host.asked) == 1
    assert "“My standup is at 9:15 in Room 2A”" in host.asked[0]
    assert list(host.forms[0]["properties"]) == host.forms[0]["required"] == ["confirm"]


@pytest.mark.parametrize("host", NO, ids=NO_IDS)
async def test_without_a_yes_it_is_held_back_and_the_user_is_told(
    era: str, guard: MemoryGuard, host: Host | None
) -> None:
    async with connect(guard, era, host) as client:
        result = await client.call_tool("remember", MINE)
        recalled = fields(await client.call_tool("recall", {"question": "When is my standup?"}))
    told = fields(result)
    assert (told["confirmed_by_user"], told["effect"]) == (False, "quarantined")
    assert told["notice"] == shown(result, "user")
    assert "9:15" in told["notice"]
    assert "thymus resolve" in told["notice"]
    assert "9:15" not in recalled["context"]
    assert [(str(one.source), one.status) for one in guard.memories(status=None)] == [("assistant", Status.QUARANTINED)]


@pytest.mark.parametrize("content", [None, {}, {"confirm": "perhaps"}, {"other": True}])
async def test_a_form_that_is_not_filled_confirms_nothing(
    era: str, guard: MemoryGuard, content: dict[str, str] | None
) -> None:
    async with connect(guard, era, Host(content=content)) as client:
        assert "elicitation" in fault(await client.call_tool("remember", MINE))
    assert guard.memories(status=None) == []


async def test_a_host_that_fails_to_ask_confirms_nothing(era: str, guard: MemoryGuard) -> None:
    class Broken(Host):
        async def __call__(self, *_: object) -> object:  # type: ignore[override]
            raise MCPError(code=-32603, message="no window")

    async with connect(guard, era, Broken()) as client:
        with pytest.raises((MCPError, ExceptionGroup)):
            await client.call_tool("remember", MINE)
    assert guard.memories(status=None) == []


@pytest.mark.parametrize("host", [Host(), *NO], ids=["accepted", *NO_IDS])
@pytest.mark.parametrize("accept", [True, False])
async def test_a_claim_is_settled_only_with_a_yes(
    era: str, guard: MemoryGuard, host: Host | None, accept: bool
) -> None:
    guard.remember("My standup is at 9:15.")
    held = guard.remember("Your standup moved to 7:45.", source=MAIL).memories[0]
    if host is not None:
        host.asked.clear()
    async with connect(guard, era, host) as client:
        result = await client.call_tool("resolve", {"memory_id": held.id, "accept": accept})
    told = fields(result)
    if host is not None and host.action == "accept" and host.content == {"confirm": True}:
        assert told["settled"]
        assert guard.get(held.id).status is (Status.ACTIVE if accept else Status.REJECTED)
        assert MAIL in host.asked[0]
        assert "“Your standup moved to 7:45”" in host.asked[0]
        assert ("It takes the place of “My standup is at 9:15”" in host.asked[0]) is accept
    else:
        assert not told["settled"]
        assert guard.get(held.id).status is Status.CONTESTED
        assert f"`thymus resolve {held.id} --{'accept' if accept else 'reject'}`" in shown(result, "user")
        assert told["notice"] == shown(result, "user")


async def test_a_yes_settles_nothing_that_changed_while_the_user_thought(era: str, guard: MemoryGuard) -> None:
    guard.remember("My standup is at 9:15.")
    held = guard.remember("Your standup moved to 7:45.", source=MAIL).memories[0]

    class Slow(Host):
        async def __call__(self, context: object, params: ElicitRequestParams) -> ElicitResult:
            if not self.asked:
                guard.remember("My standup is at 10:30.")  # and that is what the claim would take the place of now
            return await super().__call__(context, params)

    host = Slow()
    async with connect(guard, era, host) as client:
        told = fields(await client.call_tool("resolve", {"memory_id": held.id, "accept": True}))
    if era == "legacy":
        assert not told["settled"]
        assert "has changed since" in told["notice"]
        assert guard.get(held.id).status is Status.CONTESTED
    else:  # the question is put again as it reads by now
        assert told["settled"]
        assert len(host.asked) == 2
        assert "10:30" in host.asked[1]
        assert "9:15" not in host.asked[1]
    assert "10:30" not in host.asked[0]


@pytest.mark.parametrize("host", [Host(), *NO], ids=["accepted", *NO_IDS])
async def test_a_memory_is_erased_only_with_a_yes(era: str, guard: MemoryGuard, host: Host | None) -> None:
    memory = guard.remember("My bike is blue.").memories[0]
    async with connect(guard, era, host) as client:
        result = await client.call_tool("forget", {"memory_id": memory.id})
    if host is not None and host.action == "accept" and host.content == {"confirm": True}:
        assert fields(result)["forgotten"]
        assert guard.get(memory.id).text == ""
        assert "“My bike is blue”" in host.asked[-1]
    else:
        assert not fields(result)["forgotten"]
        assert guard.get(memory.id).text == "My bike is blue."
        assert f"`thymus forget {memory.id}`" in shown(result, "user")


async def test_errors_come_with_their_remedy(era: str, guard: MemoryGuard) -> None:
    mine = guard.remember("My bike is blue.").memories[0]
    host = Host()
    async with connect(guard, era, host) as client:
        for tool, more in (("history", {}), ("forget", {}), ("resolve", {"accept": True})):
            said = fault(await client.call_tool(tool, {"memory_id": "m_none", **more}))
            assert "the tools recall and inbox give the ids" in said
        assert "the tool inbox" in fault(await client.call_tool("resolve", {"memory_id": mine.id, "accept": False}))
        assert "empty" in fault(await client.call_tool("remember", {"text": "   "}))
    assert host.asked == []


async def test_the_whole_over_stdio(era: str, tmp_path: Path) -> None:
    db = str(tmp_path / "memory.db")
    host = Host()
    async with connect(over_stdio(db), era, host) as client:
        assert client.protocol_version == ("2025-11-25" if era == "legacy" else "2026-07-28")
        assert fields(await client.call_tool("remember", MINE))["confirmed_by_user"]
        host.action = "decline"
        lie = {"text": "My standup is at 7:45 in Room 2A.", "said_by_user": True}
        told = fields(await client.call_tool("remember", lie))
        assert told["effect"] == "quarantined"
        result = await client.call_tool("recall", {"question": "When is my standup?"})
        assert shown(result, "assistant").startswith("- My standup is at 9:15 in Room 2A.")
        assert "7:45" not in shown(result, "assistant")
        assert "7:45" in shown(result, "user")
        assert not fields(await client.call_tool("resolve", {"memory_id": told["memories"][0]["id"], "accept": True}))[
            "settled"
        ]
        assert [one.name for one in (await client.list_tools()).tools] == [
            "remember", "recall", "inbox", "resolve", "history", "forget", "sources",
        ]  # fmt: skip
    with MemoryGuard(db) as guard:
        assert [one.text for one in guard.memories()] == [MINE["text"]]
        with pytest.raises(MemoryNotFoundError):
            guard.get("m_none")
