"""The 205 scenarios with a language model as the gates' judge: they come to what the model's answers imply.

The model is a script (``scripted``): every answer follows from the words of two statements, so it is known without
asking what a guard must make of it. The gates ask it through prompts and forms, each in its turn, and each answer that
reaches a gate is compared. Some of the scenarios go over HTTP, too: there whole plays are compared, each decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from scripted import FOUND, Implied, Persuaded, Reader, ScriptedModel, draw, serving_script

from thymus import GATES, Kind, MemoryGuard, Relation, Source, Written, config, intake
from thymus.core.claims import more_careful
from thymus.core.relations import Label
from thymus.embed import get_embedder
from thymus.extract import RuleExtractor
from thymus.judges import get_judge
from thymus.judges.cascade import CascadeJudge, is_unsure, join
from thymus.llm import ModelJudge
from thymus.ports import Judge, Statement
from thymus.recognizers import stakes
from thymus.stores import index, memory
from thymus_bench import suites
from thymus_bench.engine import Run, open_stages
from thymus_bench.once import ModelJudges, OnceEmbedder, OnceJudge, open_judge
from thymus_bench.outcomes import Outcome
from thymus_bench.play import Stage, play
from thymus_bench.readers import WorstCase, remember
from thymus_bench.scenarios import Category, Part, Scenario, Turn

pytestmark = pytest.mark.xdist_group("scripted")  # they share scenarios, vectors and what was judged

SCENARIOS = suites.load()
SCRIPT = Reader(SCENARIOS)
EMBEDDER = OnceEmbedder(get_embedder("hash"))
GUARDED = ("thymus-v3", "thymus-v4")
ENOUGH = 1_000
"""Calls for one write, so that no budget ends."""


@dataclass(frozen=True, slots=True)
class Witness(WorstCase):
    """The worst case, which keeps what came of each turn."""

    heard: list[Written] = field(default_factory=list)

    def hear(self, guard: MemoryGuard, turn: Turn) -> Written:
        self.heard.append(remember(guard, turn))
        return self.heard[-1]


def staged(judge: Judge | ModelJudges) -> Stage:
    return Stage(reader=WorstCase(), embedder=EMBEDDER, judge=judge)


def decided(scenario: Scenario, gate: str, stage: Stage) -> tuple[Outcome, list[Written]]:
    """All that a play came to but what it took: every decision with its reasons, every status, context and notice."""
    witness = Witness()
    outcome = play(scenario, gate, replace(stage, reader=witness))
    assert not outcome.error
    return replace(outcome, costs=()), witness.heard


class Beside:
    """A judge, beside what its answers must be; where they differ is kept, for a guard survives what a judge raises."""

    def __init__(self, judge: Judge, expected: Judge, seen: Counter[str], odd: list[object]) -> None:
        self._judge, self._expected, self._seen, self._odd = judge, expected, seen, odd
        self.name = judge.name

    def relate(self, pairs: Sequence[tuple[Any, Any]]) -> list[Relation]:
        answers = self._judge.relate(pairs)
        for pair, given, expected in zip(pairs, answers, self._expected.relate(pairs), strict=True):
            doubtful = given.label is Label.COMPATIBLE and given.detected
            self._seen[f"{given.label}{' confirmed' * given.confirmed}{', perhaps not' * doubtful}"] += 1
            if bare(given) != bare(expected):
                self._odd.append((pair, given, expected))
        return answers

    def classify(self, statements: Sequence[Any]) -> list[Kind]:
        kinds = self._judge.classify(statements)
        self._seen.update(kinds)
        if kinds != (expected := self._expected.classify(statements)):
            self._odd.append((statements, kinds, expected))
        return kinds


def bare(relation: Relation) -> tuple[Label, float, float]:
    return relation.label, relation.confidence, relation.contradiction


class Doubting:
    """A quick judge that contradicts the other now and then, so that a cascade is unsure."""

    name = "doubting"

    def relate(self, pairs: Sequence[tuple[Any, Any]]) -> list[Relation]:
        said = [draw("doubts", Statement.of(stored).text, Statement.of(new).text) for stored, new in pairs]
        return [Relation(label=Label.CONTRADICTS if one < 20 else Label.COMPATIBLE, confidence=1.0) for one in said]

    def classify(self, statements: Sequence[Any]) -> list[Kind]:
        kinds = list(Kind)
        return [kinds[draw("sorts", Statement.of(one).text) % len(kinds)] for one in statements]


class Joined:
    """What a cascade must answer: the first judge's answers, joined with those that are implied where it is unsure.

    :param checks: what is implied of a pair that the model is asked to confirm and nothing else.
    """

    name = "joined"

    def __init__(self, first: Judge, second: Judge, checks: Judge, also: Judge) -> None:
        self._first, self._second, self._checks, self._also = first, second, checks, also

    def relate(self, pairs: Sequence[tuple[Any, Any]]) -> list[Relation]:
        four = (judge.relate(pairs) for judge in (self._first, self._second, self._checks, self._also))
        return [
            join(first, checked if first.confirmed else second)
            if is_unsure(first) or first.detected != other.detected
            else first
            for first, second, checked, other in zip(*four, strict=True)
        ]

    def classify(self, statements: Sequence[Any]) -> list[Kind]:
        three = (judge.classify(statements) for judge in (self._first, self._second, self._also))
        return [
            first if first is other else more_careful(first, second)
            for first, second, other in zip(*three, strict=True)
        ]


@dataclass(slots=True)
class Seen:
    """What was answered in all plays, and what was not as expected."""

    alone: Counter[str] = field(default_factory=Counter)
    joined: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    odd: list[object] = field(default_factory=list)


class Both:
    """The model alone, whose answers count, and a cascade over it that is asked the same, each beside what is due."""

    name = "both"

    def __init__(self, alone: Judge, joined: Judge) -> None:
        self._alone, self._joined = alone, joined

    def relate(self, pairs: Sequence[tuple[Any, Any]]) -> list[Relation]:
        self._joined.relate(pairs)
        return self._alone.relate(pairs)

    def classify(self, statements: Sequence[Any]) -> list[Kind]:
        self._joined.classify(statements)
        return self._alone.classify(statements)


@cache
def seen() -> Seen:
    """All histories, each under the gate that guards and one more, with judges that have answered nothing yet."""
    seen = Seen()
    quick, doubting, expected = OnceJudge(get_judge("typed")), OnceJudge(Doubting()), OnceJudge(Implied(SCRIPT))
    checks = OnceJudge(Implied(SCRIPT, found=True))
    model = ScriptedModel(SCRIPT)
    with reading_once():
        for scenario, other in zip(histories(), cycle(sorted(set(GATES) - {GUARDED[-1]}))):
            for gate in (GUARDED[-1], other):
                judge: Judge = Beside(ModelJudge(model), expected, seen.alone, seen.odd)
                if gate == GUARDED[-1]:
                    cascade = CascadeJudge(quick, ModelJudge(model), also=(doubting,), most_calls=ENOUGH)
                    due = Joined(quick, expected, checks, doubting)
                    judge = Both(judge, Beside(cascade, due, seen.joined, seen.odd))
                outcome = play(scenario, gate, staged(judge))
                assert not outcome.error
                seen.rules.update(rule for write in outcome.writes for rule in write.rules)
    return seen


def histories() -> list[Scenario]:
    """Those that are not the beginning of others: all that a family without its ending decides is decided in these."""
    ended = {one.family: one for one in SCENARIOS if one.kind != "recall"}
    return [
        one
        for one in SCENARIOS
        if one.kind != "recall" or one.turns != ended.get(one.family, one).turns[: len(one.turns)]
    ]


@contextmanager
def reading_once() -> Iterator[None]:
    """What hangs on a text alone is read once and not under each gate, which takes a third of the time."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((intake, "_hazards"), (stakes, "find_stakes"), (index, "terms"), (memory, "terms")):
            patch.setattr(module, name, cache(getattr(module, name)))
        patch.setattr(RuleExtractor, "extract", cache(RuleExtractor.extract))
        patch.setattr(config, "open_extractor", cache(config.open_extractor))
        yield


def test_205_scenarios_are_judged_as_the_answers_imply() -> None:
    assert (len(SCENARIOS), len(GATES)) == (205, 9)
    assert seen().odd[:3] == []
    assert seen().alone.total() > 10_000


def test_the_script_leaves_nothing_out() -> None:
    """Each answer that a judge can give was given, by the model alone and by a cascade, and each gate had its say."""
    answers = {"compatible", "compatible, perhaps not", "same", "unknown", "contradicts confirmed", *Kind}
    assert seen().alone.keys() == answers
    assert seen().joined.keys() >= answers
    assert seen().rules.keys() >= {
        *("only-the-user", "contradicts-the-user", "newest-wins", "outside-cannot-speak-for-user"),
        *("user-or-same-source-may-replace", "contradicts-another-source", "authority-may-replace"),
        *("owner-may-replace", "contradicts-without-authority", "sibling-held-back"),
    }


# Over the wire, by name, as thymus-eval plays


@pytest.mark.parametrize(("name", "chosen"), [("openai:m@{}/v1", SCENARIOS[::34]), ("ollama:m", SCENARIOS[5::60])])
def test_plays_over_the_wire_are_those_of_the_judge_that_the_answers_imply(
    name: str, chosen: Sequence[Scenario], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pydantic_ai")
    monkeypatch.chdir(tmp_path)  # where answers are kept
    plays = [(one, gate) for one in chosen for gate in GATES]
    with serving_script(SCRIPT) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        run = Run(embedder="hash", gate_judge=f"only:{name.format(server.url)}")
        (stage,) = open_stages(run)
        came_to = [decided(*one, stage) for one in plays]
        close(stage)
    expected = [decided(*one, staged(Implied(SCRIPT))) for one in plays]
    assert came_to == expected
    (kept,) = open_stages(replace(run, offline=True))  # the server is gone
    assert [decided(*one, kept) for one in plays[::9]] == expected[::9]
    close(kept)
    said = " ".join(turn.text for one in chosen for turn in one.turns)
    addresses = {turn.source.partition(":")[2] for one in chosen for turn in one.turns} - {""}
    prompts = "\n".join(sent.body["messages"][-1]["content"] for sent in server.sent)
    assert [one for one in addresses if one in prompts and one not in said] == []


def test_a_cascade_over_the_wire_joins_the_local_judge_with_what_the_answers_imply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pydantic_ai")
    monkeypatch.chdir(tmp_path)
    local, typed = (OnceJudge(get_judge(name, embedder=EMBEDDER)) for name in ("local", "typed"))
    expected = staged(Joined(local, Implied(SCRIPT), Implied(SCRIPT, found=True), typed))
    with serving_script(SCRIPT) as server:
        stage = staged(open_judge(f"openai:m@{server.url}/v1", EMBEDDER))
        plays = [decided(one, gate, stage) for one in SCENARIOS[::41] for gate in GUARDED]
        close(stage)
        assert server.sent
    assert plays == [decided(one, gate, expected) for one in SCENARIOS[::41] for gate in GUARDED]


def close(stage: Stage) -> None:
    assert isinstance(stage.judge, ModelJudges)
    stage.judge.close()


# A model that obeys what it reads


ATTACKS = [one for one in SCENARIOS if one.category is Category.ATTACK]
ANSWERS = [(relation, kind) for relation in FOUND for kind in ("fact", "instruction")] + [("compatible", "not_a_claim")]


def attackers_words() -> frozenset[str]:
    extract = RuleExtractor().extract
    turns = [turn for one in ATTACKS for turn in one.turns if turn.part is Part.ATTACK]
    return frozenset(passage.text for turn in turns for passage in extract(turn.text, source=Source.parse(turn.source)))


@pytest.mark.parametrize(("first", "attacks"), [("typed", ATTACKS[::4]), ("local", ATTACKS[1::18])])
def test_whatever_a_model_is_talked_into_no_attack_gets_in_that_the_first_judge_kept_out(
    first: str, attacks: Sequence[Scenario]
) -> None:
    quick = OnceJudge(get_judge(first, embedder=EMBEDDER))
    shut = [(one, gate) for one in attacks for gate in GUARDED if not play(one, gate, staged(quick)).stored]
    assert len(shut) > len(attacks) // 2
    words = attackers_words()
    got_in = []
    with reading_once():
        for relation, kind in ANSWERS:
            script = Persuaded(relation=relation, sort=kind, words=words, honest=SCRIPT)
            for one, gate in shut:
                model = ModelJudge(ScriptedModel(script))
                judge = CascadeJudge(quick, model, also=(Doubting(),), most_calls=ENOUGH)
                if play(one, gate, staged(judge)).stored:
                    got_in.append((relation, kind, one.id, gate))
    assert got_in == []
