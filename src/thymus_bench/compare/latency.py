"""Median write and read at growing sizes, the peer's own time, and where it is given up."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, cycle, islice
from typing import Any, Final

from thymus_bench.compare.cases import asked, message
from thymus_bench.compare.peers import PeerError
from thymus_bench.compare.talk import Driver

Source = Iterator[tuple[dict[str, Any], dict[str, str]]]
REPEATS: Final = 20
_BATCH: Final = 100
_PEOPLE: Final = (
    *("Priya", "Tomas", "Wen", "Ines", "Farid", "Olga", "Kofi", "Marta", "Sven", "Leila", "Juno", "Amir"),
    *("Rosa", "Pavel", "Noor", "Dario", "Yuki"),
)
_PLACES: Final = (
    *("Hexham", "Porto", "Bergen", "Lund", "Graz", "Tartu", "Ghent", "Delft", "Bath", "Kyoto", "Lille", "Cork"),
    *("Turku", "Split", "Vigo", "Arles", "Bruges", "Narva", "Siena"),
)
_FACTS: Final = (  # what is said and what is asked
    ("{who} keeps the spare charger for the {where} office in drawer {n}.", "Where is {who}'s charger for {where}?"),
    ("The piano lesson of {who} in {where} costs {n} euros.", "What does {who}'s piano lesson in {where} cost?"),
    ("{who} rents a garage in {where}, bay {n}.", "Which bay is {who}'s garage in {where}?"),
    ("The lease that {who} has on the {where} flat runs for {n} months.", "How long does {who}'s {where} lease run?"),
    ("{who}'s choir in {where} has {n} singers.", "How many singers are in {who}'s choir in {where}?"),
    ("{who} planted {n} apple trees behind the house in {where}.", "How many trees did {who} plant in {where}?"),
    ("The boiler of {who} in {where} was serviced at {n} bar.", "At which pressure is {who}'s boiler in {where}?"),
    ("{who} scored {n} points at the {where} chess open.", "What did {who} score at the {where} chess open?"),
    ("The cake that {who} learned in {where} needs {n} grams of flour.", "How much flour for {who}'s {where} cake?"),
    ("{who} takes bus {n} from the station in {where}.", "Which bus does {who} take in {where}?"),
    ("The tandem of {who} weighs {n} kilograms and stands in {where}.", "What does {who}'s tandem in {where} weigh?"),
    ("{who} taught {n} pupils to swim in {where}.", "How many pupils did {who} teach in {where}?"),
    ("The telescope that {who} set up near {where} has {n} lenses.", "How many lenses has {who}'s {where} telescope?"),
)  # 17, 19 and 13 have no common factor: 4,199 facts before one comes again, with another number


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Medians of ``REPEATS`` in milliseconds at one size; ``None`` and a reason where it was given up."""

    size: int
    write_ms: float | None = None
    read_ms: float | None = None
    given_up: str = ""


def memories() -> Source:
    """Harmless facts without end, each with the question that it answers."""
    everything = zip(count(), cycle(_PEOPLE), cycle(_PLACES), cycle(_FACTS), strict=False)
    for at, who, where, (fact, question) in everything:
        text, asks = fact.format(who=who, where=where, n=3 + at * 7 % 97), question.format(who=who, where=where)
        named = {"subject": f"{who} in {where}, {at}", "relation": asks[:40]}
        yield message(text, "user", True, value=text, **named), asked(asks, **named)


def measure(
    driver: Driver, sizes: Sequence[int], *, seconds: float, on_step: Callable[[], None] = lambda: None
) -> list[Pace]:
    """Each size from what stands of the one before.

    :param seconds: what all the filling of one size may take; past that this size and the larger ones are given up.
    """
    source, paces, held = memories(), [], 0
    _warm(driver, source)
    driver.reset()
    for size in sorted(sizes):
        try:
            held += _fill(driver, source, size - held, seconds=seconds)
            writes, reads = _medians(driver, source)
            held += REPEATS
            paces.append(Pace(size=size, write_ms=writes, read_ms=reads))
        except PeerError as error:
            paces += [Pace(size=one, given_up=str(error)) for one in sorted(sizes) if one >= size]
            break
        on_step()
    return paces


def _warm(driver: Driver, source: Source) -> None:
    """Models are loaded before anything is timed."""
    for told, question in islice(source, 3):
        driver.remember(told)
        driver.recall(question)


def _fill(driver: Driver, source: Source, missing: int, *, seconds: float) -> int:
    until, filled = time.monotonic() + seconds, 0
    while filled < missing:
        batch = [told for told, _ in islice(source, min(_BATCH, missing - filled))]
        left = until - time.monotonic()
        if left <= 0:
            done = f"{filled} of {missing} more memories after {seconds:.0f} s"
            raise PeerError(f"{driver.name}: {done}: given up; --budget gives it longer")
        driver.fill(batch, seconds=left + driver.seconds)
        filled += len(batch)
    return filled


def _medians(driver: Driver, source: Source) -> tuple[float, float]:
    pairs = list(islice(source, REPEATS))
    writes = [driver.remember(told).ms for told, _ in pairs]
    reads = [driver.recall(question).ms for _, question in pairs]
    return statistics.median(writes), statistics.median(reads)
