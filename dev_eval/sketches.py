"""Sketches: of the memories nearest to a question, how many are among those that a large scope scores exactly?"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from dev_eval.figures import SEED, Part, Sheet, read_rows
from dev_eval.worlds import HERE, read_worlds
from thymus.embed import get_embedder
from thymus.stores.sketch import EXACT, Sketches, sketch

NEAREST = 8
SIZES = (5_000, 20_000)
DEPTHS = (8, 32)
"""``k`` of ``Shelf.near``: of a write's rivals (6, as good as 8), and of a recall."""


def measure(sizes: Sequence[int] = SIZES, embedder: str = "e5-small") -> Part:
    """Measure on the authored statements and worlds; the questions are those of the worlds."""
    worlds = [world for part in ("build", "held") for world in read_worlds(HERE / part) if "harmony" not in world]
    told = [turn["text"] for world in worlds for turn in (*world["user_setup"], *world["distractors"])]
    pairs = [row for path in sorted(HERE.parent.glob("*.pairs.jsonl")) for row in read_rows(path.parent, path.name)]
    others = sorted({row[side] for row in pairs for side in "ab"} - {*told})
    random.Random(SEED).shuffle(others)
    texts = [*dict.fromkeys(told), *others][: max(sizes)]
    model = get_embedder(embedder)
    vectors = model.embed(texts, role="passage").astype(np.float16).astype(np.float32)
    asked = model.embed([world["probe"] for world in worlds], role="query")
    rows: list[dict[str, Any]] = []
    for size in sizes:
        mixed = vectors[np.random.default_rng(SEED).permutation(size)]
        centre = mixed[: EXACT + 1].mean(axis=0, dtype=np.float32)
        sketches, everyone = Sketches(mixed.shape[1], centre), np.ones(size, dtype=bool)
        sketches.extend([(0, 1, sketch(vector, centre)) for vector in mixed])
        for k in DEPTHS:
            found = [sketches.near(question, [everyone], k)[0] for question in asked]
            nearest = np.argsort(-(asked @ mixed.T), axis=1)[:, :NEAREST]
            share = float(np.mean([np.isin(*both).mean() for both in zip(nearest, found, strict=True)]))
            rows.append({"memories": size, "candidates": len(found[0]), "found": share})
    title = f"Sketches: of the {NEAREST} memories nearest to a question, those scored ({len(asked)} questions)"
    cells: list[tuple[str, ...]] = [
        (f"{row['memories']:,}", f"{row['candidates']}", f"{row['found']:.2%}") for row in rows
    ]
    return Part(
        name="sketches",
        sheets=[Sheet(title=title, columns=("memories", "candidates", "found"), rows=cells)],
        figures={"rows": rows},
    )
