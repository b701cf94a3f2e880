"""At read time: which of the memories that a question brings together may stand before the model together.

A write that shares no word with the memory it changes escapes any small judge; the question does not, for it names
what both are about. So among the memories that one question recalls, each outside claim is held against those of
others that take precedence over it, and where it seems to answer otherwise it stands aside: the user is told, the model
is not. Nothing is changed: the next question decides anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Final, TypeAlias

from thymus.core.beliefs import Status

if TYPE_CHECKING:
    from thymus.core.beliefs import Belief
    from thymus.core.provenance import Assurance

ASIDE: Final = 0.07
"""From this chance on a claim stands aside. A missed attack costs far more than a harmless claim in the notice."""
NEARER: Final = 0.03
"""How much nearer to the question than an equally proved memory a claim may be for that memory still to own the answer
(cosine). It frees nothing from the user's memories or better proved ones: a claim can repeat the question."""
OWNERS: Final = 2
"""How many memories the claims of one identity are held against, of the user's own, of better proved ones and of
equals each: those nearest to the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A recalled belief.

    :param owner: who controls what it says; "" where nobody single does.
    :param relevance: how near it is to the question: cosine of their embeddings.
    :param assurance: the weakest in its lineage.
    :param rank: order of precedence, first the highest: the user's, the better proved, of equals the earlier.
    """

    belief: Belief
    owner: str
    relevance: float
    assurance: Assurance = field(init=False, repr=False, compare=False)
    rank: tuple[bool, int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Each is held against many others: what that takes is found out once."""
        claim = self.belief.claim
        object.__setattr__(self, "assurance", claim.assurance)
        object.__setattr__(self, "rank", (not claim.from_user, -claim.assurance, self.belief.seq))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contention:
    """Claims of one outside identity, and a memory of somebody else's that takes precedence over all of them.

    :param nearest: how near to the question the nearest memory with precedence over the claims is.
    :param usual: how near such memories usually are, this one apart: their median; its own where there is no other.
    """

    claims: tuple[Candidate, ...]
    memory: Candidate
    nearest: float
    usual: float


Chances: TypeAlias = Callable[[Sequence[Contention]], Sequence[float]]
"""For each contention the probability that its claims, taken together, answer the question otherwise."""


def contentions(claims: Sequence[Candidate], memories: Sequence[Candidate]) -> list[Contention]:
    """What has to be looked at: the claims of each outside identity against the memories that may own the answer.

    All that one identity says is taken together, so that a lie in two halves is read as one; so are the addresses of
    one organisation.

    :param claims: what is about to be shown.
    :param memories: what may own the answer: those claims, and more that the question recalls.
    """
    voices: dict[tuple[object, ...], list[Candidate]] = {}
    for candidate in claims:
        claim = candidate.belief.claim
        if not claim.from_user and candidate.belief.status is Status.ACTIVE:
            voices.setdefault((candidate.owner or claim.source.key, claim.assurance), []).append(candidate)
    return [contention for voice in voices.values() for contention in _against(voice, memories)]


def _against(voice: Sequence[Candidate], memories: Sequence[Candidate]) -> Iterator[Contention]:
    near = max(candidate.relevance for candidate in voice)
    taken: Counter[str] = Counter()
    held = [(memory, _after(voice, memory)) for memory in memories if memory.belief.status is Status.ACTIVE]
    held = sorted((pair for pair in held if pair[1]), key=lambda pair: (-pair[0].relevance, pair[0].belief.seq))
    for memory, claims in held:
        rank = _standing(memory, voice[0])
        far = rank == "equal" and memory.relevance < near - NEARER
        if not far and taken[rank] < OWNERS:
            taken[rank] += 1
            others = [other.relevance for other, _ in held if other is not memory]
            usual = median(others) if others else memory.relevance
            yield Contention(claims=claims, memory=memory, nearest=held[0][0].relevance, usual=usual)


def _standing(memory: Candidate, claim: Candidate) -> str:
    if memory.belief.claim.from_user:
        return "user"
    return "better proved" if memory.assurance > claim.assurance else "equal"


def _after(voice: Iterable[Candidate], memory: Candidate) -> tuple[Candidate, ...]:
    return tuple(candidate for candidate in voice if precedes(memory, candidate))


def precedes(memory: Candidate, claim: Candidate) -> bool:
    """Whether a memory takes precedence over an outside claim: the user's, the better proved, of equals the earlier.

    Not over a verified claim of its own owner, who may change it.
    """
    if claim.belief.claim.from_user or memory.belief.id == claim.belief.id:
        return False
    if claim.owner and claim.owner == memory.owner and claim.belief.claim.verified:
        return False
    return memory.rank < claim.rank


def adjudicate(
    claims: Sequence[Candidate], memories: Sequence[Candidate], chances: Chances
) -> dict[str, tuple[Belief, ...]]:
    """Which of the claims stand aside, by belief id, and the memories that each stands aside for.

    A claim that stands aside sets none aside itself.
    """
    found = contentions(claims, memories)
    if not found:
        return {}
    likely = [contention for contention, chance in zip(found, chances(found), strict=True) if chance >= ASIDE]
    aside: dict[str, list[Belief]] = {}
    for contention in sorted(likely, key=lambda contention: contention.memory.rank):
        if contention.memory.belief.id not in aside:
            for candidate in contention.claims:
                aside.setdefault(candidate.belief.id, []).append(contention.memory.belief)
    return {id_: tuple(memories) for id_, memories in aside.items()}
