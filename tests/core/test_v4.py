"""The rules of ``thymus-v4``, each where it fires and where it does not. What is found out about a claim is given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import (
    ASSISTANT,
    COMPATIBLE,
    CONFIRMED,
    COURIER,
    DETECTED,
    RAVI,
    SAME,
    SHOP,
    UNKNOWN,
    UNVERIFIED_COURIER,
    USER,
    a_belief,
    a_claim,
)
from thymus.core.beliefs import Belief, Status
from thymus.core.claims import Claim, Kind
from thymus.core.decide import Decision, decide
from thymus.core.gates import CROWD, THYMUS_V4
from thymus.core.policy import Circumstances, Effect, Rival
from thymus.core.provenance import Source
from thymus.core.relations import Relation

BILLING = Source.parse("email:billing@parcels.example", authenticated=True)
"""Another address of the courier's organisation."""
TOOL = Source.parse("tool:mailbox", authenticated=True)
PARCELS = "domain:parcels.example"
PAYMENT = frozenset({"payment"})


def rival(relation: Relation, belief: Belief | None = None, owner: str | None = None) -> Rival:
    return Rival(belief=belief or a_belief(source=COURIER), relation=relation, owner=owner)


def decided(claim: Claim, *rivals: Rival, **found: object) -> tuple[Effect, tuple[str, ...]]:
    """The effect and the names of the rules that determined it."""
    decision: Decision = decide(THYMUS_V4, claim, rivals, Circumstances(**found))  # type: ignore[arg-type]
    return decision.effect, decision.reasons


def crowd(
    size: int, source: Source = COURIER, relation: Relation = SAME, *, messages: int | None = None
) -> list[Rival]:
    """So many beliefs of others, in so many messages (by default each in its own)."""
    found = []
    for number in range(size):
        belief = a_belief(f"m_{number}", source=source)
        claim = replace(belief.claim, evidence_id=f"e_{number % (messages or size)}")
        found.append(rival(relation, replace(belief, claim=claim)))
    return found


ADMITTED = (Effect.ADMIT, ())


def held(*rules: str) -> tuple[Effect, tuple[str, ...]]:
    return Effect.CONTEST, tuple(sorted(rules))


# outside-cannot-speak-for-user


@pytest.mark.parametrize("kind", [Kind.PREFERENCE, Kind.INSTRUCTION])
def test_nobody_else_says_what_the_user_wants(kind: Kind) -> None:
    rejected = (Effect.REJECT, ("outside-cannot-speak-for-user",))
    assert rejected == decided(a_claim(source=COURIER, kind=kind))
    assert rejected == decided(a_claim(source=USER, derived_from=(COURIER,), kind=kind))
    assert decided(a_claim(kind=kind)) == ADMITTED


# owner-may-replace, contradicts-without-authority


def test_the_owner_replaces_from_any_of_its_addresses() -> None:
    replaced = (Effect.REPLACE, ("owner-may-replace",))
    assert replaced == decided(a_claim(source=COURIER), rival(CONFIRMED))
    assert replaced == decided(a_claim(source=BILLING), rival(CONFIRMED, owner=PARCELS), owner=PARCELS)
    assert replaced == decided(a_claim(source=USER), rival(CONFIRMED, a_belief(source=SHOP)))


def test_an_address_owns_nothing_of_another_where_nobody_owns_both() -> None:
    contested = held("contradicts-without-authority")
    assert contested == decided(a_claim(source=BILLING), rival(CONFIRMED))
    assert contested == decided(a_claim(source=BILLING), rival(CONFIRMED, owner=PARCELS), owner="")
    assert contested == decided(a_claim(source=BILLING), rival(CONFIRMED, owner=""), owner="")
    assert contested == decided(a_claim(source=COURIER), rival(CONFIRMED, owner=""))


def test_a_contradiction_without_authority_is_contested_however_sure() -> None:
    contested = held("contradicts-without-authority")
    mine = a_belief(source=USER)
    for relation in (DETECTED, CONFIRMED, UNKNOWN):
        assert contested == decided(a_claim(source=COURIER), rival(relation, mine, "user"), owner=PARCELS)
        assert contested == decided(a_claim(source=UNVERIFIED_COURIER), rival(relation))
    for relation in (SAME, COMPATIBLE):
        assert decided(a_claim(source=COURIER), rival(relation, mine, "user"), owner=PARCELS) == ADMITTED


def test_an_owner_who_only_seems_to_contradict_itself_is_admitted() -> None:
    assert decided(a_claim(source=COURIER), rival(DETECTED)) == ADMITTED
    assert decided(a_claim(source=COURIER), rival(UNKNOWN)) == ADMITTED


def test_what_is_held_back_is_contradicted_by_nobody() -> None:
    held_back = a_belief(source=SHOP, status=Status.CONTESTED)
    assert decided(a_claim(source=COURIER), rival(CONFIRMED, held_back)) == ADMITTED


# high-stakes-from-another-address


def test_where_to_pay_is_not_changed_from_another_address() -> None:
    claim, own = a_claim(source=BILLING), rival(CONFIRMED, owner=PARCELS)
    contested = held("high-stakes-from-another-address")
    assert contested == decided(claim, own, owner=PARCELS, stakes=PAYMENT)
    assert contested == decided(claim, replace(own, relation=DETECTED), owner=PARCELS, stakes=PAYMENT)


def test_it_is_changed_from_the_same_address_and_added_from_another() -> None:
    replaced = (Effect.REPLACE, ("owner-may-replace",))
    assert replaced == decided(a_claim(source=COURIER), rival(CONFIRMED, owner=PARCELS), owner=PARCELS, stakes=PAYMENT)
    assert replaced == decided(a_claim(source=USER), rival(CONFIRMED, a_belief(source=USER)), stakes=PAYMENT)
    beside = rival(COMPATIBLE, owner=PARCELS)
    assert decided(a_claim(source=BILLING), beside, owner=PARCELS, stakes=PAYMENT) == ADMITTED


# lookalike


def test_who_could_be_taken_for_a_known_source_is_contested_on_sight() -> None:
    known = (COURIER,)
    assert held("lookalike") == decided(a_claim(source=SHOP), resembles=known)
    own = rival(CONFIRMED, a_belief(source=SHOP))
    assert held("lookalike") == decided(a_claim(source=SHOP), own, resembles=known)
    assert decided(a_claim(source=USER), resembles=known) == ADMITTED
    assert decided(a_claim(source=SHOP)) == ADMITTED


# unverified-high-stakes


@pytest.mark.parametrize("stake", ["payment", "credential", "contact", "link", "dose"])
def test_the_first_word_on_high_stakes_needs_a_verified_owner(stake: str) -> None:
    stakes = frozenset({stake})
    contested = held("unverified-high-stakes")
    assert contested == decided(a_claim(source=UNVERIFIED_COURIER), stakes=stakes)
    assert contested == decided(a_claim(source=ASSISTANT), stakes=stakes)
    assert contested == decided(a_claim(source=COURIER), owner="", stakes=stakes)
    assert contested == decided(a_claim(source=TOOL, derived_from=(UNVERIFIED_COURIER,)), stakes=stakes)
    assert decided(a_claim(source=COURIER), stakes=stakes) == ADMITTED
    assert decided(a_claim(source=USER), stakes=stakes) == ADMITTED
    assert decided(a_claim(source=UNVERIFIED_COURIER)) == ADMITTED


def test_the_user_who_passes_it_on_has_not_said_it() -> None:
    claim = a_claim(source=USER, derived_from=(UNVERIFIED_COURIER,))
    assert held("unverified-high-stakes") == decided(claim, owner="", stakes=PAYMENT)


# repeats-what-is-held-back


@pytest.mark.parametrize("status", [Status.CONTESTED, Status.QUARANTINED])
@pytest.mark.parametrize("source", [TOOL, ASSISTANT])
def test_what_is_held_back_does_not_come_back_through_a_tool_or_a_model(source: Source, status: Status) -> None:
    said = a_belief(source=SHOP, status=status)
    for relation in (SAME, UNKNOWN):
        assert held("repeats-what-is-held-back") == decided(a_claim(source=source), rival(relation, said))
    assert decided(a_claim(source=source), rival(COMPATIBLE, said)) == ADMITTED


def test_it_holds_for_what_is_held_back_and_passed_on_only() -> None:
    said = a_belief(source=SHOP, status=Status.CONTESTED)
    assert decided(a_claim(source=TOOL), rival(SAME, a_belief(source=SHOP))) == ADMITTED
    assert decided(a_claim(source=RAVI), rival(SAME, said)) == ADMITTED
    assert held("repeats-what-is-held-back") == decided(a_claim(source=RAVI, derived_from=(TOOL,)), rival(SAME, said))


# flood


def test_one_more_of_a_crowd_is_contested() -> None:
    claim = a_claim(source=UNVERIFIED_COURIER)
    for relation in (SAME, UNKNOWN):
        rules = ("flood",) if relation is SAME else ("contradicts-without-authority", "flood")
        assert held(*rules) == decided(claim, *crowd(CROWD, SHOP, relation))
    assert decided(claim, *crowd(CROWD - 1, SHOP)) == ADMITTED
    assert decided(claim, *crowd(CROWD, SHOP, COMPATIBLE)) == ADMITTED


def test_a_crowd_is_counted_in_messages_of_others_that_are_no_worse_proved() -> None:
    claim = a_claim(source=UNVERIFIED_COURIER)
    assert decided(claim, *crowd(2 * CROWD, SHOP, messages=CROWD - 1)) == ADMITTED
    assert decided(claim, *crowd(CROWD, USER)) == ADMITTED
    assert decided(claim, *crowd(CROWD, ASSISTANT)) == ADMITTED


def test_no_crowd_holds_back_a_verified_owner_or_the_user() -> None:
    assert decided(a_claim(source=COURIER), *crowd(2 * CROWD, SHOP)) == ADMITTED
    assert decided(a_claim(source=USER), *crowd(2 * CROWD, SHOP)) == ADMITTED
    assert held("flood") == decided(a_claim(source=COURIER), *crowd(CROWD, SHOP), owner="")


# sibling-held-back


def test_what_came_with_something_held_back_is_held_back() -> None:
    assert held("sibling-held-back") == decided(a_claim(source=COURIER), sibling_held=True)
    assert decided(a_claim(source=USER), sibling_held=True) == ADMITTED
    assert decided(a_claim(source=COURIER), sibling_held=False) == ADMITTED


# together


def test_every_rule_that_holds_a_claim_back_is_named() -> None:
    found = decided(
        a_claim(source=UNVERIFIED_COURIER),
        rival(DETECTED, a_belief(source=USER)),
        *crowd(CROWD, SHOP),
        resembles=(COURIER,),
        stakes=PAYMENT,
        sibling_held=True,
    )
    everything = ("contradicts-without-authority", "flood", "lookalike", "sibling-held-back", "unverified-high-stakes")
    assert held(*everything) == found
