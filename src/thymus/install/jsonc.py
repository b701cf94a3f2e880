"""JSON of people's own files: read it, with comments where its program has them, and know where each value stands.

A client's configuration is edited as text (``edits``), so that indentation, order and comments stay. For that the text
is kept beside two copies of the same length: one without comments, one also without commas before a closing bracket.
The last is plain JSON (RFC 8259), which the standard library reads, and every position in it is one in the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from json.decoder import JSONDecoder
from typing import Any, Final, NoReturn

from thymus.errors import ThymusError

Key = str | int
"""A member's name, or an element's place from 0."""
BLANK: Final = " \t\r\n"
LONGEST_NUMBER: Final = 300
"""Digits."""

# An unclosed string or comment is one token up to its end, so that no text is scanned twice.
_STRING: Final = r'"(?:[^"\\\n]|\\.)*+"?'
TOKEN: Final = re.compile(rf"{_STRING}|//[^\r\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/)?", re.DOTALL)
_LAST_COMMA: Final = re.compile(rf"{_STRING}|,(?=[ \t\r\n]*[}}\]])", re.DOTALL)


class BrokenJsonError(ThymusError, ValueError):
    """A text is not the JSON that its program reads; the message says where and why."""


class ShapeError(ThymusError, ValueError):
    """Something stands where an object or a list was expected, or a name stands twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text that was read.

    :param bare: the text with spaces in place of comments.
    :param plain: ``bare`` with spaces in place of commas before a closing bracket.
    :param value: what it says.
    """

    text: str
    bare: str
    plain: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A member of an object, or an element of a list: where it begins, and from where to where its value stands."""

    key: Key
    begin: int
    start: int
    end: int


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _number(digits: str) -> float:
    return int(digits) if len(digits) <= LONGEST_NUMBER else float(digits)  # Python refuses to make longer ones whole


_DECODER: Final = JSONDecoder(parse_int=_number, parse_constant=_refuse_constant)


def read(text: str, *, comments: bool = True) -> Document:
    """Read a text, in time that grows with its length alone.

    :param comments: whether its program reads comments, and commas before a closing bracket.
    :raises BrokenJsonError: where the program would read nothing.
    """
    bare = TOKEN.sub(lambda found: found[0] if found[0][0] == '"' else _blank(found[0]), text)
    plain = _LAST_COMMA.sub(lambda found: found[0] if found[0][0] == '"' else " ", bare)
    if not comments and plain != text:
        at = next(place for place, (is_, was) in enumerate(zip(plain, text, strict=True)) if is_ != was)
        what = "a comment" if bare[at] != text[at] else "a comma before the closing bracket"
        raise BrokenJsonError(f"{_where(text, at)}: {what}, which is not JSON")
    try:
        value = _DECODER.decode(plain)
    except json.JSONDecodeError as error:
        raise BrokenJsonError(f"{_where(text, error.pos)}: {error.msg[:1].lower()}{error.msg[1:]}") from None
    except ValueError as error:
        raise BrokenJsonError(str(error)) from None
    except RecursionError:
        raise BrokenJsonError("it is nested too deeply") from None
    return Document(text=text, bare=bare, plain=plain, value=value)


def items(document: Document, start: int) -> list[Item]:
    """What the object or list that begins at ``start`` holds, in order."""
    plain, at = document.plain, start + 1
    found: list[Item] = []
    named = plain[start] == "{"
    while plain[at := _skip(plain, at)] not in "}]":
        begin = at
        key: Key = len(found)
        if named:
            key, at = _DECODER.raw_decode(plain, at)
            at = _skip(plain, _skip(plain, at) + 1)
        _, end = _DECODER.raw_decode(plain, at)
        found.append(Item(key=key, begin=begin, start=at, end=end))
        at = _skip(plain, end)
        at += plain[at] == ","
    return found


def closing(document: Document, start: int) -> int:
    """Where the bracket stands that closes what begins at ``start``."""
    return _DECODER.raw_decode(document.plain, start)[1] - 1


def root(document: Document) -> int:
    """Where the document's value begins."""
    return _skip(document.plain, 0)


def find(document: Document, start: int, key: Key, path: Sequence[Key]) -> Item | None:
    """The member or element of that key in the container that begins at ``start``.

    :param path: how the container is reached, for the message.
    :raises ShapeError: where it is no such container, or holds the name twice.
    """
    kind = "{" if isinstance(key, str) else "["
    if document.plain[start] != kind:
        wanted = "an object" if kind == "{" else "a list"
        raise ShapeError(f"{dotted(path) or 'the file'} should be {wanted}, and is not")
    found = [item for item in items(document, start) if item.key == key]
    if len(found) > 1:
        raise ShapeError(f"{dotted([*path, key])} stands there {len(found)} times: remove all but one")
    return found[0] if found else None


def dotted(path: Sequence[Key]) -> str:
    """A path as people write it."""
    return ".".join(str(key) for key in path)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in BLANK:
        at += 1
    return at


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def _where(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}, column {at - text.rfind(chr(10), 0, at)}"
