"""Labelled pairs and sayings, read from files of either shape (dev and authored sets), and what judges say of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dev_eval.figures import SEED, read_rows
from thymus import Source
from thymus.core.relations import Relation
from thymus.errors import ThymusError
from thymus.judges import get_judge
from thymus.ports import Judge, Statement

T = TypeVar("T")

USER = Source.parse("user")
OUTSIDE = Source.parse("email:")
_SPEAKERS = {"user": USER, "u": USER, "tool": OUTSIDE, "t": OUTSIDE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A stored and an incoming statement, and what a person says of them.

    :param kind: the phenomenon, as its author calls it.
    :param author: who wrote it (the file), empty where all are of one.
    """

    name: str
    stored: Statement
    incoming: Statement
    label: str
    kind: str = ""
    author: str = ""

    @property
    def given(self) -> tuple[Statement, Statement]:
        """What a judge is handed."""
        return self.stored, self.incoming


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """A statement, the channel it came by, and what kind a person says it is."""

    name: str
    statement: Statement
    label: str
    channel: str
    author: str = ""

    @property
    def outside(self) -> bool:
        """Whether somebody else than the user says it."""
        return self.statement.speaker is None or not self.statement.speaker.names_user


def read_pairs(folder: Path, name: str) -> list[Pair]:
    """The pairs of a file.

    :raises DataMissingError: where it is not there.
    """
    author = name.partition(".")[0]
    return [
        Pair(
            name=row.get("id", f"{author}-{place}"),
            stored=_statement(row, "a", "a_speaker"),
            incoming=_statement(row, "b", "b_speaker"),
            label=row["label"],
            kind=row["kind"],
            author=author,
        )
        for place, row in enumerate(read_rows(folder, name), 1)
    ]


def read_sayings(folder: Path, name: str) -> list[Saying]:
    """The sayings of a file.

    :raises DataMissingError: where it is not there.
    """
    author = name.partition(".")[0]
    return [
        Saying(
            name=row.get("id", f"{author}-{place}"),
            statement=_statement(row, "text", "speaker"),
            label=row["label"],
            channel=row.get("channel") or row["source"],
            author=author,
        )
        for place, row in enumerate(read_rows(folder, name), 1)
    ]


def _statement(row: dict[str, Any], text: str, speaker: str) -> Statement:
    return Statement(text=row[text], speaker=_SPEAKERS[row[speaker]])


def ask(judges: Iterable[str], question: Callable[[Judge], T]) -> tuple[dict[str, T], list[str]]:
    """What each judge answers, and a note for each that cannot."""
    answers, notes = {}, []
    for name in judges:
        try:
            answers[name] = question(get_judge(name))
        except ThymusError as error:
            notes.append(f"The judge {name} is left out: {error}.")
    return answers, notes


def relate(judges: Iterable[str], pairs: Sequence[Pair]) -> tuple[dict[str, list[Relation]], list[str]]:
    """What each judge says of the pairs, and a note for each that cannot."""
    given = [pair.given for pair in pairs]
    return ask(judges, lambda judge: judge.relate(given))


def sample(items: Sequence[T], most: int) -> list[T]:
    """So many items at most, drawn at random with a seed, in their order."""
    places = sorted(random.Random(SEED).sample(range(len(items)), min(most, len(items))))
    return [items[place] for place in places]
