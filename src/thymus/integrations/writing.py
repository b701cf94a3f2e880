"""Who writes at the moment: noted by the hook that runs a tool, read by a store that the tool writes to.

A store's interface has no place for who writes. So a hook notes it around the call, in a context variable: tasks,
``asyncio.to_thread`` and the executors in which LangChain and LangGraph run synchronous tools copy it. A bare thread
or ``ThreadPoolExecutor`` does not, nor does a task that was started before: what is written there has no writer here,
so a reader of ``writer()`` must take ``None`` for somebody of no authority, never for the user.
"""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from thymus.conversation import Conversation
    from thymus.core.provenance import Source

_WRITER: Final[ContextVar[tuple[Source, Conversation | None] | None]] = ContextVar("thymus_writer", default=None)


@contextlib.contextmanager
def writing_as(source: Source, talk: Conversation | None = None) -> Iterator[None]:
    """Within, what is written is ``source``'s; the one noted further inside counts.

    :param talk: the conversation in which it writes: what it writes derives from what has entered there.
    """
    before = _WRITER.get()
    _WRITER.set((source, talk))
    try:
        yield
    finally:
        _WRITER.set(before)  # not by a token: a generator may be closed in another context than it was begun in


def writer() -> tuple[Source, Conversation | None] | None:
    """Who writes at the moment, and in which conversation; ``None`` where nobody was noted."""
    return _WRITER.get()
