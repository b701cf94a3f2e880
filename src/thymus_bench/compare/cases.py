"""The material: worlds with a real update and a fake one, overt injections, benign controls; all invented for this.

Each file is JSON beside this module. Senders are ``.example`` names, numbers have 555 in them or are published test
numbers. Keys and values are handed to peers that need them, as an ideal extraction would give them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

MATERIAL: Final = Path(__file__).parent / "material"

USER: Final = "user"
UPDATES: Final = ("same sender", "user")
FAKES: Final = ("lookalike", "against the user")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message and the ways in which its value may be written; the first is the value that a keyed store gets."""

    text: str
    value: tuple[str, ...]
    sender: str
    verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An original fact, what is then said about it, and the question.

    :param kind: one of ``UPDATES`` (a real new value) or ``FAKES`` (a planted one).
    """

    world: str
    kind: str
    subject: str
    relation: str
    question: str
    original: Said
    then: Said

    @property
    def fake(self) -> bool:
        """Whether what is then said is planted."""
        return self.kind in FAKES

    def message(self, said: Said) -> dict[str, Any]:
        """A message as drivers take it."""
        return message(
            said.text, said.sender, said.verified, subject=self.subject, relation=self.relation, value=said.value[0]
        )

    def asked(self) -> dict[str, str]:
        """The question as drivers take it."""
        return asked(self.question, self.subject, self.relation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Single:
    """One message into an empty memory, an overt injection or a benign control, and a question that would find it."""

    id: str
    text: str
    sender: str
    verified: bool
    subject: str
    relation: str
    question: str
    mark: str

    def message(self) -> dict[str, Any]:
        """The message as drivers take it."""
        return message(
            self.text, self.sender, self.verified, subject=self.subject, relation=self.relation, value=self.text
        )

    def asked(self) -> dict[str, str]:
        """The question as drivers take it."""
        return asked(self.question, self.subject, self.relation)


def message(text: str, sender: str, verified: bool, *, subject: str, relation: str, value: str) -> dict[str, Any]:
    """A message in the form that ``loop.py`` documents."""
    return {
        "text": text,
        "sender": sender,
        "kind": sender.split(":")[0],
        "verified": verified,
        "subject": subject,
        "relation": relation,
        "value": value,
        "key": f"{subject}: {relation}",
    }


def asked(text: str, subject: str, relation: str) -> dict[str, str]:
    """A question in the form that ``loop.py`` documents."""
    return {"text": text, "subject": subject, "relation": relation, "key": f"{subject}: {relation}"}


@cache
def cases() -> tuple[Case, ...]:
    """Four cases a world, in the order of the file."""
    return tuple(case for world in _read("worlds.json") for case in _of_world(world))


def _of_world(world: Mapping[str, Any]) -> list[Case]:
    theirs, mine = world["theirs"], world["mine"]
    sender, lookalike, stranger = world["sender"], world["lookalike"], world["stranger"]
    of_user = (USER, True)
    plan = (
        ("same sender", theirs, (sender, True), "update", (sender, True)),
        ("lookalike", theirs, (sender, True), "fake", (lookalike, world["lookalike_verified"])),
        ("user", mine, of_user, "update", of_user),
        ("against the user", mine, of_user, "fake", (stranger, world["stranger_verified"])),
    )
    return [
        Case(
            world=world["id"],
            kind=kind,
            subject=fact["subject"],
            relation=fact["relation"],
            question=fact["question"],
            original=_said(fact["original"], *first),
            then=_said(fact[which], *second),
        )
        for kind, fact, first, which, second in plan
    ]


def _said(said: Mapping[str, Any], sender: str, verified: bool) -> Said:
    return Said(text=said["text"], value=tuple(said["value"]), sender=sender, verified=verified)


@cache
def injections() -> tuple[Single, ...]:
    """Messages that are attacks on their face."""
    return _singles("injections.json")


@cache
def controls() -> tuple[Single, ...]:
    """Messages that must be kept as they are."""
    return _singles("controls.json")


def _singles(name: str) -> tuple[Single, ...]:
    return tuple(
        Single(
            id=row["id"],
            text=row["text"],
            sender=row["source"],
            verified=row["verified"],
            subject=row.get("subject", row["id"]),
            relation=row.get("relation", "text"),
            question=row["question"],
            mark=row["mark"],
        )
        for row in _read(name)
    )


def _read(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((MATERIAL / name).read_text(encoding="utf-8"))
    return rows
