"""The judges that ``eval-judge`` compares: each under a title, and of a model what asking it takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

from thymus.config import open_llm
from thymus.core.relations import Relation
from thymus.errors import InputError
from thymus.judge_report import Took
from thymus.judges import JUDGES, ONLY, get_judge
from thymus.judges.cascade import MOST_CALLS
from thymus.llm import LimitedModel, ModelJudge, names_model
from thymus.llm.limits import SpendingLimitError
from thymus.llm.model import MOST_TOKENS, Answer, Model, ModelError, ModelRefusalError

if TYPE_CHECKING:
    from thymus.judges.cascade import CascadeJudge
    from thymus.llm.judge import Pair

T = TypeVar("T")
Asked: TypeAlias = "Callable[[Sequence[Pair]], list[Relation]]"

FIRST: Final = "local"
"""The bundled judge, whose caution a cascade never lowers."""
MODEL: Final = "model"
CASCADE: Final = "cascade"
AT_ONCE: Final = MOST_CALLS // 2
"""Pairs that a model is asked about at once: as many as a write may, with one question to find a contradiction and one
to confirm it."""
_AT_ONCE_HERE: Final = 32


class Panel:
    """Judges side by side.

    Of a language model three answer: the bundled judge alone, the model alone, and the cascade of both. The model is
    asked about every pair once; what it said then is what the cascade hears, so the cascade costs nothing more.

    :param name: as ``get_judge`` takes it, or ``only:MODEL`` for the model without the cascade.
    :param against: a judge that needs no provider.
    :param max_cost: US dollars after which the model is asked no more.
    :raises InputError: where ``against`` needs a provider.
    :raises ThymusError: where there is no such judge or model, or it lacks a key, an extra or a file.
    """

    def __init__(self, name: str, against: str, *, max_cost: float | None = None) -> None:
        self.titles: dict[str, str] = {}
        """What stands under each title."""
        self.took: dict[str, Took] = {}
        """What the model took for the pairs that were answered, alone and in the cascade."""
        self._once: _Once | None = None
        self._metered: dict[str, _Metered] = {}
        self._asked: dict[str, Asked] = {}
        if names_model(against.removeprefix(ONLY)):
            raise InputError(f"--against is local, typed or an NLI model, not {against[:60]!r}: models go with --judge")
        self.model = open_llm(name.removeprefix(ONLY), max_cost)
        """The language model among them; it says what was spent."""
        for one in dict.fromkeys((against,) if self.model else (against, name)):
            self._seat(one)
        if self.model:
            self._seat_model(name, self.model)

    @property
    def at_once(self) -> int:
        """How many pairs are judged at once."""
        return AT_ONCE if self.model else _AT_ONCE_HERE

    def judge(self, pairs: Sequence[Pair]) -> dict[str, list[Relation]] | None:
        """The answers of all by title; those of the first judge of a cascade under ``FIRST``, titled or not.

        :returns: ``None`` where the model is asked no more: ``stopped`` says why.
        :raises ModelError: where it never answered.
        """
        answers = {}
        for title, asked in self._asked.items():
            answers[title] = asked(pairs)
            if self.stopped:
                return None
        self.took = {title: metered.took() for title, metered in self._metered.items()}
        return answers

    @property
    def stopped(self) -> str:
        """Why the model is asked no more: it has cost what it may, or does not answer. Empty while it is."""
        return self._once.stopped if self._once else ""

    def close(self) -> None:
        """Release the model's connections."""
        if self.model:
            self.model.close()

    def _seat(self, name: str) -> None:
        judge = get_judge(name)
        title = name if name in JUDGES else "nli"
        title = title if title not in self.titles else f"{title} 2"
        self.titles[title], self._asked[title] = judge.name, judge.relate

    def _seat_model(self, name: str, model: LimitedModel) -> None:
        once = self._once = _Once(model)
        metered = self._metered[MODEL] = _Metered(once)
        judge = ModelJudge(metered)

        def about_every_pair(pairs: Sequence[Pair]) -> list[Relation]:
            once.begin()
            opinions = judge.opine(pairs)
            once.end()
            metered.asked += len(pairs)
            none = Relation.unknown(opinions.because or "no answer", judge=judge.name)
            return [relation or none for relation in opinions.relations]

        self.titles[MODEL], self._asked[MODEL] = f"{judge.name} about every pair", about_every_pair
        if not name.startswith(ONLY):
            self._seat_cascade(name, once)

    def _seat_cascade(self, name: str, once: _Once) -> None:
        self._asked.setdefault(FIRST, get_judge(FIRST).relate)
        metered = self._metered[CASCADE] = _Metered(once)
        judge = cast("CascadeJudge", get_judge(name, model=metered))

        def where_unsure(pairs: Sequence[Pair]) -> list[Relation]:
            answers = judge.relate(pairs)
            metered.asked = judge.counts.unsure
            return answers

        self.titles[CASCADE], self._asked[CASCADE] = f"{judge.name} where that is unsure", where_unsure


class _Once:
    """A model that is asked each question once, and given up where it answers none of several."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._kept: dict[Hashable, Answer[Any] | ModelRefusalError] = {}
        self._kept_before = 0
        self._error: ModelError | None = None
        self.stopped = ""

    @property
    def name(self) -> str:
        return self._model.name

    def begin(self) -> None:
        """A round of questions begins."""
        self._kept_before, self._error = len(self._kept), None

    def end(self) -> None:
        """The round is over: give up where it brought no answer, or the limit is reached.

        :raises ModelError: where there was no answer in any round.
        """
        if self._error is None:
            return
        if not self._kept:
            raise self._error
        if isinstance(self._error, SpendingLimitError) or len(self._kept) == self._kept_before:
            self.stopped = str(self._error)

    def ask(
        self,
        instructions: str,
        prompt: str,
        schema: type[T],
        *,
        prompt_version: str,
        repeat: int = 0,
        max_tokens: int = MOST_TOKENS,
        within: float | None = None,
    ) -> Answer[T]:
        """What was answered before, or ``Model.ask``."""
        key = instructions, prompt, schema, prompt_version, repeat, max_tokens
        found = self._kept.get(key)
        if found is None:
            known: dict[str, Any] = {"repeat": repeat, "max_tokens": max_tokens, "within": within}
            try:
                found = self._model.ask(instructions, prompt, schema, prompt_version=prompt_version, **known)
            except ModelRefusalError as refusal:
                found = refusal
            except ModelError as error:
                with self._lock:
                    if not isinstance(self._error, SpendingLimitError):
                        self._error = error
                raise
            self._kept[key] = found
        if isinstance(found, ModelRefusalError):
            raise found
        return found

    def close(self) -> None:
        """Nothing of its own to release."""


class _Metered:
    """A model whose answers are added up, with what they took when they were given."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._answers: list[Answer[Any]] = []
        self.asked = 0

    @property
    def name(self) -> str:
        return self._model.name

    def ask(self, instructions: str, prompt: str, schema: type[T], **known: Any) -> Answer[T]:
        """As ``Model.ask``."""
        answer = self._model.ask(instructions, prompt, schema, **known)
        with self._lock:
            self._answers.append(answer)
        return answer

    def took(self) -> Took:
        """What they took together."""
        used = [answer.usage for answer in self._answers]
        prices = [one.usd for one in used if one.usd is not None]
        return Took(
            asked=self.asked,
            calls=len(used),
            tokens_in=sum(one.tokens_in for one in used),
            tokens_out=sum(one.tokens_out for one in used),
            usd=sum(prices) if len(prices) == len(used) else None,
            ms=sum(answer.ms for answer in self._answers),
        )

    def close(self) -> None:
        """Nothing of its own to release."""
