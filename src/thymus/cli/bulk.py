"""The command ``ingest``: files of messages into the memory, with progress and an account at the end."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from thymus.cli import costs
from thymus.cli.frame import INTERRUPTED, PROBLEMS, Session, complain, examples, is_file, session
from thymus.cli.waiting import now_and_then
from thymus.errors import InputError

if TYPE_CHECKING:
    from thymus.guard import MemoryGuard
    from thymus.ingest import Bookmarks, Reading, Tally
    from thymus.readers import Format

GRACE_S: Final = 1.0
"""Seconds in which questions that are under way may still be answered after an interrupt."""
_LOOK_S: Final = 0.2
"""Seconds between looks whether an interrupt has come: to wait for ever would not let it in everywhere."""


class Form(StrEnum):
    """What ``--format`` may say: the formats of ``thymus.readers``."""

    EML = "eml"
    MBOX = "mbox"
    TEXT = "text"
    CSV = "csv"
    JSONL = "jsonl"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "thymus ingest ~/mail/inbox.mbox --dry-run",
            "thymus ingest ~/Maildir notes/ chats.jsonl",
            "thymus ingest inbox.mbox --authserv-id mx.me.example",
            "thymus ingest sms.csv --text-column body --sender-column from",
            "thymus ingest inbox.mbox --llm anthropic:MODEL --max-cost 2",
        )
    )(ingest)


def ingest(
    ctx: typer.Context,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH", help="Files (.eml, mbox, .txt, CSV, JSONL), Maildirs, folders.", show_default=False
        ),
    ],
    source: Annotated[
        str | None, typer.Option(metavar="SOURCE", help="Who sent all of it, over what the files say.")
    ] = None,
    format: Annotated[  # noqa: A002  (the option's name)
        Form | None,
        typer.Option(help="What the files are, where their names do not tell."),
    ] = None,
    authserv_id: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Your own mail server, as its Authentication-Results name it: what it proved counts. May be given "
            "again; *.mail.example for all hosts under it; @none for one that writes no name (Microsoft 365).",
        ),
    ] = None,
    received_by: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="What it calls itself in Received lines, where that is another name."),
    ] = None,
    under_received: Annotated[
        bool,
        typer.Option(
            "--under-received",
            help="Count its results also directly below its Received line, where filters such as OpenDKIM put them; "
            "only where it deletes forged ones.",
        ),
    ] = False,
    arc_sealer: Annotated[
        list[str] | None,
        typer.Option(metavar="DOMAIN", help="A forwarder or list whose ARC seal you believe."),
    ] = None,
    text_column: Annotated[str | None, typer.Option(metavar="NAME", help="Where CSV or JSONL has the message.")] = None,
    sender_column: Annotated[str | None, typer.Option(metavar="NAME", help="Where it has the sender.")] = None,
    date_column: Annotated[str | None, typer.Option(metavar="NAME", help="Where it has the date.")] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Stop after so many messages.")] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="About how many messages a language model is asked at the same time; 8 by default.",
            show_default=False,
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(metavar="USD", help="Stop once the language model has cost this, at list price."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Learn into a copy that is thrown away.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Read again what an earlier run has read.")] = False,
) -> None:
    """Learn from files of mail and messages.

    They stream by, however many; after an interruption the same command goes on where it was. Headers only say who a
    sender claims to be: nothing counts as verified but what your own mail server proved (--authserv-id). What is known
    already changes nothing. A language model (--llm) is paid for what it reads, in a dry run as well.
    """
    from thymus.cli import tallies
    from thymus.ingest import Reading, Tally
    from thymus.llm import names_model

    chosen = session(ctx)
    ids, hosts = _names(authserv_id, "--authserv-id"), _names(received_by, "--received-by")
    sealers = _names(arc_sealer, "--arc-sealer")
    if not ids and (hosts or sealers or under_received):
        raise InputError(
            "--received-by, --under-received and --arc-sealer say more of a mail server: name it with --authserv-id"
        )
    if concurrency is not None and not names_model(chosen.settings().llm or ""):
        raise InputError(
            "--concurrency is about how many messages a language model is asked at the same time: name one with --llm, "
            "or leave it out"
        )
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise InputError(f"there is no {missing[0]}: name a file or folder that exists")
    columns = {"text": text_column, "source": sender_column, "date": date_column}
    reading = Reading(
        format=cast("Format | None", format and format.value),
        columns={role: name for role, name in columns.items() if name},
        source=source,
        limit=limit,
        authserv_ids=ids,
        received_by=hosts,
        under_received=under_received,
        arc_sealers=sealers,
    )
    tally = Tally()
    interrupted: KeyboardInterrupt | None = None
    with _opened(chosen, dry_run=dry_run, max_cost=max_cost) as (guard, memory):
        try:
            _run(guard, memory, paths, reading, tally, restart=restart, at_once=concurrency)
        except KeyboardInterrupt as stop:
            interrupted = stop
        tallies.report(chosen, guard, tally, dry_run=dry_run)
    if interrupted is not None:
        _end(left=isinstance(interrupted, _LeftError), dry_run=dry_run)
    if tally.stopped:
        complain(_stopped(tally, dry_run=dry_run))
        raise typer.Exit(PROBLEMS)
    if not tally.read and not tally.skipped:
        raise typer.Exit(PROBLEMS)


def _end(*, left: bool, dry_run: bool) -> None:
    """Say what came of what was interrupted and how to go on, and end.

    :param left: whether threads still wait for a model: a normal end would wait for them.
    """
    kept = "what is counted above is kept; the same command goes on from there"
    lost = "; answers that were still to come are not used, and may have to be paid" if left else ""
    complain(f"interrupted: {'it was a dry run, so nothing is kept' if dry_run else kept}{lost}")
    if not left:
        raise typer.Exit(INTERRUPTED)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(INTERRUPTED)


def _stopped(tally: Tally, *, dry_run: bool) -> str:
    """That it ended before the end, and how to go on."""
    if dry_run:
        return f"stopped: {tally.stopped}; a higher --max-cost reads more"
    return (
        f"stopped: {tally.stopped}. What is counted above is kept; the same command goes on from there and may cost as "
        "much again. A higher --max-cost goes further; without --llm the bundled judge goes on at no cost"
    )


def _names(given: list[str] | None, option: str) -> tuple[str, ...]:
    """Names of servers, as headers bear them.

    :raises InputError: for what can be no such name, and for a pattern that everybody's fits.
    """
    for name in given or ():
        if not name.strip("*. ") or len(name.split()) != 1 or "*" in name.removeprefix("*."):
            raise InputError(
                f"{option} is one name, such as mx.me.example, or *.mail.example for all hosts under it, not "
                f"{name[:60]!r}: give the option again for another"
            )
    return tuple(given or ())


@contextlib.contextmanager
def _opened(chosen: Session, *, dry_run: bool, max_cost: float | None) -> Iterator[tuple[MemoryGuard, Path | None]]:
    """The guard, and the file that bookmarks go beside (none for a dry run, or where the memory is no file)."""
    settings = chosen.settings()
    path = Path(settings.db) if is_file(settings.db) else None
    if not dry_run:
        with chosen.guard(writes=True, max_cost=max_cost) as guard:
            yield guard, path
        return
    with tempfile.TemporaryDirectory(prefix="thymus-dry-run-") as folder:
        trial = Path(folder) / (path.name if path else "memory.db")
        if path and path.exists():
            _copy(path, trial)
        with replace(chosen, db=str(trial)).guard(writes=True, max_cost=max_cost) as guard:
            yield guard, None


def _copy(path: Path, to: Path) -> None:
    if path.suffix == ".json":
        shutil.copy(path, to)
        return
    import sqlite3

    with (
        contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as stored,
        contextlib.closing(sqlite3.connect(to)) as copy,
    ):
        stored.backup(copy)


def _run(
    guard: MemoryGuard,
    memory: Path | None,
    paths: list[Path],
    reading: Reading,
    tally: Tally,
    *,
    restart: bool,
    at_once: int | None,
) -> None:
    from thymus.ingest import Bookmarks, ingest

    state = memory.with_name(f"{memory.name}.ingest.json") if memory else None
    if restart and state:
        state.unlink(missing_ok=True)
    bookmarks = Bookmarks(state, memory)
    with _progress(guard, tally, paths, reading) as on_step:
        known: dict[str, Any] = {"tally": tally, "bookmarks": bookmarks, "at_once": at_once}
        if guard.llm is None:
            ingest(guard, paths, reading, on_step=on_step, **known)
        else:
            _in_reach(lambda step: ingest(guard, paths, reading, on_step=step, **known), on_step, bookmarks)


class _LeftError(KeyboardInterrupt):
    """Interrupted while a model was working on questions, whose answers nobody waits for any more."""


def _in_reach(work: Callable[[Callable[[], None]], None], on_step: Callable[[], None], bookmarks: Bookmarks) -> None:
    """Work in another thread, so that an interrupt need not wait for the questions that a model is working on.

    :raises KeyboardInterrupt: it was interrupted, and is at rest.
    :raises _LeftError: it was interrupted, and the thread still waits for the model.
    """
    over, done = threading.Event(), threading.Event()  # a thread that is joined and interrupted may seem to have ended
    failed: list[Exception] = []

    def step() -> None:
        if over.is_set():
            raise KeyboardInterrupt  # what was acknowledged before is counted, and nothing more is begun
        on_step()

    def run() -> None:
        with contextlib.suppress(KeyboardInterrupt):  # let go of here, so that this thread waits for what is under way
            try:
                work(step)
            except Exception as error:  # noqa: BLE001  (it is raised where somebody waits for it)
                failed.append(error)
        done.set()

    threading.Thread(target=run, name="thymus ingest", daemon=True).start()
    try:
        while not done.wait(_LOOK_S):
            pass
    except KeyboardInterrupt:
        over.set()
        if done.wait(GRACE_S):
            raise
        with contextlib.suppress(RuntimeError):  # it moved one in this moment: that message is read once more
            bookmarks.save()
        raise _LeftError from None
    if failed:
        raise failed[0]


@contextlib.contextmanager
def _progress(guard: MemoryGuard, tally: Tally, paths: list[Path], reading: Reading) -> Iterator[Callable[[], None]]:
    """A bar on stderr at a terminal, else a line now and then; with what a language model has cost so far."""
    if not sys.stderr.isatty():
        yield now_and_then(partial(_line, guard, tally))
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from thymus.cli import screen
    from thymus.readers import count_messages

    counts = [count_messages(path) for path in paths]
    total = None if None in counts else sum(count or 0 for count in counts)
    if reading.limit and total is not None:
        total = min(total, reading.limit)
    with Progress(
        TextColumn("{task.completed:,.0f} messages"),
        BarColumn(),
        TextColumn("{task.fields[rate]}/s"),
        *([TextColumn("{task.fields[cost]}")] if guard.llm else []),
        TimeRemainingColumn(),
        console=screen.open_screen(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=total, rate="0", cost="")

        def step() -> None:
            done = tally.read + tally.skipped
            end = None if total is None else max(total, done)
            cost = costs.so_far(guard.llm) if guard.llm else ""
            bar.update(task, completed=done, total=end, rate=costs.pace(tally.rate), cost=cost)

        yield step


def _line(guard: MemoryGuard, tally: Tally) -> str:
    cost = f", {costs.so_far(guard.llm)}" if guard.llm else ""
    return f"{tally.read:,} messages, {costs.pace(tally.rate)}/s{cost}"
