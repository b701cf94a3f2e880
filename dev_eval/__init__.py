"""The figures of judges, gates and embedders on labelled data: ``python -m dev_eval``, or ``make dev-eval``."""
