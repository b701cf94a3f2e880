# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""The naive base line of agents with structured memory: a dictionary."""


class Memory:
    """The last writer of a key wins."""

    name, keyed, tells = "keyed store", True, ""

    def __init__(self, folder, embed, variant):
        self.store = {}

    def version(self):
        return "-"

    def remember(self, message):
        self.store[message["key"]] = message["text"]
        return {"outcome": "stored", "flags": []}

    def recall(self, question):
        found = self.store.get(question["key"])
        return {"context": [found] if found else [], "told": []}

    def read(self, key):
        return self.store.get(key, "")
