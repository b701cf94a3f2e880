"""A client's files on the disk: read to the letter, and replaced in one step, never without a copy beside it."""

from __future__ import annotations

import codecs
import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from thymus.install.refusals import InstallError

LARGEST: Final = 64_000_000
"""Bytes of a configuration; a larger file is none."""
MOST_COPIES: Final = 50
"""Copies that are looked at, the newest first."""
_MARK: Final = ".thymus-"
_NEW_MODE: Final = 0o600
"""Configurations hold keys: what is new is for its owner alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A configuration as it was read.

    :param path: the file itself, behind any links.
    :param raw: its bytes, ``None`` where there is none yet.
    """

    path: Path
    raw: bytes | None

    @property
    def text(self) -> str:
        """What it says, without a byte order mark.

        :raises InstallError: where it is not in UTF-8.
        """
        return _decode(self.raw or b"", self.path)

    def encode(self, text: str) -> bytes:
        """A new text in the file's form: with a byte order mark if it had one.

        :raises InstallError: for a path that UTF-8 cannot write.
        """
        mark = codecs.BOM_UTF8 if (self.raw or b"").startswith(codecs.BOM_UTF8) else b""
        try:
            return mark + text.encode()
        except UnicodeEncodeError:
            raise InstallError("a path of this installation cannot be written in UTF-8: install it elsewhere") from None


def read(path: Path) -> File:
    """Read a configuration, or find that there is none.

    :raises InstallError: where something is in the way.
    """
    real = Path(os.path.realpath(path))
    try:
        found = real.stat()
    except FileNotFoundError:
        return File(path=real, raw=None)
    except OSError as error:
        raise InstallError(f"{path} cannot be read: {_why(error)}", path=path) from None
    if not stat.S_ISREG(found.st_mode):
        raise InstallError(f"{path} is no file: move away what is there", path=path)
    if found.st_size > LARGEST:
        raise InstallError(f"{path} is too large to be a configuration: look at what it is", path=path)
    try:
        return File(path=real, raw=real.read_bytes())
    except OSError as error:
        raise InstallError(f"{path} cannot be read: {_why(error)}. Give yourself the right to", path=path) from None


def replace(file: File, new: bytes | None, *, now: datetime | None) -> Path | None:
    """Put new bytes in the place of what was read, or remove the file; the path of the copy that was made.

    :param now: what the copy is named after; ``None`` for no copy.
    :raises InstallError: where it changed since it was read, or cannot be written; it is then as it was.
    """
    path = file.path
    if read(path).raw != file.raw:
        raise InstallError(f"{path} was changed by another program just now: run the command again", path=path)
    if path.exists() and not path.stat().st_mode & 0o200:
        raise InstallError(f"{path} is read-only, on purpose perhaps: make it writable, and run it again", path=path)
    copy: Path | None = None
    try:
        copy = _copy(path, file.raw, now) if file.raw is not None and now is not None else None
        if new is None:
            path.unlink(missing_ok=True)
        else:
            _put(path, new)
    except OSError as error:
        if copy is not None:
            copy.unlink(missing_ok=True)
        remedy = "give yourself the right to, or close the program that holds it open"
        raise InstallError(f"{path} cannot be written: {_why(error)}. {remedy}", path=path) from None
    return copy


def copies(path: Path) -> Iterator[tuple[Path, str]]:
    """The copies that were made of a file, the newest first, with what they say; those that cannot be read are not."""
    found = [one for one in path.parent.glob(f"*{_MARK}*.bak") if one.name.startswith(path.name + _MARK)]
    for one in sorted(found, key=lambda one: (len(one.name), one.name), reverse=True)[:MOST_COPIES]:
        with contextlib.suppress(InstallError):
            yield one, read(one).text


def _copy(path: Path, raw: bytes, now: datetime) -> Path:
    stamp, mode = now.strftime("%Y%m%dT%H%M%S"), stat.S_IMODE(path.stat().st_mode)
    for number in range(1, 1000):
        copy = path.with_name(f"{path.name}{_MARK}{stamp}-{number:03}.bak")
        with contextlib.suppress(FileExistsError):
            _write_new(copy, raw, mode)
            return copy
    raise FileExistsError(f"a thousand copies of {path.name} from one second")


def _put(path: Path, raw: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    before = path.stat() if path.exists() else None
    mode = stat.S_IMODE(before.st_mode) if before else _NEW_MODE
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        _write_new(beside, raw, mode)
        if before is not None and hasattr(os, "chown"):
            with contextlib.suppress(OSError):  # run by root, it stays its owner's
                os.chown(beside, before.st_uid, before.st_gid)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _write_new(path: Path, raw: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    with os.fdopen(handle, "wb") as out:
        if hasattr(os, "fchmod"):
            os.fchmod(handle, mode)
        out.write(raw)
        out.flush()
        os.fsync(handle)


def _decode(raw: bytes, path: Path) -> str:
    try:
        return raw.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        raise InstallError(f"{path} is not in UTF-8: save it so in an editor, and run it again", path=path) from None


def _why(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
