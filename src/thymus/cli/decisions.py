"""What the user decides: ``inbox``, ``resolve``, ``undo``, ``revoke``, ``forget``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from thymus.cli.frame import at_terminal, examples, moment, session
from thymus.cli.typed import typed
from thymus.cli.waiting import Bar
from thymus.core.beliefs import LIVE, SHOWN
from thymus.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from thymus.cli.frame import Session
    from thymus.core.disclose import Memory
    from thymus.guard import MemoryGuard
    from thymus.records import Event

MOST_RIVALS = 3
MOST_SHOWN = 10
"""Memories listed of each kind before a revocation."""
MOST_NEAR = 3
_NEAR = 75.0
"""Likeness from 0 to 100 (rapidfuzz's WRatio) from which a known name may be the one that was meant."""


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog=examples("thymus inbox", "thymus inbox --interactive", "thymus inbox --json | jq length"))(inbox)
    app.command(
        epilog=examples(
            "thymus resolve m_3f2a9c0d11e4b765 --accept",
            "thymus resolve m_3f2a9c0d11e4b765 --reject",
            "thymus resolve m_3f2a9c0d11e4b765 --accept --over m_90be1c5d2f7a4e36",
        )
    )(resolve)
    app.command(epilog=examples("thymus undo 12"))(undo)
    app.command(
        epilog=examples(
            "thymus revoke email:noreply@calendar.example",
            "thymus revoke email:noreply@calendar.example --dry-run",
            "thymus revoke email:ravi@work.example --since 2026-03-01T14:00",
        )
    )(revoke)
    app.command(epilog=examples("thymus forget m_3f2a9c0d11e4b765", "thymus forget m_3f2a9c0d11e4b765 --yes"))(forget)


def inbox(
    ctx: typer.Context,
    limit: Annotated[
        int | None,
        typer.Option("-n", "--limit", metavar="N", min=1, help="How many, newest first.", show_default="all"),
    ] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Decide on each, one after the other.")
    ] = False,
) -> None:
    """Show what was held back, and against what.

    The model sees none of it until you decide.
    """
    from thymus.cli import screen

    chosen = session(ctx)
    if interactive and (chosen.json or not at_terminal()):
        raise InputError(
            "--interactive asks questions: use it at a terminal and without --json, or `thymus resolve ID`"
        )
    with chosen.guard() as guard:
        held = guard.inbox(limit=limit)
        if chosen.json:
            screen.write_json([memory.to_dict() for memory in held])
            return
        out = screen.open_screen()
        if not held:
            out.print("The inbox is empty: nothing is held back.")
            return
        for memory in held:
            if interactive and guard.get(memory.id).status is not memory.status:
                continue  # settled meanwhile, by a decision on another
            show_held(out, guard, memory)
            if interactive and not _decide(chosen, out, guard, memory):
                return
        if not interactive:
            out.print()
            accept, one_by_one = typed(chosen, "resolve ID --accept"), typed(chosen, "inbox -i")
            out.print(f"Decide: `{accept}` or `--reject`, or one by one: `{one_by_one}`.", soft_wrap=True)


def show_held(out: Console, guard: MemoryGuard, memory: Memory) -> None:
    """A held-back claim, and what it was held back against."""
    from rich.text import Text

    from thymus.cli import screen

    out.print(screen.word(memory.status.value).append(f"  {memory.id}", "dim"))
    out.print(screen.indent(screen.said(memory)))
    for rival in [guard.get(id_) for id_ in memory.contradicts[:MOST_RIVALS]]:
        line = Text("against: ", "dim").append_text(
            screen.said(rival).append(f" ({rival.id}, {rival.status.value})", "dim")
        )
        out.print(screen.indent(line, 4))
    if len(memory.contradicts) > MOST_RIVALS:
        out.print(screen.indent(f"and {len(memory.contradicts) - MOST_RIVALS} more", 4))
    for remark in _mistakable(guard, memory):
        out.print(screen.indent(Text(remark, "yellow"), 4))


def _mistakable(guard: MemoryGuard, memory: Memory) -> list[str]:
    """Whom its senders could be taken for, as things stand now: that alone may be why it is held back."""
    from thymus.circumstances import circumstances
    from thymus.cli import screen
    from thymus.core.quoting import name

    # A notice says this of what a question brings up; the guard has no public word for it outside of one.
    parts, scope = guard._parts, guard._scope  # noqa: SLF001
    registry = parts.registries.of(parts.store, scope)
    found = circumstances(guard._belief(memory.id).claim, registry).resembles  # noqa: SLF001
    own = {source.key for source in (memory.source, *memory.lineage)}
    others = [screen.own(name(source)) for source in found if source.key not in own]
    told = [f"resembles {', '.join(others[:MOST_RIVALS])}, known to you: it may only pose as that"] if others else []
    unproved = [screen.own(name(source)) for source in found if source.key in own]
    return told + [f"earlier messages of {one} were verified, and this one is not" for one in unproved]


def _decide(chosen: Session, out: Console, guard: MemoryGuard, memory: Memory) -> bool:
    """Ask about one claim; ``False`` to stop."""
    answer = _ask("  Is it right? [y]es, [n]o, [s]kip, [q]uit", "ynsq")
    if answer in "yn":
        show_event(chosen, out, guard.resolve(memory.id, accept=answer == "y"))
    out.print()
    return answer != "q"


def _ask(question: str, letters: str) -> str:
    while True:
        answer = str(typer.prompt(question, prompt_suffix=" ", err=True)).strip().lower()[:1]
        if answer and answer in letters:
            return answer


def resolve(
    ctx: typer.Context,
    memory_id: Annotated[
        str, typer.Argument(metavar="ID", help="Of a claim in the inbox or in a recall.", show_default=False)
    ],
    accept: Annotated[
        bool | None, typer.Option("--accept/--reject", help="It is right, or it is not. Asked for at a terminal.")
    ] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="A memory that it takes the place of, for one that was set aside in a recall; may be given again.",
        ),
    ] = None,
) -> None:
    """Settle a claim that was held back, or set aside in a recall.

    Accepting makes it active and supersedes the memories that it contradicts; rejecting puts it away.
    """
    from thymus.cli import screen

    chosen = session(ctx)
    with chosen.guard() as guard:
        if accept is None:
            if chosen.json or not at_terminal():
                raise InputError("say --accept or --reject")
            show_held(screen.open_screen(), guard, guard.get(memory_id))
            accept = _ask("  Is it right? [y]es, [n]o", "yn") == "y"
        _report(chosen, guard.resolve(memory_id, accept=accept, over=over or ()))


def undo(
    ctx: typer.Context,
    act: Annotated[
        int, typer.Argument(metavar="ACT", help="Its number, as `thymus history` shows it.", show_default=False)
    ],
) -> None:
    """Make it as if an act had not been done.

    An act is a remember, resolve, revoke or undo; forgetting cannot be undone, because the text is gone.
    """
    chosen = session(ctx)
    with chosen.guard() as guard, Bar("acts told again") as bar:
        event = guard.undo(act, on_step=bar)
        bar.clear()
        _report(chosen, event)


def revoke(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="As `thymus sources` shows it.", show_default=False)],
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Only what arrived from then on, or says that it is of then or later; files arrived when they were "
            "ingested. For a mailbox that was taken over for an hour.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Make it as if a source had never spoken.

    What it said, or had a part in, is retracted; what it had held back or replaced stands again. This is shown first,
    and asked about.
    """
    from thymus.cli import screen

    chosen = session(ctx)
    asks = not (dry_run or yes)
    if asks and not at_terminal():
        raise InputError("revoking can change a great deal: look at --dry-run, and add --yes where nobody can be asked")
    with chosen.guard() as guard, Bar("acts told again") as bar:

        def confirm(event: Event) -> bool:
            bar.clear()
            show_cost(screen.open_screen(stderr=True), guard, event)
            return bool(typer.confirm("Go on?", err=True))

        event = guard.revoke(
            source,
            since=moment(since, "--since"),
            dry_run=dry_run,
            confirm=confirm if asks else None,
            on_step=bar,
        )
        bar.clear()
        if not event.seq and not event.changes and (unknown := _unheard(guard, source)):
            screen.open_screen(stderr=chosen.json).print(unknown)
            if chosen.json:
                _report(chosen, event)
        elif dry_run and not chosen.json:
            show_cost(screen.open_screen(), guard, event)
        elif event.changes and not event.seq and not dry_run:
            screen.open_screen(stderr=True).print("Nothing was changed.")
        else:
            _report(chosen, event)


def _unheard(guard: MemoryGuard, source: str) -> str:
    """That nobody of this name has said anything, with the names most like it; "" where somebody has."""
    from rapidfuzz.process import extract

    from thymus.cli import screen
    from thymus.core.provenance import Source

    key = Source.parse(source, user_id=guard.user_id).key
    known = [record.source for record in guard.sources()]
    if key in known:
        return ""
    near = [screen.own(name) for name, *_ in extract(key, known, limit=MOST_NEAR, score_cutoff=_NEAR)]
    hint = f"the names most like it are {', '.join(near)}" if near else "`thymus sources` lists who has"
    return f"{screen.own(key)} has said nothing here: {hint}."


def show_cost(out: Console, guard: MemoryGuard, event: Event) -> None:
    """What a revocation would change: how much is retracted, and what of others stands differently."""
    from rich.text import Text

    from thymus.cli import screen
    from thymus.core.beliefs import Cause

    retracted = [change for change in event.changes if change.cause is Cause.RETRACT and change.before in SHOWN]
    others = [change for change in event.changes if change.cause is Cause.REPLAY]
    out.print(f"Memories that it retracts: {len(retracted):,}; others that stand differently then: {len(others):,}.")
    for change in [*retracted[:MOST_SHOWN], *others[:MOST_SHOWN]]:
        before = change.before.value if change.before else "new"
        line = screen.word(change.after).append(f" (was {before})  ", "dim")
        out.print(screen.indent(line.append_text(screen.said(guard.get(change.belief)))))
    left_out = max(0, len(retracted) - MOST_SHOWN) + max(0, len(others) - MOST_SHOWN)
    if left_out:
        out.print(screen.indent(Text(f"and {left_out:,} more", "dim")))


def forget(
    ctx: typer.Context,
    memory_id: Annotated[str, typer.Argument(metavar="ID", help="Of any memory.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Erase a memory for good.

    Its text is gone from everything that is kept, and an empty entry stays in the ledger. This cannot be undone.
    """
    from thymus.cli import screen

    chosen = session(ctx)
    with chosen.guard() as guard:
        memory = guard.get(memory_id)
        if not yes:
            if not at_terminal():
                raise InputError("forgetting cannot be undone: add --yes where nobody can be asked")
            screen.open_screen(stderr=True).print(screen.said(memory))
            if not typer.confirm("Erase it for good?", err=True):
                screen.open_screen(stderr=True).print("Nothing was erased.")
                raise typer.Exit
        _report(chosen, guard.forget(memory_id))


def _report(chosen: Session, event: Event) -> None:
    from thymus.cli import screen

    if chosen.json:
        screen.write_json(event.to_dict())
    else:
        show_event(chosen, screen.open_screen(), event)


def show_event(chosen: Session, out: Console, event: Event) -> None:
    """What an act changed, and how to take it back."""
    from rich.text import Text

    from thymus.cli import screen

    for change in event.changes:
        if change.before not in SHOWN and change.after not in LIVE:
            continue  # it only repeated something, and never showed
        out.print(
            Text(f"{change.belief}  {change.before.value if change.before else 'new'} → ") + screen.word(change.after)
        )
    if not event.changes and not event.seq:
        out.print("Nothing stands differently, so nothing was written.")
    elif event.act.value != "forget":
        undo_it = typed(chosen, f"undo {event.seq}")
        out.print(Text(f"Act {event.seq}; `{undo_it}` takes it back.", "dim"), soft_wrap=True)
