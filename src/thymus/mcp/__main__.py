"""``python -m thymus.mcp``."""

from thymus.mcp.program import main

main()
