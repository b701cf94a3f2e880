"""The pure core: it alone decides. Standard library only; no IO, clock, randomness or logging."""
