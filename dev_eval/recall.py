"""Recall: is the memory that answers the question among the first found, by meaning alone and by the whole search?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dev_eval.figures import Part, Sheet, read_rows
from thymus import MemoryGuard
from thymus.embed import get_embedder

DEPTHS = (1, 5)


def measure(folder: Path, embedders: Sequence[str] = ("e5-small", "minilm")) -> Part:
    """Measure on ``recall.jsonl``; a question counts by the share of its relevant memories that are found."""
    rows = read_rows(folder, "recall.jsonl")
    found = {
        f"{name} {how}": [search(row, name) for row in rows]
        for name in embedders
        for how, search in (("by meaning alone", _by_meaning), ("in a guard's recall", _by_guard))
    }
    first = next(iter(found))
    guarded = f"{embedders[0]} in a guard's recall"
    figures = {
        name: {
            f"recall@{k}": sum(_share(row, some, k) for row, some in zip(rows, all_, strict=True)) / len(rows)
            for k in DEPTHS
        }
        for name, all_ in found.items()
    }
    return Part(
        name="recall",
        sheets=[
            Sheet(
                title=f"Recall ({len(rows)} questions)",
                columns=("search", *(f"recall@{k}" for k in DEPTHS)),
                rows=[(name, *(f"{value:.2f}" for value in some.values())) for name, some in figures.items()],
            )
        ],
        figures=figures,
        misses=[
            f"{row['id']} {row['question']}\n  wanted: {[row['memories'][place] for place in row['relevant']]}\n"
            f"  first:  {[row['memories'][place] for place in some[:5]]}"
            for row, some in zip(rows, found.get(guarded, found[first]), strict=True)
            if _share(row, some, max(DEPTHS)) < 1
        ],
    )


def _share(row: dict[str, Any], found: Sequence[int], k: int) -> float:
    return len({*row["relevant"]} & {*found[:k]}) / len(row["relevant"])


def _by_meaning(row: dict[str, Any], name: str) -> list[int]:
    embedder = get_embedder(name)
    likeness = embedder.embed(row["memories"], role="passage") @ embedder.embed([row["question"]], role="query")[0]
    return [int(place) for place in (-likeness).argsort(kind="stable")]


def _by_guard(row: dict[str, Any], name: str) -> list[int]:
    """The order in which a guard shows them; one that took a statement for none never finds it."""
    with MemoryGuard(embedder=name, gate="allow-all") as guard:
        ids: dict[str, int] = {}
        for place, text in enumerate(row["memories"]):
            ids |= {memory.id: place for memory in guard.remember(text).memories}
        shown = guard.recall(row["question"], k=max(DEPTHS)).memories
        return list(dict.fromkeys(ids[memory.id] for memory in shown if memory.id in ids))
