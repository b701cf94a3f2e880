"""From names, paths and URLs to the parts that a guard is made of: the only place that chooses adapters.

Everything heavy is imported when it is first asked for.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from thymus.core.gates import DEFAULT_GATE
from thymus.errors import ConfigError, InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from thymus.llm import LimitedModel, Model
    from thymus.ports import Embedder, Extractor, Judge, Matrix, Store

DEFAULT_EMBEDDER: Final = "e5-small"
DEFAULT_JUDGE: Final = "local"
DEFAULT_USER: Final = "me"
DEFAULT_TENANT: Final = "default"
IN_MEMORY: Final = ":memory:"
LLM_CACHE: Final = "THYMUS_LLM_CACHE"
LLM_TIMEOUT: Final = "THYMUS_LLM_TIMEOUT"
LLM_ATTEMPTS: Final = 2
"""How often a guard asks a model that fails, before what is bundled takes over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the command line works with: flags over ``THYMUS_DB``, ``THYMUS_GATE``, ``THYMUS_LLM``, ``THYMUS_USER``."""

    db: str
    gate: str = DEFAULT_GATE
    llm: str | None = None
    user: str = DEFAULT_USER

    @classmethod
    def read(
        cls,
        *,
        db: str | None = None,
        gate: str | None = None,
        llm: str | None = None,
        user: str | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> Settings:
        """A flag that is given wins, then the environment, then the default."""
        return cls(
            db=db or environment.get("THYMUS_DB") or str(default_db()),
            gate=gate or environment.get("THYMUS_GATE") or DEFAULT_GATE,
            llm=llm or environment.get("THYMUS_LLM") or None,
            # An empty name is refused, not replaced: what was meant for somebody else must not land in this memory.
            user=user if user is not None else environment.get("THYMUS_USER", DEFAULT_USER),
        )


def default_db() -> Path:
    """Where the command line keeps its memory when nobody says otherwise: the data folder of this account."""
    import platformdirs

    return Path(platformdirs.user_data_dir("thymus", appauthor=False)) / "memory.db"


def now() -> datetime:
    """The present moment, in UTC."""
    return datetime.now(UTC)


class LazyEmbedder:
    """An embedder that is loaded when the first text comes, so that opening a guard costs nothing."""

    def __init__(self, name: str) -> None:
        self._asked = name
        self._loaded: Embedder | None = None
        self._lock = threading.Lock()

    def _load(self) -> Embedder:
        with self._lock:
            if self._loaded is None:
                from thymus.embed import get_embedder

                self._loaded = get_embedder(self._asked)
            return self._loaded

    @property
    def name(self) -> str:
        """The name under which vectors are stored."""
        return self._load().name

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._load().dim

    def embed(self, texts: Sequence[str], *, role: Literal["query", "passage"]) -> Matrix:
        """Load if need be, then embed."""
        return self._load().embed(texts, role=role)


def open_store(path: str | os.PathLike[str] | None, embedder: Embedder) -> Store:
    """Open (or create) the store that a path or URL names.

    ``None`` and ``":memory:"`` keep everything in this process; ``*.json`` is a readable snapshot file; every other
    path is a SQLite file. ``postgresql://…`` is a database.

    :raises ConfigError: for a URL that no store serves.
    :raises InputError: for what is neither.
    :raises StoreError: where the file cannot be used; the message says what would help.
    """
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise InputError(
            f"a memory is named by its path, not {type(path).__name__}: pass 'memory.db', 'memory.json' or ':memory:'"
        )
    where = os.fspath(path) if path is not None else IN_MEMORY
    made_for: dict[str, Any] = {"embedder": embedder.name, "dim": embedder.dim}
    if where == IN_MEMORY:
        from thymus.stores.memory import MemoryStore

        return MemoryStore(**made_for)
    if Path(where) == default_db():
        Path(where).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if "://" in where:
        scheme = where.split("://", 1)[0]
        if scheme in ("postgresql", "postgres"):
            return _postgres(where, made_for)
        raise ConfigError(
            f"no store serves {scheme}://: pass a file path (memory.db, memory.json), ':memory:' or postgresql://…"
        )
    if where.endswith(".json"):
        from thymus.stores.jsonfile import JsonFileStore

        return JsonFileStore(where, **made_for)
    from thymus.stores.sqlite import SqliteStore

    return SqliteStore(where, **made_for)


def _postgres(url: str, made_for: Mapping[str, Any]) -> Store:
    try:
        from thymus.stores.postgres.store import PostgresStore
    except ImportError as error:
        raise MissingExtraError(
            f"{error.name} is not installed, which PostgreSQL takes: pip install 'thymus-memory[postgres]'"
        ) from error
    return PostgresStore(url, **made_for)


def open_llm(llm: str | Model | None, max_cost: float | None) -> LimitedModel | None:
    """The language model that a guard asks, behind its limits; ``None`` where ``llm`` names a judge of another sort.

    Answers are not kept: they quote messages, and ``forget`` could not erase them there. ``THYMUS_LLM_CACHE`` names a
    folder to keep them in all the same.

    :param max_cost: US dollars that it may cost.
    :raises ConfigError: for a limit without a model.
    """
    if llm is None or (isinstance(llm, str) and not names_model(llm)):
        if max_cost is not None:
            raise ConfigError("max_cost limits what a language model costs: name one with llm, or leave it out")
        return None
    from thymus.judges import ONLY
    from thymus.llm import LimitedModel, open_model
    from thymus.llm.asking import DEFAULT_TIMEOUT_S
    from thymus.llm.names import has_list_price

    if isinstance(llm, LimitedModel):
        if max_cost is not None:
            raise ConfigError("this model keeps a limit of its own: leave max_cost out, or pass the model behind it")
        return llm
    if not isinstance(llm, str):
        return LimitedModel(llm, max_usd=max_cost)
    if max_cost is not None and not has_list_price(llm.removeprefix(ONLY)):
        raise ConfigError(f"{llm} has no list price, so no limit of its cost can be kept: leave the limit out")
    cache = os.environ.get(LLM_CACHE)
    model = open_model(
        llm.removeprefix(ONLY),
        cache=Path(cache) if cache else None,
        timeout=llm_timeout() or DEFAULT_TIMEOUT_S,
        attempts=LLM_ATTEMPTS,
    )
    return LimitedModel(model, max_usd=max_cost)


def names_model(llm: str | None) -> bool:
    """Whether it is the name of a language model, and not that of another judge."""
    if not llm:
        return False
    from thymus import llm as models
    from thymus.judges import ONLY

    return models.names_model(llm.removeprefix(ONLY))


def open_models(
    llm: str | Model | None, judge: str | Judge | None, embedder: Embedder, max_cost: float | None
) -> tuple[LimitedModel | None, Judge]:
    """The language model that a guard asks, and its judge.

    A model that ``llm`` names extracts, too, and says then what kind of statement each is; one that ``judge`` names
    judges alone.
    """
    if llm is None and isinstance(judge, str) and names_model(judge):
        model = open_llm(judge, max_cost)
        return model, _judge(judge, embedder, model, sorts=True)
    model = open_llm(llm, max_cost)
    if judge is None or judge == llm:
        name = llm if isinstance(llm, str) else None
        return model, _judge(name or DEFAULT_JUDGE, embedder, model, sorts=False)
    if model is not None and isinstance(judge, str) and names_model(judge):
        raise ConfigError(
            "llm and judge name two language models, which would not share one limit: name one of them, or pass an "
            "open judge, as get_judge(NAME, model=LimitedModel(open_model(NAME)))"
        )
    return model, open_judge(judge, embedder)


def open_judge(judge: str | Judge, embedder: Embedder) -> Judge:
    """The judge of that name, or the judge itself."""
    return _judge(judge, embedder, None, sorts=True) if isinstance(judge, str) else judge


def _judge(name: str, embedder: Embedder, model: LimitedModel | None, *, sorts: bool) -> Judge:
    from thymus.judges import get_judge

    within = llm_timeout() if model is not None else None
    return get_judge(name, embedder=embedder, rivals=model is None, model=model, sorts=sorts, within=within)


def llm_timeout() -> float | None:
    """Seconds that a language model may take for an extraction, and as many for a judgement; ``None`` for the default.

    :raises ConfigError: where ``THYMUS_LLM_TIMEOUT`` is no such number.
    """
    given = os.environ.get(LLM_TIMEOUT)
    if not given:
        return None
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 86_400:
        raise ConfigError(f"{LLM_TIMEOUT} is a number of seconds, such as 120, not {given[:40]!r}")
    return seconds


def readable(text: str) -> str:
    """HTML as the text that a person would see; any other text as it is."""
    if "<" not in text:
        return text
    from thymus.extract import looks_like_html, plain_text

    return plain_text(text) if looks_like_html(text) else text


def open_extractor(model: Model | None = None) -> Extractor:
    """The extractor that needs no model, or the one that asks it and has the other take over where it fails."""
    from thymus.extract import RuleExtractor

    rules = RuleExtractor()
    if model is None:
        return rules
    from thymus.llm.extractor import WITHIN_S, ModelExtractor

    return ModelExtractor(model, rules, falls_back=True, within=llm_timeout() or WITHIN_S)
