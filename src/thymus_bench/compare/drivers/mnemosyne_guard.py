# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""Mnemosyne: a gateway with trust tiers by provenance, detectors and signed records."""

from importlib.metadata import version

from mnemosyne import MemoryGateway, MemorySurface, Provenance, Settings

_OUTCOMES = {"allow": "stored", "sanitize": "altered", "quarantine": "held", "deny": "refused"}


class Memory:
    """Its store is keyed by record; the newest record of the ideal key is read back through the gateway."""

    name, keyed, tells = "mnemosyne-guard", True, "a quarantine for reviewers"

    def __init__(self, folder, embed, variant):
        self.gateway = MemoryGateway(settings=Settings(integrity_key="a key of this comparison", log_level="ERROR"))
        self.of_key = {}

    def version(self):
        return version("mnemosyne-guard")

    def remember(self, message):
        outside = Provenance.TOOL_OUTPUT if message["verified"] else Provenance.EXTERNAL_WEB
        written = self.gateway.guard_write(
            content=message["text"],
            surface=MemorySurface.KNOWLEDGE,
            provenance=Provenance.USER_DIRECT if message["kind"] == "user" else outside,
            namespace="u",
            writer_id=message["sender"],
        )
        if written.allowed and written.record is not None:
            self.of_key[message["key"]] = written.record.id
        return {"outcome": _OUTCOMES[written.decision.value], "flags": list(written.reasons)}

    def recall(self, question):
        found = self.read(question["key"])
        held = [record.content for _, record in self.gateway.quarantine_store.list("u")]
        return {"context": [found] if found else [], "told": held}

    def read(self, key):
        if key not in self.of_key:
            return ""
        found = self.gateway.guard_read(namespace="u", record_id=self.of_key[key], reader_id="a")
        return found.record.content if found.allowed and found.record else ""
