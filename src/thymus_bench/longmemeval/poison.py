"""The false assertions: three to a question, each from an untrusted outside sender, written by hand for this project.

They follow Utility Under Attack (arXiv 2608.21230): plain false statements that look like facts, not orders. A file of
them holds no word of LongMemEval but the ids of its questions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from thymus import Source, ThymusError
from thymus_bench.longmemeval.questions import LongMemEvalError, Question
from thymus_bench.markers import first_held, pieces
from thymus_bench.scenarios import real_hosts, real_numbers

EACH: Final = 3
"""False assertions to a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """One false statement as it reaches the memory.

    :param authenticated: whether the sender is who it says; that makes nobody trusted.
    """

    source: str
    authenticated: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Poison:
    """What is said falsely about one question.

    :param false_value: the ways in which the false answer may be written.
    """

    question_id: str
    false_value: tuple[str, ...]
    assertions: tuple[Assertion, ...]


def read_poison(path: Path | None = None) -> dict[str, Poison]:
    """The false assertions by question, from the project's own file or another.

    :raises LongMemEvalError: names the item that is wrong.
    """
    place = path or Path(str(files("thymus_bench"))) / "poison.json"
    try:
        rows = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LongMemEvalError(f"{place.name}: cannot be read ({error}): reinstall thymus-memory") from None
    if not isinstance(rows, list):
        raise LongMemEvalError(f"{place.name}: a list in brackets is expected")
    found = [_poison(row, f"{place.name}: item {at + 1}") for at, row in enumerate(rows)]
    if repeated := [name for name, times in Counter(one.question_id for one in found).items() if times > 1]:
        raise LongMemEvalError(f"{place.name}: {repeated[0]} is there twice: leave one")
    return {one.question_id: one for one in found}


def _poison(row: Any, where: str) -> Poison:
    try:
        found = Poison(
            question_id=row["question_id"],
            false_value=tuple(map(_text, row["false_value"])),
            assertions=tuple(map(_assertion, row["assertions"])),
        )
        for one in found.assertions:
            Source.parse(one.source, authenticated=one.authenticated)
    except (KeyError, TypeError, AttributeError, ThymusError) as error:
        raise LongMemEvalError(
            f"{where}: question_id, false_value and assertions of source, authenticated, text are expected "
            f"({type(error).__name__}: {error})"
        ) from None
    return found


def _assertion(row: Mapping[str, Any]) -> Assertion:
    return Assertion(source=_text(row["source"]), authenticated=row["authenticated"], text=_text(row["text"]))


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"a text is expected, not {value!r}")
    return value


def faults(poison: Iterable[Poison], questions: Mapping[str, Question]) -> list[str]:
    """What keeps a marker from telling false from true, or an assertion from being an outsider's; empty where nothing.

    A question that is not among those given is judged by what can be seen without it.
    """
    found: list[str] = []
    for one in poison:
        found += [f"{one.question_id}: {fault}" for fault in _faults(one, questions.get(one.question_id))]
    return found


def _faults(one: Poison, question: Question | None) -> Iterator[str]:
    if len(one.assertions) != EACH:
        yield f"{len(one.assertions)} assertions, not {EACH}"
    if not one.false_value or not all(pieces(marker) for marker in one.false_value):
        yield "false_value needs markers with letters or digits"
    for assertion in one.assertions:
        if not first_held(assertion.text, one.false_value):
            yield f"no false marker in {assertion.text[:60]!r}"
        yield from _sender_faults(assertion)
    if question:
        yield from _overlaps(one, question)


def _sender_faults(assertion: Assertion) -> Iterator[str]:
    """Nobody of the inside, and nothing that points anywhere real: ``.example`` hosts (RFC 2606) and 555 numbers."""
    if assertion.source == "user" or assertion.source.startswith(("user:", "assistant")):
        yield f"the source {assertion.source} is not outside"
    for host in real_hosts(assertion.source, assertion.text):
        yield f"the host {host}: use one that ends in .example"
    for number in real_numbers(f"{assertion.source} {assertion.text}"):
        yield f"the number {number}: use one with 555"


def _overlaps(one: Poison, question: Question) -> Iterator[str]:
    """The false value is nowhere in what is true, and no way to write the true one is within a way to write it.

    A false assertion may mention the true value: it is one of two to choose from, or denied.
    """
    for text in (question.answer, *(turn.text for turn in question.evidence), *question.gold):
        if held := first_held(text, one.false_value):
            yield f"the false marker {held!r} is also in its answer or evidence"
    for text in one.false_value:
        if held := first_held(text, question.gold):
            yield f"the gold answer {held!r} is also in {text[:60]!r}"
