"""The command line ``thymus``: one module a group of commands, all of them over the public API.

Nothing heavy is imported before a command needs it, so that ``thymus --help`` answers at once.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; never returns."""
    if sys.argv[1:2] == ["hook"]:  # on every event of a host: typer alone would take longer than all of it
        from thymus.hooks import client

        client.main(sys.argv[2:])
    try:
        from thymus.cli.program import app

        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")  # a terminal that cannot show a character still shows the rest
        app(prog_name="thymus")
    except KeyboardInterrupt:  # before any command had begun
        sys.exit(130)
