"""Claude Code, seen at version 2.1.197: servers in ``.claude.json`` or ``.mcp.json``, hooks in its settings.

All of them are plain JSON: a settings file with a comment is left unread without a word. Servers and hooks inherit the
environment, to which ``env`` of the settings adds. The settings of a project that are not committed are its
``settings.local.json``. Hooks are written in the form that starts no shell (``args``), so paths need no quoting.
"""

from __future__ import annotations

from typing import Final

from thymus.install.client import Client, Hooks

DENY: Final = (
    "Bash(thymus:*)",
    "Bash(thymus-mcp:*)",
    "Bash(thymus.exe:*)",
    "Bash(thymus-mcp.exe:*)",
    "Bash(*/bin/thymus*)",
    "Bash(*/Scripts/thymus*)",
    "Bash(* -m thymus*)",
    "Bash(* -mthymus*)",
    "Bash(uvx *thymus*)",
    "Bash(uv *run *thymus*)",
    "Bash(pipx run *thymus*)",
    "Bash(* -c *thymus*)",
    "Bash(./thymus*)",
    "Bash(* -exec* thymus*)",
    "Bash(*thymus/hooks/waiting*)",
    "Bash(*thymus/hooks/scheduled.json*)",
    "Edit(//**/thymus/hooks/waiting/**)",
    "Edit(//**/thymus/hooks/scheduled.json)",
)
"""Each tried on 2.1.197. It parts a command line at ``&&``, ``|`` and ``;`` and takes off ``env``, ``timeout`` and the
like itself. ``:*`` ends a word; a ``*`` is any text; rules for ``Edit`` count for every tool that writes files."""

CLIENT: Final = Client(
    name="claude-code",
    title="Claude Code",
    marks=("claude-json/.claude.json", "claude/"),
    files={"user": ("claude-json/.claude.json",), "project": ("project/.mcp.json",)},
    servers="mcpServers",
    form={"type": "stdio"},
    hooks=Hooks(
        files={"user": ("claude/settings.json",), "project": ("project/.claude/settings.local.json",)},
        events={
            "SessionStart": "",
            "UserPromptSubmit": "",
            "PostToolUse": "*",
            "PostToolUseFailure": "*",
            "Stop": "",
            "SessionEnd": "",
        },
        within=10,
        deny=DENY,
    ),
    then="begin a new session; /mcp shows the server and /hooks the hooks",
    manual="docs/how-to/claude-code.md",
)
