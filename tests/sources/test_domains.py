"""Who controls a source: organisational domains by the public suffix list, providers with many owners, open tools."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thymus.core.provenance import Assurance, Source
from thymus.sources.domains import (
    OPEN_WORLD_TOOLS,
    is_open_world,
    is_public_host,
    is_public_provider,
    normalise,
    organisational_domain,
    owner,
    public_suffix,
    split_address,
    web_host,
)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("shop.example", "shop.example"),
        ("Mail.Shop.EXAMPLE.", "shop.example"),
        ("a.b.shop.co.uk", "shop.co.uk"),
        ("alice.github.io", "alice.github.io"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("ｓｈｏｐ。example", "shop.example"),
        ("shop.unlisted", "shop.unlisted"),
        ("_dmarc.shop.example", "shop.example"),
        ("co.uk", None),
        ("github.io", None),
        ("localhost", None),
        ("192.0.2.1", None),
        ("0x7f.1", None),
        ("2130706433", None),
        ("::1", None),
        ("", None),
        ("a..example", None),
        ("shop.example:80", None),
        ("a@shop.example", None),
        ("x" * 64 + ".example", None),
        ("a." * 200 + "example", None),
        ("\ud800.example", None),
        ("shop\x00.example", None),
    ],
)
def test_organisational_domain(host: str, expected: str | None) -> None:
    """RFC 7489, 3.2: the public suffix and one label more; nothing for a number, a bare suffix or rubbish."""
    assert organisational_domain(host) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("email:billing@mail.shop.example", "domain:shop.example"),
        ("email:support@shop.example", "domain:shop.example"),
        ("web:shop.example", "domain:shop.example"),
        ("web:https://www.shop.example:8443/a?b#c", "domain:shop.example"),
        ("web:shop.example@evil.example", "web:shop.example@evil.example"),
        ("web:shop.example\\.evil.example", "web:shop.example\\.evil.example"),
        ("web:192.0.2.1", "web:192.0.2.1"),
        ("web:github.com", "web:github.com"),
        ("email:noreply@github.com", "email:noreply@github.com"),
        ("email:jane@gmail.com", "email:jane@gmail.com"),
        ("email:jane@mail.yahoo.co.uk", "email:jane@mail.yahoo.co.uk"),
        ("email:a@b@shop.example", "email:a@b@shop.example"),
        ("email:<a@shop.example>", "email:<a@shop.example>"),
        ("email:a@co.uk", "email:a@co.uk"),
        ("chat:ines@larkfield.example", "chat:ines@larkfield.example"),
        ("sms:Northbank", "sms:northbank"),
        ("user", "user"),
        ("user:ravi", "user:ravi"),
        ("tool:calendar", "tool:calendar"),
        ("tool:browser", ""),
        ("tool:Web-Search", ""),
        ("tool:mcp__brave__web_search", ""),
        ("tool:fetch_tool", ""),
        ("email", ""),
        ("assistant", ""),
    ],
)
def test_owner(source: str, expected: str) -> None:
    """An organisation owns its domain; elsewhere an identity stands for itself; nobody owns what a browser fetched."""
    assert expected == owner(Source.parse(source))


def test_owner_does_not_hang_on_assurance() -> None:
    """How well an identity is proved changes nothing about whose it is."""
    claimed = Source.parse("email:a@shop.example")
    assert owner(claimed) == owner(Source.parse("email:b@shop.example", authenticated=True))
    assert claimed.assurance is Assurance.CLAIMED


def test_lists() -> None:
    """A provider's subdomains count with it, a name that only ends alike does not."""
    assert is_public_provider("gmail.com")
    assert is_public_provider("mail.gmail.com.")
    assert not is_public_provider("notgmail.com")
    assert not is_public_provider("shop.example")
    assert is_public_host("docs.google.com")
    assert not is_public_host("shop.example")
    assert all(is_open_world(Source(channel="tool", identity=name)) for name in OPEN_WORLD_TOOLS)
    assert not is_open_world(Source(channel="web", identity="browser"))
    assert public_suffix("shop.co.uk") == "co.uk"


def test_parts() -> None:
    """An address has one plain local part and a host; a web identity may be a URL."""
    assert split_address(" Jane@Shop.Example ") == ("jane", "shop.example")
    assert split_address("a b@shop.example") is None
    assert web_host("http://shop.example/path") == "shop.example"
    assert web_host("https://user@shop.example/") is None


@settings(deadline=None)
@given(st.text() | st.text("a.-@:/0x é。", max_size=300))
def test_any_text(text: str) -> None:
    """Whatever comes in, the answer is a normal form or nothing, and reading that again changes nothing."""
    domain = organisational_domain(text)
    assert domain is None or (normalise(domain) == domain == organisational_domain(domain))
    web_host(text)
    split_address(text)
    is_public_provider(text)
