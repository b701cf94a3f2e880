"""Answers kept on disk: one SQLite file that several threads and processes may use at once.

Kept are the answers and what they cost, under the digest of the question; the question itself is not.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from thymus.llm.model import Completion, ModelError, Usage

FILE: Final = "answers.db"
MOST_BYTES: Final = 512 * 1024 * 1024
_WAIT_S: Final = 30.0
_SHARE_DROPPED: Final = 0.1

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS answers (
  at INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE, model TEXT NOT NULL, prompt_version TEXT NOT NULL, repeat INTEGER NOT NULL,
  text TEXT NOT NULL, refusal TEXT NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, usd REAL
)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What an answer is listed under, beside its key: for those who look into the file."""

    model: str
    prompt_version: str
    repeat: int


class Cache:
    """A folder of answers.

    :param folder: made where it is missing.
    :param most_bytes: about how large the file may grow; the oldest tenth goes first.
    :param read_only: never write, and take an absent file for an empty one.
    :raises ModelError: where the file cannot be used.
    """

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES, read_only: bool = False) -> None:
        self.path = folder / FILE
        self._most_bytes, self._read_only = most_bytes, read_only
        self._lock = threading.Lock()
        self._opened: tuple[int, sqlite3.Connection] | None = None

    def get(self, key: str) -> Completion | None:
        """The answer of that key, or ``None``."""
        if self._read_only and not self.path.exists():
            return None
        with self._lock:
            try:
                row = (
                    self._connection()
                    .execute("SELECT text, refusal, tokens_in, tokens_out, usd FROM answers WHERE key = ?", (key,))
                    .fetchone()
                )
            except (sqlite3.Error, OSError) as error:
                raise self._unusable(error) from None
        if row is None:
            return None
        text, refusal, tokens_in, tokens_out, usd = row
        return Completion(text=text, refusal=refusal, usage=Usage(tokens_in=tokens_in, tokens_out=tokens_out, usd=usd))

    def put(self, key: str, completion: Completion, label: Label) -> None:
        """Keep an answer; the first one of a key stays, so that all who asked at once go on with the same."""
        if self._read_only:
            return
        usage = completion.usage
        row = (key, label.model, label.prompt_version, label.repeat, completion.text, completion.refusal)
        with self._lock:
            try:
                connection = self._connection()
                connection.execute(
                    "INSERT OR IGNORE INTO answers (key, model, prompt_version, repeat, text, refusal, tokens_in, "
                    "tokens_out, usd) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (*row, usage.tokens_in, usage.tokens_out, usage.usd),
                )
                self._shrink(connection)
            except (sqlite3.Error, OSError) as error:
                raise self._unusable(error) from None

    def count(self) -> int:
        """How many answers there are."""
        if self._read_only and not self.path.exists():
            return 0
        with self._lock:
            return int(self._connection().execute("SELECT count(*) FROM answers").fetchone()[0])

    def close(self) -> None:
        """Close the file; closing twice is fine, and asking opens it again."""
        with self._lock:
            if self._opened:
                self._opened[1].close()
                self._opened = None

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None or self._opened[0] != os.getpid():  # a connection must not be used across a fork
            self._opened = (os.getpid(), self._open())
        return self._opened[1]

    def _open(self) -> sqlite3.Connection:
        if self._read_only:
            return self._open_read_only()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))  # answers quote messages
        connection = sqlite3.connect(self.path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(_TABLE)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _open_read_only(self) -> sqlite3.Connection:
        where = self.path.absolute().as_uri()
        connection = sqlite3.connect(f"{where}?mode=ro", uri=True, timeout=_WAIT_S, check_same_thread=False)
        try:
            connection.execute("SELECT 1 FROM answers LIMIT 1")
        except sqlite3.OperationalError:  # a folder that cannot be written to has no room for the files of WAL
            connection.close()
            connection = sqlite3.connect(f"{where}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        return connection

    def _shrink(self, connection: sqlite3.Connection) -> None:
        def pragma(name: str) -> int:
            return int(connection.execute(f"PRAGMA {name}").fetchone()[0])

        if (pragma("page_count") - pragma("freelist_count")) * pragma("page_size") <= self._most_bytes:
            return
        connection.execute(
            "DELETE FROM answers WHERE at <= (SELECT min(at) + (max(at) - min(at)) * ? FROM answers)",
            (_SHARE_DROPPED,),
        )

    def _unusable(self, error: Exception) -> ModelError:
        return ModelError(f"the cache {self.path} cannot be used ({error}): free the disk, delete it, or name another")
