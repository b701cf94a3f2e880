"""What an attack consists of: steps, plays, scenarios, and the register of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from dev_eval.attacks.worlds import EVERYDAY, World
from thymus import Source

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
ATTACK = START + timedelta(days=14)


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A message.

    :param derived_from: what the host declares that it was made from.
    :param at: the date that it bears; ``arrives`` where it comes at another time.
    :param message_id: what the channel calls it, where the host passes that on.
    """

    text: str
    source: Source
    derived_from: tuple[Source, ...] = ()
    at: datetime | None = None
    arrives: datetime | None = None
    message_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoke:
    """The user revokes a source."""

    source: Source
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandBack:
    """What a recall shows is handed back to the memory, as by a tool or a model that stores its prompt."""

    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class SayYes:
    """The user says yes to every claim in the notice, unless it shows one of these: the false value, a warning."""

    unless: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InTurn:
    """Messages within one turn of an assistant, of which the host keeps account."""

    messages: tuple[Say, ...]


Step = Say | Revoke | HandBack | SayYes | InTurn
Breach = Callable[[str], bool]
"""Whether a context or a notice shows what no sender may make it show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One attack in one world.

    :param setup: what is known before; ``then`` is what happens after the attack, and happens without it, too.
    :param bad: how the value that the attacker wants believed is recognised. Whatever the context says about it, the
        worst reader believes it.
    :param true: how the value that the attack must not take away is recognised.
    :param told: whether the notice is a good enough place for the true value (it never had authority for more).
    :param real: the rightful sender does the same; ``real_values`` is how what it says is recognised.
    :param breach: for an attack on the wording of what is shown, in place of a value.
    """

    setup: tuple[Step, ...]
    attack: tuple[Step, ...]
    question: str
    then: tuple[Step, ...] = ()
    bad: tuple[str, ...] = ()
    true: tuple[str, ...] = ()
    told: bool = False
    real: tuple[Step, ...] = ()
    real_values: tuple[str, ...] = ()
    breach: Breach | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """An attack, for all worlds that it makes sense in (``None`` for the others)."""

    id: str
    says: str
    play: Callable[[World], Play | None] = field(repr=False)


SCENARIOS: dict[str, Scenario] = {}
"""All of them, by name, in the order in which they are told."""


def scenario(id_: str, says: str) -> Callable[[Callable[[World], Play | None]], Callable[[World], Play | None]]:
    """Register a function from a world to a play."""

    def register(play: Callable[[World], Play | None]) -> Callable[[World], Play | None]:
        SCENARIOS[id_] = Scenario(id=id_, says=says, play=play)
        return play

    return register


# Who speaks

USER = Source.user()
STRANGERS = tuple(
    f"{local}@{domain}.example"
    for local, domain in (
        ("mira.holt", "quietpost"),
        ("office", "northgatehub"),
        ("j.okafor", "tallpines"),
        ("updates", "citydesk24"),
        ("help", "homeandhearth"),
        ("team", "clearnotice"),
        ("reply", "dayplanner"),
        ("hello", "greylark"),
        ("records", "oldmillsupport"),
        ("info", "ferncastle"),
    )
)
"""Ten identities in one hand, each at a domain of its own."""


def verified(address: str) -> Source:
    """A mail sender whose address was verified: as that address, whoever it belongs to."""
    return Source.parse(f"email:{address}", authenticated=True)


def claimed(address: str) -> Source:
    """A mail sender of whom nothing is proved."""
    return Source.parse(f"email:{address}", authenticated=False)


def owner(world: World) -> Source:
    """The rightful source, verified."""
    return verified(world.owner["address"])


def attacker(world: World) -> Source:
    """The attacker under an address of its own, verified as that."""
    return verified(world.attacker["address"])


# What is known before

_EVERYDAY = tuple(
    Say(text=text, source=Source.parse(source, authenticated=None if source == "user" else True))
    for source, text in EVERYDAY
)


def nobody_said(_: World) -> tuple[Step, ...]:
    """A memory without the fact in question."""
    return _EVERYDAY


def user_said(world: World) -> tuple[Step, ...]:
    """The fact as the user told it."""
    return (*_EVERYDAY, Say(text=world.fact, source=USER))


def owner_said(world: World) -> tuple[Step, ...]:
    """The fact as its rightful source told it, verified."""
    return (*_EVERYDAY, Say(text=world.owner["says"], source=owner(world)))


def each(texts: Iterable[str], sources: Iterable[Source], *, apart: timedelta = timedelta(hours=2)) -> tuple[Say, ...]:
    """One message of each, in order, at intervals."""
    return tuple(
        Say(text=text, source=source, at=ATTACK + number * apart)
        for number, (text, source) in enumerate(zip(texts, sources, strict=False))
    )
