"""What fills the memories of many users: sentences of everyday messages, made from patterns, and vectors for them."""

from __future__ import annotations

import random
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from thymus.ports import Embedder

BASES: Final = 3_000
"""Sentences that are really embedded."""
SPREAD: Final = 0.012
"""Standard deviation, in each dimension, of what a vector differs from its base's: a cosine of about 0.97, as between
sentences that differ in a number."""
_STEP: Final = 64

_PEOPLE: Final = (
    "Priya", "Tomas", "Wen", "Ines", "Farid", "Olga", "Kofi", "Marta", "Sven", "Leila", "Juno", "Amir", "Rosa",
    "Pavel", "Noor", "Dana", "Hugo", "Yuki", "Elif", "Bram", "Nadia", "Otto", "Sana", "Piet", "Lucia", "Goran",
    "Mina", "Theo", "Asta", "Ravi", "Clara", "Idris", "Femi", "Greta", "Luca", "Anouk", "Milan", "Zofia", "Emre",
    "Carys",
)  # fmt: skip
_PLACES: Final = (
    "Hexham", "Porto", "Bergen", "Pune", "Lyon", "Graz", "Oulu", "Cork", "Turin", "Ghent", "Lodz", "Bari", "Malmo",
    "Vigo", "Brno", "Leeds", "Nantes", "Trier", "Aarhus", "Split", "Basel", "Tartu", "Faro", "Gdansk", "Ulm",
    "Perth", "Bath", "Delft", "Lugo", "Pau",
)  # fmt: skip
_THINGS: Final = (
    "standup", "parcel", "invoice", "dentist's visit", "flight", "lease", "gym contract", "piano lesson",
    "train ticket", "school trip", "boiler service", "visa", "concert", "budget meeting", "car repair",
    "language course",
    "dinner", "insurance claim", "book club", "vaccination", "rehearsal", "tax return", "delivery", "interview",
    "phone contract", "bicycle", "garden work", "birthday", "swimming class", "hotel booking",
)  # fmt: skip
_DAYS: Final = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip
_PATTERNS: Final = (
    "The {thing} with {person} is on {day} at {hour}:{minute:02d} in {place}.",
    "{person} said that the {thing} costs {amount} euros.",
    "Your {thing} in {place} was booked under {code}.",
    "{person} moved to {place} and keeps the papers of the {thing} there.",
    "The desk for the {thing} in {place} answers on 555-01{minute:02d}; ask for {person}.",
    "{person} prefers the {thing} on a {day} and never before {hour}.",
    "The {thing} of {person} was put off by {minute} minutes.",
    "Please send the {thing} to {person} at {amount} {place} Road.",
    "{person} paid {amount} euros for the {thing} last {day}.",
    "Room {hour}{minute:02d} in {place} is reserved for the {thing}.",
)
_QUESTIONS: Final = (
    "When is the {thing} with {person}?",
    "What does the {thing} cost that {person} spoke of?",
    "Under which reference is the {thing} in {place} booked?",
    "Where does {person} keep the papers of the {thing}?",
    "Whom do I call about the {thing} in {place}?",
    "On which day does {person} like the {thing} best?",
    "How long was {person}'s {thing} put off?",
    "What was reserved in {place} for the {thing}?",
)
_LINES: Final = (
    "The {thing} with {person} moved to {day} at {hour}:{minute:02d}, in {place}. {person} has the reference {code}.",
    "{person} wants {amount} euros for the {thing} by {day}.",
    "The {thing} in {place} takes place in room {hour}{minute:02d} now.",
)


@dataclass(frozen=True, slots=True)
class Base:
    """A sentence whose numbers are still open, and the vector of one with some numbers."""

    words: str
    vector: NDArray[np.float32]
    thing: int


def bases(embedder: Embedder, on_step: Callable[[int], None], number: int = BASES) -> list[Base]:
    """Sentences with real embeddings."""
    rng = random.Random(9)
    found: list[Base] = []
    while len(found) < number:
        things = [rng.randrange(len(_THINGS)) for _ in range(min(_STEP, number - len(found)))]
        part = [_worded(rng, _PATTERNS, thing) for thing in things]
        rows = embedder.embed([numbered(rng, one) for one in part], role="passage")
        found += map(Base, part, rows, things)
        on_step(len(found))
    return found


def memories(number: int, given: list[Base], seed: int) -> tuple[list[str], NDArray[np.float32], list[int]]:
    """What one user remembers: each a base with other numbers, its vector varied a little, and its thing."""
    rng, noise = random.Random(seed), np.random.default_rng(seed)
    chosen = rng.choices(given, k=number)
    rows = np.stack([base.vector for base in chosen])
    rows += noise.normal(0, SPREAD, rows.shape).astype(np.float32)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return [numbered(rng, base.words) for base in chosen], unit, [base.thing for base in chosen]


def question(rng: random.Random) -> str:
    """One of 8,700 things that are asked, as long as the benchmark's are (16 tokens, half of them): hardly any is asked
    of the same user twice."""
    return _worded(rng, _QUESTIONS)


def message(rng: random.Random) -> str:
    """Something that is written; with a code that nothing else has, in this run or an earlier one."""
    return f"{numbered(rng, _worded(rng, _LINES))} (File {secrets.token_hex(5)}.)"


def _worded(rng: random.Random, patterns: tuple[str, ...], thing: int | None = None) -> str:
    """A pattern with its words, and its numbers still open."""
    named = rng.choice(_THINGS) if thing is None else _THINGS[thing]
    return (
        rng.choice(patterns)
        .replace("{thing}", named)
        .replace("{person}", rng.choice(_PEOPLE))
        .replace("{place}", rng.choice(_PLACES))
        .replace("{day}", rng.choice(_DAYS))
    )


def numbered(rng: random.Random, words: str) -> str:
    """Words with numbers put in."""
    return words.format(
        hour=rng.randint(7, 20),
        minute=rng.randint(0, 59),
        amount=rng.randint(20, 9_000),
        code=f"{rng.choice('QXZKV')}{rng.randint(10_000, 99_999)}",
    )
