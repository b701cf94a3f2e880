"""Thymus over the Model Context Protocol: its callers are models, so nothing that they say of a source counts.

``server.build_server`` makes the server, ``program`` is the script ``thymus-mcp``. Needs ``thymus-memory[mcp]``.
"""
