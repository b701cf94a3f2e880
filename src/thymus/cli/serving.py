"""``thymus serve``: the memory as a service, for programs, agents and browsers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from thymus.cli.frame import complain, examples, session
from thymus.errors import ConfigError, MissingExtraError

NEEDED: Final = (
    "fastapi",
    "itsdangerous",
    "jinja2",
    "mcp",
    "opentelemetry",
    "prometheus_client",
    "python_multipart",
    "uvicorn",
)
"""The modules of the extra ``[server]``."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "thymus serve",
            "thymus serve --port 8400 --user asha",
            "thymus serve --allow-host memory.example   # behind a proxy of that name",
            "thymus serve --db postgresql://app@db.example/agents --workers 4",
        )
    )(serve)


def serve(
    ctx: typer.Context,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65_535, help="The port; 0 is any free one.")] = 8321,
    workers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Processes that serve; more than one takes PostgreSQL.")
    ] = 1,
    tokens: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="The file of the tokens; by default beside the memory, or in its PostgreSQL database.",
            show_default=False,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A name under which clients call it.", show_default=False)
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Another site's origin whose pages may call the API.", show_default=False),
    ] = None,
) -> None:
    """Serve the memory over HTTP: an API for programs, MCP for agents, and the inbox for people.

    The inbox is at /, the API at /v1 (described at /openapi.json), MCP at /mcp. Everybody needs a token: where there is
    none yet, one is made for the user (--user) and shown, once. Logs go to standard error as lines of JSON. Ctrl-C ends
    it, when the requests under way are finished.
    """
    for module in NEEDED:
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError(f"this needs the package {module}: pip install 'thymus-memory[server]'")
    if tokens is not None and not tokens.exists():
        raise ConfigError(
            f"there is no file of tokens at {tokens}: `thymus token new --tokens {tokens}` begins one; without "
            "--tokens they are looked for beside the memory"
        )
    from thymus.web.serving import Service
    from thymus.web.serving import serve as run

    chosen = session(ctx)
    run(
        Service(
            settings=chosen.settings(),
            tokens=None if tokens is None else str(tokens),
            host=host,
            port=port,
            workers=workers,
            allowed_hosts=tuple(allow_host or ()),
            allowed_origins=tuple(allow_origin or ()),
            debug=chosen.debug,
        ),
        first=_show_secret,
        ready=lambda url: print(f"Thymus is at {url} (Ctrl-C ends it).", flush=True),
    )
    if sys.stdout.isatty():
        complain("ended")


def _show_secret(url: str, secret: str) -> None:
    """On stdout: the log, which others may read, never has a secret in it."""
    print(f"This is the first token, and it is shown this once. Sign in with it at {url}/login:", flush=True)
    print(secret, flush=True)
