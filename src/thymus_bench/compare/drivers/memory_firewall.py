# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""AI Memory Firewall: claims labelled verified, reported or guessed by what the host attests."""

from importlib.metadata import version

from memory_firewall.backends import InMemoryBackend
from memory_firewall.store import GatedMemoryStore


class Memory:
    """The host attests the user's own words and, as far as it may, verified mail; what is usable is context."""

    name, keyed, tells = "memory-firewall", True, "labels on what is withheld"

    def __init__(self, folder, embed, variant):
        self.store, self.of_key, self.given = GatedMemoryStore(backend=InMemoryBackend()), {}, {}

    def version(self):
        return version("memory-firewall")

    def remember(self, message):
        of_user = message["kind"] == "user"
        written = self.store.remember(
            message["text"],
            source_reference=message["sender"],
            source_type="human_confirmed"
            if of_user
            else "direct_evidence"
            if message["verified"]
            else "external_signal",
            first_party_confirmation=of_user,
            content_attested=of_user or message["verified"],
            retrieved_at=None,
        )
        self.of_key.setdefault(message["key"], []).append(written.get("memory_id"))
        held = written["quarantined"] or not written["stored"]
        return {"outcome": "held" if held else "stored", "flags": [written["reason"]] if held else []}

    def recall(self, question):
        views = [view for one in self.of_key.get(question["key"], []) for view in self.store.recall(memory_id=one)]
        usable = [view["claim"] for view in views if view["usable_for_action"]]
        return {"context": usable, "told": [view["claim"] for view in views if not view["usable_for_action"]]}
