"""``ThymusMemory``: Mem0's own methods over a guard that decides and a Mem0 that embeds, stores and retrieves."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, cast

from thymus import config
from thymus.aio import AsyncMemoryGuard
from thymus.core.beliefs import HELD_BACK, SHOWN, Belief, Status
from thymus.core.disclose import Memory as Record
from thymus.core.disclose import Recall
from thymus.core.gates import DEFAULT_GATE, get_gate
from thymus.core.policy import Policy, Showing
from thymus.core.provenance import USER, Source
from thymus.errors import ConfigError, InputError
from thymus.guard import MemoryGuard
from thymus.integrations.adapter import Adapter
from thymus.integrations.mem0 import adoption, items
from thymus.integrations.mem0 import messages as spoken
from thymus.integrations.mem0.adoption import Adoption, Speaker
from thymus.integrations.mem0.candidates import ASKED, Asked, Candidates
from thymus.integrations.mem0.mirror import SHELF, Beside, Item, Mirror, is_ours, known_as
from thymus.records import Outcome

if TYPE_CHECKING:
    import os

    from mem0 import Memory

    from thymus.core.claims import Scope
    from thymus.intake import Parts
    from thymus.ports import Store
    from thymus.records import Written
    from thymus.retelling import Progress

TOP_K: Final = 20
"""Mem0's own default."""
_UPDATED: Final = "Memory updated successfully!"
_EVENTS: Final = {Outcome.ADMITTED: "ADD", Outcome.REPLACED: "UPDATE"}


class ThymusMemory:
    """One user's memories in Mem0, guarded. Safe to use from several threads.

    The methods are those of Mem0's ``Memory``, with its arguments and results, and what Thymus adds: a ``source`` where
    something is written, labels and a ``notice`` where something is read. Ids are the guard's (``m_…``); those of Mem0
    are understood, too.

    :param memory: Mem0's ``Memory``. It stays yours to close.
    :param gate: the name of a gate or a ``Policy``; ``thymus-v4`` by default.
    :param user_id: whose memories they are; ``for_user`` gives those of somebody else.
    :param guard: an open guard to use, with its gate and its user.
    :param path: where the guard keeps its ledger: ``thymus.db`` beside Mem0's history database by default, and in this
        process where Mem0 keeps its history there.
    :param open_world, authenticated, ignored: names of the tools whose messages ``add`` is given: those that hand on
        what anybody wrote, those that you vouch for, those that are not learned from.
    :param on_notice: called with each notice, for the user.
    :param options: other arguments of ``MemoryGuard``, such as ``llm`` or ``judge``.
    :raises ConfigError, InputError: where these do not go together, or Mem0 takes no user of this name.
    """

    def __init__(
        self,
        memory: Memory,
        gate: str | Policy | None = None,
        user_id: str | None = None,
        *,
        guard: MemoryGuard | AsyncMemoryGuard | None = None,
        path: str | os.PathLike[str] | None = None,
        open_world: Iterable[str] = (),
        authenticated: Iterable[str] = (),
        ignored: Iterable[str] = (),
        on_notice: Callable[[str], object] | None = None,
        **options: Any,
    ) -> None:
        self.memory = memory
        self._owns = guard is None
        if guard is None:
            where = _beside(memory) if path is None else path
            whose = _fit(config.DEFAULT_USER if user_id is None else user_id)
            opened = MemoryGuard(where, gate=gate or DEFAULT_GATE, user_id=whose, **options)
        else:
            opened = guard.guard if isinstance(guard, AsyncMemoryGuard) else guard
            _agree(opened, gate, user_id, {"path": path, **options})
        self._mirrors: dict[str, Mirror] = {}
        self._serve(opened)
        self._adapter = Adapter(
            self.guard, open_world=open_world, authenticated=authenticated, ignored=ignored, on_notice=on_notice
        )

    def _serve(self, guard: MemoryGuard) -> None:
        whose = guard.user_id
        if whose.startswith(SHELF) or any(sign.isspace() for sign in whose):
            raise InputError(
                f"user_id {whose[:80]!r}: Mem0 takes none with spaces in it, and no user is called {SHELF}…"
            )
        self.guard, self._parts, self._scope = _seen_through_mem0(guard)
        """The guard that decides: its ``inbox``, ``resolve``, ``revoke``, ``explain`` and the rest."""
        # One a user, so that what was compared once need not be again, and no two write for the same user.
        self._mirror = self._mirrors.setdefault(self.user_id, Mirror(self.memory, self._store, self._scope))

    @property
    def _store(self) -> Store:
        return self._parts.store

    @property
    def user_id(self) -> str:
        """Whose memories these are."""
        return self.guard.user_id

    def for_user(self, user_id: str) -> Self:
        """The memories of another user, in the same Mem0 and ledger, by the same gate. Cheap: make one a request."""
        other = copy.copy(self)
        other._lend(self.guard.for_user(user_id))  # noqa: SLF001  (of this very class)
        return other

    def _lend(self, guard: MemoryGuard) -> None:
        self._owns = False
        self._serve(guard)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the ledger, where it was opened here. Mem0's own ``close`` is left to you."""
        if self._owns:
            self.guard.close()

    # Writing

    def add(
        self,
        messages: str | Mapping[str, Any] | list[Any],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = None,
        infer: bool = False,
        source: str | Source | None = None,
        origin: str | Source | None = None,
        authenticated: bool | None = None,
        derived_from: str | Source | Record | Iterable[str | Source | Record] = (),
        observed_at: datetime | None = None,
        message_id: str | None = None,
    ) -> dict[str, Any]:
        """Learn from a text, or from messages with roles. Mem0's language model is not asked.

        Without a ``source`` it speaks with the user's authority: never give it to a model as a tool.

        A text, and what has the role ``user``, is the user's own words unless ``source`` or ``origin`` says otherwise;
        with a ``name`` it is another person's. What has the role ``assistant`` is a model's report, derived from all
        that it was shown; ``tool`` is a tool's result, under its ``name``.

        :param source: whose words they are, as ``MemoryGuard.remember`` takes it: ``"tool:crm"``, ``"user"``.
        :param origin: who said what a tool or a channel handed on (``"email:a@b.example"``): then the words are theirs,
            whatever ``source`` is.
        :param authenticated: whether you verified that identity.
        :param metadata, agent_id, run_id, expiration_date: kept in Mem0 with each memory, as Mem0 does.
        :returns: ``{"results": [...]}``, one a claim and none where nothing is claimed. ``event`` is ADD, UPDATE (it
            replaced another) or NONE (it is held back, rejected or known); ``outcome`` and ``reasons`` say which.
        :raises InputError, SourceError: nothing was learned. What Mem0 raises comes after the ledger has it: it is not
            lost, and the next call gives it to Mem0 again.
        """
        self._mine(user_id)
        if infer:
            raise InputError(
                "infer=True would let a model mix what everybody said: leave it out, claims are found here"
            )
        speaker = source if origin is None else origin
        if isinstance(derived_from, (str, Source, Record)):
            derived_from = (derived_from,)
        said = spoken.Said(
            speaker=USER if speaker is None and authenticated is not None else speaker,
            authenticated=authenticated,
            derived_from=tuple(derived_from),
            observed_at=observed_at,
            message_id=message_id,
        )
        beside = Beside(metadata=_free(metadata), agent_id=agent_id, run_id=run_id, expiration_date=expiration_date)
        talk = self._adapter.conversation(run_id or "", user=self.user_id)
        with self._mirror.lock:
            written: list[Written] = []
            try:
                for message in spoken.read(messages):
                    written += spoken.learn(self.guard, self._adapter, talk, message, said, run_id=run_id)
            finally:  # what comes before a message that is refused was learned
                results = self._kept(written, beside)
            return {"results": results}

    def _kept(self, written: Iterable[Written], beside: Beside) -> list[Item]:
        """Have Mem0 follow, and say what became of each claim."""
        told = [(one, *what) for one in written for what in zip(one.memories, one.outcomes, strict=True)]
        fresh = {memory.id for _, memory, outcome in told if outcome is not Outcome.KNOWN}
        self._mirror.note(fresh, beside)
        self._mirror.follow(fresh=fresh)
        beliefs = self._store.get(self._scope, [memory.id for _, memory, _ in told])
        kept = {"user_id": self.user_id, "metadata": dict(beside.metadata)}
        return [
            items.item(beliefs[memory.id], self.guard.policy, kept)
            | {
                "event": _EVENTS.get(outcome, "NONE"),
                "outcome": outcome.value,
                "reasons": list(one.reasons),
                "replaced": list(one.replaced),
            }
            for one, memory, outcome in told
        ]

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        source: str | Source = USER,
        authenticated: bool | None = None,
    ) -> dict[str, Any]:
        """Put a text in a memory's place, or metadata beside it. Without a ``source`` it speaks with the user's
        authority: never give it to a model as a tool.

        The text is a claim with an id of its own, in ``results``; what it replaces is kept as superseded. By default it
        is the user who says so: on behalf of a model or a tool, name it as ``source``. Where the gate does not let that
        source replace the memory the text is held back against it, and ``message`` says so.

        :raises InputError: where there is no such memory, or it no longer stands, or nothing is to be updated.
        """
        if text is None and metadata is None:
            raise InputError("update changes the text or the metadata: give one of them")
        given = _free(metadata)
        with self._mirror.lock:
            self._mirror.follow()
            belief = self._named(memory_id)
            copies = self._mirror.copies(belief.id)
            if text is None:
                for one in copies:
                    self.memory.update(one["id"], metadata=given)
                return {"message": _UPDATED, "results": [self._read(belief)]}
            kept = Beside.of(copies[0]) if copies else Beside()
            written = self.guard.remember(text, source=source, authenticated=authenticated, over=[belief.id])
            results = self._kept([written], replace(kept, metadata={**kept.metadata, **given}))
        same = any(memory.id == belief.id for memory in written.memories)
        done = same or belief.id in written.replaced
        return {"message": _UPDATED if done else f"Not updated: {written.effect.value}", "results": results}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Erase a memory, held back or not, as the user's own decision: its text is gone from the ledger and from
        Mem0's store. Mem0's history database keeps what it deletes.

        :raises InputError: where there is no such memory.
        """
        with self._mirror.lock:
            self.guard.forget(self._named(memory_id).id)
            self._mirror.follow()
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Erase this user's memories, held back or not, and what is in Mem0 and was never adopted; only those of an
        agent or a run, where one is named.
        """
        self._mine(user_id)
        asked = {key: value for key, value in (("agent_id", agent_id), ("run_id", run_id)) if value is not None}
        with self._mirror.lock:
            self._mirror.follow()
            ids = map(known_as, self._mirror.kept(asked)) if asked else self._all_ids()
            for belief in self._store.get(self._scope, list(dict.fromkeys(ids))).values():
                if not belief.erased:
                    self.guard.forget(belief.id)
            self._mirror.take_out(asked)
            self._mirror.follow(lambda _: ())
        return {"message": "Memories deleted successfully!"}

    def reset(self) -> None:
        """``delete_all``. Mem0's own ``reset`` empties the store of every user, which is not one user's to do."""
        self.delete_all()

    # Reading

    def search(
        self,
        query: str,
        *,
        top_k: int = TOP_K,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        rerank: bool = False,
        explain: bool = False,
        show_expired: bool = False,
    ) -> dict[str, Any]:
        """Find what bears on a question: Mem0 finds candidates, Thymus decides which of them stand.

        :param top_k: how many memories there may be.
        :param filters: Mem0's filters. What is held back is told in the notice whatever they are.
        :param threshold: the similarity that Mem0 asks of a candidate.
        :param rerank, explain, show_expired: as in Mem0.
        :returns: ``results``, in which ``memory`` is what the model may read (outside claims are quoted and labelled)
            and ``text`` the bare words; ``context``, the same as lines; and ``notice``, for the user alone.
        """
        options: dict[str, Any] = {"rerank": rerank, "explain": explain, "show_expired": show_expired}
        if threshold is not None:
            options["threshold"] = threshold
        found, kept = self._recalled(query, top_k, filters, options)
        # A gate that labels shows what is contested, too.
        shown = [*found.memories, *(found.contested if self.guard.policy.showing is Showing.LABEL else ())]
        beliefs = self._store.get(self._scope, [memory.id for memory in shown])
        return {
            "results": [self._item(beliefs[memory.id], kept.get(memory.id)) for memory in shown],
            "notice": found.notice,
            "context": found.context,
        }

    def recall(self, query: str, *, k: int = 8, filters: Mapping[str, Any] | None = None) -> Recall:
        """``MemoryGuard.recall`` with Mem0's candidates."""
        return self._recalled(query, k, filters, {})[0]

    def _recalled(
        self, query: str, top_k: int, filters: Mapping[str, Any] | None, options: Mapping[str, Any]
    ) -> tuple[Recall, dict[str, Item]]:
        asked_of = self._filters(filters)
        if top_k == 0:
            return Recall(context="", notice="", memories=(), contested=()), {}
        self._mirror.follow()
        asked = Asked.of(self.memory, asked_of, **options)
        token = ASKED.set(asked)
        try:
            found = self.guard.recall(query, k=top_k)
        finally:
            ASKED.reset(token)
        talk = self._adapter.conversation(str(asked_of.get("run_id") or ""), user=self.user_id)
        talk.show(*found.memories, *found.contested)
        self._adapter.tell(found.notice)
        return found, asked.items

    def get(self, memory_id: str) -> Item | None:
        """One memory, however it stands; ``None`` where there is none of that id."""
        self._mirror.follow()
        belief = self._find(memory_id)
        return None if belief is None else self._read(belief)

    def get_all(
        self, *, filters: Mapping[str, Any] | None = None, top_k: int = TOP_K, show_expired: bool = False
    ) -> dict[str, Any]:
        """The active memories, as Mem0 lists them. ``guard.inbox()`` has those that are held back."""
        self._mirror.follow()
        found = self.memory.get_all(filters=self._filters(filters), top_k=top_k, show_expired=show_expired)["results"]
        beliefs = self._store.get(self._scope, [known_as(one) for one in found])
        active = {id_ for id_, belief in beliefs.items() if belief.status is Status.ACTIVE}
        return {"results": [self._item(beliefs[known_as(one)], one) for one in found if known_as(one) in active]}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """How a memory came to stand as it does, oldest first, in Mem0's shape; from the ledger, so that what was held
        back is there, too (event NONE). ``guard.explain`` says why.

        :raises InputError: where there is no such memory.
        """
        belief = self._named(memory_id)
        return [
            items.row(belief, event, change, self._store.get(self._scope, change.by))
            for event in self.guard.history(belief.id)
            for change in event.changes
        ]

    # What was there before, and what went wrong

    def adopt(self, source: Speaker = None, *, dry_run: bool = False, on_step: Progress | None = None) -> Adoption:
        """Take in what is in Mem0 and was not written through Thymus. Until then it is not shown.

        Each memory is read in the order in which Mem0 got it and decided on like any claim. What is held back leaves
        the user's id in Mem0 for the shelf; what states nothing is left where it is. Doing it again changes nothing.

        :param source: who said them: one for all (``"user"`` where you know that your application stored nothing but
            the user's own words), or a function that is given Mem0's item and says, ``None`` for what it does not know.
            Without one they are a model's report, whatever role Mem0 noted: then preferences and instructions, which
            only the user may give, wait in the inbox.
        :param dry_run: only say what would happen, as far as what stands and what is held back in the ledger tells.
        :param on_step: called with how many were done so far, and of how many.
        """
        with self._mirror.lock:
            if dry_run:
                with self._copy() as guard:
                    return adoption.adopt(guard, self._parts, self._mirror, source, dry_run=True, on_step=on_step)
            self._mirror.follow()
            return adoption.adopt(self.guard, self._parts, self._mirror, source, dry_run=False, on_step=on_step)

    def _copy(self) -> MemoryGuard:
        """A guard that knows what stands and what is held back here, and is gone afterwards."""
        parts = self._parts
        guard = MemoryGuard(
            gate=self.guard.policy,
            user_id=self.user_id,
            judge=parts.judge,
            embedder=parts.embedder,
            extractor=parts.extractor,
            clock=parts.clock,
        )
        for memory in sorted([*self.guard.memories(), *self.guard.inbox()], key=lambda one: one.observed_at):
            guard.remember(
                memory.text,
                source=memory.source,
                derived_from=memory.lineage,
                observed_at=memory.observed_at,
                hold=memory.status in HELD_BACK and not memory.source.is_user,
            )
        return guard

    def sync(self) -> int:
        """Compare Mem0 with the ledger and mend what differs; how many of Mem0's memories that took.

        It is done by itself when this is first used, and what failed is done again at the next call. Call it where
        somebody wrote to Mem0 past Thymus.
        """
        return self._mirror.sync()

    # Within

    def _mine(self, user_id: object) -> None:
        if user_id is not None and str(user_id).strip() != self.user_id:
            raise InputError(f"this is {self.user_id!r}'s memory: for_user({str(user_id)[:80]!r}) gives another's")

    def _filters(self, filters: Mapping[str, Any] | None) -> dict[str, Any]:
        """Mem0's filters, for this user and what is active."""
        given = dict(filters or {})
        self._mine(given.get("user_id"))
        return given | {"user_id": self.user_id, "thymus_status": Status.ACTIVE.value}

    def _all_ids(self) -> list[str]:
        return [belief.id for belief in self._store.beliefs(self._scope, statuses=SHOWN)]

    def _find(self, memory_id: str) -> Belief | None:
        """The belief of this id, the guard's or Mem0's; none for a repetition, or where it was erased."""
        if not isinstance(memory_id, str):
            raise InputError(f"a memory is named by its id, a string, not {type(memory_id).__name__}")
        found = self._store.get(self._scope, [memory_id]).get(memory_id)
        if found is None and _is_mem0s(memory_id):
            one = self.memory.get(memory_id)
            copies = [one] if one is not None else self._mirror.adopted_as(memory_id)
            found = next(iter(self._store.get(self._scope, list(map(known_as, copies))).values()), None)
        return None if found is None or found.erased or found.status is Status.REPEATED else found

    def _named(self, memory_id: str) -> Belief:
        found = self._find(memory_id)
        if found is None:
            raise InputError(f"Memory with id {memory_id[:80]} not found for user {self.user_id!r}")
        return found

    def _read(self, belief: Belief) -> Item:
        return self._item(belief, next(iter(self._mirror.copies(belief.id)), None))

    def _item(self, belief: Belief, kept: Item | None) -> Item:
        return items.item(belief, self.guard.policy, {**(kept or {}), "user_id": self.user_id})


def _fit(user_id: str) -> str:
    """A user's id that Mem0 takes, too, and that is nobody's shelf."""
    if str(user_id).strip().startswith(SHELF) or len(str(user_id).split()) > 1:  # what is no name the guard refuses
        raise InputError(
            f"user_id {str(user_id)[:80]!r}: Mem0 takes none with spaces in it, and no user is called {SHELF}…"
        )
    return user_id


def _agree(guard: MemoryGuard, gate: str | Policy | None, user_id: str | None, others: Mapping[str, object]) -> None:
    """Nothing is asked for that an open guard does otherwise."""
    if asked := [name for name, value in others.items() if value is not None]:
        raise ConfigError(f"the guard is open, so {asked[0]} comes too late: leave it out, or leave out the guard")
    if gate is not None and get_gate(gate) != guard.policy:
        raise ConfigError(f"the guard decides by {guard.policy.name}: leave gate out, or open another guard")
    if user_id is not None and user_id != guard.user_id:
        raise ConfigError(f"the guard is {guard.user_id!r}'s: pass guard.for_user(user_id)")


def _free(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """An application's metadata.

    :raises InputError: where it says what only the ledger may.
    """
    if taken := sorted(str(key) for key in metadata or {} if is_ours(str(key))):
        raise InputError(f"the metadata has {taken[0][:40]!r}: names that begin with thymus_ are kept by Thymus")
    return dict(metadata or {})


def _is_mem0s(memory_id: str) -> bool:
    """Whether an id may be one of Mem0's: some of its stores fail at anything else."""
    try:
        uuid.UUID(memory_id)
    except ValueError:
        return False
    return True


def _beside(memory: Any) -> Path | None:
    """``thymus.db`` beside Mem0's own database; ``None`` where that is in the process."""
    history = str(memory.config.history_db_path)
    return None if history == config.IN_MEMORY else Path(history).parent / "thymus.db"


def _seen_through_mem0(guard: MemoryGuard) -> tuple[MemoryGuard, Parts, Scope]:
    """The guard with all that it shares, over a store that asks Mem0 in a search."""
    parts = guard._parts  # noqa: SLF001  (the same guard, looking its memories up in another index)
    if not isinstance(parts.store, Candidates):
        parts = replace(parts, store=cast("Store", Candidates(parts.store)))
    view = copy.copy(guard)
    view._parts = parts  # noqa: SLF001
    return view, parts, guard._scope  # noqa: SLF001
