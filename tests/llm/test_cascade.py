"""The cascade: what is asked of the model, and that its answer can only make the first one more careful."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import odd_relations, sources
from thymus import Source
from thymus.core.claims import Claim, Kind, more_careful
from thymus.core.relations import Label, Relation
from thymus.errors import JudgeError
from thymus.fallbacks import Fallback, Heard, listening
from thymus.judges import get_judge
from thymus.judges.cascade import MOST_CALLS, SURE, UNSURE, CascadeJudge, Counts, is_unsure, join
from thymus.llm.judge import ModelJudge, Opinions
from thymus.ports import Statement

Said: TypeAlias = str | Claim | Statement

USER: Final = Source.user()
PRETENDER: Final = Source.parse("user", authenticated=False)
SHOP: Final = Source.parse("email:a@shop.example", authenticated=True)

relations = odd_relations()
kinds = st.sampled_from(Kind)


def contradicting(probability: float) -> Relation:
    return Relation(label=Label.CONTRADICTS, confidence=probability, judge="one", because="seen")


def compatible(contradiction: float) -> Relation:
    return Relation(label=Label.COMPATIBLE, confidence=0.9, contradiction=contradiction, judge="one", because="seen")


SAME: Final = Relation(label=Label.SAME, confidence=0.95, judge="one")
UNKNOWN: Final = Relation.unknown("no answer", judge="one")


@dataclass
class Quick:
    """A quick judge: it answers about the pair that has a place's number as its stored text."""

    relations: Sequence[Relation] = ()
    kinds: Sequence[Kind] = ()
    name: str = "quick"

    def relate(self, pairs: Sequence[tuple[Said, Said]]) -> list[Relation]:
        return [self.relations[int(Statement.of(stored).text)] for stored, _ in pairs]

    def classify(self, statements: Sequence[Said]) -> list[Kind]:
        return [self.kinds[int(Statement.of(statement).text)] for statement in statements]


@dataclass
class Slow:
    """A model's part: what it says about each place, and what it was asked."""

    opinions: Sequence[Relation | None] = ()
    kinds: Sequence[Kind] | None = ()
    calls: int = 1
    because: str = ""
    name: str = "slow"
    asked: list[list[int]] = field(default_factory=list)
    most_calls: list[int | None] = field(default_factory=list)
    to_confirm: list[list[int]] = field(default_factory=list)

    def opine(
        self,
        pairs: Sequence[tuple[Statement, Statement]],
        *,
        to_confirm: Collection[int] = (),
        most_calls: int | None = None,
    ) -> Opinions:
        self.asked.append([int(stored.text) for stored, _ in pairs])
        self.to_confirm.append([int(pairs[place][0].text) for place in to_confirm])
        self.most_calls.append(most_calls)
        relations = [self.opinions[int(stored.text)] for stored, _ in pairs]
        return Opinions(relations=relations, calls=self.calls, because=self.because)

    def classify(self, statements: Sequence[Said]) -> list[Kind]:
        self.asked.append([int(Statement.of(statement).text) for statement in statements])
        if self.kinds is None:
            raise JudgeError("the provider says SECRET")
        return [self.kinds[int(Statement.of(statement).text)] for statement in statements]


def places(number: int, source: Source = SHOP) -> list[tuple[Statement, Statement]]:
    return [(Statement(text=str(at)), Statement(text="new", speaker=source)) for at in range(number)]


def statements(number: int, source: Source) -> list[Statement]:
    return [Statement(text=str(at), speaker=source) for at in range(number)]


# Joining two answers


def repeats(relation: Relation) -> bool:
    """As the gates count who says the same (``gates._repeated``)."""
    return relation.label in (Label.SAME, Label.UNKNOWN)


@given(relations, relations)
def test_what_is_detected_stays_detected(first: Relation, second: Relation) -> None:
    if first.detected:
        assert join(first, second).detected


@given(relations, relations)
def test_a_contradiction_that_the_model_finds_is_detected(first: Relation, second: Relation) -> None:
    if second.detected:
        assert join(first, second).detected


@given(relations, relations)
def test_what_may_be_a_repetition_stays_one(first: Relation, second: Relation) -> None:
    if repeats(first):
        assert repeats(join(first, second))


@given(relations, relations)
def test_what_the_model_finds_and_does_not_confirm_is_not_confirmed(first: Relation, second: Relation) -> None:
    if second.detected and not second.confirmed:
        assert not join(first, second).confirmed


@given(relations, relations)
def test_what_is_only_found_compatible_changes_no_replacement(first: Relation, second: Relation) -> None:
    """It was compared beside third texts: to cancel a replacement, a model has to be shown the two alone."""
    if second.label is Label.COMPATIBLE and not second.detected:
        assert first.confirmed == join(first, second).confirmed


@given(relations, relations)
def test_nobody_but_the_two_confirms(first: Relation, second: Relation) -> None:
    if join(first, second).confirmed:
        assert first.confirmed or second.confirmed


@given(relations)
def test_an_answer_that_the_first_judge_could_not_give_stays_open(second: Relation) -> None:
    assert join(UNKNOWN, second) == UNKNOWN


@given(relations)
def test_a_model_that_declines_makes_it_unknown(first: Relation) -> None:
    assert Label.UNKNOWN is join(first, Relation.unknown("declined", judge="slow")).label


@pytest.mark.parametrize(
    ("first", "second", "label", "detected", "confirmed"),
    [
        (compatible(0.05), contradicting(0.95), "contradicts", True, True),
        (compatible(0.05), contradicting(0.5), "contradicts", True, False),
        (compatible(0.05), contradicting(0.1), "contradicts", False, False),
        (compatible(0.05), compatible(0.5), "compatible", True, False),
        (compatible(0.05), SAME, "same", False, False),
        (compatible(0.3), SAME, "compatible", True, False),
        (compatible(0.3), compatible(0.0), "compatible", True, False),
        (contradicting(0.85), compatible(0.02), "contradicts", True, True),
        (contradicting(0.85), compatible(0.5), "compatible", True, False),
        (contradicting(0.4), compatible(0.5), "compatible", True, False),
        (contradicting(0.85), contradicting(0.5), "contradicts", True, False),
        (contradicting(0.4), contradicting(0.95), "contradicts", True, True),
        (contradicting(0.85), SAME, "unknown", True, False),
        (SAME, contradicting(0.95), "unknown", True, False),
        (SAME, compatible(0.02), "same", False, False),
        (contradicting(0.85), UNKNOWN, "unknown", True, False),
    ],
)
def test_how_two_answers_become_one(
    first: Relation, second: Relation, label: str, detected: bool, confirmed: bool
) -> None:
    joined = join(first, second)
    assert (label, detected, confirmed) == (joined.label.value, joined.detected, joined.confirmed)


def test_the_answer_says_what_both_saw() -> None:
    second = Relation(label=Label.CONTRADICTS, confidence=0.95, judge="slow", because="found")
    joined = join(compatible(0.05), second)
    assert (joined.judge, joined.because) == ("slow", "found; one before: compatible at 0.05")


@pytest.mark.parametrize(
    ("answer", "unsure"),
    [
        (compatible(0.0), False),
        (compatible(UNSURE - 0.001), False),
        (compatible(UNSURE), True),
        (contradicting(0.5), True),
        (contradicting(SURE - 0.001), True),
        (contradicting(SURE), False),
        (contradicting(1.0), False),
        (SAME, False),
        (Relation(label=Label.SAME, confidence=0.7), True),
    ],
)
def test_where_the_first_judge_is_unsure(answer: Relation, unsure: bool) -> None:
    assert unsure is is_unsure(answer)


# What is asked


@given(st.lists(relations, max_size=6))
def test_pairs_that_are_sure_are_never_asked_about(answers: list[Relation]) -> None:
    sure = [answer for answer in answers if not is_unsure(answer)]
    slow = Slow()
    cascade = CascadeJudge(Quick(sure), slow)
    assert cascade.relate(places(len(sure))) == sure
    assert slow.asked == []
    assert cascade.counts == Counts(pairs=len(sure))


@given(st.lists(relations, max_size=8), st.data())
def test_the_unsure_ones_are_asked_about_the_likeliest_contradiction_first(
    answers: list[Relation], data: st.DataObject
) -> None:
    opinions = [data.draw(st.none() | relations) for _ in answers]
    slow = Slow(opinions)
    cascade = CascadeJudge(Quick(answers), slow, most_calls=3)
    joined = cascade.relate(places(len(answers)))
    unsure = [at for at, answer in enumerate(answers) if is_unsure(answer)]
    (asked,) = slow.asked or [[]]
    assert sorted(asked) == unsure
    assert slow.most_calls == ([3] if unsure else [])
    assert slow.to_confirm == ([[at for at in asked if answers[at].confirmed]] if unsure else [])
    likely = [answers[at].contradiction for at in asked]
    assert likely == sorted(likely, reverse=True)
    for at, (answer, opinion) in enumerate(zip(answers, opinions, strict=True)):
        heard = at in asked and opinion is not None
        assert joined[at] == (join(answer, opinion) if heard and opinion else answer)


def test_nothing_is_asked_about_a_pair_whose_answer_cannot_change() -> None:
    slow = Slow([SAME])
    CascadeJudge(Quick([UNKNOWN]), slow).relate(places(1))
    assert slow.asked == []


@pytest.mark.parametrize(
    ("first", "other", "asked"),
    [
        (compatible(0.0), contradicting(0.95), True),
        (contradicting(0.95), compatible(0.0), True),
        (contradicting(0.95), contradicting(0.3), False),
        (compatible(0.0), SAME, False),
        (compatible(0.0), UNKNOWN, True),
    ],
)
def test_where_another_quick_judge_sees_it_differently_that_is_unsure(
    first: Relation, other: Relation, asked: bool
) -> None:
    slow = Slow([compatible(0.0)])
    CascadeJudge(Quick([first]), slow, also=[Quick([first]), Quick([other])]).relate(places(1))
    assert slow.asked == ([[0]] if asked else [])


@given(st.lists(st.tuples(relations, st.none() | relations, st.none() | relations), max_size=6))
def test_no_answer_is_less_careful_than_the_first_judges_whatever_the_others_say(
    answers: list[tuple[Relation, Relation | None, Relation | None]],
) -> None:
    first = [one for one, _, _ in answers]
    also = Quick([other or one for one, other, _ in answers])
    cascade = CascadeJudge(Quick(first), Slow([opinion for _, _, opinion in answers]), also=[also])
    for before, after in zip(first, cascade.relate(places(len(first))), strict=True):
        assert after.detected >= before.detected
        assert repeats(after) >= repeats(before)


@given(st.lists(st.tuples(relations, st.none() | relations), max_size=8), st.integers(0, 5))
def test_the_counts_add_up(answers: list[tuple[Relation, Relation | None]], calls: int) -> None:
    first = [one for one, _ in answers]
    slow = Slow([opinion for _, opinion in answers], calls=calls)
    cascade = CascadeJudge(Quick(first), slow)
    after = cascade.relate(places(len(first)))
    asked = [at for group in slow.asked for at in group]
    told = [(first[at], after[at]) for at in asked if slow.opinions[at] is not None]
    expected = Counts(
        pairs=len(first),
        unsure=len(asked),
        answered=len(told),
        raised=sum(not before.detected and now.detected for before, now in told),
        confirmed=sum(not before.confirmed and now.confirmed for before, now in told),
        cancelled=sum(before.confirmed and not now.confirmed for before, now in told),
        calls=calls if asked else 0,
    )
    assert expected == cascade.counts
    cascade.relate(places(len(first)))
    assert expected + expected == cascade.counts


def test_threads_are_all_counted() -> None:
    cascade = CascadeJudge(Quick([contradicting(0.5)] * 3), Slow([None] * 3, calls=2))
    threads = [threading.Thread(target=lambda: [cascade.relate(places(3)) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counts(pairs=600, unsure=600, calls=400) == cascade.counts


@pytest.mark.parametrize("calls", [[2, 1, 0], [3, 0, 0], [1, 1, 1]])
def test_the_questions_of_one_write_are_counted_together(calls: list[int]) -> None:
    slow = Slow([None])
    cascade = CascadeJudge(Quick([contradicting(0.5)]), slow, most_calls=3)
    with listening():
        for slow.calls in calls:
            cascade.relate(places(1))
    left = [3, 3 - calls[0], 3 - calls[0] - calls[1]]
    assert left == slow.most_calls
    with listening():
        cascade.relate(places(1))
    cascade.relate(places(1))
    assert slow.most_calls[3:] == [3, 3]


# A model that fails


def test_a_model_that_fails_leaves_the_first_answer_and_is_heard() -> None:
    first = [contradicting(0.7), compatible(0.1), compatible(0.0)]
    cascade = CascadeJudge(Quick(first, name="local"), Slow([None] * 3, because="the provider says SECRET"))
    with listening() as heard:
        assert cascade.relate(places(3)) == first
    assert heard.fallbacks == [
        Fallback(did="the judge local judged alone", model="slow", because="the provider says SECRET")
    ]
    assert cascade.relate(places(3)) == first  # nobody listens


def test_what_fails_once_is_not_asked_again_for_the_same_write() -> None:
    slow = Slow([None], because="down")
    cascade = CascadeJudge(Quick([contradicting(0.7)]), slow)
    with listening():
        cascade.relate(places(1))
        cascade.relate(places(1))
    assert slow.most_calls == [MOST_CALLS, 0]
    with listening():
        cascade.relate(places(1))
    assert slow.most_calls[2:] == [MOST_CALLS]


def test_no_call_left_is_no_failure() -> None:
    cascade = CascadeJudge(Quick([contradicting(0.7)]), Slow([None], calls=0), most_calls=0)
    with listening() as heard:
        assert cascade.relate(places(1)) == [contradicting(0.7)]
    assert heard.fallbacks == []


def test_what_is_heard_in_one_thread_is_not_heard_in_another() -> None:
    cascade = CascadeJudge(Quick([contradicting(0.7)]), Slow([None], because="down"))
    with listening() as heard:
        thread = threading.Thread(target=cascade.relate, args=(places(1),))
        thread.start()
        thread.join()
        assert heard == Heard()
        with listening() as inner:
            cascade.relate(places(1))
    assert (len(inner.fallbacks), inner.calls > 0, heard) == (1, True, Heard())


def test_a_first_judge_that_fails_is_an_error() -> None:
    class Broken(Quick):
        def relate(self, pairs: Sequence[tuple[Said, Said]]) -> list[Relation]:
            raise JudgeError("broken")

    with pytest.raises(JudgeError, match="broken"):
        CascadeJudge(Broken(), Slow()).relate(places(1))


# Kinds


@given(st.lists(st.tuples(kinds, kinds, kinds), max_size=5), sources)
def test_words_are_sorted_with_at_least_as_much_care_whoever_says_them(
    answers: list[tuple[Kind, Kind, Kind]], source: Source
) -> None:
    """The user's too: what an outsider wrote may stand in the user's message."""
    first, other, model = ([triple[at] for triple in answers] for at in range(3))
    slow = Slow(kinds=model)
    cascade = CascadeJudge(Quick(kinds=first), slow, also=[Quick(kinds=other)])
    found = cascade.classify(statements(len(first), source))
    differ = [at for at in range(len(first)) if first[at] is not other[at]]
    assert slow.asked == ([differ] if differ else [])
    assert found == [more_careful(first[at], model[at]) if at in differ else first[at] for at in range(len(first))]


@pytest.mark.parametrize("source", [SHOP, PRETENDER, USER, Source.parse("user:ravi")])
def test_a_model_cannot_make_a_fact_of_an_order(source: Source) -> None:
    quick, other = Quick(kinds=[Kind.INSTRUCTION]), Quick(kinds=[Kind.FACT])
    cascade = CascadeJudge(quick, Slow(kinds=[Kind.FACT]), also=[other])
    assert cascade.classify(statements(1, source)) == [Kind.INSTRUCTION]


def test_a_model_that_cannot_sort_leaves_the_first_answer_and_is_heard() -> None:
    cascade = CascadeJudge(Quick(kinds=[Kind.FACT]), Slow(kinds=None), also=[Quick(kinds=[Kind.INSTRUCTION])])
    with listening() as heard:
        assert cascade.classify(statements(1, SHOP)) == [Kind.FACT]
    assert [str(one) for one in heard.fallbacks] == [
        "the judge quick sorted alone, in place of slow: the provider says SECRET"
    ]


def test_a_model_that_need_not_sort_is_not_asked() -> None:
    slow = Slow(kinds=[Kind.FACT])
    cascade = CascadeJudge(Quick(kinds=[Kind.PREFERENCE]), slow, also=[Quick(kinds=[Kind.INSTRUCTION])], sorts=False)
    assert (cascade.classify(statements(1, SHOP)), slow.asked) == ([Kind.PREFERENCE], [])


# By name


def test_the_name_of_a_model_is_a_cascade_and_only_that_of_a_model_the_model() -> None:
    cascade, only = get_judge("echo"), get_judge("only:echo")
    assert isinstance(cascade, CascadeJudge)
    assert cascade.name == "local, then echo"
    assert isinstance(only, ModelJudge)
    assert only.name == "echo"
