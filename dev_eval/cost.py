"""Cost: milliseconds a pair and a statement, and memory, of one judge in a process of its own on one processor.

Every text is new to the process, both sides of a pair are: a guard brings the stored one's embedding along, and what
was read once is remembered, so that it costs less there.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from dev_eval.figures import DataMissingError, Part, Sheet
from dev_eval.labelled import OUTSIDE, USER, Pair, sample
from thymus.ports import Statement

BATCH = 8
SINGLE = 96
BATCHES = 16
_ROOT = Path(__file__).parent.parent
T = TypeVar("T")


def measure(pairs: Sequence[Pair], judges: Sequence[str] = ("local", "typed")) -> Part:
    """Time the judges on some of the pairs.

    :raises DataMissingError: without pairs.
    """
    some = _unseen(sample(pairs, SINGLE + BATCH * BATCHES))
    if len(some) < BATCH + 2:
        raise DataMissingError("there are too few pairs to time: cost is left out")
    texts = json.dumps([[(one.text, one.speaker is USER) for one in pair.given] for pair in some])
    figures, notes = {}, []
    for name in judges:
        # A process of its own: nothing is loaded or remembered, and its memory is the judge's alone.
        done = subprocess.run(
            [sys.executable, "-m", "dev_eval.cost", name],
            input=texts,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=_ROOT,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            check=False,
        )
        if done.returncode:
            notes.append(f"The cost of {name} is left out: {(done.stderr.strip().splitlines() or ['it stopped'])[-1]}")
        else:
            figures[name] = json.loads(done.stdout)
    notes.append(f"Cost: load of the machine while it was measured {os.getloadavg()[0]:.1f} (other work slows it).")
    return Part(name="cost", sheets=[_sheet(figures)] if figures else [], figures=figures, notes=notes)


def _unseen(pairs: Sequence[Pair]) -> list[Pair]:
    """Those of which no text occurs before."""
    seen: set[str] = set()
    new = []
    for pair in pairs:
        texts = {one.text for one in pair.given}
        if not texts & seen:
            new.append(pair)
        seen |= texts
    return new


def _sheet(figures: dict[str, dict[str, Any]]) -> Sheet:
    def line(what: str, key: str) -> tuple[str, ...]:
        return what, *("{p50:.2f} / {p99:.2f}".format(**some[key]) for some in figures.values())

    return Sheet(
        title="Cost, one processor: ms, p50 / p99, all texts new",
        columns=("what", *figures),
        rows=[
            line("a pair, alone", "pair"),
            line(f"a pair, in batches of {BATCH}", "pair_in_batch"),
            line("a statement's kind, alone", "kind"),
            ("first answer in a new process, ms", *(f"{some['first_ms']:.0f}" for some in figures.values())),
            ("peak memory, MB (before the judge)",
             *(f"{some['peak_mb']:.0f} ({some['before_mb']:.0f})" for some in figures.values())),
        ],
    )  # fmt: skip


def _time(do: Callable[[T], object], inputs: Sequence[T], share: int = 1) -> dict[str, float]:
    import numpy as np

    times = []
    for given in inputs:
        start = time.perf_counter()
        do(given)
        times.append((time.perf_counter() - start) * 1_000 / share)
    p50, p99 = np.quantile(times, [0.5, 0.99])
    return {"p50": float(p50), "p99": float(p99)}


def _peak_mb() -> float:
    """The most memory that this process had resident."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage gives on Linux may be the parent's
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1_024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main(name: str) -> None:
    """Time one judge on the pairs of the standard input, and print the figures."""
    from thymus.judges import get_judge

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    pairs = [(_statement(*stored), _statement(*incoming)) for stored, incoming in json.load(sys.stdin)]
    cut = max(1, min(SINGLE, len(pairs) // 3))
    (warm, *single), rest = pairs[: cut + 1], pairs[cut + 1 :]
    batches = [rest[start : start + BATCH] for start in range(0, len(rest) - BATCH + 1, BATCH)]
    before = _peak_mb()
    judge = get_judge(name)
    first = _time(lambda pair: judge.relate([pair]), [warm])
    kinds, single = single[: len(single) // 2], single[len(single) // 2 :]
    figures = {
        "first_ms": first["p50"],
        "pair": _time(lambda pair: judge.relate([pair]), single),
        "pair_in_batch": _time(judge.relate, batches, BATCH),
        "kind": _time(lambda pair: judge.classify([pair[1]]), kinds),
        "before_mb": before,
        "peak_mb": _peak_mb(),
    }
    print(json.dumps(figures))


def _statement(text: str, by_user: bool) -> Statement:
    return Statement(text=text, speaker=USER if by_user else OUTSIDE)


if __name__ == "__main__":
    main(sys.argv[1])
