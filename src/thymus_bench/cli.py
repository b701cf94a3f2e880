"""``thymus-eval``: plays the benchmark and writes what came of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from thymus import GATES, ThymusError, __version__
from thymus_bench.ending import complaints, console, ending

if TYPE_CHECKING:
    from collections.abc import Iterator

    from thymus_bench.outcomes import Outcome

RESULTS: Final = Path("results")
LONGMEMEVAL: Final = "longmemeval"
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

_EXAMPLES: Final = """\b
Examples:
  thymus-eval                                        nine gates, 205 scenarios, no model: the worst-case reader
  thymus-eval --gate thymus-v4 --category attack     one gate, attacks only
  thymus-eval --only minja                           scenarios whose id contains "minja"
  thymus-eval --suite floods --suite laundering      other suites; --suite all for every one
  thymus-eval --suite longmemeval --data DIR         LongMemEval, poisoned
  thymus-eval --llm ollama:qwen3:4b --judge ollama:qwen3:4b
  thymus-eval --gate-judge anthropic:NAME --cost     a model judges where the bundled judge is unsure
  thymus-eval --llm echo --embedder hash             the pipeline without any model: meaningless as a result
  thymus-eval --resume results/2026-11-30T09-00-00   go on where it stopped
  thymus-report                                      the tables, figures and page of the newest run"""


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"thymus-eval {__version__}")
        raise typer.Exit


@app.command(epilog=_EXAMPLES)
def evaluate(
    gate: Annotated[
        list[str] | None, typer.Option(help=f"Gates to play, each of {', '.join(GATES)}. All nine by default.")
    ] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(help="Suites to play; core and families, the 205, by default. `--suite list` tells which."),
    ] = None,
    category: Annotated[str, typer.Option(help="Only attack, update or benign scenarios.")] = "",
    only: Annotated[str, typer.Option(help="Only scenarios whose id contains this.")] = "",
    llm: Annotated[
        str,
        typer.Option(
            help="Model of the agent that extracts and answers: anthropic:NAME, openai:NAME, openai:NAME@URL, "
            "ollama:NAME, claude-code, codex, echo. Without one, the worst-case reader adopts whatever reaches the "
            "context."
        ),
    ] = "",
    judge: Annotated[str, typer.Option(help="Model that grades replies; keyword markers grade without one.")] = "",
    gate_judge: Annotated[
        str,
        typer.Option(
            help="What answers the gates' two questions: local, typed, nli:PATH; a model (anthropic:NAME ...) where "
            "local is unsure, or only:anthropic:NAME for the model about everything."
        ),
    ] = "local",
    embedder: Annotated[str, typer.Option(help="e5-small, minilm, hash, or the folder of an ONNX model.")] = "e5-small",
    store: Annotated[
        str, typer.Option(help="Where each play keeps its memory: memory, sqlite, json or mem0.")
    ] = "memory",
    data: Annotated[
        Path | None, typer.Option(help="Folder of downloaded data (real, longmemeval), or of scenarios of your own.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Play each scenario so often.")] = 1,
    seed: Annotated[int, typer.Option(help="Of every resampling in the report.")] = 7,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="How many memories a recall may show.")] = 8,
    jobs: Annotated[int | None, typer.Option(min=1, max=256, help="Processes; one a processor by default.")] = None,
    cost: Annotated[bool, typer.Option("--cost", help="Also print model calls, tokens and time for each job.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no model: answer from .cache/llm alone.")] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Ask model, judge and embedder anew: for real latency.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of this run; results/TIME by default.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with this run; other options come from it.")] = None,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="And exit.")] = False,  # noqa: ARG001
) -> None:
    """Play the benchmark: every scenario under every gate, then a question in a fresh session.

    Results go to results/TIME: summary.md, summary.json, and results.jsonl with every reply and every decision.
    """
    folder = resume or out or RESULTS / datetime.now().astimezone().strftime("%Y-%m-%dT%H-%M-%S")
    with ending(when_interrupted=f"stopped; nothing that was played is lost: thymus-eval --resume {folder}"):
        if suite == ["list"]:
            return _list_suites(data)
        if suite and LONGMEMEVAL in suite:
            unfit = {"category": category, "only": only, "repeats": repeats > 1, "offline": offline}
            return _longmemeval(
                suite,
                data,
                resume,
                unfit,
                gate=gate,
                llm=llm,
                judge=judge,
                gate_judge=gate_judge,
                embedder=embedder,
                no_cache=no_cache,
                jobs=jobs,
                out=folder,
            )
        if not resume:
            _begin(
                folder,
                gates=tuple(gate or ()),
                suites=tuple(suite or ()),
                category=category,
                only=only,
                reader="agent" if llm else "worst-case",
                llm=llm,
                grader=judge or ("markers" if llm else ""),
                gate_judge=gate_judge,
                embedder=embedder,
                store=store,
                data=str(data or ""),
                repeats=repeats,
                seed=seed,
                k=k,
                cache=not no_cache,
                offline=offline,
            )
        with nullcontext() if resume else _nothing_left(folder):
            _go(folder, jobs=jobs, cost=cost)
    return None


@contextmanager
def _nothing_left(folder: Path) -> Iterator[None]:
    """A run that fails before its first play leaves no folder: there is nothing to go on with."""
    try:
        yield
    except ThymusError:
        results = folder / "results.jsonl"
        if not results.exists() or not results.stat().st_size:
            for name in ("results.jsonl", "run.json"):
                (folder / name).unlink(missing_ok=True)
            with suppress(OSError):  # it was there before, with something else in it
                folder.rmdir()
        raise


def _list_suites(data: Path | None) -> None:
    from thymus_bench import suites

    for name in suites.names(data):
        found = suites.load([name], data)
        console().print(f"{name}: {len(found)} scenarios", highlight=False, markup=False)
    console().print("real: made of text that you download (--data DIR; docs/datasets.md)", highlight=False)
    console().print(f"{LONGMEMEVAL}: under poisoning (--data DIR; docs/how-to/longmemeval.md)", highlight=False)


def _longmemeval(
    suite: list[str], data: Path | None, resume: Path | None, unfit: dict[str, object], **options: Any
) -> None:
    """LongMemEval has a protocol, tables and a resumption of its own.

    :param unfit: options that it cannot heed, by name.
    """
    from thymus_bench.engine import RunError
    from thymus_bench.longmemeval.__main__ import evaluate as evaluate_longmemeval

    if resume:
        raise RunError(f"a run of {LONGMEMEVAL} goes on with the same command and --out {resume}")
    if unused := [name for name, value in unfit.items() if value]:
        raise RunError(f"--{unused[0]} is not for {LONGMEMEVAL}: leave it out")
    if len(suite) > 1:
        raise RunError(f"{LONGMEMEVAL} has tables of its own: run it apart from other suites")
    if data is None:
        raise RunError(
            f"{LONGMEMEVAL} is a data set that you download: name its folder with --data (docs/how-to/longmemeval.md)"
        )
    evaluate_longmemeval(data, **options)


def _begin(folder: Path, **asked: Any) -> None:
    from thymus_bench import suites
    from thymus_bench.engine import STORES, Run, RunError, begin
    from thymus_bench.scenarios import Category

    if unknown := [name for name in asked["gates"] if name not in GATES]:
        raise RunError(f"no gate is called {unknown[0]!r}: use {', '.join(GATES)}")
    if asked["store"] not in STORES:
        raise RunError(f"no store is called {asked['store']!r}: use {', '.join(STORES)}")
    if asked["category"] and asked["category"] not in list(Category):
        raise RunError(f"no category is called {asked['category']!r}: use {', '.join(Category)}")
    data = Path(asked["data"]) if asked["data"] else None
    wanted = tuple(suites.names(data)) if asked["suites"] == ("all",) else asked["suites"] or suites.HEADLINE
    begin(Run(**(asked | {"gates": asked["gates"] or tuple(GATES), "suites": wanted})), folder)


def _go(folder: Path, *, jobs: int | None, cost: bool) -> None:
    from thymus_bench.engine import Run, play_run
    from thymus_bench.report import print_summary
    from thymus_bench.report.runs import facts

    run = Run.read(folder)
    total = run.scenarios["count"] * len(run.gates) * run.repeats
    with _bar(total) as on_play:
        outcomes = play_run(folder, jobs=jobs, on_play=on_play)
    for line in facts(asdict(run)):
        console().print(line, highlight=False, markup=False, soft_wrap=True)
    print_summary(outcomes, console(), cost=cost, seed=run.seed)
    failed = sum(bool(one.error) for one in outcomes)
    complaints().print(
        f"results: {folder}   tables and pictures: thymus-report {folder}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    if failed:
        complaints().print(
            f"{failed} of {total} plays failed, and count in no table; results.jsonl says why, and "
            f"`thymus-eval --resume {folder}` tries them again",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        raise typer.Exit(1)


@contextmanager
def _bar(total: int) -> Iterator[Callable[[Outcome], None]]:
    """A progress bar on a terminal, and nothing where there is none."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    screen = complaints()
    columns = (TextColumn("playing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("", total=total)
        yield lambda _: progress.advance(task)


def main() -> None:
    """Run ``thymus-eval``; never returns."""
    app(prog_name="thymus-eval")


if __name__ == "__main__":
    main()
