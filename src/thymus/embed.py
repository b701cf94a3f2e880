"""Sentence embedders: text in, vectors of unit length out.

`get_embedder` finds one by name. The two bundled models run on onnxruntime in a few milliseconds a text, with no
network; `hash` needs no model at all. The files, figures and licences of the bundled models are in
`docs/reference/models.md` and in `thymus/models/*/card.json`.

A text's vector depends on that text, its role and the embedder alone: each text is a run of its own, never padded or
quantised together with others, so that a message gets the same vector in bulk as alone, bit for bit. A batch is faster
because several texts run at the same time, on one thread each.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import threading
import unicodedata
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from thymus.errors import EmbedderError
from thymus.runtime import open_model, run_each

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from thymus.ports import Embedder

Role: TypeAlias = Literal["query", "passage"]

DEFAULT = "e5-small"
BUNDLED = ("e5-small", "minilm")
MAX_TOKENS = 256

_MODELS = Path(__file__).parent / "models"
_ROLES = ("query", "passage")
_READ_CHARACTERS = 65_536  # of a longer text, the rest is not looked at
_PIECE_CHARACTERS = 16  # no piece of a SentencePiece vocabulary is longer
CACHED_TEXTS = 4_096
"""Whose vectors are kept. A service for several users keeps none: how fast it answers would tell what others wrote."""


def get_embedder(name: str | Path = DEFAULT, *, threads: int | None = None, max_tokens: int = MAX_TOKENS) -> Embedder:
    """Return the embedder called `name`; nothing bundled is loaded before its first text.

    Args:
        name: `e5-small` (a hundred languages, the default), `minilm` (English, twice as fast), `hash` (words in
            common, for tests), or the path of an ONNX sentence model: a folder with `model.onnx` and `tokenizer.json`,
            or the `.onnx` file beside such a `tokenizer.json`. A path is loaded at once, so that its faults show early.
        threads: how many texts of a batch run at the same time; by default two, or one where there is one processor.
        max_tokens: what comes after so many tokens of a text is ignored.

    Raises:
        EmbedderError: no embedder has this name, or its files are missing or unfit.
    """
    if max_tokens < 8:
        raise EmbedderError(f"max_tokens is {max_tokens}; give at least 8, the prefix alone takes several")
    if threads is not None and threads < 1:
        raise EmbedderError(f"threads is {threads}; give 1 or more, or leave it out")
    threads = threads or min(2, os.cpu_count() or 1)
    if name == "hash":
        return HashEmbedder()
    if name in BUNDLED:
        return _bundled(str(name), threads, max_tokens)
    path = Path(name).expanduser()
    if isinstance(name, Path) or path.suffix == ".onnx" or len(path.parts) > 1 or path.is_dir():
        return _open_path(path, threads, max_tokens)
    known = ", ".join((*BUNDLED, "hash"))
    raise EmbedderError(f"no embedder is called {name!r}; use one of {known}, or the path of an ONNX model's folder")


@functools.lru_cache(maxsize=8)
def _bundled(name: str, threads: int, max_tokens: int) -> OnnxEmbedder:
    # Cached, so that all guards of a process share one copy of the weights.
    return OnnxEmbedder(_MODELS / name / "model.onnx", label=name, threads=threads, max_tokens=max_tokens)


def _open_path(path: Path, threads: int, max_tokens: int) -> OnnxEmbedder:
    model = path if path.suffix == ".onnx" else path / "model.onnx"
    embedder = OnnxEmbedder(model, label=model.resolve().parent.name, threads=threads, max_tokens=max_tokens)
    embedder.embed([""], role="passage")
    return embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class _Engine:
    """A loaded model: its session, its tokenizer, and the names of its inputs and of the output read."""

    session: Any
    tokenizer: Any
    inputs: tuple[str, ...]
    output: str


class OnnxEmbedder:
    """Any ONNX sentence model with a `tokenizer.json` beside it. Safe to share among threads.

    Inputs may be `input_ids`, `attention_mask`, `token_type_ids` and `position_ids`. The output is `sentence_embedding`
    where there is one, else the first; an output for every token is averaged (or its first token taken, where the card
    says `"pooling": "cls"`). An optional `card.json` gives `prefixes` (by role), `pooling`, `dim` and `positions` (the
    most tokens that the model can read).
    """

    def __init__(self, model: Path, *, label: str, threads: int = 1, max_tokens: int = MAX_TOKENS) -> None:
        """Note where the model is; it is loaded with the first text.

        Raises:
            EmbedderError: a file is missing, the card is unfit, or `max_tokens` exceeds the model's positions.
        """
        self._model, self._tokenizer = model, model.with_name("tokenizer.json")
        for file in (self._model, self._tokenizer):
            if not file.is_file():
                raise EmbedderError(
                    f"{file} is missing; an embedder needs {model.name} and tokenizer.json in one folder"
                )
        card = _read_card(model.with_name("card.json"))
        self._prefixes = {role: str(card.get("prefixes", {}).get(role, "")) for role in _ROLES}
        self._first_token = card.get("pooling") == "cls"
        if max_tokens > card.get("positions", max_tokens):
            raise EmbedderError(f"max_tokens is {max_tokens}; {label} reads {card['positions']} at most")
        self._threads, self._max_tokens = threads, max_tokens
        # The cards of the bundled models are tested against their files; another's may be older than the file.
        bundled = model.is_relative_to(_MODELS)
        files = card["files"] if bundled else {f.name: _sha256(f) for f in (self._model, self._tokenizer)}
        mark = hashlib.sha256(json.dumps([files, self._prefixes, self._first_token], sort_keys=True).encode())
        limit = "" if max_tokens == MAX_TOKENS else f"-{max_tokens}"
        self._name = f"{label}-{mark.hexdigest()[:8]}{limit}"
        self._dim: int | None = card.get("dim")
        self._lock = threading.Lock()
        self._engine: _Engine | None = None
        self._cache: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    @property
    def name(self) -> str:
        """The model's name and a mark of its files: two models whose vectors differ never share it."""
        return self._name

    @property
    def dim(self) -> int:
        """Length of a vector."""
        if self._dim is None:
            self.embed([""], role="passage")
        assert self._dim is not None  # noqa: S101 - for the type checker; embed has set it
        return self._dim

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return one row of unit length a text: shape (n, dim).

        Raises:
            EmbedderError: `texts` is not a sequence of strings, the role is unknown, or the model cannot be run.
        """
        import numpy as np

        _check(texts, role)
        prefix, longest = self._prefixes[role], self._max_tokens * _PIECE_CHARACTERS
        wanted = [prefix + _clean(text, longest) for text in texts]
        found = self._recall(wanted)
        new = [text for text in dict.fromkeys(wanted) if text not in found]
        if new:
            vectors = run_each(functools.partial(self._run, self._load()), new, threads=self._threads, name="embed")
            found |= zip(new, vectors, strict=True)
            self._keep(new, found)
        if not wanted:
            return np.empty((0, self.dim), np.float32)
        return np.stack([found[text] for text in wanted])

    def _recall(self, wanted: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        with self._lock:
            found = {text: self._cache[text] for text in wanted if text in self._cache}
            for text in found:
                self._cache.move_to_end(text)
        return found

    def _keep(self, new: Sequence[str], found: Mapping[str, NDArray[np.float32]]) -> None:
        with self._lock:
            self._cache.update((text, found[text]) for text in new[-CACHED_TEXTS:])
            while len(self._cache) > CACHED_TEXTS:
                self._cache.popitem(last=False)

    def _run(self, engine: _Engine, text: str) -> NDArray[np.float32]:
        import numpy as np

        ids = np.array([engine.tokenizer.encode(text).ids], np.int64)
        feeds = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.arange(ids.shape[1])[None],
        }
        try:
            output = engine.session.run([engine.output], {name: feeds[name] for name in engine.inputs})[0][0]
        except Exception as error:
            raise EmbedderError(
                f"{self._model} cannot read {ids.shape[1]} tokens: {error}; lower max_tokens"
            ) from error
        if output.ndim == 2:
            output = output[0] if self._first_token else output.mean(axis=0)
        if output.ndim != 1 or self._dim not in (None, output.shape[0]):
            raise EmbedderError(f"{self._model} gives no sentence vector; export it with the output sentence_embedding")
        self._dim = output.shape[0]
        return _unit(output)

    def _load(self) -> _Engine:
        if self._engine is None:
            with self._lock:
                if self._engine is None:
                    self._engine = _load_engine(self._model, self._tokenizer, self._max_tokens)
        return self._engine


def _load_engine(model: Path, tokenizer: Path, max_tokens: int) -> _Engine:
    try:
        session, loaded = open_model(model, tokenizer)
    except Exception as error:
        raise EmbedderError(
            f"{model} or its tokenizer.json cannot be loaded: {error}; export the model again"
        ) from error
    loaded.enable_truncation(max_length=max_tokens)
    inputs = tuple(node.name for node in session.get_inputs())
    unknown = set(inputs) - {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
    if unknown or "input_ids" not in inputs:
        raise EmbedderError(
            f"{model} has the inputs {', '.join(inputs)}; a sentence model of the BERT family is needed"
        )
    outputs = [node.name for node in session.get_outputs()]
    output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]
    return _Engine(session=session, tokenizer=loaded, inputs=inputs, output=output)


class HashEmbedder:
    """Words and parts of words in common, by feature hashing (Weinberger et al. 2009, arXiv 0902.2206).

    It knows no synonyms. It gives the same vectors in every process, on every platform, and needs no model: good for
    tests, and where nothing else can be installed.
    """

    name = "hash-1"
    dim = 256

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return one row of unit length a text: shape (n, 256). Both roles give the same vector.

        Raises:
            EmbedderError: `texts` is not a sequence of strings, or the role is unknown.
        """
        import numpy as np

        _check(texts, role)
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            words = re.findall(r"\w+", unicodedata.normalize("NFKC", _clean(text, _READ_CHARACTERS)).casefold())
            for word, count in Counter(words).items():
                for feature, weight in _features(word):
                    row[feature] += weight * count**0.5
            row[:] = _unit(row)
        return rows


@functools.lru_cache(maxsize=8_192)
def _features(word: str) -> tuple[tuple[int, float], ...]:
    """Column and signed weight of a word and of its character trigrams, which together weigh as much as the word."""
    padded = f"<{word[:32]}>"
    trigrams = [padded[at : at + 3] for at in range(len(padded) - 2)]
    features = []
    for feature, weight in [(word, 1.0), *((gram, len(trigrams) ** -0.5) for gram in trigrams)]:
        digest = hashlib.blake2b(feature.encode(), digest_size=4).digest()
        features.append((digest[0], weight if digest[1] & 1 else -weight))
    return tuple(features)


def _check(texts: Sequence[str], role: str) -> None:
    if role not in _ROLES:
        raise EmbedderError(f"the role is {role!r}; use 'query' for a question, 'passage' for what is stored")
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise EmbedderError("embed takes a list of strings; put a single text into a list")


def _clean(text: str, longest: int) -> str:
    """At most `longest` characters, spaces joined, and every lone surrogate replaced, which no tokenizer accepts."""
    text = " ".join(text[:_READ_CHARACTERS].split())[:longest]
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """`vector` at length one; a vector of zeros, which has no direction, becomes the first axis."""
    import numpy as np

    length = float(np.linalg.norm(vector))
    if not 0 < length < float("inf"):
        vector, length = np.eye(1, len(vector), dtype=np.float32)[0], 1.0
    return (vector / np.float32(length)).astype(np.float32)


def _read_card(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise EmbedderError(f"{path} is not valid JSON: {error}; correct or remove it") from error
    if not isinstance(card, dict) or not isinstance(card.get("prefixes", {}), dict):
        raise EmbedderError(f"{path} is not a model card: a JSON object whose prefixes are an object is needed")
    return card


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
