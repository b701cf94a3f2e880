"""Weighing the results of one server: do they prove the domain in From? (RFC 7489; RFC 8601, section 2.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from thymus.sources.domains import is_public_provider, normalise, organisational_domain
from thymus.sources.email_sender import said

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from thymus.sources.email_results import Result


_OF_ONE: Final = ("header.d", "header.i", "header.from", "smtp.mailfrom")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether From is proved, and the sentences that say by what, or why not.

    :param failed: DMARC failed: nothing but a trusted chain (ARC) can help.
    :param final: the report cannot be believed, or takes the mail for forged: nothing can help.
    """

    proved: bool = False
    failed: bool = False
    final: bool = False
    sentences: tuple[str, ...] = ()


def weigh(results: Sequence[Result], domain: str, by: str) -> Verdict:
    """Weigh the results of one server.

    :param domain: the domain in From.
    :param by: who reports, at the beginning of a sentence.
    """
    if contradiction := _contradiction(results):
        return Verdict(final=True, sentences=(f"{by} contradicts itself about {contradiction}: nothing counts.",))
    owner = organisational_domain(domain)
    signed = _signers(results)
    aligned = [signer for signer in signed if aligns(signer, domain)]
    dmarc = next((result for result in results if result.method == "dmarc"), None)
    if dmarc is not None and dmarc.value == "fail":
        return Verdict(failed=True, sentences=(f"{by} reports that DMARC failed.", *_strangers(signed, owner)))
    if any(result.method == "compauth" and result.value == "fail" for result in results):
        forged = f"{by} takes From for forged (compauth=fail)."
        return Verdict(final=True, sentences=(forged, *_strangers(signed, owner)))
    if dmarc is not None and dmarc.value == "pass" and dmarc.get("header.from"):
        return _by_dmarc(dmarc.get("header.from"), domain, aligned, by)
    if aligned:
        standing = f"DMARC: {said(dmarc.value)}" if dmarc is not None else "no DMARC result"
        return Verdict(proved=True, sentences=(_signed(by, aligned[0], standing), *promise(domain)))
    return Verdict(sentences=(_unproved(results, owner, by), *_strangers(signed, owner)))


def aligns(signer: str, domain: str) -> bool:
    """Whether a signature of one domain speaks for another: both of one organisation (RFC 7489, section 3.1.1).

    At a provider with many owners (``a.onmicrosoft.com`` beside ``b.onmicrosoft.com``) only the domain itself does, and
    those above it.
    """
    if is_public_provider(domain):
        return _covers(signer, domain)
    owner = organisational_domain(domain)
    return owner is not None and organisational_domain(signer) == owner


def _covers(above: str, domain: str) -> bool:
    """Whether it is the domain, or one above it that was registered."""
    name = normalise(above)
    return name is not None and organisational_domain(name) is not None and f".{domain}".endswith(f".{name}")


def promise(domain: str) -> tuple[str, ...]:
    """What a signature of the domain leaves to trust: at a provider with many owners, who of them wrote."""
    return ("Which of its many users wrote is that provider's promise.",) if is_public_provider(domain) else ()


def _by_dmarc(judged: str, domain: str, aligned: Sequence[str], by: str) -> Verdict:
    if not _covers(judged, domain):
        sentence = f"{by} reports DMARC for {said(judged)}, while From names {said(domain)}: nothing counts."
        return Verdict(final=True, sentences=(sentence,))
    if aligned:
        return Verdict(proved=True, sentences=(_signed(by, aligned[0], "DMARC passed"), *promise(domain)))
    if is_public_provider(domain):
        sentence = f"{by} reports DMARC for {said(domain)}, but no signature (DKIM) of that provider"
        return Verdict(sentences=(f"{sentence}: which of its many users wrote is not proved.",))
    return Verdict(proved=True, sentences=(f"{by} reports that DMARC passed for {said(domain)}.",))


def _signed(by: str, signer: str, standing: str) -> str:
    return f"{by} verified the signature of {said(signer)} (DKIM; {standing})."


def _contradiction(results: Sequence[Result]) -> str:
    """What is said twice and differently; several signatures or SPF identities may well differ."""
    for method in ("dmarc", "compauth", "arc"):
        told = {(result.value, result.get("header.from").lower()) for result in results if result.method == method}
        if len(told) > 1:
            return method.upper() if method != "compauth" else method
    for result in results:
        if any(len({value.lower() for key, value in result.properties if key == name}) > 1 for name in _OF_ONE):
            return "whose signature or From it means"
    signatures: dict[str, set[str]] = {}
    for result in results:
        if result.method == "dkim" and (mark := result.get("header.b")):
            signatures.setdefault(f"{result.get('header.d')} {mark}", set()).add(result.value)
    return "a signature" if any(len(values) > 1 for values in signatures.values()) else ""


def _signers(results: Iterable[Result]) -> list[str]:
    """The domains whose DKIM signature holds; Gmail gives ``header.i`` only, which is under it (RFC 6376, 3.5)."""
    passed = [result for result in results if result.method == "dkim" and result.value == "pass"]
    return list(dict.fromkeys(filter(None, (_signer(result) for result in passed))))


def _signer(result: Result) -> str:
    by, agent = result.get("header.d"), result.get("header.i").rpartition("@")[2]
    if by and agent and organisational_domain(by) != organisational_domain(agent):
        return ""
    return (by or agent).lower()


def _unproved(results: Iterable[Result], owner: str | None, by: str) -> str:
    for result in results:
        envelope = result.get("smtp.mailfrom").rpartition("@")[2]
        if result.method == "spf" and result.value == "pass" and envelope and organisational_domain(envelope) == owner:
            return f"{by} reports SPF only: the machine may send for {said(envelope)}, and so may others who share it."
    return f"{by} reports nothing that proves From."


def _strangers(signed: Iterable[str], owner: str | None) -> list[str]:
    others = [signer for signer in signed if organisational_domain(signer) != owner]
    return [f"It was signed by {said(others[0])}, which proves nothing about From."] if others else []
