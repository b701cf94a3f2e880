"""What a client could take for the answer to a call of ours, the proxy takes for one, too."""

from __future__ import annotations

from typing import Any

import pytest

from thymus.mcp.beside import key_of, unpack
from thymus.mcp.relay import _is_answer


def test_ids_are_told_apart_as_far_as_clients_do() -> None:
    assert key_of(5) == key_of(5.0) == key_of("5")
    assert len({key_of(one) for one in (5, 6, "a", 5.5, True, None)}) == 6


@pytest.mark.parametrize(
    ("message", "answers"),
    [
        ({"id": 1, "result": {}}, True),
        ({"id": 1, "error": {}}, True),
        ({"id": 1, "method": None, "result": {}}, True),
        ({"id": 1, "method": "x", "result": {}}, True),
        ({"id": 1, "method": "sampling/createMessage"}, False),
        ({"method": "notifications/progress"}, False),
        ([], False),
        (None, False),
    ],
)
def test_an_answer_is_whatever_a_client_could_take_for_one(message: Any, answers: bool) -> None:
    assert _is_answer(message) is answers


@pytest.mark.parametrize("line", [b"\xff{}", b'{"id": ' + b"9" * 5_000 + b"}", b"[" * 100_000, b"{", b""])
def test_what_cannot_be_read_is_no_message(line: bytes) -> None:
    assert unpack(line) is None
