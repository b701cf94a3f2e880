"""``MemoryGuard``: the enforcement point. It gathers what a decision needs, asks ``core`` and commits the answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self

from thymus import amendments, config, retrieval
from thymus.core.beliefs import HELD_BACK, LIVE, SHOWN, Act, Belief, Change, Edge, Revision, Status
from thymus.core.claims import Scope
from thymus.core.disclose import Memory, Recall
from thymus.core.gates import DEFAULT_GATE, get_gate
from thymus.core.policy import Policy
from thymus.core.provenance import Source, lineage_of
from thymus.core.relations import REPEATS
from thymus.core.replay import Revocation
from thymus.errors import InputError, MemoryNotFoundError, StaleVersionError
from thymus.intake import Message, Parts, Prepared, prepare
from thymus.ports import Verification
from thymus.records import Event, Explanation, SourceRecord, Written
from thymus.settlement import ATTEMPTS, foresee, settle
from thymus.stores.texts import Library
from thymus.streams import in_batches, side_by_side

if TYPE_CHECKING:
    import os
    from types import TracebackType

    from thymus.core.action_rules import ActionPolicy
    from thymus.core.actions import Verdict
    from thymus.llm import Model
    from thymus.ports import Clock, Embedder, Extractor, Judge, Store
    from thymus.retelling import Progress, Retelling
    from thymus.turns import Turn

LONGEST_MESSAGE: Final = 10_000_000
"""Characters. A longer message is refused rather than cut: nothing of it would be lost unseen."""


class MemoryGuard:
    """The long-term memory of one user, guarded.

    Keeps every claim, decides by provenance what the model may see, and tells the user about the rest. Needs no key, no
    network and no model server. Safe to use from several threads and, on a file, from several processes.

    :param path: ``"memory.db"`` (SQLite), ``"memory.json"`` (a readable snapshot), ``":memory:"`` or ``None`` (gone
        when the process ends).
    :param gate: the name of a gate (``thymus.GATES``) or a ``Policy`` of your own.
    :param llm: a language model that extracts claims, and judges where the bundled judge is unsure:
        ``anthropic:MODEL``, ``openai:MODEL``, ``openai:MODEL@http://HOST/v1``, ``ollama:MODEL``, ``claude-code``,
        ``codex`` or an open one (``thymus.llm.open_model``). Where it fails the bundled rules and judge take over, and
        ``Written.fallbacks`` says so. Or another judge by name: ``typed``, ``nli:…``.
    :param max_cost: US dollars that the model may cost in this guard's life; then the bundled judge goes on alone.
    :param user_id: whose memory it is; two users never see each other's.
    :param tenant: whose user it is, where one store serves several organisations.
    :param judge, embedder: by name, or an object that fits ``thymus.ports``.
    :raises ThymusError: each subclass says what would help.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        llm: str | Model | None = None,
        max_cost: float | None = None,
        gate: str | Policy = DEFAULT_GATE,
        user_id: str = config.DEFAULT_USER,
        tenant: str = config.DEFAULT_TENANT,
        judge: str | Judge | None = None,
        embedder: str | Embedder = config.DEFAULT_EMBEDDER,
        extractor: Extractor | None = None,
        store: Store | None = None,
        clock: Clock = config.now,
    ) -> None:
        self.policy = get_gate(gate)
        self._scope = Scope(tenant=_named(tenant, "tenant"), user=_named(user_id, "user_id"))
        embeds = config.LazyEmbedder(embedder) if isinstance(embedder, str) else embedder
        model, judging = config.open_models(llm, judge, embeds, max_cost)
        self.llm = model
        """The language model behind its limits (``llm.spent`` says what it took), or ``None``."""
        self._parts = Parts(
            judge=judging,
            store=store or config.open_store(path, embeds),
            extractor=extractor or config.open_extractor(model if llm is not None else None),
            embedder=embeds,
            clock=clock,
        )
        self._writing = threading.RLock()
        self._library = Library()
        self._set_aside = retrieval.SetAside()
        self._asked = retrieval.Asked()

    def for_user(self, user_id: str, *, tenant: str | None = None) -> Self:
        """A guard for another user over the same store, judge and gate. Closing either closes the store.

        :param tenant: whose user it is; by default of the same tenant.
        """
        other = object.__new__(type(self))
        other.policy = self.policy
        whose = self._scope.tenant if tenant is None else _named(tenant, "tenant")
        other._scope = Scope(tenant=whose, user=_named(user_id, "user_id"))
        other.llm = self.llm
        other._parts = self._parts
        other._writing = threading.RLock()
        other._library = self._library
        other._set_aside = retrieval.SetAside()
        other._asked = retrieval.Asked()
        return other

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the store and the model; closing twice is fine."""
        self._parts.store.close()
        if self.llm is not None:
            self.llm.close()

    @property
    def user_id(self) -> str:
        """Whose memory this is."""
        return self._scope.user

    @property
    def tenant(self) -> str:
        """Whose user that is."""
        return self._scope.tenant

    # Writing

    def remember(
        self,
        text: str,
        *,
        source: str | Source = "user",
        authenticated: bool | None = None,
        observed_at: datetime | None = None,
        derived_from: Iterable[str | Source | Memory] = (),
        message_id: str | None = None,
        hold: bool = False,
        over: Iterable[str] = (),
    ) -> Written:
        """Learn from a message.

        :param source: who said it: ``"user"``, ``"email:a@b.example"``, ``"tool:calendar"``, ``"web:shop.example"``,
            ``"user:ravi"`` for another person, or a ``Source``.
        :param authenticated: whether you verified that it is that identity; it never says that it is true.
        :param observed_at: when it was said or arrived; a time without zone is taken as UTC. Now, by default.
        :param derived_from: memories (or their ids) and sources that it was made from, as a summary is: it then has no
            more authority than the weakest of them.
        :param message_id: the channel's own id of the message; the same message changes nothing a second time.
        :param hold: keep what it states from the model until the user settles it, whatever the gate says: for what you
            know that nobody vouches for.
        :param over: ids of the memories whose place it is to take, where you know that without a judge: it has the key
            of that record, or edits it. It replaces them where the gate lets its source do so; where not, it is held
            back against them.
        :raises InputError, SourceError, StoreError: nothing was learned; the message says what would help.
        """
        message = self.message(
            text,
            source=source,
            authenticated=authenticated,
            observed_at=observed_at,
            derived_from=derived_from,
            message_id=message_id,
            hold=hold,
            over=over,
        )
        prepared = prepare(self._parts, [message])
        if self.llm is not None:
            foresee(self._parts, self._scope, prepared[0])
        return self._settle(prepared)[0]

    def remember_many(self, messages: Iterable[Message], *, at_once: int | None = None) -> Iterator[Written]:
        """Learn from a stream of messages (made by ``message``), faster than one by one; one result each, in order.

        Memory use does not grow with the stream. A result that was yielded is on disk. A language model is asked about
        several messages at the same time; what they come to is decided one after the other.

        :param at_once: how many questions to a language model are under way at the same time; 8 by default.
        :raises InputError: where ``at_once`` is no such number.
        """
        if at_once is not None and (not _is_number(at_once) or at_once < 1):
            raise InputError("at_once is how many questions are asked at the same time: a whole number, 1 or more")
        stream = iter(messages)
        if self.llm is None:
            return in_batches(self._parts, self._settle, stream)
        return side_by_side(self._parts, self._scope, self._settle, stream, self.llm, at_once or self.llm.at_once)

    def _settle(self, prepared: Sequence[Prepared]) -> list[Written]:
        with self._writing:
            return [settle(self._parts, self.policy, self._scope, one) for one in prepared]

    def message(
        self,
        text: str,
        *,
        source: str | Source = "user",
        authenticated: bool | None = None,
        observed_at: datetime | None = None,
        derived_from: Iterable[str | Source | Memory] = (),
        message_id: str | None = None,
        hold: bool = False,
        over: Iterable[str] = (),
    ) -> Message:
        """A message checked as ``remember`` checks it, for ``remember_many``; the same arguments and errors.

        HTML becomes the text that a person could read; hidden parts of it are no evidence of anything.
        """
        speaker = Source.parse(source, authenticated=authenticated, user_id=self._scope.user)
        if hold and speaker.is_user:
            raise InputError("hold is for what others said: the user's own words need nobody to vouch for them")
        return Message.read(
            _text(text, "message"),
            source=speaker,
            lineage=self._lineage(derived_from),
            observed_at=_zoned(observed_at),
            message_id=message_id,
            hold=hold,
            over=tuple(self._standing(id_).id for id_ in _ids(over)),
        )

    def _lineage(self, derived_from: Iterable[str | Source | Memory]) -> tuple[Source, ...]:
        if isinstance(derived_from, (str, Source, Memory)):
            derived_from = (derived_from,)
        inputs: list[tuple[Source, tuple[Source, ...]]] = []
        for given in derived_from:
            if isinstance(given, Memory):
                inputs.append((given.source, given.lineage))
            elif isinstance(given, str) and given.startswith("m_"):
                claim = self._belief(given).claim
                inputs.append((claim.source, claim.lineage))
            else:
                inputs.append((Source.parse(given, user_id=self._scope.user), ()))
        return lineage_of(inputs)

    def turn(self) -> Turn:
        """A turn of an assistant, within which what it writes is derived from the outside content that it has read.

        ``with guard.turn() as turn:`` then ``turn.recall``, ``turn.read`` and ``turn.remember``.
        """
        from thymus.turns import Turn

        return Turn(self)

    # Reading

    def recall(self, question: str, *, k: int = 8) -> Recall:
        """Find what bears on a question.

        :param k: how many memories the context may hold.
        :returns: ``context`` for the model, ``notice`` for the user, and the records behind both.
        """
        question = _text(question, "question")
        if not _is_number(k) or k < 1:
            raise InputError("k is how many memories the context may hold: give a whole number, 1 or more")
        with self._asked.probe(self._parts.embedder, question) as probe:
            found = retrieval.recall(self._parts, self.policy, self._scope, probe, k)
        self._set_aside.note(found.contested)
        return found

    def inbox(self, *, limit: int | None = None) -> list[Memory]:
        """Contested and quarantined claims, newest first; each says which memories it was held back against."""
        limit = _limit(limit)
        held = self._parts.store.beliefs(self._scope, statuses=HELD_BACK, newest_first=True, limit=limit)
        return self._records(held)

    def _records(self, beliefs: Sequence[Belief]) -> list[Memory]:
        return retrieval.records(self._parts.store, self._scope, beliefs)

    def memories(self, *, status: Status | None = Status.ACTIVE, limit: int | None = None) -> list[Memory]:
        """The memories of a status (``None`` for all), newest first."""
        if status is not None and status not in list(SHOWN):
            raise InputError(
                f"a status is one of {', '.join(sorted(SHOWN))}, or None for all, not {str(status)[:40]!r}"
            )
        statuses = SHOWN if status is None else frozenset({Status(status)})
        limit = _limit(limit)
        return self._records(self._parts.store.beliefs(self._scope, statuses=statuses, newest_first=True, limit=limit))

    def get(self, memory_id: str) -> Memory:
        """One memory.

        :raises MemoryNotFoundError: where this user has none of that id.
        """
        return self._records([self._belief(memory_id)])[0]

    def get_many(self, memory_ids: Iterable[str]) -> dict[str, Memory]:
        """Those of these memories that this user has, by id, in one read of the store."""
        ids = list(dict.fromkeys(memory_ids))
        found = self._parts.store.get(self._scope, ids)
        return {one.id: one for one in self._records([found[id_] for id_ in ids if id_ in found])}

    def _belief(self, memory_id: str) -> Belief:
        if not isinstance(memory_id, str):
            raise InputError(
                f"a memory is named by its id, a string, not {type(memory_id).__name__}: "
                "memories() and inbox() give the ids"
            )
        found = self._parts.store.get(self._scope, [memory_id]).get(memory_id)
        if found is None:
            raise MemoryNotFoundError(
                f"user {self._scope.user!r} has no memory {memory_id[:80]!r}: memories() and inbox() give the ids"
            )
        return found

    def _standing(self, memory_id: str) -> Belief:
        belief = self._belief(memory_id)
        if belief.status not in LIVE:
            raise InputError(f"{memory_id} is {belief.status}: over names memories that stand or are held back")
        return belief

    # Acting

    def check_action(
        self,
        tool: str,
        args: Mapping[str, object],
        *,
        said: str | Iterable[str] = (),
        policy: ActionPolicy | None = None,
    ) -> Verdict:
        """Say whether an agent may call a tool: which memories the values in its arguments rest on, and with what
        authority. Nothing is called and nothing is written.

        :param args: the arguments, in JSON's types; each value in them is looked up by its meaning.
        :param said: what the user said in the conversation that led to the call; it counts as the user's word.
        :param policy: which tools are how sensitive, and the rules (``thymus.core.action_rules``).
        :returns: ``answer`` is allow, ask or deny, the most careful of its ``findings``; ``str()`` of it says why.
        :raises InputError: where the arguments hold what cannot be read (bytes, objects, NaN), are too deep or too
            large, or refer to themselves.
        """
        from thymus import actions
        from thymus.core.action_rules import ActionPolicy

        tool, spoken = actions.read_call(tool, said)
        policy = ActionPolicy() if policy is None else policy
        if not isinstance(policy, ActionPolicy):
            raise InputError("policy is an ActionPolicy: ActionPolicy().adjusted(tools={…}) is one")
        texts = self._library.of(self._parts.store, self._scope)
        return actions.check(self._parts, texts, self._scope, policy, tool, args, spoken)

    # The user's decisions

    def resolve(self, memory_id: str, accept: bool, *, over: Iterable[str] = (), dry_run: bool = False) -> Event:
        """Settle a claim as the user decided: one that is held back, or that stood aside in a recall.

        Accepting makes it active and supersedes the memories that it contradicts; declining rejects it.

        :param over: ids of the memories that it takes the place of, where accepted. By default those that the judge
            says it contradicts, and those that this guard's latest recall of it set it aside for.
        :param dry_run: only say what would change.
        :raises InputError: where there is nothing to settle, or ``over`` names no other memory.
        """
        if not isinstance(accept, bool):
            raise InputError(f"accept is True or False, not {accept!r}")
        over = _ids(over)
        if over and not accept:
            raise InputError("over is for a claim that is accepted: leave it out to decline it")
        if memory_id in over:
            raise InputError("a memory cannot take its own place: over names those that it is right instead of")
        with self._writing:
            belief = self._belief(memory_id)
            over = (over or self._set_aside.against(belief)) if accept else ()
            changes = amendments.resolve(self._parts.store, self._scope, belief, accept=accept, over=over)
            named = {"over": " ".join(over)} if over else {}
            note = {"memory": memory_id, "accept": str(accept).lower(), **named}
            if dry_run:
                return Event(seq=0, at=self._parts.clock(), act=Act.RESOLVE, changes=tuple(changes), note=note)
            return self._commit(Act.RESOLVE, changes, note=note)

    def forget(self, memory_id: str) -> Event:
        """Erase a memory: its text is gone from everything that is kept, an empty ledger entry stays. Not undoable."""
        with self._writing:
            changes = amendments.forget(self._parts.store, self._scope, self._belief(memory_id))
            erased = tuple(change.belief for change in changes)
            return self._commit(Act.FORGET, changes, note={"memory": memory_id}, erase=erased)

    def revoke(
        self,
        source: str | Source,
        *,
        since: datetime | None = None,
        dry_run: bool = False,
        confirm: Callable[[Event], bool] | None = None,
        on_step: Progress | None = None,
    ) -> Event:
        """Make it as if a source had never spoken: what it said, or had a part in, is retracted, and what it had held
        back or superseded stands again.

        The history since its first word is told again without it, so this takes longer the longer ago that was.

        :param since: only from this time on (a mailbox that was taken over for an hour): what arrived then or later,
            and what says that it is of then or later. Both times count, or else backdating would escape; what was
            ingested from files arrived when it was ingested, whatever date it bears.
        :param dry_run: only say what would change.
        :param confirm: asked with what would change before anything is written; where it says no, nothing is.
        :param on_step: called with how many acts were told again so far, and of how many.
        """
        revoked = Source.parse(source, user_id=self._scope.user)
        if revoked.names_user:
            raise InputError("the user cannot be revoked: forget(memory_id) erases one of the user's own memories")
        since = _zoned(since)
        note = {"source": revoked.key, **({"since": since.isoformat()} if since else {})}
        revocation = Revocation(source=revoked.key, since=since)

        def tell() -> Retelling:
            return amendments.revoke(self._parts, self.policy, self._scope, revocation, on_step)

        return self._retell(tell, Act.REVOKE, "user-revoked", note, confirm=_no if dry_run else confirm)

    def undo(self, seq: int, *, on_step: Progress | None = None) -> Event:
        """Make it as if an act (a ``seq`` from ``history``) had not been done: a resolve, revoke, remember or undo.

        Forgetting cannot be undone: the text is gone.

        :param on_step: as for ``revoke``.
        :raises InputError: where there is no such act, or it cannot be undone.
        """
        if not _is_number(seq):
            raise InputError(f"an act is named by its number, as history(memory_id) gives it, not {str(seq)[:40]!r}")

        def tell() -> Retelling:
            return amendments.undo(self._parts, self.policy, self._scope, seq, on_step)

        return self._retell(tell, Act.UNDO, "user-undid", {"act": str(seq)})

    def _retell(
        self,
        tell: Callable[[], Retelling],
        act: Act,
        rule: str,
        note: dict[str, str],
        *,
        confirm: Callable[[Event], bool] | None = None,
    ) -> Event:
        """Commit what a retelling comes to. Others may write meanwhile: what they did is then told as well."""
        retelling, agreed = tell(), None
        while True:
            with closing(retelling):
                for _ in range(ATTEMPTS):
                    changes = [replace(change, rules=(rule,)) for change in retelling.changes]
                    at = self._parts.clock()
                    proposed = Event(seq=0, at=at, act=act, changes=tuple(changes), note=note)
                    if not retelling.matters or (confirm and changes != agreed and not confirm(proposed)):
                        return proposed
                    agreed = changes
                    kept, version = retelling.edges, retelling.version
                    try:
                        with self._writing:
                            return self._commit(act, changes, note=note, edges=kept, expecting=version)
                    except StaleVersionError:
                        if not retelling.catch_up():
                            break
            retelling = tell()

    def _commit(
        self,
        act: Act,
        changes: Sequence[Change],
        *,
        note: dict[str, str],
        edges: Sequence[Edge] = (),
        erase: tuple[str, ...] = (),
        expecting: int | None = None,
    ) -> Event:
        at = self._parts.clock()
        revision = Revision(
            scope=self._scope,
            act=act,
            at=at,
            changes=tuple(changes),
            edges=tuple(edges),
            note=note,
            erase=erase,
        )
        seq = self._parts.store.commit(revision, expecting=expecting)
        return Event(seq=seq, at=at, act=act, changes=tuple(changes), note=note)

    # Accounts

    def history(self, memory_id: str) -> list[Event]:
        """Every act that changed this memory, oldest first."""
        self._belief(memory_id)
        return [
            Event(
                seq=entry.seq,
                at=entry.at,
                act=entry.act,
                changes=tuple(change for change in entry.changes if change.belief == memory_id),
                note=entry.note,
            )
            for entry in self._parts.store.entries(self._scope, belief_id=memory_id)
        ]

    def ledger(self, *, after: int = 0, limit: int | None = None) -> list[Event]:
        """The acts on this user's memory, oldest first; no text of any message is in them.

        :param after: the act (``Event.seq``) to go on after.
        """
        entries = islice(self._parts.store.entries(self._scope, after=after), _limit(limit))
        return [
            Event(
                seq=entry.seq,
                at=entry.at,
                act=entry.act,
                changes=tuple(change for change in entry.changes if change.after in SHOWN),
                note=entry.note,
            )
            for entry in entries
        ]

    def explain(self, memory_id: str) -> Explanation:
        """Why a memory stands as it does, from the rules that decided and what the judge saw."""
        from thymus.explain import explain

        belief = self._belief(memory_id)
        edges = [edge for edge in self._parts.store.edges(self._scope, [memory_id]) if edge.relation != REPEATS]
        others = self._parts.store.get(
            self._scope, list({id_ for e in edges for id_ in (e.claim, e.rival)} - {memory_id})
        )
        evidence = self._parts.store.evidence(self._scope, [belief.claim.evidence_id]).get(belief.claim.evidence_id)
        proof = evidence.source.proof if evidence else ()
        aside = self._parts.store.get(self._scope, list(self._set_aside.against(belief)))
        return explain(
            belief,
            self.history(memory_id),
            edges,
            others,
            policy=self.policy,
            proof=proof,
            aside=tuple(aside.values()),
        )

    def sources(self) -> list[SourceRecord]:
        """Who has asserted what, how it stands and what rests on it: one record a source, by the number of its
        memories.
        """
        from thymus.testimony import source_records

        return source_records(self._parts.store, self._scope)

    def export(self) -> dict[str, Any]:
        """Everything that is kept for this user, in JSON's types."""
        store, scope = self._parts.store, self._scope
        beliefs = store.beliefs(scope, statuses=SHOWN)
        hidden = {belief.id for belief in store.beliefs(scope, statuses=frozenset(Status) - SHOWN)}
        return {
            "tenant": scope.tenant,
            "user": scope.user,
            "gate": self.policy.name,
            "memories": [
                memory.to_dict() | {"evidence": belief.claim.evidence_id, "span": list(belief.claim.span)}
                for belief, memory in zip(beliefs, self._records(beliefs), strict=True)
            ],
            "history": [
                Event(seq=e.seq, at=e.at, act=e.act, changes=changes, note=e.note).to_dict()
                for e in store.entries(scope)
                if (changes := tuple(change for change in e.changes if change.belief not in hidden))
            ],
        }

    def version(self) -> int:
        """How many acts this user's ledger has: it grows with each, whoever or whatever process made it, and is the
        cheapest question to a store."""
        return self._parts.store.version(self._scope)

    def verify(self, *, own: bool = False) -> Verification:
        """Check the whole store, every user's part of it: ``problems`` names each changed, missing or reordered row.

        :param own: check this user's memory alone, without the file around it.
        """
        return self._parts.store.verify(self._scope if own else None)


def _ids(over: Iterable[str]) -> tuple[str, ...]:
    over = (over,) if isinstance(over, str) else tuple(over)
    if not all(isinstance(id_, str) for id_ in over):
        raise InputError("over names memories by their ids")
    return over


def _no(_: Event) -> bool:
    return False


def _is_number(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)


def _limit(given: int | None) -> int | None:
    if given is not None and (not _is_number(given) or given < 0):
        raise InputError("limit is how many to give: a whole number, or None for all")
    return given


def _named(given: object, what: str) -> str:
    if not isinstance(given, str) or not given.strip() or len(given) > 200:
        raise InputError(f"{what} is a name of 1 to 200 characters")
    return _well_formed(given.strip())


def _text(given: object, what: str) -> str:
    if isinstance(given, (bytes, bytearray)):
        raise InputError(f"a {what} is text: decode the bytes first, or let `thymus ingest` read the file")
    if not isinstance(given, str):
        raise InputError(f"a {what} is text, not {type(given).__name__}")
    if not given.strip():
        raise InputError(f"the {what} is empty: nothing was done")
    if len(given) > LONGEST_MESSAGE:
        raise InputError(
            f"the {what} has {len(given):,} characters; the limit is {LONGEST_MESSAGE:,}: hand it in in parts"
        )
    return _well_formed(given)


def _well_formed(text: str) -> str:
    """The text with lone surrogates, which no file or index can hold, replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _zoned(at: object) -> datetime | None:
    if at is None:
        return None
    if not isinstance(at, datetime):
        raise InputError(f"a time is a datetime, not {type(at).__name__}")
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
