"""Cursor: ``mcp.json`` in the home or the project, with ``${env:NAME}`` for variables (cursor.com/docs/mcp).

Cursor's command line reads the same files. Whether they may hold comments is not documented: those that are there stay.
"""

from __future__ import annotations

from typing import Final

from thymus.install.client import Client

CLIENT: Final = Client(
    name="cursor",
    title="Cursor",
    marks=("home/.cursor",),
    files={"user": ("home/.cursor/mcp.json",), "project": ("project/.cursor/mcp.json",)},
    servers="mcpServers",
    comments=True,
    form={"type": "stdio"},
    variable="${{env:{}}}",
    then="Cursor notices by itself; switch the server on under MCP in its settings if it is off",
    manual="docs/how-to/cursor.md",
)
