"""What must hold of a world at any time, each check on its own terms: none asks the code that it checks."""

from __future__ import annotations

from thymus import Memory, Recall
from thymus.core.beliefs import Act, Cause, Status
from thymus.core.claims import Kind
from thymus.core.disclose import MOST_DISCLOSED
from thymus.sources.domains import owner

from .world import TOPICS, USER, World, read

HELD_BACK = (Status.CONTESTED, Status.QUARANTINED)


def of_user(memory: Memory) -> bool:
    """Whether the user said it, and nobody else had a part in it."""
    return {memory.source, *memory.lineage} == {USER}


def has_authority(by: Memory, over: Memory) -> bool:
    """The user has; and one verified owner (of an organisational domain) over what is its own alone."""
    if of_user(by):
        return True
    speakers = (by.source, *by.lineage)
    owners = {owner(source) for source in (over.lineage or (over.source,))}
    verified = all(source.authenticated and source.identity for source in speakers)
    return verified and len(owners) == 1 and owners == {owner(source) for source in speakers} != {""}


def check_no_outside_voice(world: World) -> None:
    """G1."""
    for memory in world.guard.memories():
        assert memory.kind is Kind.FACT or of_user(memory), f"{memory.source} speaks for the user: {memory.text}"


def check_superseders(world: World) -> None:
    """G2."""
    beliefs = {memory.id: memory for memory in world.beliefs()}
    for entry in world.guard._parts.store.entries(world.guard._scope):
        for change in entry.changes:
            if change.cause is Cause.SUPERSEDE and entry.act is Act.REMEMBER:
                assert change.by
                for by in change.by:
                    assert has_authority(beliefs[by], beliefs[change.belief]), f"{beliefs[by]} replaced a belief"


def check_disclosure(world: World, *, k: int = 3) -> None:
    """G3, for a question about each topic."""
    for topic in TOPICS:
        check_recall(world, world.guard.recall(f"what is {topic}", k=k))


def check_recall(world: World, recall: Recall) -> None:
    """G3, for one answer."""
    beliefs = {memory.id: memory for memory in world.beliefs()}
    held = {memory.id: memory for memory in beliefs.values() if memory.status in HELD_BACK}
    standing = {memory.text.casefold() for memory in world.guard.memories()}
    assert not [memory for memory in recall.memories if memory.status is not Status.ACTIVE]
    for memory in held.values():
        if memory.text.casefold() not in standing:
            assert f"“{memory.text}”" not in recall.context
            assert f"- {memory.text}" not in recall.context.split("\n")
    shown = {memory.id for memory in recall.memories}
    edges = world.guard._parts.store.edges(world.guard._scope, list(shown))
    related = {
        one
        for edge in edges
        if edge.relation.detected
        for one, other in ((edge.claim, edge.rival), (edge.rival, edge.claim))
        if one in held and other in shown
    }
    told = {memory.id for memory in recall.contested}
    assert related <= told
    for memory in recall.contested:
        wordings = {contested.text for contested in recall.contested}
        if len(wordings) <= MOST_DISCLOSED:
            assert f"“{memory.text}”" in recall.notice
        if len(told) <= MOST_DISCLOSED and not memory.source.names_user:
            assert memory.source.key in recall.notice


def check_ledger(world: World) -> None:
    """G6: the statuses are what the told changes make of nothing, and each memory can be explained."""
    told: dict[str, Status] = {}
    entries = list(world.guard._parts.store.entries(world.guard._scope))
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    for entry in entries:
        for change in entry.changes:
            assert change.before is told.get(change.belief)
            told[change.belief] = change.after
    assert {id_: status for id_, status in told.items() if status is not Status.REPEATED} == world.statuses()
    assert world.guard.verify().problems == ()
    for memory in world.beliefs():
        lines = str(world.guard.explain(memory.id))
        assert memory.status.value in lines
        assert [event.seq for event in world.guard.history(memory.id)] == [
            entry.seq for entry in entries if any(change.belief == memory.id for change in entry.changes)
        ]


def contradicting(memory: Memory, other: Memory) -> bool:
    """Whether two statements of the toy world contradict."""
    one, two = read(memory.text), read(other.text)
    return one is not None and two is not None and one[1] == two[1] and one[2] != two[2]
