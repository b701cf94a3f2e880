"""The program: the frame with every command in it, in the order that the help lists them."""

from __future__ import annotations

from thymus.cli import (
    accounts,
    actions,
    bulk,
    decisions,
    health,
    hooking,
    installing,
    judging,
    memories,
    serving,
    story,
    tokens,
)
from thymus.cli.frame import app

__all__ = ["app"]

for group in (
    story,
    memories,
    decisions,
    actions,
    accounts,
    health,
    judging,
    bulk,
    installing,
    hooking,
    serving,
    tokens,
):
    group.register(app)
