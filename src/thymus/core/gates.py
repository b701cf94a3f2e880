"""The named gates, as data over one algebra.

The first five are the baselines that the literature compares with; their constants look unsafe because they are.
``thymus`` to ``thymus-v3`` are the versions of Gupta's Thymus 0.1.0.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from thymus.core.beliefs import HELD_BACK, Status
from thymus.core.decide import Decision, Match
from thymus.core.policy import Effect, Policy, Predicate, Rule, Showing
from thymus.core.provenance import ASSISTANT, TOOLS
from thymus.core.relations import Label
from thymus.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thymus.core.claims import Claim
    from thymus.core.policy import Case, Rival


CROWD: Final = 3
"""Messages of others that say the same, from which on one more is taken for part of a flood."""


def _same_identity(case: Case) -> bool:
    """Every speaker of the claim is the one identity that owns the rival, and that identity has a name."""
    if case.rival is None or any(source.anonymous for source in case.claim.speakers):
        return False
    speakers = frozenset(source.key for source in case.claim.speakers)
    return len(speakers) == 1 and speakers == case.rival.belief.claim.origins


def _owner(case: Case) -> str:
    """Who controls all identities that speak in the claim; "" for nobody single."""
    if case.circumstances.owner is not None:
        return case.circumstances.owner
    speakers = {"" if source.anonymous else source.key for source in case.claim.speakers}
    return speakers.pop() if len(speakers) == 1 else ""


def _owner_of(rival: Rival) -> str:
    if rival.owner is not None:
        return rival.owner
    origins = rival.belief.claim.origins
    return next(iter(origins)) if len(origins) == 1 else ""


def _same_owner(case: Case) -> bool:
    return case.rival is not None and _owner(case) == _owner_of(case.rival) != ""


def _repeated(rival: Rival) -> bool:
    """Whether it says what the claim says; a judge that gave no answer may have missed that."""
    return rival.relation.label in (Label.SAME, Label.UNKNOWN)


def _flooded(case: Case) -> bool:
    """Others have said the same in ``CROWD`` messages already; whoever is less well proved does not count."""
    crowd = {
        rival.belief.claim.evidence_id
        for rival in case.rivals
        if not rival.belief.claim.from_user
        and rival.belief.claim.assurance >= case.claim.assurance
        and _repeated(rival)
    }
    return len(crowd) >= CROWD


from_user = Predicate(
    "from_user",
    "the user said it",
    "somebody other than the user had a part in it",
    lambda case: case.claim.from_user,
)
outside = (~from_user).named("outside", "an outside source had a part in it", "no outside source had a part in it")
speaks_for_user = Predicate(
    "speaks_for_user",
    "it says what the user wants or tells the assistant what to do",
    "it states a fact",
    lambda case: case.claim.speaks_for_user,
)
conflicts = Predicate(
    "conflicts",
    "it seems to contradict a memory",
    "it contradicts no memory",
    lambda case: case.rival is not None and case.rival.belief.status is Status.ACTIVE and case.rival.relation.detected,
)
confirmed = Predicate(
    "confirmed",
    "the contradiction is confirmed",
    "the contradiction is not confirmed",
    lambda case: case.rival is not None and case.rival.relation.confirmed,
)
against_user = Predicate(
    "against_user",
    "the memory is the user's own",
    "the memory is not the user's own",
    lambda case: case.rival is not None and case.rival.belief.claim.from_user,
)
same_identity = Predicate(
    "same_identity",
    "it comes from the identity that owns the memory",
    "it does not come from the identity that owns the memory",
    _same_identity,
)
authenticated = Predicate(
    "authenticated",
    "that identity is verified",
    "that identity is not verified",
    lambda case: case.claim.verified,
)
named_authority = (from_user | same_identity).named(
    "named_authority",
    "the user or the named owner of the memory says so",
    "neither the user nor the named owner of the memory says so",
)
authority = (from_user | (same_identity & authenticated)).named(
    "authority",
    "the user or the verified owner of the memory says so",
    "neither the user nor the verified owner of the memory says so",
)

same_owner = Predicate(
    "same_owner",
    "it comes from whoever owns the memory",
    "it does not come from whoever owns the memory",
    _same_owner,
)
owner_authority = (from_user | (same_owner & authenticated)).named(
    "owner_authority",
    "the user or the verified owner of the memory says so",
    "neither the user nor the verified owner of the memory says so",
)
older = Predicate(
    "older",
    "it was said before the memory",
    "it was not said before the memory",
    lambda case: case.rival is not None and case.claim.observed_at < case.rival.belief.claim.observed_at,
)
verified = (
    authenticated
    & Predicate(
        "owned",
        "it has one owner",
        "nobody single owns what it says",
        lambda case: _owner(case) != "",
    )
).named("verified", "its source is verified", "its source is not verified")
resembles_known = Predicate(
    "resembles_known",
    "its source could be taken for one that is known",
    "its source could be taken for no other that is known",
    lambda case: bool(case.circumstances.resembles),
)
high_stakes = Predicate(
    "high_stakes",
    "it would do harm if it were false",
    "it would do little harm if it were false",
    lambda case: bool(case.circumstances.stakes),
)
sibling_held = Predicate(
    "sibling_held",
    "the same message says something that is held back",
    "nothing else in the same message is held back",
    lambda case: case.circumstances.sibling_held,
)
relayed = Predicate(
    "relayed",
    "a tool or a model passes it on",
    "nobody passes it on",
    lambda case: any(source.channel in TOOLS | {ASSISTANT} for source in case.claim.speakers),
)
repeats_held = Predicate(
    "repeats_held",
    "it says what is held back already",
    "it repeats nothing that is held back",
    lambda case: case.rival is not None and case.rival.belief.status in HELD_BACK and _repeated(case.rival),
)
flooded = Predicate(
    "flooded",
    "many others have said the same",
    "few others have said the same",
    _flooded,
)

_NOT_FOR_THE_USER = Rule(name="outside-cannot-speak-for-user", effect=Effect.REJECT, when=outside & speaks_for_user)
_REPLACE = Rule(name="authority-may-replace", effect=Effect.REPLACE, when=conflicts & confirmed & authority)

UNSAFE_ALLOW_ALL: Final = Policy(
    name="allow-all",
    summary="No defence: what most memory agents ship.",
    rules=(),
    showing=Showing.PLAIN,
    unsafe=True,
)
UNSAFE_USER_ONLY: Final = Policy(
    name="user-only",
    summary="Only the user's own words become memories: safe, and no real update gets through.",
    rules=(Rule(name="only-the-user", effect=Effect.REJECT, when=outside),),
    showing=Showing.PLAIN,
    unsafe=True,
)
UNSAFE_CONFLICT_QUARANTINE: Final = Policy(
    name="conflict-quarantine",
    summary="Outside content that contradicts the user is quarantined, and nobody is told.",
    rules=(Rule(name="contradicts-the-user", effect=Effect.QUARANTINE, when=outside & conflicts & against_user),),
    showing=Showing.PLAIN,
    unsafe=True,
)
UNSAFE_LAST_WRITE_WINS: Final = Policy(
    name="last-write-wins",
    summary="The newest memory replaces what it contradicts, whoever wrote it.",
    rules=(Rule(name="newest-wins", effect=Effect.REPLACE, when=conflicts),),
    showing=Showing.PLAIN,
    unsafe=True,
)
UNSAFE_BOUNDED_OCCUPANCY: Final = Policy(
    name="bounded-occupancy",
    summary="Everything is stored; outside memories fill at most one slot of a recall.",
    rules=(),
    showing=Showing.PLAIN,
    outside_slots=1,
    unsafe=True,
)
UNSAFE_THYMUS_V1: Final = Policy(
    name="thymus",
    summary="v1: outside content adds facts but never speaks for the user; only the user or the original source, "
    "verified or not, replaces a fact; the rest is recalled as unverified.",
    rules=(
        _NOT_FOR_THE_USER,
        Rule(name="user-or-same-source-may-replace", effect=Effect.REPLACE, when=conflicts & named_authority),
        Rule(name="contradicts-another-source", effect=Effect.CONTEST, when=conflicts & ~named_authority),
    ),
    showing=Showing.LABEL,
    unsafe=True,
)
UNSAFE_THYMUS_V2: Final = Policy(
    name="thymus-v2-verified",
    summary="v1, but a source replaces its own fact only when authenticated, contested claims are withheld and "
    "disclosed, and each conflict must be confirmed before it counts.",
    rules=(
        _NOT_FOR_THE_USER,
        _REPLACE,
        Rule(name="contradicts-without-authority", effect=Effect.CONTEST, when=conflicts & confirmed & ~authority),
    ),
    showing=Showing.WITHHOLD,
    unsafe=True,
)
THYMUS_V3: Final = Policy(
    name="thymus-v3",
    summary="v2, but confirmation may only cancel a replacement, never a contest: it makes the gate more careful, "
    "never less.",
    rules=(
        _NOT_FOR_THE_USER,
        _REPLACE,
        Rule(name="contradicts-without-authority", effect=Effect.CONTEST, when=conflicts & ~authority),
    ),
    showing=Showing.WITHHOLD,
)

THYMUS_V4: Final = Policy(
    name="thymus-v4",
    summary="v3, and: authority is the owner's, by organisational domain; lookalikes of known sources, unverified "
    "high stakes, floods and what belongs to a held-back message are contested; rivals that a write missed are kept "
    "apart when a question brings them together.",
    rules=(
        _NOT_FOR_THE_USER,
        Rule(name="owner-may-replace", effect=Effect.REPLACE, when=conflicts & confirmed & owner_authority & ~older),
        Rule(name="older-than-the-memory", effect=Effect.CONTEST, when=outside & conflicts & owner_authority & older),
        Rule(name="contradicts-without-authority", effect=Effect.CONTEST, when=conflicts & ~owner_authority),
        Rule(
            name="high-stakes-from-another-address",
            effect=Effect.CONTEST,
            when=outside & conflicts & same_owner & ~same_identity & high_stakes,
        ),
        Rule(name="lookalike", effect=Effect.CONTEST, when=outside & resembles_known),
        Rule(name="unverified-high-stakes", effect=Effect.CONTEST, when=outside & ~verified & high_stakes),
        Rule(name="repeats-what-is-held-back", effect=Effect.CONTEST, when=relayed & repeats_held),
        Rule(name="flood", effect=Effect.CONTEST, when=outside & ~verified & flooded),
        Rule(name="sibling-held-back", effect=Effect.CONTEST, when=outside & sibling_held),
    ),
    showing=Showing.WITHHOLD,
    adjudicates=True,
    tells_orders=True,
)

GATES: Final[Mapping[str, Policy]] = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            UNSAFE_ALLOW_ALL,
            UNSAFE_USER_ONLY,
            UNSAFE_CONFLICT_QUARANTINE,
            UNSAFE_LAST_WRITE_WINS,
            UNSAFE_BOUNDED_OCCUPANCY,
            UNSAFE_THYMUS_V1,
            UNSAFE_THYMUS_V2,
            THYMUS_V3,
            THYMUS_V4,
        )
    }
)
DEFAULT_GATE: Final = THYMUS_V4.name


_BUSY = Predicate(
    "busy",
    "others kept writing to this scope, so its rivals could not be read at rest",
    "the scope was at rest",
    lambda _: True,
)


def too_busy(claim: Claim, decision: Decision) -> Decision:
    """The careful way out where a scope never stood still: outside claims are contested, and nobody replaces."""
    effect = max(decision.effect, Effect.ADMIT if claim.from_user else Effect.CONTEST)
    if effect is decision.effect:
        return decision
    return Decision(
        effect=effect, matches=(Match(rule=Rule(name="scope-too-busy", effect=effect, when=_BUSY), rival=None),)
    )


_UNVOUCHED: Final = Predicate(
    "unvouched",
    "the application has nobody who vouches for it",
    "somebody vouches for it",
    lambda _: True,
)


def held(decision: Decision) -> Decision:
    """What the application asked to be held back: kept from the model until the user settles it, whatever the gate."""
    rule = Rule(name="nobody-vouches-for-it", effect=Effect.QUARANTINE, when=_UNVOUCHED)
    against = decision.contests or decision.supersedes
    return Decision(effect=rule.effect, matches=(Match(rule=rule, rival=None),), contests=against)


def get_gate(gate: str | Policy) -> Policy:
    """Return the policy of that name, or the policy itself.

    :raises PolicyError: where no gate has that name; the message lists those that exist.
    """
    if isinstance(gate, Policy):
        return gate
    try:
        return GATES[gate]
    except KeyError:
        raise PolicyError(f"there is no gate {gate!r}: use one of {', '.join(GATES)}, or pass a Policy") from None
