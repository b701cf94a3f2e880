"""Claude Code, seen at version 2.1.197: servers in ``.claude.json`` or ``.mcp.json``, hooks in its settings.

All of them are plain JSON: a settings file with a comment is left unread without a word. Servers and hooks inherit the
environment, to which ``env`` of the settings adds. The settings of a project that are not committed are its
``settings.local.json``. Hooks are written in the form that starts no shell (``args``), so paths need no quoting.
"""

from __future__ import annotations

from typing import Final

from thymus.install.client import Client, Hooks

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
        deny="Bash(thymus:*)",
    ),
    then="begin a new session; /mcp shows the server and /hooks the hooks",
    manual="docs/how-to/claude-code.md",
)
