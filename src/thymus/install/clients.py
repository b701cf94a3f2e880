"""The clients that can be connected, in the order that the documentation lists them."""

from __future__ import annotations

from typing import Final

from thymus.install import claude_code, claude_desktop, cursor, vscode
from thymus.install.client import Client

CLIENTS: Final[dict[str, Client]] = {
    client.name: client for client in (claude_code.CLIENT, claude_desktop.CLIENT, cursor.CLIENT, vscode.CLIENT)
}
