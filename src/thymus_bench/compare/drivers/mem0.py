# mypy: ignore-errors
# ruff: noqa: ARG002, D102
"""Mem0 without a language model: ``infer=False``, its local vector store, the host's sentence model."""

from importlib.metadata import version
from pathlib import Path

from mem0 import Memory as Mem0

_DIMENSIONS = 384


class _Embedder:
    def __init__(self, embed):
        self.embed_texts = embed

    def embed(self, text, memory_action=None):
        return self.embed_texts([text], "query" if memory_action == "search" else "passage")[0]

    def embed_batch(self, texts, memory_action=None):
        return self.embed_texts(list(texts))


class Memory:
    """Everything is added; the nearest are found."""

    name, keyed, tells = "mem0", False, ""

    def __init__(self, folder, embed, variant):
        place = {"path": str(Path(folder) / "qdrant"), "embedding_model_dims": _DIMENSIONS, "on_disk": True}
        dummy = {"provider": "openai", "config": {"api_key": "none"}}
        self.memory = Mem0.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": place},
                "embedder": dummy,
                "llm": dummy,
                "history_db_path": str(Path(folder) / "history.db"),
            }
        )
        self.memory.embedding_model = _Embedder(embed)

    def version(self):
        return version("mem0ai")

    def remember(self, message):
        about = {"source": message["sender"], "verified": message["verified"], "key": message["key"]}
        self.memory.add(message["text"], user_id="u", metadata=about, infer=False)
        return {"outcome": "stored", "flags": []}

    def recall(self, question):
        found = self.memory.search(question["text"], top_k=8, filters={"user_id": "u"})["results"]
        return {"context": [one["memory"] for one in found], "told": []}

    def read(self, key):
        found = self.memory.get_all(filters={"user_id": "u"})["results"]
        return "\n".join(one["memory"] for one in found if one["metadata"]["key"] == key)

    def close(self):
        self.memory.close()
