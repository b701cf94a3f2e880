# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""Memward over its own store: provenance by kind of source, a trust gate at retrieval."""

from importlib.metadata import version

from memward import Memward, SourceType, TrustTier
from memward.adapters import InMemoryStore


class Memory:
    """``variant="privileged"`` is retrieval for tool choice: only the user and verified tools pass."""

    name, keyed, tells = "memward", False, "a scan of what is quarantined"

    def __init__(self, folder, embed, variant):
        self.memory, self.privileged = Memward(InMemoryStore()), variant == "privileged"

    def version(self):
        return version("memward")

    def remember(self, message):
        outside = SourceType.TOOL_OUTPUT if message["verified"] else SourceType.WEB_CONTENT
        source = SourceType.USER if message["kind"] == "user" else outside
        added = self.memory.add(
            message["text"], source=source, source_id=message["sender"], metadata={"key": message["key"]}
        )
        return {"outcome": "held" if added.quarantined else "stored", "flags": added.record.provenance.flags}

    def recall(self, question):
        hits = self.memory.search(question["text"], k=8, privileged=self.privileged)
        return {
            "context": [hit.record.content for hit in hits],
            "told": [record.content for record in self.memory.store.all() if record.quarantined],
        }

    def read(self, key):
        floor = TrustTier.VERIFIED if self.privileged else TrustTier.UNVERIFIED
        of_key = [one for one in self.memory.store.all() if one.metadata["key"] == key]
        return "\n".join(one.content for one in of_key if one.provenance.trust >= floor)
