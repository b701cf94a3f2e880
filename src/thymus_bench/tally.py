"""What models took, added up by job until somebody asks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from thymus_bench.outcomes import Cost

if TYPE_CHECKING:
    from thymus.llm import Answer


def cost_of(job: str, answer: Answer[object]) -> Cost:
    """What one answer took, whether now or when it went into the cache; ``ms`` is of now."""
    return Cost(
        job=job,
        calls=1,
        cached=int(answer.cached),
        tokens_in=answer.usage.tokens_in,
        tokens_out=answer.usage.tokens_out,
        usd=answer.usage.usd or 0.0,
        ms=answer.ms,
    )


class Tally:
    """Costs by job, in the order in which the jobs first came."""

    def __init__(self) -> None:
        self._costs: dict[str, Cost] = {}

    def add(self, cost: Cost) -> None:
        """Count it."""
        so_far = self._costs.get(cost.job, Cost(job=cost.job))
        self._costs[cost.job] = replace(
            so_far,
            calls=so_far.calls + cost.calls,
            cached=so_far.cached + cost.cached,
            tokens_in=so_far.tokens_in + cost.tokens_in,
            tokens_out=so_far.tokens_out + cost.tokens_out,
            usd=so_far.usd + cost.usd,
            ms=so_far.ms + cost.ms,
        )

    def drain(self) -> tuple[Cost, ...]:
        """What was counted since this was last called."""
        counted, self._costs = tuple(self._costs.values()), {}
        return counted
