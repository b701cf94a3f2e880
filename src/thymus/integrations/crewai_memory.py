"""CrewAI's storage protocol over Thymus, for a crew's own memory (``thymus.integrations.crewai`` makes one)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Self

from crewai.flow.flow_context import current_flow_method_name
from crewai.memory.types import MemoryRecord, ScopeInfo

from thymus.conversation import UNKNOWN, Conversation
from thymus.core.beliefs import Status
from thymus.core.provenance import ASSISTANT
from thymus.core.quoting import name, standing
from thymus.integrations.adapter import LONGEST_QUESTION

if TYPE_CHECKING:
    from crewai.memory.storage.backend import StorageBackend

    from thymus.core.disclose import Memory
    from thymus.integrations.crewai import ThymusRun
    from thymus.integrations.runs import Runs

_IDS: Final = "thymus_ids"
_LABEL: Final = "thymus_source"
_SAVING: Final = frozenset({"parallel_find_similar", "execute_plans"})
"""Steps of ``crewai.memory.encoding_flow`` in which a model merges and deletes what is stored."""
_MOST: Final = 50_000
"""Records of a scope that are listed, counted or deleted in one call; and the most that a search looks through."""


class ThymusStorage:
    """CrewAI's storage protocol: what a crew's memory saves passes Thymus, and what is held back is not found.

    The words of a record are those that Thymus keeps: reported by a model, and derived from all that had entered its
    conversation. One that is contested, quarantined, rejected, superseded or revoked is withheld from every call that a
    model's prompt is made from, its scope and its categories too; ``withheld`` lists it. CrewAI's own consolidation, in
    which a model rewrites and deletes records, finds nothing to work on: what contradicts what is Thymus's to decide.
    """

    def __init__(self, runs: Runs, inner: StorageBackend, current: Callable[[], ThymusRun | None]) -> None:
        self._runs, self.inner, self._current = runs, inner, current
        self._outside = Conversation(runs.guard, before=(UNKNOWN,))

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self  # a crew that is copied keeps its memory

    def _talk(self) -> Conversation:
        """The run's conversation; outside of one nobody knows what a model had read."""
        run = self._current()
        return self._outside if run is None else run.talk

    # Writing

    def save(self, records: list[MemoryRecord]) -> None:
        """Keep records, each as far as Thymus takes it for a statement: one that states nothing is not kept."""
        with self._runs.failures("a crew's memory was not saved"):
            kept = [record for one in records if (record := self._written(self._talk(), one)) is not None]
            if kept:
                self.inner.save(kept)

    def _written(self, talk: Conversation, record: MemoryRecord) -> MemoryRecord | None:
        memories = talk.write(record.content).memories
        said = "\n".join(memory.text for memory in memories)  # and nothing that was no statement
        return _marked(record, said, [memory.id for memory in memories]) if memories else None

    def update(self, record: MemoryRecord) -> None:
        """Replace a record; new words that Thymus holds back are kept beside the old ones, which stay available."""
        if _consolidating():
            return
        with self._runs.failures("a crew's memory was not updated"):
            talk, old = self._talk(), self.inner.get_record(record.id)
            if old is None or not _known(talk, old):
                return
            if record.content == old.content:
                self.inner.update(_marked(record, old.content, _ids(old)))
            elif (new := self._written(talk, record)) is not None:
                if _stands(new, _known(talk, new)):
                    self.inner.update(new)
                else:
                    self.inner.save([MemoryRecord(**new.model_dump(exclude={"id"}), embedding=new.embedding)])

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Erase this user's records that meet all criteria, here and in Thymus; those that are held back too."""
        if _consolidating():
            return 0
        talk, given = self._talk(), self.inner.list_records(scope_prefix, limit=_MOST)
        known = _known_of(talk, given)
        found = {
            record.id: memories
            for record in given
            if _in(record, scope_prefix)
            and (not record_ids or record.id in record_ids)
            and (not categories or set(categories) & set(record.categories))
            and (older_than is None or record.created_at < older_than)
            and all(record.metadata.get(key) == value for key, value in (metadata_filter or {}).items())
            and (memories := known[record.id])
        }
        if not found:
            return 0
        still = {id_ for record in given if record.id not in found for id_ in _ids(record)}
        for memory in {one.id: one for memories in found.values() for one in memories}.values():
            if memory.source.channel == ASSISTANT and memory.id not in still:  # not the user's own, in the same words
                talk.guard.forget(memory.id)
        return self.inner.delete(record_ids=list(found))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Erase this user's records in a scope; all of them by default."""
        self.delete(scope_prefix)

    # Reading

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """The nearest records that stand, labelled with their sources; the user is told of those that do not."""
        if _consolidating():
            return []
        found: list[tuple[MemoryRecord, float]] = []
        with self._runs.failures("a crew's memory was not searched"):
            found += self._found(
                limit,
                lambda wanted: self.inner.search(
                    query_embedding, scope_prefix, categories, metadata_filter, wanted, min_score
                ),
            )
        return found

    def _found(
        self, limit: int, search: Callable[[int], list[tuple[MemoryRecord, float]]]
    ) -> list[tuple[MemoryRecord, float]]:
        talk, wanted = self._talk(), max(1, limit)
        while True:
            hits = search(wanted)
            known = _known_of(talk, [record for record, _ in hits])
            own = [(record, score, memories) for record, score in hits if _remembered(memories := known[record.id])]
            stand = [hit for hit in own if _stands(hit[0], hit[2])]
            if len(stand) >= limit or len(hits) < wanted or wanted >= _MOST:
                break
            wanted = min(wanted * 4, _MOST)  # a flood of what is held back must not crowd out what stands
        aside = self._told(talk, own[0][0].content) if own else frozenset()
        stand = [hit for hit in stand if aside.isdisjoint(_ids(hit[0]))][:limit]
        return [(_labelled(talk, record, memories), score) for record, score, memories in stand]

    def _told(self, talk: Conversation, nearest: str) -> frozenset[str]:
        """Tell the user what stands aside, and which memories those are. There is no question here, only its vector:
        the nearest record, whether it stands or not, is asked about in its place."""
        found = talk.guard.recall(nearest[:LONGEST_QUESTION], k=self._runs.k)
        talk.show(*found.contested)
        run = self._current()
        if run is None:
            self._runs.tell(found.notice)
        else:
            self._runs.tell_once(talk, found.notice)
        return frozenset(memory.id for memory in found.contested)

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """A record that stands, by its id."""
        record, talk = self.inner.get_record(record_id), self._talk()
        if record is None or not _stands(record, memories := _known(talk, record)):
            return None
        return _labelled(talk, record, memories)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Records that stand, newest first."""
        return self._listed(scope_prefix, stands=True)[offset : offset + limit]

    def withheld(self, scope_prefix: str | None = None, limit: int = 200) -> list[MemoryRecord]:
        """Records that do not stand, newest first: for the user, never for a model."""
        return self._listed(scope_prefix, stands=False)[:limit]

    def sweep(self) -> int:
        """Erase from CrewAI's storage what ``MemoryGuard.forget`` has erased, which knows nothing of that copy."""
        talk = self._talk()
        known = _known_of(talk, self.inner.list_records(limit=_MOST))
        gone = [id_ for id_, memories in known.items() if memories and not _remembered(memories)]
        return self.inner.delete(record_ids=gone) if gone else 0

    def _listed(self, scope_prefix: str | None, *, stands: bool) -> list[MemoryRecord]:
        talk = self._talk()
        listed = [one for one in self.inner.list_records(scope_prefix, limit=_MOST) if _in(one, scope_prefix)]
        known = _known_of(talk, listed)
        return [
            _labelled(talk, record, memories) if stands else record
            for record in listed
            if _remembered(memories := known[record.id]) and _stands(record, memories) is stands
        ]

    def count(self, scope_prefix: str | None = None) -> int:
        """How many records stand in a scope."""
        return len(self._listed(scope_prefix, stands=True))

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """What stands in a scope."""
        records = self._listed(scope, stands=True)
        times = [record.created_at for record in records]
        return ScopeInfo(
            path=scope.rstrip("/") or "/",
            record_count=len(records),
            categories=sorted({one for record in records for one in record.categories}),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """The scopes right below another one in which something stands."""
        above = _path(parent) + "/"
        below = [_path(record.scope) for record in self._listed(parent, stands=True)]
        return sorted({above + one[len(above) :].split("/", 1)[0] for one in below if one.startswith(above)})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """The categories of what stands, and how many records have each."""
        counts: dict[str, int] = {}
        for record in self._listed(scope_prefix, stands=True):
            for category in record.categories:
                counts[category] = counts.get(category, 0) + 1
        return counts

    def touch_records(self, record_ids: list[str]) -> None:
        """Note that records were used, where the inner storage does."""
        touch = getattr(self.inner, "touch_records", None)
        if touch is not None:
            touch(record_ids)

    def close(self) -> None:
        """Close the inner storage; the guard is yours to close."""
        close = getattr(self.inner, "close", None)
        if close is not None:
            close()

    async def asave(self, records: list[MemoryRecord]) -> None:
        """``save``, in a thread."""
        await asyncio.to_thread(self.save, records)

    async def asearch(self, *args: Any, **known: Any) -> list[tuple[MemoryRecord, float]]:
        """``search``, in a thread."""
        return await asyncio.to_thread(self.search, *args, **known)

    async def adelete(self, *args: Any, **known: Any) -> int:
        """``delete``, in a thread."""
        return await asyncio.to_thread(self.delete, *args, **known)


def _consolidating() -> bool:
    """Whether CrewAI is saving, and asks what is similar in order to have a model merge and delete it."""
    return current_flow_method_name.get() in _SAVING


def _marked(record: MemoryRecord, content: str, ids: list[str]) -> MemoryRecord:
    metadata = {key: value for key, value in record.metadata.items() if key != _LABEL}
    return record.model_copy(update={"content": content, "metadata": {**metadata, _IDS: ids}})


def _ids(record: MemoryRecord) -> list[str]:
    ids = record.metadata.get(_IDS)
    return [one for one in ids if isinstance(one, str)] if isinstance(ids, list) else []


def _known(talk: Conversation, record: MemoryRecord) -> list[Memory]:
    """The memories behind a record, without text where they were forgotten; none where it is another user's, or was
    never written through Thymus."""
    return _known_of(talk, [record])[record.id]


def _known_of(talk: Conversation, records: Iterable[MemoryRecord]) -> dict[str, list[Memory]]:
    """``_known`` of each by its id, in one read of the store."""
    ids = {record.id: _ids(record) for record in records}
    memories = talk.guard.get_many(one for some in ids.values() for one in some)
    return {id_: [memories[one] for one in some if one in memories] for id_, some in ids.items()}


def _remembered(memories: list[Memory]) -> bool:
    return any(memory.text for memory in memories)


def _stands(record: MemoryRecord, memories: list[Memory]) -> bool:
    ids = _ids(record)
    return bool(ids) and len(memories) == len(ids) and all(memory.status is Status.ACTIVE for memory in memories)


def _labelled(talk: Conversation, record: MemoryRecord, memories: list[Memory]) -> MemoryRecord:
    """The record as a model may see it, with whose words it is; they have then entered its conversation."""
    talk.show(*memories)
    metadata = {key: value for key, value in record.metadata.items() if key not in (_IDS, _LABEL)}
    if not all(memory.source.is_user and not memory.lineage for memory in memories):
        said = "; ".join(sorted({f"{name(one.source)} ({standing(one.source)})" for one in memories}))
        origins = sorted({name(source) for memory in memories for source in memory.lineage})[:5]
        metadata[_LABEL] = f"{said}, derived from {', '.join(origins)}" if origins else said
    return record.model_copy(update={"metadata": metadata})


def _path(scope: str) -> str:
    bare = scope.strip("/")
    return f"/{bare}" if bare else ""


def _in(record: MemoryRecord, scope: str | None) -> bool:
    above = _path(scope or "")
    return not above or _path(record.scope) == above or _path(record.scope).startswith(above + "/")
