"""Another writer between the two readings that a replacement takes: decided again, and never lost."""

from __future__ import annotations

from collections.abc import Sequence

from thymus import MemoryGuard, Status
from thymus.core.claims import Scope
from thymus.ports import Neighbour, Probe
from thymus.records import Outcome
from thymus.stores.memory import MemoryStore


class Interrupted(MemoryStore):
    """Somebody else writes before the wider reading."""

    other: MemoryGuard | None = None

    def rivals(self, scope: Scope, probes: Sequence[Probe], k: int) -> tuple[list[list[Neighbour]], int]:
        other, self.other = (self.other, None) if k > 4 else (None, self.other)
        if other is not None:
            other.remember("My standup is at 10:00 in Room 2A.")
        return super().rivals(scope, probes, k)


def test_what_another_writer_has_replaced_meanwhile_is_decided_again() -> None:
    store = Interrupted()
    guard = MemoryGuard(store=store)
    old = guard.remember("My standup is at 9:15 in Room 2A.").memories[0]
    store.other = MemoryGuard(store=store)
    written = guard.remember("My standup is at 9:45 in Room 2A.")
    assert guard.get(old.id).status is Status.SUPERSEDED
    assert written.effect is Outcome.ADMITTED  # what the other said meanwhile is newer, so it is not replaced
    assert len(guard.memories()) == 2
    assert guard.verify().problems == ()
