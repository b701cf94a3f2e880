"""Edits of JSON as text: what they should say afterwards, and that nothing else in the file moves."""

from __future__ import annotations

import contextlib
import json
import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from install_helpers import lay_out

from thymus.install.edits import END, put, take
from thymus.install.jsonc import BrokenJsonError, ShapeError, read

NAMES = st.sampled_from(["mcpServers", "servers", "hooks", "a", "b", 'quo"te', "sla\\sh", "é", "https://x//y", ""])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["// no comment", "/* nor this */", ",}", ",]", '"', "\ud800", "\u202e", "\x00"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
ENTRY = {"command": "/opt/thymus-mcp", "args": ["--db", "/m.db"], "env": {}}


def put_in(value: Any, name: str) -> Any:
    return {**value, name: {**(value.get(name) or {}), "thymus": ENTRY}}


@settings(max_examples=300, deadline=None)
@given(value=OBJECTS, name=NAMES, seed=st.integers(), comments=st.booleans())
def test_an_edit_says_what_it_should_and_leaves_every_other_line(
    value: dict[str, Any], name: str, seed: int, comments: bool
) -> None:
    text = lay_out(value, random.Random(seed), comments=comments)
    assert value == read(text).value
    if not isinstance(value.get(name, {}), dict):
        with pytest.raises(ShapeError):
            put(text, (name, "thymus"), ENTRY)
        return
    new = put(text, (name, "thymus"), ENTRY)
    assert put_in(value, name) == read(new).value
    assert new == put(new, (name, "thymus"), ENTRY)
    back = take(new, (name, "thymus"))
    if value.get(name):
        assert text == back
    elif name not in value and value:
        assert text == take(back, (name,))


@settings(max_examples=150, deadline=None)
@given(value=st.lists(VALUES, max_size=4), seed=st.integers(), comments=st.booleans())
def test_an_element_that_is_added_last_can_be_taken_out_to_the_letter(
    value: list[Any], seed: int, comments: bool
) -> None:
    text = lay_out({"hooks": value}, random.Random(seed), comments=comments)
    new = put(text, ("hooks", END), ENTRY)
    assert [*value, ENTRY] == read(new).value["hooks"]
    if value:
        assert text == take(new, ("hooks", len(value)))


@settings(max_examples=150, deadline=None)
@given(value=OBJECTS.filter(bool), seed=st.integers(), comments=st.booleans(), which=st.integers(0, 10))
def test_any_member_can_be_taken_out(value: dict[str, Any], seed: int, comments: bool, which: int) -> None:
    name = list(value)[which % len(value)]
    text = lay_out(value, random.Random(seed), comments=comments)
    assert {key: inner for key, inner in value.items() if key != name} == read(take(text, (name,))).value


def test_the_style_of_the_file_is_kept() -> None:
    assert put('{"a":1}', ("b",), {"c": [2]}) == '{"a":1,"b":{"c":[2]}}'
    assert put('{"a": 1}', ("b", "c"), 2) == '{"a": 1, "b": {"c": 2}}'
    assert put('{\r\n\t"a": 1\r\n}', ("b", "c"), 2) == '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": 2\r\n\t}\r\n}'
    assert put('{\n  "a": 1 // one\n}', ("b",), 2) == '{\n  "a": 1, // one\n  "b": 2\n}'
    assert put('{\n  "a": 1,\n}', ("b",), 2) == '{\n  "a": 1,\n  "b": 2,\n}'
    assert put("{}\n", ("a", "b"), 2) == '{\n  "a": {\n    "b": 2\n  }\n}\n'
    assert put("{\n  // here\n}", ("b",), 2) == '{\n  // here\n  "b": 2\n}'
    assert put('{"é":1}', ("é",), "ü") == '{"é":"ü"}'


def test_what_is_not_there_is_taken_out_without_a_change() -> None:
    for path in (("x",), ("a", "x"), ("x", "y", "z")):
        assert take('{"a": {}}', path) == '{"a": {}}'


def test_a_comment_never_swallows_what_follows() -> None:
    assert read(take('{"a": 1 // c\n, "b": 2}', ("b",))).value == {"a": 1}
    assert read(take('{ // c\n"b": 2}', ("b",))).value == {}
    assert read(put("{// c\n}", ("b",), 2)).value == {"b": 2}


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "[1",
        '{"a": 1',
        '{"a": 1} x',
        '{"a" 1}',
        "{'a': 1}",
        '{"a": NaN}',
        '{"a": "\n"}',
        '{"a": /* 1}',
        "\x00",
        "\ud800",
        "//",
        '"',
        "[" * 100_000,
        '{"a":' * 50_000,
    ],
)
def test_what_no_program_reads_is_refused(text: str) -> None:
    with pytest.raises(BrokenJsonError):
        read(text)


def test_plain_json_refuses_what_only_some_programs_read() -> None:
    with pytest.raises(BrokenJsonError, match="line 2, column 3: a comment"):
        read('{\n  // no\n"a": 1}', comments=False)
    with pytest.raises(BrokenJsonError, match="line 1, column 8: a comma"):
        read('{"a": 1,}', comments=False)
    assert read('{"a": "// fine ,}"}', comments=False).value == {"a": "// fine ,}"}


def test_faults_are_told_where_they_are() -> None:
    with pytest.raises(BrokenJsonError, match="line 3, column 1: "):
        read('{\n  "a": 1 /* c */\n"b": 2}')


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("[]", ("a",), "the file should be an object"),
        ('{"a": null}', ("a", "b"), "a should be an object"),
        ('{"a": {"b": []}}', ("a", "b", "c"), "a.b should be an object"),
        ('{"a": {}}', ("a", END), "a should be a list"),
        ('{"a": {}, "a": {}}', ("a", "b"), "a stands there 2 times"),
    ],
)
def test_what_has_another_shape_is_left_alone(text: str, path: tuple[str | int, ...], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        put(text, path, 1)


@pytest.mark.parametrize(
    "text",
    [
        '"' + '\\"' * 200_000,
        '"\n' * 200_000,
        "/*" * 200_000,
        "/" * 400_000,
        "," * 400_000,
        "{" + " " * 400_000,
        "[" + "1, " * 150_000 + "1]",
        "{" + ",".join(f'"{number}": /* c */ {number}' for number in range(50_000)) + "}",
        json.dumps({"a": "x" * 2_000_000}),
    ],
)
def test_time_grows_with_length_alone(text: str) -> None:
    begun = time.process_time()
    with contextlib.suppress(BrokenJsonError, ShapeError):
        put(text, ("a", "b"), 1)
    assert time.process_time() - begun < 3
