"""Thymus in front of Mem0. Mem0 embeds, stores and retrieves; Thymus decides what is written, what replaces what and
what the model sees.

A ``MemoryGuard`` holds every claim with its provenance, in a file beside Mem0's own history. What is active is in Mem0
under the user's id; what was held back, replaced or rejected is on a shelf, under an id that no user has. A search
takes its candidates from Mem0 and lets the guard decide which of them stand before the model.
"""

from __future__ import annotations

from thymus.integrations.adapter import missing

try:
    import mem0 as _mem0  # noqa: F401
except ImportError as error:
    raise missing("mem0ai", "mem0") from error

from thymus.integrations.mem0.adoption import Adopted, Adoption
from thymus.integrations.mem0.aio import AsyncThymusMemory
from thymus.integrations.mem0.local import BundledEmbedder, local_memory
from thymus.integrations.mem0.memory import ThymusMemory

__all__ = ["Adopted", "Adoption", "AsyncThymusMemory", "BundledEmbedder", "ThymusMemory", "local_memory"]
