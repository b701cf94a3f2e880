"""How the benchmark's commands end: an error is one line that names its remedy, never a traceback.

Exit codes: 0 done; 1 the answer is "no"; 2 wrong usage, or an error that says its own remedy; 130 interrupted.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import typer
from rich.console import Console
from rich.text import Text

from thymus import ThymusError
from thymus.core.provenance import UNPRINTABLE

USAGE = 2
INTERRUPTED = 130


def console() -> Console:
    """Where tables go: colours where the terminal has them."""
    return Console()


def complaints() -> Console:
    """Where progress and errors go, so that a table can be piped."""
    return Console(stderr=True)


@contextlib.contextmanager
def ending(*, when_interrupted: str = "interrupted") -> Iterator[None]:
    """Turn what a command raises into a line and an exit code; ``THYMUS_DEBUG=1`` shows where it was raised."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):  # so that the flush at exit has somewhere to go
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None
    except KeyboardInterrupt:
        complaints().print(Text(when_interrupted))
        raise typer.Exit(INTERRUPTED) from None
    except ThymusError as error:
        if os.environ.get("THYMUS_DEBUG"):
            raise
        complaints().print(Text("error: ", style="bold red") + Text(printable(str(error))), soft_wrap=True)
        raise typer.Exit(USAGE) from None


def printable(message: str) -> str:
    """A message that quotes a file or a model, without what a terminal would obey; its lines stay."""
    return "\n".join(UNPRINTABLE.sub("", line) for line in message.split("\n"))
