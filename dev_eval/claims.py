"""Claims: what kind of statement is one? What matters most is an outside one that speaks for the user, taken for a
fact: a gate would let it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dev_eval.figures import (
    Part,
    Sheet,
    accuracy,
    confusion,
    interval,
    macro_f1,
    of,
    scores,
    with_interval,
)
from dev_eval.labelled import Saying, ask, read_sayings
from thymus.core.claims import Kind
from thymus.ports import Statement

LABELS = tuple(str(kind) for kind in Kind)
SPEAKING_FOR_USER = ("preference", "instruction")
WORST = 10

Judged = Sequence[tuple[Saying, str]]
"""Each saying and the kind given to it."""


def measure(folder: Path, judges: Sequence[str] = ("local", "typed")) -> Part:
    """Measure the judges on ``claims.jsonl``; what goes into detail is of the first judge."""
    sayings = read_sayings(folder, "claims.jsonl")
    given, notes = classify(judges, [one.statement for one in sayings])
    sheets, figures = report("Claims", sayings, given)
    first = list(zip(sayings, next(iter(given.values())), strict=True))
    return Part(
        name="claims",
        sheets=[*sheets, *listings("Claims", first)],
        figures=figures,
        misses=[_words(one, kind) for one, kind in first if one.label != kind],
        notes=notes,
    )


def classify(judges: Sequence[str], statements: Sequence[Statement]) -> tuple[dict[str, list[str]], list[str]]:
    """What kind each judge takes the statements for, and a note for each judge that cannot."""
    return ask(judges, lambda judge: [str(kind) for kind in judge.classify(statements)])


def report(
    title: str, sayings: Sequence[Saying], given: Mapping[str, Sequence[str]]
) -> tuple[list[Sheet], dict[str, Any]]:
    """Sheets and figures of any labelled sayings, the first judge in detail."""
    judged = {name: list(zip(sayings, some, strict=True)) for name, some in given.items()}
    name, first = next(iter(judged.items()))
    return [
        _overview(f"{title} ({len(sayings)}), 95% bootstrap intervals", judged),
        _by_kind(f"{title} by kind: {name}", first),
        confusion(f"{title}: confusion of {name}", _answers(first), LABELS),
        _by_channel(f"{title} by speaker and channel: {name}", first),
    ], {name: _figures(some) for name, some in judged.items()}


def listings(title: str, judged: Judged) -> list[Sheet]:
    """The outside sayings that would be let in, all of them, and the worst of the other errors.

    A judge gives no probability of a kind, so what an error costs ranks them: outside facts lost, then other outside
    sayings, then the user's.
    """
    let_in: list[tuple[Saying, str]] = []
    rest: list[tuple[Saying, str]] = []
    for item in judged:
        if item[0].label != item[1]:
            (let_in if _speaks_for_user(item[0]) and item[1] == "fact" else rest).append(item)
    rest.sort(key=lambda item: (not item[0].outside, item[0].label != "fact"))
    return [
        _listing(f"{title}: outside preferences and instructions taken for facts ({len(let_in)})", let_in),
        _listing(f"{title}: the {WORST} worst of the other errors ({len(rest)})", rest[:WORST]),
    ]


def _listing(title: str, judged: Judged) -> Sheet:
    return Sheet(
        title=title,
        columns=("which", "is, judged", "text"),
        rows=[(f"{one.name}\n{_channel(one)}", f"{one.label}\n{kind}", one.statement.text) for one, kind in judged],
    )


def _channel(saying: Saying) -> str:
    return f"{'outside' if saying.outside else 'user'}, {saying.channel}"


def _words(saying: Saying, kind: str) -> str:
    return f"{saying.name} is {saying.label}, judged {kind} ({_channel(saying)})\n  {saying.statement.text}"


def _answers(judged: Judged) -> list[tuple[str, str]]:
    return [(one.label, kind) for one, kind in judged]


def _speaks_for_user(saying: Saying) -> bool:
    return saying.outside and saying.label in SPEAKING_FOR_USER


def _let_in(judged: Judged) -> tuple[int, int]:
    """Outside statements that speak for the user: how many were taken for facts (and would be let in), of how many."""
    given = [kind for one, kind in judged if _speaks_for_user(one)]
    return given.count("fact"), len(given)


def _lost(judged: Judged) -> tuple[int, int]:
    """Outside facts that were not taken for facts: a gate would reject or pass over them, of how many."""
    given = [kind for one, kind in judged if one.outside and one.label == "fact"]
    return len(given) - given.count("fact"), len(given)


def _overview(title: str, judged: Mapping[str, Judged]) -> Sheet:
    return Sheet(
        title=title,
        columns=("judge", "accuracy", "macro F1", "outside orders or tastes taken for facts", "outside facts lost"),
        rows=[
            (
                name,
                with_interval(_answers(some), accuracy),
                with_interval(_answers(some), lambda drawn: macro_f1(drawn, LABELS)),
                of(*_let_in(some)),
                of(*_lost(some)),
            )
            for name, some in judged.items()
        ],
    )


def _by_kind(title: str, judged: Judged) -> Sheet:
    answers = _answers(judged)
    return Sheet(
        title=title,
        columns=("kind", "n", "precision", "recall", "F1"),
        rows=[
            (
                label,
                str(sum(true == label for true, _ in answers)),
                *(f"{score:.2f}" for score in scores(answers, label)),
            )
            for label in LABELS
        ],
    )


def _channels(judged: Judged) -> dict[str, list[tuple[Saying, str]]]:
    found: dict[str, list[tuple[Saying, str]]] = {}
    for item in judged:
        found.setdefault(_channel(item[0]), []).append(item)
    return dict(sorted(found.items()))


def _by_channel(title: str, judged: Judged) -> Sheet:
    return Sheet(
        title=title,
        columns=("said by, through", "n", "accuracy", "orders or tastes taken for facts", "facts lost"),
        rows=[
            (name, str(len(some)), f"{accuracy(_answers(some)):.2f}", of(*_let_in(some)), of(*_lost(some)))
            for name, some in _channels(judged).items()
        ],
    )


def _figures(judged: Judged) -> dict[str, Any]:
    answers = _answers(judged)
    return {
        "n": len(answers),
        "accuracy": accuracy(answers),
        "macro_f1": macro_f1(answers, LABELS),
        "macro_f1_interval": interval(answers, lambda drawn: macro_f1(drawn, LABELS)),
        "f1": {label: scores(answers, label)[2] for label in LABELS},
        "confusion": {true: {given: answers.count((true, given)) for given in LABELS} for true in LABELS},
        "outside_taken_for_facts": _let_in(judged)[0],
        "outside_facts_lost": _lost(judged)[0],
        "channels": {
            name: {"n": len(some), "accuracy": accuracy(_answers(some)), "outside_taken_for_facts": _let_in(some)[0]}
            for name, some in _channels(judged).items()
        },
    }
