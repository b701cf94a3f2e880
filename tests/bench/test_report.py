"""``thymus-report``: one table in four forms, the page that trusts nobody, the chart, two runs compared, exit codes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from factory import outcome, run
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from thymus_bench.outcomes import Outcome
from thymus_bench.report import print_summary, summarise, summary_markdown, tables
from thymus_bench.report.chart import HEIGHT, WIDTH, Box, panels
from thymus_bench.report.cli import app
from thymus_bench.report.comparison import comparison_tables
from thymus_bench.report.page import page
from thymus_bench.report.render import escape_latex, html_table, latex, markdown, terminal
from thymus_bench.report.runs import ReportError, Run, newest, read_run, read_runs
from thymus_bench.report.table import Column, Share, Table, chance, percent, points, signed

EVIL = "<script>alert(1)</script> call bank.example & “x” | `y` $z_1$ https://evil.example/pay \\input{/etc/passwd}"


def write_run(folder: Path, outcomes: list[Outcome], **config: object) -> Path:
    folder.mkdir(parents=True)
    (folder / "results.jsonl").write_text("".join(one.to_json() + "\n" for one in outcomes), encoding="utf-8")
    (folder / "run.json").write_text(json.dumps({"version": "0.2.0", "seed": 7} | config), encoding="utf-8")
    return folder


def a_run(outcomes: list[Outcome]) -> Run:
    return Run(folder=Path("a-run"), config={}, outcomes=outcomes)


def invoke(*args: object) -> tuple[int, str, str]:
    found = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(one) for one in args])
    return found.exit_code, found.stdout, found.stderr


def on_terminal(table: Table, width: int = 100) -> str:
    text = StringIO()
    Console(file=text, width=width).print(terminal(table))
    return text.getvalue()


A_TABLE = Table(
    name="a-table",
    title="Attacks",
    columns=(Column(title="gate", number=False), Column(title="success ↓", below="n = 50"), Column(title="stale")),
    rows=(("thymus_v4", Share(share=0.02, low=0.0, high=0.1), "–"), (EVIL, Share(share=1, low=0.9, high=1), "3")),
    note="Percent.",
)


def test_a_share_is_never_shown_as_nothing_or_everything_that_it_is_not() -> None:
    assert [percent(share) for share in (0, 0.001, 0.02, 0.999, 1)] == ["0%", "<1%", "2%", ">99%", "100%"]


def test_differences_are_points_with_a_true_minus() -> None:
    assert points({"difference": -0.38, "low": -0.48, "high": 0.0}) == "−38 [−48, 0]"
    assert [signed(one) for one in (0.004, -0.004, 0.1)] == ["0", "0", "+10"]
    assert [chance(one) for one in (0.0001, 0.0312, 1)] == ["<0.001", "0.031", "1.000"]


def test_markdown_keeps_its_columns_whatever_a_cell_holds() -> None:
    lines = markdown(A_TABLE).split("\n")

    assert lines[2] == "| gate | success ↓ (n = 50) | stale |"
    assert lines[4] == "| thymus\\_v4 | 2% [0, 10] | – |"
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 4 for line in lines[2:6])
    assert "<script>" not in markdown(A_TABLE).replace("\\<", "")


def test_latex_obeys_no_cell() -> None:
    made = latex(A_TABLE)

    assert "thymus\\_v4 & 2\\% [0, 10] & -- \\\\" in made
    assert "\\input{" not in made
    assert "\\textbackslash{}input\\{" in made
    assert "success $\\downarrow$" in made
    assert made.count("\\toprule") == made.count("\\midrule") == made.count("\\bottomrule") == 1


@given(st.text(max_size=60))
def test_latex_escapes_every_special_character(text: str) -> None:
    bare = re.sub(r"\\(textbackslash|textasciicircum|textasciitilde|ldots)\{\}|\\[{}$&#_%]", "", escape_latex(text))
    bare = re.sub(r"\$(<|>|-|\\downarrow|\\uparrow|\\kappa)\$|(?<=-)\{\}(?=-)", "", bare)

    assert not re.search(r"[\\{}$&#^_%~<>]", bare)


def test_latex_sets_two_hyphens_as_two() -> None:
    assert escape_latex("desk--attack a---b c-d") == "desk-{}-attack a-{}-{}-b c-d"


def test_a_run_is_printed_with_its_own_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def summarised(outcomes: list[Outcome], *, seed: int) -> dict[str, Any]:
        seeds.append(seed)
        return summarise(outcomes, seed=seed)

    monkeypatch.setattr("thymus_bench.report.summarise", summarised)
    print_summary(run(("thymus-v4",), families=2), Console(file=StringIO()), seed=8)
    assert seeds == [8]


@pytest.mark.parametrize("render", [markdown, latex, html_table, on_terminal])
def test_no_form_holds_a_link_that_works(render: Callable[[Table], str]) -> None:
    assert "https://evil.example" not in render(A_TABLE)
    assert "hxxps" in render(A_TABLE)


def test_html_escapes_every_cell() -> None:
    made = html_table(A_TABLE)

    assert "<script>" not in made
    assert "&lt;script&gt;" in made
    assert 'style="--p:2.0%"' in made


def test_a_terminal_gets_no_markup_and_no_controls_from_a_cell() -> None:
    shown = on_terminal(replace(A_TABLE, rows=(("[bold]x[/bold]\x1b[31m", "1", "2"),)))

    assert "[bold]x[/bold][31m" in shown


def test_a_narrow_terminal_gets_the_columns_in_blocks() -> None:
    wide = Table(
        name="wide",
        title="Wide",
        columns=(Column(title="gate", number=False), *(Column(title=f"number {at}") for at in range(9))),
        rows=(("thymus-v4", *("12% [3, 40]" for _ in range(9))),),
    )
    shown = on_terminal(wide, 60)

    assert shown.count("thymus-v4") == 3
    assert shown.count("12% [3, 40]") == 9
    assert max(map(len, shown.split("\n"))) <= 60


def test_all_forms_of_the_tables_of_a_run_hold_the_same_cells() -> None:
    for table in tables(summarise(run(families=6))):
        cells = [str(cell) for row in table.rows for cell in row]
        plain = re.sub(r"<[^>]+>", "", html_table(table)).replace("&lt;", "<").replace("&gt;", ">")
        assert all(cell in plain for cell in cells)
        assert all(escape_latex(cell) in latex(table) for cell in cells)


def test_the_markdown_of_a_summary_holds_no_times() -> None:
    plays = run(families=3)
    slower = [replace(one, costs=tuple(replace(cost, ms=7 * cost.ms) for cost in one.costs)) for one in plays]

    assert summary_markdown(summarise(slower)) == summary_markdown(summarise(plays))
    assert summary_markdown(summarise(plays)).startswith("# Thymus benchmark\n")


def test_n_stands_in_the_heading_where_all_gates_have_the_same_and_in_the_cells_where_not() -> None:
    plays = run(("allow-all", "thymus-v4"), families=4)
    same, *_ = tables(summarise(plays))
    uneven, *_ = tables(summarise(plays[:-1]))

    assert {column.below for column in same.columns[1:]} == {"n = 4"}
    assert {column.below for column in uneven.columns[1:]} == {""}
    assert str(uneven.rows[1][1]).endswith(" of 3")


def test_readers_and_models_are_named_where_there_are_several() -> None:
    one, *_ = tables(summarise(run(("thymus-v4",), families=2)))
    two, *_ = tables(summarise([*run(("thymus-v4",), families=2), *run(("thymus-v4",), families=2, model="llama")]))

    assert [column.title for column in one.columns][:2] == ["gate", "attack stored ↓"]
    assert [column.title for column in two.columns][:2] == ["gate", "model"]
    assert [row[1] for row in two.rows] == ["–", "llama"]


def test_many_kinds_stand_below_each_other() -> None:
    plays = [outcome(scenario=f"s{at}", family=f"s{at}", kind=f"kind-{at}") for at in range(9)]
    (table,) = (one for one in tables(summarise(plays)) if one.name.endswith("attack-success-by-kind"))

    assert [column.title for column in table.columns] == ["kind", "allow-all"]
    assert len(table.rows) == 9


def test_print_summary_tells_costs_where_asked() -> None:
    shown = {}
    for cost in (True, False):
        text = StringIO()
        print_summary(run(families=2), Console(file=text, width=160), cost=cost)
        shown[cost] = text.getvalue()

    assert "Attacks: families" in shown[False]
    assert "tokens in" in shown[True]
    assert "tokens in" not in shown[False]


class Tags(HTMLParser):
    """The tags of a page, and what its elements with an id are."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_a_page_runs_no_script_but_its_own_and_links_nowhere() -> None:
    evil = dict.fromkeys(("reply", "context", "notice", "scenario", "kind", "gate", "domain"), EVIL)
    plays = [replace(one, **evil) for one in run(("thymus-v4",), families=3)]  # type: ignore[arg-type]
    plays[0] = replace(plays[0], error=EVIL)
    one = a_run(plays)
    made = page(one, one.summarise())
    reader = Tags()
    reader.feed(made)
    found = [tag for tag, _ in reader.tags]

    assert found.count("script") == 1
    assert "img" not in found
    assert all((attrs.get("href") or "#").startswith("#") for _, attrs in reader.tags)
    assert not any(name.startswith("on") for _, attrs in reader.tags for name in attrs)
    assert "https://evil.example" not in made
    assert "hxxps://evil[.]example" in made
    assert "call bank[.]example" in made
    assert "default-src 'none'" in made
    assert len([tag for tag, attrs in reader.tags if tag == "tr" and "data-gate" in attrs]) == len(plays)


def test_a_pages_policy_allows_the_script_that_it_has() -> None:
    from base64 import b64encode
    from hashlib import sha256

    one = a_run(run(families=2))
    made = page(one, one.summarise())
    script = made.partition("<script>")[2].partition("</script>")[0]

    assert f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in made


@pytest.mark.parametrize("text", ["", "\x00\x1b[2J", "‮evil", "a" * 50_000, "\ud800", "]]>", "</td></table>"])
def test_a_page_bears_any_text(text: str) -> None:
    one = a_run([replace(play, reply=text, context=text) for play in run(("thymus-v4",), families=1)])

    page(one, one.summarise()).encode("utf-8")


def test_names_in_the_chart_cover_neither_each_other_nor_leave_it() -> None:
    gates = ("allow-all", "user-only", "thymus", "thymus-v3", "thymus-v4")
    (panel,) = panels(summarise(run(gates, families=30)))
    boxes = [label.box for label in panel.labels]

    assert [mark.label for mark in panel.marks] == list(gates)
    assert [mark.role for mark in panel.marks] == ["other", "other", "earlier", "earlier", "newest"]

    def meet(one: Box, other: Box) -> bool:
        return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]

    for at, one in enumerate(boxes):
        assert one[0] >= 0
        assert one[1] >= 0
        assert one[2] <= WIDTH
        assert one[3] <= HEIGHT
        assert not any(meet(one, other) for other in boxes[at + 1 :])


def test_gates_that_stand_in_one_place_have_names_beside_each_other() -> None:
    plays = [replace(one, gate=f"gate-{number}") for number in range(9) for one in run(("thymus-v4",), families=5)]
    (panel,) = panels(summarise(plays))

    assert len({label.box for label in panel.labels}) == 9


def test_the_chart_is_drawn_and_the_same_twice(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra eval has matplotlib")
    from thymus_bench.report.plot import draw

    summary = summarise(run(families=10))
    png, svg = draw(summary, tmp_path / "one")
    again = draw(summary, tmp_path / "two")

    assert png.read_bytes().startswith(b"\x89PNG")
    assert "thymus-v4" in svg.read_text(encoding="utf-8")
    assert [path.read_bytes() for path in again] == [png.read_bytes(), svg.read_bytes()]


def test_without_matplotlib_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    folder = write_run(tmp_path / "run", run(families=2))
    code, _, told = invoke(folder, "--plot")

    assert code == 2
    assert 'pip install "thymus-memory[eval]"' in told


def test_two_runs_of_the_same_thing_do_not_differ() -> None:
    figures, differences = comparison_tables(a_run(run(families=5)), a_run(run(families=5)))

    assert differences.rows == ()
    assert {row[-1] for row in figures.rows} == {"1.000"}


def test_what_differs_is_listed() -> None:
    plays = run(("thymus-v4",), families=5)
    other = [replace(one, adopted=True) if one.scenario == "families-000--attack" else one for one in plays]
    figures, differences = comparison_tables(a_run(plays), a_run(other))

    assert differences.rows == (
        ("families-000--attack", "thymus-v4", "attack", "lookalike", "in the notice", "adopted"),
    )
    assert figures.rows[0][4:7] == ("5", "0", "1")


def test_runs_of_two_models_are_paired_by_gate() -> None:
    one = run(("allow-all", "thymus-v4"), families=3, model="small")
    other = run(("allow-all", "thymus-v4"), families=3, model="large")
    figures, _ = comparison_tables(a_run(one), a_run(other))

    assert {row[0] for row in figures.rows} == {"allow-all", "thymus-v4"}


def test_runs_of_one_gate_each_are_paired() -> None:
    figures, _ = comparison_tables(a_run(run(("thymus",), families=3)), a_run(run(("thymus-v4",), families=3)))

    assert {row[0] for row in figures.rows} == {"thymus / thymus-v4"}


def test_runs_of_other_scenarios_are_independent() -> None:
    figures, differences = comparison_tables(
        a_run(run(("thymus-v4",), families=9)), a_run(run(("thymus-v4",), families=7, suite="floods"))
    )

    assert differences.rows == ()
    assert {row[4] for row in figures.rows} == {"–"}
    assert "[" in str(figures.rows[0][7])


def test_runs_with_nothing_in_common_are_refused() -> None:
    one = a_run([*run(("thymus", "thymus-v3"), families=1)])
    other = a_run([*run(("allow-all", "user-only"), families=1)])

    with pytest.raises(ReportError, match="in common"):
        comparison_tables(one, other)


def test_the_newest_run_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "results" / "2026-11-30T09-00-00", run(("thymus",), families=2))
    later = write_run(tmp_path / "results" / "2026-11-30T10-00-00", run(("thymus-v4",), families=2))
    import os

    os.utime(later / "results.jsonl", (2_000_000_000, 2_000_000_000))

    assert newest().name == "2026-11-30T10-00-00"
    code, shown, _ = invoke()
    assert code == 0
    assert "thymus-v4" in shown


@pytest.mark.parametrize("form", ["md", "latex", "html", "terminal"])
def test_every_form_goes_to_a_file_or_to_the_output(form: str, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", run(families=3))
    suffix = {"md": "md", "latex": "tex", "html": "html", "terminal": "txt"}[form]

    assert invoke(folder, "--format", form, "--out", tmp_path / "out")[0] == 0
    written = (tmp_path / "out" / f"report.{suffix}").read_text(encoding="utf-8")
    assert "thymus-v4" in written
    code, shown, _ = invoke(folder, "--format", form)
    assert code == 0
    assert "thymus-v4" in shown


def test_the_page_and_the_pictures_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra eval has matplotlib")
    folder = write_run(tmp_path / "run", run(families=3))
    code, shown, told = invoke(folder, "--html", tmp_path / "page.html", "--plot")

    assert (code, shown) == (0, "")
    assert told.count("wrote ") == 3
    assert (folder / "trade-off.png").exists()
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_compare_is_a_command(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", run(families=3))
    other = write_run(tmp_path / "two", run(families=3))
    code, shown, _ = invoke("compare", one, other)

    assert code == 0
    assert "0 plays that differ" in shown


def test_pooled_runs_must_not_repeat_each_other(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", run(("thymus",), families=2, model="small"))
    other = write_run(tmp_path / "two", run(("thymus",), families=2, model="large"))

    assert len(read_runs([one, other]).outcomes) == 12
    with pytest.raises(ReportError, match="compare"):
        read_runs([one, one])


@pytest.mark.parametrize(
    ("expected", "content"),
    [
        ("no outcome yet", b""),
        ("not UTF-8", b"\xff\xfe"),
        ("no outcome of this version", b'{"a": 1}\n'),
        ("no outcome of this version", b"[]\n{}\n"),
        ("no outcome of this version", b"nonsense\n{}\n"),
    ],
)
def test_results_that_are_none_are_refused(expected: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_bytes(content)

    with pytest.raises(ReportError, match=expected):
        read_run(tmp_path)


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", run(("thymus",), families=2))
    with (folder / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"scenario": "cut')

    assert len(read_run(folder).outcomes) == 6


@pytest.mark.parametrize(
    ("expected", "args"),
    [
        ("cannot be read", ("nowhere",)),
        ("no gate 'nope'", ("RUN", "--baseline", "nope")),
        ("'pdf' is not one of", ("RUN", "--format", "pdf")),
        ("cannot be read", ("compare", "RUN", "nowhere")),
        ("Missing argument", ("compare", "RUN")),
        ("name a file of entries", ("leaderboard",)),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(expected: str, args: tuple[str, ...], tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", run(families=1))
    code, shown, told = invoke(*(folder if one == "RUN" else one for one in args))

    assert code == 2
    assert shown == ""
    assert expected in told
    assert "Traceback" not in told
