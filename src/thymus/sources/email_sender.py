"""Whom a mail says it is from: the one address of its one From header, and what is odd about the name beside it.

RFC 5322 (section 3.6.2) lets From name several authors, and readers differ in whom they then show; DMARC asks for
exactly one (RFC 7489, section 6.6.1). What is not plainly one address names nobody (CVE-2023-27043 and its like).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from thymus.core.provenance import UNPRINTABLE
from thymus.core.quoting import cut, one_line, quote
from thymus.sources.domains import normalise
from thymus.sources.email_fields import decode_words, take_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thymus.sources.email_fields import Phrase

_LONGEST_FROM: Final = 5_000
_LONGEST_ADDRESS: Final = 320  # RFC 3696, erratum 1690: 64 + @ + 255
_LONGEST_NAME: Final = 1_000
_SHORT: Final = 80
_ANGLED: Final = re.compile(r"<([^<>]*)>")
_NO_ADDRESS: Final = re.compile(r"[\s,;:<>\"()\[\]\\]")
_IN_NAME: Final = re.compile(r"[^\s@<>\"'(),;:\[\]]{1,64}@[^\s@<>\"'(),;:\[\]]{1,253}")
_ALIKE: Final = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The author of a mail, as its From header claims.

    :param address: local part and normalised domain; "" where the header does not name exactly one, and ``reason`` is
        then a sentence.
    :param name: the display name, decoded.
    :param warnings: sentences about a name or domain that could mislead whoever looks at it.
    """

    address: str = ""
    name: str = ""
    reason: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def domain(self) -> str:
        """The domain of the address."""
        return self.address.rpartition("@")[2]


def said(text: str) -> str:
    """A sender's words inside our own sentences: short, quoted and defanged."""
    return quote(cut(one_line(text), _SHORT))


def find_sender(given: Sequence[str]) -> Sender:
    """Find the author in the values of all From headers of a mail."""
    if len(given) != 1:
        return Sender(reason=f"It has {len(given)} From headers instead of one." if given else "It has no From header.")
    if len(given[0]) > _LONGEST_FROM:
        return Sender(reason="Its From header is too long to name anybody for certain.")
    phrase = take_apart(given[0])
    if not phrase.sound:
        return Sender(reason="Quotes or brackets in its From header do not close.")
    name = one_line(_name(phrase))
    address, reason = _one_address(phrase.bare)
    if reason:
        return Sender(name=name, reason=reason)
    return Sender(address=address, name=name, warnings=tuple(_warnings(_name(phrase), address)))


def _one_address(bare: str) -> tuple[str, str]:
    """The address, or why there is none."""
    angled = _ANGLED.findall(bare)
    outside = _ANGLED.sub(" ", bare)
    if ":" in outside and ";" in outside:
        return "", "Its From header names a group, not one author."
    if len(angled) > 1:
        return "", "Its From header names several addresses."
    address = (angled[0] if angled else outside).strip()
    if not address:
        return "", "Its From header has an empty address." if angled else "Its From header has no address."
    stray = [word.strip("'<>") for word in re.split(r"[\s,;]+", outside) if "@" in word] if angled else []
    if any(word.lower() != address.lower() for word in stray):
        return "", "Its From header names another address beside the one in angle brackets."
    local, at, host = address.partition("@")
    domain = normalise(host) if local and at and not _NO_ADDRESS.search(address) else None
    if "=?" in address:
        return "", "Its From header hides the address in encoded words."
    if address.count("@") > 1 and re.search(r"[\s,;]", address):
        return "", "Its From header names several addresses."
    if domain is None or "." not in domain or UNPRINTABLE.search(local) or len(address) > _LONGEST_ADDRESS:
        return "", "Its From header holds no plain address at a named domain."
    return f"{local}@{domain}", ""


def _name(phrase: Phrase) -> str:
    """The display name; without one, what a comment says, as was usual before angle brackets."""
    written = phrase.shown.rpartition("<")[0] if _ANGLED.search(phrase.bare) else ""
    written = " ".join((written if written.strip() else " ".join(phrase.comments)).split())
    return decode_words(written[:_LONGEST_NAME])


def _warnings(name: str, address: str) -> list[str]:
    """What is odd about the display name, and about the domain."""
    found: list[str] = []
    plain = unicodedata.normalize("NFKC", UNPRINTABLE.sub("", name))
    others = [shown for shown in _IN_NAME.findall(plain) if shown.strip(".").lower() != address.lower()]
    if others:
        found.append(f"Its display name shows another address, {said(others[0])}, which is not the sender's.")
    if UNPRINTABLE.search(name):
        found.append("Its display name held invisible or direction-changing characters; they were removed.")
    if any(_mixes_alphabets(word) for word in plain.split()):
        found.append("Its display name mixes letters of several alphabets that look alike.")
    if re.search(r"(?:^|\.)xn--", address.rpartition("@")[2]):
        found.append(
            "Its domain is written in other letters than it may show on screen; the identity has its ASCII form."
        )
    return found


def _mixes_alphabets(word: str) -> bool:
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in word if letter.isalpha()}
    return "LATIN" in scripts and not _ALIKE.isdisjoint(scripts)
