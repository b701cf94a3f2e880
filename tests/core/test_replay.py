"""Histories told again without a source or an act: small ones, written out by hand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

from builders import CONFIRMED, COURIER, LOOKALIKE, NOON, SHOP, USER, a_belief
from thymus.core.beliefs import LIVE, Act, Belief, Cause, Change, Edge, Status, born
from thymus.core.decide import decide
from thymus.core.gates import THYMUS_V3
from thymus.core.policy import Rival
from thymus.core.provenance import Source
from thymus.core.relations import Relation
from thymus.core.replay import Revocation, Telling, replay, revocations, undone_by

ACTIVE, CONTESTED, QUARANTINED, SUPERSEDED, REJECTED, RETRACTED = Status


@dataclass
class History:
    """Tells claims one after the other, one a minute, as the guard would, and keeps the ledger."""

    tellings: list[Telling] = field(default_factory=list)
    beliefs: dict[str, Belief] = field(default_factory=dict)

    def told(
        self, id_: str, source: Source, /, *, derived_from: tuple[Source, ...] = (), **relations: Relation
    ) -> Status:
        belief = a_belief(id_, id_, source, derived_from=derived_from)
        found = [
            Rival(belief=self.beliefs[rival], relation=relation)
            for rival, relation in relations.items()
            if self.beliefs[rival].status in LIVE
        ]
        decision = decide(THYMUS_V3, belief.claim, found)
        belief = replace(belief, status=born(decision.effect.cause), seq=len(self.beliefs) + 1)
        birth = Change(belief=id_, before=None, cause=decision.effect.cause, after=belief.status, by=decision.contests)
        ends = [
            Change(
                belief=rival,
                before=self.beliefs[rival].status,
                cause=Cause.SUPERSEDE,
                after=SUPERSEDED,
                by=(id_,),
            )
            for rival in decision.supersedes
        ]
        edges = tuple(Edge(claim=id_, rival=rival.belief.id, relation=rival.relation) for rival in found)
        self.beliefs[id_] = belief
        self.act(Act.REMEMBER, birth, *ends, beliefs=(belief,), edges=edges)
        return belief.status

    def act(self, act: Act, /, *changes: Change, note: dict[str, str] | None = None, **more: object) -> int:
        seq = len(self.tellings) + 1
        at = NOON + timedelta(minutes=seq)
        self.tellings.append(Telling(seq=seq, at=at, act=act, changes=changes, note=note or {}, **more))  # type: ignore[arg-type]
        for change in changes:
            self.beliefs[change.belief] = replace(self.beliefs[change.belief], status=change.after)
        return seq

    def accept(self, id_: str, *superseded: str) -> int:
        changes = [Change(belief=id_, before=self.beliefs[id_].status, cause=Cause.ACCEPT, after=ACTIVE)]
        changes += [
            Change(belief=rival, before=ACTIVE, cause=Cause.SUPERSEDE, after=SUPERSEDED, by=(id_,))
            for rival in superseded
        ]
        return self.act(Act.RESOLVE, *changes, note={"memory": id_, "accept": "true"})

    def decline(self, id_: str) -> int:
        change = Change(belief=id_, before=self.beliefs[id_].status, cause=Cause.DECLINE, after=REJECTED)
        return self.act(Act.RESOLVE, change, note={"memory": id_, "accept": "false"})

    def forget(self, id_: str) -> int:
        change = Change(belief=id_, before=self.beliefs[id_].status, cause=Cause.RETRACT, after=RETRACTED)
        return self.act(Act.FORGET, change, note={"memory": id_})

    def revoke(self, source: Source) -> dict[str, Status]:
        undone = undone_by(self.tellings)
        revoked = (*revocations(self.tellings, undone), Revocation(source=source.key))
        changes = replay(THYMUS_V3, self.tellings, revoked=revoked, undone=undone)
        self.act(Act.REVOKE, *changes, note={"source": source.key})
        return self.statuses()

    def undo(self, seq: int) -> dict[str, Status]:
        here = Telling(seq=len(self.tellings) + 1, at=NOON, act=Act.UNDO, note={"act": str(seq)})
        undone = undone_by([*self.tellings, here])
        changes = replay(THYMUS_V3, self.tellings, revoked=revocations(self.tellings, undone), undone=undone)
        self.act(Act.UNDO, *changes, note={"act": str(seq)})
        return self.statuses()

    def statuses(self) -> dict[str, Status]:
        return {id_: belief.status for id_, belief in self.beliefs.items()}


def test_telling_all_of_it_again_changes_nothing() -> None:
    history = History()
    history.told("x1", COURIER)
    history.told("x2", COURIER, x1=CONFIRMED)
    history.told("x3", LOOKALIKE, x2=CONFIRMED)
    history.accept("x3", "x2")
    history.forget("x1")
    assert replay(THYMUS_V3, history.tellings) == ()


def test_what_a_revoked_source_held_back_stands_again() -> None:
    history = History()
    history.told("evil", LOOKALIKE)
    assert CONTESTED is history.told("true", COURIER, evil=CONFIRMED)
    assert history.revoke(LOOKALIKE) == {"evil": RETRACTED, "true": ACTIVE}


def test_what_a_revoked_source_had_superseded_stands_again() -> None:
    history = History()
    history.told("relayed", SHOP, derived_from=(COURIER,))
    history.told("x2", COURIER, relayed=CONFIRMED)
    assert SUPERSEDED is history.beliefs["relayed"].status
    statuses = history.undo(2)
    assert statuses == {"relayed": ACTIVE, "x2": RETRACTED}


def test_what_was_derived_from_a_revoked_source_goes_with_it() -> None:
    history = History()
    history.told("x1", LOOKALIKE)
    history.told("summary", SHOP, derived_from=(COURIER, LOOKALIKE))
    history.told("own", SHOP)
    assert history.revoke(LOOKALIKE) == {"x1": RETRACTED, "summary": RETRACTED, "own": ACTIVE}


def test_a_chain_of_decisions_is_followed_to_its_end() -> None:
    history = History()
    history.told("evil", LOOKALIKE)
    history.told("x1", COURIER, evil=CONFIRMED)
    history.told("x2", COURIER, evil=CONFIRMED, x1=CONFIRMED)
    history.told("shop", SHOP, x1=CONFIRMED, x2=CONFIRMED)
    assert history.statuses() == {"evil": ACTIVE, "x1": CONTESTED, "x2": CONTESTED, "shop": ACTIVE}
    assert history.revoke(LOOKALIKE) == {"evil": RETRACTED, "x1": SUPERSEDED, "x2": ACTIVE, "shop": CONTESTED}


def test_the_users_acceptance_of_a_revoked_source_falls_with_it() -> None:
    history = History()
    history.told("x1", USER)
    history.told("x2", LOOKALIKE, x1=CONFIRMED)
    history.accept("x2", "x1")
    assert history.revoke(LOOKALIKE) == {"x1": ACTIVE, "x2": RETRACTED}


def test_the_users_decline_outlives_the_reason_to_ask() -> None:
    history = History()
    history.told("evil", LOOKALIKE)
    history.told("x1", SHOP, evil=CONFIRMED)
    history.decline("x1")
    assert history.revoke(LOOKALIKE) == {"evil": RETRACTED, "x1": REJECTED}


def test_what_was_forgotten_stays_forgotten() -> None:
    history = History()
    history.told("evil", LOOKALIKE)
    history.told("x1", COURIER, evil=CONFIRMED)
    history.forget("x1")
    assert history.revoke(LOOKALIKE) == {"evil": RETRACTED, "x1": RETRACTED}


def test_undoing_a_replacement_does_not_let_in_what_it_had_kept_out() -> None:
    """x3 was never compared with x1, which was superseded when x3 came: unknown is the careful answer."""
    history = History()
    history.told("x1", USER)
    history.told("x2", USER, x1=CONFIRMED)
    history.told("x3", LOOKALIKE, x2=CONFIRMED)
    assert history.statuses() == {"x1": SUPERSEDED, "x2": ACTIVE, "x3": CONTESTED}
    assert history.undo(2) == {"x1": ACTIVE, "x2": RETRACTED, "x3": CONTESTED}


def test_revoking_an_accepted_claim_does_not_let_in_what_it_had_kept_out() -> None:
    history = History()
    history.told("x1", USER)
    history.told("x2", LOOKALIKE, x1=CONFIRMED)
    history.accept("x2", "x1")
    history.told("x3", SHOP, x2=CONFIRMED)
    assert history.revoke(LOOKALIKE) == {"x1": ACTIVE, "x2": RETRACTED, "x3": CONTESTED}


def test_undoing_twice_is_doing_nothing() -> None:
    history = History()
    history.told("evil", LOOKALIKE)
    history.told("x1", COURIER, evil=CONFIRMED)
    before = history.statuses()
    history.revoke(LOOKALIKE)
    assert before == history.undo(3)
    assert history.undo(4) == {"evil": RETRACTED, "x1": ACTIVE}
    assert before == history.undo(5)


def test_undoing_a_decision_of_the_user_holds_the_claim_back_again() -> None:
    history = History()
    history.told("x1", USER)
    history.told("x2", LOOKALIKE, x1=CONFIRMED)
    seq = history.accept("x2", "x1")
    assert history.undo(seq) == {"x1": ACTIVE, "x2": CONTESTED}


def test_an_old_revocation_does_not_reach_what_the_source_said_afterwards() -> None:
    history = History()
    history.told("x1", COURIER)
    history.revoke(COURIER)
    history.told("x2", COURIER)
    history.told("y1", LOOKALIKE)
    assert history.revoke(LOOKALIKE) == {"x1": RETRACTED, "x2": ACTIVE, "y1": RETRACTED}


def test_a_sender_cannot_escape_a_revocation_by_an_early_date() -> None:
    belief = a_belief("x1", "x1", LOOKALIKE)
    hour = Revocation(source=LOOKALIKE.key, since=NOON + timedelta(minutes=30))
    assert not hour.covers(belief.claim, NOON + timedelta(minutes=29))
    assert hour.covers(belief.claim, NOON + timedelta(minutes=31))
    assert not hour.covers(a_belief(source=SHOP).claim, NOON + timedelta(minutes=31))


def test_a_recorded_outcome_stands_where_nothing_it_rested_on_differs() -> None:
    """Even if today's gate would decide it in another way."""
    history = History()
    history.told("x1", COURIER)
    history.beliefs["x2"] = a_belief("x2", "x2", SHOP, status=QUARANTINED)
    birth = Change(belief="x2", before=None, cause=Cause.QUARANTINE, after=QUARANTINED)
    history.act(Act.REMEMBER, birth, beliefs=(history.beliefs["x2"],))
    assert history.revoke(COURIER) == {"x1": RETRACTED, "x2": QUARANTINED}
