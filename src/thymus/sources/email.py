"""Who a mail is from, and what its headers prove of that.

The rules, each of which can only lower what is believed:

- The identity is the address of the one From header; a display name, Sender, Reply-To or Resent-From is none.
- Only what our own mail server reports counts (RFC 8601), told by its name and by where it stands (``email_trace``);
  besides it, DKIM signatures that the caller lets us verify (``email_signatures``).
- From is proved by DMARC pass for its domain, or by a DKIM signature of its organisational domain (RFC 7489, section
  3.1, relaxed alignment). SPF alone proves which machine sent the envelope, not From: many senders share one machine,
  and only a domain that publishes DMARC has said that this shall be enough.
- ``dmarc=fail`` overrides everything but a trusted ARC chain; what conflicts in itself proves nothing. Microsoft's
  ``bestguesspass`` and ``compauth`` are guesses: they never prove, though ``compauth=fail`` is heeded.
- At a provider with many owners (gmail.com) an SPF pass says only that the provider's machines sent it; who of its
  users wrote is promised by the provider's own DKIM signature.
- ARC (RFC 8617) counts where our server found the chain whole and the caller trusts every one of its sealers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from thymus.core.provenance import Assurance, Source
from thymus.errors import SourceError
from thymus.sources.domains import normalise, organisational_domain
from thymus.sources.email_chain import find_chain
from thymus.sources.email_evidence import Verdict, aligns, promise, weigh
from thymus.sources.email_fields import read_fields
from thymus.sources.email_sender import find_sender, said
from thymus.sources.email_trace import NO_AUTHSERV_ID, Server, bears_results, find_reports

if TYPE_CHECKING:
    from thymus.sources.email_fields import Fields
    from thymus.sources.email_sender import Sender
    from thymus.sources.email_signatures import LookUp
    from thymus.sources.email_trace import Vouched

__all__ = ["NO_AUTHSERV_ID", "names_server", "read_source"]

# Fields of which RFC 5322 (section 3.6) and RFC 2045 allow one: with two, a signature may cover the one that nobody
# sees (RFC 6376, section 8.15).
_ONCE: Final = ("subject", "date", "message-id", "content-type", "content-transfer-encoding")


def read_source(
    raw: bytes,
    *,
    authserv_id: str | Iterable[str] = (),
    dkim: bool = False,
    dnsfunc: LookUp | None = None,
    arc_sealers: str | Iterable[str] = (),
    received_by: str | Iterable[str] = (),
    under_received: bool = False,
) -> Source:
    """Read who a mail is from; any bytes give a source, anonymous and CLAIMED where they name nobody.

    :param raw: the whole mail as it arrived, RFC 5322.
    :param authserv_id: what your own mail servers call themselves in the Authentication-Results that they add;
        ``*.mail.example`` for all hosts under it; ``NO_AUTHSERV_ID`` for a server that writes none (Microsoft 365).
    :param dkim: whether to verify DKIM signatures here, which asks the DNS.
    :param dnsfunc: ``(name, timeout) -> TXT record``, in place of the system's resolver.
    :param arc_sealers: domains (``d=``) whose ARC seals are believed: forwarders and lists that you use.
    :param received_by: what your servers call themselves in Received lines (``by …``), where it is not the authserv-id.
    :param under_received: count results that stand directly below your server's Received line, where some milters put
        them; only where your server deletes forged ones.
    :returns: AUTHENTICATED only where the domain of From is proved; ``proof`` says what was proved and why, or why not.
    :raises SourceError: an argument is of the wrong type.
    :raises MissingExtraError: ``dkim`` without the packages of the extra ``dkim``.
    """
    if not isinstance(raw, (bytes, bytearray, memoryview)):
        raise SourceError(f"a mail is bytes, as it arrived, not {type(raw).__name__}: pass what was received")
    raw = bytes(raw)
    ids = _names(authserv_id, "authserv_id")
    sealers = _names(arc_sealers, "arc_sealers")
    server = Server(ids=ids, received_by=_names(received_by, "received_by"), under_received=under_received is True)
    fields = read_fields(raw)
    sender = find_sender(fields.values("from"))
    if not fields.whole:
        return Source(channel="email", name=sender.name, proof=("Its header is too long to name anybody for certain.",))
    if not sender.address:
        return Source(channel="email", name=sender.name, proof=(sender.reason, *_passed_on(fields, sender)))
    verdict = _verdict(raw, fields, sender, server, sealers, dnsfunc, dkim=dkim is True)
    return Source(
        channel="email",
        identity=sender.address,
        assurance=Assurance.AUTHENTICATED if verdict.proved else Assurance.CLAIMED,
        name=sender.name,
        proof=(*verdict.sentences, *_passed_on(fields, sender), *sender.warnings),
    )


def names_server(raw: bytes, authserv_id: str | Iterable[str]) -> bool:
    """Whether a mail bears results in the name of such a server at all, wherever they stand and whatever they say.

    Where no mail does, the name is not what the server calls itself.
    """
    return bears_results(read_fields(raw).items, Server(ids=_names(authserv_id, "authserv_id")))


def _names(given: object, parameter: str) -> frozenset[str]:
    names = [given] if isinstance(given, str) else given
    if isinstance(given, bytes) or not isinstance(names, Iterable):
        raise SourceError(f"{parameter} is a name or several, as strings, not {type(given).__name__}")
    found = list(names)
    if any(not isinstance(name, str) for name in found):
        raise SourceError(f"{parameter} is a name or several, as strings: pass 'mx.me.example' or a list of such")
    return frozenset(name.strip().lower().removesuffix(".") for name in found if name.strip())


def _verdict(
    raw: bytes,
    fields: Fields,
    sender: Sender,
    server: Server,
    sealers: frozenset[str],
    dnsfunc: LookUp | None,
    *,
    dkim: bool,
) -> Verdict:
    if doubled := [name for name in _ONCE if len(fields.values(name)) > 1]:
        name = "-".join(part.capitalize() for part in doubled[0].split("-"))
        return Verdict(sentences=(f"It has several {name} headers, and which of them was proved cannot be told.",))
    if organisational_domain(sender.domain) is None:
        return Verdict(sentences=("The domain in From belongs to no one organisation.",))
    if not server.ids and not dkim:
        return Verdict(sentences=("Nothing was checked: no mail server of yours was named (authserv_id).",))
    sentences: list[str] = []
    if server.ids:
        vouched = find_reports(fields.items, server)
        found = _by_server(vouched, fields, sender, sealers)
        if found.proved or found.failed or found.final or not dkim:
            return found
        sentences.extend(found.sentences)
    own = _by_signature(raw, fields, sender, dnsfunc)
    return Verdict(proved=own.proved, sentences=own.sentences if own.proved else (*sentences, *own.sentences))


def _by_server(vouched: Vouched, fields: Fields, sender: Sender, sealers: frozenset[str]) -> Verdict:
    if not vouched.reports:
        return Verdict(sentences=(vouched.reason,))
    by = f"Your mail server {normalise(vouched.by) or said(vouched.by)}" if vouched.by else "Your mail server"
    if fault := next((report.fault for report in vouched.reports if report.fault), ""):
        return Verdict(sentences=(f"The report of your mail server counts for nothing: it {fault}.",), final=True)
    results = [result for report in vouched.reports for result in report.results]
    verdict = weigh(results, sender.domain, by)
    if not verdict.proved and sealers and not verdict.final:
        chain = find_chain(results, fields.items[vouched.border :], sealers)
        if chain.report is not None:
            by = f"{said(chain.first)} (ARC, whole and sealed by whom you trust)"
            sealed = weigh(chain.report.results, sender.domain, by)
            verdict = sealed if sealed.proved else verdict
        elif chain.reason:
            verdict = replace(verdict, sentences=(*verdict.sentences, chain.reason))
    notes = (vouched.note,) if vouched.note else ()
    return replace(verdict, sentences=(*verdict.sentences, *notes))


def _by_signature(raw: bytes, fields: Fields, sender: Sender, dnsfunc: LookUp | None) -> Verdict:
    from thymus.sources.email_signatures import verify_signatures

    found = verify_signatures(raw, fields, dnsfunc)
    if not found:
        return Verdict(sentences=("It bears no DKIM signature.",))
    valid = [signature.domain for signature in found if not signature.reason]
    if aligned := [domain for domain in valid if aligns(domain, sender.domain)]:
        sentence = f"{said(aligned[0])} signed it, From included (DKIM, verified here)."
        return Verdict(proved=True, sentences=(sentence, *promise(sender.domain)))
    return Verdict(
        sentences=tuple(
            f"The signature of {said(signature.domain)} does not count: {signature.reason}."
            if signature.reason
            else f"It was signed by {said(signature.domain)}, which proves nothing about From."
            for signature in found[:3]
        )
    )


def _passed_on(fields: Fields, sender: Sender) -> list[str]:
    """What says that the mail went through other hands: none of it changes who it is from."""
    notes = []
    if listed := fields.values("list-id"):
        notes.append(f"It came through the mailing list {said(listed[0])}.")
        if " via " in f" {sender.name.lower()} ":
            notes.append("The list put its own address into From: that is who is named, not the writer.")
    if resent := fields.values("resent-from"):
        notes.append(f"It was sent on by {said(resent[0])}, which nothing here proves.")
    if (given := fields.values("sender")) and sender.address:
        other = find_sender(given[:1]).address
        if other.lower() != sender.address.lower():
            notes.append(f"It names {said(given[0])} as who handed it in (Sender), which nothing here proves.")
    return notes
