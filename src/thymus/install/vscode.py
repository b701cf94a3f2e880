"""Visual Studio Code: ``mcp.json`` of the user or of the workspace, JSON with comments, servers under ``servers``.

(code.visualstudio.com/docs/copilot/reference/mcp-configuration.) The user's is that of the default profile. VS Code is
taken where it is, else its Insiders edition, else VSCodium.
"""

from __future__ import annotations

from typing import Final

from thymus.install.client import Client

EDITIONS: Final = ("Code", "Code - Insiders", "VSCodium")

CLIENT: Final = Client(
    name="vscode",
    title="VS Code",
    marks=tuple(f"settings/{edition}" for edition in EDITIONS),
    files={
        "user": tuple(f"settings/{edition}/User/mcp.json" for edition in EDITIONS),
        "project": ("project/.vscode/mcp.json",),
    },
    servers="servers",
    comments=True,
    form={"type": "stdio"},
    variable="${{env:{}}}",
    then="run “MCP: List Servers” in VS Code, choose thymus, start it and say that you trust it",
    manual="docs/how-to/vscode.md",
)
