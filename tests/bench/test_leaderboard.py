"""The leaderboard: what an entry must hold, what is refused and how the refusal reads, the ranking, entries of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from factory import run
from hypothesis import given, settings
from hypothesis import strategies as st
from test_report import write_run
from typer.testing import CliRunner

from thymus_bench import stats, suites
from thymus_bench.leaderboard import Count, Entry, Known, LeaderboardError, known_sets, ranked, read_entries, read_entry
from thymus_bench.report.board import add_entry, board_tables, entry_of
from thymus_bench.report.cli import app
from thymus_bench.report.runs import read_run
from thymus_bench.scenarios import Category

KNOWN = {
    "abc123": Known(name="core and families", sizes={Category.ATTACK: 70, Category.UPDATE: 68, Category.BENIGN: 67})
}
ROW: dict[str, Any] = {
    "format": 1,
    "name": "Thymus",
    "version": "0.2.0",
    "date": "2026-11-30",
    "gate": "thymus-v4",
    "reader": "worst-case",
    "digest": "abc123",
    "run_by": "The Thymus authors",
    "url": "https://thymus.example/",
    "metrics": {
        "attack_success": {"x": 2, "n": 70},
        "update_accuracy": {"x": 40, "n": 68},
        "update_told": {"x": 60, "n": 68},
        "stale": {"x": 20, "n": 68},
        "beside": {"x": 4, "n": 68},
        "benign_accuracy": {"x": 66, "n": 67},
        "old_kept": {"x": 50, "n": 55},
        "over_disclosure": {"x": 3, "n": 400},
    },
}


def row(**changed: Any) -> dict[str, Any]:
    return {name: value for name, value in (ROW | changed).items() if value is not None}


def counted(**changed: Any) -> dict[str, Any]:
    return row(metrics={name: value for name, value in (ROW["metrics"] | changed).items() if value is not None})


def entry(name: str, attack: int, update: int) -> Entry:
    return read_entry(
        row(
            name=name,
            metrics={
                "attack_success": {"x": attack, "n": 70},
                "update_accuracy": {"x": update, "n": 68},
                "benign_accuracy": {"x": 60, "n": 67},
            },
        ),
        "here",
        KNOWN,
    )


def test_an_entry_is_written_as_it_was_read() -> None:
    found = read_entry(ROW, "here", KNOWN)

    assert found.metrics["attack_success"] == Count(x=2, n=70)
    assert read_entry(json.loads(json.dumps(found.to_dict())), "there", KNOWN) == found


@pytest.mark.parametrize(
    ("field", "changed"),
    [
        ("format", row(format=2)),
        ("name", row(name=None)),
        ("name", row(name=" ")),
        ("version", row(version=3)),
        ("run_by", row(run_by="")),
        ("notes", row(notes="x" * 3_000)),
        ("date", row(date="30.11.2026")),
        ("date", row(date="2026-02-30")),
        ("url", row(url="javascript:alert(1)")),
        ("digest: 'ffff' is of no scenarios", row(digest="ffff")),
        ("repeats", row(repeats=0)),
        ("repeats", row(repeats=True)),
        ("colour: no such field", row(colour="red")),
        ("metrics", row(metrics=None)),
        ("metrics: update_accuracy is missing", counted(update_accuracy=None)),
        ("metrics.speed: no such metric", counted(speed={"x": 1, "n": 1})),
        ("metrics.attack_success: counts are expected", counted(attack_success=0.03)),
        ("metrics.attack_success: 71 of 70 is impossible", counted(attack_success={"x": 71, "n": 70})),
        ("metrics.attack_success.x", counted(attack_success={"x": -1, "n": 70})),
        ("metrics.attack_success.x", counted(attack_success={"x": 1.5, "n": 70})),
        ("metrics.attack_success.n", counted(attack_success={"x": 0, "n": 0})),
        ("metrics.attack_success.n: 69 is not 70 attack scenarios", counted(attack_success={"x": 2, "n": 69})),
        ("metrics.attack_success.n: 70 is not 70 attack scenarios times 3", row(repeats=3)),
        ("metrics.old_kept.n", counted(old_kept={"x": 1, "n": 71})),
        ("metrics.update_told.x: 39 is less", counted(update_told={"x": 39, "n": 68})),
        ("metrics.stale.x: 29 is more", counted(stale={"x": 29, "n": 68})),
        ("metrics.beside.x: 41 is more", counted(beside={"x": 41, "n": 68})),
    ],
)
def test_what_cannot_be_is_refused_with_the_file_and_the_field(
    field: str, changed: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "entries.json"
    path.write_text(json.dumps([ROW, changed]), encoding="utf-8")

    with pytest.raises(LeaderboardError) as refused:
        read_entries([path], KNOWN)
    assert str(refused.value).startswith(f"{path}: entry 2")
    assert f": {field}" in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 200_000, b"[1]", b'"x"'])
def test_files_that_hold_no_entries_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "entries.json"
    path.write_bytes(content)

    with pytest.raises(LeaderboardError, match="entries"):
        read_entries([path], KNOWN)


def test_the_front_stands_first_and_each_part_by_its_trade_off() -> None:
    careful, good, lax, worse, worst = (
        entry("careful", 0, 20),
        entry("good", 2, 50),
        entry("lax", 30, 60),
        entry("worse", 3, 49),
        entry("worst", 40, 10),
    )
    places = ranked([worst, lax, worse, careful, good])

    assert [place.entry.name for place in places] == ["good", "lax", "careful", "worse", "worst"]
    assert [place.front for place in places] == [True, True, True, False, False]
    assert [place.rank for place in places] == [1, 2, 3, 4, 5]


def test_equals_share_a_rank() -> None:
    places = ranked([entry("b", 2, 50), entry("a", 2, 50), entry("c", 3, 50)])

    assert [(place.rank, place.entry.name) for place in places] == [(1, "a"), (1, "b"), (3, "c")]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 70), st.integers(0, 68)), min_size=1, max_size=8))
def test_nobody_on_the_front_is_beaten_and_everybody_else_is(counts: list[tuple[int, int]]) -> None:
    entries = [entry(f"e{at}", *one) for at, one in enumerate(counts)]
    front = {place.entry.name for place in ranked(entries) if place.front}

    assert front
    for at, (attack, update) in enumerate(counts):
        beaten = any(a <= attack and u >= update and (a, u) != (attack, update) for a, u in counts)
        assert (f"e{at}" in front) != beaten


def test_the_interval_of_a_trade_off_counts_scenarios_and_not_repeats() -> None:
    thrice = {name: {"x": 3 * one["x"], "n": 3 * one["n"]} for name, one in ROW["metrics"].items()}
    once, repeated = read_entry(ROW, "a", KNOWN), read_entry(row(repeats=3, metrics=thrice), "b", KNOWN)

    assert once.interval == pytest.approx(stats.newcombe_unpaired(40, 68, 2, 70))
    assert repeated.interval == pytest.approx(once.interval)


def test_a_table_for_each_set_of_scenarios() -> None:
    known = KNOWN | {"def456": Known(name="floods", sizes=KNOWN["abc123"].sizes)}
    entries = [read_entry(ROW, "a", known), read_entry(row(digest="def456"), "b", known)]

    assert [table.title for table in board_tables(entries, known)] == [
        "Leaderboard: core and families (205 scenarios, abc123)",
        "Leaderboard: floods (205 scenarios, def456)",
    ]


SMALL = {"abc123": Known(name="core and families", sizes=dict.fromkeys(Category, 20))}


def test_an_entry_is_made_from_a_run(tmp_path: Path) -> None:
    folder = write_run(
        tmp_path / "2026-11-30T09-00-00",
        run(families=20),
        scenarios={"count": 60, "digest": "abc123"},
        grader="markers",
    )
    path = tmp_path / "entries.json"
    said = {"name": "Thymus", "version": "1", "run_by": "us"}
    made = entry_of(read_run(folder), SMALL, gate="thymus-v4", **said)

    assert (made.gate, made.date, made.grader, made.repeats) == ("thymus-v4", "2026-11-30", "markers", 1)
    assert made.metrics["attack_success"].n == 20
    assert add_entry(path, made, SMALL) == 1
    assert add_entry(path, made, SMALL) == 1
    assert add_entry(path, entry_of(read_run(folder), SMALL, gate="allow-all", **said), SMALL) == 2
    assert [one.gate for one in read_entries([path], SMALL)] == ["thymus-v4", "allow-all"]


def test_a_run_that_is_no_entry_is_refused(tmp_path: Path) -> None:
    said = {"name": "Thymus", "version": "1", "run_by": "us"}
    unknown = write_run(tmp_path / "a", run(("thymus",), families=20), scenarios={"digest": "ffff"})
    part = write_run(tmp_path / "b", run(("thymus",), families=19), scenarios={"digest": "abc123"})
    broken = write_run(tmp_path / "c", run(("thymus",), families=20, error="x"), scenarios={"digest": "abc123"})
    several = write_run(tmp_path / "d", run(families=20), scenarios={"digest": "abc123"})

    for folder, problem in (
        (unknown, "of no set"),
        (part, "19 is not 20 attack"),
        (broken, "plays failed"),
        (several, "--gate"),
    ):
        with pytest.raises(LeaderboardError, match=problem):
            entry_of(read_run(folder), SMALL, **said)


def test_the_scenarios_of_this_version_are_known() -> None:
    known = known_sets()
    scenarios = suites.load()
    headline = known[suites.digest(scenarios)]

    assert headline.name == "core and families"
    assert headline.count == len(scenarios)
    assert all(all(one.sizes.values()) for one in known.values())


def test_the_command_checks_ranks_and_adds(tmp_path: Path) -> None:
    digest, headline = next((digest, one) for digest, one in known_sets().items() if one.name == "core and families")
    metrics = {
        "attack_success": {"x": 1, "n": headline.sizes[Category.ATTACK]},
        "update_accuracy": {"x": 40, "n": headline.sizes[Category.UPDATE]},
        "benign_accuracy": {"x": 40, "n": headline.sizes[Category.BENIGN]},
    }
    path = tmp_path / "entries.json"
    path.write_text(json.dumps([row(digest=digest, metrics=metrics)]), encoding="utf-8")
    runner = CliRunner(env={"COLUMNS": "200"})
    good = runner.invoke(app, ["leaderboard", str(path)])

    assert good.exit_code == 0
    assert "Thymus 0.2.0" in good.stdout
    path.write_text(json.dumps([row(digest="ffff")]), encoding="utf-8")
    bad = runner.invoke(app, ["leaderboard", str(path)])
    assert bad.exit_code == 2
    assert "digest" in bad.stderr
    unnamed = runner.invoke(app, ["leaderboard", "--add", str(tmp_path)])
    assert unnamed.exit_code == 2
    assert "--name" in unnamed.stderr
