"""``thymus-report``: tables, pictures and a page of runs; two runs side by side; the leaderboard.

Exit codes: 0 done; 2 wrong usage, or a file that says what is wrong with it; 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from thymus import __version__
from thymus_bench.ending import complaints, console, ending

if TYPE_CHECKING:
    from thymus_bench.report.runs import Run
    from thymus_bench.report.table import Table

DEFAULT: Final = "show"
MOST_DIFFERENCES: Final = 40


class Form(StrEnum):
    """What ``--format`` may say."""

    TERMINAL = "terminal"
    MD = "md"
    LATEX = "latex"
    HTML = "html"


class Breakdown(StrEnum):
    """What ``--by`` may say."""

    KIND = "kind"
    DOMAIN = "domain"
    SUITE = "suite"


_SUFFIXES: Final = {
    Form.MD: "md",
    Form.LATEX: "tex",
    Form.HTML: "html",
    Form.TERMINAL: "txt",
}


class ShowByDefault(TyperGroup):
    """A group that takes arguments without a command's name for those of ``show``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name in where it is missing."""
        named = bool(args) and (args[0] in self.commands or args[0] in ("--help", "-h", "--version"))
        return super().parse_args(ctx, args if named else [DEFAULT, *args])


app = typer.Typer(
    cls=ShowByDefault,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  thymus-report                                     the newest run in results/
  thymus-report RUN --by domain --format md         tables to paste
  thymus-report RUN --plot --html report.html       pictures, and one page with everything
  thymus-report compare RUN OTHER                   two runs side by side
  thymus-report leaderboard entries.json            check entries and rank them""",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"thymus-report {__version__}")
        raise typer.Exit


@app.callback()
def report(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="And exit.")] = False,
) -> None:
    """Tell what runs of thymus-eval found; `show` is what happens without a command."""


Runs = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[RUN]...", help="Folders of runs; the newest in results/ by default.", show_default=False),
]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Write into this folder instead of printing.")]
Format = Annotated[Form, typer.Option("--format", help="How the tables look.")]


@app.command(DEFAULT)
def show(
    runs: Runs = None,
    out: Out = None,
    form: Format = Form.TERMINAL,
    by: Annotated[
        list[Breakdown] | None,
        typer.Option(help="Break down by this; may be repeated. By kind, and in files by all, by default."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="GATE", help="Compare every gate with this one; allow-all by default.")
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw trade-off.png and .svg, into DIR or RUN.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write one page with tables, chart and every play.")
    ] = None,
) -> None:
    """Print the tables of runs; several are pooled, such as those of several models."""
    with ending():
        from thymus_bench.report import print_tables
        from thymus_bench.report.runs import newest, read_runs

        run = read_runs(runs or [newest()])
        summary = run.summarise(baseline)
        if plot:
            from thymus_bench.report.plot import draw

            _wrote(draw(summary, out or run.folder))
        if html:
            from thymus_bench.report.page import write_page

            _wrote([write_page(run, summary, html)])
        if form is Form.TERMINAL and not out:
            if not (plot or html):
                from thymus_bench.report.runs import facts

                for line in facts(run.config):
                    console().print(line, markup=False, highlight=False, soft_wrap=True)
                print_tables(summary, console(), by=by or (Breakdown.KIND,))
            return
        _write(_document(run, summary, form, by), out, form)


def _document(run: Run, summary: dict[str, Any], form: Form, by: list[Breakdown] | None) -> str:
    from thymus_bench.report import BREAKDOWNS, legend, summary_markdown, tables
    from thymus_bench.report.page import page

    if form is Form.HTML:
        return page(run, summary)
    if form is Form.MD:
        return summary_markdown(summary, by=by or BREAKDOWNS)
    shown = tables(summary, by or BREAKDOWNS)
    return _rendered(shown if form is Form.LATEX else [*shown, legend()], form)  # a paper explains metrics in its text


def _rendered(shown: Sequence[Table], form: Form, title: str = "") -> str:
    from io import StringIO

    from rich.console import Console

    from thymus_bench.report import render
    from thymus_bench.report.page import tables_page

    if form is Form.HTML:
        return tables_page(title, shown)
    if form is not Form.TERMINAL:
        return "\n".join((render.markdown if form is Form.MD else render.latex)(table) for table in shown)
    text = StringIO()
    screen = Console(file=text, width=160, no_color=True)
    for table in shown:
        screen.print(render.terminal(table))
        screen.print()
    return "\n".join(line.rstrip() for line in text.getvalue().split("\n"))


def _write(text: str, out: Path | None, form: Form) -> None:
    from thymus_bench.report.runs import ReportError

    if out is None:
        typer.echo(text, nl=False)
        return
    path = out / f"report.{_SUFFIXES[form]}"
    try:
        out.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{path}: cannot be written ({error.strerror}): name a folder of yours") from None
    _wrote([path])


def _wrote(paths: Sequence[Path]) -> None:
    for path in paths:
        complaints().print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


def _print(shown: Sequence[Table], form: Form, out: Path | None, title: str) -> None:
    from thymus_bench.report import render

    if form is Form.TERMINAL and not out:
        for place, table in enumerate(shown):
            if place:
                console().print()
            console().print(render.terminal(table))
        return
    _write(_rendered(shown, form, title), out, form)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Folder of a run.", show_default=False)],
    second: Annotated[Path, typer.Argument(metavar="B", help="Folder of another.", show_default=False)],
    out: Out = None,
    form: Format = Form.TERMINAL,
    all_: Annotated[bool, typer.Option("--all", help="List every play that differs.")] = False,
) -> None:
    """Put two runs side by side: paired where they share scenarios, and what differs.

    Runs that differ in the version, the model or the reader are compared gate by gate; runs of one gate each, these.
    """
    with ending():
        from thymus_bench.report.comparison import comparison_tables
        from thymus_bench.report.runs import read_run

        shown = comparison_tables(read_run(first), read_run(second), most=None if all_ or out else MOST_DIFFERENCES)
        _print(shown, form, out, f"{first.name} against {second.name}")


@app.command()
def leaderboard(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Files of entries.", show_default=False)
    ] = None,
    add: Annotated[
        Path | None,
        typer.Option("--add", metavar="RUN", help="Write the entry of this run into FILE, or print it."),
    ] = None,
    name: Annotated[str, typer.Option(help="Of the system; with --add.")] = "",
    system_version: Annotated[
        str, typer.Option("--system-version", help="Of the system; that of Thymus by default.")
    ] = "",
    gate: Annotated[str, typer.Option(help="Which gate of the run; with --add.")] = "",
    url: Annotated[str, typer.Option(help="Where the system is; with --add.")] = "",
    run_by: Annotated[str, typer.Option("--run-by", help="Who ran it; with --add.")] = "",
    notes: Annotated[str, typer.Option(help="What a reader should know; with --add.")] = "",
    out: Out = None,
    form: Format = Form.TERMINAL,
) -> None:
    """Check files of entries and rank them, or add the entry of a run."""
    with ending():
        from thymus_bench.leaderboard import known_sets, read_entries
        from thymus_bench.report.board import board_tables

        known = known_sets()
        if add:
            said = {"version": system_version, "gate": gate, "url": url, "run_by": run_by, "notes": notes}
            _add(add, files or [], known, name=name, **said)
            return
        if not files:
            raise typer.BadParameter("name a file of entries, or a run with --add", param_hint="FILE")
        _print(board_tables(read_entries(files, known), known), form, out, "Thymus leaderboard")


def _add(folder: Path, files: Sequence[Path], known: Any, **said: str) -> None:
    import json

    from thymus_bench.report.board import add_entry, entry_of
    from thymus_bench.report.runs import read_run

    for option in ("name", "run_by"):
        if not said[option].strip():
            raise typer.BadParameter("is needed for an entry", param_hint=f"--{option.replace('_', '-')}")
    if len(files) > 1:
        raise typer.BadParameter("name one file to add the entry to, or none to print it", param_hint="FILE")
    run = read_run(folder)
    entry = entry_of(
        run, known, **(said | {"version": said["version"] or str(run.config.get("version") or __version__)})
    )
    if not files:
        typer.echo(json.dumps(entry.to_dict(), indent=2, ensure_ascii=False))
        return
    many = add_entry(files[0], entry, known)
    complaints().print(f"wrote {files[0]} ({many} entries)", highlight=False, markup=False, soft_wrap=True)


def main() -> None:
    """Run ``thymus-report``; never returns."""
    app(prog_name="thymus-report")


if __name__ == "__main__":
    main()
