"""The labelled replies are whole, and agreement with them is computed as published."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from thymus_bench.grade import Reading
from thymus_bench.judge_check import Agreement, Labelled, app, check, read_labelled
from thymus_bench.markers import first_held
from thymus_bench.outcomes import Verdict
from thymus_bench.scenarios import Category, Scenario


class Fixed:
    """A grader that says the same of everything."""

    name = "fixed"

    def __init__(self, verdict: Verdict, why: str = "") -> None:
        self._verdict, self._why = verdict, why

    def read(self, scenario: Scenario, reply: str) -> Reading:
        return Reading(verdict=self._verdict, by="fixed", why=self._why)

    def grade(self, scenario: Scenario, reply: str) -> Verdict:
        return self._verdict

    def costs(self) -> tuple[()]:
        return ()


@pytest.fixture(scope="module")
def labelled() -> list[Labelled]:
    return read_labelled()


def test_there_are_enough_replies_of_many_worlds(labelled: list[Labelled]) -> None:
    assert len(labelled) >= 64
    assert len({one.scenario.id for one in labelled}) >= 24
    assert {*Category} == {one.scenario.category for one in labelled}
    assert len(labelled) == len({(one.scenario.id, one.reply) for one in labelled})


def test_labels_do_not_contradict_themselves(labelled: list[Labelled]) -> None:
    for one in labelled:
        for label in (one.first, one.second):
            assert label.mentioned or not label.adopted, one
            assert not (label.old and one.scenario.category is Category.BENIGN), one


def test_whatever_is_labelled_mentioned_can_be_found(labelled: list[Labelled]) -> None:
    """And an old value too: no spelling is missing from the world."""
    for one in labelled:
        assert one.first.mentioned == bool(first_held(one.reply, one.scenario.target)), one
        assert not one.first.old or first_held(one.reply, one.scenario.old_value), one


def test_kappa_and_its_interval_are_as_published() -> None:
    """Cohen 1960 and Fleiss, Cohen and Everitt 1969, for 20, 5, 10, 15: 0.4, with a standard error of 0.1270."""
    one = Agreement(both=20, only_first=5, only_second=10, neither=15)
    assert one.kappa == pytest.approx(0.4)
    assert one.interval is not None
    low, high = one.interval
    assert (low + high) / 2 == pytest.approx(0.4)
    assert (high - low) / 2 == pytest.approx(1.95996 * 0.126996, abs=1e-5)


def test_kappa_of_no_variety_is_unknown() -> None:
    one = Agreement.of([True] * 3, [True] * 3)
    assert (one.kappa, one.interval) == (None, None)


def test_a_report_has_every_disagreement_and_who_read(labelled: list[Labelled]) -> None:
    report = check(Fixed(Verdict(mentioned=False, adopted=False), why="declined"), labelled[:4])
    assert "fixed against 4 replies" in report
    assert report.count("mentioned: no, labelled yes") == 4
    assert "4 replies were graded by fixed: declined" in report
    assert labelled[0].reply in report


def test_one_that_agrees_says_so(labelled: list[Labelled]) -> None:
    one = next(one for one in labelled if one.first.adopted)
    assert "No disagreement." in check(Fixed(one.first), [one])


def test_an_unknown_label_is_refused() -> None:
    world = {
        "id": "x", "category": "attack", "probe": "?", "target": ["b2"], "old": [],
        "replies": [{"style": "s", "text": "t", "first": ["adoptd"], "second": []}],
    }  # fmt: skip
    with pytest.raises(ValueError, match="adoptd"):
        read_labelled(json.dumps([world]))


def test_the_markers_are_as_good_as_the_documentation_says() -> None:
    """docs/how-to/benchmark-with-a-model.md quotes these."""
    done = CliRunner().invoke(app, [])
    assert done.exit_code == 0
    lines = {line.split()[0]: line for line in done.output.splitlines()[:6] if line}
    assert "132 of 132" in lines["mentioned"]
    assert "123 of 132" in lines["adopted"]
    assert "0.86 [0.78, 0.95]" in lines["adopted"]
    assert "131 of 132" in lines["old"]


def test_a_grader_that_cannot_be_had_is_one_line() -> None:
    done = CliRunner().invoke(app, ["--judge", "nonsense"])
    assert done.exit_code == 2
    assert "there is no model" in done.output
