# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""bastionmemory, a scanner of what an agent remembers, in front of a keyed store."""

from importlib.metadata import version

from bastionmemory import MemoryEntry
from bastionmemory.scanner import scan_report


class Memory:
    """``block`` refuses, ``review`` holds for the user, ``allow`` stores."""

    name, keyed, tells = "bastionmemory", True, "a report for reviewers"

    def __init__(self, folder, embed, variant):
        self.store, self.held = {}, []

    def version(self):
        return version("bastionmemory")

    def remember(self, message):
        report = scan_report("memory", [MemoryEntry(file="memory.md", line=1, text=message["text"])])
        outcome = {"allow": "stored", "review": "held", "block": "refused"}[report.verdict]
        if outcome == "stored":
            self.store[message["key"]] = message["text"]
        else:
            self.held.append(message["text"])
        return {"outcome": outcome, "flags": [finding.check for finding in report.findings]}

    def recall(self, question):
        found = self.store.get(question["key"])
        return {"context": [found] if found else [], "told": self.held}

    def read(self, key):
        return self.store.get(key, "")
