"""Do claims of an outsider answer a question otherwise than a memory does? Asked at read time, for ``core.adjudicate``.

A logistic regression: of cheap numbers alone first (relevance, words, typed values, sorts of answer), and where that
leaves a chance, of what the judge's network makes of the memory and all of the claims together. Fitted on authored
worlds by ``training/adjudication/fit.py``; the weights are ``models/adjudication/contention.json``.
"""

from __future__ import annotations

import hashlib
import logging
import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from thymus.core.adjudicate import NEARER, Contention
from thymus.core.relations import Label
from thymus.judges.answering import FOLDER, load_answering, read_weights
from thymus.judges.encoder import LABELS, load_network
from thymus.judges.features import Compared
from thymus.judges.marks import OUTSIDE, USER
from thymus.judges.questions import asked, asks_for_several, offered
from thymus.judges.reading import Reading, read
from thymus.judges.subject import load_subject
from thymus.judges.typed import SAME_TOPIC, share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thymus.core.beliefs import Belief
    from thymus.ports import Embedder, Vector

_log = logging.getLogger("thymus")

LAYOUT: Final = 2
"""Which numbers these are; raised with every change of them."""
CHEAP: Final = (
    "nearness", "likeness", "same thing", "values differ", "words shared", "behind the best", "nearer than it",
    "memory offers", "claims offer", "both offer", "several asked for", "memory's nearness", "asked of the memory",
    "above the usual", "memory answers", "claims answer", "both answer",
)  # fmt: skip
FULL: Final = ("read together", *CHEAP)
HOPELESS: Final = 0.03
"""Below this chance by the cheap numbers the network is not asked."""
LONGEST_SAID: Final = 800
"""Characters of messages that are read whole; of longer ones only the recalled claims are."""
_FLOOR: Final = 0.003
MOST_READ: Final = 65_536
"""Answers of the network that are remembered, two a pair: the same memories come up with many questions."""
_READ: Final[dict[bytes, float]] = {}
_READING: Final = threading.Lock()
PLAINLY: Final = 0.75
"""From this probability on the network's word alone is enough: whatever else a claim says to look like an answer."""
_CONTRADICTS: Final = LABELS.index(Label.CONTRADICTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked, and what it brought together.

    :param vector: its embedding (role *query*).
    :param vectors: embeddings (role *passage*) of the recalled beliefs, by id.
    :param messages: the whole messages that beliefs come from, by belief id.
    """

    text: str
    vector: Vector
    vectors: Mapping[str, Vector]
    messages: Callable[[Sequence[Belief]], Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """Weights over scaled numbers."""

    mean: Vector
    deviation: Vector
    weights: Vector
    bias: float

    def chance(self, row: Sequence[float]) -> float:
        """The probability for one row."""
        scaled = np.clip((np.array(row) - self.mean) / self.deviation, -4, 4)
        return float(1 / (1 + np.exp(-(scaled @ self.weights + self.bias))))


def likely(question: Question, contentions: Sequence[Contention], *, embedder: Embedder) -> list[float]:
    """``chances``, whatever happens: with vectors of another embedder by words and typed values alone; where the
    weights cannot be used everything is taken for certain, since a broken judge may only make a recall more careful.
    """
    try:
        if load_subject().fits(embedder):
            return chances(question, contentions)
        return [float(_plainly(contention)) for contention in contentions]
    except Exception as error:  # noqa: BLE001  (whatever a judge does, a recall answers)
        _log.warning("claims are set aside unread: %s", error)
        _log.debug("its failure", exc_info=True)
        return [1.0] * len(contentions)


def _plainly(contention: Contention) -> bool:
    """Whether the claims are about what the memory is about, in its words, with another value."""
    ours = read(contention.memory.belief.claim.text)
    theirs = [read(one.belief.claim.text) for one in contention.claims]
    return any(
        Compared.of(ours, other).agreement.conflicts and share(ours.stems, other.stems) >= SAME_TOPIC
        for other in theirs
    )


def chances(question: Question, contentions: Sequence[Contention]) -> list[float]:
    """For each contention the probability that its claims answer the question otherwise than the memory.

    :raises JudgeError: where the weights cannot be used.
    """
    cheap, full = load_regressions()
    rows = all_numbers(question, contentions)
    found = [cheap.chance(row) for row in rows]
    open_ = [place for place, chance in enumerate(found) if chance >= HOPELESS]
    told_together = read_together(question, [contentions[place] for place in open_])
    for place, told in zip(open_, told_together, strict=True):
        plainly = 1 / (1 + math.exp(-told))
        found[place] = max(full.chance([told, *rows[place]]), plainly if plainly >= PLAINLY else 0.0)
    return found


def all_numbers(question: Question, contentions: Sequence[Contention]) -> list[list[float]]:
    """``numbers`` of each; whether its pairs are about the same thing is asked of all of them at once."""
    pairs = [(contention.memory.belief, one.belief) for contention in contentions for one in contention.claims]
    if not pairs:
        return []
    compared = [Compared.of(read(memory.claim.text), read(claim.claim.text)) for memory, claim in pairs]
    left, right = (np.array([question.vectors[pair[side].id] for pair in pairs]) for side in (0, 1))
    speakers = np.array([[float(memory.claim.from_user), 0.0] for memory, _ in pairs], np.float32)
    each = zip(
        compared,
        load_subject().relate(compared, speakers, left, right).tolist(),
        np.einsum("ij,ij->i", left, right).tolist(),
        *(load_answering().odds(question.vector, side).tolist() for side in (left, right)),
        strict=True,
    )
    return [_numbers(question, contention, list(islice(each, len(contention.claims)))) for contention in contentions]


def numbers(question: Question, contention: Contention) -> list[float]:
    """The cheap numbers of one, in the order of ``CHEAP``."""
    return all_numbers(question, [contention])[0]


_Pair: TypeAlias = tuple[Compared, float, float, float, float]
"""Of a memory and one claim: how they compare, whether they are about the same thing, their cosine, and the odds that
either answers the question."""


def _numbers(question: Question, contention: Contention, pairs: Sequence[_Pair]) -> list[float]:
    """The cheap numbers of one.

    A sender chooses how near its words are to a question, and being nearer than a memory speaks for a claim. So that
    gains it little, and only where it offers an answer; and memories with precedence alone tell how far one is behind.
    How much of the question the memory itself has, no sender can change: most memories own no answer to it.
    """
    memory, claims = contention.memory.belief.claim, [one.belief.claim for one in contention.claims]
    ours, theirs = read(memory.text), [read(claim.text) for claim in claims]
    compared, same, likeness, memory_answers, claim_answers = zip(*pairs, strict=True)
    wanted = asked(question.text) or offered(ours)
    mine, others = offered(ours) & wanted, [offered(other) & wanted for other in theirs]
    wording = read(question.text).stems
    topic = wording | ours.stems
    answering = [one for one, sorts in zip(contention.claims, others, strict=True) if sorts] or contention.claims
    ahead = max(one.relevance for one in answering) - contention.memory.relevance
    owns, offers = memory_answers[0], max(claim_answers)
    return [
        max(one.relevance for one in contention.claims),
        max(likeness),
        max(same),
        float(any(one.agreement.conflicts for one in compared)),
        share(topic, frozenset().union(*(other.stems for other in theirs))),
        contention.nearest - contention.memory.relevance,
        min(max(ahead, -NEARER), NEARER),
        float(bool(mine)),
        float(any(others)),
        float(any(mine & sorts for sorts in others)),
        float(asks_for_several(question.text)),
        contention.memory.relevance,
        len(wording & ours.stems) / max(len(wording), 1),
        contention.memory.relevance - contention.usual,
        owns,
        offers,
        min(owns, offers),
    ]


def read_together(question: Question, contentions: Sequence[Contention]) -> list[float]:
    """How likely the network thinks that what the outsider said, as one text, contradicts the memory: log-odds.

    Remembered by claims, so that nothing has to be looked up for them again, and by their words: many say the same.
    """
    claims = [_key(contention.memory.belief, _ids(contention)) for contention in contentions]
    odds = _remembered(claims)
    new = [contention for contention, key in zip(contentions, claims, strict=True) if key not in odds]
    if new:
        told = question.messages([one.belief for contention in new for one in contention.claims])
        pairs = [(_memory(contention), _said(told, contention)) for contention in new]
        words = [_key(one.memory.belief, [pair[1][0].text]) for one, pair in zip(new, pairs, strict=True)]
        by_words = _remembered(words)
        unread = {key: pair for key, pair in zip(words, pairs, strict=True) if key not in by_words}
        if unread:
            chances = load_network().relate(list(unread.values()))[:, _CONTRADICTS]
            by_words |= zip(unread, np.log((chances + _FLOOR) / (1 - chances + _FLOOR)).tolist(), strict=True)
        found = [by_words[key] for key in words]
        odds |= zip([key for key in claims if key not in odds], found, strict=True)
        with _READING:
            _READ.update(by_words)
            _READ.update(odds)
            while len(_READ) > MOST_READ:  # the oldest go
                del _READ[next(iter(_READ))]
    return [odds[key] for key in claims]


def _remembered(keys: Iterable[bytes]) -> dict[bytes, float]:
    with _READING:
        return {key: _READ[key] for key in keys if key in _READ}


def _key(memory: Belief, against: Iterable[str]) -> bytes:
    """Of a memory and what is held against it.

    With the memory's id, which no other user has: nobody's recall is quicker because another's memory has the same
    words. A digest, since nothing that was erased may stay here.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in (memory.id, memory.claim.text, *against):
        digest.update(part.encode(errors="surrogatepass") + b"\0")
    return digest.digest()


def _ids(contention: Contention) -> list[str]:
    """What names the claims of a contention, and the messages that they come from."""
    return [part for one in _in_order(contention) for part in (one.id, one.claim.evidence_id, one.claim.text)]


def _in_order(contention: Contention) -> list[Belief]:
    return sorted((one.belief for one in contention.claims), key=lambda belief: (belief.seq, belief.id))


def _memory(contention: Contention) -> tuple[Reading, int]:
    claim = contention.memory.belief.claim
    return read(claim.text), USER if claim.from_user else OUTSIDE


def _said(told: Mapping[str, str], contention: Contention) -> tuple[Reading, int]:
    """The messages of the claims, whole where they are short: a sentence alone may not tell what it is about."""
    in_order = _in_order(contention)
    messages = " ".join(dict.fromkeys(told[belief.id] for belief in in_order))
    claims = " ".join(belief.claim.text for belief in in_order)
    return read(messages if len(messages) <= LONGEST_SAID else claims[:LONGEST_SAID]), OUTSIDE


@cache
def load_regressions(folder: Path = FOLDER) -> tuple[Regression, Regression]:
    """The regression on cheap numbers, and the one that has the network's answer too.

    :raises JudgeError: where the weights are missing or of another version.
    """
    return read_weights(folder / "contention.json", LAYOUT, _regressions)


def _regressions(kept: dict[str, Any]) -> tuple[Regression, Regression]:
    return _regression(kept["cheap"], CHEAP), _regression(kept["full"], FULL)


def _regression(kept: dict[str, list[float]], names: Sequence[str]) -> Regression:
    lengths = {"mean": len(names), "deviation": len(names), "weights": len(names), "bias": 1}
    if {name: len(numbers) for name, numbers in kept.items()} != lengths:
        raise ValueError("not these numbers")
    return Regression(
        mean=np.array(kept["mean"], np.float64),
        deviation=np.array(kept["deviation"], np.float64),
        weights=np.array(kept["weights"], np.float64),
        bias=float(kept["bias"][0]),
    )
