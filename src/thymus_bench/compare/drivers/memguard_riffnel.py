# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""MemGuard (memguard-riffnel), ``balanced`` as it recommends, files below the folder."""

from importlib.metadata import version
from pathlib import Path

from memguard import MemGuard, MemGuardConfig

_OUTCOMES = {"allow": "stored", "quarantine": "held", "block": "refused"}


class Memory:
    """A keyed store behind a policy and drift detectors; the rate limit is lifted, else it stops at 100 writes."""

    name, keyed, tells = "memguard-riffnel", True, "a quarantine for reviewers"

    def __init__(self, folder, embed, variant):
        config = MemGuardConfig.preset("balanced")
        config.db_path, config.audit_path = str(Path(folder) / "m.db"), str(Path(folder) / "audit.jsonl")
        config.key_path = str(Path(folder) / "keys")
        config.rate_limits.max_writes_per_session = 10**9
        self.guard = MemGuard(config=config)

    def version(self):
        return version("memguard-riffnel")

    def remember(self, message):
        outside = "tool_output" if message["verified"] else "external_content"
        source_type = "user_input" if message["kind"] == "user" else outside
        result = self.guard.write(message["key"], message["text"], source_type=source_type, source_id=message["sender"])
        return {"outcome": _OUTCOMES[result.decision.value], "flags": list(result.reasons or [])}

    def recall(self, question):
        found = self.read(question["key"])
        held = [entry.content for entry in self.guard.quarantine.get_pending()]
        return {"context": [found] if found else [], "told": held}

    def read(self, key):
        return self.guard.read(key) or ""

    def close(self):
        self.guard.close()
