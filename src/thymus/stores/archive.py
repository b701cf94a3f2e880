"""What an audit reads of a SQLite store, row by row, and the checks that only SQLite's own tables need."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from thymus.core.beliefs import Status
from thymus.core.claims import Scope
from thymus.stores import codec, rows
from thymus.stores.audit import Stored
from thymus.stores.ledger import Head
from thymus.stores.schema import count, place
from thymus.stores.sketch import CODES, STATUSES, sketch

_KNOWN: Final = range(len(STATUSES))


class SqliteArchive:
    """One scope as the open transaction sees it (``audit.Archive``)."""

    def __init__(self, connection: sqlite3.Connection, number: int, head: Head) -> None:
        self.head = head
        self._connection = connection
        self._number = number
        self._range = (place(number, 0), place(number + 1, 0))

    def rows(self) -> Iterator[tuple[int, str, bytes]]:
        """The ledger."""
        query = "SELECT place, body, hash FROM ledger WHERE place > ? AND place < ? ORDER BY place"
        for where, body, row_hash in self._connection.execute(query, self._range):
            yield count(where), body, row_hash

    def beliefs(self) -> Iterator[Stored]:
        """All beliefs."""
        query = (
            "SELECT place, id, text, nonce, body, vector FROM beliefs LEFT JOIN vectors USING (place) "
            "WHERE place > ? AND place < ? ORDER BY place"
        )
        for where, belief_id, text, nonce, body, vector in self._connection.execute(query, self._range):
            found = codec.cooked(belief_id), codec.cooked(text)
            yield Stored(place=count(where), id=found[0], text=found[1], nonce=nonce, body=body, vector=vector or b"")

    def standings(self) -> Iterator[tuple[int, str, Status | None, bool]]:
        """How all beliefs stand."""
        query = (
            "SELECT place, id, status, nonce IS NULL FROM beliefs LEFT JOIN standings USING (place) "
            "WHERE place > ? AND place < ? ORDER BY place"
        )
        for where, belief_id, code, erased in self._connection.execute(query, self._range):
            status = STATUSES[code] if code in _KNOWN else None
            yield count(where), codec.cooked(belief_id), status, bool(erased)

    def evidence(self) -> Iterator[Stored]:
        """All evidence."""
        query = "SELECT place, id, text, nonce, body FROM evidence WHERE place > ? AND place < ? ORDER BY place"
        for where, evidence_id, text, nonce, body in self._connection.execute(query, self._range):
            found = codec.cooked(evidence_id), codec.cooked(text)
            yield Stored(place=count(where), id=found[0], text=found[1], nonce=nonce, body=body)

    def seq_of(self, belief_id: str) -> int | None:
        """The seq of a belief."""
        where = rows.places(self._connection, self._number, [belief_id])
        return count(where[belief_id]) if where else None

    def judged(self, claim: str, rival: str) -> tuple[int, str] | None:
        """The ledger row and the relation kept of a pair."""
        query = (
            "SELECT entry, relation FROM edges WHERE claim = (SELECT place FROM beliefs WHERE scope = ?1 AND id = ?2) "
            "AND rival = (SELECT place FROM beliefs WHERE scope = ?1 AND id = ?3)"
        )
        values = (self._number, codec.raw(claim), codec.raw(rival))
        row = self._connection.execute(query, values).fetchone()
        return None if row is None else (count(row[0]), row[1])

    def judged_count(self) -> int:
        """How many pairs are kept."""
        query = "SELECT count(*) FROM edges WHERE claim > ? AND claim < ?"
        return int(self._connection.execute(query, self._range).fetchone()[0])


def archives(connection: sqlite3.Connection, scope: Scope | None = None) -> Iterator[tuple[Scope, SqliteArchive]]:
    """Every scope of the file, or this one."""
    for number, name, version, beliefs, row_hash in connection.execute(
        "SELECT id, name, version, beliefs, hash FROM scopes WHERE ?1 IS NULL OR name = ?1 ORDER BY id",
        (None if scope is None else codec.scope_name(scope),),
    ):
        head = Head(version=version, beliefs=beliefs, hash=row_hash)
        yield codec.read_scope(name), SqliteArchive(connection, number, head)


def damage(connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the file itself, with rows of no scope, and with what retrieval reads."""
    problems = [
        f"the file is damaged: {line}" for (line,) in connection.execute("PRAGMA quick_check(20)") if line != "ok"
    ]
    for table, column in (("ledger", "place"), ("beliefs", "place"), ("evidence", "place"), ("edges", "claim")):
        query = f"SELECT count(*) FROM {table} WHERE {column} >> 40 NOT IN (SELECT id FROM scopes)"  # noqa: S608
        lost = connection.execute(query).fetchone()[0]
        if lost:
            problems.append(f"{lost} rows of {table} belong to no scope")
    return problems + _index_damage(connection)


def _index_damage(connection: sqlite3.Connection) -> list[str]:
    query = (
        "SELECT standings.place, status, owner, sketch, vector, length(terms) / 8 FROM standings "
        "LEFT JOIN vectors USING (place)"
    )
    problems, postings = [], 0
    centres: dict[int, Any] = {}
    for where, status, owner, bits, vector, words in connection.execute(query):
        if vector is None:
            if bits is not None:
                problems.append(f"the memory at place {where} has a sketch and no vector: retrieval cannot find it")
            continue
        number = where >> 40
        if number not in centres:
            centres[number] = rows.centre_of(connection, number)
        centre = centres[number]
        if bits != (b"" if centre is None else sketch(np.frombuffer(vector, dtype=np.float16), centre)):
            problems.append(f"the sketch of the memory at place {where} was changed: retrieval cannot find it")
        postings += words * (2 if owner and status == CODES[Status.ACTIVE] else 1)
    found = connection.execute("SELECT count(*) FROM postings").fetchone()[0]
    if found != postings:
        problems.append(f"the word index has {found} rows and should have {postings}")
    return problems
