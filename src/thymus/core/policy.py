"""The algebra that gates are written in: effects, predicates, rules, policies.

A policy is data. Each rule says *effect* when *predicate*, the predicate explains itself, and predicates compose with
``&``, ``|`` and ``~``. Rules have no order: every rule is tried against every (claim, rival) and the most careful
effect wins, as in policy languages where a forbid overrides any permit (Cedar: Cutler et al. 2024, arXiv 2403.04651).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

from thymus.core.beliefs import Cause
from thymus.core.claims import Claim
from thymus.errors import PolicyError

if TYPE_CHECKING:
    from thymus.core.beliefs import Belief
    from thymus.core.provenance import Source
    from thymus.core.relations import Relation


class Effect(IntEnum):
    """What a decision does with a claim, least careful first; ``max`` of two effects is the more careful one."""

    REPLACE = 0
    ADMIT = 1
    CONTEST = 2
    QUARANTINE = 3
    REJECT = 4

    @property
    def cause(self) -> Cause:
        """How the new belief is born: a replacing claim is admitted, and what it replaces is superseded."""
        return Cause.ADMIT if self is Effect.REPLACE else Cause[self.name]

    @property
    def past(self) -> str:
        """The word that users see: admitted, replaced, contested, quarantined, rejected."""
        return {"REPLACE": "replaced", "ADMIT": "admitted"}.get(self.name, self.name.lower() + "ed").replace(
            "eed", "ed"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A stored belief that the claim may contradict, and the judge's answer about the two.

    :param owner: who controls the identity that the belief is of; "" where nobody single does, ``None`` for the
        identity itself.
    """

    belief: Belief
    relation: Relation
    owner: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is found out about a claim, beside its words and its rivals, before anything is decided.

    :param owner: who controls all identities that speak in it (``domain:shop.example``); "" where nobody single does,
        ``None`` for the identity itself.
    :param resembles: known sources that one of its speakers could be taken for.
    :param stakes: what in it would do harm if it were false: payment, credential, contact, link, dose.
    :param sibling_held: another claim of the same message is held back, and nothing gives this one authority.
    """

    owner: str | None = None
    resembles: tuple[Source, ...] = ()
    stakes: frozenset[str] = frozenset()
    sibling_held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a predicate is asked about: a claim, one of its rivals (``None``: by itself), all of them, and the rest."""

    claim: Claim
    rival: Rival | None = None
    rivals: tuple[Rival, ...] = ()
    circumstances: Circumstances = Circumstances()


@dataclass(frozen=True, slots=True)
class Predicate:
    """A named yes-or-no question about a case.

    :param says: the sentence part that explains a yes; ``says_not`` explains a no.
    """

    name: str
    says: str
    says_not: str
    test: Callable[[Case], bool]

    def named(self, name: str, says: str, says_not: str) -> Predicate:
        """The same question under a name and wording of its own."""
        return Predicate(name, says, says_not, self.test)

    def __and__(self, other: Predicate) -> Predicate:
        return Predicate(
            f"{_group(self.name, '|')} & {_group(other.name, '|')}",
            f"{self.says} and {other.says}",
            f"{self.says_not} or {other.says_not}",
            lambda case: self.test(case) and other.test(case),
        )

    def __or__(self, other: Predicate) -> Predicate:
        return Predicate(
            f"{_group(self.name, '&')} | {_group(other.name, '&')}",
            f"{self.says} or {other.says}",
            f"{self.says_not} and {other.says_not}",
            lambda case: self.test(case) or other.test(case),
        )

    def __invert__(self) -> Predicate:
        simple = self.name.startswith("~") and " " not in self.name
        name = self.name[1:] if simple else f"~{_group(self.name, '&|')}"
        return Predicate(name, self.says_not, self.says, lambda case: not self.test(case))


def _group(name: str, operators: str) -> str:
    """The name in parentheses where one of the operators stands in it outside of any."""
    depth = 0
    for sign in name:
        depth += (sign == "(") - (sign == ")")
        if not depth and sign in operators:
            return f"({name})"
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """``effect`` when ``when``; the name is what users see in ``reasons``."""

    name: str
    effect: Effect
    when: Predicate

    def __post_init__(self) -> None:
        if not isinstance(self.effect, Effect):
            raise PolicyError(f"the effect of rule {self.name!r} is an Effect, as Effect.CONTEST, not {self.effect!r}")

    @property
    def because(self) -> str:
        """The rule in words, made from its own predicate."""
        return f"{self.effect.past}: {self.when.says}"


class Showing(StrEnum):
    """What a recall does with what is not plainly active."""

    PLAIN = "plain"
    """Active memories, unlabelled, and no notice."""
    LABEL = "label"
    """Outside memories labelled with their source; contested ones too, marked unverified."""
    WITHHOLD = "withhold"
    """Outside memories labelled; contested ones kept from the model and disclosed to the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A gate: what to do with a claim, and what a recall shows.

    :param outside_slots: how many memories of outside sources one recall may show; ``None`` for any number.
    :param adjudicates: whether a recall keeps rivals apart that no write held back (``core/adjudicate.py``).
    :param tells_orders: whether a notice also tells of rejected claims that speak for the user and contradict what is
        recalled: none of them can ever reach the model, and an update is often worded as an order.
    :param unsafe: it exists to be compared with: the guarantees it breaks are listed in the tests.
    """

    name: str
    summary: str
    rules: tuple[Rule, ...]
    showing: Showing
    outside_slots: int | None = None
    adjudicates: bool = False
    tells_orders: bool = False
    unsafe: bool = False

    def __post_init__(self) -> None:
        names = [rule.name for rule in self.rules]
        if len(set(names)) != len(names):
            raise PolicyError(f"policy {self.name!r} has two rules of one name: give each its own")
        if not self.rules and not self.unsafe:
            raise PolicyError(
                f"policy {self.name!r} has no rules, so it admits everything: say unsafe=True if that is meant"
            )
        if self.tells_orders and self.showing is not Showing.WITHHOLD:
            raise PolicyError(
                f"policy {self.name!r} tells of rejected orders, and would show them to the model: use "
                "showing=Showing.WITHHOLD"
            )
        if self.outside_slots is not None and self.outside_slots < 0:
            raise PolicyError("outside_slots is a number of memories: give 0 or more, or None")
