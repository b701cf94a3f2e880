"""``LocalJudge``: the default judge. A small network reads both statements at once; typed values are marked for it.

Most rivals that retrieval brings in are about something else: a far cheaper regression sees that (``subject``), and
only the rest is read by the network (``encoder``). The *label* is the network's. ``Relation.contradiction`` is the
probability of both: about the same thing, and contradicting; on the nearest memories of held-out authors that are about
something else it divides the false alarms by five, and loses one contradiction in sixty. The regression knows the
vectors of the bundled e5-small only; with another embedder whatever shares a word or a kind of value is read.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from thymus.core.claims import Claim, Kind, fold
from thymus.core.relations import CONFIRMED, DETECTED, Label, Relation
from thymus.errors import JudgeError, ThymusError
from thymus.judges.encoder import KINDS, LABELS, load_network
from thymus.judges.features import Compared, Rows
from thymus.judges.hedges import is_hedged
from thymus.judges.marks import ANYONE, OUTSIDE, USER
from thymus.judges.pronouns import third_person
from thymus.judges.reading import LONGEST, Reading, read
from thymus.judges.subject import SubjectHead, load_subject
from thymus.judges.typed import share
from thymus.judges.wording import describe
from thymus.ports import Statement

if TYPE_CHECKING:
    from thymus.ports import Embedder

_Pair = tuple[Statement, Statement]
_Given = str | Claim | Statement

APART: Final = 0.05
"""Below this probability of being about the same thing a pair is not read; the card says what that loses."""
UNDETECTABLE: Final = DETECTED
"""Below this probability of being about the same thing no contradiction is detected, whatever the network says."""
SURELY_NO_CLAIM: Final = 0.6
"""What is taken for no claim is lost, so that takes more than being the likeliest."""
SPEAKS_FOR_USER: Final = 0.3
"""From this probability on, what an outsider says is an order or a taste put into the user's mouth: a missed one costs
twice as much as a fact that is told in the notice only."""
ONE_MATTER: Final = 0.5
"""The share of the shorter statement's words that lets it replace the other; of two that differ in a value, less."""
_ONE_VALUE: Final = 0.2
_AT_ONCE: Final = 256
"""Pairs judged together: a mail of a hundred statements has thousands, and their rows would take tens of megabytes."""
_UNCONFIRMED: Final = CONFIRMED - 0.01
_FAR: Final = 0.02


class LocalJudge:
    """Judges with the bundled network; safe to share among threads."""

    def __init__(self, *, embedder: Embedder | None = None, apart: float = APART) -> None:
        """Remember the embedder; nothing is loaded before the first statement.

        :param apart: pairs less likely than this to be about the same thing are not read. A guard takes
            ``UNDETECTABLE``: what is read besides would change labels, and nothing that it detects or confirms.
        """
        self._given = embedder
        self._apart = apart
        self._lock = threading.Lock()
        self._loaded: tuple[Embedder, SubjectHead | None] | None = None

    @property
    def name(self) -> str:
        """``local``."""
        return "local"

    def relate(self, pairs: Sequence[tuple[_Given, _Given]]) -> list[Relation]:
        """Judge each (stored, incoming); texts without a vector are embedded in one batch.

        :raises JudgeError: where the embedder or the weights cannot be used.
        """
        return [
            answer
            for start in range(0, len(pairs), _AT_ONCE)
            for answer in self._relate(pairs[start : start + _AT_ONCE])
        ]

    def _relate(self, pairs: Sequence[tuple[_Given, _Given]]) -> list[Relation]:
        given = [(Statement.of(stored), Statement.of(incoming)) for stored, incoming in pairs]
        compared = [Compared.of(read(stored.text), read(incoming.text)) for stored, incoming in given]
        subject = self._subject(given, compared)
        answers = [
            _unread(chance, same=_in_same_words(pair, sides))
            for pair, sides, chance in zip(compared, given, subject.tolist(), strict=True)
        ]
        near = [
            place
            for place, pair in enumerate(compared)
            if subject[place] >= self._apart and not _in_same_words(pair, given[place])
        ]
        asked = [
            ((compared[place].stored, _speaks(given[place][0])), (compared[place].incoming, _speaks(given[place][1])))
            for place in near
        ]
        for place, row in zip(near, load_network().relate(asked) if asked else (), strict=True):
            answers[place] = _answer(compared[place], row, float(subject[place]))
        return answers

    def _subject(self, given: Sequence[_Pair], compared: Sequence[Compared]) -> NDArray[np.float64]:
        embedder, head = self._parts()
        if head is None:
            return np.array([float(pair.related) for pair in compared])
        vectors = _vectors(embedder, [statement for pair in given for statement in pair])
        speakers = np.array([[_WEIGHT[_speaks(statement)] for statement in pair] for pair in given], np.float32)
        return head.relate(compared, speakers, vectors[0::2], vectors[1::2])

    def classify(self, statements: Sequence[_Given]) -> list[Kind]:
        """Judge each statement by what it says; who says it tells whose taste "I like" is.

        :raises JudgeError: where the weights cannot be used.
        """
        if not statements:
            return []
        given = [Statement.of(statement) for statement in statements]
        read_by = [(read(statement.text), _speaks(statement)) for statement in given]
        rows = load_network().classify(read_by).tolist()
        return [_kind(*one, row) for one, row in zip(read_by, rows, strict=True)]

    def _parts(self) -> tuple[Embedder, SubjectHead | None]:
        """The embedder, and the regression where it was fitted for it."""
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._given)
            return self._loaded


def _load(embedder: Embedder | None) -> tuple[Embedder, SubjectHead | None]:
    try:
        if embedder is None:
            from thymus.embed import get_embedder

            embedder = get_embedder()
        head = load_subject()
    except JudgeError:
        raise
    except ThymusError as error:
        raise JudgeError(f"the local judge has no embedder: {error}; get_judge('typed') needs none") from error
    return embedder, head if head.fits(embedder) else None


def _vectors(embedder: Embedder, statements: Sequence[Statement]) -> Rows:
    """One row a statement: the vector that it brings where it is this embedder's, else a new one."""
    dim = embedder.dim
    missing = list(
        dict.fromkeys(one.text[:LONGEST] for one in statements if one.vector is None or np.shape(one.vector) != (dim,))
    )
    made: dict[str, NDArray[np.float32]] = {}
    if missing:
        try:
            made = dict(zip(missing, embedder.embed(missing, role="passage"), strict=True))
        except ThymusError as error:
            raise JudgeError(f"the statements could not be embedded: {error}") from error
    rows = [made.get(one.text[:LONGEST], one.vector) for one in statements]
    matrix = np.asarray(rows, np.float32)
    return np.where(np.isfinite(matrix), matrix, 0)


def _speaks(statement: Statement) -> int:
    if statement.speaker is None:
        return ANYONE
    return USER if statement.speaker.names_user else OUTSIDE


_WEIGHT: Final = {USER: 1.0, OUTSIDE: 0.0, ANYONE: 0.5}


def _kind(reading: Reading, speaker: int, chances: Sequence[float]) -> Kind:
    chance = dict(zip(KINDS, chances, strict=True))
    if not reading.words or chance[Kind.NOT_A_CLAIM] >= SURELY_NO_CLAIM:
        return Kind.NOT_A_CLAIM
    del chance[Kind.NOT_A_CLAIM]
    if speaker != USER and chance[Kind.PREFERENCE] + chance[Kind.INSTRUCTION] >= SPEAKS_FOR_USER:
        del chance[Kind.FACT]
    return max(chance, key=lambda kind: chance[kind])


def _in_same_words(pair: Compared, sides: _Pair) -> bool:
    """Whether both say the same in the same words, once the user's "my" and anybody else's "your" are one person's."""
    ours, theirs = pair.stored, pair.incoming
    if ours.folded == theirs.folded:
        return True
    if len(ours.words) != len(theirs.words) or len(ours.vocabulary & theirs.vocabulary) < len(ours.vocabulary) - 3:
        return False
    stored, incoming = (third_person(side.text, side.speaker) for side in sides)
    return stored != sides[0].text and fold(stored) == fold(incoming)


def _unread(subject: float, *, same: bool) -> Relation:
    """The answer for a pair that the network does not read."""
    if same:
        return Relation(label=Label.SAME, confidence=0.99, contradiction=0.0, judge="local", because="the same wording")
    return Relation(
        label=Label.COMPATIBLE,
        confidence=1 - _FAR,
        contradiction=min(_FAR, subject),
        judge="local",
        because=f"about different things (same thing {subject:.2f})",
    )


def _unsure(pair: Compared) -> str:
    """Why a contradiction that the network is sure of does not let the one replace the other; "" where it does.

    In talk about the same sort of thing ("I've been practising guitar", "I've had my guitar for years") the network is
    sure of much that is not so. A replacement needs words in common, or differing values and some words.
    """
    if is_hedged(pair.stored, pair.incoming):
        return "it only passes on, doubts or asks"
    shared = share(pair.stored.stems, pair.incoming.stems)
    if shared >= ONE_MATTER or (pair.agreement.conflicts and shared >= _ONE_VALUE):
        return ""
    return "too few words in common to be of one matter"


def _answer(pair: Compared, chances: NDArray[np.float64], subject: float) -> Relation:
    """The network's label; how likely a contradiction is counts how likely the two are about the same thing, too.

    ``because`` names no value, since it stays when a text is forgotten.
    """
    place = int(chances.argmax())
    contradiction = float(chances[LABELS.index(Label.CONTRADICTS)]) * subject
    told = ", ".join(f"{label} {chance:.2f}" for label, chance in zip(LABELS, chances, strict=True))
    because = f"same thing {subject:.2f}; read together: {told}"
    if LABELS[place] is not Label.COMPATIBLE or contradiction >= DETECTED:  # nobody reads about the rest
        because = f"{describe(pair.agreement)}; {because}"
    if contradiction > _UNCONFIRMED and (why := _unsure(pair)):
        contradiction = _UNCONFIRMED
        because = f"{because}; {why}"
    return Relation(
        label=LABELS[place],
        confidence=min(float(chances[place]), 1.0),
        contradiction=min(contradiction, 1.0),
        judge="local",
        because=because,
    )
