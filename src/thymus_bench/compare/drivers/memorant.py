# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""Memorant: claims with trust tiers; the user's word on a known fact corrects the claim, as its guide has it."""

from importlib.metadata import version
from pathlib import Path

from memorant import MemorantStore, StoreConfig, TrustPolicy

_POLICY = TrustPolicy(
    rules=[{"source_type": "manual", "tier": "verified"}, {"source_type": "correction", "tier": "operator"}]
)


class Memory:
    """Searched from ``verified`` up, as its README does; what ranks lower is the nearest it has to a review."""

    name, keyed, tells = "memorant", True, "a search of lower tiers"

    def __init__(self, folder, embed, variant):
        self.store = MemorantStore(str(Path(folder) / "memorant.db"), StoreConfig(trust_policy=_POLICY))
        self.store.init()
        self.of_key = {}

    def version(self):
        return version("memorant")

    def remember(self, message):
        known = self.of_key.get(message["key"])
        if message["kind"] == "user" and known:
            made = self.store.correct_claim(known, message["text"], source_pointer=message["sender"])
        else:
            outside = "verified" if message["verified"] else "untrusted"
            tier = "operator" if message["kind"] == "user" else outside
            made = self.store.add_claim(message["text"], source_pointer=message["sender"], trust_tier=tier)
        self.of_key[message["key"]] = made
        claim = self.store.get_claim(made)
        return {"outcome": "stored" if claim.content == message["text"] else "altered", "flags": []}

    def recall(self, question):
        usable = [one.content for one in self.store.search(question["text"], limit=8, min_trust="verified")]
        every = [one.content for one in self.store.search(question["text"], limit=8)]
        return {"context": usable, "told": [text for text in every if text not in usable]}

    def read(self, key):
        claim = self.store.get_claim(self.of_key[key]) if key in self.of_key else None
        return claim.content if claim and claim.trust_tier in ("operator", "verified") else ""
