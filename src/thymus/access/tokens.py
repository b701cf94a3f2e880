"""Bearer tokens: who may reach a memory over HTTP, as which user, and in which role.

A secret is ``thy_<id>_<random>``: the id names the token in lists and logs, the random part is 32 bytes from the
operating system. The file holds SHA-256 digests only. A slow password hash would add nothing: it makes up for what
people choose to remember, and 256 random bits cannot be guessed at any speed; it would let any stranger who sends
rubbish keep a core busy.

Every check reads the file anew, so a token that is revoked by any process stops working at once in all of them, and a
file that was deleted, or that others may write, lets nobody in. Standard library only, except that the tokens of a
memory in PostgreSQL are in its database (``token_table``), where the servers of several machines find them.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from thymus import config
from thymus.access.token_file import PATH, TokenFile
from thymus.errors import ConfigError, InputError, StoreError, StoreLockedError

if TYPE_CHECKING:
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
_log = logging.getLogger(__name__)


class Role(StrEnum):
    """What the holder of a token may do with the memory of its user.

    ``OWNER``: everything. ``REVIEWER``: read, and settle what is held back; not write, erase or export.
    ``AUDITOR``: the ledger and counts, no text.
    """

    OWNER = "owner"
    REVIEWER = "reviewer"
    AUDITOR = "auditor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is known of a token; its secret is not. Times are in UTC, to the second.

    ``last_used`` is ``USED_EVERY`` coarse.
    """

    id: str
    user: str
    name: str
    created: datetime
    tenant: str = config.DEFAULT_TENANT
    role: Role = Role.OWNER
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
            "tenant": self.tenant,
            "user": self.user,
            "role": self.role.value,
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


def open_tokens(db: str, given: str | os.PathLike[str] | None = None) -> Tokens:
    """The tokens of a memory: in the file that ``tokens_path`` says, or in the database that the memory is in.

    :raises ConfigError: where the memory is neither and nothing was given.
    """
    if not (given or os.environ.get(PATH)) and db.startswith(("postgresql://", "postgres://")):
        from thymus.access.token_table import TokenTable

        return Tokens(TokenTable(db))
    return Tokens(tokens_path(db, given))


class Book(Protocol):
    """Where rows of tokens are kept. Names are columns; times are seconds since 1970.

    Safe to use from several threads. Any method may raise ``StoreError``.
    """

    def exists(self) -> bool:
        """Whether a token was ever kept here."""
        ...

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep a token."""
        ...

    def row(self, token_id: str) -> Mapping[str, Any] | None:
        """The row of that id."""
        ...

    def rows(self) -> list[Mapping[str, Any]]:
        """All of them, the oldest first."""
        ...

    def revoke(self, token_id: str, at: int) -> None:
        """Note when it was revoked, unless it was before."""
        ...

    def use(self, token_id: str, at: int) -> None:
        """Note when it was used.

        :raises StoreLockedError: somebody else writes at this moment.
        """
        ...

    def key(self, fresh: bytes) -> bytes:
        """The key of cookies: this one, where none was kept before."""
        ...

    def close(self) -> None:
        """Release connections; closing twice is fine, and asking again opens them anew."""
        ...


class Tokens:
    """The tokens in one file or table, for any number of threads and processes. A file is made with the first token.

    :param kept: the file's path, or where else they are.
    :param clock: says what time it is, in UTC.
    :raises StoreError: (from every method) they cannot be used; the message says what would do.
    """

    def __init__(self, kept: str | os.PathLike[str] | Book, *, clock: Clock = config.now) -> None:
        self._book: Book = TokenFile(Path(kept).absolute()) if isinstance(kept, (str, os.PathLike)) else kept
        self._clock = clock
        self._noted: dict[str, datetime] = {}
        self._noting = threading.Lock()

    @property
    def path(self) -> Path:
        """The file that they are in."""
        if not isinstance(self._book, TokenFile):
            raise ConfigError("these tokens are in a database, and not in a file")
        return self._book.path

    def issue(
        self,
        user: str,
        name: str,
        expires: datetime | None = None,
        *,
        tenant: str = config.DEFAULT_TENANT,
        role: Role | str = Role.OWNER,
    ) -> tuple[Token, str]:
        """Make a token, and the secret that nobody can read again.

        :param user: whose memory it opens.
        :param name: what it is for: the machine or program that will hold it.
        :param tenant: whose user it is.
        :param role: what its holder may do there.
        :raises InputError: for a name that cannot be shown, a role that is none, or a time that is past.
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
            tenant=_shown(tenant, "a tenant"),
            user=_shown(user, "a user"),
            role=_role(role),
            name=_shown(name, "a token's name"),
            created=now,
            expires=expires,
        )
        secret = f"thy_{token.id}_{secrets.token_hex(32)}"
        self._book.add(
            {
                "id": token.id,
                "digest": _digest(secret),
                "tenant": token.tenant,
                "user": token.user,
                "role": token.role.value,
                "name": token.name,
                "created": _seconds(now),
                "expires": _seconds(token.expires),
            }
        )
        return token, secret

    def check(self, secret: str) -> Token | None:
        """The token of a secret, where it opens something now."""
        named = _SECRET.fullmatch(secret)
        if named is None:
            return None
        row = self._book.row(named[1])
        right = hmac.compare_digest(row["digest"] if row else _NOBODY, _digest(secret))
        if row is None or not right:
            return None
        return self._opening(_token(row))

    def find(self, token_id: str) -> Token | None:
        """The token of that id, where it opens something now: for whoever showed its secret before."""
        found = self.get(token_id)
        return None if found is None else self._opening(found)

    def _opening(self, token: Token) -> Token | None:
        now = self._clock()
        if token.state(now) != "active":
            return None
        self._note_use(token, now)
        return token

    def get(self, token_id: str) -> Token | None:
        """The token of that id, whether it opens anything or not."""
        if not _ID.fullmatch(token_id):
            return None
        row = self._book.row(token_id)
        return _token(row) if row else None

    def all(self) -> list[Token]:
        """Every token there is, those that open nothing any more among them; the oldest first."""
        return [_token(row) for row in self._book.rows()]

    def exist(self) -> bool:
        """Whether a token was ever issued here: from then on nobody comes in without one."""
        return self._book.exists()

    def key(self) -> bytes:
        """32 random bytes that sign the cookies of browsers, made once: the same for every process and machine."""
        return self._book.key(secrets.token_bytes(32))

    def close(self) -> None:
        """Release connections to a database; closing twice is fine."""
        self._book.close()

    def revoke(self, token_id: str) -> Token:
        """Make a token useless, at once and for good; a second time changes nothing.

        :param token_id: its id; a whole secret, which is what one has in hand after a leak, does as well.
        :raises InputError: where there is none.
        """
        bare = token_id.split("_")[1] if token_id.startswith("thy_") else token_id
        if self.get(bare) is None:
            raise InputError(f"there is no token {bare[:8]!r}: `thymus token list` gives the ids")
        self._book.revoke(bare, _seconds(self._clock()) or 0)
        row = self._book.row(bare)
        if row is None:
            raise InputError(f"the token {bare!r} went away meanwhile")
        return _token(row)

    def _note_use(self, token: Token, now: datetime) -> None:
        noted = max(filter(None, (token.last_used, self._noted.get(token.id))), default=None)
        if noted is not None and now - noted < USED_EVERY:
            return
        with self._noting:  # in turn: the threads of one process need not wait for the file's lock
            self._noted[token.id] = now
            try:
                self._book.use(token.id, _seconds(now) or 0)
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


def _role(given: Role | str) -> Role:
    try:
        return Role(given)
    except ValueError:
        raise InputError(f"a role is {', '.join(Role)}, not {str(given)[:40]!r}") from None


def _token(row: Mapping[str, Any]) -> Token:
    def moment(column: str) -> Any:
        return None if row[column] is None else datetime.fromtimestamp(row[column], UTC)

    return Token(
        id=row["id"],
        tenant=row.get("tenant", config.DEFAULT_TENANT),  # a file of version 1 knows neither
        user=row["user"],
        role=_role(row.get("role", Role.OWNER)),
        name=row["name"],
        created=moment("created"),
        expires=moment("expires"),
        revoked=moment("revoked"),
        last_used=moment("used"),
    )
