"""Every store of ours keeps the promises of ``thymus.testing.conformance``."""

from __future__ import annotations

from pathlib import Path

from thymus.ports import Store
from thymus.stores.jsonfile import JsonFileStore
from thymus.stores.memory import MemoryStore
from thymus.stores.sqlite import SqliteStore
from thymus.testing.conformance import DIM, StoreConformance


class TestMemoryStore(StoreConformance):
    persistent = False

    def open(self, place: Path, *, embedder: str = "tested", dim: int = DIM) -> Store:
        return MemoryStore(embedder=embedder, dim=dim)


class TestSqliteStore(StoreConformance):
    def open(self, place: Path, *, embedder: str = "tested", dim: int = DIM) -> Store:
        return SqliteStore(place / "memory.db", embedder=embedder, dim=dim)


class TestJsonFileStore(StoreConformance):
    def open(self, place: Path, *, embedder: str = "tested", dim: int = DIM) -> Store:
        return JsonFileStore(place / "memory.json", embedder=embedder, dim=dim)
