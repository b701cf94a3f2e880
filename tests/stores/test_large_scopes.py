"""Scopes too large to score every belief: the same promises, and sketches that find what is nearest."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from thymus.core.beliefs import Cause, Revision, Status
from thymus.ports import Probe, Store
from thymus.stores import rows, sketch, sqlite
from thymus.stores.sketch import Sketches
from thymus.stores.sqlite import SqliteStore
from thymus.testing.conformance import ASHA, COURIER, DIM, StoreConformance, forgotten, ids, told

LARGE_DIM = 128


class TestSketchedScopes(StoreConformance):
    """The whole suite again, with every scope of more than two beliefs treated as a large one."""

    @pytest.fixture(autouse=True)
    def _soon_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rows, "EXACT", 2)
        monkeypatch.setattr(sqlite, "EXACT", 2)

    def open(self, place: Path, *, embedder: str = "tested", dim: int = DIM) -> Store:
        return SqliteStore(place / "memory.db", embedder=embedder, dim=dim)


def cone(count: int, dim: int = LARGE_DIM) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Unit vectors in a narrow cone, in clusters, as sentence embeddings lie."""
    chance = np.random.default_rng(7)
    axis = chance.standard_normal(dim) * 10
    clusters = chance.standard_normal((count // 20 + 1, dim))
    drawn = axis + clusters[np.arange(count) % len(clusters)] + 0.5 * chance.standard_normal((count, dim))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=np.float32)


def batch(start: int, vectors: np.ndarray[tuple[int, int], np.dtype[np.float32]], cause: Cause) -> Revision:
    """One revision with a belief a vector."""
    each = [told(f"n{start + at}", cause=cause, source=COURIER if at % 2 else None) for at in range(len(vectors))]
    return replace(
        each[0],
        beliefs=tuple(one.beliefs[0] for one in each),
        changes=tuple(one.changes[0] for one in each),
        vectors={one.beliefs[0].id: vector for one, vector in zip(each, vectors, strict=True)},
    )


def test_sketches_find_the_nearest(tmp_path: Path) -> None:
    vectors = cone(4_000)
    store = SqliteStore(tmp_path / "memory.db", embedder="tested", dim=LARGE_DIM)
    with store.bulk():
        for start in range(0, 4_000, 500):
            store.commit(batch(start, vectors[start : start + 500], Cause.ADMIT))
            assert store.search(ASHA, Probe(text="", vector=vectors[0]), 1)[0].belief.id == "n0"
    exact = vectors.astype(np.float16).astype(np.float32)
    hit = 0
    for at in range(0, 4_000, 160):
        expected = np.argsort(-(exact @ vectors[at]))[:8]
        found = ids(store.search(ASHA, Probe(text="", vector=vectors[at]), 8))
        assert found[0] == f"n{at}"
        hit += len({f"n{one}" for one in expected} & set(found))
    assert hit / (25 * 8) >= 0.99
    (near,), _ = store.rivals(ASHA, [Probe(text="n5", vector=vectors[5], origins=frozenset({COURIER.key}))], 8)
    assert near[0].belief.id == "n5"
    store.commit(forgotten("n5"))
    (near,), _ = store.rivals(ASHA, [Probe(text="n5", vector=vectors[5])], 8)
    assert "n5" not in ids(near)
    assert store.verify().ok
    store.close()


def test_the_centre_matters() -> None:
    vectors, chance = cone(20_000), np.random.default_rng(1)
    centre = vectors[:2_000].mean(axis=0)
    sketches = Sketches(LARGE_DIM, centre)
    sketches.extend([(0, 0, sketch.sketch(vector, centre)) for vector in vectors])
    everyone = np.ones(20_000, dtype=bool)
    hit = 0
    for at in chance.choice(20_000, 40, replace=False):
        (close,) = sketches.near(vectors[at], [everyone], 8)
        assert len(close) == sketch.CANDIDATES
        hit += len(set(np.argsort(-(vectors @ vectors[at]))[:8]) & set(close))
    assert hit / (40 * 8) >= 0.98


def test_another_store_sees_the_scope_grow_large(tmp_path: Path) -> None:
    vectors = cone(2_200)
    writer = SqliteStore(tmp_path / "memory.db", embedder="tested", dim=LARGE_DIM)
    reader = SqliteStore(tmp_path / "memory.db", embedder="tested", dim=LARGE_DIM)
    for start, end in ((0, 1_900), (1_900, 2_100), (2_100, 2_200)):
        writer.commit(batch(start, vectors[start:end], Cause.CONTEST))
        for at in (0, end - 1):
            probe = Probe(text="", vector=vectors[at])
            (best, *_) = reader.search(ASHA, probe, 3, statuses=frozenset({Status.CONTESTED}))
            assert best.belief.id == f"n{at}"
    reader.close()
    writer.close()


def test_a_file_with_older_sketches_is_searched_and_sketched_anew(tmp_path: Path) -> None:
    """Of schema version 1, whose sketches had one bit a dimension."""
    vectors, path = cone(2_200), tmp_path / "memory.db"
    with closing(SqliteStore(path, embedder="tested", dim=LARGE_DIM)) as store:
        store.commit(batch(0, vectors[:2_100], Cause.ADMIT))
        store.commit(forgotten("n7"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE standings SET sketch = zeroblob(16) WHERE sketch IS NOT NULL")
        connection.execute("PRAGMA user_version = 1")
    with closing(SqliteStore(path, embedder="tested", dim=LARGE_DIM)) as store:
        for new in ([], [batch(2_100, vectors[2_100:], Cause.ADMIT)]):
            for revision in new:
                store.commit(revision)
            for at in (0, 1_000, 2_099 + len(new)):
                assert store.search(ASHA, Probe(text="", vector=vectors[at]), 1)[0].belief.id == f"n{at}"
            assert store.verify().problems == ()
    with closing(sqlite3.connect(path)) as connection:
        sizes = connection.execute("SELECT length(sketch), count(*) FROM standings GROUP BY 1 ORDER BY 1").fetchall()
    assert sizes == [(None, 1), (sketch.width(LARGE_DIM), 2_199)]


def test_memory_of_a_belief_is_about_120_bytes() -> None:
    sketches = Sketches(384, np.zeros(384, dtype=np.float32))
    sketches.extend([(0, 0, bytes(sketch.width(384)))] * 10_000)
    columns = (sketches._bits, sketches._numbers, sketches._classes, sketches._owners)
    assert sum(column.nbytes for column in columns) / 10_000 <= 120


def test_a_sketch_is_padded_to_whole_words() -> None:
    assert len(sketch.sketch(np.ones(10), 0)) == sketch.width(10) == 24
    made = sketch.sketch(np.array([1.0, -1.0, 9.0, -9.0]), 0)
    assert (made[0], made[8]) == (0b10100000, 0b01100000)  # levels 1, -1, 3, -3


def test_questions_find_what_they_ask_for() -> None:
    """Embeddings of questions lie beside those of statements: seen from the centre they all point one way."""
    vectors, chance = cone(12_000, 384), np.random.default_rng(2)
    centre, aside = vectors[:2_000].mean(axis=0), chance.standard_normal(384)
    sketches = Sketches(384, centre)
    sketches.extend([(0, 0, sketch.sketch(vector, centre)) for vector in vectors])
    hit = 0
    for at in chance.choice(12_000, 40, replace=False):
        asked = vectors[at] + 0.3 * aside / np.linalg.norm(aside) + 0.02 * chance.standard_normal(384)
        asked = np.asarray(asked / np.linalg.norm(asked), dtype=np.float32)
        (close,) = sketches.near(asked, [np.ones(12_000, dtype=bool)], 32)
        hit += len(set(np.argsort(-(vectors @ asked))[:8]) & set(close))
    assert hit / (40 * 8) >= 0.98


@given(st.integers(0, 1_000))
def test_counted_bits_are_the_product_of_the_levels(seed: int) -> None:
    ours, theirs = np.random.default_rng(seed).standard_normal((2, 70))
    sketches = Sketches(70, np.zeros(70, dtype=np.float32))
    sketches.extend([(0, 0, sketch.sketch(theirs, 0))])
    asked = np.frombuffer(sketch.sketch(ours, 0)[:-8], dtype=np.uint64)
    levels = [np.sign(one) * np.where(abs(one) > np.sqrt(np.mean(one * one)), 3, 1) for one in (ours, theirs)]
    assert sketches._levels(np.array([0]), asked)[0] == levels[0] @ levels[1]


@given(
    arrays(np.float16, 70, elements=st.floats(-1, 1, width=16)),
    arrays(np.float16, 70, elements=st.floats(-1, 1, width=16)),
)
def test_a_sketch_knows_its_own_product_and_is_near_others(vector: Any, centre: Any) -> None:
    """The estimate of a vector's product with itself is right, and its levels are what its bits say."""
    centre = centre.astype(np.float32)
    sketches = Sketches(70, centre)
    sketches.extend([(0, 0, sketch.sketch(vector, centre))])
    seen, at = vector.astype(np.float32) - centre, np.array([0])
    table = sketches._table(seen)
    found = sketches._scored(at, sketches._products(at, table) - 3 * seen.sum())[0] + seen @ centre
    assert found == pytest.approx(float(vector.astype(np.float32) @ vector.astype(np.float32)), abs=1e-3, rel=1e-4)
