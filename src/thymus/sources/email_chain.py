"""Mail that was forwarded: what the first server saw, sealed by those who passed it on (ARC, RFC 8617).

Forwarding breaks SPF and often DKIM. A chain of seals carries what the first server found, if every sealer is honest:
an untrusted one could have written the mail itself. So all of them must be on the caller's list, and our own server
must have found the chain whole; the cryptography is not repeated here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from thymus.sources.domains import normalise, organisational_domain
from thymus.sources.email_results import read_sealed_report
from thymus.sources.email_sender import said

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from thymus.sources.email_results import Report, Result

_MOST_SEALS: Final = 50  # RFC 8617, section 4.2.1
_LONGEST_SEAL: Final = 8_000
_ORIGIN: Final = re.compile(r"\bfromdomain=([^\s()]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """What the first server of a trusted chain reported, and its domain; else why nothing counts."""

    report: Report | None = None
    first: str = ""
    reason: str = ""


def find_chain(results: Iterable[Result], items: Sequence[tuple[str, str]], sealers: frozenset[str]) -> Chain:
    """Find what a sealed chain reports about the mail as it set out.

    :param results: what our own server says; only with ``arc=pass`` is there a chain.
    :param items: the fields below our own, as the mail came in.
    :param sealers: the domains whose seals are believed.
    """
    verified = [result for result in results if result.method == "arc"]
    if not verified or any(result.value != "pass" for result in verified):
        return Chain()
    seals = [_seal(value) for name, value in items if name == "arc-seal"]
    by_instance = dict(seals)
    if not seals or len(seals) > _MOST_SEALS or sorted(at for at, _ in seals) != list(range(1, len(seals) + 1)):
        return Chain(reason="Its chain of seals (ARC) has gaps or doubles: it does not count.")
    strangers = [domain for domain in by_instance.values() if not _trusted(domain, sealers)]
    if strangers:
        return Chain(reason=f"It was sealed by {said(strangers[0])} (ARC), whom you did not name as trusted.")
    first = [report for at, report in _sealed(items) if at == 1]
    if len(first) != 1 or first[0].fault:
        return Chain(reason="Its chain of seals (ARC) does not say readably what the first server found.")
    told = {found.lower() for result in verified for found in _ORIGIN.findall(result.comment)}
    named = {value.lower() for result in first[0].results for key, value in result.properties if key == "header.from"}
    if (
        told
        and named
        and {organisational_domain(each) for each in told} != {organisational_domain(each) for each in named}
    ):
        return Chain(reason="Your mail server and the chain of seals (ARC) name different domains: it does not count.")
    return Chain(report=first[0], first=by_instance[1])


def _seal(value: str) -> tuple[int, str]:
    """``i=`` and ``d=`` of an ARC-Seal; 0 for an instance that is none."""
    pairs = (part.partition("=") for part in value[:_LONGEST_SEAL].split(";"))
    tags = {name.strip(): "".join(rest.split()) for name, _, rest in pairs}
    at = tags.get("i", "")
    return (int(at) if re.fullmatch(r"[0-9]{1,2}", at) else 0), normalise(tags.get("d", "")) or ""


def _sealed(items: Iterable[tuple[str, str]]) -> list[tuple[int, Report]]:
    found = [value for name, value in items if name == "arc-authentication-results"][: _MOST_SEALS + 1]
    return [read_sealed_report(value) for value in found]


def _trusted(domain: str, sealers: frozenset[str]) -> bool:
    """Whether a sealer is named, itself or a domain above it."""
    while domain:
        if domain in sealers:
            return True
        domain = domain.partition(".")[2]
    return False
