"""What ranking reads of one scope of a PostgreSQL store (``index.Shelf``): everything is asked of the database."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import numpy as np
from pgvector import HalfVector

from thymus.core.beliefs import Belief, Status
from thymus.core.claims import Scope
from thymus.ports import Matrix, Probe, Vector
from thymus.stores.index import Seqs, Stratum
from thymus.stores.ledger import Head
from thymus.stores.postgres.rows import BELIEF, KEY, Rows, read_belief
from thymus.stores.postgres.schema import SKETCHED
from thymus.stores.rows import owner_of, posting_class
from thymus.stores.sketch import CODES, Sketches, width

SLACK: Final = 2
"""Times ``k``, and ``SPARE`` more: so many nearest are taken, for the database adds up in another order than we do."""
SPARE: Final = 16

MOST_SKETCHES: Final = 1_000_000
"""Kept in memory, of the scopes searched last: about 130 bytes each."""

_SENT: Final = "halfvec_send(vector), terms"
_HEAD: Final = 4
"""Bytes before the numbers of a vector that is sent: how many there are, and two for later use."""


class KeptSketches:
    """The sketches of the scopes that were searched last, each as it was at one version. Shared by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Scope, tuple[int, Seqs, Sketches]] = OrderedDict()
        self._size = 0

    def get(self, scope: Scope, version: int) -> tuple[Seqs, Sketches] | None:
        """The seqs and sketches of a scope at this version."""
        with self._lock:
            found = self._kept.get(scope)
            if found is None or found[0] != version:
                return None
            self._kept.move_to_end(scope)
            return found[1:]

    def put(self, scope: Scope, version: int, seqs: Seqs, sketches: Sketches) -> None:
        """Keep them; those that were searched longest ago go."""
        with self._lock:
            self._drop(scope)
            self._kept[scope] = version, seqs, sketches
            self._size += sketches.size
            while self._size > MOST_SKETCHES and len(self._kept) > 1:
                self._size -= self._kept.popitem(last=False)[1][2].size

    def drop(self, scope: Scope) -> None:
        """Forget those of a scope."""
        with self._lock:
            self._drop(scope)

    def _drop(self, scope: Scope) -> None:
        before = self._kept.pop(scope, None)
        self._size -= before[2].size if before else 0


class PostgresShelf:
    """One scope as the open transaction sees it. ``newest`` is asked first.

    :param kept: sketches that need not be read again.
    :param ends: whether the transaction ends with ``read``.
    """

    def __init__(self, rows: Rows, kept: KeptSketches, *, dim: int, ends: bool = False) -> None:
        self._rows, self._kept, self._dim, self._ends = rows, kept, dim, ends
        self._head: Head | None = None
        self._centre: Vector | None = None
        self._found: dict[int, tuple[bytes, bytes]] = {}  # as the database sends vectors and words

    @property
    def version(self) -> int:
        """The scope's."""
        return 0 if self._head is None else self._head.version

    def near(self, probe: Probe, strata: Sequence[Stratum], k: int) -> list[Seqs]:
        """The nearest of each stratum: by sketch where there are any, else as the database reckons, and some more."""
        if self._head is None:
            return [np.empty(0, dtype=np.int64) for _ in strata]
        large = self._head.beliefs > SKETCHED  # and searched through the HNSW index, which finds nearly all
        if self._centre is not None and not large:
            return self._near_by_sketch(self._centre, probe, strata, k)
        values: dict[str, object] = {
            "vector": HalfVector(np.asarray(probe.vector, dtype=np.float32).astype(np.float16)),
            "voice": owner_of(False, probe.origins),
            "most": SLACK * k + SPARE,
            "every": sorted({CODES[status] for stratum in strata for status in stratum.statuses}),
        }
        among = f"{KEY} AND vector IS NOT NULL AND "
        compared = f"SELECT seq, status, voice, vector <#> %(vector)s AS far FROM beliefs WHERE {among}"
        parts = []
        for at, stratum in enumerate(strata):
            values[f"codes{at}"] = [CODES[status] for status in stratum.statuses]
            chosen = f"status = ANY(%(codes{at})s){_condition(stratum)}"
            if large:  # each through the index
                source = f"beliefs WHERE {among} {chosen} AND large ORDER BY vector <#> %(vector)s"
            else:
                source = f"compared WHERE {chosen} ORDER BY far, seq DESC"
            parts.append(f"(SELECT {at} AS stratum, seq FROM {source} LIMIT %(most)s)")
        # Each belief is compared once, for all strata. Sorted by their seqs alone: whole rows would be copied about.
        once = "" if large else f"WITH compared AS MATERIALIZED ({compared} status = ANY(%(every)s))"
        nearest = " UNION ALL ".join(parts)
        query = f"{once} SELECT stratum, seq, {_SENT} FROM ({nearest}) AS near JOIN beliefs USING (seq) WHERE {KEY}"
        found: list[list[int]] = [[] for _ in strata]
        for at, seq, vector, terms in self._rows.all(query, **values):
            found[at].append(seq)
            self._found[seq] = vector, terms
        return [np.array(sorted(seqs), dtype=np.int64) for seqs in found]

    def _near_by_sketch(self, centre: Vector, probe: Probe, strata: Sequence[Stratum], k: int) -> list[Seqs]:
        seqs, sketches = self._kept.get(self._rows.scope, self.version) or self._sketches(centre)
        owner = owner_of(False, probe.origins)
        masks = [
            sketches.mask([CODES[status] for status in stratum.statuses], stratum.from_user, stratum.own, owner)
            for stratum in strata
        ]
        return [np.sort(seqs[at]) for at in sketches.near(probe.vector, masks, k)]

    def _sketches(self, centre: Vector) -> tuple[Seqs, Sketches]:
        """All of the scope come in one piece, out of an index: a tenth of what its rows hold."""
        row = "int8send(seq) || int2send(status) || int8send(voice) || sketch"
        query = f"SELECT string_agg({row}, ''::bytea) FROM beliefs WHERE {KEY} AND sketch IS NOT NULL"
        [(whole,)] = self._rows.all(query)
        size = (width(self._dim),)
        columns = np.dtype([("seq", ">i8"), ("code", ">i2"), ("voice", ">i8"), ("sketch", np.uint8, size)])
        found = np.frombuffer(whole or b"", dtype=columns)
        seqs, sketches = found["seq"].astype(np.int64), Sketches(self._dim, centre)
        sketches.append(found["code"].astype(np.uint8), found["voice"], found["sketch"].tobytes())
        self._kept.put(self._rows.scope, self.version, seqs, sketches)
        return seqs, sketches

    def newest(self, terms: Sequence[int], strata: Sequence[Stratum], probe: Probe, limit: int) -> list[list[Seqs]]:
        """Read the posting lists that each stratum is made of, and how the scope stands."""
        each = [(stratum.own is False, self._classes(stratum, probe)) for stratum in strata]
        asked = [
            (at, _signed(term ^ number), apart)
            for at, ((apart, classes), term) in enumerate(product(each, terms))
            for number in classes
        ]
        places, digests, apart = zip(*asked, strict=True) if asked else ((), (), ())
        # Asked for only where it matters: the index alone answers without it.
        others = "AND (NOT asked.apart OR voice <> %(voice)s)" if any(apart) else ""
        query = f"""
            SELECT place, found.seqs
            FROM unnest(%(places)s::int[], %(digests)s::bigint[], %(apart)s::bool[]) AS asked (place, digest, apart)
            CROSS JOIN LATERAL (
                SELECT string_agg(int8send(seq), ''::bytea) AS seqs FROM (
                    SELECT seq FROM postings WHERE {KEY} AND term = asked.digest {others}
                    ORDER BY seq DESC LIMIT %(limit)s
                ) AS newest
            ) AS found WHERE found.seqs IS NOT NULL
        """
        values = {"places": list(places), "digests": list(digests), "apart": list(apart), "limit": limit}
        self._head, self._centre, rows = self._rows.scope_row_and(query, **values, voice=owner_of(False, probe.origins))
        found = [b""] * (len(strata) * len(terms))
        for at, seqs in rows:
            found[at] += seqs
        lists = [np.sort(np.frombuffer(seqs, dtype=">i8").astype(np.int64))[::-1][:limit] for seqs in found]
        return [lists[at * len(terms) : (at + 1) * len(terms)] for at in range(len(strata))]

    def vectors(self, seqs: Seqs) -> Matrix:
        """Those that were found before, and the others from the database."""
        self._fetch(seqs.tolist())
        halves = b"".join([self._found[seq][0][_HEAD:] for seq in seqs.tolist()])
        found: Matrix = np.frombuffer(halves, dtype=">f2").astype(np.float32).reshape(len(seqs), self._dim)
        return found

    def terms(self, seqs: Sequence[int]) -> list[frozenset[int]]:
        """Those that were found before, and the others from the database."""
        self._fetch(seqs)
        return [frozenset(np.frombuffer(self._found[seq][1], dtype=np.uint64).tolist()) for seq in seqs]

    def _fetch(self, seqs: Sequence[int]) -> None:
        if missing := [seq for seq in seqs if seq not in self._found]:
            query = f"SELECT seq, {_SENT} FROM beliefs WHERE {KEY} AND seq = ANY(%(seqs)s)"
            self._found.update((seq, (vector, terms)) for seq, vector, terms in self._rows.all(query, seqs=missing))

    def read(self, seqs: Sequence[int]) -> list[Belief]:
        """Read them."""
        if not seqs:
            return []
        query = f"SELECT {BELIEF} FROM beliefs WHERE {KEY} AND seq = ANY(%(seqs)s)"
        ask = self._rows.last if self._ends else self._rows.all
        found = {row[0]: read_belief(row) for row in ask(query, seqs=list(seqs))}
        return [found[seq] for seq in seqs]

    def _classes(self, stratum: Stratum, probe: Probe) -> list[int]:
        """The posting classes of the stratum."""
        scope = self._rows.scope
        if stratum.own and stratum.statuses == {Status.ACTIVE}:
            owner = owner_of(False, probe.origins)
            return [posting_class(scope, CODES[Status.ACTIVE], mine=False, owner=owner)]
        return [
            posting_class(scope, CODES[status], mine=mine)
            for status in stratum.statuses
            for mine in (True, False)
            if stratum.from_user in (None, mine)
        ]


def _condition(stratum: Stratum) -> str:
    """What belongs to a stratum, beside its statuses."""
    mine = {None: "", True: " AND voice = 0", False: " AND voice <> 0"}[stratum.from_user]
    own = {None: "", True: " AND voice = %(voice)s", False: " AND voice <> %(voice)s"}[stratum.own]
    return mine + own


def _signed(number: Any) -> int:
    """A 64-bit number as PostgreSQL keeps it."""
    return int(number) - ((int(number) >> 63) << 64)
