"""What a guarded LangGraph store does, step by step. Nothing waits here: a step is yielded to whoever can take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
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
from thymus.integrations.adapter import LONGEST_QUESTION, SHORTEST_QUESTION
from thymus.integrations.langgraph_follow import EVERY, Following, GuardError, Steps, bound
from thymus.integrations.langgraph_values import (
    RESERVED,
    Doc,
    Namespace,
    Pair,
    Place,
    State,
    Value,
    Who,
    index_of,
    marks,
    message_id,
    shelf,
)
from thymus.integrations.writing import writer

if TYPE_CHECKING:
    from thymus.core.beliefs import Belief
    from thymus.records import Explanation, Written

MOST_WAITING: Final = 50
"""Values of one source that wait for the user at one key; past that its oldest are declined, and the user is told."""
_PAGE: Final = 1_000
_ATTEMPTS: Final = 12


class Desk(Following):
    """A guard, and what a store's operations come to under it."""

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
        if not op.query or len(op.query.strip()) < SHORTEST_QUESTION or min(op.limit, op.offset) < 0:
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
            return (yield from self._under(op))
        roots: list[Namespace] = yield from self._namespaces(ListNamespacesOp(max_depth=1, limit=EVERY))
        if len(roots) == 1:
            return (yield from self._under(op._replace(namespace_prefix=roots[0])))
        end, items = op.offset + op.limit, []
        for root in roots:
            items += yield from self._under(op._replace(namespace_prefix=root, offset=0, limit=end))
        if op.query:
            items.sort(key=lambda item: -1.0 if item.score is None else item.score, reverse=True)
        return items[op.offset : end]

    def _under(self, op: SearchOp) -> Steps[list[Any]]:
        """A search that finds nothing beside its namespace: some stores compare the beginning of a text."""
        found: list[Any] = (yield [op])[0]
        if all(_is_under(item.namespace, op.namespace_prefix) for item in found):
            return found
        end = more = op.offset + op.limit
        while True:
            more = max(_PAGE, more * 8)
            got = (yield [op._replace(offset=0, limit=more)])[0]
            own = [item for item in got if _is_under(item.namespace, op.namespace_prefix)]
            if len(own) >= end or len(got) < more:
                return own[op.offset : end]

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
        recalled = yield lambda: pair.lines.recall(query[:LONGEST_QUESTION], k=self._adapter.k)
        self._adapter.tell(recalled.notice)
        aside = [
            one.id
            for one in recalled.contested
            if one.status is Status.ACTIVE and not (one.source.is_user and not one.lineage)
        ]
        return (yield from self._places(scope, aside))

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
        decided = yield bound(self._decide, pair, op, state, who, number)
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
        declined = 0 if who.is_user else (yield from self._thin(pair, place, who.source))
        yield from self._tell(pair, place, doc, declined=declined)
        if current is not None and is_data and state.is_own_data(who) and state.is_mine(who) and current.key != doc.key:
            yield from self._erase(pair, place, [current], shown=False)  # what states nothing has no history
            yield from self._follow(pair.scope, [place])
        return True

    def _thin(self, pair: Pair, place: Place, source: Source) -> Steps[int]:
        """Decline the oldest of too many values that a source has waiting at a key; how many.

        Or else whoever puts there again and again makes every later read of the key slow, and the rest hard to see.
        """
        state = yield from self._read(pair, place)
        waiting = [doc for doc in state.docs if doc.sources[0].key == source.key and _waits(doc, state.status(doc))]
        waiting.sort(key=lambda doc: doc.value["n"])
        old = waiting[:-MOST_WAITING]
        if not old:
            return 0
        kept = {id_ for doc in state.docs if doc not in old for id_ in doc.ids}
        alone = [id_ for id_ in (yield from self._unlist(pair, place, old, take=False)) if id_ not in kept]
        elsewhere = [doc for doc in old if not set(doc.ids) <= set(alone)]  # and waits there from now on, not here
        yield from self._unlist(pair, place, [doc for doc in elsewhere if kept.isdisjoint(doc.ids)])
        yield [
            PutOp(shelf(place), doc.key, None if doc in elsewhere else {**doc.value, "unasked": False}, index=False)
            for doc in old
        ]
        yield bound(pair.settle, alone, False, ())
        yield from self._follow(pair.scope, [place])
        return len(old)

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

    def _tell(self, pair: Pair, place: Place, doc: Doc, *, declined: int = 0) -> Steps[None]:
        """Tell the user of a value that was withheld as it was put.

        :param declined: how many that had waited there longest were declined for it.
        """
        known: dict[str, Belief] = yield bound(pair.known, doc.ids)
        if doc.value["value"] is None:
            what = f"asks to delete {quote(place[1])}; it is kept"
        elif all(one.status in (Status.ACTIVE, Status.SUPERSEDED) for one in known.values()):
            return
        else:
            said = " ".join(one.claim.text for one in known.values())
            what = f"says {quote(said)} at {quote(place[1])}; it is withheld"
        whose = ", ".join(dict.fromkeys(map(name, doc.sources)))
        over = f" More than {MOST_WAITING} of it waited there: the oldest ({declined}) declined." if declined else ""
        self._adapter.tell(f"{whose} {what} until you decide.{over}")

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
                contradicts=(yield bound(pair.against, [id_ for id_ in doc.ids if id_ in state.known])),
            )
            values.append((doc, value))
        return values

    def contested(self, prefix: Namespace, query: str | None) -> Steps[list[Value]]:
        """What waits for the user under a prefix."""
        yield from self._follow_under(prefix)
        asked: dict[str, set[str]] = {}
        found: list[Value] = []
        marks = yield from self._under(SearchOp((RESERVED, "key", *prefix), limit=EVERY, refresh_ttl=False))
        for mark in marks:
            place = (tuple(mark.namespace[2:]), mark.key)
            pair = self.pair(self.scope_of(place[0]))
            if query is not None and pair.scope not in asked:
                recalled = yield bound(pair.lines.recall, query)
                asked[pair.scope] = {one.id for one in recalled.contested}
            values = yield from self._values(pair, place)
            found += [
                value
                for doc, value in values
                if _waits(doc, value.status) and (query is None or not asked[pair.scope].isdisjoint(value.memories))
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
        return (yield bound(pair.lines.recall, query)).notice  # type: ignore[no-any-return]

    def resolve(self, namespace: Namespace, which: str, accept: bool) -> Steps[None]:
        """Settle what waits under an id or a key."""
        pair = self.pair(self.scope_of(namespace))
        yield from self._follow(pair.scope)
        places = {place for place in (yield from self._places(pair.scope, [which])) if place[0] == namespace}
        waiting: list[tuple[Place, Doc, Value]] = []
        for place in places or {(namespace, which)}:
            for doc, value in (yield from self._values(pair, place)):
                if _waits(doc, value.status) and (which == place[1] or which in doc.ids):
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
            yield bound(pair.settle, doc.ids, accept, over)
        yield from self._follow(pair.scope, [at for at, _, _ in waiting])

    # Whose

    def _who(self, pair: Pair) -> Who:
        noted, talk = writer() or (self._source, None)
        source = Source.parse(noted, user_id=pair.lines.user_id)
        return Who(source, () if talk is None or source.is_user else talk.entered)


def _waits(doc: Doc, status: Status) -> bool:
    return status in HELD_BACK or (doc.value["unasked"] and status is Status.REJECTED)


def _checked(op: PutOp) -> PutOp:
    if _is_reserved(op.namespace):
        raise InvalidNamespaceError(f"namespaces that begin with {RESERVED!r} belong to the guard")
    return op


def _is_under(namespace: Sequence[str], prefix: Sequence[str]) -> bool:
    return tuple(namespace[: len(prefix)]) == tuple(prefix)


def _is_reserved(namespace: Sequence[str]) -> bool:
    return tuple(namespace[:1]) == (RESERVED,)
