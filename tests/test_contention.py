"""Whether claims answer a question otherwise than a memory: questions, the cheap numbers, and where they fail.

The network's words are only asked for where they are plain: how often it is right is measured by ``dev_eval``.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import COURIER, USER, a_belief
from thymus.core.adjudicate import NEARER, Candidate, Contention
from thymus.core.beliefs import Belief
from thymus.core.provenance import Source
from thymus.embed import HashEmbedder, get_embedder
from thymus.errors import JudgeError
from thymus.judges import contention
from thymus.judges.answering import FOLDER
from thymus.judges.contention import CHEAP, FULL, Question, chances, likely, load_regressions, numbers
from thymus.judges.questions import AMOUNT, MARK, NAME, PLACE, TIME, asked, asks_for_several, offered
from thymus.judges.reading import read
from thymus.ports import Embedder

# Questions and statements


@pytest.mark.parametrize(
    ("sorts", "question"),
    [
        ({TIME}, "When does the bakery open?"),
        ({TIME}, "By when must the form be in?"),
        ({TIME}, "How long is the film?"),
        ({TIME}, "Which morning is the bin day?"),
        ({AMOUNT}, "How much do I owe the gardener?"),
        ({AMOUNT}, "What is the monthly fee?"),
        ({NAME}, "Who fixes the boiler?"),
        ({NAME}, "What is the new vet called?"),
        ({PLACE}, "Where does the tour start?"),
        ({PLACE}, "What is the address of the vet?"),
        ({PLACE, MARK}, "Which gate do we use?"),
        ({MARK}, "What is the locker code?"),
        ({MARK}, "what is the wi-fi password"),
        (set(), "Is the pool heated?"),
        (set(), "Whenever wherever numberless"),
        (set(), ""),
    ],
)
def test_what_sort_of_answer_a_question_asks_for(sorts: set[str], question: str) -> None:
    assert asked(question) == sorts


@pytest.mark.parametrize(
    ("sorts", "statement"),
    [
        ({TIME, PLACE, MARK}, "The tour starts at 10:45."),
        ({TIME}, "It takes three hours."),
        ({TIME}, "The bins go out every week."),
        ({AMOUNT, MARK}, "The fee is £35."),
        ({NAME, PLACE}, "Ask Teodora Brandt."),
        ({PLACE}, "We meet behind the church."),
        ({MARK}, "Your code is 7731."),
        (set(), "The pool is heated."),
        (set(), ""),
    ],
)
def test_what_sorts_of_answer_a_statement_offers(sorts: set[str], statement: str) -> None:
    assert offered(read(statement)) == sorts


@pytest.mark.parametrize(
    "question",
    [
        "Which trains are late?",
        "What are the opening hours?",
        "Who is bringing what?",
        "Who else sings?",
        "What do I need to bring?",
        "What's been going on at the allotment?",
        "List the exits.",
        "What does Teodora like?",
        "What do you know about the boiler?",
        "How are the bees?",
    ],
)
def test_a_list_may_be_asked_for(question: str) -> None:
    assert asks_for_several(question)


@pytest.mark.parametrize(
    "question",
    [
        "Which bus is it?",
        "What is the address?",
        "Whose class is it?",
        "When is the tour?",
        "Who fixes the boiler?",
        "",
    ],
)
def test_one_thing_is_asked_for(question: str) -> None:
    assert not asks_for_several(question)


@given(st.text(max_size=200))
def test_any_question_is_read(question: str) -> None:
    assert asked(question) <= {TIME, AMOUNT, NAME, PLACE, MARK}
    assert asks_for_several(question) in (True, False)


# The cheap numbers

QUESTION = "When does the tour start?"
MEMORY = "The tour starts at 10:45."


def a_vector(number: int) -> Any:
    """One of 384 unit vectors at right angles, as the bundled embedder's are long."""
    return np.eye(384, dtype=np.float32)[number]


def a_contention(
    memory: Candidate, *claims: Candidate, nearest: float | None = None, vectors: dict[str, Any] | None = None
) -> tuple[Question, Contention]:
    every = [memory, *claims]
    found = {one.belief.id: a_vector(place) for place, one in enumerate(every)} | (vectors or {})
    question = Question(text=QUESTION, vector=a_vector(383), vectors=found, messages=as_claimed)
    given_ = memory.relevance if nearest is None else nearest
    return question, Contention(claims=claims, memory=memory, nearest=given_, usual=memory.relevance)


def said(text: str, id_: str = "claim", *, relevance: float = 0.8, source: Source = COURIER) -> Candidate:
    return Candidate(belief=a_belief(id_, text, source, seq=2), owner=source.key, relevance=relevance)


def mine(text: str = MEMORY, *, relevance: float = 0.85, source: Source = USER) -> Candidate:
    return Candidate(belief=a_belief("mine", text, source), owner=source.key, relevance=relevance)


def cheap(memory: Candidate, *claims: Candidate, **known: Any) -> dict[str, float]:
    question, found = a_contention(memory, *claims, **known)
    return dict(zip(CHEAP, numbers(question, found), strict=True))


def test_the_numbers_of_a_plain_rival() -> None:
    found = cheap(mine(), said("The tour starts at 12:15 now.", relevance=0.8))
    learned = {"same thing", "words shared", "memory answers", "claims answer", "both answer"}
    plain = {name: number for name, number in found.items() if name not in learned}
    assert plain == {
        "nearness": 0.8,
        "likeness": 0.0,
        "values differ": 1.0,
        "behind the best": 0.0,
        "nearer than it": -NEARER,
        "memory offers": 1.0,
        "claims offer": 1.0,
        "both offer": 1.0,
        "several asked for": 0.0,
        "memory's nearness": 0.85,
        "asked of the memory": pytest.approx(2 / 3),
        "above the usual": 0.0,
    }
    assert found["words shared"] == pytest.approx(1.0)


def test_the_numbers_of_what_is_about_something_else() -> None:
    found = cheap(mine(), said("The bees are fine.", relevance=0.7))
    named = ("values differ", "words shared", "claims offer", "both offer")
    assert [found[name] for name in named] == [0.0, 0.0, 0.0, 0.0]
    assert found["memory offers"] == 1.0


def test_of_several_claims_the_strongest_counts() -> None:
    idle, rival = said("The bees are fine.", "idle", relevance=0.9), said("It starts at 12:15.", "rival", relevance=0.7)
    found = cheap(mine(), idle, rival, vectors={"rival": a_vector(0)})
    assert found["nearness"] == 0.9
    assert found["likeness"] == 1.0
    assert found["values differ"] == 1.0
    assert found["claims offer"] == 1.0


def test_being_near_to_the_question_helps_little_and_only_who_offers_an_answer() -> None:
    """A sender chooses how near its words are to a question."""
    near = said("When does the tour start, you ask?", "near", relevance=0.99)
    assert cheap(mine(), said("It starts at 12:15.", relevance=0.99))["nearer than it"] == NEARER
    assert cheap(mine(), near, said("It starts at 12:15.", relevance=0.84))["nearer than it"] == pytest.approx(-0.01)
    assert cheap(mine(), near)["nearer than it"] == NEARER


def test_how_far_a_memory_is_behind_the_nearest_with_precedence() -> None:
    assert cheap(mine(relevance=0.8), said("It starts at 12:15."), nearest=0.9)["behind the best"] == pytest.approx(0.1)


def test_where_the_question_does_not_tell_the_memory_says_what_sort_of_answer_it_is() -> None:
    question, found = a_contention(mine("The fee is £35."), said("The fee is £80."))
    asks = replace(question, text="And the tour?")
    assert dict(zip(CHEAP, numbers(asks, found), strict=True))["both offer"] == 1.0


def test_a_list_that_is_asked_for_is_a_number_too() -> None:
    question, found = a_contention(mine(), said("The tour starts at 12:15."))
    asks = replace(question, text="Which tours are there?")
    assert numbers(asks, found)[CHEAP.index("several asked for")] == 1.0


# Chances


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return get_embedder("e5-small", threads=1)


@pytest.fixture(autouse=True)
def nothing_read_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contention, "_READ", {})


def as_claimed(beliefs: Sequence[Belief]) -> dict[str, str]:
    """Messages that say their claim alone."""
    return {belief.id: belief.claim.text for belief in beliefs}


def in_words(
    embedder: Embedder,
    memory: Candidate,
    *claims: Candidate,
    messages: Callable[[Sequence[Belief]], Mapping[str, str]] | None = None,
) -> tuple[Question, Contention]:
    """A contention with real vectors and relevance."""
    every = [memory, *claims]
    vectors = embedder.embed([one.belief.claim.text for one in every], role="passage")
    asks = embedder.embed([QUESTION], role="query")[0]
    seen = [
        Candidate(belief=one.belief, owner=one.owner, relevance=float(asks @ vector))
        for one, vector in zip(every, vectors, strict=True)
    ]
    question = Question(
        text=QUESTION,
        vector=asks,
        vectors={one.belief.id: vector for one, vector in zip(every, vectors, strict=True)},
        messages=messages or as_claimed,
    )
    return question, Contention(claims=tuple(seen[1:]), memory=seen[0], nearest=seen[0].relevance, usual=0.75)


def test_a_plain_rival_is_likelier_than_one_about_something_else(embedder: Embedder) -> None:
    for other, low, high in (("The tour starts at 12:15 now.", 0.6, 1.0), ("Your parcel is in the shed.", 0.0, 0.1)):
        question, found = in_words(embedder, mine(), said(other))
        [chance] = chances(question, [found])
        assert low <= chance <= high


def test_nothing_in_nothing_out(embedder: Embedder) -> None:
    question, _ = in_words(embedder, mine(), said("The bees are fine."))
    assert likely(question, [], embedder=embedder) == []


def test_a_lie_in_two_halves_is_read_as_one(embedder: Embedder) -> None:
    """What the network is shown are the messages of all claims together, where they are short."""
    seen: list[str] = []

    class Network:
        def relate(self, pairs: list[Any]) -> Any:
            seen.extend(theirs.text for _, (theirs, _) in pairs)
            return np.array([[0.5, 0.2, 0.3]] * len(pairs))

    whole = {"one": "Hello! The tour changes.", "two": "A quarter past twelve it is. Bye."}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(contention, "load_network", Network)
        for times, ids in ((1, ("one", "two")), (100, ("long one", "long two"))):
            texts = {id_: whole[id_.removeprefix("long ")] * times for id_ in ids}
            halves = said("The tour changes.", ids[0]), said("A quarter past twelve it is.", ids[1])

            def messages(beliefs: Sequence[Belief], texts: dict[str, str] = texts) -> dict[str, str]:
                return {belief.id: texts[belief.id] for belief in beliefs}

            question, found = in_words(embedder, mine(), *halves, messages=messages)
            contention.read_together(question, [found])
    assert seen == [
        "Hello! The tour changes. A quarter past twelve it is. Bye.",
        "The tour changes. A quarter past twelve it is.",
    ]


# What a pair was read as is remembered


class Counting:
    """A network that counts what it reads, slowly enough for threads to meet."""

    def __init__(self, wait: Callable[[], object] = lambda: None) -> None:
        self.read = 0
        self.wait = wait

    def __call__(self) -> Counting:
        return self

    def relate(self, pairs: list[Any]) -> Any:
        self.wait()
        self.read += len(pairs)
        return np.array([[0.5, 0.2, 0.3]] * len(pairs))


def asking(*texts: str) -> tuple[Question, list[Contention]]:
    contentions = [a_contention(mine(), said(text, f"claim {at}"))[1] for at, text in enumerate(texts)]
    return a_contention(mine(), said(""))[0], contentions


def test_a_pair_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Counting()
    monkeypatch.setattr(contention, "load_network", network)
    question, found = asking("It starts at 12:15.", "It starts at 12:30.", "It starts at 12:15.")
    first = contention.read_together(question, found)
    assert network.read == 2
    assert contention.read_together(question, found) == first
    assert network.read == 2


def test_for_a_pair_that_was_read_no_message_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contention, "load_network", Counting())
    looked_up: list[str] = []

    def messages(beliefs: Sequence[Belief]) -> dict[str, str]:
        looked_up.extend(belief.id for belief in beliefs)
        return as_claimed(beliefs)

    question, found = asking("It starts at 12:15.", "It starts at 12:30.")
    question = replace(question, messages=messages)
    first = contention.read_together(question, found[:1])
    assert contention.read_together(question, found)[:1] == first
    assert contention.read_together(question, found)[:1] == first
    assert looked_up == ["claim 0", "claim 1"]


def test_the_oldest_pairs_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Counting()
    monkeypatch.setattr(contention, "load_network", network)
    monkeypatch.setattr(contention, "MOST_READ", 2)
    question, found = asking("It starts at 1.", "It starts at 2.", "It starts at 3.")
    assert len(contention.read_together(question, found)) == 3
    assert len(contention._READ) == 2
    contention.read_together(question, found[1:])
    assert network.read == 3


def test_the_same_words_in_anothers_memory_are_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a recall would be quicker where somebody else has the same sentences, which tells that they have."""
    network = Counting()
    monkeypatch.setattr(contention, "load_network", network)
    question, [found] = asking("It starts at 1.")
    belief = replace(found.memory.belief, id="m_of_another")
    contention.read_together(question, [found, replace(found, memory=replace(found.memory, belief=belief))])
    assert network.read == 2
    assert not any(b"starts" in key for key in contention._READ)


def test_what_another_thread_pushes_out_meanwhile_is_answered_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contention, "load_network", Counting())
    question, (old, new) = asking("It starts at 1.", "It starts at 2.")
    contention.read_together(question, [old])
    monkeypatch.setattr(contention, "load_network", Counting(wait=contention._READ.clear))
    assert len(contention.read_together(question, [old, new])) == 2


def test_many_threads_share_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contention, "load_network", Counting())
    monkeypatch.setattr(contention, "MOST_READ", 8)
    failed: list[BaseException] = []

    def ask(first: int) -> None:
        try:
            for number in range(first, first + 60):
                question, found = asking(*(f"It starts at {n % 20}." for n in range(number, number + 6)))
                assert len(contention.read_together(question, found)) == 6
        except BaseException as error:  # noqa: BLE001  (told to the test)
            failed.append(error)

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(0, 40, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(contention._READ) <= 8


# Where it cannot be asked


def broken(change: Callable[[dict[str, Any]], object]) -> str:
    kept = json.loads((FOLDER / "contention.json").read_text("utf-8"))
    return json.dumps(change(kept) or kept)


BROKEN = {
    "missing": "",
    "no JSON": "{",
    "a list": "[1, 2]",
    "another version": broken(lambda kept: kept.update(layout=0)),
    "a part is missing": broken(lambda kept: kept.pop("full")),
    "a number too few": broken(lambda kept: kept["cheap"]["mean"].pop()),
    "a number too many": broken(lambda kept: kept["full"]["weights"].append(1.0)),
    "no bias": broken(lambda kept: kept["full"].update(bias=[])),
    "no numbers": broken(lambda kept: kept["cheap"].update(mean=["?"] * len(CHEAP))),
    "another name": broken(lambda kept: kept["cheap"].update(bios=kept["cheap"].pop("bias"))),
}


@pytest.fixture(params=BROKEN)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if BROKEN[request.param]:
        (tmp_path / "contention.json").write_text(BROKEN[request.param], "utf-8")
    return tmp_path


def test_broken_weights_are_named(folder: Path) -> None:
    with pytest.raises(JudgeError, match="reinstall"):
        load_regressions(folder)


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.WARNING, logger="thymus"):
        yield caplog


def test_with_broken_weights_everything_stands_aside(
    folder: Path, embedder: Embedder, logged: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contention, "load_regressions", lambda: load_regressions(folder))
    question, found = in_words(embedder, mine(), said("The bees are fine."))
    assert likely(question, [found, found], embedder=embedder) == [1.0, 1.0]
    assert "set aside unread" in logged.text


def test_a_network_that_breaks_sets_everything_aside(
    embedder: Embedder, logged: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks() -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(contention, "load_network", breaks)
    question, found = in_words(embedder, mine(), said("The tour starts at 12:15 now."))
    assert likely(question, [found], embedder=embedder) == [1.0]
    assert "set aside unread" in logged.text


def test_vectors_of_another_embedder_are_not_looked_at() -> None:
    """Words and typed values alone tell then: the same thing, with another value."""
    hashes = HashEmbedder()
    for claim, aside in (
        ("The tour starts at 12:15.", 1.0),
        ("The tour starts at 10:45.", 0.0),
        ("The bees left at 12:15.", 0.0),
        ("See you a while later.", 0.0),
    ):
        question, found = a_contention(mine(), said(claim), vectors={"mine": None, "claim": None})
        assert likely(question, [found], embedder=hashes) == [aside]


def test_the_weights_are_for_the_numbers_of_this_version() -> None:
    cheaply, fully = load_regressions()
    assert (len(cheaply.weights), len(fully.weights)) == (len(CHEAP), len(FULL))
    assert FULL[1:] == CHEAP
