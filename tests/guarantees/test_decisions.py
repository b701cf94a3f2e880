"""The guarantees that the decision alone can keep or break: pure properties of ``decide`` for any claim and rivals."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import CONFIRMED, COURIER, SAME, USER, a_belief, claims, outsiders, rivals
from thymus.core.beliefs import TRANSITIONS, Cause, Status
from thymus.core.claims import Claim
from thymus.core.decide import decide
from thymus.core.gates import GATES, UNSAFE_THYMUS_V2
from thymus.core.policy import Effect, Policy, Rival
from thymus.core.provenance import Source
from thymus.core.relations import Relation

SAFE = [policy for policy in GATES.values() if not policy.unsafe]
often = settings(max_examples=min(2_000, 5 * settings().max_examples))
"""A decision costs nothing, and what matters is rare among random ones."""
safe = pytest.mark.parametrize("policy", SAFE, ids=lambda policy: policy.name)


OWNED = Rival(belief=a_belief(source=COURIER), relation=CONFIRMED)


def flood(number: int) -> Source:
    return Source.parse(f"email:f{number}@flood.example", authenticated=True)


@pytest.mark.guarantee("G1")
@safe
@often
@given(claim=claims(outsiders), found=rivals())
def test_outside_content_never_speaks_for_the_user(policy: Policy, claim: Claim, found: list[Rival]) -> None:
    """Outside content never becomes an active preference or instruction."""
    if claim.speaks_for_user:
        assert Effect.REJECT is decide(policy, claim, found).effect


@pytest.mark.guarantee("G2")
@safe
@often
@given(claim=claims(), found=rivals())
def test_only_authority_supersedes(policy: Policy, claim: Claim, found: list[Rival]) -> None:
    """A belief is superseded only by the user or by its own authenticated identity."""
    superseded = set(decide(policy, claim, found).supersedes)
    for rival in found:
        if rival.belief.id in superseded:
            owners = {source.key for source in (rival.belief.claim.lineage or (rival.belief.claim.source,))}
            users = set(claim.speakers) == {USER}
            own = all(source.authenticated and {source.key} == owners for source in claim.speakers)
            assert users or own


@pytest.mark.guarantee("G3")
@safe
@often
@given(claim=claims(outsiders), found=rivals())
def test_what_seems_to_contradict_without_authority_is_held_back(
    policy: Policy, claim: Claim, found: list[Rival]
) -> None:
    """Under a disclosing gate no contested value reaches the context, and each one related to a recalled belief is in
    the notice with its source.

    Contested is whatever may contradict an active belief of somebody else, be it the user, another identity, or the
    same one unverified.
    """
    for rival in found:
        owners = rival.belief.claim.origins
        own = all(source.authenticated and {source.key} == owners for source in claim.speakers)
        if rival.belief.status is Status.ACTIVE and rival.relation.detected and not own:
            assert decide(policy, claim, found).effect >= Effect.CONTEST


def _confirmed(rival: Rival) -> Rival:
    """The rival as an unverified conflict counts: what is detected is taken for sure."""
    return replace(rival, relation=CONFIRMED) if rival.relation.detected else rival


@pytest.mark.guarantee("G4")
@pytest.mark.parametrize(
    "policy",
    [
        *(pytest.param(policy, id=policy.name) for policy in SAFE),
        pytest.param(
            UNSAFE_THYMUS_V2,
            id=UNSAFE_THYMUS_V2.name,
            marks=pytest.mark.xfail(strict=True, reason="v2 lets a failed confirmation cancel a contest"),
        ),
    ],
)
@often
@given(claim=claims(), found=rivals())
def test_confirming_never_lowers_caution(policy: Policy, claim: Claim, found: list[Rival]) -> None:
    """Verification never lowers caution.

    Whatever a second check says of a detected conflict, the decision is at least as careful as without that check.
    """
    unchecked = [_confirmed(rival) for rival in found]
    assert decide(policy, claim, found).effect >= decide(policy, claim, unchecked).effect


@pytest.mark.guarantee("G4")
@safe
@often
@given(claim=claims(), found=rivals(), failed=st.one_of(st.just({0, 1, 2}), st.sets(st.integers(0, 2))))
def test_a_judge_that_fails_never_lowers_caution(
    policy: Policy, claim: Claim, found: list[Rival], failed: set[int]
) -> None:
    """Verification never lowers caution.

    A judge that fails, on any of the pairs, can only make the decision more careful.
    """
    unknown = [
        replace(rival, relation=Relation.unknown("failed")) if number in failed else rival
        for number, rival in enumerate(found)
    ]
    assert decide(policy, claim, unknown).effect >= decide(policy, claim, found).effect


@pytest.mark.guarantee("G8")
@safe
@often
@given(claim=claims(), found=rivals(), many=st.integers(1, 12))
def test_agreement_gives_no_authority(policy: Policy, claim: Claim, found: list[Rival], many: int) -> None:
    """Any number of outside sources agreeing has no more effect than one of them.

    Outside beliefs that say what the claim says make it no more acceptable.
    """
    agreeing = [Rival(belief=a_belief(f"f_{n}", source=flood(n)), relation=SAME) for n in range(many)]
    assert decide(policy, claim, [*found, *agreeing]).effect >= decide(policy, claim, found).effect
    assert decide(policy, claim, [*found, *agreeing]).supersedes == decide(policy, claim, found).supersedes


@pytest.mark.guarantee("G8")
@safe
@often
@given(claim=claims(), found=rivals(), many=st.integers(1, 12))
def test_disagreement_of_many_weighs_as_that_of_one(
    policy: Policy, claim: Claim, found: list[Rival], many: int
) -> None:
    """Any number of outside sources agreeing has no more effect than one of them.

    A claim that many contradict is decided on as if one of them did.
    """
    against = [Rival(belief=a_belief(f"f_{n}", source=flood(n)), relation=CONFIRMED) for n in range(many)]
    one, all_of_them = decide(policy, claim, [*found, against[0]]), decide(policy, claim, [*found, *against])
    assert one.effect is all_of_them.effect
    assert one.reasons == all_of_them.reasons


@pytest.mark.guarantee("G9")
@safe
@often
@given(claim=claims(), found=st.one_of(st.just([OWNED]), rivals()))
def test_a_derived_claim_may_do_what_each_of_its_speakers_may_do(
    policy: Policy, claim: Claim, found: list[Rival]
) -> None:
    """A claim derived from others never has more authority than the weakest of them."""
    decided = decide(policy, claim, found)
    for speaker in claim.speakers:
        alone = decide(policy, replace(claim, source=speaker, lineage=()), found)
        assert decided.effect >= alone.effect
        assert set(decided.supersedes) <= set(alone.supersedes)


@pytest.mark.guarantee("G12")
@safe
@often
@given(claim=claims(outsiders), found=rivals())
def test_a_claim_without_authority_takes_nothing_away(policy: Policy, claim: Claim, found: list[Rival]) -> None:
    """A claim without authority never makes an active belief unavailable."""
    decision = decide(policy, claim, found)
    if decision.effect is not Effect.REPLACE:
        assert decision.supersedes == ()
    for rival in found:
        if rival.belief.id in decision.supersedes:
            assert {source.key for source in claim.speakers} == rival.belief.claim.origins
            assert all(source.authenticated for source in claim.speakers)


@pytest.mark.guarantee("G12")
def test_the_table_lets_an_active_belief_end_in_four_ways_only() -> None:
    """A claim without authority never makes an active belief unavailable.

    It is superseded, declined by the user, retracted, or stands differently in a history that is told again; and
    nothing else supersedes.
    """
    ends = {cause: after for (before, cause), after in TRANSITIONS.items() if before is Status.ACTIVE}
    assert ends.keys() == {Cause.SUPERSEDE, Cause.DECLINE, Cause.RETRACT, Cause.REPLAY}
    assert ends[Cause.SUPERSEDE] == {Status.SUPERSEDED}
    assert ends[Cause.RETRACT] == {Status.RETRACTED}
    supersede = {cause for (_, cause), after in TRANSITIONS.items() if Status.SUPERSEDED in after}
    assert supersede == {Cause.SUPERSEDE, Cause.REPLAY}
