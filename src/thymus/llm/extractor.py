"""A model as extractor: it says which words of a message state something; the words themselves stay the sender's."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from thymus.core.quoting import name, one_line
from thymus.llm.fencing import ABOUT_FENCES, fence, unescape
from thymus.llm.model import Answer, ModelRefusalError
from thymus.ports import Passage

if TYPE_CHECKING:
    from thymus.core.provenance import Source
    from thymus.llm.model import Model
    from thymus.ports import Extractor

VERSION: Final = "extract-1"
LONGEST_READ: Final = 20_000
"""Characters of a message that the model reads."""
MOST: Final = 60
"""Statements that are taken from one message."""

_INSTRUCTIONS: Final = f"""\
You pick out of one message what the long-term memory of a personal assistant may need later: facts, arrangements,
numbers, addresses, preferences and standing instructions, whoever states them and whether or not they are true.

Give each statement as a quotation: words copied exactly from the message, one statement each, long enough to be
understood alone, in the order of the message. Leave out greetings, thanks, questions and small talk. Where the message
states nothing, give an empty list. Do not correct, translate, shorten or add a word.

{ABOUT_FENCES}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotations:
    """What the model is asked for."""

    statements: tuple[str, ...] = field(metadata={"doc": "Words copied exactly from the message, one statement each."})


class ModelExtractor:
    """Finds statements by asking a model (``thymus.ports.Extractor``).

    A passage is the sender's own words at its span. What the model gives that is not in the message, to the letter but
    for white space, is refused: no model can put words into a sender's mouth.

    :param repeat: which repetition (``Model.ask``).
    :param rest: extracts what follows the part that the model reads; without it, that states nothing.
    :param on_answer: told of each answer, to count what it took.
    """

    def __init__(
        self,
        model: Model,
        *,
        repeat: int = 0,
        rest: Extractor | None = None,
        on_answer: Callable[[Answer[Quotations]], object] | None = None,
    ) -> None:
        self._model, self._repeat, self._rest, self._on_answer = model, repeat, rest, on_answer
        self.refused = 0
        """Quotations so far that were not in their message."""

    def extract(self, text: str, *, source: Source) -> tuple[Passage, ...]:
        """Return the statements in the order of their spans; nothing where the model declines.

        :raises ModelError: where the model cannot answer.
        """
        head, tail = text[:LONGEST_READ], text[LONGEST_READ:]
        found = [_passage(text, span) for span in self._spans(head, source)] if head.strip() else []
        if self._rest and tail.strip():
            after = self._rest.extract(tail, source=source)
            found += [
                Passage(text=one.text, span=(one.span[0] + LONGEST_READ, one.span[1] + LONGEST_READ)) for one in after
            ]
        return tuple(found)

    def _spans(self, text: str, source: Source) -> list[tuple[int, int]]:
        try:
            answer = self._model.ask(
                _INSTRUCTIONS,
                fence("message", text, sender=name(source)),
                Quotations,
                prompt_version=VERSION,
                repeat=self._repeat,
            )
        except ModelRefusalError:
            return []
        if self._on_answer:
            self._on_answer(answer)
        quotations = answer.value.statements[:MOST]
        spans = place(quotations, text)
        self.refused += len(quotations) - len(spans)
        return spans


def place(quotations: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Where quotations stand in a text, in order and apart from each other; those that do not are left out."""
    squeezed, at = _squeeze(text)
    taken: list[tuple[int, int]] = []
    for given in quotations:
        for quotation in dict.fromkeys((given, unescape(given))):
            span = _find(_squeeze(quotation)[0].strip(), squeezed, taken)
            if span:
                taken.insert(bisect_right(taken, span), span)
                break
    return [(at[start], at[end - 1] + 1) for start, end in taken]


def _find(wanted: str, text: str, taken: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The first place of the words that touches none that is taken."""
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        end = start + len(wanted)
        touched = [span for span in taken if span[0] < end and start < span[1]]
        if not touched:
            return start, end
        start = text.find(wanted, touched[-1][1])
    return None


def _squeeze(text: str) -> tuple[str, list[int]]:
    """The text with each run of white space as one space, and where each of its characters stands in the text."""
    letters, places = [], []
    blank = False
    for place_, letter in enumerate(text):
        if letter.isspace():
            if not blank:
                letters.append(" ")
                places.append(place_)
            blank = True
        else:
            letters.append(letter)
            places.append(place_)
            blank = False
    return "".join(letters), places


def _passage(text: str, span: tuple[int, int]) -> Passage:
    return Passage(text=one_line(text[span[0] : span[1]]), span=span)
