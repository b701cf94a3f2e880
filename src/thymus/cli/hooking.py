"""The command ``hook`` as the help lists it; ``thymus.cli.main`` runs it before any of this is imported."""

from __future__ import annotations

from typing import Annotated

import typer

from thymus.cli.frame import examples


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=examples("thymus hook --status", "thymus install claude-code"))(hook)


def hook(
    status: Annotated[
        bool, typer.Option("--status", help="Say what waits to be learned, and which process learns it.")
    ] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End that process; the next event starts another.")] = False,
) -> None:
    """Learn from an event of Claude Code.

    Claude Code runs this; `thymus install claude-code` sets it up. It reads the event as JSON on standard input, never
    fails and never holds up the program.
    """
    from thymus.hooks import client

    client.main([option for option, given in (("--status", status), ("--stop", stop)) if given])
