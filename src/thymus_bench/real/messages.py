"""Real messages as they lie on the user's disk: a CSV of text messages, mails one a file, mbox files, maildirs."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message as Mail
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import Path
from typing import Final

from thymus import Source, ThymusError
from thymus_bench.real.markup import plain_text

LONGEST_FILE: Final = 64 << 20
"""Bytes of one file that are read."""
LONGEST_MAIL: Final = 400_000
"""Bytes of one mail; longer ones are attachments in the main."""
_SEPARATOR: Final = re.compile(rb"^From \S{1,200}[ \t].{0,60}\d\d:\d\d.{0,40}$", re.MULTILINE)
_QUOTED: Final = re.compile(
    r"^(?:-{2,} ?(?:original message|forwarded)|_{10,}|from:\s|>|on .{5,120} wrote:"
    r"|.{3,80} on \d\d/\d\d/\d{2,4} \d\d?:\d\d)",
    re.IGNORECASE | re.MULTILINE,
)
_MARKUP: Final = re.compile(r"(?i:<(?:br|p|div|span|a|table)\b[^<>]{0,200}>)")
_REPLY: Final = re.compile(r"(?i:^\s*(?:(?:re|fw|fwd)\s*(?:\[\d+\])?:\s*)+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message.

    :param row: where it is in its dataset: the number of the CSV row (the header is row 1), or the file's name and,
        within an mbox, the number of the mail.
    :param source: the sender as an application would name it (``email:a@b``, ``sms:sender-17``; ``email`` where From
        names nobody or several).
    :param authenticated: whether the reader of this mailbox could have verified the sender: see ``docs/datasets.md``.
    :param label: ``ham``, ``spam`` or ``smishing`` of a text message; empty for mail.
    :param own: the text without what it quotes of others.
    """

    row: str
    text: str
    source: str
    authenticated: bool = False
    label: str = ""
    own: str = ""
    subject: str = ""
    sent: datetime | None = None

    @property
    def thread(self) -> str:
        """The subject without ``Re:`` and ``Fw:``."""
        return " ".join(_REPLY.sub("", self.subject).lower().split())


def decode(raw: bytes) -> str:
    """UTF-8, or Windows-1252 where it is none; never fails."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def read_texts(path: Path) -> Iterator[Message]:
    """The text messages of a CSV with the columns LABEL and TEXT (in any case), as published on Mendeley Data."""
    rows = csv.reader(io.StringIO(decode(_read(path)).replace("\0", ""), newline=""))
    header = [name.strip().lower() for name in next(rows, [])]
    label, text = header.index("label"), header.index("text")
    for number, row in _rows(rows):
        if len(row) > max(label, text) and row[text].strip():
            yield Message(
                row=str(number), text=row[text].strip(), source=f"sms:sender-{number}", label=row[label].strip().lower()
            )


def _rows(rows: Iterable[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Numbered from 2; a row that the reader cannot take ends the file rather than the run."""
    try:
        yield from enumerate(rows, start=2)
    except csv.Error:
        return


def is_texts(path: Path) -> bool:
    """Whether a file is such a CSV, by its first line, which names the URL and PHONE columns too."""
    with path.open("rb") as file:
        first = decode(file.readline(1_000)).lower().replace('"', "").strip().split(",")
    return {"label", "text", "url", "phone"} <= {name.strip() for name in first}


def read_mails(path: Path, name: str, *, of_one_house: bool = False) -> Iterator[Message]:
    """The mails of a file: an mbox (RFC 4155), or one message (RFC 5322) whatever the file is called.

    :param name: how the file is called in ``row``.
    :param of_one_house: whether mail from the domain to which it is addressed counts as authenticated: right for the
        archive of a company's own servers, and of nothing else, since phishing likes to forge the receiver's domain.
    """
    raw = _read(path)
    if not raw.startswith(b"From "):
        yield from _mail(raw, name, of_one_house=of_one_house)
        return
    starts = [one.start() for one in _SEPARATOR.finditer(raw)]
    cuts = [0, *(at for at in starts if at and raw.endswith((b"\n\n", b"\r\n\r\n"), 0, at))]
    for number, (start, end) in enumerate(zip(cuts, [*cuts[1:], len(raw)], strict=True), start=1):
        mail = raw[start:end].partition(b"\n")[2].replace(b"\n>From ", b"\nFrom ")
        yield from _mail(mail, f"{name}:{number}" if len(cuts) > 1 else name, of_one_house=of_one_house)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LONGEST_FILE)


def _mail(raw: bytes, row: str, *, of_one_house: bool) -> Iterator[Message]:
    if len(raw) > LONGEST_MAIL:
        return
    mail = message_from_bytes(raw)
    try:
        text = _body(mail).strip()
    except (ValueError, LookupError, TypeError, RecursionError):  # what broken MIME makes the parser raise
        return
    if not text:
        return
    source = _source(mail)
    own = _QUOTED.split(text, maxsplit=1)[0].strip()
    yield Message(
        row=row,
        text=text,
        source=source,
        authenticated="@" in source and _proved(mail, source, of_one_house=of_one_house),
        own=own,
        subject=_header(mail, "subject"),
        sent=_sent(mail),
    )


def _header(mail: Mail, name: str) -> str:
    raw = str(mail.get(name, ""))[:2_000]
    try:
        words = str(make_header(decode_header(raw)))
    except (HeaderParseError, LookupError, ValueError):
        words = raw
    return " ".join(words.encode("utf-8", "replace").decode().split())


def _source(mail: Mail) -> str:
    sender = _addresses(mail, "from")
    if len(sender) != 1:
        return "email"
    try:
        Source.parse(f"email:{sender[0]}")
    except ThymusError:
        return "email"
    return f"email:{sender[0]}"


def _addresses(mail: Mail, name: str) -> list[str]:
    listed = getaddresses([str(value)[:5_000] for value in mail.get_all(name, [])])
    return [address.lower() for _, address in listed if re.fullmatch(r"[\w.+'-]{1,64}@[\w-]+(?:\.[\w-]+)+", address)]


def _sent(mail: Mail) -> datetime | None:
    try:
        sent = parsedate_to_datetime(str(mail.get("date", "")))
    except (ValueError, TypeError, OverflowError):
        return None
    return sent if sent.tzinfo else sent.replace(tzinfo=UTC)


def _proved(mail: Mail, source: str, *, of_one_house: bool) -> bool:
    """DMARC pass in the newest Authentication-Results (RFC 8601); without any, whether it never left one house."""
    results = str(mail.get("authentication-results", ""))
    if results:
        return bool(re.search(r"\bdmarc=pass\b", results))
    domain = source.rpartition("@")[2]
    return of_one_house and any(address.endswith(f"@{domain}") for address in _addresses(mail, "to"))


def _body(mail: Mail) -> str:
    """The first plain text, or the HTML as text where there is none."""
    plain, markup = "", ""
    for part in [mail] if not mail.is_multipart() else mail.walk():
        if part.is_multipart() or part.get_filename():
            continue
        kind = part.get_content_type()
        words = _words(part) if kind in ("text/plain", "text/html") else ""
        if kind == "text/plain" and not plain:
            plain = plain_text(words) if _MARKUP.search(words) else words
        elif kind == "text/html" and not markup:
            markup = plain_text(words)
    return plain if len(plain.split()) > 3 else markup or plain


def _words(part: Mail) -> str:
    raw = part.get_payload(decode=True)
    if not isinstance(raw, bytes):
        return ""
    charset = part.get_content_charset("utf-8")
    try:
        words = raw.decode(charset)
    except (LookupError, UnicodeDecodeError):
        words = decode(raw)
    return words.replace("\r\n", "\n").replace("\0", "")


def digest(*parts: str) -> str:
    """A short name that is the same on every machine: for choosing, and for telling copies."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
