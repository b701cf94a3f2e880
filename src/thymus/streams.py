"""Many messages: prepared ahead of time, settled one after the other, since each may depend on the one before."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from thymus.intake import Message, Parts, Prepared, prepare
from thymus.settlement import foresee

if TYPE_CHECKING:
    from thymus.core.claims import Scope
    from thymus.llm import LimitedModel
    from thymus.records import Written

BATCH: Final = 64
"""Messages that are extracted and embedded in one go."""
Settle: TypeAlias = Callable[[Sequence[Prepared]], "list[Written]"]


def in_batches(parts: Parts, settle: Settle, messages: Iterator[Message]) -> Iterator[Written]:
    """Prepare a batch while the one before it is settled; a batch shares its syncs to disk."""
    batches = iter(lambda: list(islice(messages, BATCH)), [])
    with ThreadPoolExecutor(1, thread_name_prefix="thymus-prepare") as other:
        ready = [other.submit(prepare, parts, batch) for batch in islice(batches, 1)]
        while ready:
            prepared = ready.pop().result()
            ready = [other.submit(prepare, parts, batch) for batch in islice(batches, 1)]
            with parts.store.bulk():
                written = settle(prepared)
            yield from written


def side_by_side(
    parts: Parts, scope: Scope, settle: Settle, messages: Iterator[Message], model: LimitedModel, at_once: int
) -> Iterator[Written]:
    """Have a language model extract and judge messages ahead, with this many questions under way at most.

    Each is judged against what was settled by then; what a message before it brings in is asked about when it is its
    turn.
    """

    def ahead(message: Message) -> Prepared:
        [prepared] = prepare(parts, [message])
        foresee(parts, scope, prepared)
        return prepared

    with model.at_most(at_once), ThreadPoolExecutor(at_once, thread_name_prefix="thymus-prepare") as others:
        ready = deque(others.submit(ahead, message) for message in islice(messages, at_once))
        try:
            while ready:
                yield from settle([ready.popleft().result()])
                ready += [others.submit(ahead, message) for message in islice(messages, 1)]
        finally:
            others.shutdown(wait=False, cancel_futures=True)
