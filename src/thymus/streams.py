"""Many messages: prepared ahead of time, settled one after the other, since each may depend on the one before."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from thymus.errors import InputError
from thymus.intake import Message, Parts, Prepared, prepare
from thymus.settlement import foresee

if TYPE_CHECKING:
    from thymus.core.claims import Scope
    from thymus.llm import LimitedModel
    from thymus.records import Written

BATCH: Final = 64
"""Messages that are extracted and embedded in one go."""
Settle: TypeAlias = Callable[[Sequence[Prepared]], "list[Written]"]


def _message(given: object) -> Message:
    if not isinstance(given, Message):
        raise InputError("a stream is of messages, as guard.message(text, source=…) makes them, and not of texts")
    return given


class _Source:
    """Where messages come from. If that breaks off, what came before is still learned, and then the error raised."""

    def __init__(self, messages: Iterator[Message]) -> None:
        self._messages = messages
        self._error: Exception | None = None

    def take(self, many: int) -> list[Message]:
        """The next ones, as many as there are."""
        taken: list[Message] = []
        if self._error is None:
            try:
                taken.extend(map(_message, islice(self._messages, many)))
            except Exception as error:  # noqa: BLE001  (it is raised at the end)
                self._error = error
        return taken

    def end(self) -> None:
        """Raise what it broke off with, if it did."""
        if self._error is not None:
            raise self._error


def in_batches(parts: Parts, settle: Settle, messages: Iterator[Message]) -> Iterator[Written]:
    """Prepare a batch while the one before it is settled; a batch shares its syncs to disk."""
    source = _Source(messages)
    with ThreadPoolExecutor(1, thread_name_prefix="thymus-prepare") as other:

        def ahead() -> list[Future[list[Prepared]]]:
            batch = source.take(BATCH)
            return [other.submit(prepare, parts, batch)] if batch else []

        ready = ahead()
        while ready:
            prepared = ready.pop().result()
            ready = ahead()
            with parts.store.bulk():
                written = settle(prepared)
            yield from written
    source.end()


def side_by_side(
    parts: Parts, scope: Scope, settle: Settle, messages: Iterator[Message], model: LimitedModel, at_once: int
) -> Iterator[Written]:
    """Have a language model extract and judge messages ahead, with this many questions under way at most.

    Each is judged against what was settled by then; what a message before it brings in is asked about when it is its
    turn.
    """
    source = _Source(messages)

    def ahead(message: Message) -> Prepared:
        [prepared] = prepare(parts, [message])
        foresee(parts, scope, prepared, crowded=True)
        return prepared

    with model.at_most(at_once), ThreadPoolExecutor(at_once, thread_name_prefix="thymus-prepare") as others:
        ready = deque(others.submit(ahead, message) for message in source.take(at_once))
        try:
            while ready:
                yield from settle([ready.popleft().result()])
                ready += [others.submit(ahead, message) for message in source.take(1)]
        finally:
            others.shutdown(wait=False, cancel_futures=True)
    source.end()
