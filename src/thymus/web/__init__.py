"""Thymus as a service: a REST API, MCP, and the inbox in the browser (extra ``[server]``)."""
