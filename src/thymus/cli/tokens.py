"""``thymus token``: who may reach the memory over HTTP."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from thymus.cli.frame import examples, moment, session
from thymus.config import DEFAULT_TENANT
from thymus.errors import InputError

if TYPE_CHECKING:
    from thymus.access.tokens import Tokens
    from thymus.cli.frame import Session

_SPAN: Final = re.compile(r"([1-9][0-9]{0,4})([hdwy])")
_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1), "y": timedelta(days=365)}

File = Annotated[
    str | None,
    typer.Option(
        "--tokens",
        metavar="PATH",
        help="The file that holds them; by default beside the memory, with .tokens after its name, or in its "
        "PostgreSQL database.",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    group = typer.Typer(
        help="Say who may reach the memory over HTTP (`thymus serve`, `thymus-mcp --http`): make, list and revoke "
        "bearer tokens.",
        no_args_is_help=True,
        rich_markup_mode=None,
        epilog=examples(
            "thymus token new --user asha --name laptop --expires 90d",
            "thymus token list",
            "thymus token revoke k7vq2mzd",
        ),
    )
    group.command(
        epilog=examples(
            "thymus token new --user asha --name laptop",
            "thymus token new --user asha --name ci --expires 90d",
            "thymus token new --user asha --name audit --role auditor",
            "thymus token new --user asha --name phone > secret.txt",
        )
    )(new)
    group.command("list", epilog=examples("thymus token list", "thymus token list --json | jq '.[].id'"))(list_)
    group.command(epilog=examples("thymus token revoke k7vq2mzd"))(revoke)
    app.add_typer(group, name="token")


def new(
    ctx: typer.Context,
    name: Annotated[str, typer.Option(metavar="TEXT", help="What will hold it: laptop.", show_default=False)],
    expires: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="In 12h, 90d, 4w or 1y; or a date. It never does by default."),
    ] = None,
    role: Annotated[
        str,
        typer.Option(
            metavar="ROLE",
            help="owner: everything; reviewer: read, and settle what is held back; auditor: the ledger, without text.",
        ),
    ] = "owner",
    tenant: Annotated[
        str, typer.Option(metavar="NAME", help="Whose user it is, where one store serves several organisations.")
    ] = DEFAULT_TENANT,
    tokens: File = None,
) -> None:
    """Make a token for a user (--user), and print its secret, this once.

    Only the secret goes to stdout. What is kept of it is a digest.
    """
    chosen = session(ctx)
    token, secret = _open(chosen, tokens).issue(
        chosen.settings().user, name, _until(expires), tenant=tenant, role=role.strip().lower()
    )
    if chosen.json:
        from thymus.cli import screen

        screen.write_json(token.to_dict(token.created) | {"secret": secret})
        return
    ends = f"until {token.expires:%Y-%m-%d %H:%M} UTC" if token.expires else "until it is revoked"
    print(
        f"Token {token.id} opens the memory of {token.user} as {token.role} {ends}. Its secret is shown this once; "
        "clients send it as `Authorization: Bearer …`:",
        file=sys.stderr,
    )
    print(secret)


def list_(ctx: typer.Context, tokens: File = None) -> None:
    """List the tokens, oldest first, without their secrets."""
    from thymus.cli import screen

    chosen = session(ctx)
    found, now = _open(chosen, tokens).all(), datetime.now(UTC)
    if chosen.json:
        screen.write_json([token.to_dict(now) for token in found])
        return
    out = screen.open_screen()
    if not found:
        out.print("There are no tokens: `thymus token new --user NAME --name LAPTOP` makes one.")
        return
    listed = screen.table("id", "user", "role", "name", "state", "made", "expires", "last used")
    for token in found:
        listed.add_row(
            token.id,
            screen.own(token.user if token.tenant == DEFAULT_TENANT else f"{token.tenant}/{token.user}"),
            token.role,
            screen.own(token.name),
            token.state(now),
            f"{token.created:%Y-%m-%d}",
            f"{token.expires:%Y-%m-%d %H:%M}" if token.expires else "never",
            f"{token.last_used:%Y-%m-%d %H:%M}" if token.last_used else "never",
        )
    out.print(listed)


def revoke(
    ctx: typer.Context,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Of the token.", show_default=False)],
    tokens: File = None,
) -> None:
    """Make a token useless at once, also in a server that is running."""
    from thymus.cli import screen

    chosen = session(ctx)
    token = _open(chosen, tokens).revoke(token_id)
    if chosen.json:
        screen.write_json(token.to_dict(datetime.now(UTC)))
        return
    screen.open_screen().print(
        f"Token {token.id} ({screen.own(token.name)}, of {screen.own(token.user)}) opens nothing any more."
    )


def _open(chosen: Session, given: str | None) -> Tokens:
    from thymus.access.tokens import open_tokens

    return open_tokens(chosen.settings().db, given)


def _until(given: str | None) -> datetime | None:
    if given is None:
        return None
    if span := _SPAN.fullmatch(given.strip().lower()):
        try:
            return datetime.now(UTC) + int(span[1]) * _UNITS[span[2]]
        except OverflowError:
            raise InputError(f"--expires {given[:60]!r} lies beyond the year 9999: leave it out instead") from None
    try:
        return moment(given, "--expires")
    except InputError:
        raise InputError(
            f"--expires {given[:60]!r} is neither a span (12h, 90d, 4w, 1y) nor a date (2026-03-01T09:15)"
        ) from None
