"""A small memory in one JSON file that people can read, compare and keep under version control.

The whole file is written anew at each commit (about 3 kB a belief): good for hundreds of beliefs, slow for thousands.
Within ``bulk()`` it is written once, at the end, and other processes wait until then.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from thymus.errors import StoreCorruptError, StoreError
from thymus.stores import snapshot
from thymus.stores.faults import check_path, locked, os_fault
from thymus.stores.memory import MemoryStore
from thymus.stores.schema import other_embedder

_PAUSE: Final = 0.01


class JsonFileStore(MemoryStore):
    """A ``Store`` in one readable file, for several threads and processes.

    :param embedder: name of the embedder whose vectors it keeps.
    :param dim: their length.
    :param timeout: seconds to wait for another process's write.
    :raises StoreError: and its kinds, where the file cannot be used; the message says what would do.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, embedder: str = "e5-small", dim: int = 384, timeout: float = 10.0
    ) -> None:
        super().__init__(embedder=embedder, dim=dim)
        check_path(Path(path))
        self.path = Path(path).resolve()
        self.timeout = timeout
        self._closed = False
        self._seen: tuple[int, ...] | None = None
        self._holding: IO[bytes] | None = None
        self._bulks = 0
        self._unsaved = False
        with self._session(writing=True):
            if self._seen is None:
                self._save()

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """See ``Store.bulk``: a process that dies within it loses what it wrote there."""
        with self._lock:
            if self._bulks == 0:
                self._holding = self._acquire()
            self._bulks += 1
        try:
            yield
        finally:
            with self._lock:
                self._bulks -= 1
                if self._bulks == 0:
                    try:
                        if self._unsaved:
                            self._save()
                    finally:
                        self._unsaved = False
                        self._release()

    def close(self) -> None:
        """See ``Store.close``."""
        with self._lock:
            self._closed = True
            self._memories = {}

    @contextmanager
    def _session(self, *, writing: bool = False) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {self.path} was closed: open it again")
            alone = writing and self._bulks == 0
            if alone:
                self._holding = self._acquire()
            try:
                if not self._unsaved:
                    self._load()
                yield
            finally:
                if alone:
                    self._release()

    def _keep(self) -> None:
        if self._bulks:
            self._unsaved = True
        else:
            self._save()

    def _load(self) -> None:
        """Read the file where it is not the one that was last read or written."""
        try:
            seen = _identity(self.path.stat())
            if seen == self._seen:
                return
            with self.path.open(encoding="utf-8") as file:
                seen, written = _identity(os.fstat(file.fileno())), file.read()
        except FileNotFoundError:
            self._memories, self._seen = {}, None
            return
        except OSError as error:
            raise os_fault(error, self.path) from error
        except UnicodeDecodeError as error:
            raise self._corrupt(error) from error
        if not written.strip():
            self._memories, self._seen = {}, None
            return
        try:
            memories, settings = snapshot.load(written)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise self._corrupt(error) from error
        asked = {"embedder": self.embedder, "dim": str(self.dim)}
        if settings != asked:
            raise StoreError(other_embedder(os.fspath(self.path), settings, asked))
        self._memories, self._seen = memories, seen

    def _save(self) -> None:
        """Write the file anew beside the old one and put it in its place, both made durable."""
        written = snapshot.dump(self._memories, {"embedder": self.embedder, "dim": str(self.dim)})
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.new")
        self._seen = None
        try:
            with beside.open("w", encoding="utf-8", newline="\n") as file:
                file.write(written)
                file.flush()
                os.fsync(file.fileno())
                seen = _identity(os.fstat(file.fileno()))
            if self.path.exists():
                beside.chmod(stat.S_IMODE(self.path.stat().st_mode))
            beside.replace(self.path)
            _sync_folder(self.path.parent)
        except OSError as error:
            beside.unlink(missing_ok=True)
            self._memories = {}
            raise os_fault(error, self.path) from error
        self._seen = seen

    def _corrupt(self, error: Exception) -> StoreCorruptError:
        return StoreCorruptError(
            f"{self.path} is damaged, or not a Thymus snapshot ({type(error).__name__}). "
            "Restore it from a backup, or choose another path"
        )

    def _acquire(self) -> IO[bytes]:
        beside = self.path.with_name(f".{self.path.name}.lock")
        try:
            file = beside.open("ab")
        except OSError as error:
            raise os_fault(error, self.path) from error
        deadline = time.monotonic() + self.timeout
        while not _try_lock(file.fileno()):
            if time.monotonic() > deadline:
                file.close()
                raise locked(self.path, self.timeout)
            time.sleep(_PAUSE)
        return file

    def _release(self) -> None:
        file, self._holding = self._holding, None
        if file is not None:
            file.close()


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_ino, status.st_size, status.st_mtime_ns)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _locker() -> Callable[[int], None]:
    """The operating system's way to lock a file, at once or not at all; closing the file unlocks it."""
    if os.name == "nt":
        import msvcrt

        return lambda handle: msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    import fcntl

    return lambda handle: fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


_lock_file = _locker()


def _try_lock(handle: int) -> bool:
    try:
        _lock_file(handle)
    except OSError:
        return False
    return True
