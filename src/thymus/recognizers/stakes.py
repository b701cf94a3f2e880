"""Values of high stakes: what would do harm at once if somebody planted it, with nothing to contradict it.

Where to pay, what lets in, whom to call, what to click, how much to take. A statement that merely mentions an amount,
an order, an article or a place is none: what is found here in the words of an unproved sender is kept from the model
and shown to the user, so a false alarm costs, too. Offline, in time linear in the text, whatever it holds; disguises
(look-alike and full-width letters, unseen characters, spelt or spaced digits, "hxxp", "[.]") are read through.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Stake", "StakeKind", "find_stakes"]


class StakeKind(StrEnum):
    """What is at stake."""

    PAYMENT = "payment"
    """Where money is to go: an account, wallet, handle, card, gift card, or an order to pay to somebody."""
    CREDENTIAL = "credential"
    """What lets somebody in: a password, PIN, code of a door, key, recovery phrase, answer to a security question."""
    CONTACT = "contact"
    """A number, address or handle offered as where to reach somebody."""
    LINK = "link"
    """A link to act on: log in, pay, verify, download, track, claim."""
    DOSE = "dose"
    """An amount of a medicine for somebody, or an order to stop or change one."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Stake:
    """A passage of high stakes.

    :param span: [start, end) in the text as given.
    :param text: the passage as it stands there, disguise and all: a sender's words, to be shown as a quotation only.
    """

    span: tuple[int, int]
    kind: StakeKind
    text: str


def find_stakes(text: str) -> tuple[Stake, ...]:
    """Read a text of any content for values of high stakes, in order; what overlaps in one kind is one stake."""
    found: dict[StakeKind, list[tuple[int, int]]] = {}
    for kind, span in _found(text):
        found.setdefault(kind, []).append(span)
    spans = {kind: list(_merged(some)) for kind, some in found.items()}
    if StakeKind.CONTACT in spans:  # the number that money goes to is not one to call
        spans[StakeKind.CONTACT] = list(_outside(spans[StakeKind.CONTACT], spans.get(StakeKind.PAYMENT, [])))
    return tuple(sorted(Stake(kind=kind, span=span, text=text[slice(*span)]) for kind in spans for span in spans[kind]))


def _found(text: str) -> Iterator[tuple[StakeKind, tuple[int, int]]]:
    from thymus.recognizers import (  # compiled at the first call, to keep the import cheap
        stake_contacts,
        stake_credentials,
        stake_doses,
        stake_links,
        stake_payments,
        stake_reading,
    )
    from thymus.recognizers.credentials import find_secrets
    from thymus.recognizers.guises import Folded
    from thymus.recognizers.page import Page

    page = Page(text)
    for name, span in find_secrets(page.text):
        if name != "national_id":
            yield StakeKind.PAYMENT if name == "card" else StakeKind.CREDENTIAL, page.source(*span)
    readers = (
        (StakeKind.PAYMENT, stake_payments.read_payments),
        (StakeKind.CREDENTIAL, stake_credentials.read_credentials),
        (StakeKind.CONTACT, stake_contacts.read_contacts),
        (StakeKind.LINK, stake_links.read_links),
        (StakeKind.DOSE, stake_doses.read_doses),
    )
    folded = Folded(text)
    for reading in stake_reading.read(folded):
        for kind, read in readers:
            for span in read(reading):
                if span[0] < span[1]:
                    yield kind, folded.source(*reading.source(span))


def _outside(spans: list[tuple[int, int]], others: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans that overlap none of the others; both in order and without overlap among themselves."""
    for start, end in spans:
        place = bisect_right(others, (end, -1))
        if not place or others[place - 1][1] <= start:
            yield start, end


def _merged(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans in order, those that overlap as one."""
    spans.sort()
    first, last = spans[0]
    for start, end in spans[1:]:
        if start < last:
            last = max(last, end)
        else:
            yield first, last
            first, last = start, end
    yield first, last
