"""The letters of every memory of a scope, kept in the process, so that an exact value is found however it is spaced.

Words cannot promise that: ``GB33 BUKB 2020…`` and ``GB33BUKB2020…`` share few of them, and only the newest of many that
share one are looked at. Here nothing is passed over: a flood of lookalikes makes a search longer, never incomplete.
Reading a scope for the first time costs what reading all its beliefs costs; later only what was told since is read.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from thymus.core.beliefs import Act
from thymus.recognizers.letters import letters
from thymus.recognizers.runs import Index

if TYPE_CHECKING:
    from thymus.core.beliefs import Belief
    from thymus.core.claims import Scope
    from thymus.ports import Store
    from thymus.recognizers.runs import Run

MOST_SCOPES: Final = 32
"""Scopes whose letters are kept; the one that was used longest ago goes first."""
_PAGE: Final = 5_000
_END: Final = "\n"


class Texts:
    """The letters of one scope's memories."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: list[str] = []
        self._starts: list[list[int]] = []
        self._ids: list[list[str]] = []
        self._seq = 0
        self._version = 0
        self._places: dict[str, tuple[int, int]] = {}
        self._identifiers = Index()

    def refresh(self, store: Store, scope: Scope) -> None:
        """Read what was told, and drop what was forgotten, since the last time."""
        with self._lock:
            version = store.version(scope)
            if version == self._version:
                return
            if self._version:
                for entry in store.entries(scope, after=self._version):
                    if entry.act is Act.FORGET:
                        for change in entry.changes:
                            self._erase(change.belief)
            while fresh := store.beliefs(scope, after=self._seq, limit=_PAGE):
                self._append(fresh)
                self._seq = fresh[-1].seq
            self._version = version

    def _append(self, beliefs: list[Belief]) -> None:
        """A short last page grows, so that many small additions do not become many pages."""
        if not self._ids or len(self._ids[-1]) >= _PAGE:
            self._pages.append(_END)
            self._starts.append([])
            self._ids.append([])
        texts = [letters(belief.claim.text) for belief in beliefs]
        at = len(self._pages[-1])
        for belief, text in zip(beliefs, texts, strict=True):
            self._places[belief.id] = (len(self._ids) - 1, len(self._ids[-1]))
            self._starts[-1].append(at)
            self._ids[-1].append(belief.id)
            self._identifiers.add(belief.id, belief.claim.text)
            at += len(text) + 1
        self._pages[-1] += _END.join(texts) + _END

    def _erase(self, belief_id: str) -> None:
        if belief_id in self._places:
            page, index = self._places.pop(belief_id)
            self._identifiers.drop(belief_id)
            start = self._starts[page][index]
            end = self._pages[page].index(_END, start)
            self._pages[page] = f"{self._pages[page][:start]}{' ' * (end - start)}{self._pages[page][end:]}"

    def holding(self, needle: str) -> Iterator[str]:
        """Ids of the beliefs whose letters hold these, newest first; none where there are no letters to look for."""
        if not needle:
            return
        with self._lock:
            shelves = list(zip(self._pages, self._starts, self._ids, strict=True))
        for page, starts, ids in reversed(shelves):
            end = len(page)
            while (at := page.rfind(needle, 0, end)) >= 0:
                index = bisect_right(starts, at) - 1
                yield ids[index]
                end = starts[index]

    def identifiers_in(self, text: str) -> tuple[tuple[Run, ...], bool]:
        """The identifiers of memories that occur in a text, whatever is glued to them, and whether those are all."""
        with self._lock:
            return self._identifiers.find(text)


class Library:
    """The ``Texts`` of the scopes that were asked about last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: OrderedDict[Scope, Texts] = OrderedDict()

    def of(self, store: Store, scope: Scope) -> Texts:
        """The texts of a scope, up to date."""
        with self._lock:
            found = self._texts.setdefault(scope, Texts())
            self._texts.move_to_end(scope)
            while len(self._texts) > MOST_SCOPES:
                self._texts.popitem(last=False)
        found.refresh(store, scope)
        return found
