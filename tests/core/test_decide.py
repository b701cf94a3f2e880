"""The decision point: one answer whatever the order, the most careful effect, and exactly what determined it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import (
    COMPATIBLE,
    CONFIRMED,
    COURIER,
    DETECTED,
    LOOKALIKE,
    SAME,
    SHOP,
    UNKNOWN,
    USER,
    a_belief,
    a_claim,
    claims,
    rivals,
)
from thymus.core.beliefs import Status
from thymus.core.claims import Claim
from thymus.core.decide import decide
from thymus.core.gates import GATES, THYMUS_V3, too_busy
from thymus.core.policy import Case, Effect, Policy, Rival
from thymus.core.relations import Relation

gates = st.sampled_from(list(GATES.values()))


@given(gates, claims(), rivals(), st.randoms())
def test_the_same_claim_and_rivals_always_decide_the_same(
    policy: Policy, claim: Claim, found: list[Rival], order: random.Random
) -> None:
    shuffled = list(found)
    order.shuffle(shuffled)
    assert decide(policy, claim, found) == decide(policy, claim, shuffled) == decide(policy, claim, tuple(found))


@given(gates, claims(), rivals())
def test_the_most_careful_of_what_each_rival_asks_for_is_decided(
    policy: Policy, claim: Claim, found: list[Rival]
) -> None:
    alone = [decide(policy, claim, [rival]) for rival in found] or [decide(policy, claim, [])]
    careful = [decision.effect for decision in alone if decision.matches] or [Effect.ADMIT]
    assert max(careful) is decide(policy, claim, found).effect


@given(gates, claims(), rivals())
def test_a_decision_names_what_determined_it(policy: Policy, claim: Claim, found: list[Rival]) -> None:
    decision = decide(policy, claim, found)
    assert all(match.rule.effect is decision.effect for match in decision.matches)
    assert all(
        match.rule.when.test(Case(claim=claim, rival=match.rival, rivals=tuple(found))) for match in decision.matches
    )
    assert set(decision.reasons) == {match.rule.name for match in decision.matches}
    assert bool(decision.supersedes) <= (decision.effect is Effect.REPLACE)
    assert bool(decision.contests) <= (decision.effect in (Effect.CONTEST, Effect.QUARANTINE))
    assert {*decision.supersedes, *decision.contests} <= {rival.belief.id for rival in found}
    assert decision.because


@given(claims(), rivals())
def test_a_compatible_memory_changes_nothing(claim: Claim, found: list[Rival]) -> None:
    harmless = Rival(belief=a_belief("m_harmless"), relation=COMPATIBLE)
    with_it, without = decide(THYMUS_V3, claim, [*found, harmless]), decide(THYMUS_V3, claim, found)
    assert (with_it.effect, with_it.reasons) == (without.effect, without.reasons)
    assert (with_it.supersedes, with_it.contests) == (without.supersedes, without.contests)


def test_held_back_on_one_account_replaces_on_none() -> None:
    own = Rival(belief=a_belief("m_own", source=COURIER), relation=CONFIRMED)
    users = Rival(belief=a_belief("m_users", source=USER), relation=DETECTED)
    decision = decide(THYMUS_V3, a_claim(source=COURIER), [own, users])
    assert (decision.effect, decision.supersedes, decision.contests) == (Effect.CONTEST, (), ("m_users",))


@pytest.mark.parametrize("relation", [DETECTED, UNKNOWN])
def test_a_change_that_is_not_confirmed_stands_beside_the_old(relation: Relation) -> None:
    own = Rival(belief=a_belief(source=COURIER), relation=relation)
    assert Effect.ADMIT is decide(THYMUS_V3, a_claim(source=COURIER), [own]).effect


@pytest.mark.parametrize("relation", [SAME, CONFIRMED, DETECTED])
def test_a_held_back_claim_waits_for_the_users_decision_whatever_the_user_says(relation: Relation) -> None:
    held = a_belief(source=SHOP, status=Status.CONTESTED)
    decision = decide(THYMUS_V3, a_claim(source=USER), [Rival(belief=held, relation=relation)])
    assert decision.supersedes == ()


@pytest.mark.parametrize("effect", Effect)
def test_a_busy_scope_lets_nobody_replace_and_admits_nothing_from_outside(effect: Effect) -> None:
    decision = decide(THYMUS_V3, a_claim(source=COURIER), [])
    decision = replace(decision, effect=effect)
    careful = max(effect, Effect.CONTEST)
    assert careful is too_busy(a_claim(source=LOOKALIKE), decision).effect
    busy = too_busy(a_claim(source=USER), decision)
    assert (max(effect, Effect.ADMIT), ()) == (busy.effect, busy.supersedes)
