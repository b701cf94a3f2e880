"""Claude Desktop: one plain JSON file. On Windows its installer makes a package, whose settings live in its own folder.

The package's folder goes before the plain one, which exists beside it, is shown by the app's own *Edit Config* in some
versions, and is not read (anthropics/claude-code#26073). Servers are started with a handful of variables of the
environment, and values name none.
"""

from __future__ import annotations

from typing import Final

from thymus.install.client import Client

FILE: Final = "claude_desktop_config.json"

CLIENT: Final = Client(
    name="claude-desktop",
    title="Claude Desktop",
    marks=("settings/Claude", "packages/Claude_*"),
    files={"user": (f"packages/Claude_*/LocalCache/Roaming/Claude/{FILE}", f"settings/Claude/{FILE}")},
    servers="mcpServers",
    variable=None,
    then="quit Claude Desktop altogether (closing its window is not enough) and start it again",
    manual="docs/how-to/claude-desktop.md",
)
