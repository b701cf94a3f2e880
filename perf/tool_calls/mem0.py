"""Mem0 with the bundled embedder, in a folder, and the same with Thymus in front of it."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

os.environ.setdefault("MEM0_TELEMETRY", "False")  # read when it is imported
from thymus.integrations.mem0 import ThymusMemory, local_memory

if TYPE_CHECKING:
    from pathlib import Path

    from perf.tool_calls.play import Operations
    from thymus import MemoryGuard

logging.getLogger("mem0").setLevel(logging.ERROR)  # it tells of optional packages


def operations(guard: MemoryGuard | None, folder: Path) -> Operations:
    """An add of a tool's words, and a search."""
    mem0 = local_memory(folder)
    if guard:
        memory = ThymusMemory(mem0, user_id="perf", guard=guard)
        return {
            "add": lambda _, text: memory.add(text, source="tool:desk"),
            "search": lambda key, _: memory.search(f"Is there any news of {key}?"),
        }
    return {
        "add": lambda _, text: mem0.add(text, user_id="perf", infer=False),
        "search": lambda key, _: mem0.search(f"Is there any news of {key}?", filters={"user_id": "perf"}),
    }
