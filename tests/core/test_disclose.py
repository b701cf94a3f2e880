"""What a recall shows: context lines, the notice, and that our own wording is recognised when it comes back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import (
    ASSISTANT,
    COURIER,
    LOOKALIKE,
    SHOP,
    SOURCES,
    UNVERIFIED_COURIER,
    USER,
    a_belief,
    lineages,
    outsiders,
    sources,
)
from thymus.core.beliefs import Belief, Status
from thymus.core.disclose import MOST_DISCLOSED, Contest, compose, mask_own_wording
from thymus.core.gates import GATES, THYMUS_V3, UNSAFE_BOUNDED_OCCUPANCY, UNSAFE_THYMUS_V1, UNSAFE_THYMUS_V2
from thymus.core.policy import Showing
from thymus.core.provenance import Source
from thymus.core.quoting import name
from timing import cpu_seconds

words = st.sampled_from(
    [
        "delivery is 5 pm",
        "“quoted” words",
        "- bullet",
        "a (from b)",
        "• said “x” on 2026-01-01",
        "two\nlines",
        "  ",
        "x" * 3_000,
    ]
)
statuses = st.sampled_from(Status)
DISCLOSING = [policy for policy in GATES.values() if policy.showing is Showing.WITHHOLD]
texts = st.one_of(words, st.text(min_size=1, max_size=60))


@st.composite
def some_beliefs(draw: st.DrawFn, speakers: st.SearchStrategy[Source] = sources, most: int = 5) -> list[Belief]:
    return [
        a_belief(
            f"m_{number}",
            draw(texts),
            draw(speakers),
            derived_from=draw(lineages),
            status=draw(statuses),
            seq=number,
        )
        for number in range(draw(st.integers(0, most)))
    ]


@st.composite
def recalled(draw: st.DrawFn) -> tuple[list[Belief], list[Contest]]:
    hits = draw(some_beliefs())
    held = [
        Contest(
            belief=a_belief(f"c_{n}", draw(texts), draw(outsiders), status=Status.CONTESTED, seq=100 + n),
            rivals=tuple(draw(st.lists(st.sampled_from(hits), max_size=2)) if hits else ()),
        )
        for n in range(draw(st.integers(0, 4)))
    ]
    return hits, held


def _contest(number: int, text: str, source: Source = LOOKALIKE, rival: Belief | None = None) -> Contest:
    belief = a_belief(f"c_{number}", text, source, status=Status.CONTESTED, seq=number)
    return Contest(belief=belief, rivals=(rival,) if rival else ())


def test_the_context_labels_what_is_not_the_users() -> None:
    hits = [
        a_belief("m_1", "standup is at 9:15"),
        a_belief("m_2", "delivery is 5 pm", COURIER),
        a_belief("m_3", "the shop closes at 8", ASSISTANT, derived_from=(SHOP,)),
    ]
    assert (
        compose(THYMUS_V3, hits, ()).context == "- standup is at 9:15\n"
        "- “delivery is 5 pm” (from email:courier@parcels.example; verified sender; 2026-03-02)\n"
        "- “the shop closes at 8” (from assistant; reported by a model; derived from web:shop[.]example; 2026-03-02)"
    )


def test_a_single_contested_claim_is_told_in_three_sentences() -> None:
    contest = _contest(1, "delivery is 7 pm", LOOKALIKE, a_belief("m_1", "delivery is 5 pm", COURIER))
    assert (
        compose(THYMUS_V3, (), [contest]).notice == "I also have unconfirmed information that contradicts what I know. "
        "An e-mail from email:courier@parce1s.example (verified sender) said “delivery is 7 pm” on 2026-03-02; "
        "an e-mail from email:courier@parcels.example (verified sender) said “delivery is 5 pm”. "
        "I have not used it. Tell me if it is right."
    )


def test_nothing_contested_nothing_said() -> None:
    assert compose(THYMUS_V3, [a_belief()], ()).notice == ""


@pytest.mark.parametrize("number", [2, MOST_DISCLOSED, MOST_DISCLOSED + 1, 60])
def test_many_contested_claims_are_told_newest_first_and_the_rest_counted(number: int) -> None:
    contests = [
        _contest(n, f"delivery is {n} pm", Source(channel="email", identity=f"s{n}@x.example")) for n in range(number)
    ]
    lines = compose(THYMUS_V3, (), contests).notice.split("\n")
    told = [line for line in lines if " said “" in line]
    assert [f"delivery is {n} pm" for n in range(number)][::-1][:MOST_DISCLOSED] == [
        re.findall("“([^”]*)”", line)[0] for line in told
    ]
    rest = [line for line in lines if "more such claims" in line]
    assert (number > MOST_DISCLOSED) == bool(rest)
    if rest:
        assert rest[0].startswith(f"• {number - MOST_DISCLOSED} more such claims, from email:s")
        assert rest[0].endswith(": ask about them, or see the inbox.")


def test_agreeing_sources_do_not_push_another_claim_out_of_the_notice() -> None:
    flood = [_contest(n, "delivery is 9 pm", Source(channel="email", identity=f"s{n}@x.example")) for n in range(1, 30)]
    notice = compose(THYMUS_V3, (), [*flood, _contest(0, "delivery is 6 pm", COURIER)]).notice
    assert "“delivery is 6 pm”" in notice
    assert "“delivery is 9 pm”" in notice


def test_one_wording_is_one_line_of_the_context() -> None:
    hits = [a_belief("m_1", "Delivery is 5 pm.", SHOP), a_belief("m_2", "delivery is 5 pm", USER)]
    assert [memory.id for memory in compose(THYMUS_V3, hits, ()).memories] == ["m_2"]


def test_bounded_occupancy_shows_one_outside_memory_and_all_of_the_users() -> None:
    hits = [a_belief("m_1", "a is 1", SHOP), a_belief("m_2", "b is 1"), a_belief("m_3", "c is 1", COURIER)]
    assert [memory.id for memory in compose(UNSAFE_BOUNDED_OCCUPANCY, hits, ()).memories] == ["m_1", "m_2"]


def test_v1_shows_contested_claims_to_the_model_with_a_warning() -> None:
    shown = compose(UNSAFE_THYMUS_V1, (), [_contest(1, "delivery is 7 pm")])
    assert "contradicts another memory, unconfirmed" in shown.context
    assert shown.notice == ""


@given(st.sampled_from(list(GATES.values())), recalled())
def test_a_context_has_one_line_a_memory(policy: object, found: tuple[list[Belief], list[Contest]]) -> None:
    hits, held = found
    shown = compose(policy, hits, held)  # type: ignore[arg-type]
    lines = shown.context.splitlines()
    extra = len(shown.contested) if policy is UNSAFE_THYMUS_V1 else 0
    assert len(shown.memories) + extra == len(lines)
    assert all(line.startswith("- ") for line in lines)
    assert all(memory.status is Status.ACTIVE for memory in shown.memories)
    assert all("\n" not in memory.source.key for memory in shown.memories)


@given(st.sampled_from(DISCLOSING), recalled())
def test_every_line_of_a_notice_and_every_label_is_recognised(
    policy: object, found: tuple[list[Belief], list[Contest]]
) -> None:
    """Only the user's own lines are left: they carry no label, and are the user's already."""
    shown = compose(policy, *found)  # type: ignore[arg-type]
    assert mask_own_wording(shown.notice).strip() == ""
    left = [line for line in mask_own_wording(shown.context).split("\n") if line.strip()]
    users = [line for line in shown.context.split("\n") if not re.search(r" \(from [^\n]*\)$", line)]
    assert left == [line for line in users if line.strip() and mask_own_wording(line).strip()]


@given(recalled())
def test_v1_and_v3_label_alike(found: tuple[list[Belief], list[Contest]]) -> None:
    v1, v2, v3 = (compose(policy, *found) for policy in (UNSAFE_THYMUS_V1, UNSAFE_THYMUS_V2, THYMUS_V3))
    assert (v2.context, v2.notice) == (v3.context, v3.notice)
    assert v1.context.startswith(v3.context)
    assert mask_own_wording(v1.context[len(v3.context) :]).strip() == ""


@given(recalled(), texts, st.sampled_from(["", "  ", "\t"]))
def test_masking_keeps_every_position_and_everything_else(
    found: tuple[list[Belief], list[Contest]], text: str, indent: str
) -> None:
    shown = compose(THYMUS_V3, *found)
    said = "Please note:\n" + text.replace("\n", " ")
    ours = "\n".join(indent + line for line in shown.notice.split("\n"))
    message = f"{said}\n{ours}\nBest wishes"
    masked = mask_own_wording(message)
    assert len(masked) == len(message)
    assert masked.endswith("\nBest wishes")
    assert masked.startswith("Please note:\n")
    assert masked[len(said) :][: len(ours)].strip() == ""


_OURS = ("I also have unconfirmed information", "I have not used it.")


@given(st.text(max_size=200).filter(lambda text: not any(mark in text for mark in ("•", "- “", "-“", *_OURS))))
def test_masking_leaves_other_peoples_words_alone(text: str) -> None:
    assert text == mask_own_wording(text)


@pytest.mark.parametrize(
    "text",
    [
        "- “Dune” (the book) is on my list",
        "- buy milk (from the corner shop)",
        "• The landlord said the rent is 900",
        "• we have 3 more such claims",
        "He said “fine” on 2026-01-01",
        "So I also have unconfirmed information that contradicts what I know.",
        "I have not used it. Tell me if it is right, please",
    ],
)
def test_what_only_resembles_our_wording_is_kept(text: str) -> None:
    assert text == mask_own_wording(text)


@pytest.mark.parametrize(
    "unit",
    [
        " more such claims, from ",
        " said “a” on ",
        " said “",
        ": see the inbox.",
        ") ",
        "• ",
        "- “",
        "“”",
        "\t",
        " ",
        "\n- ",
    ],
)
@pytest.mark.parametrize("start", ["", "• ", "- “a” (from ", "• 1 more such claims, from ", "I have not used it. "])
def test_masking_takes_linear_time(start: str, unit: str) -> None:
    text = start + unit * (400_000 // len(unit)) + "x"
    assert cpu_seconds(lambda: mask_own_wording(text), enough=1.5) < 1.5


def test_a_record_can_be_written_down() -> None:
    record = compose(THYMUS_V3, [a_belief(source=COURIER)], [_contest(1, "delivery is 7 pm")]).to_dict()
    assert list(record) == ["context", "notice", "memories", "contested"]
    assert record["memories"][0]["source"] == "email:courier@parcels.example"
    assert record["contested"][0]["status"] == "contested"


@given(st.sampled_from(SOURCES))
def test_a_notice_lists_the_source(source: Source) -> None:
    if not source.names_user:
        assert name(source) in compose(THYMUS_V3, (), [_contest(1, "x is 1", source)]).notice


def test_a_derived_claim_names_what_it_was_derived_from() -> None:
    belief = a_belief("c_1", "x is 1", ASSISTANT, derived_from=(UNVERIFIED_COURIER,), status=Status.CONTESTED)
    assert "derived from email:courier@parcels.example" in compose(THYMUS_V3, (), [Contest(belief=belief)]).notice
