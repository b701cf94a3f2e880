"""Whatever is changed in a store's file behind its back, ``verify`` says so and names it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from thymus.core.beliefs import Cause, Status
from thymus.ports import Store
from thymus.stores.jsonfile import JsonFileStore
from thymus.stores.sqlite import SqliteStore
from thymus.testing.conformance import COURIER, DIM, RAVI, STRANGER, forgotten, judged, moved, told


def fill(store: Store) -> None:
    """Six rows in one scope, one in another."""
    store.commit(told("The standup is at 9:15"))
    store.commit(told("It moved", source=COURIER, cause=Cause.CONTEST))
    store.commit(replace(told("It is off", source=STRANGER), edges=(judged("It is off", "It moved", 0.8),)))
    store.commit(moved("It moved", Status.CONTESTED, Cause.ACCEPT, Status.ACTIVE))
    store.commit(told("A secret"))
    store.commit(forgotten("A secret"))
    store.commit(told("Elsewhere", scope=RAVI))
    assert store.verify().ok


SQL = {
    "text": ("UPDATE beliefs SET text = x'00' WHERE id = x'{standup}'", "text or the vector"),
    "vector": ("UPDATE vectors SET vector = zeroblob(32) WHERE place & 1023 = 1", "text or the vector"),
    "claim": ("UPDATE beliefs SET body = replace(body, 'courier', 'culprit')", "source"),
    "evidence": ("UPDATE evidence SET text = x'00' WHERE id = x'{e_standup}'", "the text was changed"),
    "evidence source": ("UPDATE evidence SET body = replace(body, 'courier', 'culprit')", "source, lineage"),
    "status": ("UPDATE standings SET status = 0 WHERE status = 5", "is active, and the ledger says retracted"),
    "belief deleted": ("DELETE FROM beliefs WHERE id = x'{standup}'", "missing"),
    "evidence deleted": ("DELETE FROM evidence WHERE id = x'{e_standup}'", "missing"),
    "belief added": (
        "INSERT INTO beliefs SELECT place + 100, scope, x'00', evidence, entry, body, nonce, text FROM beliefs LIMIT 1",
        "in no ledger row",
    ),
    "erased again filled": ("UPDATE beliefs SET text = x'00' WHERE nonce IS NULL", "has a text again"),
    "text emptied": ("UPDATE beliefs SET text = x'', nonce = NULL WHERE id = x'{standup}'", "not forgotten"),
    "evidence emptied": (
        "UPDATE evidence SET text = x'', nonce = NULL WHERE id = x'{e_standup}'",
        "no ledger row says so",
    ),
    "row changed": (
        "UPDATE ledger SET body = replace(body, 'a-rule', 'b-rule') WHERE place & 1023 = 2",
        "row 2 was changed",
    ),
    "row deleted": ("DELETE FROM ledger WHERE place & 1023 = 3", "row 3 is missing"),
    "rows swapped": (
        """UPDATE ledger SET (body, hash) = (SELECT body, hash FROM ledger AS other WHERE other.place =
        CASE ledger.place & 1023 WHEN 2 THEN ledger.place + 1 ELSE ledger.place - 1 END)
        WHERE place & 1023 IN (2, 3) AND place >> 40 = 1""",
        "row 2 was changed, or does not follow",
    ),
    "tail deleted": ("DELETE FROM ledger WHERE place & 1023 = 6", "ends at row 5, but row 6"),
    "ledger deleted": ("DELETE FROM ledger", "ends at row 0"),
    "edge changed": ("UPDATE edges SET relation = replace(relation, '0.8', '0.1')", "judged pair"),
    "edge deleted": ("DELETE FROM edges", "judged pair"),
    "edge added": ("INSERT INTO edges SELECT rival, claim, entry, relation FROM edges", "2 judged pairs are kept"),
    "word deleted": ("DELETE FROM postings WHERE place & 1023 = 1", "word index"),
    "scope deleted": ("DELETE FROM scopes WHERE id = 2", "belong to no scope"),
    "head changed": ("UPDATE scopes SET beliefs = 9 WHERE id = 1", "were counted"),
}
NAMES = {"standup": b"The standup is at 9:15".hex(), "e_standup": b"e-The standup is at 9:15".hex()}


@pytest.mark.parametrize("what", SQL)
def test_sqlite(what: str, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db", embedder="tested", dim=DIM)
    fill(store)
    change, expected = SQL[what]
    with closing(sqlite3.connect(store.path)) as tamperer, tamperer:
        assert tamperer.execute(change.format(**NAMES)).rowcount > 0
    found = store.verify()
    assert not found.ok
    assert any(expected in problem for problem in found.problems), found.problems
    store.close()


def _swap(rows: list[Any]) -> None:
    rows[1], rows[2] = rows[2], rows[1]


JSON: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "text": (lambda scope: scope["beliefs"][0].update(text="The standup is at 7:45"), "text or the vector"),
    "status": (lambda scope: scope["beliefs"][0].update(status="rejected"), "is rejected, and the ledger says active"),
    "source": (lambda scope: scope["beliefs"][1].update(source=["user", "", 3]), "source"),
    "row deleted": (lambda scope: scope["ledger"].pop(2), "row"),
    "rows swapped": (lambda scope: _swap(scope["ledger"]), "row 2"),
    "tail deleted": (lambda scope: scope["ledger"].pop(), "ends at row 5, but row 6"),
    "row changed": (lambda scope: scope["ledger"][3]["row"].update(note={}), "row 4 was changed"),
    "edge": (lambda scope: scope["edges"][0].__setitem__(4, 0.1), "judged pair"),
}


@pytest.mark.parametrize("what", JSON)
def test_json(what: str, tmp_path: Path) -> None:
    store = JsonFileStore(tmp_path / "memory.json", embedder="tested", dim=DIM)
    fill(store)
    change, expected = JSON[what]
    document = json.loads(store.path.read_text())
    change(document["scopes"][0])
    store.path.write_text(json.dumps(document))
    found = store.verify()
    assert any(expected in problem for problem in found.problems), found.problems
