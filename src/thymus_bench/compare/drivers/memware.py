# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""memware's belief ledger, given the triple that an ideal extraction would give and how far each source is trusted."""

from importlib.metadata import version
from pathlib import Path

from memware import Policy, Store, assert_belief, current
from memware.index import search_beliefs_multi
from memware.instruction import instruction_shaped
from memware.review import open_reviews

_OUTCOMES = {"pending_review": "held", "await_confirmation": "held"}


class Memory:
    """A new value supersedes; a less reliable challenger goes to review."""

    name, keyed, tells = "memware", True, "a review queue"

    def __init__(self, folder, embed, variant):
        self.store, self.clock = Store(str(Path(folder) / "memware.db")), 0

    def version(self):
        return version("memware")

    def remember(self, message):
        self.clock += 1
        outside = 0.7 if message["verified"] else 0.3
        result = assert_belief(
            self.store,
            message["subject"],
            message["relation"],
            message["value"],
            valid_from=f"2026-01-01T{self.clock // 3600 % 24:02}:{self.clock // 60 % 60:02}:{self.clock % 60:02}Z",
            source=message["sender"],
            reliability=1.0 if message["kind"] == "user" else outside,
            policy=Policy.GATE_CONFLICTS,
        )
        order = instruction_shaped(message["subject"], message["relation"], message["value"])
        return {"outcome": _OUTCOMES.get(result.outcome.value, "stored"), "flags": [order] if order else []}

    def recall(self, question):
        asked = [question["text"], f"{question['subject']} {question['relation']}"]
        hits = search_beliefs_multi(self.store, asked, k=8)
        usable = [hit.text for hit in hits if not instruction_shaped(hit.subject, hit.relation, hit.text)]
        return {"context": usable, "told": [item.candidate_value for item in open_reviews(self.store)]}

    def read(self, key):
        rows = current(self.store, key)
        return "\n".join(row["value"] for row in rows if not instruction_shaped("", "", row["value"]))

    def close(self):
        self.store.close()
