"""A model as judge: it finds which memories a statement contradicts, and confirms each of them in a check of its own.

*Find* shows one statement with all the memories that it may bear on; *confirm* shows it with one memory alone. Only a
confirmed contradiction lets a claim replace a memory, and no third text stands in the prompt that confirms it: what an
outsider wrote into another memory cannot talk the model into replacing one of the user's.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from thymus.core.claims import Claim, Kind, fold, more_careful
from thymus.core.relations import Label, Relation
from thymus.errors import JudgeError
from thymus.fallbacks import fell_back, is_crowded
from thymus.llm.fencing import fence
from thymus.llm.model import ModelError, ModelRefusalError, UnanswerableError
from thymus.llm.questions import (
    CLASSIFY,
    CLASSIFY_VERSION,
    CONFIRM,
    CONFIRM_VERSION,
    FIND,
    FIND_VERSION,
    Check,
    Findings,
    Kinds,
)
from thymus.ports import Statement

if TYPE_CHECKING:
    from thymus.core.provenance import Source
    from thymus.llm.model import Answer, Model

T = TypeVar("T")
A = TypeVar("A")
Pair: TypeAlias = tuple[Statement, Statement]
"""A stored statement and an incoming one."""

LONGEST: Final = 2_000
"""Characters of a statement that the model reads."""
AT_ONCE: Final = 4
"""Questions that are under way at the same time."""
WITHIN_S: Final = 20.0
"""Seconds after which a judgement is given up, whatever it consists of."""
_MOST_SHOWN: Final = 20
_MOST_REMEMBERED: Final = 8_192

_FOUND: Final = 0.5
"""Detected, and not confirmed: a model's answer carries no probability."""
_SURE: Final = 0.95
_HARDLY: Final = 0.02
_UNCHECKED: Final = "found, and not checked by itself"
"""It may be checked later, should it come up again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinions:
    """What a model says of pairs.

    :param relations: one a pair, in order; ``None`` for a pair that it was not asked about, or gave no answer to.
    :param calls: questions that this took.
    :param because: why there are such pairs though they should have been answered; empty where there are none.
    """

    relations: list[Relation | None]
    calls: int = 0
    because: str = ""


class ModelJudge:
    """Judges by asking a model (``thymus.ports.Judge``); safe to share among threads.

    Answers are remembered, so that a pair is asked about once. A model that declines counts as *unknown*.

    :param at_once: questions that are under way at the same time.
    :param within: seconds for all questions of one judgement together.
    :param repeat: which repetition (``Model.ask``).
    :param on_answer: told of each answer and what it was for (``find``, ``confirm``, ``classify``).
    """

    def __init__(
        self,
        model: Model,
        *,
        at_once: int = AT_ONCE,
        within: float = WITHIN_S,
        repeat: int = 0,
        on_answer: Callable[[str, Answer[Any]], object] | None = None,
    ) -> None:
        self._model, self._at_once, self._within, self._repeat = model, at_once, within, repeat
        self._on_answer = on_answer
        self._lock = threading.Lock()
        self._remembered: OrderedDict[Hashable, Relation] = OrderedDict()

    @property
    def name(self) -> str:
        """Of the model."""
        return self._model.name

    def relate(self, pairs: Sequence[tuple[str | Claim | Statement, str | Claim | Statement]]) -> list[Relation]:
        """Judge each (stored, incoming).

        :raises JudgeError: where the model could not answer about one of them.
        """
        opinions = self.opine([(Statement.of(stored), Statement.of(incoming)) for stored, incoming in pairs])
        given = [relation for relation in opinions.relations if relation is not None]
        if len(given) < len(pairs):
            raise JudgeError(opinions.because)
        if opinions.because:
            fell_back("nobody confirmed what was found", self.name, opinions.because)
        return given

    def opine(
        self, pairs: Sequence[Pair], *, to_confirm: Collection[int] = (), most_calls: int | None = None
    ) -> Opinions:
        """Judge as many of the pairs as the model answers about, the first ones first; never raises.

        :param to_confirm: places of pairs in which somebody else found a contradiction: they are shown by themselves.
        :param most_calls: questions that may be put to the model.
        """
        return _Judgement(self, to_confirm, most_calls).of(pairs)

    def classify(self, statements: Sequence[str | Claim | Statement]) -> list[Kind]:
        """Sort each statement, with no more in one question than one speaker said: none has a say in another's.

        :raises JudgeError: where the model could not, or declined.
        """
        given = [Statement.of(statement) for statement in statements]
        said: dict[Source | None, list[int]] = {}
        for place, statement in enumerate(given):
            said.setdefault(statement.speaker, []).append(place)
        shown = [places[at : at + _MOST_SHOWN] for places in said.values() for at in range(0, len(places), _MOST_SHOWN)]
        until = self.until()
        asked = [partial(self._sort, [given[place] for place in places], until) for places in shown]
        kinds: dict[int, Kind] = {}
        for places, answer in zip(shown, self.side_by_side(asked), strict=True):
            if isinstance(answer, ModelError):
                raise JudgeError(str(answer)) from answer
            kinds |= zip(places, answer, strict=True)
        return [kinds[place] for place in range(len(given))]

    def _sort(self, shown: Sequence[Statement], until: float, *, again: bool = True) -> list[Kind]:
        answer = self.ask("classify", CLASSIFY, _numbered("statement", shown), Kinds, CLASSIFY_VERSION, until)
        kinds: dict[int, Kind] = {}
        for one in answer.kinds:
            kinds[one.number] = more_careful(kinds.get(one.number, Kind.NOT_A_CLAIM), Kind(one.kind))
        left_out = [number for number in range(1, len(shown) + 1) if number not in kinds]
        if left_out and not (again and len(left_out) < len(shown)):
            raise UnanswerableError(f"{self.name} left {len(left_out)} of {len(shown)} statements out")
        if left_out:
            more = self._sort([shown[number - 1] for number in left_out], until, again=False)
            kinds |= zip(left_out, more, strict=True)
        return [kinds[number] for number in range(1, len(shown) + 1)]

    def ask(self, job: str, instructions: str, prompt: str, schema: type[T], version: str, until: float) -> T:
        """Put one question to the model.

        :param until: when the answer must be there, by ``time.monotonic``.
        :raises ModelError: as ``Model.ask``.
        """
        within = until - time.monotonic()
        answer = self._model.ask(
            instructions, prompt, schema, prompt_version=version, repeat=self._repeat, within=within
        )
        if self._on_answer:
            with self._lock:
                self._on_answer(job, answer)
        return answer.value

    def until(self) -> float:
        """When a judgement that begins now is given up, by ``time.monotonic``."""
        return time.monotonic() + self._within

    def side_by_side(self, questions: Sequence[Callable[[], T]]) -> list[T | ModelError]:
        """The answers to questions, put at the same time; an error in the place of one that was not answered."""

        def tried(question: Callable[[], T]) -> T | ModelError:
            try:
                return question()
            except ModelError as error:
                return error
            except Exception as error:  # noqa: BLE001  (a model of somebody's own may raise anything)
                return ModelError(f"{self.name} failed ({type(error).__name__}: {error})")

        if len(questions) < 2 or is_crowded():
            return [tried(question) for question in questions]
        with ThreadPoolExecutor(min(self._at_once, len(questions)), thread_name_prefix="thymus-judge") as pool:
            return list(pool.map(tried, questions))

    def recollect(self, pair: Pair) -> Relation | None:
        """What was answered about the pair before."""
        key = _side(pair[0]), _side(pair[1])
        with self._lock:
            if key in self._remembered:
                self._remembered.move_to_end(key)
            return self._remembered.get(key)

    def remember(self, pair: Pair, relation: Relation) -> None:
        """Keep an answer; the one that was used longest ago goes first."""
        with self._lock:
            self._remembered[_side(pair[0]), _side(pair[1])] = relation
            while len(self._remembered) > _MOST_REMEMBERED:
                self._remembered.popitem(last=False)


class _Judgement:
    """One call of ``opine``: its calls, its time and what came of them."""

    def __init__(self, judge: ModelJudge, to_confirm: Collection[int], most_calls: int | None) -> None:
        self._judge, self._to_confirm, self._most_calls, self._until = judge, to_confirm, most_calls, judge.until()
        self._calls = 0
        self._because = ""

    def of(self, pairs: Sequence[Pair]) -> Opinions:
        given: list[Relation | None] = [self._settled(pair) for pair in pairs]
        to_find = [place for place, known in enumerate(given) if known is None and place not in self._to_confirm]
        for place, found in self._find(pairs, to_find):
            given[place] = found
        doubtful = [
            place
            for place, known in enumerate(given)
            if (known is None and place in self._to_confirm) or (known is not None and known.because == _UNCHECKED)
        ]
        for place, checked in self._confirm(pairs, doubtful):
            given[place] = checked
        for place, relation in enumerate(given):
            if relation is not None:
                self._judge.remember(pairs[place], relation)
        return Opinions(relations=given, calls=self._calls, because=self._because)

    def _settled(self, pair: Pair) -> Relation | None:
        """An answer that no model is needed for."""
        stored, incoming = (fold(side.text) for side in pair)
        if not stored or not incoming:
            return self._said(Label.COMPATIBLE, _SURE, "one of them has no word")
        if _side(pair[0]) == _side(pair[1]):
            return self._said(Label.SAME, _SURE, "the same wording")
        return self._judge.recollect(pair)

    def _find(self, pairs: Sequence[Pair], places: Sequence[int]) -> Iterator[tuple[int, Relation]]:
        """What *find* says of the pairs that it is asked about, each incoming statement with all of its own."""
        groups: dict[Hashable, list[int]] = {}
        for place in places:
            groups.setdefault(_side(pairs[place][1]), []).append(place)
        shown = [group[at : at + _MOST_SHOWN] for group in groups.values() for at in range(0, len(group), _MOST_SHOWN)]

        def question(group: Sequence[int]) -> Callable[[], Findings]:
            held = _numbered("held", [pairs[place][0] for place in group])
            prompt = f"{held}\n\n{_shown('new', pairs[group[0]][1])}"
            return lambda: self._judge.ask("find", FIND, prompt, Findings, FIND_VERSION, self._until)

        for group, answer in self._answered(shown, question):
            for number, place in enumerate(group, 1):
                yield place, self._found(pairs[place], number, answer)

    def _found(self, pair: Pair, number: int, answer: Findings | None) -> Relation:
        if answer is None:
            return Relation.unknown("it declined to compare them", judge=self._judge.name)
        said = {one.relation for one in answer.findings if one.number == number}
        if "contradicts" in said:
            return self._said(Label.COMPATIBLE, _FOUND, _UNCHECKED, _FOUND)  # only *confirm* says more
        if len(said) != 1:
            return Relation.unknown("it gave no answer about them", judge=self._judge.name)
        if _cut(pair):  # what was not read could say anything
            return Relation.unknown("too long to be read in full", judge=self._judge.name)
        return self._said(Label(said.pop()), _SURE, "compared with all that may bear on it")

    def _confirm(self, pairs: Sequence[Pair], places: Sequence[int]) -> Iterator[tuple[int, Relation]]:
        """What *confirm* says of the contradictions that it is asked about."""

        def question(place: int) -> Callable[[], Check]:
            stored, incoming = pairs[place]
            prompt = f"{_shown('held', stored)}\n\n{_shown('new', incoming)}"
            return lambda: self._judge.ask("confirm", CONFIRM, prompt, Check, CONFIRM_VERSION, self._until)

        for place, answer in self._answered(places, question):
            if answer is not None and answer.confirms and not _cut(pairs[place]):
                yield place, self._said(Label.CONTRADICTS, _SURE, "found, and confirmed by itself")
            else:
                yield place, self._said(Label.COMPATIBLE, _FOUND, "found, and not confirmed by itself", _FOUND)

    def _answered(self, asked: Sequence[A], question: Callable[[A], Callable[[], T]]) -> Iterator[tuple[A, T | None]]:
        """The questions that were answered, as far as the calls go; ``None`` in the place of a refusal."""
        left = len(asked) if self._most_calls is None else max(self._most_calls - self._calls, 0)
        asked = asked[:left]
        self._calls += len(asked)
        for one, answer in zip(asked, self._judge.side_by_side([question(one) for one in asked]), strict=True):
            if isinstance(answer, ModelRefusalError):
                yield one, None
            elif isinstance(answer, ModelError):
                self._because = str(answer)
            else:
                yield one, answer

    def _said(self, label: Label, confidence: float, because: str, contradiction: float = _HARDLY) -> Relation:
        return Relation(
            label=label,
            confidence=confidence,
            contradiction=confidence if label is Label.CONTRADICTS else contradiction,
            judge=self._judge.name,
            because=because,
        )


def _numbered(tag: str, statements: Sequence[Statement]) -> str:
    return "\n".join(_shown(tag, statement, number=str(number)) for number, statement in enumerate(statements, 1))


def _shown(tag: str, statement: Statement, **about: str) -> str:
    """A statement as the model sees it: its words and whether the user said it. No name, address, date or id."""
    speaker = {True: "the user", False: "somebody else", None: ""}[_from_user(statement)]
    return fence(tag, statement.text[:LONGEST], **about, **({"said_by": speaker} if speaker else {}))


def _from_user(statement: Statement) -> bool | None:
    return None if statement.speaker is None else statement.speaker.names_user


def _side(statement: Statement) -> Hashable:
    """What tells statements apart for the model: as a digest, so that no text outlives ``forget`` here."""
    return blake2b(fold(statement.text).encode("utf-8", "replace"), digest_size=16).digest(), _from_user(statement)


def _cut(pair: Pair) -> bool:
    return max(len(side.text) for side in pair) > LONGEST
