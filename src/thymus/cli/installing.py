"""The command ``install``: Thymus into the configuration of Claude Code, Claude Desktop, Cursor or VS Code."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from thymus.cli.frame import PROBLEMS, at_terminal, examples, session
from thymus.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from thymus.install import Change, Plan, Surroundings

COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}


class Which(StrEnum):
    """The clients that can be connected: the names of ``thymus.install.CLIENTS``."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    VSCODE = "vscode"


class Where(StrEnum):
    """Whose configuration."""

    USER = "user"
    PROJECT = "project"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "thymus install claude-code",
            "thymus install cursor --dry-run",
            "thymus install vscode --scope project --db ./memory.db",
            "thymus install claude-desktop --uninstall",
        )
    )(install)


def install(
    ctx: typer.Context,
    client: Annotated[Which, typer.Argument(metavar="CLIENT", help="claude-code, claude-desktop, cursor or vscode.")],
    scope: Annotated[
        Where, typer.Option(help="For all that you do, or for the project in this folder alone.")
    ] = Where.USER,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Take out what was put in, and nothing else.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Connect a client: write its MCP configuration, and for Claude Code the hooks.

    Shows what would change, asks, keeps a copy of each file beside it, and leaves all that others put there as it is.
    With --db, --user, --gate and --llm the client is started with them; what is not named stays as it was. Keys are
    never written: a client is told the variable that has it.
    """
    from datetime import datetime

    from thymus.cli import screen
    from thymus.install import CLIENTS, InstallError, Options, Surroundings, carry_out, plan_install, plan_removal
    from thymus.install.diffs import diff

    chosen, here, known = session(ctx), Surroundings.here(), CLIENTS[client]
    asks = not (dry_run or yes)
    if asks and (chosen.json or not at_terminal()):
        raise ConfigError("nobody is here to be asked: add --yes to go ahead, or --dry-run to see what would change")
    given = Options(db=chosen.db, user=chosen.user, gate=chosen.gate, llm=chosen.llm)
    try:
        plan = plan_removal(known, scope.value, here) if uninstall else plan_install(known, scope.value, given, here)
        shown = {change.file.path: diff(change) for change in plan.needed}
        if not chosen.json:
            _show(plan, shown)
        if asks and shown and not typer.confirm("Write this?", default=False, err=True):
            screen.open_screen(stderr=True).print("nothing was changed")
            raise typer.Exit(PROBLEMS)
        copies = [] if dry_run else carry_out(plan, now=datetime.now().astimezone())
    except InstallError as error:
        if error.snippet and not chosen.json and not uninstall:
            told = screen.open_screen(stderr=True)
            told.print(f"To be put there:\n{error.snippet}\n", soft_wrap=True)
        raise
    notes = list(_notes(plan, here, uninstall=uninstall))
    if chosen.json:
        files = [_to_dict(change, shown[change.file.path]) for change in plan.needed]
        written = bool(files) and not dry_run
        head = {"client": known.name, "scope": scope.value, "changed": bool(files), "written": written}
        screen.write_json({**head, "files": files, "copies": [str(copy) for copy in copies], "notes": notes})
        return
    _conclude(copies, notes, changed=bool(shown) and not dry_run)


def _show(plan: Plan, shown: dict[Path, list[str]]) -> None:
    from rich.text import Text

    from thymus.cli import screen

    out = screen.open_screen()
    if not shown:
        out.print(f"{plan.client.title}: nothing to change")
    for change in plan.needed:
        what = "new" if change.file.raw is None else "removed" if change.after is None else "changed"
        out.print(Text(f"{change.file.path} ({what})", "bold"), soft_wrap=True)
        for line in shown[change.file.path]:
            out.print(Text(line, COLOURS.get(line[:1], "dim")), soft_wrap=True)
        out.print()


def _conclude(copies: Sequence[Path], notes: Sequence[str], *, changed: bool) -> None:
    from thymus.cli import screen

    out = screen.open_screen()
    for copy in copies:
        out.print(f"what was there before: {copy}", soft_wrap=True)
    for note in notes if changed else notes[1:]:
        out.print(f"→ {note}", soft_wrap=True)


def _to_dict(change: Change, lines: list[str]) -> dict[str, Any]:
    return {"path": str(change.file.path), "new": change.file.raw is None, "gone": change.after is None, "diff": lines}


def _notes(plan: Plan, here: Surroundings, *, uninstall: bool) -> Iterator[str]:
    """What the user should know: first what to do next, then what may be in the way."""
    from importlib.util import find_spec

    from thymus.install.launch import key_variable

    client = plan.client
    if uninstall:
        yield f"restart {client.title} or begin a new session: what runs already goes on; the memory is kept"
        if client.hooks:
            yield "`thymus hook --stop` ends the process behind the hooks"
        return
    yield f"{client.then} ({client.manual})"
    yield from plan.warnings
    if find_spec("mcp") is None:
        yield 'the server needs one more package: pip install "thymus-memory[mcp]"'
    if here.passes:
        yield "this installation lives for one run: `uv tool install` or `pipx install` it, and run this again"
    if not client.is_here(here):
        yield f"{client.title} was not found on this machine; it reads this once it is there"
    if plan.scope == "project":
        yield "the commands are paths of this machine: leave the file out of what you share"
    key = key_variable(plan.options.llm)
    if key and client.variable is None:
        yield f"{client.title} hands no {key} on: name a model that needs no key, or leave --llm away"
    elif key and key not in here.variables:
        yield f"{plan.options.llm} needs {key} in the environment that {client.title} is started in"
