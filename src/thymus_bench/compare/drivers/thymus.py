# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""Thymus as it comes, with its default gate."""

from thymus import MemoryGuard, __version__

_OUTCOMES = {"quarantined": "held", "contested": "held", "rejected": "refused"}


class Memory:
    """One guard in memory; every claim keeps its source."""

    name, keyed, tells = "thymus-memory", False, "a notice with each answer, and an inbox"

    def __init__(self, folder, embed, variant):
        self.guard = MemoryGuard()
        self.of_key = {}

    def version(self):
        return __version__

    def remember(self, message):
        written = self.guard.remember(**_arguments(message))
        self.of_key.setdefault(message["key"], []).extend(one.id for one in written.memories)
        outcome = _OUTCOMES.get(written.effect.value, "stored")
        return {"outcome": outcome, "flags": [*written.hazards, *written.reasons]}

    def recall(self, question):
        recalled = self.guard.recall(question["text"], k=8)
        held_back = [memory.text for memory in self.guard.inbox()]
        return {"context": [recalled.context], "told": [recalled.notice, *held_back]}

    def fill(self, messages):
        list(self.guard.remember_many(self.guard.message(**_arguments(one)) for one in messages))

    def read(self, key):
        """The claims of a key's messages that a model may be given, in their order and as they are kept."""
        active = {memory.id: memory.text for memory in self.guard.memories()}
        return " ".join(active[one] for one in self.of_key.get(key, []) if one in active)

    def close(self):
        self.guard.close()


def _arguments(message):
    given = {"text": message["text"], "source": message["sender"]}
    return given if message["kind"] == "user" else {**given, "authenticated": message["verified"]}
