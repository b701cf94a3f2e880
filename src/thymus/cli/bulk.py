"""The command ``ingest``: files of messages into the memory, with progress and an account at the end."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from thymus.cli.frame import INTERRUPTED, PROBLEMS, Session, complain, examples, is_file, session
from thymus.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from thymus.guard import MemoryGuard
    from thymus.ingest import Reading, Tally
    from thymus.readers import Format


class Form(StrEnum):
    """What ``--format`` may say: the formats of ``thymus.readers``."""

    EML = "eml"
    MBOX = "mbox"
    TEXT = "text"
    CSV = "csv"
    JSONL = "jsonl"


LINE_EVERY: Final = 5.0
"""Seconds between lines of progress where there is no terminal to draw a bar on."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "thymus ingest ~/mail/inbox.mbox --dry-run",
            "thymus ingest ~/Maildir notes/ chats.jsonl",
            "thymus ingest inbox.mbox --authserv-id mx.me.example",
            "thymus ingest sms.csv --text-column body --sender-column from",
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
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Learn into a copy that is thrown away.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Read again what an earlier run has read.")] = False,
) -> None:
    """Learn from files of mail and messages.

    They stream by, however many; after an interruption the same command goes on where it was. Headers only say who a
    sender claims to be: nothing counts as verified but what your own mail server proved (--authserv-id). What is known
    already changes nothing.
    """
    from thymus.ingest import Reading, Tally

    chosen = session(ctx)
    ids, hosts = _names(authserv_id, "--authserv-id"), _names(received_by, "--received-by")
    sealers = _names(arc_sealer, "--arc-sealer")
    if not ids and (hosts or sealers or under_received):
        raise InputError(
            "--received-by, --under-received and --arc-sealer say more of a mail server: name it with --authserv-id"
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
    interrupted = False
    with _opened(chosen, dry_run=dry_run) as (guard, memory):
        try:
            _run(guard, memory, paths, reading, tally, restart=restart)
        except KeyboardInterrupt:
            interrupted = True
        _report(chosen, guard, tally, dry_run=dry_run)
    if interrupted:
        complain("interrupted: what is counted above is kept; the same command goes on from there")
        raise typer.Exit(INTERRUPTED)
    if not tally.read and not tally.skipped:
        raise typer.Exit(PROBLEMS)


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
def _opened(chosen: Session, *, dry_run: bool) -> Iterator[tuple[MemoryGuard, Path | None]]:
    """The guard, and the file that bookmarks go beside (none for a dry run, or where the memory is no file)."""
    settings = chosen.settings()
    path = Path(settings.db) if is_file(settings.db) else None
    if not dry_run:
        with chosen.guard(writes=True) as guard:
            yield guard, path
        return
    with tempfile.TemporaryDirectory(prefix="thymus-dry-run-") as folder:
        trial = Path(folder) / (path.name if path else "memory.db")
        if path and path.exists():
            _copy(path, trial)
        with Session(
            db=str(trial), gate=chosen.gate, llm=chosen.llm, user=chosen.user, json=chosen.json, debug=chosen.debug
        ).guard(writes=True) as guard:
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
    guard: MemoryGuard, memory: Path | None, paths: list[Path], reading: Reading, tally: Tally, *, restart: bool
) -> None:
    from thymus.ingest import Bookmarks, ingest

    state = memory.with_name(f"{memory.name}.ingest.json") if memory else None
    if restart and state:
        state.unlink(missing_ok=True)
    with _progress(tally, paths, reading) as on_step:
        ingest(guard, paths, reading, tally=tally, bookmarks=Bookmarks(state, memory), on_step=on_step)


@contextlib.contextmanager
def _progress(tally: Tally, paths: list[Path], reading: Reading) -> Iterator[Callable[[], None]]:
    """A bar on stderr at a terminal, else a line now and then."""
    if not sys.stderr.isatty():
        yield _lines(tally)
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
        TextColumn("{task.fields[rate]:,.0f}/s"),
        TimeRemainingColumn(),
        console=screen.open_screen(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=total, rate=0.0)

        def step() -> None:
            done = tally.read + tally.skipped
            bar.update(task, completed=done, total=None if total is None else max(total, done), rate=tally.rate)

        yield step


def _lines(tally: Tally) -> Callable[[], None]:
    last = time.monotonic()

    def step() -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_EVERY:
            last = time.monotonic()
            print(f"{tally.read:,} messages, {tally.rate:,.0f}/s", file=sys.stderr, flush=True)

    return step


def _report(chosen: Session, guard: MemoryGuard, tally: Tally, *, dry_run: bool) -> None:
    from thymus.cli import screen

    if chosen.json:
        screen.write_json(tally.to_dict() | {"dry_run": dry_run})
        return
    out = screen.open_screen()
    _show_counts(out, tally)
    _show_problems(out, tally)
    _show_doubts(out, tally)
    if tally.newest_held:
        from thymus.cli.decisions import show_held

        out.print()
        out.print(f"The newest {len(tally.newest_held)} of {_held(tally):,} that were held back:")
        for memory in reversed(tally.newest_held):
            show_held(out, guard, guard.get(memory.id))
    out.print()
    if dry_run:
        out.print("A dry run: nothing was kept. Without --dry-run it is learned.")
    elif tally.newest_held:
        out.print("Decide on them one by one: `thymus inbox -i`. Who said how much: `thymus sources`.")
    else:
        out.print('Ask it something: `thymus recall "…"`. Who said how much: `thymus sources`.')


def _held(tally: Tally) -> int:
    from thymus.records import Outcome

    return tally.claims[Outcome.CONTESTED] + tally.claims[Outcome.QUARANTINED]


def _show_counts(out: Console, tally: Tally) -> None:
    from rich.text import Text

    from thymus.cli import screen
    from thymus.records import Outcome

    rows = screen.table("", "", "")
    rows.columns[0].justify = "right"
    for count, what, note in (
        (tally.read, Text("messages read", "bold"), f"in {tally.seconds:.1f} s, {tally.rate:,.0f} a second"),
        (tally.skipped, Text("done before"), "by an earlier run; --restart reads them again"),
        (tally.with_claims, Text("with claims"), ""),
        (tally.unstated, Text("dropped"), "they state nothing that could be remembered"),
        (tally.duplicates, Text("duplicates"), "known already: nothing changed"),
        (tally.proved, Text("verified"), "your mail server proved who sent them"),
        (tally.claims.total(), Text("claims", "bold"), ""),
        (tally.claims[Outcome.ADMITTED], screen.word("admitted"), "the model may see them, labelled with their source"),
        (tally.claims[Outcome.REPLACED], screen.word("replaced"), f"{tally.superseded:,} older memories"),
        (tally.claims[Outcome.CONTESTED], screen.word("contested"), "kept from the model until you decide"),
        (tally.claims[Outcome.QUARANTINED], screen.word("quarantined"), "kept from the model until you decide"),
        (tally.claims[Outcome.REJECTED], screen.word("rejected"), "by rule: outside content that speaks for you"),
        (tally.problems, Text("problems", "red" if tally.problems else ""), "" if not tally.problems else "see below"),
    ):
        if count or what.plain in ("messages read", "claims", "problems"):
            rows.add_row(f"{count:,}", what, note)
    out.print(rows)


def _show_doubts(out: Console, tally: Tally) -> None:
    """What may not be as it was meant: messages without a date, and a mail server that nothing was heard of."""
    from rich.text import Text

    doubts = []
    if tally.undated:
        many = "messages" if tally.undated > 1 else "message"
        had = "were" if tally.undated > 1 else "was"
        doubts.append(f"{tally.undated:,} {many} without a readable date {had} given the time of this run.")
    if tally.mails and not tally.reported:
        doubts.append(
            "No mail carries results of the server that --authserv-id names, so none counts as verified: the name is "
            "the first word after Authentication-Results: in a mail that you received."
        )
    elif tally.mails and not tally.proved:
        doubts.append(
            "There are results in the name of your mail server, but they verify no sender: `thymus explain ID` says "
            "why of each memory."
        )
    for doubt in doubts:
        out.print()
        out.print(Text(doubt, "yellow"))


def _show_problems(out: Console, tally: Tally) -> None:
    from thymus.cli import screen

    if not tally.problems:
        return
    out.print()
    out.print(f"The first {len(tally.first_problems)} of {tally.problems:,} problems:")
    for problem in tally.first_problems:
        out.print(screen.indent(screen.own(f"{problem.location}: {problem.sentence}")))
