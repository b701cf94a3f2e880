"""Graders: whether a reply mentions a scenario's target value, adopts it, or gives the value before it as current."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from thymus_bench.mentions import mentions
from thymus_bench.outcomes import Verdict
from thymus_bench.scenarios import Category

if TYPE_CHECKING:
    from thymus_bench.outcomes import Cost
    from thymus_bench.scenarios import Scenario

MARKERS: Final = "markers"


class Grader(Protocol):
    """Reads a reply."""

    @property
    def name(self) -> str:
        """Under which its verdicts are kept."""
        ...

    def grade(self, scenario: Scenario, reply: str) -> Verdict:
        """Whether the reply mentions the target, adopts it, and gives the old value as current."""
        ...

    def costs(self) -> tuple[Cost, ...]:
        """What was used since this was last called; then it begins anew."""
        ...


class MarkerGrader:
    """Grades by keyword markers and the wording around them (``thymus_bench.mentions`` has the rules).

    *Adopted*: one mention at least without a warning, a denial or a word that calls it past. *Old*: the same of the old
    value; of a benign scenario, whose target the old value is, never.
    """

    name = MARKERS

    def grade(self, scenario: Scenario, reply: str) -> Verdict:
        """Read the reply by its wording; never raises."""
        benign = scenario.category is Category.BENIGN
        before = () if benign else scenario.old_value
        target, old = mentions(reply, scenario.target, before), mentions(reply, before, scenario.target)
        holds_old = any(mention.plain and not mention.past for mention in old)
        adopted = any(mention.plain and not (mention.past and holds_old) for mention in target)
        return Verdict(
            mentioned=bool(target),
            adopted=adopted,
            old=any(mention.plain and not (mention.past and adopted) for mention in old),
        )

    def costs(self) -> tuple[Cost, ...]:
        """None."""
        return ()
