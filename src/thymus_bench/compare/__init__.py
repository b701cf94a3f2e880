"""Thymus beside its peers: each peer in an environment of its own, the same cases, one table."""
