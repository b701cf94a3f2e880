"""Whether a tool may be called with these arguments: what is found out about each value, and the answer in words.

A rule looks at *facts* about one value (who says it, who speaks against it) and at its *role* in the action, and gives
an answer for each sensitivity of the tool. Facts are a set, so that how often something was said counts for nothing.
The rules themselves are in ``action_rules``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, Final

from thymus.core.quoting import carrier, cut, one_line, quote
from thymus.errors import PolicyError

if TYPE_CHECKING:
    from thymus.core.disclose import Memory


class Answer(IntEnum):
    """What is said to a call, least careful first; ``max`` of two answers is the more careful one."""

    ALLOW = 0
    ASK = 1
    """Show the user the call and the reasons, and go on only with a yes."""
    DENY = 2

    def __str__(self) -> str:
        return self.name.lower()


class Sensitivity(IntEnum):
    """How much harm a tool can do: LOW reads, NORMAL writes what can be put right, HIGH cannot be taken back."""

    LOW = 0
    NORMAL = 1
    HIGH = 2

    @classmethod
    def read(cls, given: Sensitivity | str) -> Sensitivity:
        """The sensitivity of this name (``low``, ``normal``, ``high``).

        :raises PolicyError: where there is none of that name.
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, str) and given.upper() in cls.__members__:
            return cls[given.upper()]
        raise PolicyError(f"a sensitivity is low, normal or high, not {given!r}")


class Role(StrEnum):
    """What a value is to the action."""

    DESTINATION = "destination"
    """Where money, words or trust go, or what is swallowed: an account, phone number, address, link, secret, dose."""
    SUM = "sum"
    """An amount of money, as an argument of its own."""
    DETAIL = "detail"
    """Any other value: a date, a time, a room, a code."""
    NAME = "name"
    """A name or a few words: memory can mention them, and mentioning says little."""


class Fact(StrEnum):
    """Something found out about one value."""

    SAID = "said"
    OWN = "own"
    ACCEPTED = "accepted"
    OWNER = "owner"
    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    HELD_BACK = "held-back"
    TAKEN_BACK = "taken-back"
    OUT_OF_DATE = "out-of-date"
    CROWDED = "crowded"
    NOWHERE = "nowhere"
    WARNED = "warned"
    AGAINST_SAID = "against-said"
    AGAINST_OWN = "against-own"
    AGAINST_VERIFIED = "against-verified"
    MIXED_UP = "mixed-up"
    INVISIBLE = "invisible"
    UNCHECKED = "unchecked"


BY_USER: Final = frozenset({Fact.SAID, Fact.OWN, Fact.ACCEPTED})
"""The user's word."""
AUTHORITY: Final = BY_USER | {Fact.OWNER, Fact.VERIFIED}
"""The user's word, or that of a source that is verified as who it says it is."""
SUPPORT: Final = AUTHORITY | {
    Fact.UNVERIFIED,
    Fact.HELD_BACK,
    Fact.TAKEN_BACK,
    Fact.OUT_OF_DATE,
    Fact.CROWDED,
    Fact.WARNED,
}
"""That the value occurs in memory, or in what the user said."""

ALL_ROLES: Final = frozenset(Role)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRule:
    """``answers`` where one of ``facts`` holds, none of ``unless`` does, and the value has one of these ``roles``.

    :param says: the reason as the user reads it.
    :param answers: for a tool of low, normal and high sensitivity; never less careful for a more sensitive tool.
    """

    name: str
    says: str
    facts: frozenset[Fact]
    answers: tuple[Answer, Answer, Answer]
    unless: frozenset[Fact] = frozenset()
    roles: frozenset[Role] = ALL_ROLES

    def __post_init__(self) -> None:
        if list(self.answers) != sorted(self.answers):
            raise PolicyError(
                f"rule {self.name!r} is less careful with a more sensitive tool: put its answers in order"
            )

    def applies(self, role: Role, facts: Collection[Fact]) -> bool:
        """Whether it has something to say about such a value."""
        return role in self.roles and not self.facts.isdisjoint(facts) and self.unless.isdisjoint(facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A rule that determined an answer, and what it says."""

    rule: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One value in the arguments, and what memory says about it.

    :param argument: where it stands: ``iban``, ``items[0].price``, ``body``.
    :param value: the passage, as it was given: data, whoever wrote it.
    :param kind: what it is read as: ``account``, ``phone number``, ``name`` …
    :param supports: the memories that have this value, those with authority first; a few of them.
    :param contradicts: the active memories that have another value for the same thing; a few of them.
    """

    argument: str
    value: str
    kind: str
    role: Role
    answer: Answer
    reasons: tuple[Reason, ...]
    supports: tuple[Memory, ...] = ()
    contradicts: tuple[Memory, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The finding in JSON's types."""
        return {
            "argument": self.argument,
            "value": self.value,
            "kind": self.kind,
            "role": self.role.value,
            "answer": str(self.answer),
            "reasons": [{"rule": reason.rule, "says": reason.says} for reason in self.reasons],
            "supports": [memory.to_dict() for memory in self.supports],
            "contradicts": [memory.to_dict() for memory in self.contradicts],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a tool may be called with these arguments; ``str()`` says why, safe to show.

    :param answer: the most careful of its findings; ALLOW where there is nothing to look at.
    """

    tool: str
    sensitivity: Sensitivity
    answer: Answer
    findings: tuple[Finding, ...]

    @property
    def allowed(self) -> bool:
        """Whether it may go ahead without asking anybody."""
        return self.answer is Answer.ALLOW

    @property
    def arguments(self) -> dict[str, Answer]:
        """The most careful answer to each argument in which a value was found."""
        found: dict[str, Answer] = {}
        for finding in self.findings:
            found[finding.argument] = max(finding.answer, found.get(finding.argument, Answer.ALLOW))
        return found

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names of the determining rules, each once."""
        decisive = (finding for finding in self.findings if finding.answer is self.answer)
        return tuple(dict.fromkeys(reason.rule for finding in decisive for reason in finding.reasons))

    def to_dict(self) -> dict[str, Any]:
        """The verdict in JSON's types."""
        return {
            "tool": self.tool,
            "sensitivity": self.sensitivity.name.lower(),
            "answer": str(self.answer),
            "arguments": {argument: str(answer) for argument, answer in self.arguments.items()},
            "reasons": list(self.reasons),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def __str__(self) -> str:
        lines = [f"{self.answer}: {quote(self.tool)} ({self.sensitivity.name.lower()} sensitivity)"]
        for finding in sorted(self.findings, key=lambda found: -found.answer):
            lines.append(f"- {finding.answer}: {_shown(finding.argument)} = {quote(finding.value)} ({finding.kind})")
            lines += [f"    {reason.says} [{reason.rule}]" for reason in finding.reasons]
            lines += [f"    {_told(memory)}" for memory in finding.supports]
            lines += [f"    but {_told(memory)}" for memory in finding.contradicts]
        return "\n".join(lines)


def _shown(argument: str) -> str:
    safe = cut(one_line(argument), 80)
    return safe if re.fullmatch(r"[\w.\[\]-]+", safe) else quote(safe)


def _told(memory: Memory) -> str:
    teller = "you" if memory.source.is_user and not memory.lineage else carrier(memory.source)
    return f"{teller} said {quote(memory.text)} ({memory.status.value}, {memory.id})"
