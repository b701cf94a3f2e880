"""Who said it, how it arrived, and how much of that is proved.

Authority in Thymus rests on provenance alone, never on wording or on how often something is said. A claim that was
made from other claims (a summary, an echoing tool) keeps the sources of all of them, and every test of authority
must hold for each: the weakest input decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, Self

from thymus.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable

USER: Final = "user"
ASSISTANT: Final = "assistant"
TOOL: Final = "tool"
MCP: Final = "mcp"
"""A tool of an MCP server, as ``mcp:server/tool``, by the name that was read off the wire."""
TOOLS: Final = frozenset({TOOL, MCP})

_CHANNEL = re.compile(r"[a-z][a-z0-9_-]{0,31}")
# Controls, bidi marks, zero-width and filler characters, line separators, variation selectors and tags (which smuggle
# ASCII unseen): none can be part of a name that is compared by eye.
UNPRINTABLE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\u034f\u17b4\u17b5\u3164\uffa0\ufe00-\ufe0f\U000e0000-\U000e0fff]"
)
_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_LONGEST_IDENTITY = 1_000
_LONGEST_NAME = 200
_LONGEST_PROOF = 300


class Assurance(IntEnum):
    """How the identity of a source is known, weakest first.

    ``REPORTED``: a model says so. ``CLAIMED``: the message says so (a From header nobody verified).
    ``AUTHENTICATED``: verified as that identity (aligned DMARC, a signed-in account): who, never that it is true.
    ``ATTESTED``: the host application itself saw the user say it.
    """

    REPORTED = 0
    CLAIMED = 1
    AUTHENTICATED = 2
    ATTESTED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One asserter: a channel, an identity on it, and the assurance that it is that identity.

    Written ``channel:identity``: ``user`` (the user of the scope), ``user:ravi`` (another person),
    ``email:a@b.example``, ``tool:calendar``, ``web:shop.example``. An empty identity is anonymous: two anonymous
    sources are never taken for the same one.

    :param name: the display name that the channel gave (``Asha Rao`` in a From header): claimed, never an identity, and
        no part of what makes two sources equal.
    :param proof: in sentences, what was proved about the identity and by whom, or why nothing was.
    """

    channel: str
    identity: str = ""
    assurance: Assurance = Assurance.CLAIMED
    name: str = field(default="", compare=False)
    proof: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if not _CHANNEL.fullmatch(self.channel):
            raise SourceError(
                f"{self.channel[:40]!r} is not a channel: use a short lower-case word such as user, email, sms, chat, "
                "web or tool, then a colon and the identity (email:a@b.example)"
            )
        if len(self.identity) > _LONGEST_IDENTITY:
            raise SourceError(f"an identity has at most {_LONGEST_IDENTITY} characters: pass the bare address or name")
        if UNPRINTABLE.search(self.identity):
            raise SourceError(
                f"the identity {self.identity[:80]!r} holds control or invisible characters: "
                "pass the bare address or name"
            )
        object.__setattr__(self, "identity", self.identity.translate(_ASCII_LOWER))
        object.__setattr__(self, "name", _clean(self.name, _LONGEST_NAME))
        object.__setattr__(self, "proof", tuple(_clean(said, _LONGEST_PROOF) for said in self.proof))
        if self.channel == ASSISTANT and self.assurance > Assurance.REPORTED:
            raise SourceError("what a model says is REPORTED at most: pass assurance=Assurance.REPORTED")
        if self.assurance is Assurance.ATTESTED and not self.names_user:
            raise SourceError("only the user of the scope can be ATTESTED: an outside source is at most AUTHENTICATED")

    @classmethod
    def user(cls) -> Self:
        """The user of the scope, as seen by the host application."""
        return cls(channel=USER, assurance=Assurance.ATTESTED)

    @classmethod
    def from_email(cls, raw: bytes, *, authserv_id: str | Iterable[str] = (), **options: Any) -> Source:
        """Read who a mail is from, and what its headers prove of that.

        :param raw: the whole message as it arrived, RFC 5322.
        :param authserv_id: what your own server calls itself in the Authentication-Results that it adds (RFC 8601);
            without it nothing counts as proved.
        :param options: see ``thymus.sources.email.read_source``: own DKIM verification, trusted ARC sealers.
        :returns: a source of channel ``email``, AUTHENTICATED only where the domain of the one From address is proved;
            ``proof`` says what was proved and why, or why not.
        :raises SourceError: for an option that does not exist, or is of the wrong type.
        """
        from thymus.sources.email import read_source

        known = [name for name in read_source.__kwdefaults__ or {} if name != "authserv_id"]
        if unknown := [name for name in options if name not in known]:
            raise SourceError(f"from_email has no option {unknown[0]!r}: use {', '.join(known)} or authserv_id")
        return read_source(raw, authserv_id=authserv_id, **options)

    @classmethod
    def parse(cls, source: str | Source, *, authenticated: bool | None = None, user_id: str | None = None) -> Source:
        """Read ``channel:identity``.

        :param authenticated: what the host verified. ``None`` leaves the default of the channel: the user is ATTESTED,
            a model (``assistant``) REPORTED, everybody else CLAIMED. ``False`` lowers even ``user`` to CLAIMED: text
            that only says it is the user's. ``True`` raises nobody above AUTHENTICATED, and a model not at all.
        :param user_id: the user of the scope; ``user:<user_id>`` is then the user where authenticated, and otherwise
            somebody who only goes by that name.
        :raises SourceError: where the string names no channel, or its identity cannot be shown safely.
        """
        if authenticated is not None and not isinstance(authenticated, bool):
            raise SourceError(
                f"authenticated is True, False or None, not {authenticated!r}: compare a header's result first"
            )
        if isinstance(source, Source):
            return source if authenticated is None else _assure(source, authenticated)
        if not isinstance(source, str):
            raise SourceError(
                f"a source is a string such as 'email:a@b.example' or a Source, not {type(source).__name__}"
            )
        channel, colon, identity = source.strip().partition(":")
        channel, identity = channel.strip().translate(_ASCII_LOWER), identity.strip().translate(_ASCII_LOWER)
        if channel == USER and colon and not identity:
            raise SourceError(
                "'user:' names nobody: use 'user' for the user of the memory, 'user:ravi' for another person"
            )
        if channel == USER and user_id is not None and identity == user_id.translate(_ASCII_LOWER):
            identity, authenticated = "", authenticated is True  # a name alone could be anybody's who chose it
        lowest = Assurance.REPORTED if channel == ASSISTANT else Assurance.CLAIMED
        found = cls(channel=channel, identity=identity, assurance=lowest)
        return _assure(found, found.names_user if authenticated is None else authenticated)

    @property
    def names_user(self) -> bool:
        """Whether it names the user of the scope; ``is_user`` says whether that is also attested."""
        return self.channel == USER and not self.identity

    @property
    def is_user(self) -> bool:
        """Whether the host application itself saw the user say it."""
        return self.names_user and self.assurance is Assurance.ATTESTED

    @property
    def authenticated(self) -> bool:
        """Whether it is verified as the identity it names."""
        return self.assurance >= Assurance.AUTHENTICATED

    @property
    def key(self) -> str:
        """The identity to compare by, ``channel:identity``, without the assurance."""
        return f"{self.channel}:{self.identity}" if self.identity else self.channel

    @property
    def anonymous(self) -> bool:
        """Whether nothing says which of the many on this channel it is."""
        return not self.identity and not self.names_user

    def __str__(self) -> str:
        return self.key


def _clean(text: str, longest: int) -> str:
    return " ".join(UNPRINTABLE.sub("", text).split())[:longest]


def _assure(source: Source, authenticated: bool) -> Source:
    if source.channel == ASSISTANT:
        return replace(source, assurance=Assurance.REPORTED)
    if not authenticated:
        return replace(source, assurance=min(source.assurance, Assurance.CLAIMED))
    return replace(source, assurance=Assurance.ATTESTED if source.names_user else Assurance.AUTHENTICATED)


def lineage_of(inputs: Iterable[tuple[Source, tuple[Source, ...]]]) -> tuple[Source, ...]:
    """Flatten the sources (and their own lineages) that something was derived from, each once, in a fixed order.

    Order and repetition carry no meaning (G8), so both are removed.
    """
    found = {source for direct, inherited in inputs for source in (direct, *inherited)}
    return tuple(sorted(found, key=lambda source: (source.key, source.assurance)))
