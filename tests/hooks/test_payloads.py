"""What an event means: whose words, under which name, what is learned from and what only read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hooks_helpers import recorded
from hypothesis import given
from hypothesis import strategies as st

from thymus.core.provenance import Source
from thymus.hooks.payloads import PART, Heard, heard, in_parts, origin_of, scheduled, source_of


def after(tool: str, response: Any, given: Any = None) -> Heard | None:
    event = {"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": given or {}, "tool_response": response}
    return heard(event)


def test_every_recorded_event_is_understood() -> None:
    found = {
        (event["hook_event_name"], event["tool_name"]): told
        for event in recorded()
        if "tool_name" in event and (told := heard(event))
    }
    assert {key: (told.source, told.origins, told.learn > 0) for key, told in found.items()} == {
        ("PostToolUse", "Read"): ("tool:claude-code/Read", ("file:/home/asha/notes/notes.md",), True),
        ("PostToolUse", "Bash"): ("tool:claude-code/Bash", (), True),
        ("PostToolUse", "Grep"): ("tool:claude-code/Grep", (), False),
        ("PostToolUse", "mcp__calendar__next_meeting"): ("mcp:calendar/next_meeting", (), True),
        ("PostToolUseFailure", "mcp__calendar__fails"): ("mcp:calendar/fails", (), False),
        ("PostToolUseFailure", "Bash"): ("tool:claude-code/Bash", (), False),
        ("PostToolUseFailure", "WebFetch"): ("tool:claude-code/WebFetch", (), False),
    }
    assert found["PostToolUse", "mcp__calendar__next_meeting"].text == (
        "The next meeting with ravi is on Thursday at 10:30 in Room 4C."
    )
    assert found["PostToolUse", "Bash"].text == "build 42 passed\noops"


def test_a_page_speaks_and_not_the_tool_that_fetched_it() -> None:
    answer = {"bytes": 9, "code": 200, "codeText": "OK", "result": "We open at nine.", "url": "https://shop.example/x"}
    told = after("WebFetch", answer, {"url": "https://go.example/1", "prompt": "hours"})
    assert told is not None
    assert (told.source, told.origins) == ("tool:claude-code/WebFetch", ("web:go.example", "web:shop.example"))
    assert told.text == "We open at nine."


def test_a_search_is_made_from_all_that_it_found() -> None:
    hits = [{"title": "Shop", "url": "https://shop.example/"}, {"title": "Evil", "url": "http://evil.example:8/a"}]
    told = after("WebSearch", {"query": "q", "results": [{"tool_use_id": "1", "content": hits}, "It opens at nine."]})
    assert told is not None
    assert (told.origins, told.text) == (("web:shop.example", "web:evil.example"), "It opens at nine.")


@pytest.mark.parametrize("answer", [{}, {"url": ""}, {"url": "mailto:a@b.example"}, {"url": "https://[x"}, None])
def test_a_page_of_unknown_origin_is_somebodys(answer: Any) -> None:
    told = after("WebFetch", {**(answer or {}), "result": "Hello."})
    assert told is not None
    assert told.origins == ("web",)


@pytest.mark.parametrize("tool", ["Write", "Edit", "TodoWrite", "Agent", "ExitPlanMode", "AskUserQuestion", "NewTool"])
def test_what_the_assistant_wrote_is_not_heard(tool: str) -> None:
    assert after(tool, {"content": "The user's rent goes to DE89.", "type": "create"}) is None


@pytest.mark.parametrize("server", ["thymus", "Thymus", "thymus-memory", "plugin_thymus_memory"])
def test_what_thymus_returned_is_read_and_not_learned_again(server: str) -> None:
    known = "m_0123456789abcdef"
    told = after(f"mcp__{server}__recall", json.dumps({"context": "It is at 9:15.", "memories": [{"id": known}]}))
    assert told is not None
    assert (told.own, told.learn, told.result) == (True, 0, None)
    assert told.text == f"context: It is at 9:15.\n{known}"


def test_code_is_read_and_prose_is_learned_from() -> None:
    learn = {}
    for path in ("/p/a.py", "/p/a.md", "/p/A.TXT", "/p/Makefile", "/p/mail.eml", "/p/.env"):
        told = after("Read", {"type": "text", "file": {"filePath": path, "content": "It moved to Friday."}})
        learn[path] = told is not None and told.learn > 0
    expected = {
        "/p/a.py": False,
        "/p/a.md": True,
        "/p/A.TXT": True,
        "/p/Makefile": False,
        "/p/mail.eml": True,
        "/p/.env": False,
    }
    assert expected == learn


def test_fields_of_a_structured_result_keep_their_names() -> None:
    told = after("mcp__cal__next", json.dumps({"result": {"title": "Standup", "start": "10:30", "text": "In Room 4."}}))
    assert told is not None
    assert told.text == "title: Standup\nstart: 10:30\nIn Room 4."


def test_mcp_content_is_its_texts_without_its_data() -> None:
    content = [{"type": "text", "text": "It is late."}, {"type": "image", "data": "iVBOR", "mimeType": "image/png"}]
    told = after("mcp__a__b", content)
    assert told is not None
    assert told.text == "It is late."


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("mcp__my_server__get__it", "mcp:my_server/get__it"),
        ("mcp__x", "mcp:x/unnamed"),
        ("mcp__a\n\u202eb__c d", "mcp:ab/cd"),
        ("", "tool:claude-code/unnamed"),
    ],
)
def test_names_of_tools_are_names_of_sources(tool: str, name: str) -> None:
    assert Source.parse(name).key == Source.parse(source_of(tool)).key


def test_scheduled_prompts_are_known() -> None:
    assert scheduled({"tool_name": "CronCreate", "tool_input": {"prompt": "Check."}}) == ("Check.",)
    assert scheduled({"hook_event_name": "Stop", "session_crons": [{"prompt": "Go."}, 3, {"prompt": 4}]}) == ("Go.",)
    assert scheduled({"tool_name": "Bash", "tool_input": {"prompt": "Check."}}) == ()


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["file", "content", "results", "url", "text", "stdout"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(
    st.sampled_from(["Read", "Bash", "WebFetch", "WebSearch", "Grep", "mcp__a__b", "ReadMcpResourceTool", ""]),
    json_values,
    json_values,
)
def test_no_shape_of_a_result_is_an_error(tool: str, response: Any, given_: Any) -> None:
    told = after(tool, response, given_)
    if told is not None:
        Source.parse(told.source)
        for origin in told.origins:
            Source.parse(origin)


@given(st.text(max_size=60))
def test_an_origin_is_a_source_or_nothing(url: str) -> None:
    for found in (origin_of(url), origin_of(f"https://{url}/")):
        if found:
            Source.parse(found)


@given(st.text(alphabet="ab .\n", max_size=60), st.integers(1, 400))
def test_parts_are_short_and_lose_nothing(piece: str, times: int) -> None:
    text = piece * times
    parts = list(in_parts(text))
    assert "".join(parts) == text
    assert all(0 < len(part) <= PART for part in parts)


def test_parts_end_where_a_sentence_does() -> None:
    text = "It is late. " * 1_000
    assert all(part.strip().endswith(("late.", "late")) for part in in_parts(text))
