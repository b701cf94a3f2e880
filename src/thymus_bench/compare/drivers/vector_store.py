# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""The naive base line of agents with semantic memory: every text and its vector."""

import numpy as np


class Memory:
    """The nearest eight texts, whoever said them."""

    name, keyed, tells = "vector store", False, ""

    def __init__(self, folder, embed, variant):
        self.embed, self.texts, self.keys, self.vectors = embed, [], [], np.zeros((0, 0), np.float32)

    def version(self):
        return "-"

    def remember(self, message):
        self._add([message])
        return {"outcome": "stored", "flags": []}

    def fill(self, messages):
        self._add(messages)

    def recall(self, question):
        if not self.texts:
            return {"context": [], "told": []}
        near = np.argsort(
            -(self.vectors[: len(self.texts)] @ np.asarray(self.embed([question["text"]], "query")[0], np.float32))
        )[:8]
        return {"context": [self.texts[at] for at in near], "told": []}

    def read(self, key):
        return "\n".join(text for text, of in zip(self.texts, self.keys, strict=True) if of == key)

    def _add(self, messages):
        new = np.asarray(self.embed([one["text"] for one in messages]), np.float32)
        room = len(self.texts) + len(new)
        if room > len(self.vectors):
            grown = np.zeros((2 * room, new.shape[1]), np.float32)
            if self.texts:
                grown[: len(self.texts)] = self.vectors[: len(self.texts)]
            self.vectors = grown
        self.vectors[len(self.texts) : room] = new
        self.texts += [one["text"] for one in messages]
        self.keys += [one["key"] for one in messages]
