"""What every command shares: the global options, the guard that it opens, and how it ends.

Exit codes: 0 done; 1 the answer is "no" (``verify`` found problems, nothing could be read); 2 wrong usage, or an error
that says its own remedy; 3 a fault in Thymus; 130 interrupted; 141 the reader of the output went away.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from thymus._version import __version__
from thymus.errors import ConfigError, InputError, ThymusError

if TYPE_CHECKING:
    from thymus.config import Settings
    from thymus.guard import MemoryGuard

PROBLEMS: Final = 1
USAGE: Final = 2
FAULT: Final = 3
INTERRUPTED: Final = 130
NO_READER: Final = 141

IN_COMMANDS: Final = {
    "memories() and inbox() give the ids": "`thymus memories --status all` and `thymus inbox` give the ids",
    "history(memory_id)": "`thymus history ID`",
    "forget(memory_id)": "`thymus forget ID`",
    "resolve(memory_id, accept=True, over=[id])": "`thymus resolve ID --accept --over ID2`",
    "see inbox()": "see `thymus inbox`",
    "over is for a claim that is accepted": "--over is for a claim that is accepted",
    "over names those that it is right instead of": "--over names those that it is right instead of",
    "user_id is a name": "--user (or THYMUS_USER) is a name",
    "k is how many memories": "-k is how many memories",
    ", or pass a Policy": "",
    ", or pass an object that fits thymus.ports.Judge": "",
    "get_judge('typed') needs none": "--llm typed needs none",
    "use MemoryStore for": "use --db :memory: for",
    "max_cost limits what a language model costs: name one with llm": "--max-cost limits what a language model costs: "
    "name one with --llm",
    "a spending limit is a number": "--max-cost is a number",
}
"""What the library's errors say to a program, as the command line says it."""
_OF_OPTIONS: Final = {
    "Input should be a valid integer, unable to parse string as an integer": "write a whole number",
    "Input should be a valid integer": "write a whole number",
    "Input should be greater than or equal to": "write a number of at least",
    "Value error, ": "",
}
"""The same for what typer's own errors say of an option's value."""

EVERYWHERE: Final = "--db, --gate, --llm, --user and --json work with every command: see `thymus --help`."


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\n\n".join(["\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines), EVERYWHERE])


class GlobalsAnywhere(TyperGroup):
    """A group whose own options may also stand after the command: ``thymus recall --json "…"``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Bring the global options to the front; without any argument show the help."""
        flags = {
            name: bool(getattr(param, "is_flag", False))
            for param in self.params
            if not getattr(param, "is_eager", False)
            for name in param.opts
        }
        return super().parse_args(ctx, _to_front(args, flags) or ["--help"])

    def invoke(self, ctx: Any) -> Any:
        """Run the command; whatever happens becomes one line and an exit code."""
        with _ending(debug=bool(ctx.params.get("debug") or os.environ.get("THYMUS_DEBUG"))):
            return super().invoke(ctx)


def _to_front(args: Sequence[str], flags: dict[str, bool]) -> list[str]:
    front: list[str] = []
    rest: list[str] = []
    given = iter(args)
    for arg in given:
        if arg == "--":
            return [*front, *rest, arg, *given]
        name, joined, _ = arg.partition("=")
        if name not in flags or (joined and flags[name]):
            rest.append(arg)
        elif joined or flags[name]:
            front.append(arg)
        else:
            front += [arg, *([value] if (value := next(given, None)) is not None else [])]
    return [*front, *rest]


@contextlib.contextmanager
def _ending(*, debug: bool) -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):  # so that the flush at exit has somewhere to go
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(NO_READER) from None
    except KeyboardInterrupt:
        complain("interrupted: what was remembered before is kept")
        raise typer.Exit(INTERRUPTED) from None
    except ThymusError as error:
        if debug:
            raise
        complain(in_commands(error))
        raise typer.Exit(USAGE) from None
    except Exception as error:  # no sender's text may reach the terminal in a traceback
        ends = isinstance(error, typer.Abort) or hasattr(error, "exit_code")  # typer's own, with a message of their own
        if isinstance(message := getattr(error, "message", None), str) and ends:
            error.message = _said_with(_OF_OPTIONS, message)  # type: ignore[attr-defined]
        if debug or ends:
            raise
        complain(f"a fault in Thymus itself ({type(error).__name__}: {error}); --debug shows where. Please report it.")
        raise typer.Exit(FAULT) from None


def in_commands(error: ThymusError) -> str:
    """What an error of the library says, with the commands and options in the place of methods and arguments."""
    return _said_with(IN_COMMANDS, str(error))


def _said_with(words: dict[str, str], text: str) -> str:
    for before, after in words.items():
        text = text.replace(before, after)
    return text


def complain(text: str) -> None:
    """One line on stderr, with nothing in it that a terminal would obey."""
    from thymus.core.quoting import one_line

    with contextlib.suppress(BrokenPipeError):
        print(f"thymus: {one_line(text)}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The global options of one call."""

    db: str | None = None
    gate: str | None = None
    llm: str | None = None
    user: str | None = None
    json: bool = False
    debug: bool = False

    def settings(self) -> Settings:
        """The flags over the environment over the defaults."""
        from thymus.config import Settings

        return Settings.read(db=self.db, gate=self.gate, llm=self.llm, user=self.user)

    def guard(self, *, writes: bool = False, max_cost: float | None = None) -> MemoryGuard:
        """Open the memory.

        :param writes: whether messages will be learned: then a memory that does not exist yet is created, and the
            language model is opened, which nothing else needs.
        :param max_cost: US dollars that the language model may cost.
        :raises ConfigError: where there is none, so that a mistyped path is not answered with an empty memory.
        """
        from thymus.guard import MemoryGuard

        settings = self.settings()
        if not writes and is_file(settings.db) and not Path(settings.db).exists():
            raise ConfigError(
                f"there is no memory at {settings.db} yet: `thymus remember` or `thymus ingest` begins one, "
                "--db or THYMUS_DB names another"
            )
        llm = settings.llm if writes else None  # a judge is asked when something is learned
        return MemoryGuard(settings.db, gate=settings.gate, llm=llm, max_cost=max_cost, user_id=settings.user)


def is_file(db: str) -> bool:
    """Whether a store's name is a path, and not a URL or ``:memory:``."""
    return db != ":memory:" and "://" not in db


def session(ctx: typer.Context) -> Session:
    """The global options of this call."""
    found = ctx.find_object(Session)
    return found if found is not None else Session()


def moment(given: str | None, option: str) -> datetime | None:
    """A date or time as ISO 8601 writes it; without a zone it is UTC."""
    if given is None:
        return None
    try:
        return datetime.fromisoformat(given.strip())
    except ValueError:
        raise InputError(
            f"{option} {given[:60]!r} is not a date: write 2026-03-01, or 2026-03-01T09:15 with or without a zone"
        ) from None


def at_terminal() -> bool:
    """Whether somebody is there to answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


app = typer.Typer(
    cls=GlobalsAnywhere,
    add_completion=False,
    rich_markup_mode=None,  # help in plain text: rich's costs 0.4 s
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nBegin with:\n"
    "  thymus demo                                see what it does, in seconds\n"
    '  thymus remember "My standup is at 9:15."   tell it something\n'
    '  thymus recall "When is my standup?"        what the model gets, what you are told\n'
    "  thymus ingest inbox.mbox --dry-run         what a mailbox would teach\n\n"
    "THYMUS_DB, THYMUS_GATE, THYMUS_LLM and THYMUS_USER stand in for the options, and THYMUS_LLM_API_KEY is the key "
    "for a server of your own; NO_COLOR turns colours off.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"thymus {__version__}")
        raise typer.Exit


@app.callback()
def open_session(
    ctx: typer.Context,
    db: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="The memory: memory.db, memory.json or :memory:.", show_default=False),
    ] = None,
    gate: Annotated[
        str | None, typer.Option(metavar="NAME", help="The gate that decides; `thymus gates` lists them.")
    ] = None,
    llm: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="A language model that extracts, and judges where the bundled judge is unsure: anthropic:MODEL, "
            "openai:MODEL, openai:MODEL@http://HOST/v1, ollama:MODEL, claude-code, codex, echo. Or another judge: "
            "typed, nli:FOLDER, nli:OWNER/NAME.",
        ),
    ] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Whose memory it is.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose.")] = False,
    version: Annotated[  # noqa: ARG001  (typer calls back)
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The guarded memory of an AI agent: keeps every claim, decides by provenance, tells you about the rest."""
    _note_warnings(debug=debug)
    ctx.obj = Session(db=db, gate=gate, llm=llm, user=user, json=json, debug=debug)


class _OneLine(logging.Handler):
    """What the library notes on the way (a judge that failed), as one line on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(record.getMessage())


def _note_warnings(*, debug: bool) -> None:
    log = logging.getLogger("thymus")
    log.handlers = [logging.StreamHandler() if debug else _OneLine()]
    log.propagate = False
