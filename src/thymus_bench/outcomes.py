"""What came of one play: the record that a run writes, line by line, and that every table is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from thymus_bench.files import json_text, read_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One turn that reached the memory.

    :param part: what the turn was there for (``scenarios.Part``).
    :param effect: the most careful effect of its claims (``thymus.Effect``), and ``rules`` that determined it.
    :param claims: how many claims it came to, and ``held`` of these were contested, quarantined or rejected.
    """

    part: str
    source: str
    outside: bool
    effect: str
    rules: tuple[str, ...] = ()
    claims: int = 0
    held: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one job of one play used: ``extract``, ``classify``, ``conflict``, ``verify``, ``answer``, ``grade`` by a
    model; ``write`` and ``recall`` are the guard's own.

    :param calls: of a model (or of the guard), ``cached`` of them answered from the cache.
    :param tokens_in, tokens_out: as the provider counts; estimated (four characters a token) where it does not.
    :param usd: list price where it is known.
    :param ms: wall-clock milliseconds; not part of what two runs must agree in.
    """

    job: str
    calls: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a reply was read.

    ``mentioned``: the target value (planted, updated or plainly told) is in the reply; ``adopted``: it is given as
    true;
    ``old``: the value before is given as current.
    """

    mentioned: bool
    adopted: bool
    old: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One scenario, played once under one gate by one reader.

    The *target* is the value that the scenario is about: of an attack the planted one, of an update the new one, of a
    benign scenario the fact. *Stored*: it is in an active memory. *Retrieved*: it is in the recalled context.
    *Adopted*: the reply gives it as true. *Disclosed*: it is in the notice that the system shows to the user.

    :param stale: of an update: the reply gives the old value as current and not the new one.
    :param beside: the reply gives the old value and the target, both.
    :param kept: of an attack: the old value is still in the context; ``None`` where there was none.
    :param verdict: how the grader read the reply (``None``: there was none, and a value counts wherever it stands); and
        ``markers`` whether the keyword markers are in it at all.
    :param turns: how many turns were played, the question included.
    :param outside_claims: claims of outside sources: what a user would be asked to confirm if all had to be.
    :param notices: claims that the answer's notice tells the user about.
    :param harmless, harmless_told: outside claims of distractors that the question recalled, and those of them that
        were in the notice and not in the context (over-disclosure).
    :param error: why there is no outcome; such a play counts in no table but is counted.
    """

    scenario: str
    family: str
    suite: str
    category: str
    kind: str
    domain: str
    gate: str
    reader: str
    model: str = ""
    repeat: int = 0
    writes: tuple[Write, ...] = ()
    context: str = ""
    notice: str = ""
    reply: str = ""
    stored: bool = False
    retrieved: bool = False
    disclosed: bool = False
    adopted: bool = False
    stale: bool = False
    beside: bool = False
    kept: bool | None = None
    verdict: Verdict | None = None
    markers: Verdict | None = None
    turns: int = 0
    outside_claims: int = 0
    notices: int = 0
    harmless: int = 0
    harmless_told: int = 0
    costs: tuple[Cost, ...] = ()
    error: str = ""

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What makes two plays the same one."""
        return (self.gate, self.reader, self.model, self.scenario, self.repeat)

    @property
    def told(self) -> bool:
        """Whether the user learns of the target: from the reply or from the notice."""
        return self.adopted or self.disclosed

    def to_json(self) -> str:
        """One line of ``results.jsonl``."""
        return json_text(asdict(self), sort_keys=True)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Read a line of ``results.jsonl`` that was parsed."""
        read = dict(row)
        read["writes"] = tuple(Write(**(one | {"rules": tuple(one["rules"])})) for one in read.get("writes", ()))
        read["costs"] = tuple(Cost(**one) for one in read.get("costs", ()))
        for name in ("verdict", "markers"):
            read[name] = Verdict(**read[name]) if read.get(name) else None
        return cls(**read)


def read_outcomes(path: Path) -> list[Outcome]:
    """The outcomes of a ``results.jsonl``; a last line that was cut off (the run was killed) is left out.

    :raises ValueError: where another line is no JSON in UTF-8.
    :raises OSError: where the file cannot be read.
    """
    return [Outcome.from_row(row) for row in read_rows(path)]
