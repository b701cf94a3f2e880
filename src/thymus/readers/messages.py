"""What a reader hands on: messages, and the problems met on the way."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from thymus.core.provenance import UNPRINTABLE, Source
from thymus.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

_CHANNELS: Final = frozenset(
    {"user", "assistant", "email", "sms", "chat", "web", "tool", "mcp", "doc", "calendar", "app", "voice"}
)
_ADDRESS = re.compile(r"[^\s@<>,;:\"()\[\]\\]{1,64}@[^\s@<>,;:\"()\[\]\\]{1,253}")
_SPAN: Final = range(1980, 2101)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message as a file holds it.

    :param source: who the file says it is from, as ``channel:identity``; only claimed.
    :param authenticated: ``None``: the file does not say, and could not be believed. ``False`` where it names the user,
        who would otherwise count as attested.
    :param observed_at: the date the message bears, with a time zone; ``None`` without a credible one.
    :param message_id: the Message-ID its sender gave, else the SHA-256 of its content: no proof of being distinct.
    :param proved: the source with what the mail's headers prove of it, where the caller named its own mail servers.
    :param reported: whether results in the name of one of those servers stand anywhere in the mail; ``None`` where none
        was named, or it is no mail.
    :param location: where it stands, the same at every reading: ``box/x.eml``, ``t.csv:row 17``, ``a.mbox:message 4``.
    """

    text: str
    source: str
    authenticated: bool | None
    observed_at: datetime | None
    message_id: str
    location: str
    proved: Source | None = None
    reported: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that could not be read, and why, in a sentence."""

    location: str
    sentence: str


Report: TypeAlias = "Callable[[Problem], None]"


def digest(*parts: str) -> str:
    """A stand-in for a missing Message-ID: SHA-256 of the parts, each with its length."""
    sha = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        sha.update(len(raw).to_bytes(8, "big") + raw)
    return sha.hexdigest()


def claimed_source(given: str, channel: str, *, trusted: bool = False) -> tuple[str, bool | None]:
    """Read a sender column: ``channel:identity``, a bare address, a number or a name on ``channel``.

    Returns the source and what may be said of its authentication. ``user`` is lowered to *not authenticated* unless the
    caller trusts the file; what is no valid source is anonymous.
    """
    given = " ".join(UNPRINTABLE.sub("", given).split())
    head = given.partition(":")[0].strip().lower()
    written = given if head in _CHANNELS else f"{channel}:{given}"
    if head not in _CHANNELS and _ADDRESS.fullmatch(given):
        written = f"email:{given}"
    try:
        source = Source.parse(written)
    except SourceError:
        return channel, None
    return source.key, False if source.names_user and not trusted else None


def parse_date(given: str) -> datetime | None:
    """Read an RFC 5322 or ISO 8601 date, or seconds since 1970; without a time zone it is taken as UTC.

    ``None`` for what is no date, and for years outside 1980 to 2100: forged or broken clocks tell nothing.
    """
    given = given.strip()[:100]
    for read in (_iso, _seconds, parsedate_to_datetime):
        try:
            found = read(given)
            when = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
            if when.astimezone(UTC).year in _SPAN:
                return when
        except (ValueError, TypeError, OverflowError, IndexError, AttributeError):
            continue
    return None


def _iso(given: str) -> datetime:
    return datetime.fromisoformat(given)


def _seconds(given: str) -> datetime:
    return datetime.fromtimestamp(float(given) / (1_000 if len(given.partition(".")[0]) > 11 else 1), UTC)
