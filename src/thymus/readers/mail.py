"""Messages out of mail: one RFC 5322 message, an mbox file (RFC 4155), a Maildir.

The source is the address of a single, well-formed From header; several From headers or addresses name nobody for
certain, and the source is then the anonymous ``email``. Headers only claim, except where the caller names its own mail
servers: ``thymus.sources.email`` then says what those proved.

The text is the subject as a line ``Subject: …`` (often it holds the fact; left out in replies, where it is somebody
else's), then the first of plain text or HTML that has words in it. Attachments are left out, a forwarded message is
taken in.
"""

from __future__ import annotations

import re
from email import message_from_bytes
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from thymus.core.provenance import UNPRINTABLE
from thymus.extract import looks_like_html, plain_text
from thymus.readers.messages import Message, claimed_source, digest, parse_date
from thymus.sources.email import names_server, read_source
from thymus.sources.email_fields import as_text, decode, decode_words
from thymus.sources.email_sender import find_sender

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from email.message import Message as Mail
    from typing import Any, BinaryIO

LONGEST_MAIL: Final = 32 * 1024 * 1024
"""Bytes of one mail that are read."""

_REPLY = re.compile(r"\s*(?:\[[^\]]{1,40}\]\s*)?(?:re|aw|sv|antw|rif|res|vs)\s*(?:\[\d+\]|\(\d+\))?\s*:", re.IGNORECASE)
_FORWARD = re.compile(r"\s*(?:\[[^\]]{1,40}\]\s*)?(?:(?:fwd?|wg|tr|rv|i|doorst)\s*:\s*)*", re.IGNORECASE)
_DEEPEST = 8
_FORWARDED = 3
_MARK = "---------- Forwarded message ----------"


def read_mail(raw: bytes, location: str, proving: Mapping[str, Any] = MappingProxyType({})) -> Message:
    """Read one message; bytes that are no mail give a message without words rather than an error.

    :param proving: the arguments of ``thymus.sources.email.read_source``; with ``authserv_id`` among them, what the
        reader's own mail servers call themselves, ``proved`` says what they proved.
    """
    ids = proving.get("authserv_id", ())
    mail = message_from_bytes(raw[:LONGEST_MAIL].removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n"))
    subject = _subject(mail)
    body = _body(mail)
    text = f"Subject: {subject}\n\n{body}" if subject else body
    sender = find_sender(_headers(mail, "from")).address
    message_id = " ".join(UNPRINTABLE.sub("", _header(mail, "message-id")).split())
    return Message(
        text=text,
        source=claimed_source(f"email:{sender}", "email")[0] if sender else "email",
        authenticated=None,
        observed_at=parse_date(_header(mail, "date")),
        message_id=message_id if 3 <= len(message_id) <= 300 else digest(sender, text),
        location=location,
        proved=read_source(raw, **proving) if ids else None,
        reported=names_server(raw, ids) if ids else None,
    )


def read_mbox(stream: BinaryIO, name: str, proving: Mapping[str, Any] = MappingProxyType({})) -> Iterator[Message]:
    """Read an mbox message by message; the file is never held as a whole.

    A message begins at a line ``From `` at the start or after an empty line; ``>From `` is unescaped (mboxrd).
    """
    for number, raw in enumerate(split_mbox(stream), start=1):
        yield read_mail(raw, f"{name}:message {number}", proving)


def split_mbox(stream: BinaryIO) -> Iterator[bytes]:
    """The raw messages of an mbox, each cut at 32 MiB."""
    lines: list[bytes] = []
    size, empty, begun, whole = 0, True, False, True
    while line := stream.readline(1 << 20):
        if empty and whole and line.startswith(b"From "):
            if begun:
                yield b"".join(lines)
            lines, size, begun = [], 0, True
        elif size < LONGEST_MAIL:
            begun = begun or bool(line.strip())
            stuffed = line.lstrip(b">")
            lines.append(line[1:] if stuffed is not line and stuffed.startswith(b"From ") else line)
            size += len(line)
        empty, whole = not line.strip(b"\r\n"), line.endswith(b"\n")
    if begun:
        yield b"".join(lines)


def _header(mail: Mail, name: str) -> str:
    """The first header of this name."""
    return next(iter(_headers(mail, name)), "")[:10_000]


def _headers(mail: Mail, name: str) -> list[str]:
    return [as_text(str(value)) for key, value in mail.raw_items() if key.lower() == name]


def _subject(mail: Mail) -> str:
    words = decode_words(_header(mail, "subject"))
    words = " ".join(UNPRINTABLE.sub(" ", words).split())[:1_000]
    if _REPLY.match(words):
        return ""
    forward = _FORWARD.match(words)
    return words[forward.end() :] if forward else words


def _body(mail: Mail, depth: int = 0, forwarded: int = 0) -> str:
    if depth > _DEEPEST:
        return ""
    kind = mail.get_content_type()
    if mail.is_multipart():
        parts = cast("list[Mail]", mail.get_payload())[:200]
        if kind == "message/rfc822":
            if forwarded >= _FORWARDED or not parts:
                return ""
            inner = _body(parts[0], depth + 1, forwarded + 1)
            return f"{_MARK}\n{inner}" if inner else ""
        bodies = [(part.get_content_type(), _body(part, depth + 1, forwarded)) for part in parts if not _attached(part)]
        if kind == "multipart/alternative":
            plain = next((body for of, body in bodies if of == "text/plain" and len(body.split()) > 2), "")
            return plain or next((body for _, body in reversed(bodies) if body.strip()), "")
        return "\n\n".join(body for _, body in bodies if body.strip())
    if not kind.startswith(("text/", "multipart/")) or kind == "text/calendar":
        return ""
    words = decode(_content(mail), _charset(mail)).replace("\r\n", "\n")
    return plain_text(words) if kind == "text/html" or looks_like_html(words) else words


def _attached(part: Mail) -> bool:
    if part.get_content_type() == "message/rfc822":
        return False
    try:
        return part.get_content_disposition() == "attachment" or bool(part.get_filename())
    except (ValueError, LookupError, UnicodeError, TypeError):
        return True


def _charset(part: Mail) -> str | None:
    try:
        return part.get_content_charset(None)
    except (ValueError, LookupError, TypeError):
        return None


def _content(part: Mail) -> bytes:
    """The part's bytes without their transfer encoding; of broken base64 what can be read."""
    try:
        raw = part.get_payload(decode=True)
    except (ValueError, LookupError, TypeError):
        return b""
    return raw if isinstance(raw, bytes) else b""
