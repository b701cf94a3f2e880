"""The figures of pairs, claims, families and recall on a folder of labelled data: ``python -m dev_eval``."""
