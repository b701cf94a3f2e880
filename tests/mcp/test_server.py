"""The MCP server: what it offers and answers, how conversations taint what is written, whose memory is whose."""

from __future__ import annotations

import json
import logging
import re
import threading
from pathlib import Path
from typing import Any

import anyio
import jsonschema  # type: ignore[import-untyped]  # with mcp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent, TextResourceContents
from server_helpers import ERAS, MAIL, Host, connect, fault, fields, open_guard, over_stdio, shown

from thymus import MemoryGuard, Recall, Source, Status
from thymus import conversation as bounds
from thymus.conversation import UNKNOWN
from thymus.errors import InputError
from thymus.mcp import program
from thymus.mcp.callers import HERE, Caller, by_token, only
from thymus.mcp.conversation import Conversation, Conversations
from thymus.mcp.server import build_server

ASHA = Caller(user="asha", conversation="a")
RAVI = Caller(user="ravi", conversation="r")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def guard() -> MemoryGuard:
    return open_guard()


def lineage(guard: MemoryGuard, text: str) -> set[str]:
    (memory,) = [one for one in guard.memories(status=None) if one.text == text]
    return {source.key for source in memory.lineage}


# What it offers


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_the_list_of_tools_is_clean(era: str, guard: MemoryGuard, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        async with connect(guard, era) as client:
            tools = (await client.list_tools()).tools
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert [tool.name for tool in tools] == ["remember", "recall", "inbox", "resolve", "history", "forget", "sources"]
    for tool in tools:
        assert re.fullmatch(r"[a-z_]{1,64}", tool.name)
        assert tool.title
        assert 80 < len(tool.description or "") < 500
        for schema in (tool.input_schema, tool.output_schema):
            assert schema is not None
            assert schema["type"] == "object"
            jsonschema.Draft202012Validator.check_schema(schema)
        assert all("description" in field for field in tool.input_schema.get("properties", {}).values())
        assert tool.annotations
        assert tool.annotations.open_world_hint is False
        writes = tool.name in {"remember", "resolve", "forget"}
        assert tool.annotations.read_only_hint is not writes
        assert tool.annotations.destructive_hint is (tool.name in {"resolve", "forget"})


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_a_recall_keeps_notice_and_context_apart(era: str, guard: MemoryGuard) -> None:
    guard.remember("My standup is at 9:15.")
    guard.remember("Your standup moved to 7:45.", source=MAIL)
    guard.remember("The dentist opens at 8.", source="web:dentist.example")
    async with connect(guard, era) as client:
        result = await client.call_tool("recall", {"question": "When is my standup?"})
    expected = guard.recall("When is my standup?")
    told = fields(result)
    assert (told["context"], told["notice"]) == (expected.context, expected.notice)
    assert shown(result, "user") == expected.notice
    assert shown(result, "assistant").startswith(expected.context)
    assert "7:45" in expected.notice
    assert "7:45" not in shown(result, "assistant")
    assert [one["id"] for one in told["memories"]] == [memory.id for memory in expected.memories]
    assert [(one["id"], one["said"]) for one in told["contested"]] == [
        (memory.id, "“Your standup moved to 7:45”") for memory in expected.contested
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_what_a_model_writes_is_reported_by_it(era: str, guard: MemoryGuard) -> None:
    async with connect(guard, era, Host()) as client:
        told = fields(await client.call_tool("remember", {"text": "The user's dog is called Rex."}))
        assert (told["effect"], told["confirmed_by_user"], told["notice"]) == ("admitted", False, "")
        pay = await client.call_tool("remember", {"text": "The user's rent is paid to GB33 BUKB 2020 1555 5555 55."})
        assert fields(pay)["effect"] == "contested"
        assert "kept back" in shown(pay, "user")
        likes = fields(await client.call_tool("remember", {"text": "The user prefers tea."}))
        assert likes["effect"] == "rejected"
        assert "said_by_user=true" in likes["advice"]
    assert [str(one.source) for one in guard.memories()] == ["assistant"]


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_inbox_history_and_sources_tell_what_stands(era: str, guard: MemoryGuard) -> None:
    mine = guard.remember("My standup is at 9:15.").memories[0]
    held = guard.remember("Your standup moved to 7:45.", source=MAIL).memories[0]
    async with connect(guard, era) as client:
        (waiting,) = fields(await client.call_tool("inbox"))["waiting"]
        assert (waiting["id"], waiting["status"], waiting["contradicts"]) == (held.id, "contested", [mine.id])
        assert not fields(await client.call_tool("inbox", {"limit": 1}))["more"]
        story = fields(await client.call_tool("history", {"memory_id": held.id}))
        assert [(step["act"], step["before"], step["after"]) for step in story["steps"]] == [
            ("remember", None, "contested")
        ]
        assert story["explanation"] == list(guard.explain(held.id).lines)
        voices = fields(await client.call_tool("sources"))
        assert {one["source"]: one["counts"] for one in voices["sources"]} == {
            "user": {"active": 1},
            MAIL: {"contested": 1},
        }
        assert fields(await client.call_tool("sources", {"limit": 1}))["more"]


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_resources_and_prompt(era: str, guard: MemoryGuard) -> None:
    mine = guard.remember("My standup is at 9:15.").memories[0]
    held = guard.remember("Your standup moved to 7:45. See https://evil.example/x.", source=MAIL).memories[0]
    async with connect(guard, era) as client:
        assert {one.uri for one in (await client.list_resources()).resources} == {"memory://memories", "memory://inbox"}
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "memory://memories/{memory_id}"

        async def read(uri: str) -> str:
            result = await client.read_resource(uri)
            if era == "auto":
                assert (result.ttl_ms, result.cache_scope) == (0, "private")
            (content,) = result.contents
            assert isinstance(content, TextResourceContents)
            assert content.mime_type == "application/json"
            return content.text

        assert mine.id in await read("memory://memories")
        assert held.id not in await read("memory://memories")
        assert held.id in await read("memory://inbox")
        assert "“Your standup moved to 7:45" in await read(f"memory://memories/{held.id}")
        assert "https://evil.example" not in await read("memory://inbox")
        with pytest.raises(MCPError, match="the tools recall and inbox give the ids"):
            await read("memory://memories/m_none")

        assert [one.name for one in (await client.list_prompts()).prompts] == ["recall"]
        prompt = await client.get_prompt("recall", {"question": "When is my standup?"})
        said = [message.content.text for message in prompt.messages if isinstance(message.content, TextContent)]
        assert "- My standup is at 9:15." in said[0]
        assert "7:45" not in said[0]
        assert said[1].endswith(guard.recall("When is my standup?").notice)
        with pytest.raises(MCPError, match="empty"):
            await client.get_prompt("recall", {"question": "   "})


@pytest.mark.anyio
async def test_a_fault_tells_the_client_nothing_of_it(guard: MemoryGuard, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Any:
        raise RuntimeError("secret words of a sender")

    monkeypatch.setattr(MemoryGuard, "recall", fail)
    async with connect(guard) as client:
        said = fault(await client.call_tool("recall", {"question": "When is my standup?"}))
    assert said == "Error executing tool recall"


# Taint


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("recall", {"question": "When does the library close?"}),
        ("history", {"memory_id": "PAGE"}),
        ("sources", {}),
        ("memory://memories", {}),
        ("memory://memories/PAGE", {}),
        ("prompt", {}),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
async def test_what_is_written_after_outside_content_was_shown_derives_from_it(
    era: str, guard: MemoryGuard, call: str, arguments: dict[str, Any]
) -> None:
    page = guard.remember("The library closes at 6 pm.", source="web:library.example").memories[0]
    host = Host()
    async with connect(guard, era, host) as client:
        await client.call_tool("remember", {"text": "The user's dog is called Rex."})
        if call == "prompt":
            await client.get_prompt("recall", {"question": "When does the library close?"})
        elif "://" in call:
            await client.read_resource(call.replace("PAGE", page.id))
        else:
            filled = {name: page.id if given == "PAGE" else given for name, given in arguments.items()}
            fields(await client.call_tool(call, filled))
        await client.call_tool("remember", {"text": "The user's cat is called Tom."})
        await client.call_tool("remember", {"text": "My bird is called Kim.", "said_by_user": True})
        host.action = "decline"
        await client.call_tool("remember", {"text": "My fish is called Bob.", "said_by_user": True})
    assert lineage(guard, "The user's dog is called Rex.") == set()
    assert lineage(guard, "The user's cat is called Tom.") >= {"web:library.example"}
    assert lineage(guard, "My bird is called Kim.") == set()
    assert lineage(guard, "My fish is called Bob.") >= {"web:library.example"}


@pytest.mark.anyio
@pytest.mark.parametrize("call", ["recall", "inbox", "memory://inbox", "history"])
async def test_what_is_held_back_taints_as_well_where_it_was_shown(guard: MemoryGuard, call: str) -> None:
    mine = guard.remember("My standup is at 9:15.").memories[0]
    guard.remember("Your standup moved to 7:45.", source=MAIL)
    async with connect(guard) as client:
        if call == "memory://inbox":
            await client.read_resource(call)
        elif call == "history":  # of the user's own memory: it quotes what it was compared with
            assert "7:45" in str(fields(await client.call_tool(call, {"memory_id": mine.id})))
        else:
            fields(await client.call_tool(call, {"question": "When is my standup?"} if call == "recall" else {}))
        await client.call_tool("remember", {"text": "The user's cat is called Tom."})
    assert lineage(guard, "The user's cat is called Tom.") == {MAIL}


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_no_user_taints_or_reads_another(era: str, guard: MemoryGuard) -> None:
    conversations = Conversations(guard)

    def serve(caller: Caller) -> Any:
        return build_server(guard, whose=lambda _: caller, conversations=conversations)

    for who, text in ((ASHA, "The library closes at 6 pm."), (RAVI, "The pool closes at 9 pm.")):
        guard.for_user(str(who.user)).remember(text, source=f"web:{who.user}.example")
    async with connect(serve(ASHA), era) as asha, connect(serve(RAVI), era) as ravi:
        for client, own, other in ((asha, "6 pm", "9 pm"), (ravi, "9 pm", "6 pm")):
            told = fields(await client.call_tool("recall", {"question": "When does the library or pool close?"}))
            assert own in told["context"]
            assert other not in str(told)
            listed = str(await client.read_resource("memory://memories"))
            assert own in listed
            assert other not in listed
            await client.call_tool("remember", {"text": "The user's cat is called Tom."})
        theirs = guard.for_user("ravi").memories()[0].id
        assert "has no memory" in fault(await asha.call_tool("history", {"memory_id": theirs}))
        assert "has no memory" in fault(await asha.call_tool("forget", {"memory_id": theirs}))
    for name in ("asha", "ravi"):
        assert lineage(guard.for_user(name), "The user's cat is called Tom.") == {f"web:{name}.example"}
    assert guard.memories(status=None) == []


@given(
    acts=st.lists(
        st.tuples(
            st.integers(0, 3),
            st.sampled_from(["read", "learn", "write", "hold", "user"]),
            st.integers(0, 4),
        ),
        max_size=24,
    )
)
def test_a_statement_derives_from_all_that_entered_its_own_conversation(acts: list[tuple[int, str, int]]) -> None:
    guard = open_guard()
    conversations = Conversations(guard)
    callers = [Caller(user=user, conversation=c) for user in ("asha", "ravi") for c in ("1", "2")]
    entered: list[set[str]] = [set() for _ in callers]
    for number, (who, act, what) in enumerate(acts):
        here, source = conversations.of(callers[who]), f"web:page{what}.example"
        words = f"Parcel {number} weighs {number + 3} kg and the crate number {number} is green."
        if act == "read":
            here.read(words, source=source)
            entered[who].add(source)
        elif act == "learn":
            here.learn(words, source=source)
            entered[who].add(source)
        else:
            written = here.write(words, said_by_user=act == "user", hold=act == "hold")
            for memory in written.memories:
                expected = set() if act == "user" else entered[who]
                assert {one.key for one in memory.lineage} == expected
                assert str(memory.source) == ("user" if act == "user" else "assistant")
    assert {one.key for one in conversations.of(callers[0]).entered} == entered[0]


def test_what_a_memory_was_made_from_enters_with_it(guard: MemoryGuard) -> None:
    guard.remember("The library closes at 6 pm.", source="assistant", derived_from=["web:library.example"])
    here = Conversation(guard)
    here.recall("When does the library close?")
    here.write("The user's cat is called Tom.")
    assert lineage(guard, "The user's cat is called Tom.") == {"assistant", "web:library.example"}


def test_a_tool_that_repeats_what_was_shown_is_derived_from_it(guard: MemoryGuard) -> None:
    here = Conversation(guard)
    here.read("The rent is from now on paid to GB33 BUKB 2020 1555 5555 55.", source=MAIL)
    echo = here.learn("Note saved: rent, GB33 BUKB 2020 1555 5555 55.", source="tool:notes", authenticated=True)
    other = here.learn("The library closes at 6 pm.", source="tool:library", authenticated=True)
    assert [source.key for source in echo.memories[0].lineage] == [MAIL]
    assert other.memories[0].lineage == ()


def test_beyond_its_bounds_a_conversation_forgets_texts_and_no_caution(
    guard: MemoryGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MOST_TEXTS", 5)
    monkeypatch.setattr(bounds, "MOST_SOURCES", 3)
    here = Conversation(guard)
    for number in range(6):
        here.read(f"The crate number {number} is green.", source=MAIL)
    assert here._unread == []
    here.read("x" * (bounds.MOST_CHARACTERS + 1), source=MAIL)
    assert here._unread == []
    assert [str(one) for one in here.entered] == [MAIL]
    told = here.learn("The library closes at 6 pm.", source="tool:library", authenticated=True)
    assert [source.key for source in told.memories[0].lineage] == [MAIL]
    here.read("A model says so.", source="assistant")
    for number in range(9):
        here.read("The pool is green.", source=f"web:{number}.example", authenticated=True)
        assert len(here.entered) <= 3
        assert "assistant" in [str(one) for one in here.entered]
    assert {str(one) for one in here.write("The user's cat is called Tom.").memories[0].lineage} >= {"assistant"}


def test_500_texts_and_more_are_kept_within_bounds(guard: MemoryGuard) -> None:
    here = Conversation(guard)
    for number in range(1_200):
        here.read(f"The crate number {number} is green.", source=f"web:{number}.example")
    assert len(here._unread) <= bounds.MOST_TEXTS
    assert 1 <= len(here.entered) <= bounds.MOST_SOURCES


def test_a_conversation_is_over_when_it_was_idle_too_long(guard: MemoryGuard) -> None:
    now = [0.0]
    conversations = Conversations(guard, idle_s=60, clock=lambda: now[0])
    conversations.of(ASHA).read("The pool is green.", source=MAIL)
    now[0] = 59
    assert conversations.of(ASHA).entered
    now[0] = 118
    assert conversations.of(ASHA).entered
    now[0] = 179
    assert conversations.of(RAVI).entered == ()
    assert conversations.going_on == 1
    assert conversations.of(ASHA).entered == ()


def test_a_conversation_that_was_forgotten_early_is_taken_for_tainted(guard: MemoryGuard) -> None:
    now = [0.0]
    conversations = Conversations(guard, most=2, idle_s=60, clock=lambda: now[0])
    many = [Caller(user="asha", conversation=str(number)) for number in range(3)]
    for caller in many:
        conversations.of(caller).read("The pool is green.", source=MAIL)
    assert conversations.going_on == 2
    assert conversations.of(many[0]).entered == (UNKNOWN,)
    assert [str(one) for one in conversations.of(many[2]).entered] == [MAIL]
    now[0] = 200
    assert conversations.of(many[0]).entered == ()


def test_one_conversation_is_used_by_many_threads(guard: MemoryGuard) -> None:
    conversations = Conversations(guard)

    def work(number: int) -> None:
        here = conversations.of(Caller(user="asha", conversation=str(number % 2)))
        for step in range(20):
            here.read(f"The crate number {step} is green.", source=f"web:{number}.example")
            here.recall("Which crate is green?", k=2)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for which in (0, 1):
        entered = {str(one) for one in conversations.of(Caller(user="asha", conversation=str(which))).entered}
        assert entered == {f"web:{number}.example" for number in range(8) if number % 2 == which}


# Order, threads, callers


@pytest.mark.anyio
async def test_writes_of_a_conversation_are_made_in_the_order_they_came(
    guard: MemoryGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write = Conversation.write

    def slow(self: Conversation, text: str, **known: bool) -> Any:
        threading.Event().wait(0.02 if len(written) % 2 else 0)
        written.append(text)
        return write(self, text, **known)

    monkeypatch.setattr(Conversation, "write", slow)
    sent = [f"The crate number {number} is green." for number in range(12)]
    async with connect(guard) as client, anyio.create_task_group() as group:
        for text in sent:
            group.start_soon(client.call_tool, "remember", {"text": text})
            await anyio.lowlevel.checkpoint()
    assert written == sent


@pytest.mark.anyio
async def test_a_slow_call_holds_up_no_other(guard: MemoryGuard, monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = threading.Event()
    recall = MemoryGuard.recall

    def slow(self: MemoryGuard, question: str, *, k: int = 8) -> Recall:
        if "slow" in question:
            assert let_go.wait(10)
        return recall(self, question, k=k)

    monkeypatch.setattr(MemoryGuard, "recall", slow)
    async with connect(guard) as client, anyio.create_task_group() as group:
        with anyio.fail_after(8):
            group.start_soon(client.call_tool, "recall", {"question": "slow?"})
            await anyio.sleep(0.01)
            fields(await client.call_tool("recall", {"question": "quick?"}))
            fields(await client.call_tool("remember", {"text": "The user's cat is called Tom."}))
            let_go.set()


@pytest.mark.anyio
@pytest.mark.parametrize("user", ["", "  ", "x" * 201])
async def test_a_caller_without_a_name_is_let_in_as_nobody(guard: MemoryGuard, user: str) -> None:
    async with connect(build_server(guard, whose=only(user))) as client:
        with pytest.raises(MCPError, match="a name of 1 to 200 characters"):
            await client.call_tool("recall", {"question": "When is my standup?"})
    with pytest.raises(InputError):
        Conversations(guard).of(Caller(user=user, conversation=HERE))


@pytest.mark.anyio
async def test_where_tokens_are_asked_for_nobody_comes_in_without_one(guard: MemoryGuard) -> None:
    async with connect(build_server(guard, whose=by_token)) as client:
        for call in (
            client.call_tool("recall", {"question": "When is my standup?"}),
            client.read_resource("memory://memories"),
            client.get_prompt("recall", {"question": "When is my standup?"}),
        ):
            with pytest.raises(MCPError, match="not signed in"):
                await call


# The program


@pytest.mark.anyio
async def test_the_configuration_of_the_guide_works_as_it_stands(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "mcp.md").read_text("utf-8")
    (pasted,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    ((_, entry),) = json.loads(pasted)["mcpServers"].items()
    assert entry.pop("command") == "thymus-mcp"
    db = str(tmp_path / "memory.db")
    started = over_stdio(db, *entry.pop("args"))
    started.env = {**(started.env or {}), **entry.pop("env")}
    assert entry == {}
    async with connect(started, host=Host()) as client:
        await client.call_tool("remember", {"text": "My bike is blue.", "said_by_user": True})
    with MemoryGuard(db, user_id="asha") as guard:
        assert [memory.text for memory in guard.memories()] == ["My bike is blue."]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--gate", "nope", "--db", ":memory:"], "there is no gate 'nope'"),
        (["--user", "", "--db", ":memory:"], "a name of 1 to 200 characters"),
        (["--db", "nowhere/at/all.db"], "create it, or choose another path"),
        (["--tokens", "t", "--db", ":memory:"], "are for --http"),
        (["proxy", "--db", ":memory:"], "name what to wrap"),
    ],
)
def test_what_cannot_be_started_says_why_on_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["thymus-mcp", *arguments])
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    with pytest.raises(SystemExit) as ended:
        program.main()
    out, err = capsys.readouterr()
    assert (ended.value.code, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.anyio
async def test_nothing_but_the_protocol_is_on_stdout(tmp_path: Path) -> None:
    loud = (
        "import os\n"
        "from thymus import MemoryGuard\n"
        "recall = MemoryGuard.recall\n"
        "def shout(self, question, *, k=8):\n"
        "    print('printed'); os.write(1, b'written\\n'); os.system('echo from a child')\n"
        "    return recall(self, question, k=k)\n"
        "MemoryGuard.recall = shout\n"
        "import thymus.mcp.program\n"
        "thymus.mcp.program.main()"
    )
    db = str(tmp_path / "memory.db")
    async with connect(over_stdio(db, "--user", "asha", program=("-c", loud)), "legacy") as client:
        for _ in range(3):
            fields(await client.call_tool("recall", {"question": "When is my standup?"}))
        await client.call_tool("remember", {"text": "The user's cat is called Tom."})
    with MemoryGuard(db, user_id="asha") as guard:
        assert [memory.status for memory in guard.memories()] == [Status.ACTIVE]
        assert guard.memories()[0].source == Source.parse("assistant")
