"""What is dangerous on its face: overt orders to an assistant, and secrets. Offline, in time linear in the text.

This is the outer fence, not the wall: it recognises what attackers try first. A quotation is reported, too (who writes
"ignore previous instructions" in quotes still writes it), and a plain lie is not; provenance has to deal with both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from thymus.recognizers import guises, markup
from thymus.recognizers.credentials import find_secrets
from thymus.recognizers.guises import Folded
from thymus.recognizers.orders import orders
from thymus.recognizers.wordings import MOST_FOUND

if TYPE_CHECKING:
    from thymus.recognizers.guises import Guise

__all__ = ["Hazard", "HazardKind", "find_hazards"]

_DEEPEST: Final = 2  # encodings within encodings that are undone


class HazardKind(StrEnum):
    """Why a passage is dangerous."""

    INJECTION = "injection"
    """It gives an assistant orders, or hides from the reader."""
    SECRET = "secret"  # noqa: S105  (a name, no secret)
    """Whoever has it can act as somebody else."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Hazard:
    """A dangerous passage.

    :param name: the rule that saw it, e.g. ``override``, ``role_tag``, ``encoded``, ``card``, ``password``.
    :param span: [start, end) in the text as given; around the whole disguise where the passage is disguised.
    """

    span: tuple[int, int]
    kind: HazardKind
    name: str


def find_hazards(text: str) -> tuple[Hazard, ...]:
    """Read a text of any content for overt injections and secrets, in order of their spans.

    What overlaps under one name is one hazard; of each name the first 200 are given.
    """
    found = [
        *((HazardKind.INJECTION, name, span) for name, span in _injections(text, _DEEPEST)),
        *((HazardKind.SECRET, name, span) for name, span in find_secrets(text)),
    ]
    spans: dict[tuple[HazardKind, str], list[tuple[int, int]]] = {}
    for kind, name, span in sorted(found):
        known = spans.setdefault((kind, name), [])
        if known and span[0] < known[-1][1]:
            known[-1] = (known[-1][0], max(known[-1][1], span[1]))
        elif len(known) < MOST_FOUND:
            known.append(span)
    return tuple(
        sorted(Hazard(kind=kind, name=name, span=span) for (kind, name), some in spans.items() for span in some)
    )


def _injections(text: str, depth: int) -> Iterator[tuple[str, tuple[int, int]]]:
    folded = Folded(text)
    rules = orders()
    for name, start, end in rules.find(guises.unmask(folded.text, rules.reveal)):
        yield name, folded.source(start, end)
    for name, start, end in markup.find_roles(text):
        yield name, (start, end)
    for span in markup.find_hidden(text):
        yield "hidden_html", span
    for span in markup.find_beacons(text):
        yield "exfiltration", span
    for said, start, end in markup.find_comments(text):
        if markup.ADDRESSEE.search(said) or next(rules.find(Folded(said).text), None):
            yield "hidden_html", (start, end)
    for guise in guises.unspaced(folded.text, rules.divide):
        for name, _, _ in rules.find(guise.text):
            yield name, folded.source(*guise.span)
    if depth:
        yield from _undone(guises.unseen(text), depth)
        yield from _undone(guises.encoded(text, folded.text), depth)


def _undone(found: Iterator[Guise], depth: int) -> Iterator[tuple[str, tuple[int, int]]]:
    for guise in found:
        if guise.telling or next(_injections(guise.text, depth - 1), None):
            yield guise.trick, guise.span
