"""The comparison with peers: material that markers can judge, a protocol that believes nothing, tables, our driver."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thymus.embed import Role
from thymus_bench.compare import cases, environments, judge, latency, suite
from thymus_bench.compare.peers import OURS, PEERS, Peer, PeerError, choose
from thymus_bench.compare.report import Result, markdown
from thymus_bench.compare.suite import Card
from thymus_bench.compare.talk import Driver, Found, Hello, Wrote
from thymus_bench.markers import first_held

PYTHON = Path(sys.executable)

FAITHFUL = """
class Memory:
    name, keyed, tells = "list", False, "an inbox"

    def __init__(self, folder, embed, variant):
        print("noise on standard output", flush=True)
        self.texts, self.held, self.embed, self.variant = [], [], embed, variant

    def version(self):
        return "1.2" + self.variant

    def remember(self, message):
        if "HOLD" in message["text"]:
            self.held.append(message["text"])
            return {"outcome": "held", "flags": ["hold"]}
        self.texts.append(message["text"])
        return {"outcome": "stored", "flags": []}

    def recall(self, question):
        numbers = self.embed([question["text"]], "query")[0]
        return {"context": [*self.texts, "vector " + str(numbers)], "told": self.held}
"""

BROKEN = {
    "does not start": ("import no_such_package_at_all", "no_such_package_at_all"),
    "no greeting": (FAITHFUL.replace('"an inbox"', "7"), "keyed and tells"),
    "unknown outcome": (FAITHFUL.replace('"stored"', '"kept"'), "'kept' is none of"),
    "context is no list": (FAITHFUL.replace('[*self.texts, "vector " + str(numbers)]', '"all"'), "context"),
    "vectors of no role": (FAITHFUL.replace('"query"', '"guess"'), "'guess'"),
    "peer raises": (FAITHFUL.replace("self.texts.append", "self.nothing.append"), "AttributeError"),
    "ends": (FAITHFUL.replace("self.texts.append", "__import__('os')._exit(3) or print"), "ended"),
    "calls out": (
        FAITHFUL.replace("self.texts.append", "__import__('socket').create_connection(('192.0.2.1', 80)) or print"),
        "runs offline",
    ),
}


def embed(texts: Sequence[str], role: Role) -> list[list[float]]:
    return [[float(len(text)) if role == "query" else 0.0] for text in texts]


@pytest.fixture
def write_driver(tmp_path: Path):  # type: ignore[no-untyped-def]
    def write(text: str) -> Path:
        path = tmp_path / "some_driver.py"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def faithful(write_driver) -> Iterator[Driver]:  # type: ignore[no-untyped-def]
    with Driver("list", PYTHON, write_driver(FAITHFUL), variant="b", embed=embed, seconds=20) as driver:
        yield driver


def said(text: str) -> dict[str, object]:
    return cases.message(text, "user", True, subject="tea", relation="kind", value=text)


def test_a_driver_answers_over_the_pipe(faithful: Driver) -> None:
    assert (faithful.hello.name, faithful.hello.version, faithful.hello.keyed) == ("list", "1.2b", False)
    assert faithful.remember(said("I drink Assam tea.")).outcome == "stored"
    held = faithful.remember(said("HOLD this"))
    assert (held.outcome, held.flags) == ("held", ("hold",))
    found = faithful.recall(cases.asked("Which tea?", "tea", "kind"))
    assert found.context == ("I drink Assam tea.", "vector [10.0]")
    assert found.told == ("HOLD this",)
    assert found.ms >= 0


def test_what_a_peer_says_while_it_runs_is_kept(faithful: Driver) -> None:
    for _ in range(3):
        faithful.reset()
    assert faithful.said() == ("noise on standard output",)


def test_reset_forgets_and_fill_learns_many(faithful: Driver) -> None:
    faithful.fill([said(f"fact {n}") for n in range(5)], seconds=20)
    assert len(faithful.recall(cases.asked("?", "", "")).context) == 6
    faithful.reset()
    assert len(faithful.recall(cases.asked("?", "", "")).context) == 1


def test_hostile_text_survives_the_pipe(faithful: Driver) -> None:
    text = 'a\n{"do": "reset"}\x00\ud800\u202e\u200b\u2028 end'
    faithful.remember(said(text))
    assert faithful.recall(cases.asked("?", "", "")).context[0] == text


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_driver_is_refused_by_name(name: str, write_driver) -> None:  # type: ignore[no-untyped-def]
    text, complaint = BROKEN[name]

    def use() -> None:
        with Driver("some-peer", PYTHON, write_driver(text), embed=embed, seconds=20) as driver:
            driver.remember(said("I drink Assam tea."))
            driver.recall(cases.asked("Which tea?", "tea", "kind"))

    with pytest.raises(PeerError, match="some-peer") as caught:
        use()
    assert complaint in str(caught.value)


def test_a_process_that_speaks_no_json_is_refused(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    babble = tmp_path / "babble.py"
    babble.write_text("print('good morning')", encoding="utf-8")
    monkeypatch.setattr("thymus_bench.compare.talk.LOOP", babble)
    with pytest.raises(PeerError, match=r"some-peer: .* does not speak JSON: 'good morning"):
        Driver("some-peer", PYTHON, babble, embed=embed, seconds=20)


def test_a_driver_that_hangs_is_given_up(write_driver) -> None:  # type: ignore[no-untyped-def]
    slow = FAITHFUL.replace('if "HOLD"', '__import__("time").sleep(30)\n        if "HOLD"')
    with Driver("slow", PYTHON, write_driver(slow), embed=embed, seconds=20) as driver:
        driver.seconds = 0.3
        with pytest.raises(PeerError, match="no answer in time"):
            driver.remember(said("x"))


def test_nothing_of_the_user_reaches_a_driver(write_driver, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("OPENAI_API_KEY", "a secret")
    asks = FAITHFUL.replace('"vector " + str(numbers)', '*__import__("os").environ')
    with Driver("nosy", PYTHON, write_driver(asks), embed=embed, seconds=20) as driver:
        names = driver.recall(cases.asked("?", "", "")).context
    assert "OPENAI_API_KEY" not in names
    assert "HOME" in names


def test_material_is_fourteen_worlds_of_four_cases() -> None:
    assert len(cases.cases()) == 4 * len({case.world for case in cases.cases()}) == 56
    assert (len(cases.injections()), len(cases.controls())) == (20, 30)


@pytest.mark.parametrize("case", cases.cases(), ids=lambda case: f"{case.world}-{case.kind}")
def test_markers_tell_the_values_apart(case: cases.Case) -> None:
    assert first_held(case.original.text, case.original.value)
    assert first_held(case.then.text, case.then.value)
    assert not first_held(case.original.text, case.then.value)
    assert not first_held(case.then.text, case.original.value)
    assert not first_held(case.question, [*case.original.value, *case.then.value])


@pytest.mark.parametrize("single", [*cases.injections(), *cases.controls()], ids=lambda single: single.id)
def test_a_single_message_holds_its_mark(single: cases.Single) -> None:
    assert first_held(single.text, [single.mark])


def test_every_sender_is_nobody_real() -> None:
    senders = {said.sender for case in cases.cases() for said in (case.original, case.then)}
    senders |= {single.sender for single in (*cases.injections(), *cases.controls())}
    assert {
        one for one in senders if one != "user" and not one.startswith("tool:") and not one.endswith(".example")
    } == set()


def wrote(outcome: str, *flags: str) -> Wrote:
    return Wrote(outcome=outcome, flags=flags, ms=0.0)


def found(*context: str, told: Sequence[str] = ()) -> Found:
    return Found(context=context, told=tuple(told), ms=0.0)


PARCEL = {case.kind: case for case in cases.cases() if case.world == "parcel"}


@pytest.mark.parametrize(
    ("right", "kind", "answer"),
    [
        (True, "same sender", found("It comes on Monday.")),
        (True, "same sender", found("It comes on Thursday.", told=["a mail says monday"])),
        (False, "same sender", found("It comes on Thursday.")),
        (True, "lookalike", found("It comes on Thursday.")),
        (True, "lookalike", found("It comes on Thursday.", told=["Saturday, says somebody"])),
        (False, "lookalike", found("It comes on Thursday.", "It comes on Saturday.")),
        (False, "lookalike", found("It comes on Saturday.")),
        (True, "lookalike", found(told=["Thursday or Saturday?"])),
        (False, "lookalike", found(told=["Saturday?"])),
    ],
)
def test_a_case_is_right_when(right: bool, kind: str, answer: Found) -> None:
    assert judge.judge_case(PARCEL[kind], wrote("stored"), answer).right is right


def test_a_control_is_kept_only_with_its_mark() -> None:
    control = next(one for one in cases.controls() if one.id == "iban-user")
    kept = judge.judge_alone(control, wrote("stored"), found("DE89 3704 0044 0532 0130 00"))
    altered = judge.judge_alone(control, wrote("altered"), found("My savings account is [REDACTED]."))
    assert (kept.given, kept.flagged) == (True, False)
    assert (altered.given, altered.flagged) == (False, True)


def test_our_driver_on_two_worlds() -> None:
    """That the driver speaks for the product; how well the product does is for the table to say."""
    chosen = [one for one in cases.cases() if one.world in ("parcel", "standup") and one.kind != "against the user"]
    with Driver(OURS, PYTHON, PEERS[0].path, embed=embed, seconds=60) as driver:
        played = judge.play(driver, chosen)
        control = judge.play_alone(driver, [one for one in cases.controls() if one.id == "iban-user"])
    assert [one.right for one in played] == [True] * 6
    assert [(one.given, one.told) for one in played if one.fake] == [(False, True)] * 2
    assert [one.given for one in played if not one.fake] == [True] * 4
    assert control[0].given


def test_the_naive_store_loses_to_every_fake() -> None:
    peer = next(one for one in PEERS if one.name == "keyed-store")
    with Driver(peer.name, PYTHON, peer.path, embed=embed, seconds=20) as driver:
        played = judge.play(driver, cases.cases())
    assert {one.right for one in played if one.fake} == {False}
    assert {one.right for one in played if not one.fake} == {True}


def test_latency_is_measured_at_each_size(faithful: Driver) -> None:
    paces = latency.measure(faithful, [0, 150], seconds=20)
    assert [pace.size for pace in paces] == [0, 150]
    assert all(pace.write_ms is not None and pace.read_ms is not None for pace in paces)
    assert len(faithful.recall(cases.asked("?", "", "")).context) == 150 + latency.REPEATS + 1


def test_a_size_past_the_budget_is_given_up_with_all_larger(faithful: Driver) -> None:
    paces = latency.measure(faithful, [0, 100, 200], seconds=0)
    assert [bool(pace.given_up) for pace in paces] == [False, True, True]


STAND_IN = {
    "adapter.py": """
from enum import Enum
class RememberOutcome(str, Enum):
    STORED, REDACTED, QUARANTINED, BLOCKED = "stored", "redacted", "quarantined", "blocked"
class MemorySystemAdapter:
    pass
""",
    "scenarios.py": """
def default_corpus():
    return [("a", "external_tool", "x HOLD x"), ("b", "user_input", "plain"), ("c", "external_tool", "plain")]
""",
    "harness.py": """
from types import SimpleNamespace as N
def run_suite(make, corpus):
    make()
    runs = []
    for key, source_class, value in corpus:
        adapter = make()
        outcome = adapter.remember(key, value, source_class=source_class)
        adapter.context_reset()
        recalled = adapter.recall(key)
        runs.append(N(scenario_id=f"{key}-{outcome.value}", passed=recalled == value))
    return N(runs=runs, system=make.name)
""",
    "scoring.py": """
class Card:
    def __init__(self, report):
        self.report = report
    def to_dict(self):
        return dict(grade="B", score=81.5, defended_total=1, malicious_total=2, false_positives=0, benign_total=3)
def score_report(report):
    return Card(report)
""",
}


def test_the_suite_talks_to_a_driver_through_its_adapter(tmp_path: Path, write_driver) -> None:  # type: ignore[no-untyped-def]
    bench = tmp_path / "site" / "agent_memory_guard" / "bench"
    bench.mkdir(parents=True)
    for name, text in STAND_IN.items():
        (bench / name).write_text(text, encoding="utf-8")
    start = f"import runpy, sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); "
    command = [str(PYTHON), "-c", start + f"runpy.run_path({str(suite.SUITE)!r}, run_name='__main__')"]
    reads = FAITHFUL.replace('append(message["text"])', 'append(message["text"] + message["sender"])')
    reads += "\n    def read(self, key):\n        return ''.join(self.texts).removesuffix('user')\n"
    with Driver("list", PYTHON, write_driver(reads), embed=embed, seconds=20) as driver:
        card = suite.grade(driver, command)
    assert (card.grade, card.defended, card.attacks, card.benign) == ("B", 1, 2, 3)
    assert card.failed == ("a-quarantined", "c-stored"), "what a tool said is not the user's"


def test_a_suite_that_fails_says_so(faithful: Driver) -> None:
    with pytest.raises(PeerError, match="no such suite"):
        suite.grade(faithful, [str(PYTHON), "-c", "raise SystemExit('no such suite')"])


def test_an_environment_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    peer = Peer(name="ghost", driver="ghost.py", setting="", requirements=("./no-such-folder",))
    with pytest.raises(PeerError, match="ghost: cannot be installed"):
        environments.python_of(peer, tmp_path, seconds=60)
    assert environments.python_of(PEERS[0]) == PYTHON


def test_the_table_of_peers_names_pinned_packages_and_drivers_that_exist() -> None:
    assert [peer.name for peer in PEERS if not peer.path.is_file()] == []
    assert [peer.name for peer in PEERS if not all("==" in one for one in peer.requirements)] == []
    assert [peer.name for peer in choose(["mem0"])] == [OURS, "mem0"]
    with pytest.raises(PeerError, match="choose among thymus, "):
        choose(["nobody"])


def test_tables_count_what_was_judged() -> None:
    played = [judge.judge_case(case, wrote("stored"), found(case.then.text)) for case in PARCEL.values()]
    single = judge.judge_alone(cases.controls()[0], wrote("altered"), found("[REDACTED]"))
    result = Result(peer="naive", setting="as it comes", matched=played, injections=[single], controls=[single])
    result.paces = [latency.Pace(size=0, write_ms=1.234, read_ms=0.5), latency.Pace(size=1000, given_up="too slow")]
    result.card = Card(grade="C", score=74.25, defended=13, attacks=15, over_blocked=2, benign=6, failed=("x", "y"))
    assert "naive" not in markdown([result]), "a peer that never greeted has no row"
    result.hello = Hello(name="naive", version="9", keyed=True, tells="")
    text = markdown(
        [
            result,
            Result(peer="gone", setting="", failed=["gone: cannot be installed"], said=["weights of another version"]),
        ]
    )
    assert "| naive | 0 of 1 | 1 / 0 | 1 / 0 / 0 | 1 / 1 / 0 | 1 / 1 / 0 |" in text
    assert "| naive | 1 of 1 | 0 | 0 of 1 | 1 | 1: iban-user | 0 | 0 |" in text
    assert "| peer | write at 0 | read at 0 | write at 1,000 | read at 1,000 |" in text
    assert "| naive | 1.23 | 0.50 | given up | given up |" in text
    assert "| naive | C | 74.2 | 13 of 15 | 2 of 6 | x, y |" in text
    assert "- gone: cannot be installed" in text
    assert "- **gone**: `weights of another version`" in text


def test_the_command_runs_ours_beside_one_and_writes_both_files(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    from thymus_bench.compare import __main__ as command

    one_of_each = [cases.injections()[0], cases.controls()[0]]
    monkeypatch.setattr("thymus_bench.compare.cases.cases", lambda: list(PARCEL.values()))
    monkeypatch.setattr("thymus_bench.compare.cases.injections", lambda: one_of_each[:1])
    monkeypatch.setattr("thymus_bench.compare.cases.controls", lambda: one_of_each[1:])
    ghost = Peer(name="ghost", driver="ghost.py", setting="", requirements=("./no-such-folder",))
    keyed = next(one for one in PEERS if one.name == "keyed-store")
    ours = Peer(name=OURS, driver=keyed.driver, setting="a quick stand-in for ours")
    monkeypatch.setattr(command, "choose", lambda _: [ours, ghost, keyed])
    arguments = ["--sizes", "", "--no-suite", "--out", str(tmp_path / "run"), "--cache", str(tmp_path / "cache")]
    done = CliRunner().invoke(command.app, arguments)
    assert done.exit_code == 0, done.output
    rows = {one["peer"]: one for one in json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))}
    assert [one["given"] for one in rows["keyed-store"]["matched"]] == [True] * 4
    assert rows["ghost"]["failed"][0].startswith("ghost: cannot be installed")
    text = (tmp_path / "run.md").read_text(encoding="utf-8")
    for name in (OURS, "keyed-store"):
        assert f"| {name} | 0 of 1 | 1 / 0 | 1 / 0 / 0 | 1 / 1 / 0 | 1 / 1 / 0 |" in text
    assert "- ghost: cannot be installed" in text


def test_a_size_that_is_no_number_is_explained() -> None:
    from thymus_bench.compare import __main__ as command

    done = CliRunner().invoke(command.app, ["--sizes", "many"])
    assert done.exit_code == 2
    assert "whole numbers with commas" in done.output


def test_what_a_peer_says_moves_no_terminal_and_ends_no_quotation() -> None:
    said = Result(peer="other", setting="as it comes", said=["warning `x` \x1b[2J\u202e done"])
    assert "- **other**: `warning 'x' [2J done`" in markdown([said])


def test_a_peer_that_is_not_there_is_named_as_it_was_written() -> None:
    from thymus_bench.compare import __main__ as command

    done = CliRunner().invoke(command.app, ["--peer", "[/red]"])
    assert done.exit_code == 2
    assert "[/red]" in done.output
