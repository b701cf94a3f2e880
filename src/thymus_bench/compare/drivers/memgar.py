# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""Memgar's ``MemoryGuard`` in front of a keyed store."""

from importlib.metadata import version

from memgar import MemoryGuard

_KINDS = {"user": "user_input", "email": "email", "web": "webpage", "tool": "tool_output"}
_OUTCOMES = {"allow": "stored", "allow_sanitized": "altered", "quarantine": "held", "block": "refused"}


class Memory:
    """What it allows is stored in the form that it calls safe; what it quarantines is kept for a reviewer."""

    name, keyed, tells = "memgar", True, "a quarantine for reviewers"

    def __init__(self, folder, embed, variant):
        self.guard, self.store, self.held = MemoryGuard(session_id="s"), {}, []

    def version(self):
        return version("memgar")

    def remember(self, message):
        result = self.guard.process(
            message["text"],
            source_type=_KINDS[message["kind"]],
            source_id=message["sender"],
            verified=message["verified"],
        )
        outcome = _OUTCOMES[result.decision.value]
        if outcome in ("stored", "altered"):
            self.store[message["key"]] = result.safe_content
        elif outcome == "held":
            self.held.append(message["text"])
        found = [str(one) for one in result.threats_detected] or [result.block_reason] * (not result.allowed)
        return {"outcome": outcome, "flags": [str(one) for one in found]}

    def recall(self, question):
        found = self.store.get(question["key"])
        return {"context": [found] if found else [], "told": self.held}

    def read(self, key):
        return self.store.get(key, "")
