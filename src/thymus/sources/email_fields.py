"""The header fields of a mail, in their order, and what their text is made of (RFC 5322, RFC 2047).

Only the header is looked at, so the size of a mail costs nothing; each function reads its text once.
"""

from __future__ import annotations

import binascii
import codecs
import re
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.header import decode_header
from email.parser import BytesHeaderParser
from typing import Final

LONGEST_HEADER: Final = 1 << 20
"""Bytes of header, all fields together, that are read; real mail has some ten thousand."""

_SPECIAL_CODECS: Final = frozenset({"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"})
_MARKS: Final = re.compile(r'["()\\]')
_IN_QUOTES: Final = re.compile(r'["\\]')
_IN_COMMENT: Final = re.compile(r"[()\\]")
_LONGEST_ENCODED: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The fields of one header from the top down, names in lower case, values as written (folded, encoded words).

    :param whole: whether the header was read to its end.
    """

    items: tuple[tuple[str, str], ...]
    whole: bool = True

    def values(self, name: str) -> list[str]:
        """All values of the fields of this name."""
        return [value for key, value in self.items if key == name]


def read_fields(raw: bytes) -> Fields:
    """Read the header of a mail; bytes that are no mail give no fields, or odd ones, never an error."""
    cut = bytes(raw[: LONGEST_HEADER + 2]).removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    mail = BytesHeaderParser().parsebytes(cut)
    return Fields(
        items=tuple((name.lower(), as_text(str(value))) for name, value in mail.raw_items()),
        whole=len(raw) <= LONGEST_HEADER or bool(mail.get_payload()),
    )


def as_text(value: str) -> str:
    """A field as ``email`` hands it on, with its raw 8-bit bytes read as UTF-8, else as Latin-1."""
    try:
        return value.encode("ascii", "surrogateescape").decode("utf-8")
    except UnicodeError:
        return value.encode("utf-8", "surrogateescape").decode("latin-1")


def decode(raw: bytes, charset: str | None) -> str:
    """Decode as said, else as UTF-8, else as Windows-1252; what fits nowhere becomes U+FFFD."""
    for name in (charset, "utf-8"):
        try:
            if name and codecs.lookup(name).name not in _SPECIAL_CODECS:
                return raw.decode(name)
        except (LookupError, UnicodeError, ValueError):
            continue
    return raw.decode("cp1252", "replace")


def decode_words(text: str) -> str:
    """A field with its encoded words decoded (RFC 2047); as it stands where they are broken."""
    text = text[:_LONGEST_ENCODED]
    try:
        parts = decode_header(text)
    except (HeaderParseError, ValueError, binascii.Error):
        return text
    return "".join(part if isinstance(part, str) else decode(part, charset) for part, charset in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A structured field taken apart (RFC 5322, section 3.2).

    :param bare: what stands outside quotes and comments; each of those leaves a blank.
    :param shown: the same with the content of quoted strings in its place.
    :param sound: whether all quotes and brackets close.
    """

    bare: str
    shown: str
    comments: tuple[str, ...] = ()
    sound: bool = True


def take_apart(text: str) -> Phrase:
    """Take quoted strings and comments, which may nest, out of a structured field."""
    bare: list[str] = []
    shown: list[str] = []
    comments: list[str] = []
    at, sound = 0, True
    while mark := _MARKS.search(text, at):
        outside = text[at : mark.start()]
        if mark[0] in ")\\":  # neither opens anything
            outside += mark[0]
            at = mark.end()
            inside = ""
        else:
            end = _end_of_quotes(text, mark.end()) if mark[0] == '"' else _end_of_comment(text, mark.end())
            sound = sound and end is not None
            at = len(text) if end is None else end
            inside = re.sub(r"\\(.)", r"\1", text[mark.end() : at - (end is not None)], flags=re.DOTALL)
            outside += " "
        bare.append(outside)
        shown.append(outside)
        if mark[0] == '"':
            shown.append(inside + " ")
        elif mark[0] == "(":
            comments.append(inside)
    bare.append(text[at:])
    shown.append(text[at:])
    return Phrase(bare="".join(bare), shown="".join(shown), comments=tuple(comments), sound=sound)


def _end_of_quotes(text: str, at: int) -> int | None:
    while mark := _IN_QUOTES.search(text, at):
        if mark[0] == '"':
            return mark.end()
        at = mark.end() + 1
    return None


def _end_of_comment(text: str, at: int) -> int | None:
    depth = 1
    while mark := _IN_COMMENT.search(text, at):
        at = mark.end() + (mark[0] == "\\")
        depth += {"(": 1, ")": -1}.get(mark[0], 0)
        if not depth:
            return at
    return None
