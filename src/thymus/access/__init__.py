"""Who may reach a memory over HTTP, from where, and how often: for the MCP server and the service alike."""
