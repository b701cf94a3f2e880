"""What went wrong with a database, as an error that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

from thymus.errors import StoreCorruptError, StoreError, StoreFullError, StoreLockedError


@contextmanager
def translated(name: str, timeout: float) -> Iterator[None]:
    """Turn errors of PostgreSQL (Appendix A of its manual) into ours."""
    try:
        yield
    except PoolClosed as error:
        raise StoreError(f"the store {name} was closed: open it again") from error
    except PoolTimeout as error:
        raise StoreLockedError(
            f"{name}: no connection became free within {timeout:g} s. Check that the database runs and is reached, "
            "or allow more connections (most=)"
        ) from error
    except psycopg.Error as error:
        raise fault(error, name, timeout) from error


def fault(error: psycopg.Error, name: str, timeout: float) -> StoreError:
    """The error of ours for one of PostgreSQL's."""
    said = " ".join(str(error).split())[:300]
    if isinstance(error, (errors.DiskFull, errors.OutOfMemory, errors.ConfigurationLimitExceeded)):
        return StoreFullError(f"{name}: the disk or memory of the database is full ({said}). Nothing was written")
    if isinstance(error, (errors.LockNotAvailable, errors.DeadlockDetected, errors.QueryCanceled)):
        return StoreLockedError(
            f"{name} was locked by another writer for more than {timeout:g} s: nothing was written. Try again"
        )
    if isinstance(error, (errors.DataCorrupted, errors.IndexCorrupted)):
        return StoreCorruptError(f"{name} is damaged ({said}). Restore it from a backup")
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreError(f"{name}: this account may not do that ({said}). docs/how-to/postgres.md has the grants")
    if isinstance(error, (errors.TooManyConnections, errors.CannotConnectNow, errors.AdminShutdown)):
        return StoreError(f"{name} takes no connection now ({said}). Try again in a moment")
    if isinstance(error, (errors.ProgramLimitExceeded, errors.DataError)):
        return StoreError(f"the text or number is too large for {name}: split the message. Nothing was written")
    if isinstance(error, psycopg.OperationalError):
        return StoreError(f"{name} cannot be reached ({said}). Check the address and that the database runs")
    return StoreError(f"{name}: PostgreSQL refused ({said})")
