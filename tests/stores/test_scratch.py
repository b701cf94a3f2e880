"""The store that histories are told again into: a store like the others, filled and copied at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from thymus.core.beliefs import Revision, Status
from thymus.core.claims import Scope
from thymus.errors import StoreError
from thymus.ports import Neighbour, Store
from thymus.stores import rows, scratch, sqlite
from thymus.stores.scratch import ScratchStore
from thymus.testing.conformance import DIM, StoreConformance, told
from thymus.testing.strategies import probe_of

ASHA = Scope(tenant="acme", user="asha")


class TestScratchStore(StoreConformance):
    persistent = False

    def open(self, place: Path, *, embedder: str = "tested", dim: int = DIM) -> Store:
        return ScratchStore(embedder=embedder, dim=dim)


def history(number: int) -> list[Revision]:
    return [told(f"parcel {n} is at gate {n % 7}", minute=n) for n in range(number)]


def seen(store: ScratchStore, number: int) -> list[Sequence[Neighbour]]:
    probes = [probe_of(f"parcel {n} is at gate {n % 7}") for n in range(number)]
    return list(store.rivals(ASHA, probes, 4)[0])


@pytest.mark.parametrize("exact", [2_000, 25, 0])
def test_filled_at_once_it_finds_what_it_finds_filled_one_by_one(monkeypatch: pytest.MonkeyPatch, exact: int) -> None:
    for module in (scratch, sqlite, rows):
        monkeypatch.setattr(module, "EXACT", exact)
    one_by_one, at_once = (ScratchStore(embedder="tested", dim=DIM) for _ in range(2))
    for revision in history(40):
        one_by_one.commit(revision)
    at_once.fill(history(40))
    assert seen(one_by_one, 40) == seen(at_once, 40)
    assert at_once.verify().ok


def test_a_copy_goes_its_own_way() -> None:
    first = ScratchStore(embedder="tested", dim=DIM)
    first.fill(history(5))
    second = first.copy()
    assert seen(first, 5) == seen(second, 5)
    second.commit(told("the key is in the drawer", minute=9))
    assert (len(first.beliefs(ASHA)), len(second.beliefs(ASHA))) == (5, 6)
    assert {Status.ACTIVE} == {belief.status for belief in second.beliefs(ASHA)}


def test_nothing_outlives_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = ScratchStore(embedder="tested", dim=DIM)
    store.fill(history(3))
    store.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError, match="make another one"):
        store.beliefs(ASHA)
