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
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final

from thymus.core.beliefs import LIVE, Act, Belief, Cause, Change, Edge, Revision, Status, born
from thymus.core.claims import Claim, Evidence, Scope, fold
from thymus.core.decide import Decision, decide
from thymus.core.disclose import Memory
from thymus.core.gates import too_busy
from thymus.core.policy import Policy, Rival
from thymus.core.provenance import Assurance
from thymus.core.relations import Label, Relation
from thymus.errors import StaleVersionError
from thymus.intake import Draft, Parts, Prepared
from thymus.ports import Judge, Neighbour, Probe, Statement, Store, Vector
from thymus.records import Outcome, Written

_log = logging.getLogger("thymus")

RIVALS: Final = 5
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
    if not prepared.drafts:
        return Written(effect=Outcome.REJECTED, reasons=("no-claim",))
    evidence, known = _evidence(parts.store, scope, prepared)
    if known:
        return _already_known(known)
    for attempt in range(ATTEMPTS + 1):
        last = attempt == ATTEMPTS
        if attempt:
            time.sleep(random.uniform(0, _PAUSE * attempt))  # noqa: S311  (spreads writers, guards nothing)
        revision, version, written = _propose(parts, policy, scope, prepared, evidence, busy=last)
        if not revision.beliefs:
            return written
        try:
            parts.store.commit(revision, expecting=None if last else version)
        except StaleVersionError:
            if last:
                raise
            continue
        return written
    raise AssertionError("unreachable: the last attempt returns or raises")


def _evidence(store: Store, scope: Scope, prepared: Prepared) -> tuple[Evidence, list[Belief]]:
    """The evidence with its id, and the beliefs that this same message has already brought (G13).

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
                message.observed_at.isoformat() if message.observed_at else None,
                message.message_id,
                again,
            ),
            text=message.text,
            source=message.source,
            lineage=message.lineage,
            observed_at=message.observed_at or prepared.at,
        )
        known = store.beliefs(scope, evidence_id=evidence.id)
        said_at_once = message.observed_at is None and message.message_id is None
        live = all(belief.status in LIVE for belief in known)
        if not known or live or not said_at_once or not prepared.drafts[0].claim.from_user:
            return evidence, known
    raise AssertionError("unreachable: some repetition is new")


def _digest(prefix: str, *parts: Any) -> str:
    packed = json.dumps(parts, ensure_ascii=True, separators=(",", ":")).encode()
    return f"{prefix}_{hashlib.blake2b(packed, digest_size=8).hexdigest()}"


def _already_known(beliefs: Sequence[Belief]) -> Written:
    outcomes = tuple(_STANDING.get(belief.status, Outcome.REJECTED) for belief in beliefs)
    return Written(
        effect=_overall(outcomes),
        reasons=("already-known",),
        memories=tuple(Memory.of(belief) for belief in beliefs),
        outcomes=outcomes,
    )


def _propose(
    parts: Parts, policy: Policy, scope: Scope, prepared: Prepared, evidence: Evidence, *, busy: bool
) -> tuple[Revision, int, Written]:
    """One round of reading, judging and deciding, without writing anything."""
    probes = [
        Probe(text=draft.claim.text, vector=draft.vector, origins=draft.claim.origins) for draft in prepared.drafts
    ]
    found, version = parts.store.rivals(scope, probes, RIVALS)
    echoes = [_echo(draft.claim, near) for draft, near in zip(prepared.drafts, found, strict=True)]
    relations = _relate(
        parts.judge, prepared.drafts, [[] if echo else near for echo, near in zip(echoes, found, strict=True)]
    )
    beliefs: list[Belief] = []
    changes: list[Change] = []
    edges: list[Edge] = []
    vectors: dict[str, Vector] = {}
    superseded: list[str] = []
    outcomes: list[Outcome] = []
    memories: list[Memory] = []
    reasons: list[str] = []
    for draft, near, answers, echo in zip(prepared.drafts, found, relations, echoes, strict=True):
        if echo:
            outcomes.append(_STANDING[echo.status])
            memories.append(Memory.of(echo))
            reasons.append("already-known")
            continue
        claim = replace(draft.claim, evidence_id=evidence.id)
        id_ = _digest("m", evidence.id, *claim.span, claim.text)
        rivals = [
            Rival(belief=neighbour.belief, relation=relation)
            for neighbour, relation in zip(near, answers, strict=True)
            if neighbour.belief.id not in superseded
        ]
        decision = decide(policy, claim, rivals)
        if busy:
            decision = too_busy(claim, decision)
        belief = Belief(id=id_, claim=claim, status=born(decision.effect.cause))
        beliefs.append(belief)
        vectors[id_] = draft.vector
        changes += _changes(decision, belief, rivals)
        superseded += decision.supersedes
        edges += [
            Edge(claim=id_, rival=rival.belief.id, relation=rival.relation)
            for rival in rivals
            if rival.relation.detected or rival.relation.label is Label.SAME
        ]
        outcomes.append(Outcome.of(decision.effect))
        memories.append(Memory.of(belief, decision.contests))
        reasons += decision.reasons
    revision = Revision(
        scope=scope,
        act=Act.REMEMBER,
        at=prepared.at,
        evidence=evidence,
        beliefs=tuple(beliefs),
        changes=tuple(changes),
        edges=tuple(edges),
        vectors=vectors,
        note={"gate": policy.name},
    )
    written = Written(
        effect=_overall(outcomes),
        reasons=tuple(dict.fromkeys(reasons)),
        memories=tuple(memories),
        outcomes=tuple(outcomes),
        replaced=tuple(superseded),
    )
    return revision, version, written


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
        if len(relations) == len(pairs):
            return relations
        because = f"gave {len(relations)} answers for {len(pairs)} pairs"
    except Exception as error:  # noqa: BLE001  (a broken judge can only make the gate more careful)
        _log.warning("judge %s could not relate", judge.name, exc_info=True)
        because = f"failed ({type(error).__name__})"
    return [Relation.unknown(because, judge=judge.name)] * len(pairs)


def _stored(neighbour: Neighbour) -> Statement:
    claim = neighbour.belief.claim
    return Statement(text=claim.text, speaker=claim.source, observed_at=claim.observed_at, vector=neighbour.vector)


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
