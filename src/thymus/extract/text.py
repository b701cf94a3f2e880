"""One line of clean text out of whatever a sender wrote."""

from __future__ import annotations

from thymus.core.quoting import one_line

__all__ = ["listed", "one_line"]


def listed(words: str) -> frozenset[str]:
    """The set of the words that are listed, parted by white space."""
    return frozenset(words.split())
