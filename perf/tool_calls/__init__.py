"""Measures what Thymus adds to a tool call of each agent framework. Run by ``make perf-tools``."""
