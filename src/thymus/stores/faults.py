"""What went wrong with a store's file, as an error that says what to do."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thymus.errors import StoreCorruptError, StoreError, StoreFullError, StoreLockedError

_BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT, _FULL, _CANTOPEN, _TOOBIG, _NOTADB = 5, 6, 8, 10, 11, 13, 14, 18, 26


@contextmanager
def translated(path: Path, timeout: float) -> Iterator[None]:
    """Turn errors of SQLite (https://sqlite.org/rescode.html) into ours."""
    try:
        yield
    except (sqlite3.Error, OverflowError) as error:
        raise fault(error, path, timeout) from error


def fault(error: Exception, path: Path, timeout: float) -> StoreError:
    """The error of ours for one of SQLite's; extended codes count as their primary code."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (_BUSY, _LOCKED):
        return locked(path, timeout)
    if code == _FULL:
        return StoreFullError(f"{path}: the disk or quota is full. Nothing was written; free some space and try again")
    if code in (_CORRUPT, _NOTADB):
        return StoreCorruptError(
            f"{path} is damaged, or not a Thymus store ({error}). Restore it from a backup, or choose another path"
        )
    if code == _READONLY:
        return StoreError(f"{path} cannot be written. Make the file and its folder writable, or choose another path")
    if code == _CANTOPEN:
        return StoreError(f"{path} cannot be opened. Check that its folder exists and that you may write there")
    if code == _IOERR:
        return StoreError(f"{path}: the disk failed ({error}). Nothing was written; check the disk, then run verify")
    if code == _TOOBIG or isinstance(error, (OverflowError, sqlite3.DataError)):
        return StoreError(f"the text or number is too large for {path}: split the message. Nothing was written")
    return StoreError(f"{path}: SQLite refused ({error}). Nothing was written; run verify")


def os_fault(error: OSError, path: Path) -> StoreError:
    """The error of ours for one of the operating system's."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFullError(f"{path}: the disk or quota is full. Nothing was written; free some space and try again")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(f"{path} cannot be written. Make the file and its folder writable, or choose another path")
    return StoreError(f"{path}: {error.strerror}. Nothing was written; check the path and the disk, then try again")


def locked(path: Path, timeout: float) -> StoreLockedError:
    """The error for a file that another process holds."""
    return StoreLockedError(
        f"{path} was locked by another process for more than {timeout:g} s: nothing was written. "
        "Try again, close the other process, or open the store with a longer timeout"
    )


def check_path(path: Path) -> None:
    """Refuse early what cannot be a store's file.

    :raises StoreError: the path is a folder, or its folder does not exist.
    """
    if "\0" in str(path) or str(path) == ":memory:":
        raise StoreError(f"{str(path)!r} is not a file name: use MemoryStore for a memory that is kept nowhere")
    if path.is_dir():
        raise StoreError(f"{path} is a folder: name a file in it, such as {path / 'memory.db'}")
    if not path.parent.is_dir():
        raise StoreError(f"the folder {path.parent} does not exist: create it, or choose another path")
