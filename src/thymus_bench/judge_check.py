"""``thymus-judge-check``: how well a grader agrees with replies that were labelled by hand.

``judge_check.json`` holds small worlds of our own with replies in many styles. Each reply was labelled twice by the
same person, the second time without the first labels and in another order; the first labels are the reference, the
second show how far a label can be trusted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from thymus_bench.ending import console, ending
from thymus_bench.grade import MARKERS, Grader, Reading, open_grader
from thymus_bench.outcomes import Verdict
from thymus_bench.readers import DEFAULT_CACHE
from thymus_bench.scenarios import Category, Scenario
from thymus_bench.stats import Z, kappa, share

if TYPE_CHECKING:
    from thymus_bench.stats import Interval

QUESTIONS: Final = ("mentioned", "adopted", "old")
FILE: Final = "judge_check.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A reply with what it does, by hand.

    :param first, second: labels of the two passes.
    """

    scenario: Scenario
    style: str
    reply: str
    first: Verdict
    second: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Two readings of the same replies, as a square.

    :param both, neither: where they agree on yes, on no; ``only_first``, ``only_second``: where one alone says yes.
    """

    both: int
    only_first: int
    only_second: int
    neither: int

    @classmethod
    def of(cls, first: Sequence[bool], second: Sequence[bool]) -> Agreement:
        """Count the pairs."""
        pairs = list(zip(first, second, strict=True))
        return cls(
            both=pairs.count((True, True)),
            only_first=pairs.count((True, False)),
            only_second=pairs.count((False, True)),
            neither=pairs.count((False, False)),
        )

    @property
    def replies(self) -> int:
        """How many there are."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def kappa(self) -> float | None:
        """Agreement beyond chance (Cohen 1960)."""
        return kappa(self.both, self.only_first, self.only_second, self.neither)

    @property
    def interval(self) -> Interval | None:
        """The 95% interval of kappa, from its large-sample error (Fleiss, Cohen and Everitt 1969)."""
        found, of = self.kappa, self.replies
        if found is None:
            return None
        yes_first, yes_second = (self.both + self.only_first) / of, (self.both + self.only_second) / of
        margins = ((yes_first, yes_second), (1 - yes_first, 1 - yes_second))
        chance = sum(first * second for first, second in margins)
        cells = ((self.both, self.only_first), (self.only_second, self.neither))
        spread = 0.0
        for row in range(2):
            for column in range(2):
                part = cells[row][column] / of
                weight = margins[column][0] + margins[row][1]
                if row == column:
                    spread += part * (1 - weight * (1 - found)) ** 2
                else:
                    spread += part * (weight * (1 - found)) ** 2
        variance = (spread - (found - chance * (1 - found)) ** 2) / ((1 - chance) ** 2 * of)
        wide = Z * math.sqrt(max(0.0, variance))
        return max(-1.0, found - wide), min(1.0, found + wide)


def read_labelled(text: str | None = None) -> list[Labelled]:
    """The labelled replies of a file's text; the ones that come with the benchmark by default."""
    if text is None:
        text = resources.files("thymus_bench").joinpath(FILE).read_text("utf-8")
    return [
        Labelled(
            scenario=_scenario(world),
            style=reply["style"],
            reply=reply["text"],
            first=_verdict(reply["first"]),
            second=_verdict(reply["second"]),
        )
        for world in json.loads(text)
        for reply in world["replies"]
    ]


def _scenario(world: dict[str, Any]) -> Scenario:
    category, target, old = Category(world["category"]), tuple(world["target"]), tuple(world["old"])
    return Scenario(
        id=world["id"],
        category=category,
        kind="labelled",
        domain="home",
        suite="judge-check",
        family=world["id"],
        turns=(),
        probe=world["probe"],
        old_value=old,
        new_value=target if category is Category.UPDATE else (),
        bad_value=target if category is Category.ATTACK else (),
    )


def _verdict(labels: Sequence[str]) -> Verdict:
    unknown = set(labels) - set(QUESTIONS)
    if unknown:
        raise ValueError(f"no such label: {', '.join(sorted(unknown))}")
    return Verdict(**{question: question in labels for question in QUESTIONS})


def agreements(labelled: Sequence[Labelled], verdicts: Sequence[Verdict]) -> dict[str, Agreement]:
    """How verdicts (first) agree with the labels of the first pass (second), by question."""
    return {
        question: Agreement.of(
            [getattr(verdict, question) for verdict in verdicts],
            [getattr(one.first, question) for one in labelled],
        )
        for question in QUESTIONS
    }


def check(grader: Grader, labelled: Sequence[Labelled], *, on_step: Callable[[], object] = lambda: None) -> str:
    """The report of a grader: agreement, kappa and the square of each question, then every disagreement."""
    readings: list[Reading] = []
    for one in labelled:
        readings.append(grader.read(one.scenario, one.reply))
        on_step()
    lines = [f"{grader.name} against {len(labelled)} replies labelled by hand", ""]
    lines += _table(agreements(labelled, [reading.verdict for reading in readings]))
    fallen_back = [reading for reading in readings if reading.why]
    if fallen_back:
        lines += ["", f"{len(fallen_back)} replies were graded by {fallen_back[0].by}: {fallen_back[0].why}"]
    lines += ["", "The second labelling against the first", ""]
    lines += _table(agreements(labelled, [one.second for one in labelled]))
    lines += ["", *_disagreements(labelled, readings)]
    return "\n".join(lines)


def _table(found: dict[str, Agreement]) -> list[str]:
    lines = [f"{'':<10} {'agreement':<26} {'kappa':<20} {'both':>5} {'only it':>8} {'only label':>11} {'neither':>8}"]
    for question, one in found.items():
        agreed = share(one.both + one.neither, one.replies)
        lines.append(
            f"{question:<10} {agreed:<26} {_beyond_chance(one):<20} {one.both:>5} {one.only_first:>8} "
            f"{one.only_second:>11} {one.neither:>8}"
        )
    return lines


def _beyond_chance(one: Agreement) -> str:
    if one.kappa is None or one.interval is None:
        return "-"
    low, high = one.interval
    return f"{one.kappa:.2f} [{low:.2f}, {high:.2f}]"


def _disagreements(labelled: Sequence[Labelled], readings: Sequence[Reading]) -> list[str]:
    lines = []
    for one, reading in zip(labelled, readings, strict=True):
        wrong = [
            f"{question}: {_word(getattr(reading.verdict, question))}, labelled {_word(getattr(one.first, question))}"
            for question in QUESTIONS
            if getattr(reading.verdict, question) != getattr(one.first, question)
        ]
        if wrong:
            lines.append(f"{one.scenario.id} ({one.style}): {'; '.join(wrong)}")
            lines.append(f"    {' / '.join(one.reply.splitlines())}")
    return lines or ["No disagreement."]


def _word(value: bool) -> str:
    return "yes" if value else "no"


app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def judge_check(
    judge: Annotated[
        str,
        typer.Option(help="Grader: markers, anthropic:NAME, openai:NAME, openai:NAME@URL, ollama:NAME or echo."),
    ] = MARKERS,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Ask the model anew.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Answer from the cache alone.")] = False,
) -> None:
    """Measure a grader against replies that were labelled by hand."""
    with ending():
        grader = open_grader(judge, cache=None if no_cache else DEFAULT_CACHE, offline=offline)
        console().print(check(grader, read_labelled()), highlight=False, markup=False, soft_wrap=True)


def main() -> None:
    """Run the command."""
    app()


if __name__ == "__main__":
    main()
