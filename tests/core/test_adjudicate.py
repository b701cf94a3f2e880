"""Read-time adjudication: precedence, who is held against whom, and what stands aside. Pure, for any chances."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from builders import COURIER, LOOKALIKE, RAVI, SHOP, UNVERIFIED_COURIER, USER, a_belief, lineages, sources
from thymus.core.adjudicate import ASIDE, NEARER, OWNERS, Candidate, Contention, adjudicate, contentions, precedes
from thymus.core.beliefs import Status
from thymus.core.provenance import Source


def a_candidate(
    id_: str, source: Source, *, seq: int = 1, relevance: float = 0.9, owner: str | None = None
) -> Candidate:
    belief = a_belief(id_, source=source, seq=seq)
    return Candidate(belief=belief, owner=source.key if owner is None else owner, relevance=relevance)


@st.composite
def recalls(draw: st.DrawFn) -> list[Candidate]:
    """What one question brings together: all sorts of speakers, near and far."""
    found = []
    for number in range(draw(st.integers(0, 8))):
        source, derived = draw(sources), draw(lineages)
        belief = a_belief(f"m_{number}", source=source, derived_from=derived, seq=number + 1)
        owners = belief.claim.origins
        owner = next(iter(owners)) if len(owners) == 1 else ""
        found.append(Candidate(belief=belief, owner=owner, relevance=draw(st.floats(0.7, 1.0))))
    return found


def surely(found: Sequence[Contention]) -> list[float]:
    return [1.0] * len(found)


def never(found: Sequence[Contention]) -> list[float]:
    return [0.0] * len(found)


def test_the_user_precedes_everybody_and_nobody_precedes_the_user() -> None:
    mine, theirs = a_candidate("mine", USER, seq=9), a_candidate("theirs", COURIER, seq=1)
    assert precedes(mine, theirs)
    assert not precedes(theirs, mine)


def test_the_better_proved_precedes_and_of_equals_the_earlier() -> None:
    courier, shop = a_candidate("courier", COURIER, seq=2), a_candidate("shop", SHOP, seq=1)
    spoof = a_candidate("spoof", UNVERIFIED_COURIER, seq=0)
    assert precedes(shop, courier)
    assert not precedes(courier, shop)
    assert precedes(courier, spoof)
    assert not precedes(spoof, courier)


def test_a_verified_owner_may_answer_otherwise_than_before() -> None:
    old, new = a_candidate("old", COURIER, seq=1), a_candidate("new", COURIER, seq=2)
    spoof = a_candidate("spoof", UNVERIFIED_COURIER, seq=3)
    assert {"spoof"} == adjudicate([old, new, spoof], [old, new, spoof], surely).keys()


def test_what_stands_aside_sets_nothing_aside() -> None:
    mine = a_candidate("mine", USER, seq=5)
    first, second = a_candidate("first", SHOP, seq=1), a_candidate("second", COURIER, seq=2)
    every = [mine, first, second]
    aside = adjudicate(every, every, surely)
    assert {"first": (mine.belief,), "second": (mine.belief,)} == aside


def test_one_identity_is_held_to_all_that_it_says() -> None:
    mine = a_candidate("mine", USER)
    parts = [a_candidate("one", LOOKALIKE, seq=2), a_candidate("two", LOOKALIKE, seq=3)]
    [contention] = contentions(parts, [mine, *parts])
    assert tuple(claim.belief.id for claim in contention.claims) == ("one", "two")


def test_addresses_of_one_owner_are_one_voice() -> None:
    mine = a_candidate("mine", USER)
    a = a_candidate("a", Source.parse("email:a@evil.example", authenticated=True), owner="domain:evil.example")
    b = a_candidate("b", Source.parse("email:b@evil.example", authenticated=True), owner="domain:evil.example")
    assert [{"a", "b"}] == [{one.belief.id for one in found.claims} for found in contentions([a, b], [mine, a, b])]


def test_repeating_the_question_frees_nobody_from_the_users_memory() -> None:
    mine = a_candidate("mine", USER, relevance=0.80)
    decoy = a_candidate("decoy", LOOKALIKE, seq=2, relevance=1.0)
    assert [found.memory.belief.id for found in contentions([decoy], [mine, decoy])] == ["mine"]


def test_an_equal_must_be_as_near_to_the_question_to_own_the_answer() -> None:
    claim = a_candidate("claim", COURIER, seq=2, relevance=0.90)
    for relevance, expected in ((0.90 - NEARER + 0.001, 1), (0.90 - NEARER - 0.001, 0)):
        other = a_candidate("other", SHOP, seq=1, relevance=relevance)
        assert expected == len(contentions([claim], [other, claim]))


def test_chaff_of_equals_hides_no_memory_of_the_users() -> None:
    mine = a_candidate("mine", USER, relevance=0.85)
    chaff = [a_candidate(f"c{n}", Source.parse(f"email:x@c{n}.example", authenticated=True), seq=n) for n in range(9)]
    lie = a_candidate("lie", RAVI, seq=99, relevance=0.86)
    against = {found.memory.belief.id for found in contentions([lie], [*chaff, mine, lie])}
    assert "mine" in against
    assert len(against) <= OWNERS + 1


def test_what_is_held_back_owns_no_answer() -> None:
    held = Candidate(belief=a_belief("held", source=USER, status=Status.CONTESTED), owner="user", relevance=0.9)
    claim = a_candidate("claim", COURIER, seq=2)
    assert contentions([claim], [held, claim]) == []


def test_the_threshold_counts_from_the_number_itself() -> None:
    mine, claim = a_candidate("mine", USER), a_candidate("claim", COURIER, seq=2)
    assert {"claim"} == adjudicate([claim], [mine, claim], lambda _: [ASIDE]).keys()
    assert adjudicate([claim], [mine, claim], lambda _: [ASIDE - 0.001]) == {}


@given(recalls())
def test_only_outside_claims_stand_aside_and_only_for_what_precedes_them(found: list[Candidate]) -> None:
    by_id = {candidate.belief.id: candidate for candidate in found}
    for id_, memories in adjudicate(found, found, surely).items():
        assert not by_id[id_].belief.claim.from_user
        assert all(precedes(by_id[memory.id], by_id[id_]) for memory in memories)


@given(recalls(), st.randoms())
def test_the_order_of_what_was_recalled_does_not_matter(found: list[Candidate], shuffle: random.Random) -> None:
    shuffled = found.copy()
    shuffle.shuffle(shuffled)
    assert adjudicate(found, found, surely).keys() == adjudicate(shuffled, shuffled, surely).keys()


@given(recalls())
def test_somebody_always_stands(found: list[Candidate]) -> None:
    """A question is never left without any of the memories that it recalled."""
    assert len(adjudicate(found, found, surely)) < max(1, len(found))


@given(recalls())
def test_without_a_chance_everything_stands(found: list[Candidate]) -> None:
    assert adjudicate(found, found, never) == {}
