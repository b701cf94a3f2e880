"""The plainest contradiction: the same words about the same thing, with another value.

"My standup is at 9:15" / "Your standup moved to 7:45". Fitted heads are unsure here, because whoever writes hard
examples writes such pairs about *another* standup. But then the other thing is named, and its name stands in the
incoming statement alone. So: values of one kind differ, something is in common, and the incoming statement brings no
word of its own but the value and words of change. A name that takes another's place counts as a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from thymus.core.values import Agreement, Value, ValueKind
from thymus.judges.cues import cue_words, words
from thymus.judges.reading import STEM, Reading, read

if TYPE_CHECKING:
    from collections.abc import Iterable

CONFIDENCE: Final = 0.65
"""How sure an overt contradiction is. On the authored pairs, written to be hard, half are; on plain ones nearly all."""

_CHANGE: Final = frozenset(word[:STEM] for word in cue_words("change"))
_HEDGES: Final = frozenset(
    [
        *("saying", "doubt", "doubts", "check", "whether", "right", "weird", "strange", "sure", "unsure", "suspicious"),
        *("true", "really", "believe", "think", "somebody", "someone"),
        *("not", "isn't", "hasn't", "didn't", "doesn't", "won't", "wasn't"),
    ]
)
"""Words of somebody who passes a value on, doubts it or denies it, and does not offer it as what holds."""
_NAMING: Final = frozenset({ValueKind.CODE, ValueKind.ACCOUNT})
"""Kinds that often say which thing is meant: where they differ beside another kind, two things are meant."""
_LOOSE: Final = frozenset({ValueKind.NUMBER, ValueKind.ORDINAL})
"""Kinds too loose to tell: "ten stamps" and "seven stamps" may both hold."""


def is_overt(stored: Reading, incoming: Reading, agreement: Agreement) -> bool:
    """Whether the incoming statement offers another value for what the stored one says, in no other words.

    Where two values differ, they may belong to two things ("Monday at 7", "Wednesday at 8"), so a word of change must
    say that it is one. Where other numbers differ ("Order 111", "Order 222"), two things are meant.
    """
    if not agreement.conflicts:
        return _renames(stored, incoming) and not is_hedged(stored, incoming)
    kinds = {value.kind for value, _ in agreement.conflicts}
    if not kinds - _LOOSE or agreement.mixed or (len(kinds) > 1 and kinds & _NAMING):
        return False
    if len(agreement.conflicts) > 1 and not incoming.has("change"):
        return False
    if _other_numbers(stored) != _other_numbers(incoming) or is_hedged(stored, incoming):
        return False
    return bool(stored.stems & incoming.stems) and not (
        incoming.stems - stored.stems - _CHANGE - _stems_of(incoming.values)
    )


def _renames(stored: Reading, incoming: Reading) -> bool:
    """Whether a word of change puts one name in the place of another ("My manager is now Lena")."""
    lost, gained = stored.stems - incoming.stems, incoming.stems - stored.stems - _CHANGE
    return (
        incoming.has("change")
        and len(lost) == 1 == len(gained)
        and bool(stored.stems & incoming.stems)
        and lost <= {name[:STEM] for name in stored.names}
        and gained <= {name[:STEM] for name in incoming.names}
    )


def is_hedged(stored: Reading, incoming: Reading) -> bool:
    """Whether the incoming statement only passes on, doubts or denies: it may contest, and must not replace."""
    return bool(_HEDGES & (incoming.vocabulary - stored.vocabulary)) or incoming.asks


def _other_numbers(reading: Reading) -> frozenset[str]:
    """The numbers that are part of no typed value but a loose one."""
    typed = {number for value in reading.values if value.kind not in _LOOSE for number in read(value.text).numbers}
    return reading.numbers - typed


def _stems_of(values: Iterable[Value]) -> frozenset[str]:
    return frozenset(word[:STEM] for value in values for word in words(value.text))
