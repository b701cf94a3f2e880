# mypy: ignore-errors
# ruff: noqa: ARG002, D102, SLF001
"""OWASP Agent Memory Guard in the hardened set-up that its own suite grades best."""

from agent_memory_guard import MemoryGuard, PolicyViolation, __version__
from agent_memory_guard.bench.adapters.baseline import AMGHardenedAdapter

_OUTCOMES = {"allow": "stored", "redact": "altered", "quarantine": "held", "block": "refused"}


class Memory:
    """A keyed store behind detectors; a write replaces what stands under its key."""

    name, keyed, tells = "agent-memory-guard", True, "events and a quarantine for operators"

    def __init__(self, folder, embed, variant):
        self.guard: MemoryGuard = AMGHardenedAdapter()._guard

    def version(self):
        return __version__

    def remember(self, message):
        source_class = "user_input" if message["kind"] == "user" else "external_tool"
        seen = len(self.guard.events)
        try:
            outcome = _OUTCOMES[self.guard.write(message["key"], message["text"], source_class=source_class).value]
        except PolicyViolation:
            outcome = "refused"
        return {"outcome": outcome, "flags": [event.detector for event in self.guard.events[seen:]]}

    def recall(self, question):
        found = self.read(question["key"])
        return {"context": [found] if found else [], "told": [str(held) for held in self.guard.quarantine.values()]}

    def read(self, key):
        try:
            return self.guard.read(key) or ""
        except PolicyViolation:
            return ""
