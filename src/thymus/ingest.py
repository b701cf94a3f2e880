"""Files of messages into a memory: streamed, counted, and resumed where an earlier run stopped.

Only counters are kept of what went by, so memory use does not grow with the input. Reading a message twice is harmless
(G13); the bookmarks only spare the time. A bookmark moves when the guard has acknowledged a message, never before.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from thymus.core.beliefs import HELD_BACK
from thymus.errors import IngestError, InputError, SourceError
from thymus.readers import Message as Found
from thymus.readers import Problem, read_messages
from thymus.records import Outcome, Written

if TYPE_CHECKING:
    from thymus.core.disclose import Memory
    from thymus.guard import MemoryGuard
    from thymus.intake import Message
    from thymus.readers import Format

MOST_PROBLEMS: Final = 10
"""Problems that are kept with place and reason; the rest are counted."""
MOST_HELD: Final = 5
"""Newest held-back claims, one a message, that are kept to be shown."""
_SAVE_EVERY: Final = 1.0

_LOOKED_AT: Final = 4_000
_NO_TEXT: Final = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ufffd]")
_FEW: Final = 8
_UNREADABLE: Final = 0.05
"""Share of control and replacement characters above which a text is none: bytes that are none have an eighth, whichever
single-byte encoding they are read in; a text in a wrong encoding has a few."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """What an ingestion has done so far.

    :param read: messages that the guard has acknowledged.
    :param skipped: messages that an earlier run had done.
    :param unstated: messages that state nothing which could be remembered.
    :param duplicates: messages that changed nothing, because they were known.
    :param claims: new claims by outcome.
    :param superseded: older memories that were replaced.
    :param undated: messages without a readable date, which count as said at the time of this run.
    :param mails: mails that were looked at for results of the user's own mail servers, where those were named.
    :param reported: those of them in which there are such results, wherever they stand.
    :param proved: those whose sender they prove.
    :param fell_back: messages for which something bundled stood in for the language model, in part or whole;
        ``first_fallback`` what did for the first of them, and why.
    :param stopped: why nothing more was read though there was more; empty where all was read.
    """

    read: int = 0
    skipped: int = 0
    unstated: int = 0
    duplicates: int = 0
    superseded: int = 0
    undated: int = 0
    mails: int = 0
    reported: int = 0
    proved: int = 0
    fell_back: int = 0
    first_fallback: str = ""
    stopped: str = ""
    claims: Counter[Outcome] = field(default_factory=Counter)
    problems: int = 0
    first_problems: list[Problem] = field(default_factory=list)
    newest_held: deque[Memory] = field(default_factory=lambda: deque(maxlen=MOST_HELD))
    begun: float = field(default_factory=time.monotonic)

    def add(self, written: Written) -> None:
        """Count what became of one message."""
        self.read += 1
        if written.fallbacks:
            self.fell_back += 1
            self.first_fallback = self.first_fallback or written.fallbacks[0]
        if not written.memories:
            self.unstated += 1
            return
        fresh = [
            (memory, o) for memory, o in zip(written.memories, written.outcomes, strict=True) if o is not Outcome.KNOWN
        ]
        self.duplicates += not fresh
        self.claims.update(outcome for _, outcome in fresh)
        self.superseded += len(written.replaced)
        self.newest_held.extend([memory for memory, _ in fresh if memory.status in HELD_BACK][:1])

    def trace(self, found: Found) -> None:
        """Count what is known of where one message came from, and when."""
        self.undated += found.observed_at is None
        self.mails += found.reported is not None
        self.reported += found.reported is True
        self.proved += found.proved is not None and found.proved.authenticated

    def note(self, problem: Problem) -> None:
        """Count a problem, and keep it if it is among the first."""
        self.problems += 1
        if len(self.first_problems) < MOST_PROBLEMS:
            self.first_problems.append(problem)

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.begun

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.read / self.seconds if self.read else 0.0

    @property
    def with_claims(self) -> int:
        """Messages that stated something new."""
        return self.read - self.unstated - self.duplicates

    def to_dict(self) -> dict[str, Any]:
        """The tally in JSON's types."""
        return {
            "messages": self.read,
            "with_claims": self.with_claims,
            "without_claims": self.unstated,
            "duplicates": self.duplicates,
            "done_before": self.skipped,
            "claims": {outcome.value: self.claims[outcome] for outcome in Outcome if outcome is not Outcome.KNOWN},
            "superseded": self.superseded,
            "undated": self.undated,
            "mails_checked": self.mails,
            "mails_with_results": self.reported,
            "mails_proved": self.proved,
            "fell_back": self.fell_back,
            "first_fallback": self.first_fallback,
            "stopped": self.stopped,
            "problems": self.problems,
            "first_problems": [{"location": p.location, "reason": p.sentence} for p in self.first_problems],
            "newest_held_back": [memory.to_dict() for memory in reversed(self.newest_held)],
            "seconds": round(self.seconds, 3),
            "messages_per_second": round(self.rate, 1),
        }


class Bookmarks:
    """How far each input was read, in a small JSON file beside the memory.

    A bookmark holds for an input of the same size and time only, and for the same memory file: a memory that was
    deleted and begun anew has read nothing.

    :param path: the state file; ``None`` keeps nothing.
    :param memory: the memory's own file, which must exist by the time of ``save``.
    """

    def __init__(self, path: Path | None, memory: Path | None = None) -> None:
        self._path = path
        self._memory = memory
        self._inputs: dict[str, Any] = {}
        self._saved = time.monotonic()
        kept = _read_json(path)
        if kept.get("memory") == _identity(memory) and isinstance(kept.get("inputs"), dict):
            self._inputs = kept["inputs"]

    def place(self, key: str, signature: Mapping[str, int]) -> int:
        """How many messages of this input are done: 0 where it is new or has changed."""
        match self._inputs.get(key):
            case {"signature": kept, "done": int(done)} if kept == signature and done > 0:
                return done
            case _:
                return 0

    def move(self, key: str, signature: Mapping[str, int], done: int) -> None:
        """Messages up to ``done`` are acknowledged; written to disk about once a second."""
        self._inputs[key] = {"signature": dict(signature), "done": done}
        if time.monotonic() - self._saved >= _SAVE_EVERY:
            self.save()

    def save(self) -> None:
        """Replace the state file at once. A disk that is full or closed costs only the time to read again."""
        self._saved = time.monotonic()
        if self._path is None or not self._inputs:
            return
        state = {"about": "How far thymus ingest has read.", "memory": _identity(self._memory), "inputs": self._inputs}
        try:
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(state, file, indent=1)
            Path(name).replace(self._path)
        except OSError:
            return


def _read_json(path: Path | None) -> dict[str, Any]:
    try:
        kept = json.loads(path.read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _identity(memory: Path | None) -> int | None:
    """What tells a file from one that took its name; a JSON snapshot is a new file at every write, so it has none."""
    if memory is None or memory.suffix == ".json":
        return None
    try:
        return memory.stat().st_ino
    except OSError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How inputs are read.

    :param source: the source of every message, over what the files say.
    :param columns: the columns of CSV and JSON Lines, by role (``text``, ``source``, ``date``).
    :param limit: how many messages to read at most, over all inputs.
    :param authserv_ids: what the user's own mail servers call themselves in the results that they add to mail.
    :param received_by, under_received, arc_sealers: see ``thymus.sources.email.read_source``.
    """

    format: Format | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None
    limit: int | None = None
    authserv_ids: tuple[str, ...] = ()
    received_by: tuple[str, ...] = ()
    under_received: bool = False
    arc_sealers: tuple[str, ...] = ()

    @property
    def proving(self) -> tuple[object, ...]:
        """What decides which senders count as proved; nothing where no server was named."""
        named = (self.authserv_ids, self.received_by, self.under_received, self.arc_sealers)
        return named if self.authserv_ids else ()


def ingest(
    guard: MemoryGuard,
    paths: Iterable[Path],
    reading: Reading,
    *,
    tally: Tally,
    bookmarks: Bookmarks,
    on_step: Callable[[], None] = lambda: None,
    at_once: int | None = None,
) -> None:
    """Read files and folders into a guard; ``tally`` is up to date whenever ``on_step`` is called, and at any exit.

    Where the guard's language model has cost what it may, nothing more is read and ``tally.stopped`` says so; what was
    handed over by then is learned all the same.

    :param at_once: about how many messages a language model is asked at the same time; see ``remember_many``.
    :raises StoreError: the memory cannot be written; what ``tally`` counts is kept, and the bookmarks know it.
    """
    for path in paths:
        try:
            _ingest_one(guard, path, reading, tally, bookmarks, on_step, at_once)
        finally:
            bookmarks.save()
        if tally.stopped:
            return


def _ingest_one(
    guard: MemoryGuard,
    path: Path,
    reading: Reading,
    tally: Tally,
    bookmarks: Bookmarks,
    on_step: Callable[[], None],
    at_once: int | None,
) -> None:
    how = [reading.source, reading.format, dict(reading.columns), *reading.proving]
    key = json.dumps([str(path.resolve()), guard.user_id, *how])
    signature = _signature(path)
    done = bookmarks.place(key, signature)
    handed_over: deque[tuple[int, Found]] = deque()  # what the guard has taken and not acknowledged, by position

    def ready() -> Iterator[Message]:
        for position, found in enumerate(_read(path, reading, tally), start=1):
            if position <= done:
                tally.skipped += 1
                continue
            if reading.limit is not None and tally.read + len(handed_over) >= reading.limit:
                return
            tally.stopped = _stopped(guard)
            if tally.stopped:
                return
            message = _message(found, reading, guard, tally)
            if message is not None:
                handed_over.append((position, found))
                yield message

    for written in guard.remember_many(ready(), at_once=at_once):
        position, found = handed_over.popleft()
        tally.add(written)
        tally.trace(found)
        bookmarks.move(key, signature, position)
        on_step()


def _stopped(guard: MemoryGuard) -> str:
    """Why no further message is to be read; empty where it is."""
    if guard.llm is None or not guard.llm.exhausted:
        return ""
    if guard.llm.spent.unpriced:
        return f"nobody publishes what {guard.llm.name} costs, so that no limit can be kept"
    return f"{guard.llm.name} has cost the ${guard.llm.max_usd:,.10g} that it may"


def _read(path: Path, reading: Reading, tally: Tally) -> Iterator[Found]:
    """The messages of an input. Where it cannot be read any further, that is a problem and the end."""
    try:
        yield from read_messages(
            path,
            format=reading.format,
            columns=reading.columns,
            authserv_id=reading.authserv_ids,
            received_by=reading.received_by,
            under_received=reading.under_received,
            arc_sealers=reading.arc_sealers,
            on_problem=tally.note,
        )
    except IngestError as error:
        tally.note(Problem(location=str(path), sentence=str(error)))


def _message(found: Found, reading: Reading, guard: MemoryGuard, tally: Tally) -> Message | None:
    """The message as the guard takes it; ``None`` where it is empty, or no message and noted as a problem."""
    if not found.text.strip():
        tally.read += 1
        tally.unstated += 1
        return None
    problem = _unfit(found, reading)
    if problem:
        tally.note(Problem(location=found.location, sentence=problem))
        return None
    try:
        return guard.message(
            found.text,
            source=reading.source or found.proved or found.source,
            # What a file says about its senders is what they claim, but for what the user's own mail server proved.
            authenticated=None if reading.source or found.proved else False,
            observed_at=found.observed_at,
            message_id=found.message_id,
        )
    except (SourceError, InputError) as error:
        tally.note(Problem(location=found.location, sentence=str(error)))
        return None


def _unfit(found: Found, reading: Reading) -> str:
    """Why this cannot be taken as a message; empty where it can."""
    start = found.text[:_LOOKED_AT]
    if len(_NO_TEXT.findall(start)) > max(_FEW, len(start) * _UNREADABLE):
        return "This is no text (binary, or of an unknown encoding): nothing was learned from it."
    by_mail = found.source.partition(":")[0] == "email"
    if by_mail and reading.source is not None and reading.source.partition(":")[0].strip().lower() == "user":
        return "This is a mail, not the user's own word: leave out --source user, which is for notes of your own."
    return ""


def _signature(path: Path) -> dict[str, int]:
    """What changes when an input changes: number of files, bytes, and the newest time."""
    files = [path] if path.is_file() else (entry for entry in path.rglob("*") if entry.is_file())
    count = size = newest = 0
    for file in files:
        try:
            found = file.stat()
        except OSError:
            continue
        count, size, newest = count + 1, size + found.st_size, max(newest, found.st_mtime_ns)
    return {"files": count, "bytes": size, "newest": newest}
