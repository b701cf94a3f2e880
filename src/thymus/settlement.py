"""From claims to a committed decision: find rivals, judge, decide, commit.

Messages are settled one after the other, because each may depend on the one before. The judge never runs inside a
transaction; a scope that moved on meanwhile is read and decided again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import random
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final

from thymus.circumstances import circumstances, owner_of
from thymus.core.beliefs import LIVE, Act, Belief, Cause, Change, Edge, Revision, Status, birth, born
from thymus.core.claims import Claim, Evidence, Scope, fold
from thymus.core.decide import Decision, decide
from thymus.core.disclose import Memory
from thymus.core.gates import held, too_busy
from thymus.core.policy import Circumstances, Effect, Policy, Rival
from thymus.core.provenance import Assurance
from thymus.core.relations import REPEATS, STATED, Label, Relation
from thymus.errors import StaleVersionError
from thymus.fallbacks import fell_back, listening
from thymus.intake import Draft, Message, Parts, Prepared
from thymus.ports import Judge, Neighbour, Probe, Statement, Store, Vector
from thymus.records import FALLBACKS, Outcome, Written

_log = logging.getLogger("thymus")

RIVALS: Final = 4
"""How many rivals a stratum gives by meaning, and how many by shared words."""
ATTEMPTS: Final = 12
"""How often a write is decided again because another writer was faster, before it goes the careful way."""
_PAUSE: Final = 0.004

_STANDING: Final = {
    Status.ACTIVE: Outcome.ADMITTED,
    Status.CONTESTED: Outcome.CONTESTED,
    Status.QUARANTINED: Outcome.QUARANTINED,
}


def settle(parts: Parts, policy: Policy, scope: Scope, prepared: Prepared) -> Written:
    """Decide on each claim of a message and commit all of it in one transaction."""
    with listening(prepared.heard) as heard:
        written = _settle(parts, policy, scope, prepared)
    told = tuple(dict.fromkeys(str(one) for one in heard.fallbacks))
    return replace(written, hazards=prepared.hazards, fallbacks=told)


def foresee(parts: Parts, scope: Scope, prepared: Prepared, *, crowded: bool = False) -> None:
    """Have the judge answer what settling the message would ask it now, for a judge that remembers what it answered.

    Settling holds up other writers, and a language model takes seconds. So it is asked before: what is then still to be
    asked is what others bring in meanwhile.

    :param crowded: other messages are foreseen at the same time.
    """
    if not prepared.drafts or prepared.heard.fallbacks:  # else the model has just failed
        return
    _, found, _ = _near(parts.store, scope, prepared.drafts)
    prepared.heard.crowded = crowded
    with listening(prepared.heard):
        _relate(parts.judge, prepared.drafts, found)
    prepared.heard.crowded = False


def _settle(parts: Parts, policy: Policy, scope: Scope, prepared: Prepared) -> Written:
    if not prepared.drafts:
        return Written(effect=Outcome.REJECTED, reasons=("no-claim",))
    for attempt in range(ATTEMPTS + 1):
        last = attempt == ATTEMPTS
        if attempt:
            time.sleep(random.uniform(0, _PAUSE * attempt))  # noqa: S311  (spreads writers, guards nothing)
        # Each time: a client whose connection was lost may have handed the same message to a process that was faster.
        evidence, known = _evidence(parts.store, scope, prepared)
        if known is not None:
            return _already_known(known)
        proposal = _propose(parts, policy, scope, prepared, evidence, busy=last)
        stood_in = "; ".join(dict.fromkeys(one.what for one in prepared.heard.fallbacks))
        note = {"gate": policy.name} | ({FALLBACKS: stood_in} if stood_in else {})
        revision = proposal.revision(scope, evidence, prepared, note)
        try:
            parts.store.commit(revision, expecting=None if last else proposal.version)
        except StaleVersionError:
            if last:
                raise
            continue
        return proposal.written()
    raise AssertionError("unreachable: the last attempt returns or raises")


def _evidence(store: Store, scope: Scope, prepared: Prepared) -> tuple[Evidence, list[Belief] | None]:
    """The evidence with its id, and what this same message said, if it has come before (G13).

    A message is what its speakers, text, time and channel's own id make it. The user may say the same words again
    after they were superseded ("I live in Oslo", for the second time): that is a new message. From outside it is a
    replay, and changes nothing.
    """
    message = prepared.message
    for again in count():
        evidence = Evidence(
            id=_digest(
                "e",
                scope.tenant,
                scope.user,
                [message.source.key, message.source.assurance],
                [[source.key, source.assurance] for source in message.lineage],
                message.text,
                # A replayed mail keeps its Message-ID, which its signature covers, whatever date it is handed in with.
                message.observed_at.isoformat() if message.observed_at and not message.message_id else None,
                message.message_id,
                again,
            ),
            text=message.text,
            source=message.source,
            lineage=message.lineage,
            observed_at=message.observed_at or prepared.at,
        )
        known = _brought(store, scope, evidence.id)
        if not known:
            return evidence, [] if store.evidence(scope, [evidence.id]) else None
        live = all(belief.status in LIVE for belief in known)
        if live or not _said_at_once(message) or not prepared.drafts[0].claim.from_user:
            return evidence, known
    raise AssertionError("unreachable: some repetition is new")


def _brought(store: Store, scope: Scope, evidence_id: str) -> list[Belief]:
    """The beliefs that a message brought, and in the place of each mere repetition what it repeats."""
    beliefs = store.brought(scope, [evidence_id]).get(evidence_id, [])
    again = [belief.id for belief in beliefs if belief.status is Status.REPEATED]
    if not again:
        return beliefs
    repeats = {edge.claim: edge.rival for edge in store.edges(scope, again) if edge.relation == REPEATS}
    first = store.get(scope, list(repeats.values()))
    return [first.get(repeats.get(belief.id, ""), belief) for belief in beliefs]


def _said_at_once(message: Message) -> bool:
    """Whether nothing tells this message from another one in the same words."""
    return message.observed_at is None and message.message_id is None


def _digest(prefix: str, *parts: Any) -> str:
    packed = json.dumps(parts, ensure_ascii=True, separators=(",", ":")).encode()
    return f"{prefix}_{hashlib.blake2b(packed, digest_size=8).hexdigest()}"


def _already_known(beliefs: Sequence[Belief]) -> Written:
    return Written(
        effect=_overall([_STANDING.get(belief.status, Outcome.REJECTED) for belief in beliefs] or [Outcome.REJECTED]),
        reasons=("already-known",),
        memories=tuple(Memory.of(belief) for belief in beliefs),
        outcomes=(Outcome.KNOWN,) * len(beliefs),
    )


@dataclass(slots=True, kw_only=True)
class _Proposal:
    """What one round of reading, judging and deciding comes to; nothing is written yet."""

    version: int
    beliefs: list[Belief] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    vectors: dict[str, Vector] = field(default_factory=dict)
    superseded: list[str] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def repeat(self, belief: Belief, echo: Belief) -> None:
        """A claim that only repeats a live belief: kept, since it counts where that one does not stand."""
        self.changes.append(replace(birth(belief.id, belief.status), rules=("already-known",), by=(echo.id,)))
        self.edges.append(Edge(claim=belief.id, rival=echo.id, relation=REPEATS))
        self.outcomes.append(Outcome.KNOWN)
        self.memories.append(Memory.of(echo))
        self.reasons.append("already-known")

    def add(self, ruling: Ruling) -> None:
        """A claim with its decision. Every judged pair is kept: told again, another of them may decide."""
        claim, decision = ruling.claim, ruling.decision
        id_ = _digest("m", claim.evidence_id, *claim.span, claim.text)
        belief = Belief(id=id_, claim=claim, status=ruling.status)
        self.beliefs.append(belief)
        self.vectors[id_] = ruling.vector
        if ruling.echo:
            self.repeat(belief, ruling.echo)
            return
        self.changes += _changes(decision, belief, ruling.rivals)
        self.superseded += decision.supersedes
        self.edges += [
            Edge(claim=belief.id, rival=rival.belief.id, relation=rival.relation)
            for rival in ruling.rivals
            if rival.relation.detected or rival.relation.label is Label.SAME
        ]
        self.outcomes.append(Outcome.of(decision.effect))
        self.memories.append(Memory.of(belief, decision.contests))
        self.reasons += decision.reasons

    def revision(self, scope: Scope, evidence: Evidence, prepared: Prepared, note: Mapping[str, str]) -> Revision:
        """All of it, ready to commit."""
        return Revision(
            scope=scope,
            act=Act.REMEMBER,
            at=prepared.at,
            evidence=evidence,
            beliefs=tuple(self.beliefs),
            changes=tuple(self.changes),
            edges=tuple(self.edges),
            vectors=self.vectors,
            note=note,
        )

    def written(self) -> Written:
        """What the caller is told."""
        fresh = [outcome for outcome in self.outcomes if outcome is not Outcome.KNOWN]
        return Written(
            effect=_overall(fresh or [_STANDING[memory.status] for memory in self.memories]),
            reasons=tuple(dict.fromkeys(self.reasons)),
            memories=tuple(self.memories),
            outcomes=tuple(self.outcomes),
            replaced=tuple(self.superseded),
        )


def _propose(
    parts: Parts, policy: Policy, scope: Scope, prepared: Prepared, evidence: Evidence, *, busy: bool
) -> _Proposal:
    """One round of reading, judging and deciding."""
    drafts = [replace(draft, claim=replace(draft.claim, evidence_id=evidence.id)) for draft in prepared.drafts]
    rulings, version = rule(parts, policy, scope, drafts, over=prepared.message.over, busy=busy)
    if prepared.message.hold:
        for ruling in rulings:
            ruling.decision = held(ruling.decision)
    proposal = _Proposal(version=version)
    for ruling in rulings:
        proposal.add(ruling)
    return proposal


def rule(
    parts: Parts,
    policy: Policy,
    scope: Scope,
    drafts: Sequence[Draft],
    *,
    over: Sequence[str] = (),
    busy: bool = False,
) -> tuple[list[Ruling], int]:
    """What the claims of a message come to, and the version of the scope that they were decided at.

    :param over: ids of beliefs whose place they are to take, whatever the judge says of the pair.
    :param busy: the scope never stood still: go the careful way.
    """
    stated = _stated(parts.store, scope, over)
    echoes, found, version = _near(parts.store, scope, drafts, beside={rival.belief.id for rival in stated})
    registry = parts.registries.of(parts.store, scope)
    relations = _relate(parts.judge, drafts, found)
    superseded: list[str] = []
    decided: list[Ruling] = []
    for draft, near, answers_, echo in zip(drafts, found, relations, echoes, strict=True):
        ruling = Ruling(claim=draft.claim, vector=draft.vector, echo=echo)
        decided.append(ruling)
        if echo:
            continue
        ruling.circumstances = circumstances(ruling.claim, registry)
        ruling.rivals = _with(stated, _judged(near, answers_))
        ruling.decide(policy, superseded)
        depth = RIVALS
        while ruling.decision.effect is Effect.REPLACE:  # many may have said what it replaces (G8)
            depth *= 4
            [near], _ = parts.store.rivals(scope, [_probe(draft)], depth)
            judged = _judged(near, _relate(parts.judge, [draft], [near])[0])
            wider = replace(ruling, rivals=_with(stated, judged))
            wider.decide(policy, superseded)
            # All that were compared, whatever they change; also those that another writer has superseded between the
            # two readings: they are in the decision so far, which will be found stale.
            ruling.rivals = _with(wider.rivals, ruling.rivals)
            if wider.decision.effect is not Effect.REPLACE or len(wider.decision.supersedes) <= len(
                ruling.decision.supersedes
            ):
                break
            ruling.decision = wider.decision
        if busy:
            ruling.decision = too_busy(ruling.claim, ruling.decision)
        superseded += ruling.decision.supersedes
    if not busy:  # or else all that others said is held back already, and nobody replaces
        _hold_siblings(policy, decided, superseded)
    return decided, version


def _near(
    store: Store, scope: Scope, drafts: Sequence[Draft], *, beside: Collection[str] = ()
) -> tuple[list[Belief | None], list[Sequence[Neighbour]], int]:
    """For each claim the belief that it only repeats, or else the rivals that it is judged with; and the version.

    :param beside: ids of beliefs whose place they are to take: what is to do that is more than a repetition of another.
    """
    found, version = store.rivals(scope, [_probe(draft) for draft in drafts], RIVALS)
    echoes = [_echo(draft.claim, near) for draft, near in zip(drafts, found, strict=True)]
    echoes = [echo if echo and not set(beside) - {echo.id} else None for echo in echoes]
    return echoes, [[] if echo else near for echo, near in zip(echoes, found, strict=True)], version


def _probe(draft: Draft) -> Probe:
    return Probe(text=draft.claim.text, vector=draft.vector, origins=draft.claim.origins)


@dataclass(slots=True, kw_only=True)
class Ruling:
    """A claim, what is known of it, and what was decided; an echo is not decided on.

    :param rivals: every belief that it was compared with.
    """

    claim: Claim
    vector: Vector
    echo: Belief | None
    rivals: list[Rival] = field(default_factory=list)
    circumstances: Circumstances = field(default_factory=Circumstances)
    decision: Decision = field(default_factory=lambda: Decision(effect=Effect.ADMIT))

    @property
    def status(self) -> Status:
        """How the claim stands to begin with."""
        return Status.REPEATED if self.echo else born(self.decision.effect.cause)

    def decide(self, policy: Policy, superseded: Sequence[str]) -> None:
        """Decide against the rivals that an earlier claim of the same message has not superseded."""
        standing = [rival for rival in self.rivals if rival.belief.id not in superseded]
        self.decision = decide(policy, self.claim, standing, self.circumstances)


def _hold_siblings(policy: Policy, decided: Sequence[Ruling], superseded: Sequence[str]) -> None:
    """Decide again on what was merely admitted from a message of which something is held back."""
    if not any(ruling.decision.effect in (Effect.CONTEST, Effect.QUARANTINE) for ruling in decided):
        return
    for ruling in decided:
        if ruling.decision.effect is Effect.ADMIT and not ruling.echo:
            ruling.circumstances = replace(ruling.circumstances, sibling_held=True)
            ruling.decide(policy, superseded)


def _judged(near: Sequence[Neighbour], relations: Sequence[Relation]) -> list[Rival]:
    return [
        Rival(belief=neighbour.belief, relation=relation, owner=owner_of(neighbour.belief.claim))
        for neighbour, relation in zip(near, relations, strict=True)
    ]


def _stated(store: Store, scope: Scope, over: Sequence[str]) -> list[Rival]:
    """The live beliefs whose place is to be taken, as rivals."""
    return [
        Rival(belief=belief, relation=STATED, owner=owner_of(belief.claim))
        for belief in (store.get(scope, list(over)) if over else {}).values()
        if belief.status in LIVE
    ]


def _with(first: Sequence[Rival], others: Sequence[Rival]) -> list[Rival]:
    """Both, each belief once: what stands first counts (what the application says, before what the judge says)."""
    known = {rival.belief.id for rival in first}
    return [*first, *(rival for rival in others if rival.belief.id not in known)]


def _echo(claim: Claim, near: Sequence[Neighbour]) -> Belief | None:
    """The live belief that this claim only repeats: its own owner's, the user's, or told again by a model (G13).

    What another outside source says in the same words is kept apart: it must stand if the first source is revoked.
    """
    words = fold(claim.text)
    told_by_model = claim.assurance is Assurance.REPORTED
    for neighbour in near:
        known = neighbour.belief.claim
        if fold(known.text) == words and (
            told_by_model or known.from_user or (_keys(claim) == _keys(known) and claim.assurance <= known.assurance)
        ):
            return neighbour.belief
    return None


def _keys(claim: Claim) -> list[str]:
    return [source.key for source in claim.speakers]


def _relate(judge: Judge, drafts: Sequence[Draft], found: Sequence[Sequence[Neighbour]]) -> list[list[Relation]]:
    """The judge's answers in the shape of ``found``; *unknown* for all of them where it fails."""
    pairs = [
        (_stored(neighbour), _incoming(draft)) for draft, near in zip(drafts, found, strict=True) for neighbour in near
    ]
    given = iter(answers(judge, pairs))
    return [[next(given) for _ in near] for near in found]


def answers(judge: Judge, pairs: Sequence[tuple[Statement, Statement]]) -> list[Relation]:
    """The judge's answers, or *unknown* for every pair where it fails."""
    if not pairs:
        return []
    try:
        relations = judge.relate(pairs)
        if len(relations) == len(pairs) and all(isinstance(relation, Relation) for relation in relations):
            return relations
        because = f"gave {len(relations)} answers for {len(pairs)} pairs, not each a Relation"
    except Exception as error:  # noqa: BLE001  (a broken judge can only make the gate more careful)
        _log.warning("judge %s could not relate: %s", judge.name, type(error).__name__)
        _log.debug("its failure", exc_info=True)
        because = f"failed ({type(error).__name__})"
        fell_back("no contradiction was ruled out", f"the judge {judge.name}", error)
    return [Relation.unknown(because, judge=judge.name)] * len(pairs)


def _stored(neighbour: Neighbour) -> Statement:
    claim = neighbour.belief.claim
    return Statement(
        text=claim.text,
        speaker=claim.source,
        observed_at=claim.observed_at,
        vector=neighbour.vector,
        id=neighbour.belief.id,
    )


def _incoming(draft: Draft) -> Statement:
    claim = draft.claim
    return Statement(text=claim.text, speaker=claim.source, observed_at=claim.observed_at, vector=draft.vector)


def _changes(decision: Decision, belief: Belief, rivals: Sequence[Rival]) -> list[Change]:
    changes = [
        Change(
            belief=belief.id,
            before=None,
            cause=decision.effect.cause,
            after=belief.status,
            rules=decision.reasons,
            by=decision.contests,
        )
    ]
    before = {rival.belief.id: rival.belief.status for rival in rivals}
    changes += [
        Change(
            belief=id_,
            before=before[id_],
            cause=Cause.SUPERSEDE,
            after=Status.SUPERSEDED,
            rules=decision.reasons,
            by=(belief.id,),
        )
        for id_ in decision.supersedes
    ]
    return changes


_NOTABLE: Final = (
    Outcome.QUARANTINED,
    Outcome.CONTESTED,
    Outcome.REPLACED,
    Outcome.ADMITTED,
    Outcome.REJECTED,
)


def _overall(outcomes: Sequence[Outcome]) -> Outcome:
    return next(outcome for outcome in _NOTABLE if outcome in outcomes)
