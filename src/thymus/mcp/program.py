"""The script ``thymus-mcp``: the server over stdio, over HTTP, or in front of other servers."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from thymus._version import __version__
from thymus.core.quoting import one_line
from thymus.errors import ConfigError, MissingExtraError, ThymusError

if TYPE_CHECKING:
    from thymus.access.tokens import Tokens
    from thymus.config import Settings
    from thymus.guard import MemoryGuard

USAGE: Final = 2
FAULT: Final = 3
INTERRUPTED: Final = 130

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="THYMUS_DB, THYMUS_USER, THYMUS_GATE and THYMUS_LLM stand in for the options. Clients: "
    "`thymus install claude-code|claude-desktop|cursor|vscode` writes their configuration.",
)


def main() -> None:
    """Run the script; never returns. Nothing but the protocol is written to stdout."""
    log_to_stderr(debug=bool(os.environ.get("THYMUS_DEBUG")))
    try:
        app(prog_name="thymus-mcp")
    except ThymusError as fault:
        complain(str(fault))
        sys.exit(USAGE)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as fault:  # no sender's text may reach a terminal or a log in a traceback
        if os.environ.get("THYMUS_DEBUG"):
            raise
        complain(f"a fault in Thymus itself ({type(fault).__name__}); THYMUS_DEBUG=1 shows where. Please report it.")
        sys.exit(FAULT)


def complain(text: str) -> None:
    """One line on stderr, with nothing in it that a terminal would obey."""
    print(f"thymus-mcp: {one_line(text)}", file=sys.stderr, flush=True)


class _OneLine(logging.Formatter):
    """A record on one line; of an exception its kind only, since its text may be a sender's."""

    def format(self, record: logging.LogRecord) -> str:
        kind = record.exc_info[0] if record.exc_info else None
        return f"thymus-mcp: {one_line(record.getMessage())[:1_000]}" + (f" ({kind.__name__})" if kind else "")


def log_to_stderr(*, debug: bool = False) -> None:
    """Have all logging of this process go to stderr: stdout belongs to the protocol."""
    handler = logging.StreamHandler(sys.stderr)
    if not debug:
        handler.setFormatter(_OneLine())
    logging.basicConfig(level=logging.DEBUG if debug else logging.WARNING, handlers=[handler], force=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"thymus-mcp {__version__}")
        raise typer.Exit


Db = Annotated[str | None, typer.Option(metavar="PATH", help="The memory: memory.db, memory.json or :memory:.")]
User = Annotated[str | None, typer.Option(metavar="NAME", help="Whose memory it is. Over HTTP a token says that.")]
Gate = Annotated[str | None, typer.Option(metavar="NAME", help="The gate that decides; `thymus gates` lists them.")]
Llm = Annotated[str | None, typer.Option(metavar="MODEL", help="A language model that extracts and judges.")]


@app.callback(invoke_without_command=True)
def serve(
    ctx: typer.Context,
    db: Db = None,
    user: User = None,
    gate: Gate = None,
    llm: Llm = None,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of stdin and stdout.")] = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="With --http: where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65_535, help="With --http: the port.")] = 8321,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="With --http: a name under which clients call it.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="With --http: a web page's origin that may call it.")
    ] = None,
    tokens: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --http: the tokens, beside the memory by default.")
    ] = None,
    version: Annotated[  # noqa: ARG001  (typer calls back)
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The guarded memory as an MCP server: over stdio, or with --http for several users."""
    from thymus.config import Settings

    settings = Settings.read(db=db, user=user, gate=gate, llm=llm)
    if ctx.invoked_subcommand is not None:
        ctx.obj = settings
        return
    _require("mcp", "mcp")
    with _open(settings) as guard:
        if http:
            from thymus.access.tokens import open_tokens

            if tokens is not None and not tokens.exists():
                raise ConfigError(
                    f"there is no file of tokens at {tokens}: `thymus token new --tokens {tokens}` begins one; without "
                    "--tokens they are looked for beside the memory"
                )
            _serve_http(guard, open_tokens(settings.db, tokens), host, port, allow_host or [], allow_origin or [])
        elif allow_host or allow_origin or tokens or _given(ctx, "host") or _given(ctx, "port"):
            raise ConfigError(
                "--host, --port, --allow-host, --allow-origin and --tokens are for --http: add it, or leave them out"
            )
        else:
            from thymus.mcp.server import build_server

            build_server(guard).run("stdio")


def _given(ctx: typer.Context, option: str) -> bool:
    source = ctx.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def _serve_http(guard: MemoryGuard, tokens: Tokens, host: str, port: int, names: list[str], origins: list[str]) -> None:
    from thymus.mcp import http
    from thymus.mcp.callers import only
    from thymus.mcp.server import build_server

    def build(**options: Any) -> Any:
        return build_server(guard, whose=None if "auth" in options else only(vouched_for=False), **options)

    http.serve(
        build,
        tokens=tokens,
        host=host,
        port=port,
        allowed_hosts=names,
        allowed_origins=origins,
        ready=lambda url: complain(f"listening at {url}"),
    )


@app.command(context_settings={"allow_interspersed_args": False})
def proxy(
    ctx: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND", help="The server to wrap, with its arguments.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Wrap the mcpServers of a client's configuration instead.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What to call the server that is wrapped.")] = None,
    db: Db = None,
    user: User = None,
    gate: Gate = None,
    llm: Llm = None,
) -> None:
    """Stand in front of other MCP servers, and learn what their tools return under the tools' names."""
    _require("mcp", "mcp")
    from thymus.mcp.proxy import run

    given = {"db": db, "user": user, "gate": gate, "llm": llm}
    settings = replace(ctx.obj, **{option: value for option, value in given.items() if value is not None})
    with _open(settings) as guard:
        code = run(guard, command or (), config=config, name=name)
    raise typer.Exit(code)


def _open(settings: Settings) -> MemoryGuard:
    from thymus.guard import MemoryGuard

    return MemoryGuard(settings.db, gate=settings.gate, llm=settings.llm, user_id=settings.user)


def _require(module: str, extra: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(f'this needs the package {module}: pip install "thymus-memory[{extra}]"')
