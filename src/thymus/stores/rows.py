"""Reading and writing the tables of ``schema.py`` within one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from thymus.core.beliefs import Belief, Edge, Status
from thymus.core.claims import Evidence, Scope
from thymus.core.relations import Relation
from thymus.stores import codec
from thymus.stores.ledger import Head, Plan, Standing
from thymus.stores.schema import count, place
from thymus.stores.sketch import CODES, EXACT, STATUSES, sketch
from thymus.stores.voices import Said
from thymus.stores.words import terms

_MOST_PARAMETERS: Final = 512
BELIEF: Final = "beliefs.place, beliefs.id, status, body, nonce IS NULL, text"
"""The columns that ``read_belief`` reads, of ``beliefs JOIN standings``."""
_ACTIVE: Final = CODES[Status.ACTIVE]


def select_in(
    connection: sqlite3.Connection, query: str, fixed: Sequence[object], values: Iterable[object]
) -> Iterator[tuple[Any, ...]]:
    """Run a query that ends in ``IN ({})`` in portions; few lengths of the list, so that statements are cached."""
    rest = list(values)
    while rest:
        part, rest = rest[:_MOST_PARAMETERS], rest[_MOST_PARAMETERS:]
        room = 1 << (len(part) - 1).bit_length()
        marks = ",".join("?" * room)
        yield from connection.execute(query.format(marks), [*fixed, *part, *[None] * (room - len(part))])


def find_scope(connection: sqlite3.Connection, scope: Scope) -> tuple[int, Head] | None:
    """The number and head of a scope; none while nothing was committed to it."""
    query = "SELECT id, version, beliefs, hash FROM scopes WHERE name = ?"
    row = connection.execute(query, (codec.scope_name(scope),)).fetchone()
    return None if row is None else (row[0], Head(version=row[1], beliefs=row[2], hash=row[3]))


def add_scope(connection: sqlite3.Connection, scope: Scope) -> tuple[int, Head]:
    """Make room for a scope."""
    head = Head()
    values = (codec.scope_name(scope), head.version, head.beliefs, head.hash)
    made = connection.execute("INSERT INTO scopes (name, version, beliefs, hash) VALUES (?, ?, ?, ?)", values)
    return int(made.lastrowid or 0), head


def read_belief(row: Sequence[Any]) -> Belief:
    """A belief from the columns of ``BELIEF``."""
    where, belief_id, status, body, erased, text = row
    return Belief(
        id=codec.cooked(belief_id),
        claim=codec.read_claim(codec.parse(body), codec.cooked(text)),
        status=STATUSES[status],
        seq=count(where),
        erased=bool(erased),
    )


def places(connection: sqlite3.Connection, number: int, ids: Iterable[str]) -> dict[str, int]:
    """Where the existing ones of these beliefs are."""
    query = "SELECT id, place FROM beliefs WHERE scope = ? AND id IN ({})"
    return {codec.cooked(row[0]): row[1] for row in select_in(connection, query, [number], map(codec.raw, ids))}


def standing(connection: sqlite3.Connection, number: int, ids: Iterable[str]) -> dict[str, Standing]:
    """How the existing ones of these beliefs stand."""
    query = (
        "SELECT beliefs.id, beliefs.place, status, nonce IS NULL, evidence FROM beliefs JOIN standings USING (place) "
        "WHERE scope = ? AND id IN ({})"
    )
    return {
        codec.cooked(row[0]): Standing(
            seq=count(row[1]), status=STATUSES[row[2]], erased=bool(row[3]), evidence_id=codec.cooked(row[4])
        )
        for row in select_in(connection, query, [number], map(codec.raw, ids))
    }


def has_evidence(connection: sqlite3.Connection, number: int, evidence_id: str) -> bool:
    """Whether the evidence is stored."""
    found = connection.execute("SELECT 1 FROM evidence WHERE scope = ? AND id = ?", (number, codec.raw(evidence_id)))
    return found.fetchone() is not None


def judged(
    connection: sqlite3.Connection, where: dict[str, int], pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], tuple[int, Relation]]:
    """The ledger row and relation kept of these pairs, whose beliefs are at ``where``."""
    found = {}
    for claim, rival in pairs:
        if claim in where and rival in where:
            query = "SELECT entry, relation FROM edges WHERE claim = ? AND rival = ?"
            row = connection.execute(query, (where[claim], where[rival])).fetchone()
            if row is not None:
                found[claim, rival] = (count(row[0]), codec.read_relation(codec.parse(row[1])))
    return found


def read_evidence(connection: sqlite3.Connection, number: int, ids: Sequence[str]) -> dict[str, Evidence]:
    """The evidence of these ids."""
    query = "SELECT id, body, text FROM evidence WHERE scope = ? AND id IN ({})"
    found = {codec.cooked(row[0]): row[1:] for row in select_in(connection, query, [number], map(codec.raw, ids))}
    return {id_: read_message(id_, *found[id_]) for id_ in ids if id_ in found}


def read_message(evidence_id: str, body: str, text: bytes) -> Evidence:
    """Evidence from its columns."""
    return codec.read_evidence(codec.parse(body), evidence_id, codec.cooked(text))


def read_edges(connection: sqlite3.Connection, where: dict[str, int]) -> list[Edge]:
    """The judged pairs in which the beliefs at ``where`` take part."""
    found: dict[tuple[int, int], str] = {}
    for side in ("claim", "rival"):
        query = f"SELECT claim, rival, relation FROM edges WHERE {side} IN ({{}})"  # noqa: S608
        found.update({(row[0], row[1]): row[2] for row in select_in(connection, query, [], where.values())})
    query = "SELECT place, id FROM beliefs WHERE place IN ({})"
    involved = dict.fromkeys(one for pair in found for one in pair)
    names = {row[0]: codec.cooked(row[1]) for row in select_in(connection, query, [], involved)}
    return [
        Edge(claim=names[claim], rival=names[rival], relation=codec.read_relation(codec.parse(relation)))
        for (claim, rival), relation in sorted(found.items())
    ]


def read_said(connection: sqlite3.Connection, number: int) -> list[Said]:
    """Who said the beliefs of a scope directly, in numbers; ISO times in UTC sort in their order."""
    query = """
        SELECT body, status, count(*), min(place), max(place), min(at), max(at) FROM (
            SELECT place, status, body, json_extract(body, '$.observed_at') AS at
            FROM beliefs JOIN standings USING (place) WHERE place > ? AND place < ?
        ) GROUP BY json_extract(body, '$.source'), status
    """
    return [
        Said(
            source=codec.read_claim(codec.parse(body), "").source,
            status=STATUSES[status],
            number=many,
            first=count(first),
            last=count(last),
            since=codec.read_moment(since),
            until=codec.read_moment(until),
        )
        for body, status, many, first, last, since, until in connection.execute(
            query, (place(number, 0), place(number + 1, 0))
        )
    ]


def read_entries(
    connection: sqlite3.Connection, number: int, belief_id: str | None, after: int, limit: int
) -> list[tuple[int, str, bytes]]:
    """The next (place, body, hash) of the ledger, or of the rows that changed a belief."""
    first, last = place(number, after), place(number + 1, 0)
    query, values = "SELECT place, body, hash FROM ledger WHERE place > ? AND place < ?", [first, last]
    if belief_id is not None:
        where = places(connection, number, [belief_id]).get(belief_id, 0)
        query += (
            " AND place IN (SELECT entry FROM beliefs WHERE beliefs.place = ? "
            "UNION SELECT entry FROM moves WHERE belief = ?)"
        )
        values += [where, where]
    return connection.execute(f"{query} ORDER BY place LIMIT ?", [*values, limit]).fetchall()


def carry_out(connection: sqlite3.Connection, number: int, scope: Scope, plan: Plan) -> None:
    """Write a plan."""
    entry = place(number, plan.head.version)
    if plan.evidence is not None:
        evidence = plan.evidence.evidence
        values = (
            entry,
            number,
            codec.raw(evidence.id),
            plan.evidence.body,
            plan.evidence.nonce,
            codec.raw(evidence.text),
        )
        connection.execute(
            "INSERT INTO evidence (place, scope, id, body, nonce, text) VALUES (?, ?, ?, ?, ?, ?)", values
        )
    _add_beliefs(connection, number, scope, plan, entry)
    touched = list(dict.fromkeys([*plan.moved, *plan.erased]))
    edged = (name for edge in plan.edges for name in (edge.claim, edge.rival))
    where = places(connection, number, dict.fromkeys([*touched, *edged]))
    connection.executemany(
        "INSERT INTO moves (belief, entry) VALUES (?, ?)", [(where[name], entry) for name in touched]
    )
    for belief_id, status in plan.moved.items():
        _move(connection, scope, where[belief_id], CODES[status])
    for belief_id in plan.erased:
        _erase(connection, scope, where[belief_id])
    for evidence_id in plan.blanked:
        query = "UPDATE evidence SET text = x'', nonce = NULL WHERE scope = ? AND id = ?"
        connection.execute(query, (number, codec.raw(evidence_id)))
    _add_edges(connection, plan.edges, where, entry)
    connection.execute("INSERT INTO ledger (place, body, hash) VALUES (?, ?, ?)", (entry, plan.body, plan.head.hash))
    head = (plan.head.version, plan.head.beliefs, plan.head.hash, number)
    connection.execute("UPDATE scopes SET version = ?, beliefs = ?, hash = ? WHERE id = ?", head)


def _add_beliefs(connection: sqlite3.Connection, number: int, scope: Scope, plan: Plan, entry: int) -> None:
    beliefs, standings, vectors = [], [], []
    postings: list[tuple[int, int, int]] = []
    centre = centre_of(connection, number) if plan.head.beliefs > EXACT else None
    for kept in plan.beliefs:
        belief, claim = kept.belief, kept.belief.claim
        where, owner, code = place(number, belief.seq), owner_of(claim.from_user, claim.origins), CODES[belief.status]
        words = np.array(terms(claim.text), dtype=np.uint64)
        ids = (codec.raw(belief.id), codec.raw(claim.evidence_id))
        beliefs.append((where, number, *ids, entry, kept.body, kept.nonce, codec.raw(claim.text)))
        standings.append((where, code, owner, b"" if centre is None else sketch(kept.vector, centre)))
        vectors.append((where, kept.vector.tobytes(), words.tobytes()))
        postings += [(term, where, owner) for term in posting_terms(scope, words, code, owner)]
    connection.executemany(
        "INSERT INTO beliefs (place, scope, id, evidence, entry, body, nonce, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        beliefs,
    )
    connection.executemany("INSERT INTO standings (place, status, owner, sketch) VALUES (?, ?, ?, ?)", standings)
    connection.executemany("INSERT INTO vectors (place, vector, terms) VALUES (?, ?, ?)", vectors)
    if centre is None and plan.head.beliefs > EXACT:
        _centre(connection, number)
    connection.executemany("INSERT INTO postings (term, place, owner) VALUES (?, ?, ?)", postings)


def _add_edges(connection: sqlite3.Connection, edges: Sequence[Edge], where: dict[str, int], entry: int) -> None:
    rows = [
        (where[edge.claim], where[edge.rival], entry, codec.canonical(codec.relation_fields(edge.relation)))
        for edge in edges
    ]
    connection.executemany("INSERT OR REPLACE INTO edges (claim, rival, entry, relation) VALUES (?, ?, ?, ?)", rows)


def centre_of(connection: sqlite3.Connection, number: int) -> Any:
    """The centre of a scope; ``None`` while it is small."""
    row = connection.execute("SELECT centre FROM scopes WHERE id = ?", (number,)).fetchone()
    return None if row is None or row[0] is None else np.frombuffer(row[0], dtype=np.float32)


def _centre(connection: sqlite3.Connection, number: int) -> None:
    """Fix the centre of a scope that has grown large, and sketch all of its beliefs."""
    query = "SELECT place, vector FROM vectors WHERE place > ? AND place < ?"
    found = connection.execute(query, (place(number, 0), place(number + 1, 0))).fetchall()
    halves = [(where, np.frombuffer(vector, dtype=np.float16)) for where, vector in found]
    centre = np.mean([half for _, half in halves], axis=0, dtype=np.float32)
    connection.execute("UPDATE scopes SET centre = ? WHERE id = ?", (centre.tobytes(), number))
    updates = [(sketch(half, centre), where) for where, half in halves]
    connection.executemany("UPDATE standings SET sketch = ? WHERE place = ?", updates)


def _move(connection: sqlite3.Connection, scope: Scope, where: int, code: int) -> None:
    _unpost(connection, scope, where)
    connection.execute("UPDATE standings SET status = ? WHERE place = ?", (code, where))
    row = connection.execute("SELECT terms FROM vectors WHERE place = ?", (where,)).fetchone()
    owner = connection.execute("SELECT owner FROM standings WHERE place = ?", (where,)).fetchone()[0]
    if row is not None:
        words = np.frombuffer(row[0], dtype=np.uint64)
        postings = [(term, where, owner) for term in posting_terms(scope, words, code, owner)]
        connection.executemany("INSERT INTO postings (term, place, owner) VALUES (?, ?, ?)", postings)


def _erase(connection: sqlite3.Connection, scope: Scope, where: int) -> None:
    _unpost(connection, scope, where)
    connection.execute("DELETE FROM vectors WHERE place = ?", (where,))
    connection.execute("UPDATE standings SET sketch = NULL WHERE place = ?", (where,))
    connection.execute("UPDATE beliefs SET text = x'', nonce = NULL WHERE place = ?", (where,))


def _unpost(connection: sqlite3.Connection, scope: Scope, where: int) -> None:
    query = "SELECT terms, status, owner FROM vectors JOIN standings USING (place) WHERE place = ?"
    row = connection.execute(query, (where,)).fetchone()
    if row is not None:
        words = np.frombuffer(row[0], dtype=np.uint64)
        postings = [(term, where) for term in posting_terms(scope, words, row[1], row[2])]
        connection.executemany("DELETE FROM postings WHERE term = ? AND place = ?", postings)


def owner_of(from_user: bool, origins: frozenset[str]) -> int:
    """0 for the user's own; else a 63-bit digest of the origins, never 0."""
    return 0 if from_user else max(1, _number(sorted(origins)) >> 1)


@lru_cache(maxsize=8192)
def posting_class(scope: Scope, code: int, *, mine: bool, owner: int | None = None) -> int:
    """The number that tells apart the posting lists of a scope: by status, and the user's own or not, or by owner."""
    return _number([codec.scope_name(scope), code, mine, owner])


def posting_terms(scope: Scope, words: Any, code: int, owner: int) -> list[int]:
    """The keys that a belief with these words is posted under: its class, and by owner too where others' is active."""
    classes = [posting_class(scope, code, mine=owner == 0)]
    if owner and code == _ACTIVE:
        classes.append(posting_class(scope, code, mine=False, owner=owner))
    found: list[int] = []
    for number in classes:
        found += (words ^ np.uint64(number)).view(np.int64).tolist()
    return found


def _number(value: object) -> int:
    return int.from_bytes(blake2b(codec.canonical(value).encode(), digest_size=8).digest(), "little")
