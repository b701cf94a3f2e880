"""The promises of a ``Store``, one a test. A store of your own is one when it passes them::

    from thymus.testing.conformance import StoreConformance

    class TestMyStore(StoreConformance):
        def open(self, place: Path, *, embedder: str = "tested", dim: int = DIM) -> Store:
            return MyStore(place / "memory.mine", embedder=embedder, dim=dim)

``open`` is called again with the same folder to see whether what was written is still there; a store that keeps
nothing beyond its process sets ``persistent = False``.
"""

# ruff: noqa: S101 -- a test asserts

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thymus.core.beliefs import LIVE, Act, Belief, Cause, Change, Edge, Revision, Status, born
from thymus.core.claims import Claim, Evidence, Kind, Scope
from thymus.core.provenance import Assurance, Source
from thymus.core.relations import Label, Relation
from thymus.errors import InputError, MemoryNotFoundError, StaleVersionError, StoreError
from thymus.ports import Entry, Neighbour, Store
from thymus.stores.memory import MemoryStore
from thymus.testing.strategies import DIM, START, Author, Step, probe_of, sources, steps, texts, vector_of

__all__ = ["DIM", "StoreConformance", "told"]

ASHA = Scope(tenant="acme", user="asha")
RAVI = Scope(tenant="acme", user="ravi")
COURIER = Source(channel="email", identity="post@courier.example", assurance=Assurance.AUTHENTICATED)
STRANGER = Source(channel="web", identity="shop.example")
FLOOD = Source(channel="web", identity="flood.example")


def told(
    text: str,
    *,
    scope: Scope = ASHA,
    source: Source | None = None,
    cause: Cause = Cause.ADMIT,
    name: str | None = None,
    lineage: tuple[Source, ...] = (),
    minute: int = 0,
    dim: int = DIM,
) -> Revision:
    """One message with one claim in it."""
    at, source = START + timedelta(minutes=minute), source or Source.user()
    evidence = Evidence(id=f"e-{name or text}", text=f"> {text}", source=source, lineage=lineage, observed_at=at)
    claim = Claim(
        text=text,
        kind=Kind.FACT,
        evidence_id=evidence.id,
        span=(2, 2 + len(text)),
        source=source,
        lineage=lineage,
        observed_at=at,
    )
    belief = Belief(id=name or text, claim=claim, status=born(cause))
    return Revision(
        scope=scope,
        act=Act.REMEMBER,
        at=at,
        evidence=evidence,
        beliefs=(belief,),
        changes=(Change(belief=belief.id, before=None, cause=cause, after=belief.status, rules=("a-rule",)),),
        vectors={belief.id: vector_of(text, dim)},
    )


def moved(belief_id: str, before: Status, cause: Cause, after: Status, *, scope: Scope = ASHA) -> Revision:
    """One status change by the user."""
    change = Change(belief=belief_id, before=before, cause=cause, after=after, rules=("resolve",), by=(belief_id,))
    return Revision(scope=scope, act=Act.RESOLVE, at=START, changes=(change,), note={"accepted": "yes"})


def forgotten(*ids: str, scope: Scope = ASHA) -> Revision:
    """An erasure."""
    changes = tuple(
        Change(belief=name, before=Status.ACTIVE, cause=Cause.RETRACT, after=Status.RETRACTED) for name in ids
    )
    return Revision(scope=scope, act=Act.FORGET, at=START, changes=changes, erase=ids)


def judged(claim: str, rival: str, confidence: float, *, label: Label = Label.CONTRADICTS) -> Edge:
    """A judged pair."""
    return Edge(claim=claim, rival=rival, relation=Relation(label=label, confidence=confidence, judge="typed"))


def ids(found: Sequence[Neighbour] | Sequence[Belief]) -> list[str]:
    """The ids of neighbours or beliefs, in order."""
    return [one.belief.id if isinstance(one, Neighbour) else one.id for one in found]


class StoreConformance(ABC):
    """Subclass it in a test file; pytest does the rest."""

    persistent: ClassVar[bool] = True
    """Whether what was committed is there when the store is opened again."""
    examples: ClassVar[int] = 30
    """How many random histories are compared with ``MemoryStore``."""

    @abstractmethod
    def open(self, place: Path, *, embedder: str = "tested", dim: int = DIM) -> Store:
        """Open the store that lives in this folder, or make it."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """A new store."""
        opened = self.open(tmp_path)
        yield opened
        opened.close()

    def test_starts_empty(self, store: Store) -> None:
        """A new store has no scope, no version, nothing to find and nothing to complain of."""
        assert store.version(ASHA) == 0
        assert store.scopes() == []
        assert store.beliefs(ASHA) == []
        assert store.search(ASHA, probe_of("standup"), 5) == []
        assert store.rivals(ASHA, [probe_of("standup")], 5) == ([[]], 0)
        assert store.get(ASHA, ["x"]) == {}
        assert store.vectors(ASHA, ["x"]) == {}
        assert store.edges(ASHA, ["x"]) == []
        assert store.evidence(ASHA, ["x"]) == {}
        assert list(store.entries(ASHA)) == []
        assert store.sources(ASHA) == []
        assert store.verify().ok

    def test_returns_what_was_told(self, store: Store) -> None:
        """A belief, its evidence and its times come back exactly as they were committed, in UTC."""
        revision = told("The room is 2A — 部屋 🎂 \x00 \ud800", source=COURIER, lineage=(STRANGER, COURIER), name="a")
        revision = replace(revision, at=revision.at + timedelta(microseconds=7))
        assert store.commit(revision) == 1
        (told_belief,) = revision.beliefs
        assert store.get(ASHA, ["a"]) == {"a": replace(told_belief, seq=1)}
        assert revision.evidence is not None
        assert store.evidence(ASHA, [revision.evidence.id]) == {revision.evidence.id: revision.evidence}
        (entry,) = store.entries(ASHA)
        assert (entry.at, entry.at.utcoffset()) == (revision.at, timedelta(0))

    def test_numbers_beliefs_in_order(self, store: Store) -> None:
        """Beliefs have seq 1, 2, 3 … within their scope, in the order they were told."""
        for at, text in enumerate(["one", "two", "three"]):
            store.commit(told(text, minute=-at))
        assert [(belief.seq, belief.id) for belief in store.beliefs(ASHA)] == [(1, "one"), (2, "two"), (3, "three")]

    def test_keeps_vectors_as_halves(self, store: Store) -> None:
        """Embeddings come back rounded to float16."""
        store.commit(told("one"))
        expected = vector_of("one").astype(np.float16).astype(np.float32)
        assert np.array_equal(expected, store.vectors(ASHA, ["one", "x"])["one"])

    def test_repeating_changes_nothing(self, store: Store) -> None:
        """The same revision again writes no row and returns the current version."""
        assert store.commit(told("one")) == 1
        assert store.commit(told("two")) == 2
        assert store.commit(told("one")) == 2
        assert len(list(store.entries(ASHA))) == 2
        assert ids(store.beliefs(ASHA)) == ["one", "two"]

    def test_leaves_known_ids_alone(self, store: Store) -> None:
        """A belief or evidence whose id exists stays as it is."""
        store.commit(told("one", name="a"))
        store.commit(told("another text", name="a", source=STRANGER, cause=Cause.CONTEST))
        assert store.get(ASHA, ["a"])["a"].claim.text == "one"
        assert store.get(ASHA, ["a"])["a"].status is Status.ACTIVE
        assert store.evidence(ASHA, ["e-a", "unknown"])["e-a"].text == "> one"

    def test_refuses_stale_versions(self, store: Store) -> None:
        """With ``expecting``, a commit against an older version writes nothing."""
        store.commit(told("one"), expecting=0)
        with pytest.raises(StaleVersionError):
            store.commit(told("two"), expecting=0)
        assert ids(store.beliefs(ASHA)) == ["one"]
        assert store.commit(told("two"), expecting=1) == 2

    def test_refuses_changes_from_another_status(self, store: Store) -> None:
        """A change whose ``before`` is not the stored status writes nothing at all."""
        store.commit(told("one"))
        wrong = moved("one", Status.CONTESTED, Cause.ACCEPT, Status.ACTIVE)
        with pytest.raises(StaleVersionError):
            store.commit(replace(told("two"), changes=(*told("two").changes, *wrong.changes)))
        assert store.version(ASHA) == 1
        assert ids(store.beliefs(ASHA)) == ["one"]
        assert store.evidence(ASHA, ["e-two"]) == {}

    def test_refuses_what_does_not_fit(self, store: Store) -> None:
        """Unknown ids, births or vectors that are missing, and times without a zone are refused; nothing is written."""
        whole = told("one")
        with pytest.raises(StoreError):
            store.commit(replace(whole, changes=()))
        with pytest.raises(StoreError):
            store.commit(replace(whole, vectors={}))
        with pytest.raises(StoreError):
            store.commit(replace(whole, vectors={"one": vector_of("one", DIM + 1)}))
        with pytest.raises(StoreError):
            store.commit(replace(whole, vectors={"one": vector_of("one") * np.float32("nan")}))
        with pytest.raises(InputError):
            store.commit(replace(whole, at=whole.at.replace(tzinfo=None)))
        with pytest.raises(MemoryNotFoundError):
            store.commit(moved("one", Status.ACTIVE, Cause.RETRACT, Status.RETRACTED))
        with pytest.raises(MemoryNotFoundError):
            store.commit(replace(whole, edges=(judged("one", "nobody", 0.9),)))
        with pytest.raises(MemoryNotFoundError):
            store.commit(replace(whole, erase=("one",)))
        assert store.version(ASHA) == 0
        assert store.scopes() == []

    def test_moves_and_tells_of_it(self, store: Store) -> None:
        """A status change shows in the belief and in the ledger, with its rules, and only with its own belief."""
        store.commit(told("one", source=STRANGER, cause=Cause.CONTEST))
        store.commit(told("two"))
        revision = moved("one", Status.CONTESTED, Cause.ACCEPT, Status.ACTIVE)
        assert store.commit(revision) == 3
        assert store.get(ASHA, ["one"])["one"].status is Status.ACTIVE
        entries = list(store.entries(ASHA, belief_id="one"))
        assert [(entry.seq, entry.act) for entry in entries] == [(1, Act.REMEMBER), (3, Act.RESOLVE)]
        assert entries[1].changes == revision.changes
        assert entries[1].note == {"accepted": "yes"}
        assert entries[0].evidence_id == "e-one"

    def test_folds_changes_in_their_order(self, store: Store) -> None:
        """A belief born and changed in one revision has the last status."""
        first = told("one")
        later = Change(belief="one", before=Status.ACTIVE, cause=Cause.SUPERSEDE, after=Status.SUPERSEDED)
        store.commit(replace(first, changes=(*first.changes, later)))
        assert store.get(ASHA, ["one"])["one"].status is Status.SUPERSEDED

    def test_pages_beliefs(self, store: Store) -> None:
        """``beliefs`` filters by status and evidence and pages by seq in both directions."""
        for at in range(6):
            store.commit(told(f"n{at + 1}", source=STRANGER, cause=Cause.CONTEST if at % 2 else Cause.ADMIT))
        assert ids(store.beliefs(ASHA, after=2, limit=2)) == ["n3", "n4"]
        assert ids(store.beliefs(ASHA, newest_first=True, limit=2)) == ["n6", "n5"]
        assert ids(store.beliefs(ASHA, newest_first=True, after=3)) == ["n2", "n1"]
        assert ids(store.beliefs(ASHA, statuses=frozenset({Status.CONTESTED}))) == ["n2", "n4", "n6"]
        assert ids(store.beliefs(ASHA, statuses=frozenset())) == []
        brought = store.brought(ASHA, ["e-n3", "unknown", "e-n1", "e-n3"], limit=2)
        assert {name: ids(found) for name, found in brought.items()} == {"e-n3": ["n3"], "e-n1": ["n1"]}
        assert store.brought(ASHA, ["e-n3"], limit=0) == store.brought(ASHA, []) == store.brought(RAVI, ["e-n3"]) == {}
        assert ids(store.beliefs(ASHA, limit=0)) == []
        assert [entry.seq for entry in store.entries(ASHA, after=4)] == [5, 6]

    def test_tells_who_spoke(self, store: Store) -> None:
        """``sources`` counts what each direct source said; who it is, since when, rests on what is not retracted."""
        stranger = replace(COURIER, assurance=Assurance.CLAIMED, name="Whoever")
        store.commit(told("one", source=stranger, minute=9))
        store.commit(told("two", minute=3, lineage=(STRANGER,)))
        store.commit(told("three", source=replace(COURIER, name="Courier"), cause=Cause.CONTEST, minute=5))
        store.commit(told("four", source=stranger, minute=2))
        store.commit(told("elsewhere", scope=RAVI, source=FLOOD))
        courier, user = store.sources(ASHA)
        assert (courier.source, courier.source.name, courier.first, courier.last) == (COURIER, "Courier", 1, 4)
        assert (courier.since, courier.until) == (START + timedelta(minutes=2), START + timedelta(minutes=9))
        assert courier.counts == {Status.ACTIVE: 2, Status.CONTESTED: 1}
        assert (user.source, user.first, user.last, user.counts) == (Source.user(), 2, 2, {Status.ACTIVE: 1})
        store.commit(forgotten("one"))
        store.commit(moved("three", Status.CONTESTED, Cause.RETRACT, Status.RETRACTED))
        user, courier = store.sources(ASHA)
        assert (courier.source, courier.source.name, courier.first, courier.last) == (stranger, "Whoever", 4, 4)
        assert courier.until == START + timedelta(minutes=2)
        assert courier.counts == {Status.ACTIVE: 1, Status.RETRACTED: 2}
        store.commit(moved("four", Status.ACTIVE, Cause.RETRACT, Status.RETRACTED))
        courier, user = store.sources(ASHA)
        assert (courier.source, courier.first, courier.last) == (COURIER, 1, 4)
        assert courier.counts == {Status.RETRACTED: 3}

    def test_keeps_the_latest_judgement(self, store: Store) -> None:
        """An edge is found from either side; judged again it is replaced, judged the same nothing is written."""
        store.commit(told("one"))
        store.commit(replace(told("two"), edges=(judged("two", "one", 0.5),)))
        assert store.edges(ASHA, ["one"]) == store.edges(ASHA, ["two"]) == [judged("two", "one", 0.5)]
        again = Revision(scope=ASHA, act=Act.REMEMBER, at=START, edges=(judged("two", "one", 0.5),))
        assert store.commit(again) == 2
        assert store.commit(replace(again, edges=(judged("two", "one", 0.9),))) == 3
        assert store.edges(ASHA, ["one", "two"]) == [judged("two", "one", 0.9)]
        assert store.verify().ok

    def test_keeps_scopes_apart(self, store: Store) -> None:
        """The same ids in two scopes are different beliefs, and no call sees the other scope (G5)."""
        store.commit(told("one"))
        store.commit(told("one", scope=RAVI, source=STRANGER, cause=Cause.CONTEST))
        store.commit(replace(told("two", scope=RAVI), edges=(judged("two", "one", 0.9),)))
        assert store.version(ASHA) == 1
        assert store.get(ASHA, ["one", "two"])["one"].status is Status.ACTIVE
        assert store.edges(ASHA, ["one", "two"]) == []
        assert ids(store.search(ASHA, probe_of("two"), 9, statuses=frozenset(Status))) == ["one"]
        assert store.evidence(ASHA, ["e-two"]) == {}
        assert [entry.seq for entry in store.entries(ASHA)] == [1]
        store.commit(forgotten("two", scope=RAVI))
        with pytest.raises(MemoryNotFoundError):
            store.commit(moved("two", Status.ACTIVE, Cause.RETRACT, Status.RETRACTED))
        assert store.scopes() == [ASHA, RAVI]
        for after in (1, 2**41, 2**63):
            assert ids(store.beliefs(ASHA, after=after)) == []
            assert ids(store.beliefs(ASHA, after=after + 1, newest_first=True)) == ["one"]
            assert list(store.entries(ASHA, after=after)) == []

    def test_finds_by_words(self, store: Store) -> None:
        """A shared word lifts a belief above one that is equally far in meaning."""
        store.commit(told("The parcel comes on Friday"))
        store.commit(told("Nothing of the sort"))
        assert ids(store.search(ASHA, replace(probe_of("parcel"), vector=np.zeros(DIM, np.float32)), 1)) == [
            "The parcel comes on Friday"
        ]

    def test_finds_by_meaning(self, store: Store) -> None:
        """The nearest embedding comes first, its cosine and vector with it."""
        for text in ("one", "two", "three"):
            store.commit(told(text))
        best, *_ = store.search(ASHA, replace(probe_of("two"), text=""), 3)
        assert best.belief.id == "two"
        assert best.similarity == pytest.approx(1.0, abs=1e-3)
        assert np.allclose(best.vector, vector_of("two"), atol=1e-3)

    def test_searches_the_statuses_asked_for(self, store: Store) -> None:
        """Search returns active beliefs unless told otherwise, and follows every change."""
        store.commit(told("one", source=STRANGER, cause=Cause.CONTEST))
        assert store.search(ASHA, probe_of("one"), 5) == []
        assert ids(store.search(ASHA, probe_of("one"), 5, statuses=LIVE)) == ["one"]
        store.commit(moved("one", Status.CONTESTED, Cause.ACCEPT, Status.ACTIVE))
        assert ids(store.search(ASHA, probe_of("one"), 5)) == ["one"]
        store.commit(moved("one", Status.ACTIVE, Cause.SUPERSEDE, Status.SUPERSEDED))
        assert store.search(ASHA, probe_of("one"), 5, statuses=LIVE) == []
        assert ids(store.search(ASHA, probe_of("one"), 5, statuses=frozenset({Status.SUPERSEDED}))) == ["one"]

    def test_no_flood_hides_a_rival(self, store: Store) -> None:
        """Each stratum of ``rivals`` keeps its own places, whatever floods the others, and whose flood it is."""
        store.commit(told("The standup is at 9:15"))
        store.commit(told("The standup moved, says the courier", source=COURIER))
        store.commit(told("The standup moved, says a stranger", source=STRANGER))
        store.commit(told("The standup was held back", source=STRANGER, cause=Cause.QUARANTINE))
        expected = {belief.id for belief in store.beliefs(ASHA)}
        for at in range(4):
            store.commit(told(f"Of other matters, {at}", source=Source(channel="web", identity=f"{at}.example")))
        with store.bulk():
            for at in range(160):
                text = f"The standup is at 7:45, note {at}"
                store.commit(told(text, source=FLOOD, cause=(Cause.REJECT, Cause.ADMIT)[at % 2]))
        probe = replace(probe_of("The standup is at 7:45, note 1", COURIER), vector=np.zeros(DIM, np.float32))
        (found,), version = store.rivals(ASHA, [probe], 3)
        assert version == 168
        assert expected - {"The standup moved, says a stranger"} <= set(ids(found))
        (found,), _ = store.rivals(ASHA, [replace(probe, origins=frozenset({FLOOD.key}))], 3)
        assert expected <= set(ids(found))
        assert len(ids(found)) == len(set(ids(found)))

    def test_erases_text_everywhere(self, store: Store) -> None:
        """A forgotten belief stays as an empty entry; text, evidence, vector and words are gone, the ledger fits."""
        store.commit(told("The secret parcel"))
        store.commit(told("The other parcel"))
        assert store.commit(forgotten("The secret parcel")) == 3
        empty = store.get(ASHA, ["The secret parcel"])["The secret parcel"]
        assert (empty.erased, empty.claim.text, empty.status, empty.seq) == (True, "", Status.RETRACTED, 1)
        messages = store.evidence(ASHA, ["e-The secret parcel", "e-The other parcel", "unknown"])
        assert [one.text for one in messages.values()] == ["", "> The other parcel"]
        assert store.vectors(ASHA, ["The secret parcel"]) == {}
        found = store.search(ASHA, probe_of("The secret parcel"), 5, statuses=frozenset(Status))
        assert ids(found) == ["The other parcel"]
        assert len(list(store.entries(ASHA, belief_id="The secret parcel"))) == 2
        assert store.verify().ok

    def test_forgotten_stays_forgotten(self, store: Store) -> None:
        """Telling a forgotten message again writes nothing."""
        store.commit(told("one"))
        store.commit(forgotten("one"))
        assert store.commit(told("one")) == 2
        assert store.get(ASHA, ["one"])["one"].erased

    def test_chains_its_ledger(self, store: Store) -> None:
        """Every entry has a digest of its own, and the whole fits."""
        for text in ("one", "two", "three"):
            store.commit(told(text))
        assert len({entry.digest for entry in store.entries(ASHA)}) == 3
        found = store.verify()
        assert (found.entries, found.beliefs, found.problems) == (3, 3, ())

    def test_verifies_one_scope_alone(self, store: Store) -> None:
        """Whoever asks for theirs learns nothing of what others have."""
        store.commit(told("one"))
        store.commit(told("two", scope=RAVI))
        store.commit(told("three", scope=RAVI))
        assert [store.verify(scope).entries for scope in (ASHA, RAVI, Scope(tenant="acme", user="nobody"))] == [1, 2, 0]
        assert store.verify().entries == 3

    def test_survives_reopening(self, tmp_path: Path) -> None:
        """What was committed is there when the store is opened again, and the history goes on."""
        if not self.persistent:
            pytest.skip("this store keeps nothing beyond its process")
        first = self.open(tmp_path)
        first.commit(told("one"))
        first.commit(replace(told("two", source=STRANGER), edges=(judged("two", "one", 0.7),)))
        before = self.read(first, ASHA)
        first.close()
        first.close()
        again = self.open(tmp_path)
        assert self.read(again, ASHA) == before
        assert again.commit(told("three")) == 3
        assert again.verify().ok
        again.close()

    def test_refuses_another_embedder(self, tmp_path: Path) -> None:
        """Vectors of different embedders are never mixed."""
        if not self.persistent:
            pytest.skip("this store keeps nothing beyond its process")
        self.open(tmp_path).close()
        with pytest.raises(StoreError, match="embedder"):
            self.open(tmp_path, embedder="another")
        with pytest.raises(StoreError, match="dim"):
            self.open(tmp_path, dim=DIM + 1)

    def test_serves_threads(self, store: Store) -> None:
        """Commits and reads from several threads lose nothing."""
        failed: list[BaseException] = []

        def work(name: int) -> None:
            try:
                for at in range(10):
                    store.commit(told(f"thread {name}, note {at}"))
                    assert store.search(ASHA, probe_of(f"thread {name}, note {at}"), 1)
            except BaseException as error:  # noqa: BLE001 -- reported in the main thread
                failed.append(error)

        threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert store.version(ASHA) == 40
        assert store.verify().ok

    def test_one_of_many_writers_wins(self, store: Store) -> None:
        """Of commits that expect the same version exactly one succeeds."""
        outcomes: list[str] = []

        def work(name: int) -> None:
            try:
                store.commit(told(f"writer {name}"), expecting=0)
                outcomes.append("written")
            except StaleVersionError:
                outcomes.append("stale")

        threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["stale", "stale", "stale", "written"]

    def test_agrees_with_the_oracle(self) -> None:
        """After any history every question has the answer that ``MemoryStore`` gives."""
        asked = st.lists(st.tuples(texts, sources), min_size=1, max_size=2)
        histories = st.lists(st.tuples(st.booleans(), steps, st.integers(0, 5)), max_size=10)

        @settings(max_examples=self.examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(histories, asked, st.integers(0, 4))
        def compare(history: list[tuple[bool, Step, int]], questions: list[tuple[str, Source]], k: int) -> None:
            with TemporaryDirectory(ignore_cleanup_errors=True) as place:
                self.compare(Path(place), history, questions, k)

        compare()

    def compare(
        self, place: Path, history: list[tuple[bool, Step, int]], questions: list[tuple[str, Source]], k: int
    ) -> None:
        """Play a history on both stores; now and then the tested one is opened anew, or asked in between."""
        oracle, tested = MemoryStore(embedder="tested", dim=DIM), self.open(place)
        authors = [Author(ASHA), Author(RAVI)]
        try:
            for other, step, chance in history:
                revision = authors[other].write(step)
                assert tested.commit(revision) == oracle.commit(revision)
                if chance == 0 and self.persistent:
                    tested.close()
                    tested = self.open(place)
                elif chance == 1:
                    assert self.ask(tested, questions, k) == self.ask(oracle, questions, k)
            assert self.ask(tested, questions, k) == self.ask(oracle, questions, k)
            for scope in (ASHA, RAVI):
                assert self.read(tested, scope) == self.read(oracle, scope)
            assert tested.scopes() == oracle.scopes()
            assert tested.verify() == oracle.verify()
            assert tested.verify().ok
        finally:
            tested.close()

    def ask(self, store: Store, questions: list[tuple[str, Source]], k: int) -> list[object]:
        """The answers of ``rivals`` and ``search``."""
        probes = [probe_of(text, source) for text, source in questions]
        answers: list[object] = []
        for scope in (ASHA, RAVI):
            found, version = store.rivals(scope, probes, k)
            answers += [version, found]
            answers += [
                store.search(scope, probe, k, statuses=which) for probe in probes for which in (LIVE, frozenset(Status))
            ]
        return answers

    def read(self, store: Store, scope: Scope) -> list[object]:
        """Everything that can be read of a scope, but for digests: their nonces are random."""
        beliefs = store.beliefs(scope)
        names = [belief.id for belief in beliefs]
        return [
            beliefs,
            store.beliefs(scope, statuses=LIVE, newest_first=True, after=4, limit=3),
            store.get(scope, names),
            {name: vector.tolist() for name, vector in store.vectors(scope, names).items()},
            store.evidence(scope, [belief.claim.evidence_id for belief in beliefs]),
            store.brought(scope, [belief.claim.evidence_id for belief in beliefs[:3]]),
            store.edges(scope, names),
            store.edges(scope, names[:1]),
            [_undigested(entry) for entry in store.entries(scope)],
            [[entry.seq for entry in store.entries(scope, belief_id=name)] for name in names],
            store.sources(scope),
            store.version(scope),
        ]


def _undigested(entry: Entry) -> Entry:
    return replace(entry, digest="")
