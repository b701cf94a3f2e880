"""An embedder and a judge that are asked the same thing once: a family is played under nine gates and three endings."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np

from thymus import Kind, Relation
from thymus.embed import get_embedder
from thymus.judges import get_judge
from thymus.ports import Embedder, Judge, Matrix, Statement


def open_parts(embedder: str, judge: str, *, once: bool = True) -> tuple[Embedder, Judge]:
    """Embedder and judge of these names, for one process of several.

    :param once: ask each of them the same thing only once; for real latency not.
    :raises ThymusError: where one of them cannot be had.
    """
    embeds = get_embedder(embedder, threads=1)
    embeds = OnceEmbedder(embeds) if once else embeds
    judges = get_judge(judge, embedder=embeds, rivals=True)
    return embeds, OnceJudge(judges) if once else judges


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
