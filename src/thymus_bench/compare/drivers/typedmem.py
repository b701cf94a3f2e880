# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""TypedMem: one value a key; a weaker source that disagrees opens a conflict."""

from importlib.metadata import version

from typedmem import AgentMemory
from typedmem.state import StateConflict


class Memory:
    """Given the ideal key and value; while a conflict is open there is no current value."""

    name, keyed, tells = "typedmem", True, "an open conflict with both values and their sources"

    def __init__(self, folder, embed, variant):
        self.memory = AgentMemory()

    def version(self):
        return version("typedmem")

    def remember(self, message):
        outside = 0.7 if message["verified"] else 0.3
        authority = 1.0 if message["kind"] == "user" else outside
        self.memory.set(_key(message), message["value"], source=message["sender"], authority=authority)
        try:
            current = self.memory.get(_key(message))
        except StateConflict:
            return {"outcome": "held", "flags": ["conflict"]}
        return {"outcome": "stored" if current == message["value"] else "held", "flags": []}

    def recall(self, question):
        try:
            found = self.memory.get(_key(question))
        except StateConflict as conflict:
            return {"context": [], "told": [str(conflict)]}
        return {"context": [found] if found else [], "told": []}

    def read(self, key):
        return "\n".join(self.recall({"key": key})["context"])

    def close(self):
        self.memory.close()


def _key(named):
    return "fact." + "".join(letter if letter.isalnum() else "-" for letter in named["key"].lower())
