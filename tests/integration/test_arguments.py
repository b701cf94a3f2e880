"""Arguments of a wrong type or without meaning: an error of Thymus that names the remedy, and nothing changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from thymus import MemoryGuard, Source
from thymus.core.beliefs import Status
from thymus.errors import InputError, SourceError, ThymusError


@pytest.fixture
def guard() -> Iterator[MemoryGuard]:
    with MemoryGuard(embedder="hash", judge="typed") as opened:
        opened.remember("My standup is at 9:15.")
        opened.remember("The gym closes at 22:00.", source="web:gym.example")
        yield opened


Call = Callable[[Any], object]
REFUSED: dict[str, tuple[Call, type[ThymusError], str]] = {
    "resolve None": (lambda guard: guard.resolve(None, True), InputError, r"inbox\(\) give the ids"),
    "explain None": (lambda guard: guard.explain(None), InputError, r"inbox\(\) give the ids"),
    "get a number": (lambda guard: guard.get(5), InputError, r"inbox\(\) give the ids"),
    "forget a list": (lambda guard: guard.forget(["m_0"]), InputError, r"inbox\(\) give the ids"),
    "history of None": (lambda guard: guard.history(None), InputError, r"inbox\(\) give the ids"),
    "k as text": (lambda guard: guard.recall("x", k="3"), InputError, "1 or more"),
    "k as truth": (lambda guard: guard.recall("x", k=True), InputError, "1 or more"),
    "limit as text": (lambda guard: guard.memories(limit="3"), InputError, "whole number"),
    "limit below 0": (lambda guard: guard.inbox(limit=-1), InputError, "whole number"),
    "no such status": (lambda guard: guard.memories(status="x"), InputError, "active, contested"),
    "status of a list": (lambda guard: guard.memories(status=[]), InputError, "active, contested"),
    "a number for a path": (lambda _: MemoryGuard(3), InputError, "memory.db"),  # type: ignore[arg-type]
    "bytes for a path": (lambda _: MemoryGuard(b"x.db"), InputError, "memory.db"),  # type: ignore[arg-type]
    "undo of truth": (lambda guard: guard.undo(True), InputError, "history"),
    "undo of text": (lambda guard: guard.undo("2"), InputError, "history"),
    "no such option": (lambda _: Source.from_email(b"", foo=1), SourceError, "'foo': use dkim, .*under_received"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_each_is_refused_with_its_remedy(guard: MemoryGuard, case: str) -> None:
    call, kind, remedy = REFUSED[case]
    before = guard.export()
    with pytest.raises(kind, match=remedy):
        call(guard)
    assert before == guard.export()


def test_over_names_other_memories_and_only_where_the_claim_is_accepted(guard: MemoryGuard) -> None:
    told, own = guard.memories()
    with pytest.raises(InputError, match="its own place"):
        guard.resolve(told.id, True, over=[own.id, told.id])
    with pytest.raises(InputError, match="accepted"):
        guard.resolve(told.id, False, over=own.id)
    assert [told, own] == guard.memories()
    guard.resolve(told.id, True, over=own.id)
    assert Status.SUPERSEDED is guard.get(own.id).status


def test_a_source_that_never_spoke_changes_nothing(guard: MemoryGuard) -> None:
    event = guard.revoke("web:gim.example")
    assert (event.seq, event.changes) == (0, ())


def test_explain_tells_for_what_a_claim_stood_aside(guard: MemoryGuard) -> None:
    told, own = guard.memories()
    assert "stood aside" not in str(guard.explain(told.id))
    guard._set_aside.note([replace(told, contradicts=(own.id,))])
    line = f"When it last came up in a recall it stood aside for “My standup is at 9:15” ({own.id})."
    assert line in guard.explain(told.id).lines
    guard.resolve(told.id, False)
    assert "stood aside" not in str(guard.explain(told.id))
