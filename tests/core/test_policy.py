"""The algebra of gates: the effect lattice, predicates under & | ~, and what is refused as a policy."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import CONFIRMED, COURIER, USER, a_belief, a_claim, claims, relations, rivals
from thymus.core import gates
from thymus.core.beliefs import Cause, Status, born
from thymus.core.claims import Claim
from thymus.core.decide import decide
from thymus.core.policy import Case, Effect, Policy, Predicate, Rival, Rule, Showing
from thymus.errors import PolicyError

PREDICATES = (
    gates.from_user,
    gates.outside,
    gates.speaks_for_user,
    gates.conflicts,
    gates.confirmed,
    gates.against_user,
    gates.same_identity,
    gates.authenticated,
    gates.authority,
    gates.named_authority,
    gates.same_owner,
    gates.owner_authority,
    gates.older,
    gates.resembles_known,
    gates.high_stakes,
    gates.sibling_held,
    gates.relayed,
    gates.repeats_held,
    gates.flooded,
)
predicates = st.recursive(
    st.sampled_from(PREDICATES),
    lambda inner: st.one_of(
        st.builds(Predicate.__and__, inner, inner),
        st.builds(Predicate.__or__, inner, inner),
        st.builds(Predicate.__invert__, inner),
    ),
    max_leaves=5,
)
some_rival = rivals(most=1).map(lambda found: found[0] if found else None)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    effects = draw(st.lists(st.sampled_from(Effect), min_size=1, max_size=5))
    rules = [Rule(name=f"r{n}", effect=effect, when=draw(predicates)) for n, effect in enumerate(effects)]
    return Policy(name="drawn", summary="", rules=tuple(rules), showing=Showing.WITHHOLD)


def test_effects_in_order_of_caution() -> None:
    assert [effect.name for effect in sorted(Effect)] == ["REPLACE", "ADMIT", "CONTEST", "QUARANTINE", "REJECT"]


@pytest.mark.parametrize(
    ("effect", "past", "status"),
    [
        (Effect.REPLACE, "replaced", Status.ACTIVE),
        (Effect.ADMIT, "admitted", Status.ACTIVE),
        (Effect.CONTEST, "contested", Status.CONTESTED),
        (Effect.QUARANTINE, "quarantined", Status.QUARANTINED),
        (Effect.REJECT, "rejected", Status.REJECTED),
    ],
)
def test_each_effect_has_a_word_and_a_birth(effect: Effect, past: str, status: Status) -> None:
    assert (past, status) == (effect.past, born(effect.cause))
    assert isinstance(effect.cause, Cause)


@given(predicates, predicates, claims(), some_rival)
def test_predicates_are_a_boolean_algebra(a: Predicate, b: Predicate, claim: Claim, rival: Rival | None) -> None:
    def holds(predicate: Predicate) -> bool:
        return predicate.test(Case(claim=claim, rival=rival))

    assert holds(~(a & b)) == holds(~a | ~b)
    assert holds(~(a | b)) == holds(~a & ~b)
    assert holds(~~a) == holds(a)
    assert holds(a & b) == holds(b & a) == (holds(a) and holds(b))
    assert holds(a | b) == holds(b | a) == (holds(a) or holds(b))
    assert holds(a & (a | b)) == holds(a)
    assert not holds(a & ~a)


def _parse(name: str) -> Predicate:
    """The predicate that a name stands for, as Python itself reads it."""
    known = {predicate.name: predicate for predicate in PREDICATES}
    found = eval(name, {"__builtins__": {}}, known)
    assert isinstance(found, Predicate)
    return found


@given(predicates, claims(), some_rival)
def test_a_predicates_name_means_the_predicate(predicate: Predicate, claim: Claim, rival: Rival | None) -> None:
    case = Case(claim=claim, rival=rival)
    assert predicate.test(case) == _parse(predicate.name).test(case)


def test_the_negation_of_a_compound_negates_all_of_it() -> None:
    both = ~gates.from_user & gates.conflicts
    assert (~both).name == "~(~from_user & conflicts)"
    assert (~(~(gates.from_user | gates.conflicts) & gates.confirmed)).name == "~(~(from_user | conflicts) & confirmed)"
    assert (~~gates.from_user).name == "from_user"


@given(predicates, predicates)
def test_a_predicate_says_why_not_what_its_negation_says(a: Predicate, b: Predicate) -> None:
    assert ((~a).says, (~a).says_not) == (a.says_not, a.says)
    assert (~(a & b)).says == f"{a.says_not} or {b.says_not}"
    assert (~(a | b)).says == f"{a.says_not} and {b.says_not}"


def test_a_rule_explains_itself() -> None:
    rule = Rule(name="r", effect=Effect.CONTEST, when=gates.conflicts & ~gates.authenticated)
    assert rule.because == "contested: it seems to contradict a memory and that identity is not verified"
    assert rule.when.name == "conflicts & ~authenticated"


@given(policies(), claims(), rivals())
def test_the_order_of_rules_never_matters(policy: Policy, claim: Claim, found: list[Rival]) -> None:
    decisions = {
        decide(Policy(name="drawn", summary="", rules=rules, showing=Showing.WITHHOLD), claim, found)
        for rules in list(permutations(policy.rules))[:24]
    }
    assert len(decisions) == 1


@given(
    policies(), predicates, st.sampled_from([effect for effect in Effect if effect > Effect.ADMIT]), claims(), rivals()
)
def test_another_careful_rule_never_makes_a_gate_less_careful(
    policy: Policy, when: Predicate, effect: Effect, claim: Claim, found: list[Rival]
) -> None:
    rules = (*policy.rules, Rule(name="more", effect=effect, when=when))
    more = Policy(name="more", summary="", rules=rules, showing=Showing.WITHHOLD)
    assert decide(more, claim, found).effect >= decide(policy, claim, found).effect


@given(policies(), claims(), rivals(), rivals(most=1))
def test_another_rival_never_makes_an_outside_claim_less_careful(
    policy: Policy, claim: Claim, found: list[Rival], more: list[Rival]
) -> None:
    """Unless the added rival lets it replace, which only REPLACE against ADMIT can show."""
    before = decide(policy, claim, found).effect if found else Effect.REPLACE
    assert decide(policy, claim, [*found, *more]).effect >= min(before, Effect.REPLACE if more else before)
    if before > Effect.ADMIT:
        assert decide(policy, claim, [*found, *more]).effect >= before


def test_two_rules_of_one_name_are_refused() -> None:
    rule = Rule(name="twice", effect=Effect.REJECT, when=gates.outside)
    with pytest.raises(PolicyError, match="two rules of one name"):
        Policy(name="p", summary="", rules=(rule, rule), showing=Showing.PLAIN)


def test_a_policy_without_rules_must_say_that_it_is_unsafe() -> None:
    with pytest.raises(PolicyError, match="unsafe=True"):
        Policy(name="p", summary="", rules=(), showing=Showing.WITHHOLD)
    assert Policy(name="p", summary="", rules=(), showing=Showing.WITHHOLD, unsafe=True).unsafe


def test_a_negative_number_of_slots_is_refused() -> None:
    with pytest.raises(PolicyError, match="0 or more"):
        Policy(name="p", summary="", rules=(), showing=Showing.PLAIN, unsafe=True, outside_slots=-1)


@given(relations)
def test_a_conflict_is_only_seen_with_an_active_belief(relation: object) -> None:
    held = Rival(belief=a_belief(source=USER, status=Status.CONTESTED), relation=CONFIRMED)
    assert not gates.conflicts.test(Case(claim=a_claim(source=COURIER), rival=held))
    assert not gates.conflicts.test(Case(claim=a_claim(source=COURIER)))
