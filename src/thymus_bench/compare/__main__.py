"""``python -m thymus_bench.compare``: Thymus and its peers side by side, in one run."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from thymus.embed import Role, get_embedder
from thymus_bench.compare import cases, environments, judge, latency, suite
from thymus_bench.compare.peers import OURS, PEERS, Peer, PeerError, choose
from thymus_bench.compare.report import Result, markdown
from thymus_bench.compare.talk import Driver
from thymus_bench.ending import printable

_SUITE_OF = "agent-memory-guard"
_embedder = get_embedder(threads=1)

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def embed(texts: Sequence[str], role: Role) -> list[list[float]]:
    """Vectors of the sentence model that Thymus uses, for peers that bring none."""
    vectors: list[list[float]] = _embedder.embed(texts, role=role).tolist()
    return vectors


@app.command()
def compare(
    peer: Annotated[
        list[str] | None,
        typer.Option(help="Only this peer, beside ours; give it several times for several. All, by default."),
    ] = None,
    sizes: Annotated[str, typer.Option(help="Memories held when write and read are timed; '' times nothing.")] = (
        "0,1000,10000"
    ),
    budget: Annotated[float, typer.Option(min=1, help="Seconds to fill up to one size before it is given up.")] = 180,
    seconds: Annotated[float, typer.Option(min=1, help="Seconds that one request may take.")] = 120,
    cache: Annotated[Path, typer.Option(help="Where the peers' environments are kept.")] = environments.CACHE,
    out: Annotated[Path | None, typer.Option(help="Write OUT.json and OUT.md, renewed after each peer.")] = None,
    graded: Annotated[bool, typer.Option("--suite/--no-suite", help="Run amg-bench on each peer too.")] = True,
    listed: Annotated[bool, typer.Option("--list", help="Only list the peers and how each is set up.")] = False,
) -> None:
    """Install each peer in an environment of its own and print, side by side:

    matched cases (a sender's real update, a lookalike's fake, the user's update, a fake against the user's fact), overt
    injections and benign controls, write and read medians, and the grade of amg-bench. A peer that cannot be installed
    is named and left out. After the installation nothing reaches the network.
    """
    console, progress_console = Console(), Console(stderr=True)
    if listed:
        for one in PEERS:
            console.print(f"[bold]{one.name}[/]: {one.setting}", highlight=False)
        return
    try:
        chosen, counted = choose(peer or []), _sizes(sizes)
    except PeerError as error:
        progress_console.print(Text(printable(str(error)), "red"), soft_wrap=True)
        raise typer.Exit(2) from None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=progress_console) as progress:
        grader = _grader(cache) if graded else None
        results: list[Result] = []
        for one in chosen:
            results.append(_measure(one, counted, budget, seconds, cache, grader, progress))
            if out:  # a run that is interrupted keeps what it has
                _write(out, results)
    text = markdown(results, machine=_machine())
    console.print(Markdown(text) if console.is_terminal else text, highlight=False, soft_wrap=True, markup=False)
    if not next(one for one in results if one.peer == OURS).hello:
        raise typer.Exit(1)


def _measure(
    peer: Peer,
    sizes: list[int],
    budget: float,
    seconds: float,
    cache: Path,
    grader: Path | None,
    progress: Progress,
) -> Result:
    """Everything about one peer; what fails is in the result, never raised."""
    result = Result(peer=peer.name, setting=peer.setting)
    steps = len(cases.cases()) + len(cases.injections()) + len(cases.controls()) + len(sizes) + (grader is not None)
    task = progress.add_task(f"{peer.name}: installing", total=steps)

    def step() -> None:
        progress.advance(task)

    def run(part: Callable[[Driver], None]) -> None:
        with Driver(peer.name, python, peer.path, variant=peer.variant, embed=embed, seconds=seconds) as driver:
            result.hello = driver.hello
            try:
                part(driver)
            finally:
                result.said += [line for line in driver.said() if line not in result.said]

    def play(driver: Driver) -> None:
        result.matched = judge.play(driver, cases.cases(), on_step=step)
        result.injections = judge.play_alone(driver, cases.injections(), on_step=step)
        result.controls = judge.play_alone(driver, cases.controls(), on_step=step)

    def pace(driver: Driver) -> None:
        result.paces = latency.measure(driver, sizes, seconds=budget, on_step=step)
        result.failed += [one.given_up for one in result.paces if one.given_up][:1]

    def graded(driver: Driver) -> None:
        result.card = suite.grade(driver, [str(grader), "-I", str(suite.SUITE)])

    parts = [play, *([pace] if sizes else []), *([graded] if grader else [])]
    try:
        python = environments.python_of(peer, cache)
    except PeerError as error:
        parts, result.failed = [], [str(error)]
    progress.update(task, description=peer.name)
    for part in parts:
        try:
            run(part)
        except PeerError as error:
            result.failed.append(f"{error} ({part.__name__})")
    cut = " (cut short)" if result.failed and result.hello else " (left out)" if result.failed else ""
    progress.update(task, description=f"{peer.name}{cut}", completed=steps)
    return result


def _grader(cache: Path) -> Path | None:
    """The Python that has the suite installed, if it can be: its own row says why not."""
    home = next(one for one in PEERS if one.name == _SUITE_OF)
    try:
        return environments.python_of(home, cache)
    except PeerError:
        return None


def _machine() -> str:
    load = f", load average {os.getloadavg()[1]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    return f"Measured on {os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}{load}."


def _sizes(text: str) -> list[int]:
    try:
        found = sorted({int(one) for one in text.replace(" ", "").split(",") if one})
    except ValueError:
        found = [-1]
    if any(one < 0 for one in found):
        raise PeerError(f"--sizes {text!r}: whole numbers with commas are expected, as 0,1000,10000")
    return found


def _write(out: Path, results: Sequence[Result]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    found = json.dumps([one.to_dict() for one in results], ensure_ascii=False, indent=1)
    out.with_suffix(".json").write_text(found + "\n", encoding="utf-8")
    out.with_suffix(".md").write_text(markdown(results, machine=_machine()), encoding="utf-8")


if __name__ == "__main__":
    app()
