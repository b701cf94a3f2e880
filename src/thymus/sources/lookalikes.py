"""Whether one source may be taken for another: by its domain, its address, its name or its handle.

What is compared is what a reader sees. Sources of one owner never resemble each other, nor do two numbers; words that
many names hold (mail, bank, support) make none distinctive, and short names are compared strictly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from thymus.core.provenance import TOOLS, Source
from thymus.sources.domains import (
    is_public_provider,
    organisational_domain,
    owner,
    public_suffix,
    split_address,
    web_host,
)
from thymus.sources.skeletons import GENERIC, SERVICE, SUFFIXES, Look, keys, look, near, same_look

_HOSTED: Final = frozenset({"email", "web"})
_PERSONAL: Final = frozenset({"user", "chat"})
_NUMBER: Final = re.compile(r"\+?[0-9 ().-]+")
_SMS_HEADER: Final = re.compile(r"(?:[a-z]{2}-)?([^\s-]{3,}?)(?:-[a-z])?")
_SHOWN: Final = re.compile(r"(?:([\w.+-]{1,64})@)?((?:[\w-]{1,63}\.){1,8}[\w-]{2,63})")
_BLANK: Final = look("")
_GMAIL: Final = frozenset({"gmail.com", "googlemail.com"})
_SHORTEST_CORE: Final = 3
_SHORTEST_EXTENDED: Final = 7
"""Letters that a name needs for whatever is joined to it with a dash to be taken for it."""
_SHORTEST_ALONE: Final = 5
"""Letters that a name needs to be known by where it stands alone in a place that is not its own."""


@dataclass(frozen=True, slots=True)
class Face:
    """What a reader sees of a source.

    :param kind: a host somebody's organisation owns, a mailbox at a public provider, a word, or nothing to compare.
    :param domain: the organisational domain, or the provider's.
    :param label: the domain without its suffix, with international letters decoded.
    :param above: the labels in front of the domain.
    :param local: what stands before the @, or the whole of a word.
    """

    kind: Literal["host", "mailbox", "word", "number", "nothing"]
    channel: str
    domain: str = ""
    host: str = ""
    suffix: str = ""
    label: Look = _BLANK
    above: tuple[Look, ...] = ()
    local: Look = _BLANK
    address: str = ""
    name: Look = _BLANK
    shown: tuple[tuple[str, str], ...] = ()
    """(local part or "", domain) of each address and domain in the display name."""


def face(source: Source) -> Face:
    """What a reader sees of a source."""
    return _face(source.channel, source.identity, source.name)


@lru_cache(maxsize=32_768)
def _face(channel: str, identity: str, name: str) -> Face:
    named = look(name)
    shown = tuple((found[1] or "", found[2].lower().removeprefix("www.")) for found in _SHOWN.finditer(name))
    address = split_address(identity)
    host = address[1] if address else web_host(identity) if channel == "web" else None
    domain = organisational_domain(host) if host else None
    if host and domain:
        suffix = public_suffix(domain)
        return Face(
            kind="mailbox" if address and is_public_provider(host) else "host",
            channel=channel,
            domain=domain,
            host=host,
            suffix=suffix,
            label=look(_decoded(domain.removesuffix(f".{suffix}"))),
            above=tuple(look(_decoded(part)) for part in host.removesuffix(domain).split(".") if part),
            local=look(address[0] if address else ""),
            address=f"{_mailbox(*address)}" if address else "",
            name=named,
            shown=shown,
        )
    if not identity or channel in _HOSTED:
        # Without an address behind it, what stands in its place is read as a name.
        return Face(kind="nothing", channel=channel, name=named if name else look(identity), shown=shown)
    if _NUMBER.fullmatch(identity):
        return Face(kind="number", channel=channel, local=look(identity), name=named, shown=shown)
    header = _SMS_HEADER.fullmatch(identity) if channel == "sms" else None
    return Face(kind="word", channel=channel, local=look(header[1] if header else identity), name=named, shown=shown)


def _decoded(label: str) -> str:
    """An international label in its own letters."""
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode().decode("punycode")
    except (UnicodeError, ValueError, OverflowError):
        return label


def _mailbox(local: str, host: str) -> str:
    """The mailbox that an address leads to: without the tag after a plus; for Gmail also without dots."""
    local = local.partition("+")[0] or local
    if host in _GMAIL:
        return f"{local.replace('.', '')}@gmail.com"
    return f"{local}@{host}"


def resembles(source: Source, known: Source) -> str:
    """How a source may be taken for a known one, in words of the system; "" where it may not.

    Which of the two came first, and which is better proved, is not asked here: see ``Registry``.
    """
    if source.key == known.key or known.names_user or source.names_user or known.anonymous:
        return ""
    if (whose := owner(source)) and whose == owner(known):
        return ""
    ours, theirs = face(source), face(known)
    if (ours.address and ours.address == theirs.address) or (
        ours.domain == theirs.domain and ours.domain and not (ours.kind == theirs.kind == "mailbox")
    ):
        return ""
    return _by_identity(ours, theirs) or _by_name(ours, theirs)


def _by_identity(ours: Face, theirs: Face) -> str:
    kinds = {ours.kind, theirs.kind}
    if kinds == {"mailbox"}:
        return _by_local(ours, theirs) if ours.domain == theirs.domain else ""
    if kinds <= {"host", "mailbox"}:
        return _by_domain(ours, theirs) or (_by_brand_in_local(ours, theirs) if ours.address else "")
    if kinds <= {"word", "number"} and kinds != {"number"} and ours.channel == theirs.channel:
        return _by_word(ours, theirs, person=ours.channel in _PERSONAL, numbered=ours.channel not in TOOLS)
    if kinds == {"host", "word"}:
        host, word = (ours, theirs) if ours.kind == "host" else (theirs, ours)
        if min(len(host.label.flat), len(word.local.flat)) >= _SHORTEST_ALONE and same_look(host.label, word.local):
            return "its name has letters that look like those of a known one"
    return ""


def _by_local(ours: Face, theirs: Face) -> str:
    return _by_word(ours, theirs, person=True, numbered=True)


def _by_word(ours: Face, theirs: Face, *, person: bool, numbered: bool) -> str:
    one, other = ours.local, theirs.local
    if same_look(one, other):
        alike = one.flat == other.flat and one.raw.isascii() and other.raw.isascii()
        plain = alike and _unmarked(one.raw) == _unmarked(other.raw)
        return (
            "its name is a known one but for dots, dashes or spaces"
            if plain
            else "its name has letters that look like those of a known one"
        )
    if near(one.words, other.words, person=person):
        return "its name is a known one but for a letter"
    if _grown(one, other, numbered=numbered):
        return "its name is a known one with words or digits added or left out"
    return ""


def _unmarked(raw: str) -> str:
    return "".join(char for char in raw if char.isalnum())


def _grown(one: Look, other: Look, *, numbered: bool = True, shortest: int = _SHORTEST_CORE) -> bool:
    """Whether one is the other and words, or digits, that many names hold."""
    for ours in one.readings:
        for theirs in other.readings:
            extras = ours.extras ^ theirs.extras
            if (
                ours.joined == theirs.joined
                and len(ours.joined) >= shortest
                and extras
                and (ours.extras <= theirs.extras or theirs.extras <= ours.extras)
                and (numbered or not any(extra.isdigit() for extra in extras))
            ):
                return True
    return False


def _by_domain(ours: Face, theirs: Face) -> str:
    one, other = ours.label, theirs.label
    if ours.kind == "mailbox":  # a provider that everybody knows is itself
        return ""
    if f".{theirs.domain}." in f".{ours.host}":
        return "its host name shows a known domain in front of its own"
    if same_look(one, other):
        return "its domain has letters or dashes that look like those of a known one"
    joined_apart = len(one.words) != len(other.words) and near((one.flat,), (other.flat,))
    if near(one.words, other.words) or joined_apart or _near_core(one, other):
        return "its domain is a known one but for a letter"
    if theirs.kind == "mailbox":
        return ""
    if one.raw == other.raw and len(one.flat) >= _SHORTEST_CORE and not one.generic:
        return "its domain is a known name under another suffix"
    if _another_suffix(ours, theirs) or _another_suffix(theirs, ours):
        return "its domain is a known name under another suffix"
    if _grown(one, other) or _extended(one, other):
        return "its domain is a known one with words or digits added or left out"
    if not other.generic and any(_shows(part, other, alone=not one.generic) for part in ours.above):
        return "its host name shows a known name in front of its own domain"
    return ""


def _extended(one: Look, other: Look) -> bool:
    """Whether the first is the second, a distinctive name, with any words before or after a dash."""
    named = len(other.flat) >= _SHORTEST_EXTENDED and not other.generic
    return named and (one.raw.startswith(f"{other.raw}-") or one.raw.endswith(f"-{other.raw}"))


def _near_core(one: Look, other: Look) -> bool:
    return any(
        near(ours.core, theirs.core) and (ours.extras <= theirs.extras or theirs.extras <= ours.extras)
        for ours in one.readings
        for theirs in other.readings
        if len(ours.joined) >= 6
    )


def _another_suffix(ours: Face, theirs: Face) -> bool:
    """``shop.co.example`` for ``shop.example``: what looks like a suffix is another's domain."""
    labels = [part for part in ours.above if part.flat not in SUFFIXES]
    own = ours.label.flat in SUFFIXES
    return own and len(labels) == 1 and labels[0].raw == theirs.label.raw and ours.suffix == theirs.suffix


def _shows(part: Look, known: Look, *, alone: bool) -> bool:
    if len(known.flat) < (_SHORTEST_ALONE if alone else _SHORTEST_CORE):
        return False
    return part.flat == known.flat or part.deep == known.deep or _grown(part, known)


def _by_brand_in_local(ours: Face, theirs: Face) -> str:
    if theirs.kind != "host" or theirs.label.generic or len(theirs.label.flat) < _SHORTEST_ALONE:
        return ""
    rest = _without(ours.local.words, theirs.label.flat)
    if not rest:
        return ""
    own = set(theirs.local.words) - GENERIC
    if all(word in GENERIC or word in own for word in rest) and (
        not SERVICE.isdisjoint(rest) or not SUFFIXES.isdisjoint(rest) or len(own.intersection(rest)) > 1
    ):
        return "its address shows a known name before the @"
    return ""


def _without(words: tuple[str, ...], flat: str) -> list[str] | None:
    """The words around those that together are ``flat``; None where it does not stand among them."""
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + 4) + 1):
            if "".join(words[start:end]) == flat:
                return [*words[:start], *words[end:]]
    return None


def _by_name(ours: Face, theirs: Face) -> str:
    if not ours.name.flat:
        return ""
    for local, domain in ours.shown:
        if theirs.address and local and _mailbox(local.lower(), domain) == theirs.address:
            return "its display name shows the address of a known one"
        if theirs.kind == "host" and organisational_domain(domain) == theirs.domain:
            return "its display name shows the domain of a known one"
    if not (ours.address or ours.channel in _HOSTED) or theirs.kind not in ("host", "mailbox"):
        return ""
    if theirs.kind == "host" and not theirs.label.generic and len(theirs.label.flat) >= _SHORTEST_CORE:
        rest = _without(ours.name.words, theirs.label.flat)
        if rest is not None and all(word in GENERIC for word in rest):
            return "its display name shows the name of a known one"
    official = not theirs.name.generic and not GENERIC.isdisjoint(theirs.name.words)
    if official and ours.name.flat == theirs.name.flat:
        return "its display name is that of a known one"
    return ""


def keys_of(source: Source) -> frozenset[str]:
    """Keys to find a known source by: whoever ``resembles`` it has one of them among its ``clues``."""
    seen = face(source)
    found: set[str] = set()
    if seen.kind in ("host", "mailbox"):
        found |= {f"host:{key}" for key in keys(seen.label)}
        found.add(f"domain:{seen.domain}")
        if seen.label.flat in SUFFIXES:
            found |= {f"host:{part.flat}" for part in seen.above}
        if seen.address:
            found.add(f"address:{seen.address}")
        if seen.name.flat:
            found.add(f"name:{seen.name.flat}")
    if seen.kind == "mailbox":
        found |= {f"at {seen.domain}:{key}" for key in keys(seen.local)}
    if seen.kind in ("word", "number"):
        found |= {f"on {seen.channel}:{key}" for key in keys(seen.local)}
        found |= {f"word:{seen.local.flat}", f"word:{seen.local.deep}"}
    return frozenset(found)


def clues(source: Source) -> frozenset[str]:
    """Keys under which the known sources that it resembles are found."""
    seen = face(source)
    found: set[str] = set()
    if seen.kind == "host":
        parts = seen.host.split(".")
        found |= {f"domain:{'.'.join(parts[at:to])}" for at in range(len(parts)) for to in range(at + 2, len(parts))}
        found |= {f"host:{key}" for part in (seen.label, *seen.above) for key in keys(part)}
        found |= {f"word:{seen.label.flat}", f"word:{seen.label.deep}"}
    if seen.kind == "mailbox":
        found |= {f"at {seen.domain}:{key}" for key in keys(seen.local)}
    if seen.address or seen.channel in _HOSTED:
        found |= {f"host:{span}" for words in (seen.local.words, seen.name.words) for span in _spans(words)}
        found.add(f"name:{seen.name.flat}")
    if seen.kind in ("word", "number"):
        found |= {f"on {seen.channel}:{key}" for key in keys(seen.local)}
        found |= {f"host:{seen.local.flat}", f"host:{seen.local.deep}"}
    for local, domain in seen.shown:
        found |= {f"domain:{organisational_domain(domain)}", f"address:{_mailbox(local.lower(), domain)}"}
    return frozenset(found)


def _spans(words: tuple[str, ...]) -> set[str]:
    return {"".join(words[at:to]) for at in range(len(words)) for to in range(at + 1, min(len(words), at + 4) + 1)}
