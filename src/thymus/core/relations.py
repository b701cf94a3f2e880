"""What a judge answers about a stored and an incoming statement, and how sure is sure enough.

Two thresholds, chosen by what a mistake costs and never per example:

* **detected** leans to recall. A missed contradiction lets a false value stand beside the true one in front of the
  model; a false alarm only moves a harmless claim from the context to the notice.
* **confirmed** leans to precision. It lets a claim with authority *replace* a belief, and a wrong replacement loses a
  true fact from view; not replacing leaves old and new side by side, newest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

DETECTED: Final = 0.20
CONFIRMED: Final = 0.60


class Label(StrEnum):
    """The judge's answer; UNKNOWN where it could not give one."""

    CONTRADICTS = "contradicts"
    SAME = "same"
    COMPATIBLE = "compatible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """How an incoming statement stands to a stored one.

    :param label: the most likely answer.
    :param confidence: its probability, in [0, 1].
    :param contradiction: the probability that the two contradict, in [0, 1]; by default derived from the other two.
    :param judge: which judge answered.
    :param because: what it saw, for ``explain``; system wording, no sender text.
    """

    label: Label
    confidence: float
    contradiction: float = -1.0
    judge: str = ""
    because: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", Label(self.label))
        if self.contradiction < 0:
            derived = self.confidence if self.label is Label.CONTRADICTS else (1 - self.confidence) / 2
            object.__setattr__(self, "contradiction", 0.0 if self.label is Label.UNKNOWN else derived)
        if not (0 <= self.confidence <= 1 and 0 <= self.contradiction <= 1):
            raise ValueError("confidence and contradiction are probabilities: give values from 0 to 1")

    @classmethod
    def unknown(cls, because: str, *, judge: str = "") -> Self:
        """No answer: the judge failed, timed out or refused."""
        return cls(label=Label.UNKNOWN, confidence=0.0, judge=judge, because=because)

    @property
    def detected(self) -> bool:
        """Whether a contradiction must be reckoned with; a judge that failed counts as one that saw it."""
        return self.label is Label.UNKNOWN or self.contradiction >= DETECTED

    @property
    def confirmed(self) -> bool:
        """Whether a contradiction is sure enough to let a claim with authority replace a belief."""
        return self.label is Label.CONTRADICTS and self.contradiction >= CONFIRMED


REPEATS: Final = Relation(label=Label.SAME, confidence=1.0, because="it says the same in the same words")
"""What is kept of a claim and the belief that it only repeats. No judge was asked."""

STATED: Final = Relation(
    label=Label.CONTRADICTS, confidence=1.0, because="the application says that it is to take its place"
)
"""What is kept of a claim and a memory whose place it is to take (``remember(over=…)``). No judge was asked."""
