"""Figures of judges: what they come to on small cases worked by hand, and what a file of labelled pairs may hold."""

from __future__ import annotations

import contextlib
import json
import math
from collections import Counter
from dataclasses import asdict
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thymus.core.relations import Label, Relation
from thymus.errors import InputError
from thymus.judge_report import (
    LABELS,
    Agreement,
    Labelled,
    Obedience,
    Scores,
    disagreements,
    f1,
    kappa,
    lowered,
    macro_f1,
    read_labelled,
    resample,
    share,
)
from thymus.ports import Statement
from thymus_bench import stats

CONTRADICTS, SAME, COMPATIBLE, UNKNOWN = Label.CONTRADICTS, Label.SAME, Label.COMPATIBLE, Label.UNKNOWN


def pair(label: Label, *, aim: Label | None = None, name: str = "p") -> Labelled:
    stored, incoming = Statement(text="It opens at 8."), Statement(text="It opens at 9.")
    return Labelled(id=name, stored=stored, incoming=incoming, label=label, aim=aim)


def said(label: Label, contradiction: float = -1.0) -> Relation:
    if label is UNKNOWN:
        return Relation.unknown("no answer")
    return Relation(label=label, confidence=0.9, contradiction=contradiction)


# Statistics


def test_a_share_has_its_wilson_interval() -> None:
    found = share(9, 10)
    assert (found.value, found.hits, found.of) == (0.9, 9, 10)
    assert (round(found.low, 3), round(found.high, 3)) == (0.596, 0.982)
    nothing = share(0, 0)
    assert (nothing.value, nothing.low, nothing.high) == (None, 0.0, 1.0)


@given(st.integers(1, 500).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_shares_are_those_of_the_benchmark(counts: tuple[int, int]) -> None:
    low, high = stats.wilson(*counts)
    found = share(*counts)
    assert math.isclose(low, found.low, abs_tol=1e-12)
    assert math.isclose(high, found.high, abs_tol=1e-12)


@given(st.tuples(*[st.integers(0, 40)] * 4))
def test_kappa_of_two_answers_is_that_of_the_benchmark(cells: tuple[int, int, int, int]) -> None:
    couples = Counter(dict(zip((("y", "y"), ("y", "n"), ("n", "y"), ("n", "n")), cells, strict=True)))
    expected = stats.kappa(*cells)
    found = kappa(couples)
    assert (expected is None) == (found is None)
    assert expected is None or found is None or math.isclose(expected, found)


def test_kappa_of_three_answers() -> None:
    couples = Counter({("a", "a"): 20, ("b", "b"): 10, ("c", "c"): 10, ("a", "b"): 5, ("b", "c"): 5})
    assert math.isclose((40 / 50 - (25 * 20 + 15 * 15 + 10 * 15) / 2500) / (1 - 875 / 2500), kappa(couples) or 0)


def test_f1_leaves_out_labels_that_no_item_has() -> None:
    couples: Counter[tuple[str, str]] = Counter(
        {("contradicts", "contradicts"): 3, ("contradicts", "same"): 1, ("same", "contradicts"): 1, ("same", "same"): 1}
    )
    assert f1(couples, "contradicts") == 0.75
    assert f1(couples, "compatible") is None
    assert macro_f1(couples) == (0.75 + 0.5) / 2
    assert macro_f1(Counter()) is None


def test_resampling_is_the_same_every_time_and_encloses_the_value() -> None:
    couples: Counter[tuple[str, str]] = Counter({("same", "same"): 30, ("same", "compatible"): 10})
    found = resample(couples, lambda drawn: f1(drawn, "same"))
    assert found == resample(couples, lambda drawn: f1(drawn, "same"))
    assert found.low < (found.value or 0) < found.high


# Judges


def test_scores_follow_label_detected_and_confirmed_apart() -> None:
    pairs = [pair(CONTRADICTS), pair(CONTRADICTS), pair(CONTRADICTS), pair(SAME), pair(COMPATIBLE)]
    answers = [said(CONTRADICTS, 0.9), said(COMPATIBLE, 0.3), said(SAME, 0.1), said(SAME, 0.0), said(CONTRADICTS, 0.7)]
    scores = Scores.of(pairs, answers)
    assert (scores.accuracy.hits, scores.accuracy.of) == (2, 5)
    assert (scores.detected.hits, scores.detected.of) == (2, 3)
    assert (scores.alarms.hits, scores.alarms.of) == (1, 2)
    assert (scores.precision.hits, scores.precision.of) == (1, 2)
    assert (scores.confirmed.hits, scores.confirmed.of) == (1, 3)
    assert scores.f1_contradicts.value == 2 / 5


def test_no_answer_is_wrong_and_careful() -> None:
    scores = Scores.of([pair(CONTRADICTS), pair(SAME)], [said(UNKNOWN), said(UNKNOWN)])
    assert (scores.unknown, scores.accuracy.hits) == (2, 0)
    assert (scores.detected.hits, scores.alarms.hits) == (1, 1)


def test_of_nothing_there_are_no_figures() -> None:
    scores = Scores.of([], [])
    assert {None} == {figure["value"] for figure in asdict(scores).values() if isinstance(figure, dict)}
    assert Agreement.of([], []).kappa.value is None


def test_agreement_is_about_labels() -> None:
    agreed = Agreement.of([said(SAME), said(CONTRADICTS, 0.9)], [said(SAME), said(COMPATIBLE)])
    assert (agreed.alike.hits, agreed.alike.of) == (1, 2)


def test_disagreements_of_several_judges_and_mistakes_of_one() -> None:
    pairs = [pair(SAME, name="a"), pair(SAME, name="b"), pair(SAME, name="c")]
    one, other = [said(SAME), said(SAME), said(COMPATIBLE)], [said(SAME), said(COMPATIBLE), said(COMPATIBLE)]
    assert [found.pair.id for found in disagreements(pairs, {"one": one, "other": other})] == ["b"]
    assert [found.pair.id for found in disagreements(pairs, {"other": other})] == ["b", "c"]


def test_what_an_order_does_is_told_from_what_a_judge_gets_wrong_anyway() -> None:
    orders = [pair(CONTRADICTS, aim=COMPATIBLE)] * 4
    without = [said(CONTRADICTS, 0.9), said(CONTRADICTS, 0.9), said(COMPATIBLE, 0.1), said(COMPATIBLE, 0.5)]
    answers = [said(CONTRADICTS, 0.9), said(COMPATIBLE, 0.1), said(COMPATIBLE, 0.1), said(COMPATIBLE, 0.3)]
    found = Obedience.of(orders, answers, without)
    assert (found.obeyed.hits, found.obeyed.of) == (3, 4)
    assert (found.turned.hits, found.turned.of) == (1, 2)
    assert (found.missed.hits, found.missed.of) == (1, 3)


def test_caution_is_lowered_only_where_the_first_judge_had_it() -> None:
    first = [said(CONTRADICTS, 0.9), said(COMPATIBLE, 0.3), said(SAME, 0.0), said(CONTRADICTS, 0.9)]
    merged = [said(CONTRADICTS, 0.2), said(COMPATIBLE, 0.1), said(CONTRADICTS, 0.9), said(UNKNOWN)]
    assert lowered(first, merged) == [1]


# Files


def line(**given: object) -> str:
    return json.dumps({"stored": "It opens at 8.", "incoming": "It opens at 9.", "label": "contradicts"} | given)


def test_a_line_needs_two_statements_and_a_label() -> None:
    (found,) = read_labelled(f"\n{line(extra=[1])}\r\n", "x")
    assert (
        found.id,
        found.label,
        found.incoming.text,
        found.incoming.speaker,
    ) == ("2", CONTRADICTS, "It opens at 9.", None)


def test_a_line_may_say_who_speaks_and_what_an_order_is_after() -> None:
    text = line(stored_source="user", incoming_source="email:a@b.example", aim="same", plain_incoming="At 9.")
    (found,) = read_labelled(text, "x")
    assert found.stored.speaker is not None
    assert found.stored.speaker.is_user
    assert found.plain is not None
    assert tuple(side.text for side in found.plain) == ("It opens at 8.", "At 9.")
    assert found.plain[1].speaker == found.incoming.speaker
    assert found.aim is SAME


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "x, line 1 is no JSON"),
        (f"{line()}\n[1]", "x, line 2 is no JSON object"),
        (f"{line()}\n\n{line(label='contradict')}", "x, line 3 has label 'contradict': write contradicts, same or com"),
        (line(label=None), "x, line 1 has label 'None'"),
        (line(label=["same"]), "x, line 1 has label"),
        ('{"stored": "a", "incoming": "b"}', "x, line 1 has no 'label'"),
        (line(incoming="  "), "x, line 1 has no 'incoming'"),
        (line(stored=8), "x, line 1 has no 'stored'"),
        (line(aim="unknown"), "x, line 1 has aim 'unknown'"),
        (line(stored_source="user:"), "x, line 1, stored_source: "),
        (line(stored_source=7), "x, line 1, stored_source: "),
        (" \n", "x has no pairs"),
        ("[" * 100_000, "x, line 1 is no JSON"),
    ],
)
def test_what_is_no_labelled_pair_is_named_with_its_line(text: str, told: str) -> None:
    with pytest.raises(InputError) as raised:
        read_labelled(text, "x")
    assert str(raised.value).startswith(told)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InputError):
        assert read_labelled(text, "x")


# What comes with Thymus


def bundled(name: str) -> list[Labelled]:
    return read_labelled(resources.files("thymus").joinpath("data", name).read_text("utf-8"), name)


def test_bundled_pairs_have_every_label_and_many_phenomena() -> None:
    pairs = bundled("judge_pairs.jsonl")
    assert len(pairs) == len({one.id for one in pairs}) == 200
    counts = Counter(one.label for one in pairs)
    assert min(counts[label] for label in LABELS) >= 30
    assert len({one.phenomenon for one in pairs}) >= 50
    assert {"hold1", "hold2"} == {one.id.partition("-")[0] for one in pairs}


def test_every_bundled_order_is_after_another_answer_than_the_label() -> None:
    orders = bundled("judge_injections.jsonl")
    assert len(orders) == len({one.id for one in orders}) >= 60
    for order in orders:
        assert order.aim not in (None, order.label), order.id
        assert order.plain is not None
        assert order.plain != order.given, order.id
    assert min(Counter(one.label for one in orders)[label] for label in LABELS) >= 3
    assert len({one.phenomenon for one in orders}) >= 15


def test_bundled_orders_show_what_cannot_be_seen_as_escapes() -> None:
    text = resources.files("thymus").joinpath("data", "judge_injections.jsonl").read_text("utf-8")
    assert not [letter for letter in text if letter != "\n" and not letter.isprintable()]
