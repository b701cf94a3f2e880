# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""memd: facts on entity keys; a new fact on a key replaces the old one, and low trust is fenced."""

from importlib.metadata import version

from memd import Memory as Memd


class Memory:
    """The ideal key is the entity key."""

    name, keyed, tells = "memd-engine", True, ""

    def __init__(self, folder, embed, variant):
        self.memory = Memd(folder)
        self.of_key = {}

    def version(self):
        return version("memd-engine")

    def remember(self, message):
        source = "user" if message["kind"] == "user" else ("tool" if message["verified"] else "web")
        self.memory.remember(message["text"], user_id="u", entity_keys=[message["key"]], source=source)
        self.of_key[message["key"]] = message["text"]
        return {"outcome": "stored", "flags": []}

    def recall(self, question):
        found = self.memory.search(question["text"], user_id="u", budget_tokens=2000)
        return {"context": [item.content for item in found.items[:8]], "told": []}

    def read(self, key):
        return self.of_key.get(key, "")

    def close(self):
        self.memory.close()
