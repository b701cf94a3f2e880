"""What an agent may do: ``check``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from thymus.cli.frame import PROBLEMS, examples, session
from thymus.errors import InputError

if TYPE_CHECKING:
    from thymus.core.actions import Verdict

ASK: Final = 4
STYLES: Final = {"allow": "green", "ask": "magenta", "deny": "red"}


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(
        epilog=examples(
            """thymus check call --args '{"phone": "020 7946 0958"}'""",
            """thymus check pay --args '{"amount": 9}' --said "Pay him £9." """.strip(),
            "thymus check send_email --args - --json < call.json",
        )
    )(check)


def check(
    ctx: typer.Context,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The name of the tool.", show_default=False)],
    args: Annotated[
        str, typer.Option("--args", metavar="JSON", help="Its arguments, a JSON object; - reads it from the input.")
    ] = "{}",
    said: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="What you said just now; may be given again.", show_default=False),
    ] = None,
    sensitivity: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="low, normal or high, instead of what the name says.", show_default=False),
    ] = None,
) -> None:
    """Say whether an agent may call a tool with these arguments.

    Each value in them is looked up in memory. Ends with 0 for allow, 4 for ask, 1 for deny.
    """
    from thymus.cli import screen
    from thymus.core.action_rules import ActionPolicy
    from thymus.core.actions import Answer

    chosen = session(ctx)
    policy = ActionPolicy() if sensitivity is None else ActionPolicy().adjusted({tool: sensitivity})
    with chosen.guard() as guard:
        verdict = guard.check_action(tool, _read(args), said=said or (), policy=policy)
    if chosen.json:
        screen.write_json(verdict.to_dict())
    else:
        _show(verdict)
    code = {Answer.ALLOW: 0, Answer.ASK: ASK, Answer.DENY: PROBLEMS}[verdict.answer]
    if code:
        raise typer.Exit(code)


def _read(args: str) -> dict[str, Any]:
    """The arguments of the call.

    :raises InputError: where they are no JSON object.
    """
    try:
        found = json.loads(sys.stdin.read() if args == "-" else args)
    except (ValueError, RecursionError):
        raise InputError("""--args is a JSON object, as '{"to": "Ravi"}'""") from None
    if not isinstance(found, dict):
        raise InputError("""--args is a JSON object, as '{"to": "Ravi"}'""")
    return found


def _show(verdict: Verdict) -> None:
    from rich.text import Text

    from thymus.cli import screen

    out = screen.open_screen()
    for line in str(verdict).split("\n"):
        shown = Text(line)
        answer = line.removeprefix("- ").partition(":")[0]
        if answer in STYLES:
            shown.highlight_words([answer], STYLES[answer])
        out.print(shown)
