"""How a judge words what it saw: kinds of values, never the values, since its words are kept when a text is erased."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thymus.core.values import Agreement


def describe(agreement: Agreement) -> str:
    """What is seen of two statements, as "typed values differ: time; the same place"."""
    parts = []
    if agreement.conflicts:
        parts.append("typed values differ: " + ", ".join(sorted({ours.kind for ours, _ in agreement.conflicts})))
    if agreement.same:
        parts.append("the same " + ", ".join(sorted(agreement.same)))
    return "; ".join(parts) or "no typed value in both"
