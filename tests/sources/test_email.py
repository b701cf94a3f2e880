"""What mail headers prove: only what our own server wrote, about the domain of the one From address, and never more.

``tests/data/mail`` has one mail for each way to fail (and a few that prove something); each has a row here.
"""

from __future__ import annotations

import base64
import json
import random
import re
import time
from email import message_from_bytes
from email.utils import parseaddr
from functools import cache
from pathlib import Path
from typing import Any

import authres  # type: ignore[import-untyped]
import dkim  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thymus import MemoryGuard
from thymus.core.provenance import Assurance, Source
from thymus.errors import MissingExtraError, SourceError
from thymus.ingest import Reading, Tally, _message
from thymus.readers import read_messages
from thymus.sources import email_signatures
from thymus.sources.domains import organisational_domain, owner
from thymus.sources.email import NO_AUTHSERV_ID, read_source
from thymus.sources.email_evidence import aligns
from thymus.sources.email_fields import LONGEST_HEADER, take_apart
from thymus.sources.email_results import read_report
from thymus.sources.email_sender import find_sender

MAIL = Path(__file__).parents[1] / "data/mail"
PUBLIC = Path(__file__).parents[2] / "../shared/data/public/email"
OURS = "mx.me.example"
INES = "email:ines@larkfield.example"
EVIL = "email:x@evil.example"

# name of the mail: (key, whether it is authenticated, a part of the proof)
FIXTURES = {
    "proved": (INES, True, "DKIM; DMARC passed"),
    "proved-by-spf-and-dmarc": (INES, True, "DMARC passed for “larkfield[.]example”"),
    "proved-by-subdomain-signature": (INES, True, "signature of “mail[.]larkfield[.]example”"),
    "signed-by-agent-only": (INES, True, "no DMARC result"),
    "odd-but-sound": (INES, True, "signature of “larkfield[.]example”"),
    "gmail": (INES, True, "mx.google.com verified the signature of “larkfield[.]example”"),
    "gmail-forged": (INES, False, "where the sender could have written them"),
    "microsoft-365": (INES, True, "Your mail server verified the signature of “larkfield[.]example”"),
    "microsoft-365-forged": (INES, False, "where the sender could have written them"),
    "forged-results-below-our-line": (INES, False, "where the sender could have written them"),
    "forged-results-and-line": (INES, False, "where the sender could have written them"),
    "forged-results-below-true-ones": (INES, False, "1 more in your mail server's name further down was not counted"),
    "results-of-another-server": (INES, False, "reports nothing about this mail"),
    "results-under-our-line": (INES, False, "where the sender could have written them"),
    "submitted-by-a-user": (INES, False, "where the sender could have written them"),
    "no-received-line": (INES, False, "No Received line"),
    "no-result": (INES, False, "reports nothing that proves From"),
    "two-dmarc-results": (INES, False, "contradicts itself about DMARC"),
    "dmarc-fail-with-signature": (INES, False, "DMARC failed"),
    "dmarc-for-another-domain": (INES, False, "DMARC for “evil[.]example”, while From names “larkfield[.]example”"),
    "signature-of-another-domain": (INES, False, "signed by “bulkmailer[.]example”, which proves nothing about From"),
    "signature-of-the-suffix": (INES, False, "signed by “example”, which proves nothing about From"),
    "signature-of-two-domains": (INES, False, "contradicts itself about whose signature"),
    "spf-only": (INES, False, "reports SPF only"),
    "guessed-by-microsoft": (INES, False, "reports SPF only"),
    "compauth-fail": (INES, False, "compauth=fail"),
    "result-smuggled-through-a-comment": (INES, False, "two results where one belongs"),
    "result-smuggled-through-quotes": (INES, False, "reports nothing that proves From"),
    "comment-left-open": (INES, False, "quotes or brackets that do not close"),
    "unknown-version": (INES, False, "reports nothing about this mail"),
    "unknown-method-version": (INES, False, "reports nothing that proves From"),
    "two-from-headers": ("email", False, "2 From headers"),
    "no-from-header": ("email", False, "no From header"),
    "two-addresses": ("email", False, "several addresses"),
    "group": ("email", False, "a group"),
    "empty-address": ("email", False, "an empty address"),
    "address-in-encoded-words": ("email", False, "hides the address in encoded words"),
    "encoded-words-within-the-address": ("email", False, "hides the address in encoded words"),
    "quotes-left-open": ("email", False, "do not close"),
    "address-literal": ("email", False, "no plain address at a named domain"),
    "name-shows-another-address": (EVIL, True, "display name shows another address, “support@bank[.]example”"),
    "encoded-name-shows-another-address": (EVIL, True, "shows another address, “support@bank[.]example”"),
    "name-turned-round": (EVIL, True, "direction-changing characters"),
    "name-of-mixed-alphabets": (EVIL, True, "letters of several alphabets"),
    "domain-in-other-letters": ("email:ines@xn--lrkfield-16g.example", True, "identity has its ASCII form"),
    "two-subjects": (INES, False, "several Subject headers"),
    "mailing-list": (INES, False, "came through the mailing list “Walkers ‹walkers[.]lists[.]example›”"),
    "rewritten-by-a-list": ("email:walkers@lists.club.example", True, "The list put its own address into From"),
    "resent": (INES, True, "sent on by “Ravi ‹ravi@other[.]example›”, which nothing here proves"),
    "sent-by-another": (INES, True, "names “bulk@mailer[.]example” as who handed it in"),
    "provider-signed": ("email:ines.prado@gmail.com", True, "that provider's promise"),
    "provider-by-spf": ("email:ines.prado@gmail.com", False, "which of its many users wrote is not proved"),
    "forwarded": (INES, True, "“forwarder[.]example” (ARC, whole and sealed by whom you trust)"),
    "forwarded-chain-broken": (INES, False, "DMARC failed"),
    "forwarded-by-two": (INES, False, "sealed by “stranger[.]example” (ARC), whom you did not name"),
    "forwarded-with-a-gap": (INES, False, "gaps or doubles"),
    "forwarded-for-another-domain": (INES, False, "name different domains"),
    "forwarded-unproved": (INES, False, "DMARC failed"),
}


def mail(name: str) -> bytes:
    return (MAIL / f"{name}.eml").read_bytes()


def options(name: str) -> dict[str, Any]:
    ids = {"microsoft": NO_AUTHSERV_ID, "gmail": "mx.google.com"}.get(re.split("[-.]", name)[0], OURS)
    return {"authserv_id": ids, "arc_sealers": "forwarder.example" if name.startswith("forwarded") else ()}


@pytest.mark.parametrize("name", FIXTURES)
def test_each_fixture_proves_what_its_row_says(name: str) -> None:
    key, authenticated, part = FIXTURES[name]
    source = read_source(mail(name), **options(name))
    assert (key, authenticated) == (source.key, source.authenticated)
    assert part in " ".join(source.proof)
    assert source.channel == "email"


def test_each_fixture_has_a_row() -> None:
    assert sorted(FIXTURES) == sorted(file.stem for file in MAIL.glob("*.eml"))


@pytest.mark.parametrize("name", [name for name, row in FIXTURES.items() if row[1]])
def test_without_our_server_named_nothing_is_proved(name: str) -> None:
    for ids in ((), "", [" "], "mx.other.example", "me.example", "x.mx.me.example"):
        source = read_source(mail(name), authserv_id=ids)
        assert (FIXTURES[name][0], Assurance.CLAIMED) == (source.key, source.assurance), ids


def test_the_source_says_the_same_through_the_front_door() -> None:
    source = Source.from_email(mail("proved"), authserv_id=OURS)
    assert (
        source.key,
        source.assurance,
        source.name,
    ) == ("email:ines@larkfield.example", Assurance.AUTHENTICATED, "Ines Prado")
    assert source == read_source(mail("proved"), authserv_id=["mx.other.example", "MX.me.example."])


# Which lines are ours


def test_a_forwarder_counts_only_where_the_caller_trusts_every_sealer() -> None:
    assert not read_source(mail("forwarded"), authserv_id=OURS).authenticated
    assert not read_source(mail("forwarded"), authserv_id=OURS, arc_sealers="der.example").authenticated
    both = ["forwarder.example", "stranger.example"]
    assert read_source(mail("forwarded-by-two"), authserv_id=OURS, arc_sealers=both).authenticated


def test_results_under_our_line_count_where_the_caller_says_so_and_no_further_down() -> None:
    assert read_source(mail("results-under-our-line"), authserv_id=OURS, under_received=True).authenticated
    signed = b"DKIM-Signature: x\nAuthentication-Results"
    further = mail("results-under-our-line").replace(b"Authentication-Results", signed)
    assert not read_source(further, authserv_id=OURS, under_received=True).authenticated
    assert not read_source(mail("forged-results-below-true-ones"), authserv_id=OURS, under_received=True).authenticated


def test_a_star_stands_for_the_hosts_under_a_domain() -> None:
    assert read_source(mail("proved"), authserv_id="*.me.example").authenticated
    assert not read_source(mail("proved"), authserv_id="*.mx.me.example").authenticated
    assert not read_source(mail("forged-results-and-line"), authserv_id="*.me.example").authenticated


LINE = "Received: from {peer} by {by} with ESMTP id 1; Mon, 2 Sep 2024 09:00:02 +0200\n"


@pytest.mark.parametrize(
    ("outside", "peer"),
    [
        (True, "mx.me.example (unknown [203.0.113.66])"),
        (True, "mx.me.example (evil.example [203.0.113.66])"),
        (True, "mx.me.example (mx.me.example [203.0.113.66] (may be forged))"),
        (True, "[127.0.0.1] (unknown [203.0.113.66])"),
        (True, "[203.0.113.66] (helo=[127.0.0.1])"),
        (True, "[203.0.113.66] (helo=mx.me.example)"),
        (True, "unknown (HELO mx.me.example) (203.0.113.66)"),
        (True, "localhost (unknown [203.0.113.66])"),
        (True, "evil.example"),
        (False, "localhost (localhost [127.0.0.1])"),
        (False, "localhost"),
        (False, "filter (unknown [192.168.3.4])"),
        (False, "mx.me.example (mx.me.example [203.0.113.5])"),
        (False, "mx.me.example (mx.me.example. [IPv6:2001:db8::5])"),
        (False, "mx.me.example ([::ffff:10.1.2.3])"),
    ],
)
def test_where_the_mail_came_in(outside: bool, peer: str) -> None:
    """The name that the other side gave itself (HELO) never makes its line one of ours."""
    results = "Authentication-Results: me.example; dmarc=pass header.from=larkfield.example\n"
    border = LINE.format(peer="larkfield.example (larkfield.example [203.0.113.7])", by="mx1.me.example")
    raw = f"{LINE.format(peer=peer, by='mx1.me.example')}{results}{border}From: ines@larkfield.example\n\nHi.".encode()
    assert outside is not read_source(raw, authserv_id="me.example").authenticated


def test_a_border_server_may_have_another_name_than_its_results() -> None:
    """Where the caller gives it, no name that the other side called itself can move the border down."""
    peer = "gate.me.example (203.0.113.66)"
    raw = LINE.format(peer=peer, by="gate.me.example").encode() + mail("proved")
    assert read_source(raw, authserv_id=OURS).authenticated
    assert not read_source(raw, authserv_id=OURS, received_by="gate.me.example").authenticated


def test_of_two_of_our_servers_the_last_to_write_is_heard() -> None:
    inner = LINE.format(peer="mx.me.example (mx.me.example [10.0.0.5])", by="filter.me.example")
    failed = "Authentication-Results: mx.me.example; dmarc=none header.from=larkfield.example\n"
    source = read_source(f"{failed}{inner}".encode() + mail("proved"), authserv_id=OURS)
    assert not source.authenticated
    assert "1 more in your mail server's name further down was not counted" in source.proof[-1]


def test_our_own_seal_is_no_link_of_the_chain_that_came_in() -> None:
    own = b"ARC-Seal: i=2; cv=pass; d=mx.me.example; b=abc=\n"
    assert read_source(own + mail("forwarded"), authserv_id=OURS, arc_sealers="forwarder.example").authenticated


TAME = st.text('abz019.-_@ \t<>()[]{}"\\:;,=?*%/é\u202e\x00', max_size=40)
SENDERS_LINES = st.lists(
    st.one_of(
        st.just("Authentication-Results: mx.me.example; dkim=pass header.d=larkfield.example"),
        st.just("Authentication-Results: dmarc=pass action=none header.from=larkfield.example"),
        st.just("ARC-Authentication-Results: i=1; mx.me.example; dmarc=pass header.from=larkfield.example"),
        st.just("ARC-Seal: i=1; d=mx.me.example; cv=none"),
        st.just("Received: from mx.me.example (localhost [127.0.0.1]) by mx.me.example with LMTP"),
        st.just("Received: by mx.me.example with SMTP"),
        st.just("Received: from x by y.mail.protection.outlook.com"),
        st.just("From: Ines <ines@larkfield.example>"),
        st.just(""),
        st.builds("{}: {}".format, st.sampled_from(["From", "Received", "X", " ", "Authentication-Results"]), TAME),
    ),
    max_size=8,
)


@given(SENDERS_LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from([OURS, NO_AUTHSERV_ID]))
def test_nothing_a_sender_writes_authenticates_it(lines: list[str], end: str, ours: str) -> None:
    """All that a sender controls stands below the line with which our server took the mail."""
    by = "a.mail.protection.outlook.com" if ours == NO_AUTHSERV_ID else OURS
    top = LINE.format(peer=f"{by} (unknown [203.0.113.66])", by=by)
    raw = top.encode() + end.join([*lines, "From: Ines <ines@larkfield.example>", "", "Hi."]).encode("utf-8")
    assert not read_source(raw, authserv_id=ours, arc_sealers=OURS).authenticated


# What a field of results says


WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)
HOST = st.builds("{}.{}".format, WORD, WORD)
COMMENT = st.sampled_from(["", " (good)", " (a (b) c)", "\n\t(1024-bit; key)"])
RESULT = st.one_of(
    st.builds(
        "dkim={}{} header.d={} header.s={}".format, st.sampled_from(["pass", "fail", "none"]), COMMENT, HOST, WORD
    ),
    st.builds("spf={}{} smtp.mailfrom={}@{}".format, st.sampled_from(["pass", "softfail"]), COMMENT, WORD, HOST),
    st.builds("dmarc={}{} header.from={}".format, st.sampled_from(["pass", "fail", "none"]), COMMENT, HOST),
    st.builds('auth=pass reason="{} {}" smtp.auth={}'.format, WORD, WORD, WORD),
)


@given(HOST, st.sampled_from(["", " 1"]), st.lists(RESULT, min_size=1, max_size=4))
def test_results_are_read_as_authres_reads_them(host: str, version: str, results: list[str]) -> None:
    value = f"{host}{version};\n\t" + ";\n\t".join(results)
    theirs = authres.AuthenticationResultsHeader.parse(f"Authentication-Results: {value}")
    ours = read_report(value)
    assert (theirs.authserv_id, "") == (ours.authserv_id, ours.fault)
    assert [(each.method, each.result) for each in theirs.results] == [
        (each.method, each.value) for each in ours.results
    ]
    for their, our in zip(theirs.results, ours.results, strict=True):
        assert [(f"{p.type}.{p.name}", str(p.value)) for p in their.properties] == [
            pair for pair in our.properties if pair[0] != "reason"
        ]


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (
            (None, [("spf", "pass"), ("dkim", "none")]),
            "spf=pass smtp.mailfrom=a.example; dkim=none (message not signed)",
        ),
        (("a.example", []), "a.example; none"),
        (("a.example", []), "a.example"),
        (("a.example", [("dkim", "pass")]), " a.example ;\r\n\tDKIM/1 = Pass (x) header . d = b.example ;"),
        (("a b", [("spf", "pass")]), '"a b"; spf=pass'),
        (("a.example", [("arc", "pass")]), "a.example; arc=pass smtp.remote-ip=1.2.3.4 arc.chain=:b.example"),
    ],
)
def test_results_as_servers_write_them(expected: tuple[str | None, list[tuple[str, str]]], value: str) -> None:
    report = read_report(value)
    assert ("", expected) == (
        report.fault,
        (report.authserv_id, [(each.method, each.value) for each in report.results]),
    )


@pytest.mark.parametrize(
    "value",
    [
        "a.example; dkim=pass header.d=b.example dmarc=pass",
        "a.example; dkim=pass stray header.d=b.example",
        "a.example; dkim=pass (open",
        'a.example; dkim=pass reason="open',
        "a.example; dkim=pass )",
        "a.example; =pass",
        'a.example; "dkim"=pass',
        "a.example 2; dkim=pass",
        "a.example; " + "x=y " * 9_000,
    ],
)
def test_what_is_malformed_counts_for_nothing(value: str) -> None:
    report = read_report(value)
    assert report.fault
    assert report.results == ()


def reported(results: str, sender: str = "ines@larkfield.example", below: str = "") -> Source:
    line = LINE.format(peer="x.example (x.example [203.0.113.7])", by=OURS)
    raw = f"Authentication-Results: mx.me.example; {results}\n{line}{below}From: {sender}\n\nHi."
    return read_source(raw.encode(), authserv_id=OURS, arc_sealers="forwarder.example")


@pytest.mark.parametrize(
    ("proved", "sender", "results"),
    [
        (True, "a@b.example", "dkim=pass header.d=b.example header.i=@mail.b.example"),
        (False, "a@b.example", "dkim=pass header.d=b.example header.i=@evil.example"),
        (True, "a@b.example", "dkim=pass header.d=b.example header.b=x; dkim=fail header.d=b.example header.b=y"),
        (False, "a@b.example", "dkim=pass header.d=b.example header.b=x; dkim=fail header.d=b.example header.b=x"),
        (True, "a@b.example", "dkim=pass header.d=b.example; dmarc=temperror header.from=b.example"),
        (False, "a@b.example", "dkim=policy header.d=b.example; dkim=neutral header.d=b.example"),
        (False, "a@b.example", "dmarc=pass"),
        (False, "a@co.uk", "dmarc=pass header.from=org.uk"),
        (False, "a@co.uk", "dkim=pass header.d=co.uk"),
        (False, "a@x.github.io", "dkim=pass header.d=y.github.io"),
        (False, "a@x.onmicrosoft.com", "dkim=pass header.d=y.onmicrosoft.com"),
        (False, "a@x.groups.io", "dkim=pass header.d=x.groups.io; dmarc=pass header.from=y.groups.io"),
        (False, "a@b.example", "dkim=pass header.d=b.example; dmarc=pass header.from=x.b.example"),
        (True, "a@x.b.example", "dmarc=pass header.from=b.example"),
        (True, "a@x.onmicrosoft.com", "dkim=pass header.d=x.onmicrosoft.com"),
    ],
)
def test_what_proves_a_domain(proved: bool, sender: str, results: str) -> None:
    assert proved is reported(results, sender).authenticated


def test_a_public_suffix_speaks_for_nobody() -> None:
    assert reported("dkim=pass", "a@co.uk").proof == ("The domain in From belongs to no one organisation.",)
    assert not aligns("org.uk", "co.uk")


def test_a_chain_helps_no_mail_that_our_server_takes_for_forged() -> None:
    sealed = mail("forwarded").decode().partition("ARC-Seal")[2].partition("From: ")[0]
    chain = f"ARC-Seal{sealed}"
    assert reported("arc=pass; dmarc=fail header.from=larkfield.example", below=chain).authenticated
    assert not reported("arc=pass; dmarc=pass header.from=evil.example", below=chain).authenticated
    assert not reported("arc=pass; compauth=fail", below=chain).authenticated
    assert not reported("arc=pass; arc=fail", below=chain).authenticated
    assert not reported("dmarc=fail header.from=larkfield.example", below=chain).authenticated


# Whom From names


@pytest.mark.parametrize(
    ("address", "name", "given"),
    [
        ("a@b.example", "", "a@b.example"),
        ("a@b.example", "Asha Rao", "Asha Rao <a@b.example>"),
        ("a@b.example", "Rao, Asha", '"Rao, Asha" <a@b.example>'),
        ("a@b.example", 'The "Boss"', r'"The \"Boss\"" <a@b.example> (work)'),
        ("a@b.example", "Asha (home)", "a@b.example (Asha (home))"),
        ("a@b.example", "Ásha", "=?utf-8?q?=C3=81sha?= <a@B.Example.>"),
        ("a@xn--bcher-kva.example", "", "a@BÜCHER.example"),
        ("a@b.example", "Smile :)", "Smile :) <a@b.example>"),
        ("ü@b.example", "", "<ü@b.example>"),
        ("", "", "<@relay.example:a@b.example>"),
        ("", "", "a@b.example <c@d.example>"),
        ("", "", "<a@b.example> <c@d.example>"),
        ("", "", "a@b@c.example"),
        ("", "", '"a b"@c.example'),
        ("", "", "a@b.example\x00"),
        ("", "", "a\u200b@b.example"),
        ("", "", "x" * 6_000 + " <a@b.example>"),
        ("", "", f"<{'x' * 330}@b.example>"),
    ],
)
def test_whom_from_names(address: str, name: str, given: str) -> None:
    sender = find_sender([given])
    assert address == sender.address
    assert bool(sender.reason) is not bool(address)
    if address:
        assert name == sender.name


@given(TAME)
def test_taking_a_field_apart_loses_nothing_outside_quotes_and_comments(text: str) -> None:
    plain = re.sub(r'["()\\]', "", text)
    assert (plain, plain, (), True) == (
        (phrase := take_apart(plain)).bare,
        phrase.shown,
        phrase.comments,
        phrase.sound,
    )


# Any bytes


@given(st.one_of(st.binary(max_size=400), TAME.map(lambda text: f"From: {text}\n\n".encode())))
def test_any_bytes_give_a_source(raw: bytes) -> None:
    source = read_source(raw, authserv_id=[OURS, NO_AUTHSERV_ID])
    assert source.channel == "email"
    assert not source.authenticated
    assert all(source.proof)


HOSTILE = {
    "nothing": b"",
    "a page of NUL": b"\x00" * 100_000,
    "32 MiB of one letter": b"a" * (32 << 20),
    "32 MiB of body": mail("proved") + b"x" * (32 << 20),
    "an endless From": b"From: " + b"<" * 500_000,
    "endless quotes": b"From: " + b'"\\' * 400_000,
    "endless comments": b"From: " + b"(" * 900_000,
    "endless encoded words": b"From: " + b"=?a?q?" * 900 + b" <a@b.example>\nSubject: " + b"=?a?q?" * 100_000,
    "endless results": b"Authentication-Results: " + b"(" * 900_000 + b"\nReceived: x\nFrom: a@b.example\n",
    "many results": b"Authentication-Results: mx.me.example; dkim=pass\n" * 20_000 + b"From: a@b.example\n",
    "many lines": LINE.format(peer="localhost", by="x").encode() * 12_000 + b"From: a@b.example\n",
    "endless blanks": b"Authentication-Results: mx.me.example; dkim" + b" " * 900_000 + b"\nFrom: a@b.example\n",
    "deep folding": b"Authentication-Results: mx.me.example;" + b"\n " * 300_000 + b"\nFrom: a@b.example\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_sizes_give_a_source(name: str) -> None:
    source = read_source(HOSTILE[name], authserv_id=OURS)
    assert (name == "32 MiB of body") is source.authenticated
    assert source.proof


def test_a_header_too_long_to_be_read_names_nobody() -> None:
    """A second From could stand behind what is read."""
    raw = mail("proved").replace(b"To: me", b"X: " + b"x" * LONGEST_HEADER + b"\nFrom: b@c.example\nTo: me")
    assert ((source := read_source(raw, authserv_id=OURS)).key, source.authenticated) == ("email", False)


@pytest.mark.parametrize(
    "call",
    [
        lambda: read_source("From: a@b.example"),  # type: ignore[arg-type]
        lambda: read_source(None),  # type: ignore[arg-type]
        lambda: read_source(b"", authserv_id=b"mx.me.example"),  # type: ignore[arg-type]
        lambda: read_source(b"", authserv_id=5),  # type: ignore[arg-type]
        lambda: read_source(b"", authserv_id=["a", None]),  # type: ignore[list-item]
        lambda: read_source(b"", arc_sealers=7),  # type: ignore[arg-type]
    ],
)
def test_arguments_of_a_wrong_type_are_refused(call: Any) -> None:
    with pytest.raises(SourceError, match=r"mail is bytes|as strings"):
        call()


def test_what_our_server_proved_reaches_the_memory(tmp_path: Path) -> None:
    box = tmp_path / "in.mbox"
    box.write_bytes(b"".join(b"From x\n" + mail(name) + b"\n" for name in ("proved", "forged-results-below-our-line")))
    for ids, expected in (((OURS,), [Assurance.AUTHENTICATED, Assurance.CLAIMED]), ((), [Assurance.CLAIMED] * 2)):
        with MemoryGuard(":memory:") as guard:
            mails = read_messages(box, authserv_id=ids)
            found = [_message(each, Reading(authserv_ids=ids), guard, Tally()) for each in mails]
        assert expected == [each.source.assurance for each in found if each]
        assert {INES} == {each.source.key for each in found if each}


# Signatures that we verify ourselves


@cache
def key(bits: int = 1024) -> tuple[bytes, bytes]:
    """A new RSA key: PEM (PKCS #1), and its DNS record."""
    draw = random.Random(bits)
    while True:
        p, q = _prime(bits // 2, draw), _prime(bits // 2, draw)
        if p != q and (p - 1) * (q - 1) % 65_537 and (p * q).bit_length() == bits:
            break
    d = pow(65_537, -1, (p - 1) * (q - 1))
    private = _sequence(*map(_integer, (0, p * q, 65_537, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))))
    rsa = bytes.fromhex("300d06092a864886f70d0101010500")
    bits_of = _sequence(_integer(p * q), _integer(65_537))
    public = _sequence(rsa, b"\x03" + _length(len(bits_of) + 1) + b"\x00" + bits_of)
    pem = b"-----BEGIN RSA PRIVATE KEY-----\n" + base64.encodebytes(private) + b"-----END RSA PRIVATE KEY-----\n"
    return pem, b"v=DKIM1; k=rsa; p=" + base64.b64encode(public)


def _prime(bits: int, draw: random.Random) -> int:
    while True:
        n = draw.getrandbits(bits) | 3 << bits - 2 | 1
        if all(pow(base, n - 1, n) == 1 for base in (2, 3, 5, 7)):
            return n


def _length(size: int) -> bytes:
    if size < 128:
        return bytes([size])
    written = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([128 + len(written)]) + written


def _integer(value: int) -> bytes:
    written = value.to_bytes(value.bit_length() // 8 + 1, "big")
    return b"\x02" + _length(len(written)) + written


def _sequence(*parts: bytes) -> bytes:
    return b"\x30" + _length(len(joined := b"".join(parts))) + joined


PLAIN = (
    b"From: Ines <ines@larkfield.example>\r\nTo: me@me.example\r\nSubject: Stand-up\r\n"
    b"Date: Mon, 2 Sep 2024 09:00:00 +0200\r\n\r\nThe stand-up moved to 7:45.\r\n"
)
COVERED = [b"from", b"to", b"subject", b"date"]


def sign(raw: bytes = PLAIN, *, d: bytes = b"larkfield.example", bits: int = 1024, **options: Any) -> bytes:
    return bytes(dkim.sign(raw, b"s1", d, key(bits)[0], **{"include_headers": COVERED, **options})) + raw


def look_up(record: bytes | None = None, bits: int = 1024) -> Any:
    def answer(name: bytes, timeout: int = 5) -> bytes | None:
        return (record if record is not None else key(bits)[1]) if name.startswith(b"s1._domainkey.") else None

    return answer


def verified(raw: bytes, dns: Any = None) -> Source:
    return read_source(raw, dkim=True, dnsfunc=dns or look_up())


def test_a_signature_of_the_domain_in_from_proves_it() -> None:
    source = verified(sign())
    assert (source.key, source.authenticated) == (INES, True)
    assert source.proof == ("“larkfield[.]example” signed it, From included (DKIM, verified here).",)
    assert verified(sign(d=b"mail.larkfield.example")).authenticated
    assert verified(b"X-Added: on the way\r\n" + sign()).authenticated
    assert verified(sign(sign(), d=b"bulk.example")).authenticated


def test_a_signature_of_another_domain_proves_nothing_about_from() -> None:
    source = verified(sign(d=b"bulk.example"))
    assert source.proof == ("It was signed by “bulk[.]example”, which proves nothing about From.",)
    assert not source.authenticated


@pytest.mark.parametrize(
    ("reason", "raw"),
    [
        ("does not match", lambda: sign().replace(b"7:45", b"8:45")),
        ("does not match", lambda: sign().replace(b"Ines <ines@", b"Ines <boss@")),
        ("l=", lambda: sign(length=True)),
        ("does not cover Date", lambda: sign(include_headers=[b"from", b"subject"])),
        ("does not cover Subject", lambda: sign(include_headers=[b"from", b"date"])),
        ("several Subject headers", lambda: b"Subject: Pay 99\r\n" + sign()),
        ("2 From headers", lambda: b"From: Bank <a@bank.example>\r\n" + sign()),
        ("SHA-1", lambda: sign(signature_algorithm=b"rsa-sha1")),
        ("no DKIM signature", lambda: PLAIN),
        ("too long to be checked", lambda: sign() + b" " * 5_000 + b"x"),
        (
            "too long to be checked",
            lambda: b"DKIM-Signature: v=1; d=larkfield.example; b=" + b" x" * 9_000 + b"\r\n" + PLAIN,
        ),
        ("does not cover From", lambda: b"DKIM-Signature: v=1; d=larkfield.example; h=subject:date\r\n" + PLAIN),
    ],
)
def test_a_signature_that_does_not_count_says_why(reason: str, raw: Any) -> None:
    source = verified(raw())
    assert not source.authenticated
    assert reason in " ".join(source.proof)


def test_an_expired_signature_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """``dkimpy`` signs without ``x=``: the tag goes in while it builds the header."""
    signed = _sign_with_expiry(monkeypatch, int(time.time()) + 3_600)
    assert verified(signed).authenticated
    assert "expired" in verified(_sign_with_expiry(monkeypatch, int(time.time()) - 60)).proof[0]


def _sign_with_expiry(monkeypatch: pytest.MonkeyPatch, when: int) -> bytes:
    def gen_header(self: Any, fields: list[Any], *rest: Any, **named: Any) -> Any:
        index = next(at for at, pair in enumerate(fields) if pair[0] == b"t")
        return real(self, [*fields[: index + 1], (b"x", str(when).encode()), *fields[index + 1 :]], *rest, **named)

    real = dkim.DKIM.gen_header
    with monkeypatch.context() as patched:
        patched.setattr(dkim.DKIM, "gen_header", gen_header)
        patched.setattr(dkim.time, "time", lambda: when - 7_200)
        return sign()


@pytest.mark.parametrize(
    ("reason", "dns"),
    [
        ("not in the DNS", lambda: lambda name, timeout=5: None),
        ("only testing", lambda: look_up(b"t=y:s; " + key()[1])),
        ("key", lambda: look_up(b"v=DKIM1; p=")),
        ("key", lambda: look_up(b"\xff\x00")),
        ("not in the DNS", lambda: look_up(b"v=DKIM1; p=" + b"A" * 5_000)),
        ("could not be checked", lambda: _raise),
    ],
)
def test_a_key_that_cannot_be_used_says_why(reason: str, dns: Any) -> None:
    source = verified(sign(), dns())
    assert not source.authenticated
    assert reason in source.proof[0]


def _raise(name: bytes, timeout: int = 5) -> bytes | None:
    raise OSError("no network")


def test_a_short_key_does_not_count() -> None:
    source = verified(sign(bits=768), look_up(bits=768))
    assert "too short" in source.proof[0]
    assert not source.authenticated


def test_our_own_check_does_not_override_our_server() -> None:
    failed = mail("dmarc-fail-with-signature").partition(b"From:")[0].replace(b"\n", b"\r\n")
    assert not read_source(failed + sign(), authserv_id=OURS, dkim=True, dnsfunc=look_up()).authenticated
    silent = mail("no-result").partition(b"From:")[0].replace(b"\n", b"\r\n")
    assert read_source(silent + sign(), authserv_id=OURS, dkim=True, dnsfunc=look_up()).authenticated


def test_without_the_packages_the_error_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "dkim", None)
    with pytest.raises(MissingExtraError, match=r'pip install "thymus-memory\[dkim\]"'):
        verified(sign())


@given(TAME, TAME)
def test_any_signature_field_gives_reasons(tags: str, more: str) -> None:
    raw = f"DKIM-Signature: v=1; d=larkfield.example; h=from:subject:date; s=s1; {tags}; b={more}\r\n".encode() + PLAIN
    assert not verified(raw).authenticated


def test_only_so_many_signatures_are_checked() -> None:
    asked: list[bytes] = []

    def answer(name: bytes, timeout: int = 5) -> bytes | None:
        asked.append(name)
        return None

    line = sign().partition(b"From:")[0]
    verified(line * 50 + PLAIN, answer)
    assert len(asked) == email_signatures.MOST_SIGNATURES


# Real mail


BRANDS = dict(
    pair.split("=")
    for pair in [
        "amazon=amazon.com",
        "binance=binance.com",
        "bittrex=bittrex.com",
        "blockchain.com=blockchain.com",
        "coinbase=coinbase.com",
        "dhl=dhl.com",
        "exodus=exodus.com",
        "facebook=facebookmail.com",
        "github=github.com",
        "google=google.com",
        "ledger=ledger.com",
        "lido=lido.fi",
        "metamask=metamask.io",
        "microsoft=microsoft.com",
        "netflix=netflix.com",
        "opensea=opensea.io",
        "outlook=microsoft.com",
        "paypal=paypal.com",
        "proton=proton.me",
        "ripple=ripple.com",
        "stellar=stellar.org",
        "surveymonkey=surveymonkeyuser.com",
        "tesla=tesla.com",
        "tether=tether.to",
        "trezor=trezor.io",
        "trust=trustwallet.com",
        "walmart=walmart.com",
    ]
)
SERVERS = [NO_AUTHSERV_ID, "*.protonmail.ch", "mx.google.com", "garm.ovh"]


@cache
def phishing() -> list[dict[str, Any]]:
    file = PUBLIC / "phishing_headers_to_2024.jsonl"
    if not file.is_file():
        pytest.skip("the shared data is not here")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def rebuild(row: dict[str, Any], sender: str = "", forged: str = "") -> bytes:
    """The mail of a row: its server's results, the line with which Microsoft took it, and the sender's own fields."""
    by = "x.mail.protection.outlook.com"
    lines = [f"Authentication-Results: {value}" for value in row["authentication_results"]]
    lines += [LINE.format(peer="x.example (x.example [198.51.100.9])", by=by).strip(), *filter(None, [forged])]
    lines += [f"ARC-Authentication-Results: {value}" for value in row["arc_ar"]]
    lines += [f"From: {sender or row['from']}", f"Subject: {row['subject']}"]
    return ("\r\n".join(re.sub(r"[\r\n]", " ", line) for line in lines) + "\r\n\r\nHi.").encode("utf-8", "replace")


def vouched_for(row: dict[str, Any]) -> set[str]:
    """Read independently, without our parser: the organisational domains that the server found proved."""
    text = " ; ".join(row["authentication_results"])
    if re.search(r"\b(?:dmarc|compauth)=fail", text):
        return set()
    signed = re.findall(r"\bdkim=pass\b[^;]*?\bheader\.(?:d=|i=[^@\s;]*@)([\w.-]+)", text)
    judged = re.findall(r"\bdmarc=pass\b[^;]*?\bheader\.from=([\w.-]+)", text)
    return {organisational_domain(host) or "" for host in signed + judged}


def test_of_400_real_phishing_mails_none_is_authenticated_for_an_owner_who_did_not_send_it() -> None:
    """The identity is From's address as another parser reads it, and its domain is one that the server found proved.

    So a mail that names a brand (in display name or subject) is authenticated as that brand only where the brand's own
    domain was proved.
    """
    accepted, named = 0, 0
    for row in phishing():
        source = read_source(rebuild(row), authserv_id=SERVERS)
        words = f"{source.name} {row['subject']}".lower()
        brands = {domain for brand, domain in BRANDS.items() if brand in words}
        named += bool(brands)
        if source.authenticated:
            accepted += 1
            assert parseaddr(row["from"])[1].lower() == source.identity
            assert organisational_domain(source.identity.rpartition("@")[2]) in vouched_for(row)
        for brand in brands - vouched_for(row):
            assert not source.authenticated or f"domain:{brand}" != owner(source)
    assert (len(phishing()), 60 < accepted < 140, named > 100) == (400, True, True)


def test_no_real_mail_gains_by_what_its_sender_could_have_added_or_changed() -> None:
    for row in phishing():
        before = read_source(rebuild(row), authserv_id=SERVERS).authenticated
        domain = parseaddr(row["from"])[1].rpartition("@")[2] or "x.example"
        for server in ("", "mx.google.com; ", "mailin001.protonmail.ch; "):
            forged = f"Authentication-Results: {server}dkim=pass header.d={domain}; dmarc=pass header.from={domain}"
            assert before is read_source(rebuild(row, forged=forged), authserv_id=SERVERS).authenticated
        assert not read_source(rebuild(row, "Bank <info@bank.example>"), authserv_id=SERVERS).authenticated


def test_raw_phishing_is_read_from_the_real_header() -> None:
    files = sorted((PUBLIC / "phishing_raw").glob("*.eml"))
    if not files:
        pytest.skip("the shared data is not here")
    accepted = 0
    for file in files:
        raw = file.read_bytes()
        source = read_source(raw, authserv_id=SERVERS)
        assert not read_source(raw, authserv_id="mx.me.example").authenticated
        if source.authenticated:
            accepted += 1
            given = {"authentication_results": message_from_bytes(raw).get_all("Authentication-Results")}
            assert organisational_domain(source.identity.rpartition("@")[2]) in vouched_for(given), file.name
    assert 5 < accepted < 20


def test_ham_of_2002_is_named_and_claimed() -> None:
    files = sorted((PUBLIC / "spamassassin").glob("*.eml"))
    if not files:
        pytest.skip("the shared data is not here")
    sources = [read_source(file.read_bytes(), authserv_id=SERVERS) for file in files]
    assert not any(source.authenticated for source in sources)
    assert 0.98 * len(files) < sum(not source.anonymous for source in sources)
