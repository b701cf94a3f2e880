"""A conversation over MCP: what every conversation is, and what a server that asks its user needs beside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import anyio

from thymus import conversation
from thymus.mcp.patience import Patience

if TYPE_CHECKING:
    from thymus.core.provenance import Source
    from thymus.guard import MemoryGuard
    from thymus.llm import LimitedModel
    from thymus.mcp.callers import Caller


class Conversation(conversation.Conversation):
    """One conversation of a client's model. Writes that must keep their order are made while ``in_order`` is held.

    :ivar vouched_for: whether its host is known to be the user's (``Caller``).
    """

    def __init__(self, guard: MemoryGuard, before: Iterable[Source] = ()) -> None:
        super().__init__(guard, before=before)
        self.in_order = anyio.Lock()
        self.patience = Patience()
        self.vouched_for = True
        self._losing = threading.Lock()
        self._lost = 0

    def lose(self) -> None:
        """Note that a result, or a part of one, was not learned and will not be."""
        with self._losing:
            self._lost += 1

    def lost(self) -> int:
        """How many were lost since this was last asked: the user is told once."""
        with self._losing:
            lost, self._lost = self._lost, 0
        return lost


class Conversations:
    """``thymus.conversation.Conversations``, by who calls.

    :param before: what entered each of them before it began, for all that is known: other workers may have told it
        what this one did not see.
    """

    def __init__(
        self,
        guard: MemoryGuard,
        *,
        before: tuple[Source, ...] = (),
        most: int = conversation.MOST_CONVERSATIONS,
        idle_s: float = conversation.IDLE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        def begin(whose: MemoryGuard, entered: tuple[Source, ...]) -> Conversation:
            return Conversation(whose, (*before, *entered))

        self._kept = conversation.Conversations(guard, begin, most=most, idle_s=idle_s, clock=clock)

    @property
    def llm(self) -> LimitedModel | None:
        """The language model that their guard asks."""
        return self._kept.llm

    def of(self, caller: Caller) -> Conversation:
        """The conversation of this caller, which begins with their first call.

        :raises InputError: where the user's name cannot be one.
        """
        here = self._kept.of(caller.conversation, user=caller.user, tenant=caller.tenant)
        here.vouched_for = caller.vouched_for
        return here

    @property
    def going_on(self) -> int:
        """How many there are."""
        return self._kept.going_on
