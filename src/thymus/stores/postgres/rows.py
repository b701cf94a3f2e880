"""Reading and writing the tables of ``schema.py`` within one transaction, for one scope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from pgvector import HalfVector

from thymus.core.beliefs import Belief, Edge, Revision
from thymus.core.claims import Evidence, Scope
from thymus.errors import StoreError
from thymus.stores import codec
from thymus.stores.ledger import Head, Kept, Plan, Standing, mentioned
from thymus.stores.ledger import plan as plan_of
from thymus.stores.postgres.schema import SKETCHED
from thymus.stores.rows import owner_of, posting_terms, read_message
from thymus.stores.sketch import CODES, EXACT, STATUSES, sketch
from thymus.stores.voices import Said
from thymus.stores.words import terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from thymus.ports import Vector
    from thymus.stores.postgres.transactions import Transaction

    Words: TypeAlias = NDArray[np.uint64]
else:
    Words = Any

KEY: Final = "tenant = %(tenant)s AND owner = %(owner)s"
"""The condition that each query of a scope has, beside what row-level security repeats."""
BELIEF: Final = "seq, id, status, body, nonce IS NULL, text"
"""The columns that ``read_belief`` reads."""
COLUMNS: Final = {
    "scopes": "version beliefs hash large",
    "evidence": "id entry body nonce text",
    "beliefs": "seq id evidence entry body nonce text status voice large vector terms sketch",
    "postings": "term seq voice",
    "moves": "belief entry",
    "edges": "claim rival entry relation",
    "ledger": "seq body hash",
}
"""What is written into each table, after tenant and owner."""
TYPES: Final = {
    "evidence": "bytea int8 text bytea bytea",
    "beliefs": "int8 bytea bytea int8 text bytea bytea int2 int8 bool halfvec bytea bytea",
    "postings": "int8 int8 int8",
    "ledger": "int8 text bytea",
}
"""Their types, for COPY."""

_SCOPE_ROW: Final = f"SELECT version, beliefs, hash, centre FROM scopes WHERE {KEY}"


class Rows:
    """The rows of one scope as a transaction sees them."""

    def __init__(self, transaction: Transaction, scope: Scope) -> None:
        self.scope = scope
        self.key = (codec.raw(scope.tenant), codec.raw(scope.user))
        self._transaction = transaction
        self._named = dict(zip(("tenant", "owner"), self.key, strict=True))

    def all(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self._transaction.all(query.encode(), self._named | values)

    def last(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query with which the transaction ends."""
        return self._transaction.all(query.encode(), self._named | values, last=True)

    def run(self, query: str, **values: object) -> None:
        """A statement that gives no rows."""
        self._transaction.connection.execute(query.encode(), self._named | values)

    def head(self) -> Head | None:
        """The head of the scope; none while nothing was committed to it."""
        return self.scope_row()[0]

    def scope_row(self) -> tuple[Head | None, Vector | None]:
        """The head of the scope, and what its sketches are seen from, if it has any."""
        return _scope_row(self.all(_SCOPE_ROW))

    def scope_row_and(self, query: str, **values: object) -> tuple[Head | None, Vector | None, list[tuple[Any, ...]]]:
        """The same, and the rows of another query, in one round trip."""
        row, found = self._transaction.each(
            [(_SCOPE_ROW.encode(), self._named), (query.encode(), self._named | values)]
        )
        return *_scope_row(row), found

    def beliefs(self, condition: str, **values: object) -> list[Belief]:
        """The beliefs of this scope that meet a condition."""
        return [read_belief(row) for row in self.all(f"SELECT {BELIEF} FROM beliefs WHERE {KEY} {condition}", **values)]

    def seqs(self, ids: Iterable[str]) -> dict[str, int]:
        """Where the existing ones of these beliefs are."""
        asked = [codec.raw(id_) for id_ in ids]
        query = f"SELECT id, seq FROM beliefs WHERE {KEY} AND id = ANY(%(ids)s)"
        return {codec.cooked(id_): seq for id_, seq in (self.all(query, ids=asked) if asked else ())}

    def standing(self, ids: Sequence[str]) -> dict[str, Standing]:
        """How the existing ones of these beliefs stand."""
        query = f"SELECT id, seq, status, nonce IS NULL, evidence FROM beliefs WHERE {KEY} AND id = ANY(%(ids)s)"
        return {
            codec.cooked(id_): Standing(
                seq=seq, status=STATUSES[status], erased=erased, evidence_id=codec.cooked(evidence)
            )
            for id_, seq, status, erased, evidence in self.all(query, ids=[codec.raw(id_) for id_ in ids])
        }

    def has_evidence(self, evidence_id: str) -> bool:
        """Whether the evidence is stored."""
        query = f"SELECT 1 FROM evidence WHERE {KEY} AND id = %(id)s"
        return bool(self.all(query, id=codec.raw(evidence_id)))

    def judged(self, pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], tuple[int, str]]:
        """The ledger row and the relation (canonical JSON) kept of these pairs of seqs."""
        wanted = set(pairs)
        if not wanted:
            return {}
        query = f"""
            SELECT claim, rival, entry, relation FROM edges
            WHERE {KEY} AND claim = ANY(%(claims)s) AND rival = ANY(%(rivals)s)
        """
        claims, rivals = ([pair[side] for pair in wanted] for side in (0, 1))
        found = self.all(query, claims=claims, rivals=rivals)
        return {(row[0], row[1]): (row[2], row[3]) for row in found if (row[0], row[1]) in wanted}

    def evidence(self, ids: Sequence[str]) -> dict[str, Evidence]:
        """The evidence of these ids."""
        query = f"SELECT id, body, text FROM evidence WHERE {KEY} AND id = ANY(%(ids)s)"
        rows = self.all(query, ids=[codec.raw(id_) for id_ in ids]) if ids else []
        found = {codec.cooked(id_): columns for id_, *columns in rows}
        return {id_: read_message(id_, *found[id_]) for id_ in ids if id_ in found}

    def brought(self, ids: Sequence[str], limit: int | None) -> dict[str, list[Belief]]:
        """The beliefs that each of these messages brought."""
        query = f"""
            SELECT found.* FROM unnest(%(ids)s::bytea[]) AS asked (id) CROSS JOIN LATERAL (
                SELECT {BELIEF} FROM beliefs WHERE {KEY} AND evidence = asked.id ORDER BY seq LIMIT %(limit)s
            ) AS found ORDER BY seq
        """
        asked = list(dict.fromkeys(map(codec.raw, ids)))
        found: dict[str, list[Belief]] = {}
        for row in self.all(query, ids=asked, limit=limit) if ids else ():
            belief = read_belief(row)
            found.setdefault(belief.claim.evidence_id, []).append(belief)
        return {id_: found[id_] for id_ in ids if id_ in found}

    def edges(self, ids: Sequence[str]) -> list[Edge]:
        """The judged pairs in which these beliefs take part."""
        if not ids:
            return []
        # Arrays and single rows, so that each step is a look into an index, whatever the planner thinks of the tables.
        sides = " UNION ".join(
            f"SELECT claim, rival, relation FROM edges WHERE {KEY} AND {side} = ANY((SELECT seqs FROM asked)::bigint[])"
            for side in ("claim", "rival")
        )
        names = ", ".join(
            f"(SELECT id FROM beliefs WHERE {KEY} AND seq = {side}) AS {side}_id" for side in ("claim", "rival")
        )
        query = f"""
            WITH asked AS MATERIALIZED (
                SELECT array_agg(seq) AS seqs FROM beliefs WHERE {KEY} AND id = ANY(%(ids)s)
            )
            SELECT {names}, relation FROM ({sides}) AS found ORDER BY claim, rival
        """
        return [
            Edge(
                claim=codec.cooked(claim),
                rival=codec.cooked(rival),
                relation=codec.read_relation(codec.parse(relation)),
            )
            for claim, rival, relation in self.all(query, ids=[codec.raw(id_) for id_ in ids])
        ]

    def said(self) -> list[Said]:
        """Who said the beliefs of the scope directly, in numbers; ISO times in UTC sort in their order."""
        query = f"""
            SELECT min(body), status, count(*), min(seq), max(seq), min(at COLLATE "C"), max(at COLLATE "C") FROM (
                SELECT seq, status, body, (body::json -> 'source')::text AS source, body::json ->> 'observed_at' AS at
                FROM beliefs WHERE {KEY}
            ) AS each GROUP BY source, status
        """
        return [
            Said(
                source=codec.read_claim(codec.parse(body), "").source,
                status=STATUSES[status],
                number=many,
                first=first,
                last=last,
                since=codec.read_moment(since),
                until=codec.read_moment(until),
            )
            for body, status, many, first, last, since, until in self.all(query)
        ]

    def entries(self, belief_id: str | None, after: int, limit: int) -> list[tuple[int, str, bytes]]:
        """The next (seq, body, hash) of the ledger, or of the rows that changed a belief."""
        query = f"SELECT seq, body, hash FROM ledger WHERE {KEY} AND seq > %(after)s"
        if belief_id is not None:
            query += f"""
                AND seq IN (
                    SELECT entry FROM beliefs WHERE {KEY} AND id = %(id)s UNION
                    SELECT moves.entry FROM beliefs JOIN moves USING (tenant, owner)
                    WHERE {KEY} AND id = %(id)s AND belief = beliefs.seq
                )
            """
        query += " ORDER BY seq LIMIT %(limit)s"
        found = self.all(query, after=after, id=codec.raw(belief_id or ""), limit=limit)
        return [(row[0], row[1], row[2]) for row in found]

    def carry_out(self, plan: Plan, centre: Vector | None) -> None:
        """Write a plan. What is read for it is read first, so that all that is written goes in one round trip.

        :param centre: of the scope as it stands (``scope_row``).
        """
        entry, large = plan.head.version, plan.head.beliefs > SKETCHED
        touched = list(dict.fromkeys([*plan.moved, *plan.erased]))
        fresh = {kept.belief.id: kept.belief.seq for kept in plan.beliefs}
        edged = [name for edge in plan.edges for name in (edge.claim, edge.rival)]
        where = fresh | self.seqs({*touched, *edged} - fresh.keys())
        posted = self._posted([where[name] for name in touched])
        centre, unsketched = self._centred(centre, plan.head.beliefs, plan.beliefs)
        grows = large and plan.head.beliefs - len(plan.beliefs) <= SKETCHED
        with self._transaction.connection.pipeline():
            self._head(plan.head, centre, large=large)
            if grows:
                self.run(f"UPDATE beliefs SET large = true WHERE {KEY}")
            self._sketch(centre, unsketched)
            if plan.evidence is not None:
                self._insert("evidence", [evidence_row(plan, entry)])
            words = [words_of(kept) for kept in plan.beliefs]
            new = list(zip(plan.beliefs, words, strict=True))
            self._insert("beliefs", [belief_row(kept, has, entry, centre, large=large) for kept, has in new])
            self._insert("postings", [row for kept, has in new for row in posting_rows(self.scope, kept, has)])
            self._insert("moves", [(where[name], entry) for name in touched])
            for belief_id, status in plan.moved.items():
                query = f"UPDATE beliefs SET status = %(status)s WHERE {KEY} AND seq = %(seq)s"
                self.run(query, status=CODES[status], seq=where[belief_id])
            self._repost(plan, where, posted)
            self._erase(plan, [where[name] for name in plan.erased])
            for edge in plan.edges:
                relation = codec.canonical(codec.relation_fields(edge.relation))
                query = """
                    INSERT INTO edges (tenant, owner, claim, rival, entry, relation)
                    VALUES (%(tenant)s, %(owner)s, %(claim)s, %(rival)s, %(entry)s, %(relation)s)
                    ON CONFLICT (tenant, owner, claim, rival)
                    DO UPDATE SET entry = excluded.entry, relation = excluded.relation
                """
                self.run(query, claim=where[edge.claim], rival=where[edge.rival], entry=entry, relation=relation)
            self._insert("ledger", [(entry, plan.body, plan.head.hash)])

    def load(self, revisions: Iterable[Revision], dim: int) -> int:
        """Write revisions that only tell what is new, with COPY, and give the new version.

        :raises StoreError: something in them is stored already, or changes what is.
        """
        stood, centre = self.scope_row()
        head = stood or Head()
        found: dict[str, list[tuple[object, ...]]] = {
            table: [] for table in ("evidence", "beliefs", "postings", "ledger")
        }
        new: list[tuple[Kept, Words, int]] = []
        seen: set[str] = set()
        for revision in revisions:
            ids = {belief.id for belief in revision.beliefs}
            known = seen & {*mentioned(revision), *([revision.evidence.id] if revision.evidence else [])}
            if known or revision.edges or revision.erase or ids != set(mentioned(revision)):
                raise StoreError("only what is new is loaded: commit a revision that changes or repeats something")
            plan = plan_of(revision, head=head, standing={}, has_evidence=False, judged={}, dim=dim)
            if plan is None:
                continue
            head = plan.head
            seen |= ids
            if plan.evidence is not None:
                seen.add(plan.evidence.evidence.id)
                found["evidence"].append(evidence_row(plan, head.version))
            for kept in plan.beliefs:
                words = words_of(kept)
                new.append((kept, words, head.version))
                found["postings"] += posting_rows(self.scope, kept, words)
            found["ledger"].append((head.version, plan.body, plan.head.hash))
        large = head.beliefs > SKETCHED
        centre, unsketched = self._centred(centre, head.beliefs, [kept for kept, _, _ in new])
        found["beliefs"] = [belief_row(kept, words, entry, centre, large=False) for kept, words, entry in new]
        self._head(head, centre, large=large)
        self._sketch(centre, unsketched)
        for table, rows in found.items():
            self._copy(table, rows)
        if large:
            self.run(f"UPDATE beliefs SET large = true WHERE {KEY} AND NOT large")
        return head.version

    def _copy(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        """COPY into a table of this transaction, for row-level security takes none, and from there."""
        columns = f"tenant, owner, {', '.join(COLUMNS[table].split())}"
        self.run(f"CREATE TEMPORARY TABLE loaded_{table} (LIKE {table}) ON COMMIT DROP")
        with self._transaction.connection.cursor() as cursor:
            with cursor.copy(f"COPY loaded_{table} ({columns}) FROM STDIN (FORMAT BINARY)".encode()) as copy:
                copy.set_types(["bytea", "bytea", *TYPES[table].split()])
                for row in rows:
                    copy.write_row((*self.key, *row))
            cursor.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM loaded_{table}".encode())

    def _head(self, head: Head, centre: Vector | None, *, large: bool) -> None:
        """Keep how a scope stands; a centre that it has stays."""
        query = """
            INSERT INTO scopes (tenant, owner, version, beliefs, hash, large, centre)
            VALUES (%(tenant)s, %(owner)s, %(version)s, %(beliefs)s, %(hash)s, %(large)s, %(centre)s)
            ON CONFLICT (tenant, owner) DO UPDATE
            SET version = excluded.version, beliefs = excluded.beliefs, hash = excluded.hash, large = excluded.large,
                centre = coalesce(scopes.centre, excluded.centre)
        """
        seen_from = None if centre is None else centre.tobytes()
        self.run(query, version=head.version, beliefs=head.beliefs, hash=head.hash, large=large, centre=seen_from)

    def _centred(
        self, centre: Vector | None, beliefs: int, new: Sequence[Kept]
    ) -> tuple[Vector | None, dict[int, Any]]:
        """The centre of a scope that will hold so many beliefs, and the vectors of those in it that have no sketch yet.

        It is fixed by the act that makes the scope too large for comparing vectors alone.

        :param centre: that it has already, if any.
        """
        if not EXACT < beliefs <= SKETCHED:
            return None, {}
        if centre is not None:
            return centre, {}
        query = f"SELECT seq, vector FROM beliefs WHERE {KEY} AND vector IS NOT NULL ORDER BY seq"
        kept = {seq: vector.to_numpy() for seq, vector in self.all(query)}
        first = [*kept.values(), *(one.vector for one in new)][: EXACT + 1]
        return np.mean(first, axis=0, dtype=np.float32), kept

    def _sketch(self, centre: Vector | None, unsketched: Mapping[int, Any]) -> None:
        """Keep the sketches of beliefs that have none."""
        if unsketched:
            query = f"""
                UPDATE beliefs SET sketch = new.sketch
                FROM unnest(%(seqs)s::bigint[], %(sketches)s::bytea[]) AS new (seq, sketch)
                WHERE {KEY} AND beliefs.seq = new.seq
            """
            sketches = [sketch(vector, centre) for vector in unsketched.values()]
            self.run(query, seqs=list(unsketched), sketches=sketches)

    def _insert(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            columns = COLUMNS[table].split()
            marks = ", ".join(["%s"] * (len(columns) + 2))
            query = f"INSERT INTO {table} (tenant, owner, {', '.join(columns)}) VALUES ({marks})"
            with self._transaction.connection.cursor() as cursor:
                cursor.executemany(query.encode(), [(*self.key, *row) for row in rows])

    def _posted(self, seqs: Sequence[int]) -> dict[int, tuple[Any, int, int]]:
        """The words, status code and voice of these beliefs; none for an erased one."""
        query = f"SELECT seq, terms, status, voice FROM beliefs WHERE {KEY} AND seq = ANY(%(seqs)s)"
        found = self.all(query, seqs=seqs) if seqs else []
        return {
            seq: (np.frombuffer(words, dtype=np.uint64), code, voice)
            for seq, words, code, voice in found
            if words is not None
        }

    def _repost(self, plan: Plan, where: Mapping[str, int], posted: Mapping[int, tuple[Any, int, int]]) -> None:
        """Take the words of what moves out of one class of posting lists and put them into another."""
        gone: list[tuple[int, int]] = []
        new: list[tuple[int, int, int]] = []
        for seq, (words, code, voice) in posted.items():
            gone += [(term, seq) for term in posting_terms(self.scope, words, code, voice)]
        for belief_id, status in plan.moved.items():
            seq = where[belief_id]
            if belief_id not in plan.erased and seq in posted:
                words, _, voice = posted[seq]
                new += [(term, seq, voice) for term in posting_terms(self.scope, words, CODES[status], voice)]
        if gone:
            query = f"""
                DELETE FROM postings USING unnest(%(terms)s::bigint[], %(seqs)s::bigint[]) AS gone (term, seq)
                WHERE {KEY} AND postings.term = gone.term AND postings.seq = gone.seq
            """
            self.run(query, terms=[term for term, _ in gone], seqs=[seq for _, seq in gone])
        self._insert("postings", new)

    def _erase(self, plan: Plan, seqs: Sequence[int]) -> None:
        if seqs:
            query = f"""
                UPDATE beliefs SET text = ''::bytea, nonce = NULL, vector = NULL, terms = NULL, sketch = NULL
                WHERE {KEY} AND seq = ANY(%(seqs)s)
            """
            self.run(query, seqs=list(seqs))
        if plan.blanked:
            query = f"UPDATE evidence SET text = ''::bytea, nonce = NULL WHERE {KEY} AND id = ANY(%(ids)s)"
            self.run(query, ids=[codec.raw(id_) for id_ in plan.blanked])


def _scope_row(found: Sequence[tuple[Any, ...]]) -> tuple[Head | None, Vector | None]:
    if not found:
        return None, None
    [(version, beliefs, row_hash, centre)] = found
    head = Head(version=version, beliefs=beliefs, hash=row_hash)
    return head, None if centre is None else np.frombuffer(centre, dtype=np.float32)


def read_belief(row: Sequence[Any]) -> Belief:
    """A belief from the columns of ``BELIEF``."""
    seq, belief_id, status, body, erased, text = row
    return Belief(
        id=codec.cooked(belief_id),
        claim=codec.read_claim(codec.parse(body), codec.cooked(text)),
        status=STATUSES[status],
        seq=seq,
        erased=erased,
    )


def evidence_row(plan: Plan, entry: int) -> tuple[object, ...]:
    """New evidence, as ``COLUMNS`` names it."""
    assert plan.evidence is not None  # noqa: S101  (for the type)
    told = plan.evidence.evidence
    return codec.raw(told.id), entry, plan.evidence.body, plan.evidence.nonce, codec.raw(told.text)


def words_of(kept: Kept) -> Words:
    """The digests of a new belief's words."""
    return np.array(terms(kept.belief.claim.text), dtype=np.uint64)


def belief_row(kept: Kept, words: Words, entry: int, centre: Vector | None, *, large: bool) -> tuple[object, ...]:
    """A new belief, as ``COLUMNS`` names it.

    :param centre: of its scope, if that has one.
    """
    belief, claim = kept.belief, kept.belief.claim
    return (
        belief.seq,
        codec.raw(belief.id),
        codec.raw(claim.evidence_id),
        entry,
        kept.body,
        kept.nonce,
        codec.raw(claim.text),
        CODES[belief.status],
        owner_of(claim.from_user, claim.origins),
        large,
        HalfVector(kept.vector),
        words.tobytes(),
        None if centre is None else sketch(kept.vector, centre),
    )


def posting_rows(scope: Scope, kept: Kept, words: Words) -> Iterator[tuple[int, int, int]]:
    """The words under which a new belief is found, as ``COLUMNS`` names it."""
    claim, code = kept.belief.claim, CODES[kept.belief.status]
    voice = owner_of(claim.from_user, claim.origins)
    for term in posting_terms(scope, words, code, voice):
        yield term, kept.belief.seq, voice
