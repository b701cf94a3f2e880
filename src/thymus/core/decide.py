"""The policy decision point: (policy, claim, rivals) -> decision. Pure, so the same input always decides the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from thymus.core.beliefs import Status
from thymus.core.policy import Case, Circumstances, Effect, Policy, Rival, Rule
from thymus.core.relations import Label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from thymus.core.beliefs import Edge
    from thymus.core.claims import Claim

_PLAIN: Final = Circumstances()


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A rule that applied, and the rival it applied to (``None``: to the claim by itself)."""

    rule: Rule
    rival: Rival | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do with a claim, and exactly what determined it.

    :param matches: the matches whose effect is the effect decided; empty when none
        applied and the claim is admitted.
    :param supersedes: ids of the beliefs that it replaces.
    :param contests: ids of the beliefs that it was held back against.
    """

    effect: Effect
    matches: tuple[Match, ...] = ()
    supersedes: tuple[str, ...] = ()
    contests: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names of the determining rules, each once."""
        return tuple(dict.fromkeys(match.rule.name for match in self.matches))

    @property
    def because(self) -> tuple[str, ...]:
        """The determining rules in words."""
        because = tuple(dict.fromkeys(match.rule.because for match in self.matches))
        return because or ("admitted: no rule holds it back",)


def decide(policy: Policy, claim: Claim, rivals: Sequence[Rival], circumstances: Circumstances = _PLAIN) -> Decision:
    """Try every rule against the claim and each of its rivals; the most careful effect wins.

    A belief is superseded only when the claim as a whole replaces: a claim that is held back on account of one rival
    makes no other rival unavailable (G12).
    """
    alone = Case(claim=claim, rivals=tuple(rivals), circumstances=circumstances)
    against = [replace(alone, rival=rival) for rival in rivals] or [alone]
    matches = [match for rule in policy.rules for match in _matches(rule, alone, against)]
    if not matches:
        return Decision(effect=Effect.ADMIT)
    effect = max(match.rule.effect for match in matches)
    decisive = [match for match in matches if match.rule.effect is effect]
    rivals_hit = tuple(sorted({match.rival.belief.id for match in decisive if match.rival}))
    return Decision(
        effect=effect,
        matches=_unique(decisive),
        supersedes=rivals_hit if effect is Effect.REPLACE else (),
        contests=rivals_hit if effect in (Effect.CONTEST, Effect.QUARANTINE) else (),
    )


def _matches(rule: Rule, alone: Case, against: Sequence[Case]) -> list[Match]:
    """The rivals that a rule applies to; none is named where it applies to each of them, and as much without any."""
    found = [Match(rule=rule, rival=case.rival) for case in against if rule.when.test(case)]
    if len(found) == len(against) and rule.when.test(alone):
        return [Match(rule=rule, rival=None)]
    return found


def contradicted(belief_id: str, edges: Iterable[Edge], standing: Callable[[str], Status | None]) -> tuple[str, ...]:
    """What accepting a held-back belief supersedes: the active beliefs that the judge says it contradicts.

    Where the judge was sure of none, the one that it holds likeliest: the user said that one of the two is false.

    :param edges: judged pairs in which the belief takes part, on either side.
    :param standing: the status of a belief.
    """
    against = {
        edge.rival if edge.claim == belief_id else edge.claim: edge.relation for edge in edges if edge.relation.detected
    }
    active = [id_ for id_ in sorted(against) if standing(id_) is Status.ACTIVE]
    sure = tuple(id_ for id_ in active if against[id_].label is Label.CONTRADICTS)
    return sure or tuple(sorted(active, key=lambda id_: -against[id_].contradiction)[:1])


def _unique(matches: Sequence[Match]) -> tuple[Match, ...]:
    """One match a rule and rival, in an order that depends on neither the rules' order nor the rivals'."""
    return tuple(sorted(matches, key=lambda match: (match.rule.name, match.rival.belief.id if match.rival else "")))
