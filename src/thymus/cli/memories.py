"""Writing and reading: ``remember``, ``recall``, ``memories``."""

from __future__ import annotations

import sys
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from thymus.cli.frame import examples, moment, session
from thymus.cli.typed import typed
from thymus.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from thymus.core.policy import Policy
    from thymus.records import Written

LONGEST_INPUT = 40_000_000
"""Bytes read from a pipe: enough for the longest message that a guard takes, in UTF-8."""


class Standing(StrEnum):
    """What ``memories --status`` may ask for."""

    ACTIVE = "active"
    CONTESTED = "contested"
    QUARANTINED = "quarantined"
    SUPERSEDED = "superseded"
    REJECTED = "rejected"
    RETRACTED = "retracted"
    ALL = "all"


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(
        epilog=examples(
            'thymus remember "My standup is at 9:15 in Room 2A."',
            'thymus remember "Your standup moved to 7:45." --source email:hr@mail.example',
            "thymus remember - --source web:shop.example < page.txt",
        )
    )(remember)
    app.command(
        epilog=examples(
            'thymus recall "When is my standup?"', 'thymus recall "When is my standup?" --json | jq .notice'
        )
    )(recall)
    app.command(epilog=examples("thymus memories", "thymus memories --status all --limit 100"))(memories)


def remember(
    ctx: typer.Context,
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="What was said; - or nothing reads it from stdin.", show_default=False),
    ] = None,
    source: Annotated[
        str,
        typer.Option(metavar="SOURCE", help="Who said it: user, email:a@b.example, tool:calendar, web:shop.example …"),
    ] = "user",
    authenticated: Annotated[
        bool | None,
        typer.Option(
            "--authenticated/--no-authenticated",
            help="Whether you verified that it is that identity; it never says that it is true.",
        ),
    ] = None,
    observed_at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it was said, as 2026-03-01T09:15. Now, by default.")
    ] = None,
    derived_from: Annotated[
        list[str] | None,
        typer.Option(metavar="SOURCE", help="A memory id or a source that it was made from; may be repeated."),
    ] = None,
    message_id: Annotated[
        str | None, typer.Option(metavar="ID", help="The channel's own id: the same message changes nothing twice.")
    ] = None,
) -> None:
    """Learn from a message, and tell what became of it.

    Without --source it is you who speaks. Anybody else's message needs its source: that is what the gate decides by.
    """
    said = _read_stdin() if text in (None, "-") else text
    at = moment(observed_at, "--observed-at")
    chosen = session(ctx)
    with chosen.guard(writes=True) as guard:
        written = guard.remember(
            said or "",
            source=source,
            authenticated=authenticated,
            observed_at=at,
            derived_from=derived_from or (),
            message_id=message_id,
        )
        policy = guard.policy
    from thymus.cli import screen

    if chosen.json:
        screen.write_json(written.to_dict())
    else:
        show_written(written, policy, partial(typed, chosen))


def _read_stdin() -> str:
    if sys.stdin.isatty():
        raise InputError('there is no message: write it as an argument ("…"), or pipe it in and write -')
    raw = sys.stdin.buffer.read(LONGEST_INPUT + 1)
    if len(raw) > LONGEST_INPUT:
        raise InputError(
            f"the message has more than {LONGEST_INPUT:,} bytes: hand it in in parts, or use `thymus ingest`"
        )
    return raw.decode("utf-8", "replace")


_CAUTION = {
    "injection": "careful: an order to an assistant is in this message ({})",
    "secret": "careful: this looks like a secret ({}); it is kept as said, and `{erase}` erases it",
}


def show_written(written: Written, policy: Policy, command: Callable[[str], str]) -> None:
    """One block a claim: what became of it, its words, who said it; then why.

    :param command: from words such as ``inbox`` to the command that the user types.
    """
    from rich.text import Text

    from thymus.cli import screen
    from thymus.explain import because

    out = screen.open_screen()
    for memory, outcome in zip(written.memories, written.outcomes, strict=True):
        out.print(screen.word(outcome.value).append(f"  {memory.id}  {memory.kind.value}", "dim"))
        out.print(screen.indent(screen.said(memory)))
        for rival in memory.contradicts:
            out.print(screen.indent(f"against {rival}"))
    if not written.memories:
        out.print(screen.word(written.effect.value))
    if written.replaced:
        out.print(screen.indent(f"replaced {', '.join(written.replaced)}"))
    out.print(screen.indent(Text(f"because {because(written.reasons, policy)}", "dim")))
    for fallback in written.fallbacks:
        out.print(screen.indent(Text(screen.own(fallback), "dim")))
    for hazard in written.hazards:
        said = _CAUTION[hazard.partition(":")[0]].format(hazard.partition(": ")[2], erase=command("forget ID"))
        out.print(screen.indent(Text(said, "yellow")))
    if any(outcome.value in ("contested", "quarantined") for outcome in written.outcomes):
        decide = f"  the model will not see it until you decide: {command('inbox')}"
        out.print(Text(decide, "dim"), soft_wrap=True)


def recall(
    ctx: typer.Context,
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="What to look for, in your own words.", show_default=False)
    ],
    k: Annotated[int, typer.Option("-k", "--limit", metavar="N", help="How many memories the context may hold.")] = 8,
) -> None:
    """Answer from memory: context for the model, notice for you."""
    chosen = session(ctx)
    with chosen.guard() as guard:
        found = guard.recall(question, k=k)
    from thymus.cli import screen

    if chosen.json:
        screen.write_json(found.to_dict())
    else:
        screen.show_recall(screen.open_screen(), found, partial(typed, chosen))


def memories(
    ctx: typer.Context,
    status: Annotated[Standing, typer.Option(help="Where they stand.")] = Standing.ACTIVE,
    limit: Annotated[int, typer.Option("-n", "--limit", metavar="N", min=1, help="How many, newest first.")] = 50,
) -> None:
    """List what is kept, with the ids that other commands take."""
    from thymus.core.beliefs import Status

    chosen = session(ctx)
    with chosen.guard() as guard:
        wanted = None if status is Standing.ALL else Status(status.value)
        found = guard.memories(status=wanted, limit=limit)
    from thymus.cli import screen

    if chosen.json:
        screen.write_json([memory.to_dict() for memory in found])
        return
    out = screen.open_screen()
    if not found:
        out.print(f"No {'' if wanted is None else wanted.value + ' '}memories.")
    for memory in found:
        out.print(screen.word(memory.status.value).append(f"  {memory.id}  {memory.kind.value}", "dim"))
        out.print(screen.indent(screen.said(memory) if memory.text else "erased: its text is gone"))
