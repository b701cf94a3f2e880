"""``python -m perf.tool_calls``: what Thymus adds to a tool call of each framework that is installed here.

Real agents with a scripted model, so that only the framework and Thymus take time; with a real model its seconds come
on top of both. The memory is a file. The two arms are played in turns, in the same process.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import platform
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Column, Table

from perf.tool_calls import play
from thymus.config import DEFAULT_EMBEDDER
from thymus.embed import get_embedder

if TYPE_CHECKING:
    from perf.tool_calls.play import Measured

RESULTS = Path(__file__).parents[1] / "results"
FRAMEWORKS = {
    "langchain": ("LangChain", "langchain", "langchain"),
    "langgraph": ("LangGraph store", "langgraph", "langgraph"),
    "mem0": ("Mem0", "mem0", "mem0ai"),
    "openai_agents": ("OpenAI Agents", "agents", "openai-agents"),
    "pydantic_ai": ("Pydantic AI", "pydantic_ai", "pydantic-ai-slim"),
    "google_adk": ("Google ADK", "google.adk", "google-adk"),
    "llama_index": ("LlamaIndex", "llama_index.core", "llama-index-core"),
    "autogen": ("AutoGen", "autogen_agentchat", "autogen-agentchat"),
    "crewai": ("CrewAI", "crewai", "crewai"),
}
"""By the module that measures it: its name, what is imported, and the package that has it."""


def main() -> None:
    """Measure what is installed, print a table, save JSON."""
    parser = argparse.ArgumentParser(prog="python -m perf.tool_calls", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--calls", type=int, default=40, help="tool calls for each row")
    parser.add_argument("--large", type=int, default=2, help="tool calls that return 5 MB, or 0")
    parser.add_argument("--only", nargs="*", choices=FRAMEWORKS, default=list(FRAMEWORKS), help="of these frameworks")
    parser.add_argument(
        "--output", type=Path, help="where the JSON goes (default: perf/results/tool_calls-<time>.json)"
    )
    arguments = parser.parse_args()
    console = Console(width=max(100, Console().width))
    machine: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": [os.getloadavg()[0]],
    }
    frameworks = [name for name in arguments.only if _installed(FRAMEWORKS[name][1])]
    measured: dict[str, list[Measured]] = {}
    embedder = get_embedder(DEFAULT_EMBEDDER)
    with tempfile.TemporaryDirectory() as room, console.status("") as status:
        for name in frameworks:
            module = importlib.import_module(f"perf.tool_calls.{name}")
            measured[name] = []
            wanted = {play.NOTHING: arguments.calls, play.FACT: arguments.calls, play.LARGE: arguments.large}
            for kind, calls in ((kind, calls) for kind, calls in wanted.items() if calls):
                status.update(f"{FRAMEWORKS[name][0]}: {kind} ...")
                path = Path(room) / f"{name}-{len(measured[name])}.db"
                if hasattr(module, "agent"):
                    measured[name] += play.agent(module.agent, kind, calls, path, embedder)
                else:
                    measured[name] += play.store(module.operations, kind, calls, path, embedder)
    machine["load"].append(os.getloadavg()[0])
    _print(console, measured, machine)
    output = arguments.output or RESULTS / f"tool_calls-{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    found = {
        name: {"version": version(FRAMEWORKS[name][2]), "rows": [asdict(row) for row in rows]}
        for name, rows in measured.items()
    }
    output.write_text(json.dumps({"machine": machine, "frameworks": found}, indent=2))
    console.print(f"Saved to {output}")


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # what it is in
        return False


def _ms(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.1f}" if figure >= 10 else f"{figure:.3f}"


def _print(console: Console, measured: dict[str, list[Measured]], machine: dict[str, Any]) -> None:
    columns = "", "what", "result", "alone", "Thymus", "ratio", "added", "calls", "learned"
    title = "Milliseconds at p50: the framework alone, and with Thymus"
    table = Table(*(Column(one, no_wrap=True) for one in columns), title=title, padding=(0, 0, 0, 1))
    for name, rows in measured.items():
        first = FRAMEWORKS[name][0]
        for row in rows:
            alone, guarded = row.medians
            figures = _ms(alone), _ms(guarded), f"{guarded / alone:,.1f} ×", _ms(guarded - alone)
            table.add_row(first, row.what, row.result, *figures, str(len(row.guarded)), str(row.memories))
            first = ""
        table.add_section()
    console.print(table)
    before, after = machine["load"]
    console.print(f"Python {machine['python']}, {machine['cores']} cores, load {before:.1f} to {after:.1f}")


if __name__ == "__main__":
    main()
