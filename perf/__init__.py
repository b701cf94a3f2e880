"""Measures Thymus beside a named baseline of the same run. Run by ``make perf``."""
