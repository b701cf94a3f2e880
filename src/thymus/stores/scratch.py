"""A store in memory that finds things as the file does, and as fast: what a history is told again into.

``MemoryStore`` looks at every belief for every answer, which is what makes it the oracle of the others, and too slow
for thousands of answers in a row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Self

from thymus.core.beliefs import Revision
from thymus.core.claims import Scope
from thymus.errors import StoreError
from thymus.ports import Verification
from thymus.stores import audit, schema
from thymus.stores.archive import archives
from thymus.stores.sketch import EXACT
from thymus.stores.sqlite import SqliteStore

_PORTION: Final = 500


class ScratchStore(SqliteStore):
    """A ``SqliteStore`` without a file: nothing of it outlives the object."""

    def __init__(self, *, embedder: str, dim: int) -> None:
        super().__init__("scratch", embedder=embedder, dim=dim)

    def copy(self) -> Self:
        """Another one with the same contents."""
        other = type(self)(embedder=self.embedder, dim=self.dim)
        with self._lock:
            self._connected().backup(other._connected())  # noqa: SLF001  (its own kind)
        return other

    def fill(self, revisions: Iterable[Revision]) -> None:
        """Commit many revisions of one scope, some hundred at once; the scope's version counts fewer."""
        waiting: list[Revision] = []
        beliefs = 0
        for revision in revisions:
            grown = beliefs + len(revision.beliefs)
            if len(waiting) == _PORTION or beliefs <= EXACT < grown:
                self._commit_all(waiting)  # the centre is fixed by the act that makes the scope large, as in the file
                waiting = []
            waiting.append(revision)
            if beliefs <= EXACT < grown:
                self._commit_all(waiting)
                waiting = []
            beliefs = grown
        self._commit_all(waiting)

    def verify(self, scope: Scope | None = None) -> Verification:
        """See ``Store.verify``."""
        with self._reading() as connection:
            return audit.verify(archives(connection, scope))

    def _commit_all(self, revisions: list[Revision]) -> None:
        if not revisions:
            return
        joined = replace(
            revisions[0],
            beliefs=tuple(belief for revision in revisions for belief in revision.beliefs),
            changes=tuple(change for revision in revisions for change in revision.changes),
            vectors={id_: vector for revision in revisions for id_, vector in revision.vectors.items()},
        )
        self.commit(joined)

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError("this scratch store was closed: make another one")
        if self._connection is None:
            self._connection = sqlite3.connect(
                ":memory:", isolation_level=None, check_same_thread=False, cached_statements=512
            )
            schema.migrate(self._connection)
        return self._connection
