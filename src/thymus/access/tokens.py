"""Bearer tokens: who may reach a memory over HTTP, and as which user.

A secret is ``thy_<id>_<random>``: the id names the token in lists and logs, the random part is 32 bytes from the
operating system. The file holds SHA-256 digests only. A slow password hash would add nothing: it makes up for what
people choose to remember, and 256 random bits cannot be guessed at any speed; it would let any stranger who sends
rubbish keep a core busy.

Every check reads the file anew, so a token that is revoked by any process stops working at once in all of them, and a
file that was deleted, or that others may write, lets nobody in. Standard library only.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from thymus import config
from thymus.access.token_file import PATH, TokenFile
from thymus.errors import ConfigError, InputError, StoreError, StoreLockedError

if TYPE_CHECKING:
    import sqlite3

    from thymus.ports import Clock

SUFFIX: Final = ".tokens"
"""What the tokens of ``memory.db`` have after its name."""
USED_EVERY: Final = timedelta(minutes=10)
"""How fine ``last_used`` is: a token in use is noted this often, so that reading does not mean writing."""
LONGEST_NAME: Final = 200

State = Literal["active", "expired", "revoked"]

_ID: Final = re.compile(r"[a-z2-7]{8}")
_SECRET: Final = re.compile(r"thy_([a-z2-7]{8})_[0-9a-f]{64}")
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz234567"
_NOBODY: Final = bytes(32)
"""Compared where no token has the id, so that the answer takes as long."""
_NOTE_WAIT_S: Final = 0.2
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is known of a token; its secret is not. Times are in UTC, to the second.

    ``last_used`` is ``USED_EVERY`` coarse.
    """

    id: str
    user: str
    name: str
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    last_used: datetime | None = None

    def state(self, now: datetime) -> State:
        """Whether it opens anything at that moment."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "active"

    def to_dict(self, now: datetime) -> dict[str, str | None]:
        """It in JSON's types, with its state at that moment."""
        return {
            "id": self.id,
            "user": self.user,
            "name": self.name,
            "state": self.state(now),
            "created": self.created.isoformat(),
            "expires": self.expires.isoformat() if self.expires else None,
            "revoked": self.revoked.isoformat() if self.revoked else None,
            "last_used": self.last_used.isoformat() if self.last_used else None,
        }


def tokens_path(db: str, given: str | os.PathLike[str] | None = None) -> Path:
    """Where the tokens of a memory are: as given, as ``THYMUS_TOKENS`` says, or beside the memory's file.

    :raises ConfigError: where the memory is no file and nothing was given.
    """
    if named := given or os.environ.get(PATH):
        return Path(named)
    if db == config.IN_MEMORY or "://" in db:
        raise ConfigError(f"the tokens of {db} have no file to stand beside: name theirs with --tokens or {PATH}")
    return Path(db + SUFFIX)


class Tokens:
    """The tokens in one file, for any number of threads and processes. The file is made with the first token.

    :param clock: says what time it is, in UTC.
    :raises StoreError: (from every method) the file cannot be used; the message says what would do.
    """

    def __init__(self, path: str | os.PathLike[str], *, clock: Clock = config.now) -> None:
        self.path = Path(path).absolute()
        self._file = TokenFile(self.path)
        self._clock = clock
        self._noted: dict[str, datetime] = {}
        self._noting = threading.Lock()

    def issue(self, user: str, name: str, expires: datetime | None = None) -> tuple[Token, str]:
        """Make a token, and the secret that nobody can read again.

        :param user: whose memory it opens.
        :param name: what it is for: the machine or program that will hold it.
        :raises InputError: for a name that cannot be shown, or a time that is past.
        """
        now = self._clock().replace(microsecond=0)
        if expires is not None:
            expires = (
                (expires if expires.tzinfo else expires.replace(tzinfo=UTC)).astimezone(UTC).replace(microsecond=0)
            )
            if expires <= now:
                raise InputError(f"a token that expires at {expires.isoformat()} opens nothing: give a time to come")
        token = Token(
            id="".join(secrets.choice(_ALPHABET) for _ in range(8)),
            user=_shown(user, "a user"),
            name=_shown(name, "a token's name"),
            created=now,
            expires=expires,
        )
        secret = f"thy_{token.id}_{secrets.token_hex(32)}"
        self._file.make()
        with self._file.writing() as connection:
            connection.execute(
                "INSERT INTO tokens (id, digest, user, name, created, expires) VALUES (?, ?, ?, ?, ?, ?)",
                (token.id, _digest(secret), token.user, token.name, _seconds(now), _seconds(token.expires)),
            )
        return token, secret

    def check(self, secret: str) -> Token | None:
        """The token of a secret, where it opens something now."""
        named = _SECRET.fullmatch(secret)
        if named is None:
            return None
        row = None
        with self._file.reading() as connection:
            if connection is not None:
                row = connection.execute("SELECT * FROM tokens WHERE id = ?", (named[1],)).fetchone()
        right = hmac.compare_digest(row["digest"] if row else _NOBODY, _digest(secret))
        if row is None or not right:
            return None
        token, now = _token(row), self._clock()
        if token.state(now) != "active":
            return None
        self._note_use(token, now)
        return token

    def get(self, token_id: str) -> Token | None:
        """The token of that id."""
        if not _ID.fullmatch(token_id):
            return None
        with self._file.reading() as connection:
            row = connection and connection.execute("SELECT * FROM tokens WHERE id = ?", (token_id,)).fetchone()
        return _token(row) if row else None

    def all(self) -> list[Token]:
        """Every token there is, those that open nothing any more among them; the oldest first."""
        with self._file.reading() as connection:
            rows = connection.execute("SELECT * FROM tokens ORDER BY rowid").fetchall() if connection else []
        return [_token(row) for row in rows]

    def exist(self) -> bool:
        """Whether a token was ever issued here: from then on nobody comes in without one."""
        return self._file.exists()

    def revoke(self, token_id: str) -> Token:
        """Make a token useless, at once and for good; a second time changes nothing.

        :param token_id: its id; a whole secret, which is what one has in hand after a leak, does as well.
        :raises InputError: where there is none.
        """
        bare = token_id.split("_")[1] if token_id.startswith("thy_") else token_id
        if self.get(bare) is None:
            raise InputError(f"there is no token {bare[:8]!r}: `thymus token list` gives the ids")
        with self._file.writing() as connection:
            connection.execute(
                "UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE id = ?", (_seconds(self._clock()), bare)
            )
            return _token(connection.execute("SELECT * FROM tokens WHERE id = ?", (bare,)).fetchone())

    def _note_use(self, token: Token, now: datetime) -> None:
        noted = max(filter(None, (token.last_used, self._noted.get(token.id))), default=None)
        if noted is not None and now - noted < USED_EVERY:
            return
        with self._noting:  # in turn: the threads of one process need not wait for the file's lock
            self._noted[token.id] = now
            try:
                with self._file.writing(wait_s=_NOTE_WAIT_S) as connection:
                    connection.execute("UPDATE tokens SET used = ? WHERE id = ?", (_seconds(now), token.id))
            except StoreLockedError:
                _log.info("when token %s was last used is noted the next time: another process writes", token.id)
            except StoreError as error:  # a full disk locks nobody out
                _log.warning("when token %s was last used could not be noted: %s", token.id, error)


def _shown(given: object, what: str) -> str:
    """A name that lists and logs can show as it is; the white space around it is dropped, as a guard drops it."""
    name = given.strip() if isinstance(given, str) else ""
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise InputError(f"{what} is 1 to {LONGEST_NAME} characters, each of them visible")
    return name


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _seconds(at: datetime | None) -> int | None:
    return None if at is None else int(at.timestamp())


def _token(row: sqlite3.Row) -> Token:
    def moment(column: str) -> Any:
        return None if row[column] is None else datetime.fromtimestamp(row[column], UTC)

    return Token(
        id=row["id"],
        user=row["user"],
        name=row["name"],
        created=moment("created"),
        expires=moment("expires"),
        revoked=moment("revoked"),
        last_used=moment("used"),
    )
