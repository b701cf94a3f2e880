"""Messages out of files, for ``thymus ingest``.

Read are: ``.eml``, mbox, Maildir, text (``.txt``, ``.md``, ``.html``: the file is one message), CSV, JSON Lines, each
also with ``.gz``, and folders of these, in the order of their names. One message at a time is held in memory. The same
files give the same messages in the same order with the same ``location``: a caller resumes by skipping what it has.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from thymus.core.provenance import UNPRINTABLE
from thymus.errors import IngestError
from thymus.extract import LONGEST_MESSAGE, looks_like_html, plain_text
from thymus.readers.mail import LONGEST_MAIL, read_mail, read_mbox
from thymus.readers.messages import Message, Problem, claimed_source, digest
from thymus.readers.tables import read_csv, read_jsonl, valid_channel
from thymus.sources.email_fields import decode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from thymus.readers.messages import Report

__all__ = ["Format", "Message", "Problem", "count_messages", "read_messages"]

Format = Literal["eml", "mbox", "text", "csv", "jsonl"]

_BY_SUFFIX: Final[dict[str, Format]] = {
    ".eml": "eml",
    ".mbox": "mbox",
    ".mbx": "mbox",
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".html": "text",
    ".htm": "text",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_SAMPLE = 8 << 20
_KNOWN: Final = ", ".join(sorted(_BY_SUFFIX))


def read_messages(
    path: str | Path,
    *,
    format: Format | None = None,  # noqa: A002 (the option is called --format)
    columns: Mapping[str, str] | None = None,
    channel: str | None = None,
    trusted: bool = False,
    authserv_id: Collection[str] = (),
    received_by: Collection[str] = (),
    under_received: bool = False,
    arc_sealers: Collection[str] = (),
    on_problem: Report | None = None,
) -> Iterator[Message]:
    """Read a file or folder message by message.

    :param format: read every file as this; otherwise the name says, and a file without a telling name is looked into.
    :param columns: which column or key holds ``text``, ``source``, ``date`` and ``id`` where the names do not tell.
    :param channel: what a row without a sender came by; otherwise ``sms`` where the file's name says so, else ``chat``.
    :param trusted: the caller made this file: a row may name the user, and its ``authenticated`` counts.
    :param authserv_id: what the reader's own mail servers call themselves (RFC 8601): a mail's ``proved`` says
        then what they proved about its sender.
    :param received_by, under_received, arc_sealers: how to tell what they wrote, and whose seals are believed: see
        ``thymus.sources.email.read_source``.
    :param on_problem: called with everything that could not be read; the rest is read.
    :raises IngestError: there is no such file, or one named as such cannot be read at all.
    """
    root = Path(path)
    if not root.exists():
        raise IngestError(f"{root} does not exist: give a file or a folder of messages")
    task = _Task(
        format,
        dict(columns or {}),
        valid_channel(channel) if channel else None,
        trusted,
        {
            "authserv_id": tuple(authserv_id),
            "received_by": tuple(received_by),
            "under_received": under_received,
            "arc_sealers": tuple(arc_sealers),
        },
        on_problem or _ignore,
    )
    if root.is_dir():
        return task.folder(root)
    return task.file(root, _shown(Path(root.name)), alone=True)


def count_messages(path: str | Path) -> int | None:
    """About how many messages there are, for a progress bar; ``None`` where that takes longer than it is worth.

    Files are counted, and rows and mbox messages estimated from the first 8 MiB of each.
    """
    root = Path(path)
    total = 0
    for number, (file, _) in enumerate(_walk(root, _ignore) if root.is_dir() else [(root, root.name)]):
        if number > 100_000:
            return None
        try:
            total += _estimate(file)
        except (OSError, EOFError, zlib.error):
            continue
    return total


def _ignore(problem: Problem) -> None:
    del problem


class _Task:
    """One call of ``read_messages``: its options and where problems go."""

    def __init__(
        self,
        form: Format | None,
        columns: dict[str, str],
        channel: str | None,
        trusted: bool,
        proving: Mapping[str, Any],
        report: Report,
    ) -> None:
        self._form, self._columns, self._channel, self._trusted, self._report = form, columns, channel, trusted, report
        self._proving = proving

    def folder(self, root: Path) -> Iterator[Message]:
        for file, name in _walk(root, self._report):
            yield from self.file(file, name, alone=False)

    def file(self, file: Path, name: str, *, alone: bool) -> Iterator[Message]:
        """The messages of one file; alone, what makes it unreadable is raised, in a folder it is reported."""
        try:
            if (form := self._form or _format_of(file)) is None:
                self._fail(name, f"{name} is of no known kind ({_KNOWN}): say which with --format", alone=alone)
                return
            with _open(file) as stream:
                yield from self._read(stream, form, file, name)
        except (OSError, EOFError, zlib.error) as error:
            self._fail(name, f"{name} cannot be read: {_reason(error)}", alone=alone)
        except IngestError as error:
            if alone:
                raise
            self._report(Problem(location=name, sentence=str(error)))

    def _fail(self, name: str, sentence: str, *, alone: bool) -> None:
        if alone:
            raise IngestError(sentence)
        self._report(Problem(location=name, sentence=sentence))

    def _read(self, stream: io.BufferedReader, form: Format, file: Path, name: str) -> Iterator[Message]:
        if form == "mbox":
            yield from self._guarded(read_mbox(stream, name, self._proving), name)
        elif form == "eml":
            mails = (read_mail(raw, name, self._proving) for raw in [stream.read(LONGEST_MAIL)])
            yield from self._guarded(mails, name)
        elif form == "text":
            yield _document(stream, name)
        else:
            channel = self._channel or ("sms" if any("sms" in part.lower() for part in file.parts[-2:]) else "chat")
            read = read_csv if form == "csv" else read_jsonl
            yield from read(stream, name, self._report, columns=self._columns, channel=channel, trusted=self._trusted)

    def _guarded(self, messages: Iterator[Message], name: str) -> Iterator[Message]:
        """Nesting beyond what the parser can follow ends the file, not the run."""
        try:
            yield from messages
        except RecursionError:
            self._report(Problem(location=name, sentence="The rest was skipped: its parts are nested too deeply."))


def _document(stream: io.BufferedReader, name: str) -> Message:
    text = decode(stream.read(4 * LONGEST_MESSAGE), None).removeprefix("\ufeff")
    text = plain_text(text) if looks_like_html(text) else text
    return Message(
        text=text,
        source=claimed_source(f"doc:{name.rpartition('/')[2]}", "doc")[0],
        authenticated=None,
        observed_at=None,
        message_id=digest(name, text),
        location=name,
    )


def _walk(root: Path, report: Report) -> Iterator[tuple[Path, str]]:
    """Files and their names below ``root``, sorted; hidden ones and the ``tmp`` of a Maildir are passed over."""
    for folder, subfolders, files in os.walk(root, onerror=lambda error: report(_unreadable(root, error))):
        maildir = {"cur", "new"} <= set(subfolders)
        subfolders[:] = sorted(sub for sub in subfolders if not sub.startswith(".") and not (maildir and sub == "tmp"))
        for name in sorted(files):
            file = Path(folder) / name
            shown = _shown(file.relative_to(root))
            if name.startswith("."):
                continue
            if file.is_symlink() or not file.is_file():
                report(Problem(location=shown, sentence=f"{shown} was skipped: links and devices are not followed."))
                continue
            yield file, shown


def _unreadable(root: Path, error: OSError) -> Problem:
    where = _shown(Path(error.filename).relative_to(root)) if error.filename else "."
    return Problem(location=where, sentence=f"The folder {where} cannot be read: {_reason(error)}")


def _shown(file: Path) -> str:
    """A name that any terminal takes: bytes that are no UTF-8, and marks that cannot be seen, are escaped."""
    name = file.as_posix().encode("utf-8", "backslashreplace").decode("utf-8")
    return UNPRINTABLE.sub(lambda mark: f"\\u{ord(mark[0]):04x}", name)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _format_of(file: Path) -> Format | None:
    name = file.name.lower().removesuffix(".gz")
    for suffix, form in _BY_SUFFIX.items():
        if name.endswith(suffix):
            return form
    if file.parent.name in ("cur", "new") and (file.parent.parent / "cur").is_dir():
        return "eml"
    if "." in name.strip("."):
        return None
    with _open(file) as stream:
        return "mbox" if stream.read(5) == b"From " else None


def _open(file: Path) -> io.BufferedReader:
    if file.suffix.lower() == ".gz":
        return io.BufferedReader(cast("io.RawIOBase", gzip.open(file)))
    return file.open("rb")


def _estimate(file: Path) -> int:
    form = _format_of(file)
    if form is None:
        return 0
    if form in ("eml", "text"):
        return 1
    with _open(file) as stream:
        sample = stream.read(_SAMPLE)
    found = (
        sample.count(b"\nFrom ") + 1
        if form == "mbox"
        else sample.count(b"\n") - (form == "csv") + (sample[-1:] != b"\n")
    )
    size = file.stat().st_size
    return found if len(sample) < _SAMPLE else round(found * max(1.0, size / len(sample)))
