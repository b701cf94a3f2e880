"""What embeds and judges in a run is asked the same thing once: a family is played under nine gates and three endings.

A language model as the gates' judge answers anew in each play, from the cache on disk where it was asked before. So
what a play comes to depends on no other play, and each says what its own answers took.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, Literal, TypeAlias, TypeVar

import numpy as np

from thymus import Kind, Relation, Written
from thymus.embed import get_embedder
from thymus.errors import JudgeError
from thymus.judges import ONLY, get_judge
from thymus.judges.cascade import CascadeJudge
from thymus.llm import Answer, Model, ModelError, ModelJudge, names_model, open_model
from thymus.ports import Embedder, Judge, Matrix, Statement
from thymus_bench.outcomes import Cost
from thymus_bench.readers import DEFAULT_CACHE
from thymus_bench.tally import Tally, cost_of

T = TypeVar("T")

OnAnswer: TypeAlias = Callable[[str, Answer[Any]], object]
"""Told of each answer of a model and what it was for: ``find``, ``confirm``, ``classify``."""

_WITHIN_S: Final = 300.0
"""Seconds for one judgement: a run waits where a guard, with somebody before it, would go on without the model."""


def open_parts(embedder: str, judge: str) -> tuple[Embedder, Judge]:
    """Embedder and judge of these names, for one process of several that does not play scenarios.

    :raises JudgeError: for a language model: it must be watched, as ``play`` does, or another judge would stand in for
        it where it fails and nobody would know.
    :raises ThymusError: where one of them cannot be had.
    """
    embeds = open_embedder(embedder)
    judges = open_judge(judge, embeds)
    if isinstance(judges, ModelJudges):
        raise JudgeError(f"the language model {judge} judges for gates in scenarios only: use local, typed or nli:PATH")
    return embeds, judges


def open_embedder(name: str, *, once: bool = True) -> Embedder:
    """The embedder of that name.

    :param once: ask it the same thing only once; for real latency not.
    :raises ThymusError: where it cannot be had.
    """
    embedder = get_embedder(name, threads=1)
    return OnceEmbedder(embedder) if once else embedder


def open_judge(name: str, embedder: Embedder, *, once: bool = True, offline: bool = False) -> Judge | ModelJudges:
    """What answers the gates' two questions, by the names of ``thymus.judges.get_judge``.

    :param once: ask it the same thing only once, and keep the answers of a language model; for real latency not.
    :param offline: answer from what was kept of a language model alone.
    :raises ThymusError: where it cannot be had.
    """
    named = name.removeprefix(ONLY)
    if not names_model(named):
        judge = get_judge(name, embedder=embedder, rivals=True)
        return OnceJudge(judge) if once else judge
    model = open_model(named, cache=DEFAULT_CACHE if once else None, offline=offline)
    if name != named:
        return ModelJudges(model)
    quick = [get_judge("local", embedder=embedder), get_judge("typed")]
    return ModelJudges(model, [OnceJudge(one) for one in quick] if once else quick)


class ModelJudges:
    """A language model as the gates' judge, for any number of plays: each gets a judge of its own.

    :param quick: judges that answer first, so that the model is asked only where they are unsure; without any it is
        asked about everything.
    """

    def __init__(self, model: Model, quick: Sequence[Judge] = ()) -> None:
        self._model, self._quick = model, quick

    def for_play(self, *, repeat: int = 0, sorts: bool = True) -> PlayJudge:
        """A judge that has answered nothing yet.

        :param repeat: which repetition of the play (``Model.ask``).
        :param sorts: whether quick judges ask it about kinds of statements, too; a model that extracts gives these.
        """

        def opened(on_answer: OnAnswer) -> Judge:
            judge = _Strict(self._model, within=_WITHIN_S, repeat=repeat, on_answer=on_answer)
            if not self._quick:
                return judge
            return CascadeJudge(self._quick[0], judge, also=self._quick[1:], sorts=sorts)

        return PlayJudge(opened)

    def close(self) -> None:
        """Close the model."""
        self._model.close()


class _Strict(ModelJudge):
    """Fails where any question was not answered, even if a guard could do with the answers to the others."""

    def relate(self, pairs: Sequence[tuple[Any, Any]]) -> list[Relation]:
        opinions = self.opine([(Statement.of(stored), Statement.of(incoming)) for stored, incoming in pairs])
        if opinions.because:
            raise JudgeError(opinions.because)
        return [one for one in opinions.relations if one is not None]


class PlayJudge:
    """One play's judge with a language model in it: counts what that takes, and remembers that it failed.

    A guard goes on where its judge fails. But a figure must say what judged, so the play is then to be given up.

    :param opened: makes the judge, given whom to tell of each answer.
    """

    def __init__(self, opened: Callable[[OnAnswer], Judge]) -> None:
        self._tally = Tally()
        self._failure = ""
        self._judge = opened(lambda job, answer: self._tally.add(cost_of(job, answer)))

    @property
    def name(self) -> str:
        """Of the judge behind it."""
        return self._judge.name

    def relate(self, pairs: Sequence[tuple[Any, Any]]) -> list[Relation]:
        """Judge; *unknown* to all once the model has failed, when nothing counts any more."""
        unknown = [Relation.unknown("the play is given up", judge=self.name)] * len(pairs)
        return self._watched(lambda: self._judge.relate(pairs), unknown)

    def classify(self, statements: Sequence[Any]) -> list[Kind]:
        """Sort; all are facts once the model has failed, when nothing counts any more."""
        return self._watched(lambda: self._judge.classify(statements), [Kind.FACT] * len(statements))

    def check(self, written: Written) -> None:
        """Nothing, as long as the model has judged what was written.

        :raises ModelError: where it failed, so that something else did.
        """
        for failure in (self._failure, *written.fallbacks):
            if failure:
                raise ModelError(failure)

    def costs(self) -> tuple[Cost, ...]:
        """What was asked of the model since this was last called, by job."""
        return self._tally.drain()

    def _watched(self, asked: Callable[[], list[T]], otherwise: list[T]) -> list[T]:
        if self._failure:
            return otherwise
        try:
            return asked()
        except Exception as error:  # noqa: BLE001  (whatever it was, the guard would go on with something else)
            self._failure = str(error) or repr(error)
            return otherwise


class OnceEmbedder:
    """An embedder that embeds a text once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[tuple[str, str], Any] = {}

    @property
    def name(self) -> str:
        """Of the embedder behind it."""
        return self._embedder.name

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._embedder.dim

    def embed(self, texts: Sequence[str], *, role: Literal["query", "passage"]) -> Matrix:
        """Embed what is new, one at a time: a vector depends on no other text."""
        if not texts:
            return self._embedder.embed([], role=role)
        for text in texts:
            if (role, text) not in self._known:
                self._known[role, text] = self._embedder.embed([text], role=role)[0]
        return np.stack([self._known[role, text] for text in texts])


class OnceJudge:
    """A judge that answers a question once: about two texts and whether the user speaks, which is all it sees."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._relations: dict[Hashable, Relation] = {}
        self._kinds: dict[Hashable, Kind] = {}

    @property
    def name(self) -> str:
        """Of the judge behind it."""
        return self._judge.name

    def relate(self, pairs: Sequence[tuple[Any, Any]]) -> list[Relation]:
        """Judge what is new."""
        keys = [(_key(stored), _key(incoming)) for stored, incoming in pairs]
        missing = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in self._relations}
        if missing:
            self._relations |= zip(missing, self._judge.relate(list(missing.values())), strict=True)
        return [self._relations[key] for key in keys]

    def classify(self, statements: Sequence[Any]) -> list[Kind]:
        """Classify what is new."""
        keys = [_key(statement) for statement in statements]
        missing = {key: said for key, said in zip(keys, statements, strict=True) if key not in self._kinds}
        if missing:
            self._kinds |= zip(missing, self._judge.classify(list(missing.values())), strict=True)
        return [self._kinds[key] for key in keys]


def _key(given: Any) -> Hashable:
    said = Statement.of(given)
    return said.text, None if said.speaker is None else said.speaker.names_user
