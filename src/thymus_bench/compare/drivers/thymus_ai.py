# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""thymus-ai (no relation to this project), over its own generic store."""

from importlib.metadata import version

from thymus.adapters import DictStore, GenericAdapter

from thymus import wrap


class Memory:
    """Screened before a write lands and again when it is read."""

    name, keyed, tells = "thymus-ai", False, "a quarantine for reviewers"

    def __init__(self, folder, embed, variant):
        self.store = DictStore()
        self.memory = wrap(GenericAdapter(self.store))

    def version(self):
        return version("thymus-ai")

    def remember(self, message):
        of_user = message["kind"] == "user"
        result = self.memory.add(
            message["text"],
            user_id="u",
            channel="user_chat" if of_user else {"tool": "tool_output"}.get(message["kind"], "web"),
            origin_trust_tier="trusted" if of_user else ("standard" if message["verified"] else "untrusted"),
            uri=message["sender"],
            metadata={"key": message["key"]},
        )
        flags = self.memory.audit.records[-1]["assessment"].get("taint_flags", [])
        return {"outcome": "held" if getattr(result, "held", False) else "stored", "flags": list(flags)}

    def recall(self, question):
        hits = self.memory.search(question["text"], user_id="u")[:8]
        held = [candidate.text for candidate, _ in self.memory.quarantine.pending()]
        return {"context": [hit.text for hit in hits], "told": held}

    def read(self, key):
        return "\n".join(row["text"] for row in self.store.rows.values() if row["metadata"].get("key") == key)
