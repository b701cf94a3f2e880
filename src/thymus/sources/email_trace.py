"""Which results in a mail's header our own mail server wrote, told by where they stand.

Each server puts its lines on top. So what stands above the Received line with which our border server took the mail
from outside was written by us, and what stands below it was there when it came: the sender's, forged or not. A
conforming server deletes forged results in its name (RFC 8601, section 5); this does not rely on it.

Servers differ. Microsoft 365 writes no authserv-id (``NO_AUTHSERV_ID``). Gmail writes its Authentication-Results below
its own Received line, but the same results sealed above it (ARC-Authentication-Results, RFC 8617): those count.
Milters often write below it too: ``under_received`` lets these count, where the server deletes forged ones.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from thymus.sources.domains import normalise, organisational_domain
from thymus.sources.email_fields import take_apart
from thymus.sources.email_results import read_report, read_sealed_report

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from thymus.sources.email_results import Report

NO_AUTHSERV_ID: Final = "@none"
"""Stands for the authserv-id of a server that writes none, as Microsoft 365; no real one can be spelt so."""

_MICROSOFT_BORDER: Final = "*.protection.outlook.com"
_MICROSOFT: Final = frozenset({"outlook.com", "office365.com", "exchangelabs.com"})
_RECEIVED: Final = "received"
_RESULTS: Final = "authentication-results"
_SEALED: Final = "arc-authentication-results"
_OWN_NETWORKS: Final = tuple(map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")))
_LONGEST_RECEIVED: Final = 4_000
# Below our Received line, a server's own lines end where the sender's begin, at the latest with one of these.
_SENDERS: Final = frozenset(
    {_RECEIVED, "dkim-signature", "from", "to", "subject", "date", "message-id", "mime-version"}
)
_SUBMITTED: Final = re.compile(r"\bwith\s+(?:utf8)?e?smtps?a\b", re.IGNORECASE)  # RFC 3848: by a user, not by a server
_MOST_RESULTS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """What our own server says about a mail.

    :param by: the name our server gives itself, "" where it writes none.
    :param reports: the fields of the topmost block; empty where nothing counts, and ``reason`` is then a sentence.
    :param border: how many fields, from the top, our own servers wrote.
    """

    by: str = ""
    reports: tuple[Report, ...] = ()
    reason: str = ""
    note: str = ""
    border: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How to tell our own mail server.

    :param ids: its authserv-ids, lower case; ``*.mail.example`` stands for all hosts under it.
    :param received_by: what it calls itself in the ``by`` of a Received line, where that is not the authserv-id.
    :param under_received: whether results that stand directly under its Received line count too.
    """

    ids: frozenset[str]
    received_by: frozenset[str] = frozenset()
    under_received: bool = False

    def border(self, items: Sequence[tuple[str, str]]) -> int | None:
        """Where the Received line stands with which the mail came in from outside.

        The first that another's machine handed over; where there is none, the lowest. None without Received lines.
        """
        names = self.received_by | self.ids | ({_MICROSOFT_BORDER} if NO_AUTHSERV_ID in self.ids else set())
        owned = {organisational_domain(name.removeprefix("*.")) for name in names - {NO_AUTHSERV_ID}} - {None}
        owned |= _MICROSOFT if NO_AUTHSERV_ID in self.ids else set()
        lowest = None
        for at, (name, value) in enumerate(items):
            if name == _RECEIVED:
                lowest = at
                hop = _read_hop(value)
                if hop.submitted or not (hop.nearby or (not _matches(hop.by, names) and hop.owner in owned)):
                    return at
        return lowest

    def is_ours(self, report: Report) -> bool:
        """Whether the field bears our name, or none where our server writes none."""
        if report.authserv_id is None:
            return NO_AUTHSERV_ID in self.ids
        return _matches(report.authserv_id, self.ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hop:
    """One Received line: who took the mail, and from whom, as far as the taker checked.

    :param nearby: it came from the same machine or network.
    :param owner: the organisational domain of the machine that it came from, "" where that is unknown.
    """

    by: str
    nearby: bool
    owner: str
    submitted: bool


def find_reports(items: Sequence[tuple[str, str]], server: Server) -> Vouched:
    """Find what our server reports: the topmost block of fields in its name that only it can have written."""
    border = server.border(items)
    if border is None:
        return Vouched(reason="No Received line shows which part of the header your mail server wrote.")
    ours = [at for at, report in _reports(items, _RESULTS) if server.is_ours(report)]
    trusted = [at for at in ours if at < border]
    kind = _RESULTS
    if not trusted:
        trusted = [at for at, report in _reports(items[:border], _SEALED) if server.is_ours(report)]
        kind = _SEALED if trusted else _RESULTS
    if not trusted and server.under_received:
        end = next((at for at in range(border + 1, len(items)) if items[at][0] in _SENDERS), len(items))
        trusted = [at for at in ours if at < end]
    if not trusted:
        return Vouched(reason=_nothing(ours), border=border)
    block = _block(items, trusted)
    reports = tuple(report for _, report in _reports([items[at] for at in block], kind))
    return Vouched(
        by=reports[0].authserv_id or "",
        reports=reports[:1] if reports[0].authserv_id is None else reports,
        note=_ignored(len(set(ours) - set(block)) if kind == _RESULTS else 0),
        border=border,
    )


def bears_results(items: Sequence[tuple[str, str]], server: Server) -> bool:
    """Whether results in our server's name stand anywhere in a header, whoever wrote them."""
    return any(server.is_ours(report) for kind in (_RESULTS, _SEALED) for _, report in _reports(items, kind))


def _reports(items: Iterable[tuple[str, str]], kind: str) -> list[tuple[int, Report]]:
    found = [(at, value) for at, (name, value) in enumerate(items) if name == kind][:_MOST_RESULTS]
    if kind == _RESULTS:
        return [(at, read_report(value)) for at, value in found]
    return [(at, read_sealed_report(value)[1]) for at, value in found]


def _block(items: Sequence[tuple[str, str]], trusted: Sequence[int]) -> list[int]:
    """The topmost fields with no Received line between them."""
    end = next((at for at in range(trusted[0], len(items)) if items[at][0] == _RECEIVED), len(items))
    return [at for at in trusted if at < end]


def _nothing(ours: Sequence[int]) -> str:
    if ours:
        return (
            "Results in your mail server's name stand below the line with which it took the mail, where the sender "
            "could have written them: they do not count, unless you say that your server's filters write there "
            "(under_received, --under-received)."
        )
    return "Your mail server reports nothing about this mail."


def _ignored(count: int) -> str:
    if not count:
        return ""
    return f"{count} more in your mail server's name further down {'was' if count == 1 else 'were'} not counted."


def _read_hop(value: str) -> _Hop:
    """Read a Received line as Postfix, sendmail, Exim, Exchange, Gmail and qmail write it.

    What follows ``from`` is often only what the other side called itself (HELO). Where the comment behind it holds a
    name that the taker looked up, or says that there is none, that decides; and no global address may stand there where
    the mail is said to come from nearby.
    """
    phrase = take_apart(value[:_LONGEST_RECEIVED])
    words = phrase.bare.partition(";")[0].lower().split()
    by = next((after for word, after in pairwise(words) if word == "by"), "").strip("[]")
    submitted = bool(_SUBMITTED.search(phrase.bare))
    if words[:1] != ["from"] or len(words) == 1:
        return _Hop(by=by, nearby=True, owner="", submitted=submitted)
    peer, described = words[1], (phrase.comments[0].lower() if phrase.comments else "")
    addresses = _addresses(f"{peer} {described}")
    nearby = all(_is_near(address) for address in addresses) if addresses else peer == "localhost"
    looked_up = next(iter(described.split()), "")
    decides = bool(addresses) and (looked_up == "unknown" or "." in (normalise(looked_up) or ""))
    name = looked_up if decides else peer
    owner = None if "may be forged" in described else organisational_domain(name)
    return _Hop(by=by, nearby=nearby, owner=owner or "", submitted=submitted)


def _addresses(text: str) -> list[IPv4Address | IPv6Address]:
    found = []
    for word in re.split(r"[\s\[\]=]+", text):
        with contextlib.suppress(ValueError):
            found.append(ip_address(word.removeprefix("ipv6:")))
    return found


def _is_near(address: IPv4Address | IPv6Address) -> bool:
    """Whether it is of this machine or a network of one's own (RFC 1918, RFC 4193)."""
    plain = getattr(address, "ipv4_mapped", None) or address
    return plain.is_loopback or plain.is_link_local or any(plain in network for network in _OWN_NETWORKS)


def _matches(host: str, names: Iterable[str]) -> bool:
    """Whether a name is among ours; ``*.`` stands for one label or more."""
    whole = normalise(host) or ""
    return any((whole or host) == name or (name.startswith("*.") and whole.endswith(name[1:])) for name in names)
