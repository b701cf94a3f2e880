"""What ranking reads of one scope of a SQLite store: sketches in memory, all else on demand."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np

from thymus.core.beliefs import Belief, Status
from thymus.core.claims import Scope
from thymus.ports import Matrix, Probe
from thymus.stores.index import Seqs, Stratum
from thymus.stores.rows import BELIEF, owner_of, posting_class, read_belief, select_in
from thymus.stores.schema import place
from thymus.stores.sketch import CODES, Mask, Sketches


class SqliteShelf:
    """One scope as the open transaction sees it (``index.Shelf``)."""

    def __init__(self, connection: sqlite3.Connection, scope: Scope, number: int, sketches: Sketches) -> None:
        self._connection = connection
        self._scope = scope
        self._number = number
        self._sketches = sketches
        self._base = place(number, 0)
        self._end = place(number + 1, 0)
        self._masks: dict[tuple[Stratum, frozenset[str]], Mask] = {}
        self._classes: dict[tuple[Stratum, frozenset[str]], list[int]] = {}

    def refresh(self, version: int) -> None:
        """Take in what was committed, by whichever process, since the sketches were last read."""
        sketches = self._sketches
        if sketches.version == version:
            return
        moved = self._moved(sketches.version) if sketches.size else []
        query = "SELECT status, owner, sketch FROM standings WHERE place > ? AND place < ? ORDER BY place"
        if sketches.centre is None:
            query = query.replace("sketch FROM standings", "vector FROM standings LEFT JOIN vectors USING (place)")
        sketches.extend(self._connection.execute(query, (self._base + sketches.size, self._end)).fetchall())
        for seq, code, erased in moved:
            sketches.move(seq, code, erased=erased)
        sketches.version = version

    def near(self, probe: Probe, strata: Sequence[Stratum], k: int) -> list[Seqs]:
        """By sketch where the scope is large, else all of the stratum."""
        masks = [self._mask(stratum, probe) for stratum in strata]
        return [at + 1 for at in self._sketches.near(probe.vector, masks, k)]

    def newest(self, terms: Sequence[int], strata: Sequence[Stratum], probe: Probe, limit: int) -> list[list[Seqs]]:
        """Read the posting lists that each stratum is made of."""
        return [self._newest(terms, stratum, probe, limit) for stratum in strata]

    def _newest(self, terms: Sequence[int], stratum: Stratum, probe: Probe, limit: int) -> list[Seqs]:
        where, fixed = self._listed(stratum, probe)
        query = f"SELECT place FROM postings WHERE {where} ORDER BY place DESC LIMIT ?"  # noqa: S608
        classes, mask = self._posted_in(stratum, probe), self._mask(stratum, probe)
        found = []
        for term in terms:
            seqs = [
                row[0] - self._base
                for number in classes
                for row in self._connection.execute(query, (_signed(term ^ number), *fixed, limit))
            ]
            newest = [seq for seq in sorted(seqs, reverse=True)[:limit] if mask[seq - 1]]
            found.append(np.array(newest, dtype=np.int64))
        return found

    def vectors(self, seqs: Seqs) -> Matrix:
        """Those of a small scope from memory, else from the file."""
        kept = self._sketches.vectors(seqs - 1)
        if kept is not None:
            return kept
        query = "SELECT vector FROM vectors WHERE place IN ({}) ORDER BY place"
        data = b"".join(row[0] for row in select_in(self._connection, query, [], (seqs + self._base).tolist()))
        return np.frombuffer(data, dtype=np.float16).astype(np.float32).reshape(len(seqs), self._sketches.dim)

    def terms(self, seqs: Sequence[int]) -> list[frozenset[int]]:
        """Read them from the file."""
        query = "SELECT place, terms FROM vectors WHERE place IN ({})"
        rows = dict(select_in(self._connection, query, [], [self._base + seq for seq in seqs]))
        found = (rows[self._base + seq] for seq in seqs)
        return [frozenset(np.frombuffer(data, dtype=np.uint64).tolist()) for data in found]

    def read(self, seqs: Sequence[int]) -> list[Belief]:
        """Read them from the file."""
        query = f"SELECT {BELIEF} FROM beliefs JOIN standings USING (place) WHERE beliefs.place IN ({{}})"  # noqa: S608
        rows = select_in(self._connection, query, [], [self._base + seq for seq in seqs])
        found = {row[0]: read_belief(row) for row in rows}
        return [found[self._base + seq] for seq in seqs]

    def _moved(self, version: int) -> list[tuple[int, int, bool]]:
        """(seq, status code, erased) of the beliefs that were moved since a version."""
        query = (
            "SELECT standings.place, status, sketch IS NULL FROM moves JOIN standings ON standings.place = belief "
            "WHERE entry > ? AND entry < ?"
        )
        found = self._connection.execute(query, (self._base + version, self._end))
        return [(where - self._base, code, bool(erased)) for where, code, erased in found]

    def _mask(self, stratum: Stratum, probe: Probe) -> Mask:
        key = (stratum, probe.origins)
        if key not in self._masks:
            codes = [CODES[status] for status in stratum.statuses]
            owner = owner_of(False, probe.origins)
            self._masks[key] = self._sketches.mask(codes, stratum.from_user, stratum.own, owner)
        return self._masks[key]

    def _posted_in(self, stratum: Stratum, probe: Probe) -> list[int]:
        """The posting classes of the stratum that have any belief."""
        key = (stratum, probe.origins)
        if key not in self._classes:
            owner = owner_of(False, probe.origins)
            if stratum.own and stratum.statuses == {Status.ACTIVE}:
                self._classes[key] = [posting_class(self._scope, CODES[Status.ACTIVE], mine=False, owner=owner)]
            else:
                self._classes[key] = [
                    posting_class(self._scope, CODES[status], mine=mine)
                    for status in stratum.statuses
                    for mine in (True, False)
                    if stratum.from_user in (None, mine) and self._sketches.some(CODES[status], mine=mine)
                ]
        return self._classes[key]

    def _listed(self, stratum: Stratum, probe: Probe) -> tuple[str, tuple[int, ...]]:
        """The condition on a posting, and its values after the term."""
        if stratum.own is False:
            owner = owner_of(False, probe.origins)
            return "term = ? AND place > ? AND place < ? AND owner <> ?", (self._base, self._end, owner)
        return "term = ? AND place > ? AND place < ?", (self._base, self._end)


def _signed(number: int) -> int:
    """A 64-bit number as SQLite keeps it."""
    return number - ((number >> 63) << 64)
