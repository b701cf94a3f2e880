"""``python -m perf``: measure, print a table, save JSON."""

from __future__ import annotations

import argparse
import os
import platform
import sqlite3
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from perf import measure

if TYPE_CHECKING:
    from perf.measure import AtSize, Latency

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Measure what the flags ask for."""
    parser = argparse.ArgumentParser(prog="python -m perf", description="Speed and size of Thymus beside a baseline.")
    parser.add_argument("--sizes", default="1000,10000,100000", help="memories per store, comma-separated")
    parser.add_argument("--output", type=Path, help="where the JSON goes (default: perf/results/<time>.json)")
    arguments = parser.parse_args()
    console = Console()
    machine = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    with tempfile.TemporaryDirectory() as room, console.status("") as status:
        folder = Path(room)
        status.update("Starting new processes ...")
        process = measure.process(folder)
        embedder = measure.embedder()
        status.update("Bulk ingestion ...")
        bulk = measure.bulk(folder, embedder)
        sizes = []
        for size in map(int, arguments.sizes.split(",")):
            status.update(f"{size:,} memories ...")
            sizes.append(measure.at_size(size, folder, embedder))
    _print(console, sizes, bulk, process)
    output = arguments.output or RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(measure.as_json(sizes, bulk, process, machine))
    console.print(
        f"Python {machine['python']}, SQLite {machine['sqlite']}, {machine['cores']} cores, load {machine['load']:.1f}"
    )
    console.print(f"Saved to {output}")


def _print(console: Console, sizes: list[AtSize], bulk: dict[str, float], process: dict[str, float]) -> None:
    table = Table(
        "milliseconds, p50 / p99", *(f"{size.memories:,}" for size in sizes), title="Per operation, by memories held"
    )
    for label, pick in (
        ("write (extract, embed, judge, decide, commit)", lambda s: s.write),
        ("recall (embed, search, compose)", lambda s: s.recall),
        ("of these, one embedding", lambda s: s.embed),
        ("baseline: brute-force cosine in numpy, float32", lambda s: s.baseline_search),
        ("baseline: plain SQLite insert, durable", lambda s: s.baseline_insert),
    ):
        table.add_row(label, *(_pair(pick(size)) for size in sizes))
    table.add_section()
    table.add_row(
        "write / (embedding + plain insert)",
        *(f"{s.write.p50 / (s.embed.p50 + s.baseline_insert.p50):.1f} ×" for s in sizes),
    )
    table.add_row(
        "recall / (embedding + brute force)",
        *(f"{s.recall.p50 / (s.embed.p50 + s.baseline_search.p50):.1f} ×" for s in sizes),
    )
    table.add_row("open and first recall, s", *(f"{s.open_s:.2f}" for s in sizes))
    table.add_row("file, MB", *(f"{s.file_mb:.1f}" for s in sizes))
    console.print(table)
    rest = Table("once", "measured", "baseline of the same run", title="Per process")
    rest.add_row("import thymus", f"{process['import_s']:.3f} s", f"python alone {process['python_s']:.3f} s")
    rest.add_row("thymus --help", f"{process['help_s']:.3f} s", f"python alone {process['python_s']:.3f} s")
    rest.add_row("first write in a new process", f"{process['first_write_s']:.2f} s", "")
    rest.add_row("resident memory after it", f"{process['resident_mb']:.0f} MB", "")
    rest.add_row(
        "bulk ingestion",
        f"{bulk['messages_per_s']:.0f} messages/s",
        f"embedding alone {bulk['baseline_embed_only_per_s']:.0f}/s",
    )
    console.print(rest)


def _pair(latency: Latency) -> str:
    return f"{latency.p50:.2f} / {latency.p99:.2f}"


if __name__ == "__main__":
    main()
