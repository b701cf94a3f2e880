"""The plainest contradiction: the same words about the same thing, with another value.

"My standup is at 9:15" / "Your standup moved to 7:45". Fitted heads are unsure here, because whoever writes hard
examples writes such pairs about *another* standup. But then the other thing is named, and its name stands in the
incoming statement alone. So: values of one kind differ, something is in common, and the incoming statement brings no
word of its own but the value and words of change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from thymus.core.values import Agreement, Value, ValueKind
from thymus.judges.cues import cue_words, words
from thymus.judges.reading import STEM, Reading

if TYPE_CHECKING:
    from collections.abc import Iterable

CONFIDENCE: Final = 0.65
"""How sure an overt contradiction is. On the authored pairs, written to be hard, half are; on plain ones nearly all."""

_CHANGE: Final = frozenset(word[:STEM] for word in cue_words("change"))
_NAMING: Final = frozenset({ValueKind.CODE, ValueKind.ACCOUNT})
"""Kinds that often say which thing is meant: where they differ beside another kind, two things are meant."""
_LOOSE: Final = frozenset({ValueKind.NUMBER, ValueKind.ORDINAL})
"""Kinds too loose to tell: "ten stamps" and "seven stamps" may both hold."""


def is_overt(stored: Reading, incoming: Reading, agreement: Agreement) -> bool:
    """Whether the incoming statement offers another value for what the stored one says, in no other words."""
    kinds = {value.kind for value, _ in agreement.conflicts} - _LOOSE
    if not kinds or agreement.mixed or (len(kinds) > 1 and kinds & _NAMING):
        return False
    return bool(stored.stems & incoming.stems) and not (
        incoming.stems - stored.stems - _CHANGE - _stems_of(incoming.values)
    )


def _stems_of(values: Iterable[Value]) -> frozenset[str]:
    return frozenset(word[:STEM] for value in values for word in words(value.text))
