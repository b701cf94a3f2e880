"""Messages out of tables and records: CSV and JSON Lines.

A row claims a sender at most; it cannot authenticate itself. Text is decoded as UTF-8 (or UTF-16 with a byte order
mark), single bytes that do not fit as Windows-1252, so that mixed exports lose nothing.
"""

from __future__ import annotations

import codecs
import csv
import json
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, Final

from thymus.core.provenance import Source
from thymus.errors import IngestError, SourceError
from thymus.extract import looks_like_html, plain_text
from thymus.readers.messages import Message, Problem, claimed_source, digest, parse_date

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from io import BufferedReader

    from thymus.readers.messages import Report

NAMES: Final = {
    "text": ("text", "message", "body", "content", "msg", "sms", "mail", "email_text", "email_body", "utterance", "v2"),
    "source": ("source", "from", "sender", "origin", "author", "from_address", "from_email"),
    "date": (
        *("observed_at", "date", "datetime", "date_time", "timestamp", "time", "sent_at", "received_at", "created_at"),
        *("sent", "received", "when", "created", "sent_on", "received_on", "date_sent", "date_received", "day", "ts"),
    ),
    "id": ("message_id", "message-id", "id"),
}
"""What a column or key is called, best first."""

_DELIMITERS: Final = ",;\t|"
_LONGEST_LINE = 1 << 20


def read_csv(
    stream: BufferedReader, name: str, report: Report, *, columns: Mapping[str, str], channel: str, trusted: bool
) -> Iterator[Message]:
    """Read a table with a header row, the delimiter told by that row.

    :raises IngestError: no column looks like the text; the message lists the columns.
    """
    lines = _lines(stream, name, report)
    head = next(lines, "")
    delimiter = max(_DELIMITERS, key=head.count)
    header = [cell.strip() for cell in next(csv.reader([head], delimiter=delimiter), [])]
    found = {role: _column(role, header, columns, name) for role in NAMES}
    if found["text"] is None:
        if len(header) != 1:
            listed = ", ".join(repr(cell[:40]) for cell in header[:20]) or "none"
            raise IngestError(
                f"{name}: no column looks like the message text; name it with --text-column (found: {listed})"
            )
        found["text"] = 0
    rows = csv.reader(lines, delimiter=delimiter)
    number = 1
    while True:
        try:
            number += 1
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            report(Problem(location=f"{name}:row {number}", sentence=f"The row was skipped: {error}."))
            continue
        cells = {role: row[at] for role, at in found.items() if at is not None and at < len(row)}
        if cells.get("text", "").strip():
            yield _message(cells, f"{name}:row {number}", channel=channel, trusted=trusted)


def read_jsonl(
    stream: BufferedReader, name: str, report: Report, *, columns: Mapping[str, str], channel: str, trusted: bool
) -> Iterator[Message]:
    """Read one JSON object a line; a line that is none is a problem, and the rest is read."""
    for number, line in enumerate(_lines(stream, name, report), start=1):
        location = f"{name}:line {number}"
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            report(Problem(location=location, sentence="The line was skipped: it is not a JSON object."))
            continue
        cells = _cells(record, columns) if isinstance(record, dict) else {}
        if "text" not in cells:
            sentence = "The line was skipped: it has no text under 'text', 'content', 'body' or 'message'."
            report(Problem(location=location, sentence=sentence))
            continue
        if cells["text"].strip():
            said = record.get("authenticated") if trusted else None
            yield _message(cells, location, channel=channel, trusted=trusted, authenticated=said)


def _cells(record: dict[str, Any], columns: Mapping[str, str]) -> dict[str, str]:
    """What a record says in each role: the first known key with a string (or, but for the text, a number)."""
    cells: dict[str, str] = {}
    for role, known in NAMES.items():
        for name in [columns[role]] if role in columns else known:
            value = record.get(name)
            if isinstance(value, str) or (role != "text" and type(value) in (int, float)):
                cells.setdefault(role, str(value))
    return cells


def _column(role: str, header: list[str], columns: Mapping[str, str], name: str) -> int | None:
    if role in columns:
        if columns[role] not in header:
            raise IngestError(f"{name} has no column {columns[role]!r}; it has: {', '.join(map(repr, header[:20]))}")
        return header.index(columns[role])
    lowered = [cell.lower() for cell in header]
    return next((lowered.index(known) for known in NAMES[role] if known in lowered), None)


def _message(
    cells: Mapping[str, str], location: str, *, channel: str, trusted: bool, authenticated: object = None
) -> Message:
    text = plain_text(cells["text"]) if looks_like_html(cells["text"]) else cells["text"]
    source, said = claimed_source(cells.get("source", ""), channel, trusted=trusted)
    if said is None and isinstance(authenticated, bool):
        said = authenticated
    return Message(
        text=text,
        source=source,
        authenticated=said,
        observed_at=parse_date(cells.get("date", "")),
        message_id=cells.get("id", "").strip()[:300] or digest(source, cells.get("date", ""), text),
        location=location,
    )


def valid_channel(channel: str) -> str:
    """The channel as given, if a source can have it.

    :raises IngestError: it is no channel.
    """
    try:
        return Source.parse(channel).channel
    except SourceError as error:
        raise IngestError(f"{channel[:40]!r} is not a channel; use one such as sms, chat or email") from error


def _lines(stream: BufferedReader, name: str, report: Report) -> Iterator[str]:
    """Decoded lines of at most a million characters; a longer one is cut and reported."""
    start = stream.peek(4)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        wide = TextIOWrapper(stream, encoding="utf-16", errors="replace", newline="")
        try:
            yield from _bounded(wide.readline, name, report)
        finally:
            wide.detach()  # the stream is closed by whoever opened it
        return
    stream.read(len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0)
    yield from _bounded(lambda size: stream.readline(size).decode("utf-8", _ERRORS), name, report)


def _bounded(read: Callable[[int], str], name: str, report: Report) -> Iterator[str]:
    number = 0
    while line := read(_LONGEST_LINE):
        number += 1
        if not line.endswith("\n") and (more := read(_LONGEST_LINE)):
            sentence = "The line was cut: it is longer than one million bytes."
            report(Problem(location=f"{name}:line {number}", sentence=sentence))
            while more and not more.endswith("\n"):
                more = read(_LONGEST_LINE)
        yield line.replace("\x00", "")


_ERRORS: Final = "thymus-windows-1252"


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(_ERRORS, _as_windows)
