"""Plays on Mem0: the guard decides as ever, and what a question recalls is looked up in a Mem0 of the play's own."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, cast

from thymus import MemoryGuard

os.environ.setdefault("MEM0_TELEMETRY", "False")  # read when it is imported: a benchmark calls nobody
from thymus.integrations.mem0 import ThymusMemory, local_memory

if TYPE_CHECKING:
    from thymus import Recall
    from thymus.ports import Embedder

logging.getLogger("mem0").setLevel(logging.ERROR)  # it says for every play what it could do with other packages


@contextmanager
def open_guard(path: str | None = None, *, embedder: Embedder, **options: Any) -> Iterator[MemoryGuard]:
    """A guard whose recalls take their candidates from Mem0, which embeds with the same embedder.

    Takes what ``MemoryGuard`` takes.
    """
    with MemoryGuard(path, embedder=embedder, **options) as guard, closing(local_memory(embedder=embedder)) as memory:
        yield cast("MemoryGuard", _OnMem0(ThymusMemory(memory, guard=guard)))


class _OnMem0:
    """The guard of a ``ThymusMemory``, but for ``recall``."""

    def __init__(self, memory: ThymusMemory) -> None:
        self._memory = memory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory.guard, name)

    def recall(self, question: str, *, k: int) -> Recall:
        """``MemoryGuard.recall``, after Mem0 was given what was learned since."""
        return self._memory.recall(question, k=k)
