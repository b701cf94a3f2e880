"""A Mem0 that needs no key, no network and no model server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mem0 import AsyncMemory, Memory
from mem0.configs.base import MemoryConfig
from mem0.embeddings.base import EmbeddingBase

from thymus import config
from thymus.embed import get_embedder
from thymus.errors import ConfigError

if TYPE_CHECKING:
    import os

    from thymus.ports import Embedder


class BundledEmbedder(EmbeddingBase):  # type: ignore[misc, unused-ignore]
    """A Thymus embedder for Mem0: no key and no network.

    Build Mem0 with any embedder and ``embedding_model_dims`` 384, then set ``memory.embedding_model``.

    :param embedder: one by name (``e5-small``, ``minilm``), or a ``thymus.ports.Embedder``.
    """

    def __init__(self, embedder: str | Embedder = config.DEFAULT_EMBEDDER) -> None:
        super().__init__()
        self._embedder = get_embedder(embedder) if isinstance(embedder, str) else embedder
        self.config.embedding_dims = self._embedder.dim

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One vector."""
        return self.embed_batch([text], memory_action)[0]

    def embed_batch(self, texts: list[str], memory_action: str | None = "add") -> list[list[float]]:
        """One vector a text."""
        role_: Any = "query" if memory_action == "search" else "passage"
        return cast("list[list[float]]", self._embedder.embed(texts, role=role_).tolist())


def local_memory(
    folder: str | os.PathLike[str] | None = None,
    *,
    embedder: str | Embedder = config.DEFAULT_EMBEDDER,
    kind: type[Memory | AsyncMemory] = Memory,
) -> Any:
    """A Mem0 with no key, no network and no model server: Thymus's embedder, Qdrant and the history in a folder.

    It extracts nothing (``infer=True`` fails), since Thymus finds the claims.

    :param folder: where it is kept; ``None``: in this process, and gone with it.
    :param kind: ``Memory`` or ``AsyncMemory``.
    """
    embeds = BundledEmbedder(embedder)
    place = history = config.IN_MEMORY
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        place, history = str(Path(folder) / "qdrant"), str(Path(folder) / "history.db")
    unused = {"provider": "openai", "config": {"api_key": "none"}}  # Mem0 makes these before they can be replaced
    store = {"path": place, "embedding_model_dims": embeds.config.embedding_dims, "on_disk": folder is not None}
    made = MemoryConfig(
        embedder=unused,
        llm=unused,
        vector_store={"provider": "qdrant", "config": store},
        history_db_path=history,
    )
    memory = kind(made)
    memory.embedding_model, memory.llm = embeds, _NoModel()
    return memory


class _NoModel:
    """Stands where Mem0 has its language model."""

    def generate_response(self, *_: Any, **__: Any) -> str:
        raise ConfigError("this Mem0 has no language model: pass infer=False, or add through ThymusMemory")
