# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""The blunt base line: whatever the user did not say is not stored."""


class Memory:
    """A dictionary for the user alone."""

    name, keyed, tells = "user only", True, ""

    def __init__(self, folder, embed, variant):
        self.store = {}

    def version(self):
        return "-"

    def remember(self, message):
        if message["kind"] != "user":
            return {"outcome": "refused", "flags": []}
        self.store[message["key"]] = message["text"]
        return {"outcome": "stored", "flags": []}

    def recall(self, question):
        found = self.store.get(question["key"])
        return {"context": [found] if found else [], "told": []}

    def read(self, key):
        return self.store.get(key, "")
