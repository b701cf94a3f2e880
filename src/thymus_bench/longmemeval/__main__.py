"""``python -m thymus_bench.longmemeval DATA``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from thymus import GATES
from thymus_bench.ending import complaints, console, ending

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def evaluate(
    data: Annotated[Path, typer.Argument(help="Folder with longmemeval_oracle.json, or the file itself.")],
    gate: Annotated[
        list[str] | None, typer.Option(help=f"Gates to run, each of {', '.join(GATES)}. All nine by default.")
    ] = None,
    llm: Annotated[str, typer.Option(help="Model of an agent that extracts and answers. Worst case without.")] = "",
    judge: Annotated[str, typer.Option(help="Model that judges the agent's replies; its own by default.")] = "",
    gate_judge: Annotated[str, typer.Option(help="What answers the gates' two questions.")] = "local",
    embedder: Annotated[str, typer.Option(help="e5-small, minilm, hash, or the folder of an ONNX model.")] = "e5-small",
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="How many memories a recall may show.")] = 15,
    poison: Annotated[Path | None, typer.Option(help="False assertions of your own, as JSON.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, max=4, help="Processes: 1, 2 or 4.")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Ask the model anew.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of this run, to start or to go on with.")] = None,
) -> None:
    """Measure what each gate keeps of clean accuracy when the memory is poisoned; tables go to results/TIME."""
    folder = out or Path("results") / datetime.now().astimezone().strftime("%Y-%m-%dT%H-%M-%S")
    with ending(when_interrupted=f"stopped; nothing measured is lost: the same command with --out {folder} goes on"):
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        from thymus_bench.longmemeval import run

        columns = (TextColumn("memories"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        screen = complaints()
        with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
            task = progress.add_task("", total=None)
            run(
                data,
                tuple(gate or ()),
                "agent" if llm else "worst-case",
                llm,
                out=folder,
                grader=judge,
                gate_judge=gate_judge,
                embedder=embedder,
                k=k,
                poison=poison,
                cache=not no_cache,
                jobs=jobs,
                on_step=lambda done, total: progress.update(task, completed=done, total=total),
            )
        console().print(
            (folder / "longmemeval.md").read_text(encoding="utf-8"), markup=False, highlight=False, soft_wrap=True
        )
        screen.print(f"results: {folder}", highlight=False, markup=False, soft_wrap=True)


if __name__ == "__main__":
    app(prog_name="python -m thymus_bench.longmemeval")
