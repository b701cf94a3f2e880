"""Accounts of what happened: ``history``, ``explain``, ``sources``, ``gates``, ``verify``, ``export``."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thymus.cli.frame import PROBLEMS, examples, session
from thymus.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from thymus.core.policy import Policy
    from thymus.records import SourceRecord


MOST_AGAINST = 3
_LEAD = 6
"""Columns that an indented name of a list leaves, with the comma behind it."""


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog=examples("thymus history m_3f2a9c0d11e4b765"))(history)
    app.command(epilog=examples("thymus explain m_3f2a9c0d11e4b765"))(explain)
    app.command(epilog=examples("thymus sources", "thymus sources --json | jq '.[].source'"))(sources)
    app.command(epilog=examples("thymus gates", 'thymus --gate user-only recall "When is my standup?"'))(gates)
    app.command(epilog=examples("thymus verify", "thymus verify || echo 'look at the backup'"))(verify)
    app.command(epilog=examples("thymus export --output memory-backup.json", "thymus export | jq '.memories[].text'"))(
        export
    )


def history(
    ctx: typer.Context,
    memory_id: Annotated[str, typer.Argument(metavar="ID", help="Of any memory.", show_default=False)],
) -> None:
    """Tell every act that changed a memory, with its number.

    `thymus undo` takes these numbers.
    """
    chosen = session(ctx)
    with chosen.guard() as guard:
        events = guard.history(memory_id)
        policy = guard.policy
    from thymus.cli import screen
    from thymus.explain import because

    if chosen.json:
        screen.write_json([event.to_dict() for event in events])
        return
    listed = screen.table("act", "when", "what", "became", "because", numbers=("act",))
    for event in events:
        for change in event.changes:
            why = because(change.rules, policy)
            listed.add_row(
                str(event.seq), f"{event.at:%Y-%m-%d %H:%M}", event.act.value, screen.word(change.after), why
            )
    screen.open_screen().print(listed)


def explain(
    ctx: typer.Context,
    memory_id: Annotated[str, typer.Argument(metavar="ID", help="Of any memory.", show_default=False)],
) -> None:
    """Tell why a memory stands as it does.

    Who said it, which rules decided, what the judge saw, and what happened since.
    """
    chosen = session(ctx)
    with chosen.guard() as guard:
        told = guard.explain(memory_id)
    from thymus.cli import screen

    if chosen.json:
        screen.write_json(told.to_dict())
        return
    out = screen.open_screen()
    out.print(screen.word(told.memory.status.value).append(f"  {told.memory.id}", "dim"))
    for line in told.lines:
        out.print(screen.indent(line))


def sources(ctx: typer.Context) -> None:
    """List who has said how much, how it stands, and what rests on it.

    *proved as* is the best proof of who it is that it ever had, and in brackets what its active memories had where some
    had less. *retracts* is how many memories revoking the source retracts, *changes* how many of others it may change
    besides: `thymus revoke SOURCE --dry-run` says it exactly. A name too long for a line is shortened in its middle;
    --json has all of it.
    """
    chosen = session(ctx)
    with chosen.guard() as guard:
        found = guard.sources()
    from thymus.cli import screen

    if chosen.json:
        screen.write_json([record.to_dict() for record in found])
        return
    out = screen.open_screen()
    for record in found:
        _show_source(out, record)
    if found:
        out.print()
        out.print("retracts: memories gone with the source if it is revoked; changes: others that may then change")
    else:
        out.print("Nobody has said anything yet.")


def _show_source(out: Console, record: SourceRecord) -> None:
    """A source by its name on one line, then how it stands."""
    from rich.text import Text

    from thymus.cli import screen
    from thymus.core.beliefs import Status
    from thymus.core.quoting import one_line

    calls_itself = f" ({one_line(record.name)})" if record.name else ""
    out.print(Text(shortened(one_line(record.source) + calls_itself, out.width), "bold"), soft_wrap=True)
    weaker = set(record.active_assurances) - {record.assurance}
    active = f" (active: {', '.join(record.active_assurances)})" if weaker else ""
    first, last = record.first.date().isoformat(), record.last.date().isoformat()
    counts = [f"{record.counts[status]:,} {status.value}" for status in Status if record.counts.get(status)]
    said = [f"proved as {record.assurance}{active}", first if first == last else f"{first} to {last}", *counts]
    costs = [(record.would_retract, "retracts"), (record.may_change, "changes")]
    said += [f"{what} {number:,}" for number, what in costs if number]
    out.print(screen.indent(Text(", ".join(said), "dim"), 4))
    if record.against:
        against = [shortened(one_line(key), out.width - _LEAD) for key in record.against[:MOST_AGAINST]]
        more = len(record.against) - MOST_AGAINST
        told = f"held back against {', '.join(against)}" + (f" and {more} more" if more > 0 else "")
        out.print(screen.indent(Text(told, "dim"), 4))


def shortened(name: str, longest: int) -> str:
    """A name on one line of so many characters: what is left out is in its middle, since both ends tell who it is."""
    if len(name) <= longest:
        return name
    after = max(1, (longest - 1) * 3 // 5)
    return f"{name[: max(1, longest - 1 - after)]}…{name[-after:]}"


def gates(ctx: typer.Context) -> None:
    """List the gates and their rules, in words."""
    from thymus.cli import screen
    from thymus.core.gates import DEFAULT_GATE, GATES

    if session(ctx).json:
        screen.write_json([_described(gate) | {"default": gate.name == DEFAULT_GATE} for gate in GATES.values()])
        return
    from rich.text import Text

    out = screen.open_screen()
    for gate in GATES.values():
        heading = Text(gate.name, "bold")
        if gate.name == DEFAULT_GATE:
            heading.append("  the default", "green")
        if gate.unsafe:
            heading.append("  unsafe: here to be compared with", "red")
        out.print(heading)
        out.print(screen.indent(gate.summary))
        listed = screen.table("", "")
        for rule in gate.rules:
            listed.add_row(screen.word(rule.effect.past), f"when {rule.when.says}")
        if gate.rules:
            out.print(screen.indent(listed, 4))
        out.print()


def _described(gate: Policy) -> dict[str, Any]:
    return {
        "name": gate.name,
        "summary": gate.summary,
        "unsafe": gate.unsafe,
        "showing": gate.showing.value,
        "outside_slots": gate.outside_slots,
        "rules": [{"name": rule.name, "effect": rule.effect.past, "when": rule.when.says} for rule in gate.rules],
    }


def verify(ctx: typer.Context) -> None:
    """Check that nothing stored was changed, removed or moved.

    Reads the whole store, every user's part of it, and names each row that does not fit; then the exit code is 1.
    """
    chosen = session(ctx)
    with chosen.guard() as guard:
        found = guard.verify()
    from thymus.cli import screen

    if chosen.json:
        screen.write_json(
            {"ok": found.ok, "entries": found.entries, "beliefs": found.beliefs, "problems": list(found.problems)}
        )
    else:
        out = screen.open_screen()
        for problem in found.problems:
            out.print(screen.word("fail").append(f"  {screen.own(problem)}", "default"))
        held = f"{found.entries:,} acts and {found.beliefs:,} memories read"
        out.print(
            f"{held}: all of it fits."
            if found.ok
            else f"{held}: {len(found.problems):,} problems. Restore a backup, and keep this file as evidence."
        )
    if not found.ok:
        raise typer.Exit(PROBLEMS)


def export(
    ctx: typer.Context,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to; stdout by default. Replaced at once or not at all."
        ),
    ] = None,
) -> None:
    """Write everything that is kept for this user, as JSON."""
    chosen = session(ctx)
    with chosen.guard() as guard:
        everything = guard.export()
    from thymus.cli import screen

    if output is None:
        screen.write_json(everything)
        return
    try:
        write_whole(output, json.dumps(everything, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise InputError(f"{output} cannot be written ({error.strerror}): name a file in a folder of yours") from None
    if chosen.json:
        screen.write_json({"written": str(output), "memories": len(everything["memories"])})
    else:
        screen.open_screen().print(f"{len(everything['memories']):,} memories written to {screen.own(str(output))}.")


def write_whole(path: Path, text: str) -> None:
    """Write a file that is there completely or not at all, readable by its owner only."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
