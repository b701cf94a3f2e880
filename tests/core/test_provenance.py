"""Sources: how they are read, which identities are refused, and what raises or lowers assurance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import ASSISTANT, COURIER, SHOP, UNVERIFIED_COURIER, USER, a_claim, lineages, sources
from thymus.core.provenance import UNPRINTABLE, Assurance, Source, lineage_of
from thymus.errors import SourceError

REPORTED, CLAIMED, AUTHENTICATED, ATTESTED = Assurance


@pytest.mark.parametrize(
    ("given_", "authenticated", "key", "assurance"),
    [
        ("user", None, "user", ATTESTED),
        ("user", True, "user", ATTESTED),
        ("user", False, "user", CLAIMED),
        ("  USER  ", None, "user", ATTESTED),
        ("user:ME", None, "user", CLAIMED),
        ("user:ME", True, "user", ATTESTED),
        ("user:ravi", None, "user:ravi", CLAIMED),
        ("user:ravi", True, "user:ravi", AUTHENTICATED),
        ("email:A@B.Example", None, "email:a@b.example", CLAIMED),
        ("Email: a@b.example ", True, "email:a@b.example", AUTHENTICATED),
        ("email:a@b.example", False, "email:a@b.example", CLAIMED),
        ("tool:calendar", True, "tool:calendar", AUTHENTICATED),
        ("web:shop.example:8080/a", None, "web:shop.example:8080/a", CLAIMED),
        ("web", True, "web", AUTHENTICATED),
        ("assistant", None, "assistant", REPORTED),
        ("assistant", True, "assistant", REPORTED),
        ("assistant:planner", True, "assistant:planner", REPORTED),
    ],
)
def test_parse(given_: str, authenticated: bool | None, key: str, assurance: Assurance) -> None:
    source = Source.parse(given_, authenticated=authenticated, user_id="me")
    assert (key, assurance) == (source.key, source.assurance)


def test_the_user_is_only_recognised_by_the_users_own_id() -> None:
    assert not Source.parse("user:me", user_id="ravi").names_user
    assert not Source.parse("user:me").names_user
    assert Source.user() == Source.parse("user:me", user_id="Me", authenticated=True)
    assert not Source.parse("user:me", user_id="Me").is_user


def test_truthy_words_prove_nothing() -> None:
    for word in ("fail", "none", "pass", 1):
        with pytest.raises(SourceError, match="True, False or None"):
            Source.parse("email:a@b.example", authenticated=word)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("authenticated", "assurance"), [(None, AUTHENTICATED), (False, CLAIMED), (True, AUTHENTICATED)]
)
def test_a_source_that_is_passed_on_keeps_what_was_proved_unless_told_otherwise(
    authenticated: bool | None, assurance: Assurance
) -> None:
    assert assurance is Source.parse(COURIER, authenticated=authenticated).assurance


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        ":",
        ":a@b.example",
        "e mail:a",
        "é:a",
        "1mail:a",
        "x" * 33,
        "email:a\nb",
        "email:a\x00b",
        "email:a\x1b[31mb",
        "email:a\u202eb",
        "email:a\u200bb",
        "email:a\u2028b",
        "email:a\ufeffb",
        "email:a\ud800b",
        "email:" + "a" * 1_001,
    ],
)
def test_what_is_no_channel_or_cannot_be_shown_is_refused(hostile: str) -> None:
    with pytest.raises(SourceError, match=r"channel|identity"):
        Source.parse(hostile)


@pytest.mark.parametrize("hostile", [None, 3, b"user", ["user"]])
def test_what_is_no_string_is_refused(hostile: object) -> None:
    with pytest.raises(SourceError, match="a source is a string"):
        Source.parse(hostile)  # type: ignore[arg-type]


def test_only_the_user_can_be_attested() -> None:
    with pytest.raises(SourceError, match="ATTESTED"):
        Source(channel="email", identity="a@b.example", assurance=ATTESTED)


@given(st.text(max_size=60), st.sampled_from([None, True, False]))
def test_any_text_is_read_or_refused(text: str, authenticated: bool | None) -> None:
    try:
        source = Source.parse(text, authenticated=authenticated, user_id="me")
    except SourceError:
        return
    assert not UNPRINTABLE.search(source.key)
    assert source.key == Source.parse(source.key, user_id="me").key
    assert source.is_user == (source.key == "user" and authenticated is not False)
    assert source.is_user or source.assurance < ATTESTED


def test_a_look_alike_letter_makes_another_identity() -> None:
    kelvin = Source.parse("email:\u212aim@b.example")
    assert kelvin.key != Source.parse("email:kim@b.example").key


def test_two_anonymous_sources_are_never_one() -> None:
    assert Source.parse("web").anonymous
    assert not Source.user().anonymous
    assert not Source.parse("user", authenticated=False).anonymous
    assert not COURIER.anonymous


@given(st.lists(st.tuples(sources, lineages), max_size=4))
def test_a_lineage_is_flat_sorted_and_holds_each_source_once(inputs: list[tuple[Source, tuple[Source, ...]]]) -> None:
    found = lineage_of(inputs)
    assert found == lineage_of([*reversed(inputs), *inputs])
    assert len(set(found)) == len(found)
    assert set(found) == {source for direct, inherited in inputs for source in (direct, *inherited)}


def test_a_claims_assurance_is_its_weakest_inputs() -> None:
    assert ATTESTED is a_claim(source=USER).assurance
    assert CLAIMED is a_claim(source=USER, derived_from=(UNVERIFIED_COURIER,)).assurance
    assert REPORTED is a_claim(source=ASSISTANT, derived_from=(USER, COURIER)).assurance


def test_a_claim_is_the_users_only_where_nothing_of_it_came_from_elsewhere() -> None:
    assert a_claim(source=USER, derived_from=(USER,)).from_user
    assert not a_claim(source=USER, derived_from=(SHOP,)).from_user
    assert not a_claim(source=ASSISTANT, derived_from=(USER,)).from_user


def test_what_was_derived_belongs_to_those_it_was_derived_from() -> None:
    assert frozenset({COURIER.key}) == a_claim(source=COURIER).origins
    assert frozenset({COURIER.key, SHOP.key}) == a_claim(source=ASSISTANT, derived_from=(COURIER, SHOP)).origins
