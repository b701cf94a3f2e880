"""Names that begin with ``thymus_`` are ours alone, on every page, at any time, however they are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from relay_helpers import Table, answer, at_table, request

from thymus.errors import ConfigError
from thymus.mcp.beside import is_our_address, is_ours
from thymus.mcp.proxy import read_config

POSING = [
    "thymus_recall",
    "thymus_anything",
    "Thymus_Recall",
    "thymus.recall",
    "thymus-recall",
    "thymus recall",
    "_thymus_recall",
    "thy\u200bmus_recall",
    "ｔｈｙｍｕｓ＿recall",
]
OTHERS = ["recall", "my_thymus_recall", "thymus", "thymusrecall", "thymic_recall", "", 5, None]


@pytest.mark.parametrize("name", POSING)
def test_a_name_that_comes_out_as_ours_is_ours(name: str) -> None:
    assert is_ours(name)


@pytest.mark.parametrize("name", OTHERS)
def test_a_name_that_does_not_is_theirs(name: object) -> None:
    assert not is_ours(name)


@given(st.text())
def test_every_name_with_our_prefix_is_ours(name: str) -> None:
    assert is_ours(f"thymus_{name}")
    assert is_our_address(f"thymus:{name}")


@pytest.mark.parametrize("cursor", [None, "2"])
@pytest.mark.parametrize("name", POSING)
def test_no_page_of_a_servers_tools_has_one_of_our_names(name: str, cursor: str | None) -> None:
    async def work(table: Table) -> None:
        asked = request(1, "tools/list", **({"cursor": cursor} if cursor else {}))
        table.client.says(asked)
        await table.wrapped.hears()
        table.wrapped.says(answer(1, tools=[{"name": name}, {"name": "x"}], nextCursor="3"))
        if not cursor:
            ours = await table.ours.hears()
            table.ours.says(answer(ours["id"], tools=[{"name": "recall", "description": "of ours"}]))
        came = (await table.client.hears())["result"]
        ours_last = [] if cursor else [{"name": "thymus_recall", "description": "of ours"}]
        assert came == {"tools": [{"name": "x"}, *ours_last], "nextCursor": "3"}

    at_table(work)


@pytest.mark.parametrize(
    ("method", "field", "posing", "kept"),
    [
        ("prompts/list", "prompts", {"name": "thymus_recall"}, {"name": "greet"}),
        ("resources/list", "resources", {"uri": "thymus://inbox"}, {"uri": "note://x"}),
        ("resources/list", "resources", {"uri": " Thymus://inbox"}, {"uri": "x:thymus://inbox"}),
        ("resources/templates/list", "resourceTemplates", {"uriTemplate": "thymus://{id}"}, {"uriTemplate": "a://{b}"}),
    ],
)
def test_no_list_has_a_prompt_or_address_of_ours(method: str, field: str, posing: Any, kept: Any) -> None:
    async def work(table: Table) -> None:
        table.client.says(request(1, method))
        await table.wrapped.hears()
        table.wrapped.says(answer(1, **{field: [posing, kept]}))
        assert (await table.client.hears())["result"] == {field: [kept]}

    at_table(work)


def test_a_list_among_several_answers_is_a_list_too() -> None:
    async def work(table: Table) -> None:
        table.client.says(request(1, "tools/list", cursor="2"))
        await table.wrapped.hears()
        other = answer(9, x=1)
        table.wrapped.says([answer(1, tools=[{"name": "thymus_recall"}, {"name": "x"}]), other])
        assert await table.client.hears() == [answer(1, tools=[{"name": "x"}]), other]

    at_table(work)


def test_what_has_none_of_our_names_passes_as_the_bytes_it_is() -> None:
    line = b'{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "x", "n": 1.10}]}}\n'

    async def work(table: Table) -> None:
        table.client.says(request(1, "tools/list", cursor="2"))
        await table.wrapped.hears()
        table.wrapped.says(line)
        assert await table.client.got.get() == line

    at_table(work)


@pytest.mark.parametrize("name", ["thymus_recall", "thymus_of_tomorrow"])
def test_a_call_of_ours_is_ours_before_anything_was_listed(name: str) -> None:
    async def work(table: Table) -> None:
        table.client.says(request(7, "tools/call", name=name, arguments={}))
        assert (await table.ours.hears())["params"]["name"] == name.removeprefix("thymus_")
        table.ours.says(answer(7, content=[]))
        assert await table.client.hears() == answer(7, content=[])
        assert table.wrapped.got.empty()

    assert at_table(work).seen == []


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("prompts/get", {"name": "thymus_recall"}),
        ("resources/read", {"uri": "thymus://inbox"}),
        ("resources/subscribe", {"uri": "thymus://inbox"}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "thymus_recall"}}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": "thymus://{id}"}}),
    ],
)
def test_what_nobody_has_under_our_names_is_asked_of_nobody(method: str, params: dict[str, Any]) -> None:
    async def work(table: Table) -> None:
        table.client.says(request(7, method, **params))
        assert (await table.client.hears())["error"]["code"] == -32602
        assert table.wrapped.got.empty()

    at_table(work)


def test_where_the_memory_has_ended_nobody_else_answers_in_its_name() -> None:
    async def work(table: Table) -> None:
        table.ours.hang_up()
        table.client.says(request(1, "tools/list"))
        await table.wrapped.hears()
        table.wrapped.says(answer(1, tools=[{"name": "thymus_recall"}]))
        assert (await table.client.hears())["result"] == {"tools": []}
        table.client.says(request(2, "tools/call", name="thymus_recall", arguments={}))
        assert (await table.client.hears())["error"]["message"] == "the memory beside this server has ended"
        assert table.wrapped.got.empty()

    at_table(work)


def test_a_call_of_ours_among_several_requests_does_not_reach_the_server() -> None:
    async def work(table: Table) -> None:
        theirs = request(2, "tools/call", name="x")
        table.client.says([request(1, "tools/call", name="thymus_recall"), theirs])
        assert (await table.ours.hears())["params"]["name"] == "recall"
        assert await table.wrapped.hears() == [theirs]
        table.wrapped.says([answer(2, content=[{"type": "text", "text": "x"}])])
        await table.client.hears()

    assert [one.tool for one in at_table(work).seen] == ["x"]


def test_no_server_among_several_gets_a_name_that_is_ours(tmp_path: Path) -> None:
    for name in ("thymus", "Thymus", "thymus.x"):
        servers = {name: {"command": "x"}, "b": {"command": "y"}}
        (tmp_path / "c.json").write_text(json.dumps({"mcpServers": servers}))
        with pytest.raises(ConfigError, match="could be taken"):
            read_config(tmp_path / "c.json")
