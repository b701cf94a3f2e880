"""What a guarded LangGraph store does, step by step. Nothing waits here: a step is yielded to whoever can take it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast
from urllib.parse import quote as escaped

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchOp,
)

from thymus.conversation import UNKNOWN
from thymus.core.beliefs import HELD_BACK, Status
from thymus.core.provenance import Source
from thymus.core.quoting import name, quote
from thymus.errors import InputError
from thymus.integrations import keyed
from thymus.integrations.langgraph_values import (
    RESERVED,
    Doc,
    Namespace,
    Pair,
    Place,
    State,
    Value,
    Who,
    digest,
    index_of,
    marks,
    message_id,
    shelf,
)
from thymus.integrations.writing import writer

if TYPE_CHECKING:
    from thymus.core.beliefs import Belief
    from thymus.integrations.adapter import Adapter
    from thymus.records import Explanation, Written

KEPT: Final = 20
"""Values of one key that are kept although they were superseded or declined, for an undo."""
_PAGE: Final = 1_000
_ATTEMPTS: Final = 12
_EVERY: Final = 1_000_000
_LONGEST_SCOPE: Final = 180
_LONGEST_QUESTION: Final = 2_000
_SHORTEST_QUESTION: Final = 3

T = TypeVar("T")
Steps: TypeAlias = Generator[Any, Any, T]
"""What to do, without saying how: it yields operations for the wrapped store and calls of the guard, and is sent what
came of them. So there is one implementation for ``batch`` and ``abatch``."""


class GuardError(Exception):
    """The guard failed, not the wrapped store."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Desk:
    """A guard, and what a store's operations come to under it.

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

    # Reading

    def batch(self, ops: list[Op]) -> Steps[list[Result]]:
        """Reads see what stood before; of several puts at one key the last counts: as LangGraph's own stores."""
        results: list[Result] = [None] * len(ops)
        puts: dict[Place, PutOp] = {}
        yield from self._gets(ops, results)
        for at, op in enumerate(ops):
            if isinstance(op, SearchOp):
                found = results[at] = yield from self._search(op)
                yield from self._enter(found)
            elif isinstance(op, ListNamespacesOp):
                results[at] = yield from self._namespaces(op)
            elif isinstance(op, PutOp):
                puts[op.namespace, op.key] = _checked(op)
            elif not isinstance(op, GetOp):
                raise ValueError(f"Unknown operation type: {type(op)}")  # noqa: TRY004  (as LangGraph's own)
        for put in puts.values():
            done = yield from self._soft(self._put(put), "a value was put unguarded")
            if not done:
                yield [put]
        return results

    def _gets(self, ops: list[Op], results: list[Result]) -> Steps[None]:
        asked = {at: op for at, op in enumerate(ops) if isinstance(op, GetOp) and not _is_reserved(op.namespace)}
        if asked:
            for scope in dict.fromkeys(self.scope_of(op.namespace) for op in asked.values()):
                yield from self._soft(self._follow(scope), "what a get shows may be out of date")
            items = yield list(asked.values())
            for at, found in zip(asked, items, strict=True):
                results[at] = found
            yield from self._enter(items)

    def _enter(self, items: Sequence[Item | None]) -> Steps[None]:
        """What a tool reads here has entered its conversation, as the words of whoever put it."""
        _, talk = writer() or (None, None)
        found = [item for item in items if item is not None] if talk is not None else []
        if talk is None or not found:
            return
        places = [(item.namespace, item.key) for item in found]
        noted = yield [GetOp(marks(place), place[1], refresh_ttl=False) for place in places]
        names = [mark.value["shown"].rpartition(":")[0] if mark else "" for mark in noted]
        docs = yield [GetOp(shelf(at), doc, refresh_ttl=False) for at, doc in zip(places, names, strict=True)]
        for item, kept in zip(found, docs, strict=True):
            text = self._text_of(item.namespace, item.key, item.value)
            for source in Doc(kept.key, kept.value).sources if kept else [UNKNOWN]:
                talk.read(text[: keyed.LONGEST], source=source, all_of_it=len(text) <= keyed.LONGEST)

    def _text_of(self, namespace: Namespace, key: str, value: Mapping[str, Any]) -> str:
        return self._texts(value) if self._texts else keyed.text_of(namespace, key, value)

    def _search(self, op: SearchOp) -> Steps[list[Any]]:
        """What the wrapped store finds, without what cannot stand beside it before this question."""
        if _is_reserved(op.namespace_prefix):
            return []
        yield from self._soft(self._follow_under(op.namespace_prefix), "what a search shows may be out of date")
        found: list[Any] = yield from self._found(op)
        if not op.query or len(op.query.strip()) < _SHORTEST_QUESTION or min(op.limit, op.offset) < 0:
            return found
        aside: set[Place] = set()
        asked: set[str] = set()
        end = op.offset + op.limit
        while True:
            scopes = {self.scope_of(item.namespace) for item in found} | {self.scope_of(op.namespace_prefix)}
            for scope in sorted(scopes - asked):
                aside |= (yield from self._soft(self._aside(scope, op.query), "a search was not adjudicated")) or set()
            asked |= scopes
            if not aside:
                return found
            found = yield from self._found(op._replace(offset=0, limit=end + len(aside)))
            if {self.scope_of(item.namespace) for item in found} <= asked:
                return [item for item in found if (item.namespace, item.key) not in aside][op.offset : end]

    def _found(self, op: SearchOp) -> Steps[list[Any]]:
        """A search that sees nothing of what is reserved: below the root it cannot, at the root it goes by labels."""
        if op.namespace_prefix:
            return (yield [op])[0]  # type: ignore[no-any-return]
        roots: list[Namespace] = yield from self._namespaces(ListNamespacesOp(max_depth=1, limit=_EVERY))
        if len(roots) == 1:
            return (yield [op._replace(namespace_prefix=roots[0])])[0]  # type: ignore[no-any-return]
        end = op.offset + op.limit
        every = yield [op._replace(namespace_prefix=root, offset=0, limit=end) for root in roots]
        items = [item for part in every for item in part]
        if op.query:
            items.sort(key=lambda item: -1.0 if item.score is None else item.score, reverse=True)
        return items[op.offset : end]

    def _namespaces(self, op: ListNamespacesOp) -> Steps[list[Namespace]]:
        roots = [one.path[0] for one in op.match_conditions or () if one.match_type == "prefix" and one.path]
        if RESERVED in roots:
            return []
        if any(root != "*" for root in roots):
            return (yield [op])[0]  # type: ignore[no-any-return]
        end, more = op.offset + op.limit, _PAGE
        while True:
            got: list[Namespace] = (yield [op._replace(offset=0, limit=end + more)])[0]
            own = [namespace for namespace in got if not _is_reserved(namespace)]
            if len(own) >= end or len(got) < end + more:
                return own[op.offset : end]
            more *= 8

    def _aside(self, scope: str, query: str) -> Steps[set[Place]]:
        """Where values stand that this question sets aside; the user is told of them and of what is held back."""
        pair = self.pair(scope)
        recalled = yield lambda: pair.lines.recall(query[:_LONGEST_QUESTION], k=self._adapter.k)
        self._adapter.tell(recalled.notice)
        aside = [
            one.id
            for one in recalled.contested
            if one.status is Status.ACTIVE and not (one.source.is_user and not one.lineage)
        ]
        return (yield from self._places(scope, aside))

    # Following the guard

    def _follow_under(self, prefix: Namespace) -> Steps[None]:
        condition = MatchCondition(match_type="prefix", path=(RESERVED, "key", *prefix))
        [known] = yield [ListNamespacesOp(match_conditions=(condition,), limit=_EVERY)]
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
            changed = yield _bound(pair.changed, since)
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
        item, marker, kept = yield [
            GetOp(*place, refresh_ttl=False),
            GetOp(marks(place), place[1], refresh_ttl=False),
            SearchOp(shelf(place), {"at": digest(*place[0], place[1])}, _PAGE, refresh_ttl=False),
        ]
        docs = [Doc(one.key, one.value) for one in kept]
        known = (yield _bound(pair.known, [id_ for doc in docs for id_ in doc.ids])) if docs else {}
        mark = marker.value if marker else {}
        state = State(item=item, docs=docs, known=known, shown=mark.get("shown", ""), count=mark.get("count", 0))
        if unsure := state.superseded_last():
            return dataclasses.replace(state, kept=(yield _bound(pair.superseded_by_user, unsure)))
        return state

    def _show(self, pair: Pair, place: Place) -> Steps[None]:
        """Show at a key what of it stands, and erase what was forgotten."""
        state = yield from self._read(pair, place)
        if not state.docs and not state.shown:
            return
        gone = [doc for doc in state.docs if any(id_ in state.known and state.known[id_].erased for id_ in doc.ids)]
        standing = [doc for doc in state.docs if doc not in gone and state.stands(doc)]
        if len(standing) > 1:
            last = yield _bound(pair.last_changes, max(doc.value["seq"] for doc in standing))
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
        yield _bound(pair.forget, mine)

    def _unlist(self, pair: Pair, place: Place, docs: Sequence[Doc]) -> Steps[list[str]]:
        """Take a place from the index; the ids that stand nowhere else."""
        ids = list(dict.fromkeys(id_ for doc in docs for id_ in doc.ids))
        if not ids:
            return []
        listed = yield [GetOp(index_of(pair.scope), id_, refresh_ttl=False) for id_ in ids]
        writes, alone = [], []
        for id_, item in zip(ids, listed, strict=True):
            others = [at for at in (item.value["places"] if item else ()) if (tuple(at[0]), at[1]) != place]
            writes.append(PutOp(index_of(pair.scope), id_, {"places": others} if others else None, index=False))
            alone += [] if others else [id_]
        yield writes
        return alone

    # Writing

    def _put(self, op: PutOp, *, by: Source | None = None) -> Steps[bool]:
        place, pair = (op.namespace, op.key), self.pair(self.scope_of(op.namespace))
        who = Who(by, ()) if by else self._who(pair)
        yield from self._follow(pair.scope)
        for _ in range(_ATTEMPTS):
            state = yield from self._read(pair, place)
            if op.value is None:
                done = yield from self._delete(op, pair, state, who)
            else:
                done = yield from self._keep(op, pair, state, who)
            if done:
                return True
        raise GuardError(InputError(f"others kept writing at {op.key[:80]!r}: put it again"))

    def _keep(self, op: PutOp, pair: Pair, state: State, who: Who) -> Steps[bool]:
        place = (op.namespace, op.key)
        current = state.current
        before = max(
            (doc for doc in state.docs if doc.speakers[0] == who.keys[0]), key=lambda d: d.value["n"], default=None
        )
        if current is not None and current is not before and current.value["value"] == op.value and not who.is_user:
            return True  # it only says what stands
        if before is not None and before.value["value"] == op.value:  # the same call again
            if before is current and (who.is_user or set(who.keys) <= set(before.speakers)):
                again = Doc(before.key, {**before.value, "index": op.index, "ttl": op.ttl})
                yield [again.put(place), PutOp(shelf(place), again.key, again.value, index=False)]
            if before is current or not who.is_user:
                return True
        number = state.count + 1
        decided = yield _bound(self._decide, pair, op, state, who, number)
        if decided is None:  # what it was to take the place of is gone
            return False
        written, is_data = decided
        seq = yield pair.version
        doc = Doc.new(place, op, who, written, number=number, seq=seq, is_data=is_data)
        listed = yield [GetOp(index_of(pair.scope), id_, refresh_ttl=False) for id_ in doc.ids]
        at = [list(op.namespace), op.key]
        known = [item.value["places"] if item else [] for item in listed]
        yield [
            PutOp(shelf(place), doc.key, doc.value, index=False),
            PutOp(marks(place), op.key, {"shown": state.shown, "count": number}, index=False),
            *(
                PutOp(index_of(pair.scope), id_, {"places": [*places, at]}, index=False)
                for id_, places in zip(doc.ids, known, strict=True)
                if at not in places
            ),
        ]
        yield from self._follow(pair.scope, [place])
        yield from self._tell(pair, place, doc)
        if current is not None and is_data and state.is_own_data(who) and state.is_mine(who) and current.key != doc.key:
            yield from self._erase(pair, place, [current], shown=False)  # what states nothing has no history
            yield from self._follow(pair.scope, [place])
        return True

    def _decide(self, pair: Pair, op: PutOp, state: State, who: Who, number: int) -> tuple[Written, bool] | None:
        """What the guard makes of a value, and whether it is data that states nothing; ``None`` to look again."""
        value = cast("Mapping[str, Any]", op.value)
        text = self._text_of(op.namespace, op.key, value)
        over = state.to_replace(text, who)
        try:
            return self._learn(pair, op, text, state, who, message_id(op, number), over) or (
                self._hold(pair, op, value, state, who, message_id(op, number)),
                False,
            )
        except InputError:
            if pair.are_live([*over, *state.live(state.current)]):
                raise
            return None

    def _learn(
        self, pair: Pair, op: PutOp, text: str, state: State, who: Who, id_: str, over: list[str]
    ) -> tuple[Written, bool] | None:
        """Learn what a value states; ``None`` where it cannot be told, or does not take the place of what stands."""
        may = state.is_vacant or who.is_user or state.is_own_data(who)
        if not who.is_user and (len(text) > keyed.LONGEST or not (may or over or state.is_mine(who))):
            return None
        known: dict[str, Any] = {"source": who.source, "derived_from": who.lineage, "over": over}
        if text.strip():
            written = pair.lines.remember(text[: keyed.LONGEST], message_id=id_, **known)
            took = may or state.is_mine(who) or not set(over).isdisjoint(written.replaced)
            if written.memories:
                stands = all(one.status is Status.ACTIVE for one in written.memories)
                return (written, False) if took or not stands else None
        if may or (state.is_mine(who) and who.verified):
            for data in dict.fromkeys(keyed.data_text(op.namespace, op.key, who.source, said) for said in (text, "")):
                written = pair.note(data[: keyed.LONGEST], id_, **known)
                if written.memories:
                    return written, True
        return None

    def _hold(self, pair: Pair, op: PutOp, value: Mapping[str, Any], state: State, who: Who, id_: str) -> Written:
        """Hold a value back, whatever it states."""
        whole = f"{keyed.label(op.namespace, op.key)}{keyed.whole(value)}"[: keyed.LONGEST]
        for text in (whole, keyed.data_text(op.namespace, op.key, who.source, "")):
            written = pair.whole.remember(
                text,
                source=who.source,
                derived_from=who.lineage,
                message_id=id_,
                hold=True,
                over=state.live(state.current),
            )
            if written.memories:
                return written
        raise InputError(f"nothing of the value of {op.key[:80]!r} can be recorded: put it under another key")

    def _delete(self, op: PutOp, pair: Pair, state: State, who: Who) -> Steps[bool]:
        place, current = (op.namespace, op.key), state.current
        if who.is_user or not (state.docs or state.item):
            yield from self._erase(pair, place, state.docs)
            yield from self._follow(pair.scope)
            return True
        if state.is_mine(who) and (who.verified or state.is_own_data(who)):
            yield from self._erase(
                pair, place, [doc for doc in state.docs if set(doc.speakers) == set(who.keys)], shown=False
            )
            yield from self._follow(pair.scope, [place])
            return True
        if state.item is None:
            return True
        since = current.value["n"] if current else 0
        if any(
            doc.value["value"] is None and doc.speakers[0] == who.keys[0] and doc.value["n"] > since
            for doc in state.docs
        ):
            return True  # it waits already, or was declined
        text = f"{keyed.label(op.namespace, op.key)}is to be deleted"
        over, id_ = state.live(current), f"{message_id(op, state.count + 1)}/delete"
        asked = yield lambda: pair.ask(text, source=who.source, derived_from=who.lineage, over=over, message_id=id_)
        if asked is None:
            return False
        seq = yield pair.version
        doc = Doc.new(place, op, who, asked, number=state.count + 1, seq=seq, is_data=False)
        yield [
            PutOp(shelf(place), doc.key, doc.value, index=False),
            PutOp(marks(place), op.key, {"shown": state.shown, "count": state.count + 1}, index=False),
            *(
                PutOp(index_of(pair.scope), id_, {"places": [[list(op.namespace), op.key]]}, index=False)
                for id_ in doc.ids
            ),
        ]
        yield from self._follow(pair.scope, [place])
        yield from self._tell(pair, place, doc)
        return True

    def _tell(self, pair: Pair, place: Place, doc: Doc) -> Steps[None]:
        """Tell the user of a value that was withheld as it was put."""
        known: dict[str, Belief] = yield _bound(pair.known, doc.ids)
        if doc.value["value"] is None:
            what = f"asks to delete {quote(place[1])}; it is kept"
        elif all(one.status in (Status.ACTIVE, Status.SUPERSEDED) for one in known.values()):
            return
        else:
            said = " ".join(one.claim.text for one in known.values())
            what = f"says {quote(said)} at {quote(place[1])}; it is withheld"
        whose = ", ".join(dict.fromkeys(map(name, doc.sources)))
        self._adapter.tell(f"{whose} {what} until you decide.")

    # The user's side

    def _values(self, pair: Pair, place: Place) -> Steps[list[tuple[Doc, Value]]]:
        state = yield from self._read(pair, place)
        values = []
        for doc in sorted(state.docs, key=lambda doc: -doc.value["n"]):
            source, *lineage = doc.sources
            value = Value(
                id=doc.ids[0],
                namespace=place[0],
                key=place[1],
                value=doc.value["value"],
                source=source,
                lineage=tuple(lineage),
                at=datetime.fromisoformat(doc.value["put_at"]),
                status=state.status(doc),
                shown=doc is state.current,
                memories=tuple(doc.ids),
                contradicts=(yield _bound(pair.against, [id_ for id_ in doc.ids if id_ in state.known])),
            )
            values.append((doc, value))
        return values

    def contested(self, prefix: Namespace, query: str | None) -> Steps[list[Value]]:
        """What waits for the user under a prefix."""
        yield from self._follow_under(prefix)
        asked: dict[str, set[str]] = {}
        found: list[Value] = []
        [marks] = yield [SearchOp((RESERVED, "key", *prefix), limit=_EVERY, refresh_ttl=False)]
        for mark in marks:
            place = (tuple(mark.namespace[2:]), mark.key)
            pair = self.pair(self.scope_of(place[0]))
            if query is not None and pair.scope not in asked:
                recalled = yield _bound(pair.lines.recall, query)
                asked[pair.scope] = {one.id for one in recalled.contested}
            values = yield from self._values(pair, place)
            found += [
                value
                for doc, value in values
                if _waits(doc, value) and (query is None or not asked[pair.scope].isdisjoint(value.memories))
            ]
        return sorted(found, key=lambda value: value.at, reverse=True)

    def history(self, namespace: Namespace, key: str) -> Steps[list[Value]]:
        """What is kept for a key."""
        pair = self.pair(self.scope_of(namespace))
        yield from self._follow(pair.scope)
        return [value for _, value in (yield from self._values(pair, (namespace, key)))]

    def explain(self, namespace: Namespace, key: str) -> Steps[list[Explanation]]:
        """Why each value of a key stands as it does."""
        values = yield from self.history(namespace, key)
        pair = self.pair(self.scope_of(namespace))
        ids = dict.fromkeys(id_ for value in values for id_ in value.memories)
        return (yield lambda: [pair.lines.explain(id_) for id_ in ids])  # type: ignore[no-any-return]

    def notice(self, namespace: Namespace, query: str) -> Steps[str]:
        """What the user should know beside an answer."""
        pair = self.pair(self.scope_of(namespace))
        return (yield _bound(pair.lines.recall, query)).notice  # type: ignore[no-any-return]

    def resolve(self, namespace: Namespace, which: str, accept: bool) -> Steps[None]:
        """Settle what waits under an id or a key."""
        pair = self.pair(self.scope_of(namespace))
        yield from self._follow(pair.scope)
        places = {place for place in (yield from self._places(pair.scope, [which])) if place[0] == namespace}
        waiting: list[tuple[Place, Doc, Value]] = []
        for place in places or {(namespace, which)}:
            for doc, value in (yield from self._values(pair, place)):
                if _waits(doc, value) and (which == place[1] or which in doc.ids):
                    waiting.append((place, doc, value))
        if len({tuple(doc.ids) for _, doc, _ in waiting}) != 1:
            several = "several values are" if waiting else "no value is"
            raise InputError(f"{several} withheld under {which[:80]!r}: contested(namespace) gives the id of each")
        place, doc, _ = waiting[0]
        if doc.value["unasked"]:  # it spoke in the user's name, which only the user can
            if accept:
                yield from self._put(doc.put(place), by=Source.user())
            yield [PutOp(shelf(place), doc.key, None)]
            yield from self._unlist(pair, place, [doc])
        else:
            over: list[str] = []
            for at, _, _ in waiting if accept else ():
                state = yield from self._read(pair, at)
                over += [id_ for id_ in state.live(state.current) if id_ not in doc.ids]
            yield _bound(pair.settle, doc.ids, accept, over)
        yield from self._follow(pair.scope, [at for at, _, _ in waiting])

    # Whose

    def _who(self, pair: Pair) -> Who:
        noted, talk = writer() or (self._source, None)
        source = Source.parse(noted, user_id=pair.lines.user_id)
        return Who(source, () if talk is None or source.is_user else talk.entered)

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


def _bound(call: Callable[..., T], *args: Any) -> Callable[[], T]:
    return lambda: call(*args)


def _waits(doc: Doc, value: Value) -> bool:
    return value.status in HELD_BACK or (doc.value["unasked"] and value.status is Status.REJECTED)


def _checked(op: PutOp) -> PutOp:
    if _is_reserved(op.namespace):
        raise InvalidNamespaceError(f"namespaces that begin with {RESERVED!r} belong to the guard")
    return op


def _is_reserved(namespace: Sequence[str]) -> bool:
    return tuple(namespace[:1]) == (RESERVED,)
