"""A message turned into atomic statements, each pointing at its evidence. No model, no network.

``RuleExtractor`` reads plain text. A caller that may hold HTML converts it first with ``plain_text`` and keeps *that*
as the evidence, so that spans point into what a person could read. Handed HTML all the same, the extractor converts
it and every span is the whole message: true, if not exact.

What Thymus worded itself (labels, notices) is for the guard to remove before it calls; nothing here knows of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from thymus.extract.html import looks_like_html, plain_text
from thymus.extract.text import one_line
from thymus.ports import Passage

if TYPE_CHECKING:
    from thymus.core.provenance import Source

__all__ = ["LONGEST_MESSAGE", "RuleExtractor", "looks_like_html", "one_line", "plain_text"]

LONGEST_MESSAGE: Final = 1_000_000
"""Characters of a message that are read; what follows is kept as evidence and states nothing."""


class RuleExtractor:
    """Splits a message into statements by rule.

    The passage text is ``one_line`` of its span. Where that leans on what stands elsewhere in the message (a list's
    lead-in, the mail's subject, how the sender introduced themselves), those words stand in front: ``lead: words``. The
    rules read wording and layout and grant nothing; of the source they only look whether it is the user, who needs no
    introduction. Linear in the length of the message.

    :param most: passages taken from one message; later ones are left out.
    """

    def __init__(self, *, most: int = 200) -> None:
        self._most = most

    def extract(self, text: str, *, source: Source) -> tuple[Passage, ...]:
        """Return the statements in the order of their spans, which do not overlap; never raises."""
        if looks_like_html(text):
            whole = (0, len(text))
            return tuple(Passage(text=found.text, span=whole) for found in self._read(plain_text(text), source))
        return self._read(text, source)

    def candidates(self, text: str, *, source: Source) -> tuple[Passage, ...]:
        """What ``extract`` returns, and every other sentence that somebody could take for a statement.

        Somebody else may then say which of them state something, and not where they begin and end, or whose they are.
        Nothing for HTML, in which spans say nothing.
        """
        if looks_like_html(text):
            return ()
        from thymus.extract.statements import candidates

        found = candidates(text[:LONGEST_MESSAGE], self._most, own=source.is_user)
        return tuple(_passage(text, *place) for place in found)

    def _read(self, text: str, source: Source) -> tuple[Passage, ...]:
        from thymus.extract.statements import statements  # its patterns are compiled with the first message

        found = statements(text[:LONGEST_MESSAGE], self._most, own=source.is_user)
        return tuple(_passage(text, *place) for place in found)


def _passage(text: str, start: int, end: int, lead: str) -> Passage:
    words = one_line(text[start:end])
    return Passage(text=f"{lead}: {words}" if lead else words, span=(start, end))
