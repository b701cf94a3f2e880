"""LangGraph: ``InMemoryStore``, and ``ThymusStore`` around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.store.memory import InMemoryStore

from thymus.integrations.langgraph import ThymusStore

if TYPE_CHECKING:
    from pathlib import Path

    from langgraph.store.base import BaseStore

    from perf.tool_calls.play import Operations
    from thymus import MemoryGuard

_NAMESPACE = ("users", "perf")


def operations(guard: MemoryGuard | None, _: Path) -> Operations:
    """A put under a new key, and a get of it."""
    store: BaseStore = InMemoryStore()
    if guard:
        store = ThymusStore(store, guard, source="tool:desk", scope=lambda _: "perf")
    return {
        "put": lambda key, text: store.put(_NAMESPACE, key, {"text": text}),
        "get": lambda key, _: store.get(_NAMESPACE, key),
    }
