"""``Turn``: what entered an assistant's turn taints what it writes in it.

A model that has just read a mail and then writes "the user's rent goes to …" passes the mail on, whatever it calls it.
So within a turn everything that an assistant remembers is derived from all outside content that entered before it, and
a tool's result from whatever of it the result repeats; the weakest of these decides what it may do (G9).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from thymus.core.disclose import Memory, Recall
from thymus.core.provenance import ASSISTANT, Source
from thymus.core.values import MAX_VALUES_PER_KIND, ValueKind, compare_all
from thymus.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thymus.core.values import Value
    from thymus.guard import MemoryGuard
    from thymus.records import Written

ECHO: Final = 5
"""Words in a row that a result has in common with what was read before, to be taken for an echo of it."""
_TELLING: Final = 4
"""Characters of a word with a digit in it (a code, a part of an account number) that tells an echo by itself."""
_LONGEST: Final = 20_000
"""Characters in which typed values are looked for."""
_WORD: Final = re.compile(r"\w+")


class Turn:
    """One turn of an assistant: ``with guard.turn() as turn: …``, then ``turn.recall`` and ``turn.remember``.

    The end of the turn forgets what entered it, so nothing can be read or written in it after that: ``InputError``.
    """

    def __init__(self, guard: MemoryGuard) -> None:
        self._guard = guard
        self._entered: dict[Memory | Source, list[_Said]] = {}
        self._over = False

    def __enter__(self) -> Self:
        self._go_on()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True  # before anything is forgotten: what another thread is about to write must not miss it
        self._entered.clear()

    def _go_on(self) -> None:
        if self._over:
            raise InputError(
                "this turn is over, and what entered it is forgotten: begin another, `with guard.turn() as turn:`"
            )

    @property
    def entered(self) -> tuple[str, ...]:
        """Keys of the sources whose content entered so far, each once, in order."""
        return tuple(dict.fromkeys(map(_key, self._entered)))

    def read(self, text: str, *, source: str | Source, authenticated: bool | None = None) -> None:
        """Content that entered the model's context and is not to be remembered: a page, a tool's result, a mail.

        :raises InputError, SourceError: where it is no text, or nobody's.
        """
        if not isinstance(text, str):
            raise InputError(f"what was read is text, not {type(text).__name__}")
        self._go_on()
        self._enter(Source.parse(source, authenticated=authenticated, user_id=self._guard.user_id), text)

    def recall(self, question: str, *, k: int = 8) -> Recall:
        """``MemoryGuard.recall``; the outside memories in the context have then entered the turn."""
        self._go_on()
        found = self._guard.recall(question, k=k)
        for memory in found.memories:
            self._enter(memory, memory.text)
        return found

    def remember(
        self,
        text: str,
        *,
        source: str | Source = ASSISTANT,
        authenticated: bool | None = None,
        derived_from: Iterable[str | Source | Memory] = (),
        **known: Any,
    ) -> Written:
        """``MemoryGuard.remember``, with everything that the statement was derived from in this turn.

        What the assistant writes is derived from all that entered; what a tool or another source hands in, from what it
        repeats. The user's own words are the user's. What others say enters the turn itself.
        """
        speaker = Source.parse(source, authenticated=authenticated, user_id=self._guard.user_id)
        given = (derived_from,) if isinstance(derived_from, (str, Source, Memory)) else tuple(derived_from)
        inputs = [] if speaker.is_user else self._inputs(speaker, text)
        self._go_on()
        written = self._guard.remember(text, source=speaker, derived_from=(*given, *inputs), **known)
        if speaker.channel != ASSISTANT:
            self._enter(speaker, text)
            for memory in written.memories:
                self._enter(memory, memory.text)
        return written

    def _inputs(self, speaker: Source, text: str) -> list[Memory | Source]:
        if speaker.channel == ASSISTANT:
            return list(self._entered)
        told = _Said.of(text)
        return [
            key
            for key, said in list(self._entered.items())
            if _key(key) != speaker.key and any(told.echoes(one) for one in said)
        ]

    def _enter(self, key: Memory | Source, text: str) -> None:
        source = key if isinstance(key, Source) else key.source
        if not source.is_user or (isinstance(key, Memory) and key.lineage):
            self._entered.setdefault(key, []).append(_Said.of(text))


def _key(entered: Memory | Source) -> str:
    return entered.key if isinstance(entered, Source) else entered.source.key


@dataclass(frozen=True, slots=True)
class _Said:
    """What tells an echo: runs of words, words that are codes, and typed values, however they are written."""

    runs: frozenset[tuple[str, ...]]
    values: tuple[Value, ...]

    @classmethod
    def of(cls, text: str) -> _Said:
        from thymus.recognizers import recognize

        words = [word[0].casefold() for word in _WORD.finditer(text)]
        runs = {tuple(words[at : at + ECHO]) for at in range(max(1, len(words) - ECHO + 1))} if words else set()
        codes = {(word,) for word in words if len(word) >= _TELLING and not word.isalpha()}
        return cls(frozenset(runs | codes), recognize(text[:_LONGEST]))

    def echoes(self, said: _Said) -> bool:
        """Whether something of what was said before comes back here."""
        return not self.runs.isdisjoint(said.runs) or _share_a_value(self.values, said.values)


def _share_a_value(ours: Sequence[Value], theirs: Sequence[Value]) -> bool:
    """Whether a value of one side is among the other's; of bare numbers, whether all of one side's are.

    Where there are more of a kind than are compared one counts as shared, or else padding would hide it.
    """
    agreement = compare_all(theirs, ours)
    one, other = Counter(value.kind for value in ours), Counter(value.kind for value in theirs)
    crowded = {kind for kind in one.keys() & other.keys() if max(one[kind], other[kind]) > MAX_VALUES_PER_KIND}
    return bool(agreement.same or (agreement.mixed | crowded) - {ValueKind.NUMBER})
