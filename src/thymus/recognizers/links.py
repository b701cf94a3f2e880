"""Where a text points: e-mail addresses, web addresses, network addresses; and passwords, which look like anything."""

from __future__ import annotations

import re

from thymus.core.values import Code, Email, Url
from thymus.recognizers.page import Page, alternatives, scan

_EMAIL = re.compile(
    r"(?<![\w.+%@-])(?P<local>[^\s@<>()\[\],;:\"'\x00]{1,64})(?:@|\s?\[at\]\s?)(?P<domain>[^\W_]"
    r"(?:[\w-]{0,62})(?:(?:\.|\[\.\])[^\W_][\w-]{0,62}){1,8})(?![\w@-])"
)
_SCHEME_URL = re.compile(r"(?<![a-z])(?:h(?:tt|xx)ps?|ftp)(?::|\[:\])//(?P<rest>[^\s<>\"\x00]{1,2000})", re.IGNORECASE)
_TLDS = (
    "com org net edu gov mil int info biz io ai app dev co me uk us in de fr es it nl eu ch at be "
    "se no dk fi pl pt ie au nz ca "
    "jp cn kr ru br mx za sg hk ae tv fm gg ly link page site online shop store xyz top club live "
    "news blog cloud tech health "
    "bank pay money finance example test invalid local internal lan travel museum gle"
)
_BARE_URL = re.compile(
    rf"(?<![\w.@/:-])(?P<host>(?:[^\W_](?:[\w-]{{0,61}}[^\W_])?(?:\.|\[\.\])){{1,5}}(?P<tld>"
    rf"{alternatives(_TLDS.split())}))(?P<path>[/?#][^\s<>\"\x00]{{0,2000}})?(?![\w@-])",
    re.IGNORECASE,
)
_SENTENCE_TLDS = frozenset({"in", "me", "us", "it", "at", "be", "no", "is", "co"})
_IP = re.compile(r"(?<![\w.])(?P<ip>(?:\d{1,3}\.){3}\d{1,3})(?:/(?P<net>\d{1,2})|:(?P<port>\d{2,5}))?(?![\w.]\d|\w)")
_IPV6 = re.compile(
    r"(?<![\w:.])(?=[\da-fA-F:]{0,39}::|(?:[\da-fA-F]{1,4}:){7})[\da-fA-F]{0,4}(?::[\da-fA-F]{0,4}){2,7}(?![\w:])"
)
_MAC = re.compile(r"(?<![\w:-])[\da-fA-F]{2}(?:([:-])[\da-fA-F]{2})(?:\1[\da-fA-F]{2}){4}(?![\w:-])")
_TRAILING = ".,;:!?)]}'*_…"
_SECRET = re.compile(
    (
        r"(?<!\w)(?P<label>passwords?|passcode|passphrase|password|wifi key|wi-fi key|passwort|contraseña"
        r"|mot de passe|psk|pwd)(?:\s(?:is|was|=|now|to)|\s?[:=])?(?:\s(?:now|changed to|set to"
        r"|is))?\s?[\"'“]?(?P<code>(?=[^\s\"'“”\x00]{0,60}(?:\d|[^\w\s.,'-]|-))[^\s\"“”\x00,;]{4,64})"
    ),
    re.IGNORECASE,
)
_SECRET_CLUES = ("pass", "key", "contrase", "psk", "pwd")


def read_links(page: Page) -> None:
    """Claim links, addresses and passwords. Runs before number words are rewritten: these are to the letter."""
    if "//" in page.text:
        for match in scan(_SCHEME_URL, page.text):
            rest = match["rest"].rstrip(_TRAILING)
            if rest:
                _claim_url(page, match.start(), match.start("rest") + len(rest), rest.replace("(.)", "."))
        page.settle()
    if "@" in page.text or "[at]" in page.text:
        for match in scan(_EMAIL, page.text):
            page.claim(*match.span(), Email, local=match["local"], domain=_host(match["domain"]))
        page.settle()
    if "." in page.text:
        _read_dotted(page)
    if page.text.count(":") > 1 or page.text.count("-") > 4:
        _read_hardware(page)
    if page.has(_SECRET_CLUES):
        _read_secrets(page)


def _read_secrets(page: Page) -> None:
    for match in scan(_SECRET, page.text):
        code = match["code"].rstrip(".,;:!?)'")
        start = match.start("code")
        if code:
            page.claim(start, start + len(code), Code, code=code, label="password")


def _read_hardware(page: Page) -> None:
    for pattern, label in ((_MAC, "mac"), (_IPV6, "ip")):
        for match in scan(pattern, page.text):
            if len(match[0]) > 4:
                page.claim(*match.span(), Code, code=match[0].lower().replace("-", ":"), label=label)
        page.settle()


def _read_dotted(page: Page) -> None:
    for match in scan(_IP, page.text):
        if all(int(part) < 256 for part in match["ip"].split(".")):
            page.claim(*match.span(), Code, code=match[0], label="ip")
    page.settle()
    for match in scan(_BARE_URL, page.text):
        path = (match["path"] or "").rstrip(_TRAILING)
        if match["tld"].istitle() or (not path and match["tld"].lower() in _SENTENCE_TLDS):
            continue  # "done.In the end", "that is it.me too": a missing space, no address
        end = match.end("host") + len(path)
        _claim_url(page, match.start(), end, match["host"] + path)
    page.settle()


def _claim_url(page: Page, start: int, end: int, address: str) -> None:
    authority, slash, path = _split(address)
    host = _host(authority.rpartition("@")[2].removesuffix(":443").removesuffix(":80"))
    page.claim(start, end, Url, host=host.removeprefix("www."), path=(slash + path).rstrip("/"))


def _split(address: str) -> tuple[str, str, str]:
    match = re.search(r"[/?#\\]", address)
    return (address, "", "") if not match else (address[: match.start()], match[0], address[match.end() :])


def _host(host: str) -> str:
    """Lower case; an internationalised name in its ASCII form (RFC 3490), so that both spellings are one."""
    host = host.lower().replace("[.]", ".").rstrip(".")
    if host.isascii() or len(host) > 253:
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host
