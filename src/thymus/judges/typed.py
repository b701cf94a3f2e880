"""``TypedJudge``: typed values and words, no model. Every answer follows from a rule that ``because`` names.

It is also what the guard falls back on where another judge fails, so it never raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from thymus.core.claims import Claim, Kind
from thymus.core.relations import Label, Relation
from thymus.core.values import compare_all
from thymus.judges.reading import Reading, read
from thymus.judges.wording import describe
from thymus.ports import Statement

SAME_TOPIC: Final = 0.34
"""Share of the shorter statement's topic words that the other must have, to be about the same thing."""
_SAME_WORDING: Final = 0.60
_SETTING_APART: Final = ("conditional", "plan", "exception", "quoted", "warning", "also")
"""Cues that let a differing value stand beside the old one: it is not offered as what holds now."""


class TypedJudge:
    """Judges by typed values, shared words and cues."""

    @property
    def name(self) -> str:
        """``typed``."""
        return "typed"

    def relate(self, pairs: Sequence[tuple[str | Claim | Statement, str | Claim | Statement]]) -> list[Relation]:
        """Judge each (stored, incoming) by the first of these rules that applies.

        Same wording, or the same values in much the same words: *same*. About the same thing with values that differ,
        and nothing that sets the second apart (a plan, an exception, another person): *contradicts*. About the same
        thing, and the second ends or denies it: *contradicts*. Else *compatible*.
        """
        return [
            relate_readings(read(Statement.of(stored).text), read(Statement.of(incoming).text))
            for stored, incoming in pairs
        ]

    def classify(self, statements: Sequence[str | Claim | Statement]) -> list[Kind]:
        """Judge each statement by its cues."""
        return [classify_reading(read(Statement.of(statement).text)) for statement in statements]


def relate_readings(stored: Reading, incoming: Reading, *, same_subject: bool | None = None) -> Relation:
    """Apply the rules of ``TypedJudge.relate``.

    :param same_subject: whether the two are about the same thing, where something better than shared words says so.
    """
    if stored.folded == incoming.folded:
        return Relation(label=Label.SAME, confidence=0.99, contradiction=0.0, judge="typed", because="the same wording")
    agreement = compare_all(stored.values, incoming.values)
    overlap = share(stored.stems, incoming.stems)
    related = overlap >= SAME_TOPIC if same_subject is None else same_subject
    because = f"{describe(agreement)}; shared words {overlap:.2f}"
    if related and agreement.conflicts and not sets_apart(stored, incoming):
        confidence = 0.75 if overlap >= 0.5 and not agreement.same else 0.6
        return Relation(label=Label.CONTRADICTS, confidence=confidence, judge="typed", because=because)
    if related and agreement.same and not agreement.conflicts and overlap >= 0.5 and not ends(stored, incoming):
        return Relation(label=Label.SAME, confidence=0.7, contradiction=0.1, judge="typed", because=because)
    if related and not agreement.conflicts and ends(stored, incoming) and not sets_apart(stored, incoming):
        because = f"the second denies or ends what the first says; shared words {overlap:.2f}"
        return Relation(label=Label.CONTRADICTS, confidence=0.5, judge="typed", because=because)
    if overlap >= _SAME_WORDING and not agreement.conflicts and not sets_apart(stored, incoming):
        return Relation(label=Label.SAME, confidence=0.55, contradiction=0.15, judge="typed", because=because)
    return Relation(
        label=Label.COMPATIBLE,
        confidence=0.7 if related else 0.95,
        contradiction=0.2 if related and agreement.conflicts else 0.1 if related else 0.02,
        judge="typed",
        because=because if related else f"about different things; shared words {overlap:.2f}",
    )


def share(ours: frozenset[str], theirs: frozenset[str]) -> float:
    """The share of the smaller set that is in the other, in [0, 1]; 0 where one is empty."""
    smaller = min(len(ours), len(theirs))
    return len(ours & theirs) / smaller if smaller else 0.0


def sets_apart(stored: Reading, incoming: Reading) -> bool:
    """Whether the incoming statement does not offer its value as what holds now of the same person."""
    if incoming.asks or any(incoming.has(cue) and not stored.has(cue) for cue in _SETTING_APART):
        return True
    return incoming.has("other_person") and not stored.has("other_person") and not incoming.has("first_person")


def ends(stored: Reading, incoming: Reading) -> bool:
    """Whether exactly one of the two denies or ends what both are about."""
    return any(incoming.has(cue) != stored.has(cue) for cue in ("negation", "ending"))


def classify_reading(reading: Reading) -> Kind:
    """The kind that the cues point to; a fact where they point nowhere."""
    if not reading.words:
        return Kind.NOT_A_CLAIM
    if reading.has("directs") and (reading.has("orders") or reading.has("standing")):
        return Kind.INSTRUCTION
    if reading.asks or (reading.has("greets") and len(reading.words) <= 4 and not reading.values):
        return Kind.NOT_A_CLAIM
    if reading.has("standing") and reading.has("orders"):
        return Kind.INSTRUCTION
    if reading.has("likes"):
        return Kind.PREFERENCE
    if reading.has("tasks") and not reading.values and read_task(reading):
        return Kind.NOT_A_CLAIM
    return Kind.FACT


def read_task(reading: Reading) -> bool:
    """Whether it begins as a one-off request does."""
    from thymus.judges.cues import CUES, count_cues

    return count_cues(reading.words[:2])[CUES.index("tasks")] > 0
