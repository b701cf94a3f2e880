"""Words of somebody who passes a value on, doubts it or denies it, and does not offer it as what holds."""

from __future__ import annotations

from typing import Final

from thymus.judges.reading import Reading

_HEDGES: Final = frozenset(
    [
        *("saying", "doubt", "doubts", "check", "whether", "right", "weird", "strange", "sure", "unsure", "suspicious"),
        *("true", "really", "believe", "think", "somebody", "someone"),
        *("not", "isn't", "hasn't", "didn't", "doesn't", "won't", "wasn't"),
    ]
)


def is_hedged(stored: Reading, incoming: Reading) -> bool:
    """Whether the incoming statement only passes on, doubts or denies: it may contest, and must not replace."""
    return bool(_HEDGES & (incoming.vocabulary - stored.vocabulary)) or incoming.asks
