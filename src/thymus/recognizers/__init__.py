"""Recognisers: typed values (`thymus.core.values`) read out of text.

`recognize` runs families of patterns from the most to the least specific; each claims passages, and later ones do not
see what is claimed. Number words become numerals first, so that "forty-nine rupees" and "₹49" meet the same patterns.
Every pattern is bounded: time is linear in the text, whatever a sender writes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from thymus.core.values import Value

if TYPE_CHECKING:
    from thymus.recognizers.page import Page

__all__ = ["recognize"]


def recognize(text: str, *, observed_at: datetime | None = None, region: str | None = None) -> tuple[Value, ...]:
    """Read the typed values of a text, ordered and without overlap; `text[slice(*value.span)] == value.text`.

    `observed_at`: when the text was written; "tomorrow" becomes a date with it, and stays relative without.
    `region`: the ISO 3166 country (two letters) of national telephone numbers; None or "ZZ" leaves them as digits.
    """
    page_type, families = _families()
    page = page_type(text, observed_at=observed_at, region=None if region in {None, "ZZ"} else region)
    for read in families:
        read(page)
        page.settle()
    return tuple(sorted(page.values, key=lambda value: value.span))


@cache
def _families() -> tuple[type[Page], tuple[Callable[[Page], None], ...]]:
    """The families in the order that they read: compiled at the first call, to keep the import cheap."""
    from thymus.recognizers import (
        calendar,
        clock,
        durations,
        identifiers,
        links,
        money,
        numbers,
        phones,
        places,
        quantities,
    )
    from thymus.recognizers.page import Page

    return Page, (
        links.read_links,
        numbers.spell_numbers,
        identifiers.read_accounts,
        identifiers.read_labelled_codes,
        calendar.read_days,
        places.read_places,
        money.read_money,
        phones.read_phones,
        clock.read_times,
        durations.read_durations,
        quantities.read_quantities,
        identifiers.read_codes,
        numbers.read_numbers,
    )
