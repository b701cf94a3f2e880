"""The guarantees: an ID and one sentence each, and which of them the unsafe gates break."""

from __future__ import annotations

from typing import Final

GUARANTEES: Final = {
    "G1": "Outside content never becomes an active preference or instruction.",
    "G2": "A belief is superseded only by the user or by its own authenticated identity.",
    "G3": "Under a disclosing gate no contested value reaches the context, and each one related to a recalled belief "
    "is in the notice with its source.",
    "G4": "Verification never lowers caution.",
    "G5": "No read or effect crosses a scope.",
    "G6": "Every status change has a ledger row, and can be explained and undone.",
    "G7": "Revoking a source leaves the same beliefs as a history in which it never spoke.",
    "G8": "Any number of outside sources agreeing has no more effect than one of them.",
    "G9": "A claim derived from others never has more authority than the weakest of them.",
    "G10": "Sync, async and every store give identical decisions.",
    "G11": "What was acknowledged survives a kill at any instant; a changed ledger row is detected.",
    "G12": "A claim without authority never makes an active belief unavailable.",
    "G13": "Remembering the same message again, or what a recall returned, changes nothing.",
}

BROKEN: Final = {
    "allow-all": {"G1", "G3", "G13"},
    "user-only": {"G3"},
    "conflict-quarantine": {"G1", "G3", "G13"},
    "last-write-wins": {"G1", "G2", "G3", "G12", "G13"},
    "bounded-occupancy": {"G1", "G3", "G12", "G13"},
    "thymus": {"G2", "G3", "G12"},
    "thymus-v2-verified": {"G3", "G4"},
}
"""By gate, the guarantees that it breaks; ``test_baselines`` has a counterexample for each, and for no other."""
