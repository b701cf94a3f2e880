# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""acrf-memory-guard: signed entries in a keyed store; it is about tampering at rest, not about who says what."""

from acrf_memory_guard import MemoryIntegrityError, __version__, read_safe, sign_entry

_KEY = "a key of this comparison"


class Memory:
    """Every write is signed, every read verified."""

    name, keyed, tells = "acrf-memory-guard", True, ""

    def __init__(self, folder, embed, variant):
        self.store = {}

    def version(self):
        return __version__

    def remember(self, message):
        self.store[message["key"]] = sign_entry({"text": message["text"], "source": message["sender"]}, _KEY)
        return {"outcome": "stored", "flags": []}

    def recall(self, question):
        found = self.read(question["key"])
        return {"context": [found] if found else [], "told": []}

    def read(self, key):
        try:
            return read_safe(self.store[key], _KEY)["text"] if key in self.store else ""
        except MemoryIntegrityError:
            return ""
