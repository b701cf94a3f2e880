"""``CascadeJudge``: the bundled judge answers first, and a model is asked only where it is unsure.

What a model reads may be written to persuade it. So its answer is joined with the first one such that whatever it says,
a claim of somebody without authority over a memory is treated with as much care as the first judge alone would take:

* What the first judge detects stays detected. A model may find more contradictions and never clears one.
* What it sees beside a third text changes no replacement: it is shown the two alone before it confirms or cancels one.
* Where one says *same* and the other *contradicts*, the answer is *unknown*: rules treat that as both.
* A model that declines counts as *unknown*. One that cannot be reached, or has no call left, changes nothing.
* So whether a claim with authority *replaces* a memory is the model's to say, and the authors of the two can gain no
  more by it than to have replaced what is theirs.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final, Protocol

from thymus.core.claims import Claim, Kind, more_careful
from thymus.core.relations import Label, Relation
from thymus.errors import JudgeError
from thymus.fallbacks import calls_so_far, fell_back
from thymus.ports import Statement

if TYPE_CHECKING:
    from thymus.llm.judge import Opinions, Pair
    from thymus.ports import Judge

MOST_CALLS: Final = 6
"""Questions to the model for one write."""
UNSURE: Final = 0.03
"""From this probability of a contradiction on, the first judge is not sure that there is none: 3% of the contradictions
of held-out authors are below it, and a model is asked in one of ten writes about nothing in particular."""
SURE: Final = 0.90
"""From this probability on it is sure that there is one, and that it may replace."""


class SecondJudge(Protocol):
    """A judge that may leave pairs open (``thymus.llm.judge.ModelJudge``)."""

    @property
    def name(self) -> str:
        """Of the model."""
        ...

    def opine(
        self, pairs: Sequence[Pair], *, to_confirm: Collection[int] = (), most_calls: int | None = None
    ) -> Opinions:
        """Judge as many pairs as it can within that many calls; of some it is only asked to confirm what was found."""
        ...

    def classify(self, statements: Sequence[str | Claim | Statement]) -> list[Kind]:
        """Sort each statement."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a cascade did so far, in pairs.

    :param pairs: judged in all.
    :param unsure: those that the first judges were unsure about.
    :param answered: those of them that the model answered about.
    :param raised: those in which it found what the first judge had not detected.
    :param confirmed, cancelled: replacements that it confirmed where the first judge had not, and the other way round.
    :param calls: questions that it was asked.
    """

    pairs: int = 0
    unsure: int = 0
    answered: int = 0
    raised: int = 0
    confirmed: int = 0
    cancelled: int = 0
    calls: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(Counts)})


class CascadeJudge:
    """Judges by a quick judge, and by a model where that is unsure; safe to share among threads.

    :param first: the judge whose caution is never lowered.
    :param second: the model.
    :param also: further quick judges: where one of them disagrees with the first, that is unsure.
    :param most_calls: questions to the model for one write; what is left open stays as the first judge answered.
    :param sorts: whether the model is asked about the kind of statements, too; an extractor may have done so already.
    """

    def __init__(
        self,
        first: Judge,
        second: SecondJudge,
        *,
        also: Sequence[Judge] = (),
        most_calls: int = MOST_CALLS,
        sorts: bool = True,
    ) -> None:
        self._first, self._second, self._also = first, second, also
        self._most_calls, self._sorts = most_calls, sorts
        self._lock = threading.Lock()
        self._counts = Counts()

    @property
    def name(self) -> str:
        """Both names, as ``local, then anthropic:claude-haiku-5-5``."""
        return f"{self._first.name}, then {self._second.name}"

    @property
    def counts(self) -> Counts:
        """What it did so far."""
        return self._counts

    def relate(self, pairs: Sequence[tuple[str | Claim | Statement, str | Claim | Statement]]) -> list[Relation]:
        """Judge each (stored, incoming).

        :raises JudgeError: where the first judge cannot.
        """
        given = [(Statement.of(stored), Statement.of(incoming)) for stored, incoming in pairs]
        answers = self._first.relate(given)
        others = [judge.relate(given) for judge in self._also]
        unsure = [
            place
            for place, answer in enumerate(answers)
            if is_unsure(answer) or any(other[place].detected != answer.detected for other in others)
        ]
        unsure.sort(key=lambda place: -answers[place].contradiction)
        counts = Counts(pairs=len(given), unsure=len(unsure))
        if unsure:
            left = max(self._most_calls - calls_so_far(), 0)
            found = [number for number, place in enumerate(unsure) if answers[place].confirmed]
            opinions = self._second.opine([given[place] for place in unsure], to_confirm=found, most_calls=left)
            calls_so_far(opinions.calls)
            counts += Counts(calls=opinions.calls)
            if opinions.because:
                fell_back(f"the judge {self._first.name} judged alone", self._second.name, opinions.because)
                calls_so_far(self._most_calls)  # what fails once is not asked again for this write
            for place, opinion in zip(unsure, opinions.relations, strict=True):
                if opinion is not None:
                    before, answers[place] = answers[place], join(answers[place], opinion)
                    counts += _told(before, answers[place])
        with self._lock:
            self._counts += counts
        return answers

    def classify(self, statements: Sequence[str | Claim | Statement]) -> list[Kind]:
        """Sort each statement; the model is asked where the quick judges disagree.

        :raises JudgeError: where the first judge cannot.
        """
        given = [Statement.of(statement) for statement in statements]
        kinds = self._first.classify(given)
        if not self._sorts:
            return kinds
        others = [judge.classify(given) for judge in self._also]
        unsure = [place for place, kind in enumerate(kinds) if any(other[place] is not kind for other in others)]
        if unsure:
            try:
                told = self._second.classify([given[place] for place in unsure])
            except JudgeError as error:
                fell_back(f"the judge {self._first.name} sorted alone", self._second.name, error)
            else:
                for place, kind in zip(unsure, told, strict=True):
                    kinds[place] = more_careful(kinds[place], kind)
        return kinds


def is_unsure(answer: Relation) -> bool:
    """Whether a quick judge's answer leaves something for a model to say."""
    if answer.label is Label.UNKNOWN or (answer.label is Label.SAME and answer.confidence >= SURE):
        return False  # nothing that a model says could be joined to it, or would be news
    return UNSURE <= answer.contradiction < SURE


def join(first: Relation, second: Relation) -> Relation:
    """One answer out of a quick judge's and a model's; what it may come to stands at the top of this module."""
    if first.label is Label.UNKNOWN:
        return first
    because = f"{second.because}; {first.judge} before: {first.label} at {first.contradiction:.2f}"
    labels = {first.label, second.label}
    repeats = Label.SAME in labels
    if second.label is Label.UNKNOWN or labels == {Label.SAME, Label.CONTRADICTS} or (repeats and second.detected):
        return Relation.unknown(f"{second.label}: {because}", judge=second.judge)
    if second.detected:
        return replace(second, because=because)
    if first.detected:
        return replace(first, because=because)
    label = Label.SAME if repeats else second.label
    return replace(second, label=label, contradiction=first.contradiction, because=because)


def _told(before: Relation, after: Relation) -> Counts:
    return Counts(
        answered=1,
        raised=int(after.detected and not before.detected),
        confirmed=int(after.confirmed and not before.confirmed),
        cancelled=int(before.confirmed and not after.confirmed),
    )
