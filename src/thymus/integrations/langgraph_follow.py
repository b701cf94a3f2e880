"""What a guarded LangGraph store shows at each key: it follows what the guard has decided since it last looked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar
from urllib.parse import quote as escaped

from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from thymus.integrations.langgraph_values import (
    RESERVED,
    Doc,
    Namespace,
    Pair,
    Place,
    State,
    digest,
    index_of,
    marks,
    shelf,
)

if TYPE_CHECKING:
    from thymus.core.provenance import Source
    from thymus.integrations.adapter import Adapter

KEPT: Final = 20
"""Values of one key that are kept although they were superseded or declined, for an undo."""
EVERY: Final = 1_000_000
_PAGE: Final = 1_000
_LONGEST_SCOPE: Final = 180

T = TypeVar("T")
Steps: TypeAlias = Generator[Any, Any, T]
"""What to do, without saying how: it yields operations for the wrapped store and calls of the guard, and is sent what
came of them. So there is one implementation for ``batch`` and ``abatch``."""


class GuardError(Exception):
    """The guard failed, not the wrapped store."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Following:
    """A guard, and what is shown of a store's values under it.

    :param source: who writes where nobody was noted.
    """

    def __init__(
        self,
        adapter: Adapter,
        source: Source,
        texts: Callable[[Mapping[str, Any]], str] | None,
        scope: Callable[[Namespace], str] | None,
    ) -> None:
        self._adapter, self._source, self._texts, self._scope = adapter, source, texts, scope
        self._guards: dict[str, Pair] = {}
        self._seen: dict[str, int] = {}

    def _soft(self, steps: Steps[T], what: str) -> Steps[T | None]:
        """The steps; ``None`` where the guard fails and that is to be survived."""
        try:
            return (yield from steps)
        except GuardError as failed:
            self._survive(failed.error, what)
            return None

    def _survive(self, error: Exception, what: str) -> None:
        with self._adapter.failures(what):
            raise error

    # Following the guard

    def _follow_under(self, prefix: Namespace) -> Steps[None]:
        condition = MatchCondition(match_type="prefix", path=(RESERVED, "key", *prefix))
        [known] = yield [ListNamespacesOp(match_conditions=(condition,), limit=EVERY)]
        for scope in dict.fromkeys(self.scope_of(tuple(namespace[2:])) for namespace in known):
            yield from self._follow(scope)

    def _follow(self, scope: str, also: Iterable[Place] = ()) -> Steps[None]:
        """Show what the guard says by now. Looks again after it wrote: others may have decided meanwhile.

        :param also: places to look at whether anything was decided on them or not.
        """
        pair, also = self.pair(scope), set(also)
        version = yield pair.version
        since = began = self._seen.get(scope)
        if since is None:
            [kept] = yield [GetOp((RESERVED, "scope"), digest(scope), refresh_ttl=False)]
            since = version if kept is None else int(kept.value["seq"])
        while version != since or also:
            changed = yield bound(pair.changed, since)
            places = (yield from self._places(scope, changed)) | also
            also = set()
            for place in sorted(places):
                yield from self._show(pair, place)
            since, version = version, (yield pair.version)
        if since != began:
            yield [PutOp((RESERVED, "scope"), digest(scope), {"seq": since, "scope": scope}, index=False)]
            self._seen[scope] = since

    def _places(self, scope: str, ids: Sequence[str]) -> Steps[set[Place]]:
        """Where the values stand that these memories are stated by."""
        places: set[Place] = set()
        for start in range(0, len(ids), _PAGE):
            found = yield [GetOp(index_of(scope), id_, refresh_ttl=False) for id_ in ids[start : start + _PAGE]]
            places |= {(tuple(at[0]), at[1]) for item in found if item for at in item.value["places"]}
        return places

    def _read(self, pair: Pair, place: Place) -> Steps[State]:
        wanted = SearchOp(shelf(place), {"at": digest(*place[0], place[1])}, _PAGE, refresh_ttl=False)
        item, marker, kept = yield [
            GetOp(*place, refresh_ttl=False),
            GetOp(marks(place), place[1], refresh_ttl=False),
            wanted,
        ]
        mark = marker.value if marker else {}
        found, page = {one.key: one for one in kept}, kept
        while len(page) == _PAGE:
            wanted = wanted._replace(offset=wanted.offset + _PAGE)
            [page] = yield [wanted]
            found |= {one.key: one for one in page}
        leading = mark.get("shown", "").rpartition(":")[0]
        if leading and leading not in found:  # pages shift where others write meanwhile: it must not be missed
            [one] = yield [GetOp(shelf(place), leading, refresh_ttl=False)]
            found |= {leading: one} if one else {}
        docs = [Doc(one.key, one.value) for one in found.values()]
        known = (yield bound(pair.known, [id_ for doc in docs for id_ in doc.ids])) if docs else {}
        state = State(item=item, docs=docs, known=known, shown=mark.get("shown", ""), count=mark.get("count", 0))
        if unsure := state.superseded_last():
            return dataclasses.replace(state, kept=(yield bound(pair.superseded_by_user, unsure)))
        return state

    def _show(self, pair: Pair, place: Place) -> Steps[None]:
        """Show at a key what of it stands, and erase what was forgotten."""
        state = yield from self._read(pair, place)
        if not state.docs and not state.shown:
            return
        gone = [doc for doc in state.docs if any(id_ in state.known and state.known[id_].erased for id_ in doc.ids)]
        standing = [doc for doc in state.docs if doc not in gone and state.stands(doc)]
        if len(standing) > 1:
            last = yield bound(pair.last_changes, max(doc.value["seq"] for doc in standing))
            standing.sort(key=lambda doc: state.rank(doc, last))
        leading = standing[-1] if standing else None
        if leading and leading.value["value"] is None:  # a request to delete that was granted
            yield from self._erase(pair, place, state.docs)
            return
        writes: list[PutOp] = []
        if leading and leading.name == state.shown and state.item is None:  # it has expired
            gone, leading = [*gone, leading], None
        if leading is None and state.shown:
            writes.append(PutOp(*place, None))
        elif leading and leading.name != state.shown:
            writes.append(leading.put(place))
        shown = leading.name if leading else ""
        if shown != state.shown:
            writes.append(PutOp(marks(place), place[1], {"shown": shown, "count": state.count}, index=False))
        rest = [doc for doc in state.docs if doc not in gone and doc is not leading and not state.is_open(doc)]
        rest.sort(key=lambda doc: -doc.value["n"])
        writes += [PutOp(shelf(place), doc.key, None) for doc in (*gone, *rest[KEPT:])]
        if writes:
            yield writes
        yield from self._unlist(pair, place, gone)

    def _erase(self, pair: Pair, place: Place, docs: Sequence[Doc], *, shown: bool = True) -> Steps[None]:
        """Values and what they state are gone, but for what is stated elsewhere too."""
        mine = yield from self._unlist(pair, place, docs)
        writes = [PutOp(shelf(place), doc.key, None) for doc in docs]
        if shown:
            [mark] = yield [GetOp(marks(place), place[1], refresh_ttl=False)]
            writes.append(PutOp(*place, None))
            if mark:  # the count goes on: no message has the id of one before
                writes.append(PutOp(marks(place), place[1], {**mark.value, "shown": ""}, index=False))
        yield writes
        yield bound(pair.forget, mine)

    def _unlist(self, pair: Pair, place: Place, docs: Sequence[Doc], *, take: bool = True) -> Steps[list[str]]:
        """Take a place from the index; the ids that stand nowhere else.

        :param take: or else only look.
        """
        ids = list(dict.fromkeys(id_ for doc in docs for id_ in doc.ids))
        if not ids:
            return []
        listed = yield [GetOp(index_of(pair.scope), id_, refresh_ttl=False) for id_ in ids]
        writes, alone = [], []
        for id_, item in zip(ids, listed, strict=True):
            others = [at for at in (item.value["places"] if item else ()) if (tuple(at[0]), at[1]) != place]
            writes.append(PutOp(index_of(pair.scope), id_, {"places": others} if others else None, index=False))
            alone += [] if others else [id_]
        if take:
            yield writes
        return alone

    def scope_of(self, namespace: Namespace) -> str:
        """The user id of the guard whose memory a namespace belongs to: no two namespaces have the same."""
        if self._scope is not None:
            return self._scope(namespace)
        joined = ".".join(
            escaped(label, safe="@:+/ ", errors="surrogatepass").replace(".", "%2E") for label in namespace
        )
        scope = f"langgraph:{joined}."
        return scope if len(scope) <= _LONGEST_SCOPE else f"{scope[: _LONGEST_SCOPE - 17]}#{digest(scope)}"

    def pair(self, scope: str) -> Pair:
        """The guards of a scope."""
        found = self._guards.get(scope)
        if found is None:
            found = self._guards.setdefault(scope, Pair(self._adapter.guard, scope))
        return found


def bound(call: Callable[..., T], *args: Any) -> Callable[[], T]:
    """A call of the guard, as a step."""
    return lambda: call(*args)
