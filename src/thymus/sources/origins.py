"""Who a tool's result is from: the page or the sender that it names itself, piece by piece where it is a list.

A tool of the open world (a browser, a mailbox) hands on what anybody wrote. What it hands on names its origin in fields
(``url``, ``from``) or in lines that stand like a header (``From: …``, ``URL: …``); or the call did, which asked for a
URL. None of it is proved, and a page can name whom it likes. So an origin is CLAIMED and is added to what carried it,
and an outer one never gives way to one further inside: it can take authority from a statement and never lend it any.

What only names an origin, or says when and to whom something was sent, is no statement: it is kept apart from a piece's
text (``heading``), since it was read all the same. A title or subject stands first, as the subject of what follows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard
from urllib.parse import urlsplit

from thymus.core.provenance import UNPRINTABLE, Source
from thymus.errors import SourceError
from thymus.sources.domains import is_public_host, normalise, organisational_domain, split_address

NOBODY: Final = Source(channel="web")
"""Somebody in the open world: the origin where a result names none. Anonymous, so nobody owns what it says."""
MOST_ORIGINS: Final = 8
"""Origins of one piece that are kept; where it names more, ``NOBODY`` stands for the rest."""
MOST_PIECES: Final = 300
"""Pieces that a result is taken apart into; the rest of it is one more, and nobody's."""
DEEPEST: Final = 40
"""Levels of nested fields that are told apart; what is nested further is one piece, and nobody's."""
LONGEST_ORIGIN: Final = 1_000
"""Characters of a field or line in which an origin is looked for."""

_PAGES = "url uri link href permalink source sourceurl pageurl weburl htmlurl siteurl canonicalurl website site"
_PAGE_FIELDS: Final = frozenset(_PAGES.split())
_SENDERS = "from sender author fromemail fromaddress senderemail senderaddress authoremail sentby postedby"
_SENDER_FIELDS: Final = frozenset(_SENDERS.split())
_BLOCKS: Final = {"text": "text", "image": "data", "audio": "data", "resource": "resource", "resource_link": "uri"}
"""Content blocks of the protocol, as results of lists repeat them, each with the field that tells it from a record."""
_FIELDS = "type text data mimeType mime_type uri resource name title description size icons annotations _meta "
_FIELDS += "id index extras citations base64 url source_type file_id"
_OF_BLOCKS: Final = frozenset(_FIELDS.split())
"""Fields that such a block may have, as the protocol and the frameworks write them."""
_MARKS: Final = r"[ \t>*#\-]{0,8}(?:\d{1,4}[.)][ \t]{0,4})?\**"
_LINE: Final = re.compile(
    _MARKS
    + r"(from|sender|author|e-?mail|url|uri|link|source|page|website|permalink)\**[ \t]{0,4}:\**[ \t]{0,8}(\S.*)",
    re.IGNORECASE,
)
_WRITERS: Final = frozenset({"from", "sender", "author", "email", "e-mail"})
_URL: Final = re.compile(r"https?://[^\s<>\"'`|\\^{}]+", re.IGNORECASE)
_ONLY_URL: Final = re.compile(
    r"[<(]?https?://[^\s<>\"'`|\\^{}]+[>).,;\]]*|\[[^\]]{0,300}\]\(https?://[^\s<>\"'`|\\^{}]+\)", re.IGNORECASE
)
_ONLY_SENDER: Final = re.compile(r"[^<>]{0,200}<[^<>\s]{3,320}>|\S{3,320}")
_ENVELOPE: Final = re.compile(_MARKS + r"(to|cc|bcc|date|sent|reply-to|message-id)\**[ \t]{0,4}:", re.IGNORECASE)
_ENTITLED: Final = re.compile(_MARKS + r"(subject|title|headline)\**[ \t]{0,4}:\**[ \t]{0,8}(\S.*)", re.IGNORECASE)
_ENTITLING_FIELDS: Final = frozenset({"subject", "title", "headline"})
_SUBJECT: Final = "Subject: "
_IN_ANGLES: Final = re.compile(r"<([^<>\s]{3,320})>")
_RULE: Final = re.compile(r"[-=*_#~ \t]*")
_PROSE_WORDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a result that is of one origin.

    :param text: what it says, as lines that read like text whatever it was in.
    :param origins: pages and senders that it is from, the outermost first; empty where none is named.
    :param heading: what of it only names them, or when and to whom it was sent: shown with it, and no statement.
    """

    text: str
    origins: tuple[Source, ...] = ()
    heading: str = ""


def pieces(result: Mapping[str, Any], arguments: object = None, *, attribute: bool = True) -> list[Piece]:
    """Take a ``CallToolResult`` apart, in its wire form (camelCase); neighbours of the same origins are one
    piece, unless each has a subject.

    Text, embedded text resources and structured content are read; images, audio and links are not.

    :param arguments: what the tool was called with; a URL in it is an origin of everything.
    :param attribute: whether to look for origins at all: not where the tool itself is the author.
    """
    asked = _asked_for(arguments) if attribute else ()
    found: list[tuple[tuple[Source, ...], list[str], list[str]]] = []
    for value, origins in _contents(result):
        for piece in _read(value, (*asked, *origins), attribute, 0):
            if not (piece.text.strip() or piece.heading.strip()):
                continue
            whose = _few(piece.origins)
            goes_on = found and found[-1][0] == whose and not (found[-1][1] and piece.text.startswith(_SUBJECT))
            if len(found) < MOST_PIECES and not goes_on:
                found.append((whose, [], []))
            elif len(found) == MOST_PIECES and found[-1][0] != whose:
                found.append(((*asked, NOBODY), [], []))
            found[-1][1].extend([piece.text] if piece.text.strip() else ())
            found[-1][2].extend([piece.heading] if piece.heading.strip() else ())
    return [
        Piece(text="\n".join(texts), origins=_few(whose), heading="\n".join(headings))
        for whose, texts, headings in found
    ]


def page(url: str) -> Source | None:
    """The page that a URL leads to, as ``web:host``; where anybody may write at that host, with the path.

    ``None`` for what is no http(s) URL. As for browsers, the host is what stands behind the last ``@``.
    """
    url = url.strip()[:LONGEST_ORIGIN]
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if parts.scheme.lower() not in ("http", "https") or not host:
        return None
    name = normalise(host)
    if name is None:  # an address in numbers, or no name: the port then tells one from another
        name = f"{host}:{port}" if port else host
    elif is_public_host(name):
        name += parts.path.rstrip("/")[:200]
    return _source("web", name)


def sender(text: str, *, by_name: bool = False) -> Source | None:
    """Who ``Asha Rao <asha@a.example>`` or ``asha@a.example`` is, as ``email:address``.

    :param by_name: take what holds no address for a name: ``chat:asha rao``.
    """
    text = text.strip()[:LONGEST_ORIGIN]
    for address in (*reversed(_IN_ANGLES.findall(text)), text.strip("<>\"'()[] ")):
        if parts := split_address(address.removeprefix("mailto:")):
            shown = text.partition("<")[0].strip(" \"'") if "<" in text else ""
            return _source("email", "@".join(parts), shown)
    if by_name and text and "\n" not in text and len(text) <= 100:
        return _source("chat", text)
    return None


def _source(channel: str, identity: str, shown: str = "") -> Source | None:
    try:
        return Source(channel=channel, identity=UNPRINTABLE.sub("", identity).strip(), name=shown)
    except SourceError:
        return None


def _few(origins: Sequence[Source]) -> tuple[Source, ...]:
    once = tuple(dict.fromkeys(origins))
    return once if len(once) <= MOST_ORIGINS else (*once[: MOST_ORIGINS - 1], NOBODY)


def _asked_for(arguments: object) -> tuple[Source, ...]:
    """Pages that a call asked for, by URLs anywhere in its arguments' own fields."""
    values = list(arguments.values()) if isinstance(arguments, Mapping) else []
    flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return tuple(dict.fromkeys(found for one in flat if isinstance(one, str) and (found := page(one))))


def _contents(result: Mapping[str, Any]) -> Iterator[tuple[Any, tuple[Source, ...]]]:
    """What there is to read in a result, with the origin that its envelope names; nothing that is there twice."""
    structured = result.get("structuredContent")
    if isinstance(structured, Mapping) and structured.keys() == {"result"}:
        structured = structured["result"]  # what servers make of a value that is no object
    said = [structured, *(structured.values() if isinstance(structured, Mapping) else ())]
    content = result.get("content")
    for block in content if isinstance(content, list) else ():
        text, origin = _of_block(block) if _is_block(block) else (block, ())
        if text is not None and (value := _parsed(text) if isinstance(text, str) else text) not in said:
            yield value, origin
            said.append(value)
    if structured is not None:
        yield structured, ()


def _is_block(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether it is a content block of the protocol, and no record that has a type of its own (a message, an event)."""
    if not isinstance(value, Mapping) or not (field := _BLOCKS.get(str(value.get("type")))) or field not in value:
        return False
    held = value[field]
    fits = isinstance(held, Mapping) if field == "resource" else not isinstance(held, (Mapping, list))
    return fits and value.keys() <= _OF_BLOCKS


def _of_block(block: Mapping[str, Any]) -> tuple[str | None, tuple[Source, ...]]:
    """The text of a content block, and the page that its envelope says it is; ``None`` for images, audio and links."""
    held = block.get("resource") if block.get("type") == "resource" else block
    if not isinstance(held, Mapping) or block.get("type") not in ("text", "resource"):
        return None, ()
    text, uri = held.get("text"), held.get("uri")
    origin = page(uri) if isinstance(uri, str) else None
    return text if isinstance(text, str) else None, (origin,) if origin else ()


def _parsed(text: str) -> Any:
    """What a text says as JSON, where it is an object or a list; otherwise the text."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def _read(value: Any, origins: tuple[Source, ...], attribute: bool, depth: int) -> Iterator[Piece]:
    if isinstance(value, str):
        yield from _read_text(value, origins) if attribute else iter((Piece(text=value),))
    elif depth >= DEEPEST and isinstance(value, (list, Mapping)):
        yield Piece(text="\n".join(_strings(value)), origins=(*origins, NOBODY) if attribute else ())
    elif isinstance(value, list) and all(map(_is_short, value)):
        yield from _read("\n".join(map(_scalar, value)), origins, attribute, depth)
    elif isinstance(value, list):
        for one in value:
            yield from _read(one, origins, attribute, depth + 1)
    elif _is_block(value):
        text, origin = _of_block(value)
        yield from _read(text, (*origins, *origin) if attribute else (), attribute, depth + 1)
    elif isinstance(value, Mapping):
        yield from _read_record(value, origins, attribute, depth)
    elif value is not None:
        yield Piece(text=_scalar(value), origins=origins)


def _read_record(record: Mapping[str, Any], outer: tuple[Source, ...], attribute: bool, depth: int) -> Iterator[Piece]:
    """An object: what it says in sentences a line each, its short fields together on one."""
    named = _named(record) if attribute else {}
    origins = (*outer, *dict.fromkeys(source for sources in named.values() for source in sources))
    title = next((key for key in record if named and _is_title(key, record[key])), None)
    if title is not None:
        yield Piece(text=f"{_SUBJECT}{' '.join(record[title].split())}", origins=origins)
    short: list[str] = []
    heading: list[str] = []
    inside: list[Any] = []
    for key, value in record.items():
        if any(source.channel != "chat" for source in named.get(key, ())) and _says_no_more(value):
            heading.append(f"{key}: {value if isinstance(value, str) else json.dumps(value)}")
        elif key == title:
            continue
        elif _is_short(value):
            short.append(f"{key}: {_scalar(value)}")
        elif isinstance(value, list) and all(map(_is_short, value)):
            short += [f"{key}: {', '.join(map(_scalar, value))}"] if value else []
        elif value is not None and value != "":
            inside.append(value)
    if short or heading:
        yield Piece(text=", ".join(short), origins=origins, heading="\n".join(heading))
    for value in inside:
        yield from _read(value, origins, attribute, depth + 1)


def _strings(value: Any) -> Iterator[str]:
    """Every text in it, however deep: what is nested further than anybody writes is not taken apart, and not missed."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            waiting += reversed(list(one.values()))
        elif isinstance(one, list):
            waiting += reversed(one)


def _is_title(key: object, value: object) -> bool:
    return str(key).lower() in _ENTITLING_FIELDS and isinstance(value, str) and bool(value.strip())


def _says_no_more(value: Any) -> bool:
    """Whether a field that names an origin holds nothing but names and addresses."""
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else None
    if inside is not None:
        return all(one is None or _is_short(one) or (isinstance(one, Mapping) and _says_no_more(one)) for one in inside)
    return isinstance(value, str) and _ONLY_SENDER.fullmatch(value.strip()) is not None


def _is_short(value: object) -> bool:
    """Whether it is a word or a number that says something only beside its field's name."""
    if isinstance(value, str):
        return bool(value.strip()) and len(value.split(None, _PROSE_WORDS)) <= _PROSE_WORDS
    return isinstance(value, (int, float))


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _named(record: Mapping[str, Any]) -> dict[str, list[Source]]:
    """The pages and senders that an object's own fields name, by field."""
    found: dict[str, list[Source]] = {}
    for key, value in record.items():
        field = re.sub(r"[^a-z]", "", str(key)[:100].lower())
        of = _page_of if field in _PAGE_FIELDS else _sender_of if field in _SENDER_FIELDS else None
        for one in (value if isinstance(value, list) else (value,)) if of else ():
            found.setdefault(key, []).extend(of(one) if of else ())
    return found


def _page_of(value: Any) -> list[Source]:
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("url", "href", "link") if isinstance(value.get(key), str)), None)
    if not isinstance(value, str):
        return []
    text = value.strip()[:LONGEST_ORIGIN]
    if found := page(text) or sender(text):
        return [found]
    host = text.partition("/")[0]
    bare = "." in host and organisational_domain(host) is not None
    named = page(f"https://{text}") if bare else None
    return [named] if named else []


def _sender_of(value: Any) -> list[Source]:
    if isinstance(value, Mapping):
        known = [value[key] for key in ("email", "address", "emailAddress", "url", "login", "name") if value.get(key)]
        value = known[0] if known else None
        if isinstance(value, Mapping):
            value = value.get("address")
    if not isinstance(value, str):
        return []
    found = page(value) or sender(value, by_name=True)
    return [found] if found else []


def _read_text(text: str, outer: tuple[Source, ...]) -> Iterator[Piece]:
    """Text, block by block: one in which lines name an origin begins a new item, others go on with the last."""
    item: list[str] = []
    heading: list[str] = []
    origins = outer
    for block in _blocks(text):
        named = [_by_line(line) for line in block]
        if own := list(filter(None, named)):
            yield Piece(text="\n".join(item).strip("\n"), origins=origins, heading="\n".join(heading))
            item, heading, origins = [], [], (*outer, *own)
            block, heading = _parted(block, named)
        item += [*block, ""]
    yield Piece(text="\n".join(item).strip("\n"), origins=origins, heading="\n".join(heading))


def _parted(block: list[str], named: list[Source | None]) -> tuple[list[str], list[str]]:
    """What a block that names an origin states, and what of it only says whose it is and when it came.

    :param named: the origin that each line names.
    """
    text: list[str] = []
    heading: list[str] = []
    subject = ""
    mail = any(source is not None and source.channel == "email" for source in named)
    for line, source in zip(block, named, strict=True):
        start = line[:LONGEST_ORIGIN]
        if (source and _only_names(line)) or (mail and not source and _ENVELOPE.match(start)):
            heading.append(line)
        elif not source and not subject and start == line and (entitled := _ENTITLED.match(start)):
            subject = f"{_SUBJECT}{entitled[2]}"
        else:
            text.append(line)
    return [subject, *text] if subject else text, heading


def _only_names(line: str) -> bool:
    """Whether a line that names an origin says nothing else."""
    found = _LINE.match(line) if len(line) <= LONGEST_ORIGIN else None
    return found is not None and bool(
        (_ONLY_SENDER if found[1].lower() in _WRITERS else _ONLY_URL).fullmatch(found[2].strip())
    )


def _blocks(text: str) -> Iterator[list[str]]:
    """Lines between empty ones and rules."""
    block: list[str] = []
    for line in text.splitlines():
        if _RULE.fullmatch(line):
            if block:
                yield block
            block = []
        else:
            block.append(line)
    if block:
        yield block


def _by_line(line: str) -> Source | None:
    found = _LINE.match(line[:LONGEST_ORIGIN])
    if found is None:
        return None
    word, value = found[1].lower(), found[2]
    if word in _WRITERS:
        return sender(value)
    url = _URL.search(value)
    return page(url[0].rstrip(").,;]>")) if url else None
