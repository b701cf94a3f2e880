"""Running bundled and given models on onnxruntime: one way to open them, one way to share work between threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def open_model(model: Path, tokenizer: Path) -> tuple[Any, Any]:
    """An inference session on one thread, and the tokenizer, which neither pads nor cuts.

    Whatever onnxruntime, tokenizers or the file system raises comes through: the caller knows the remedy.
    """
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    loaded = Tokenizer.from_str(tokenizer.read_text(encoding="utf-8"))
    loaded.no_padding()
    loaded.no_truncation()
    return session, loaded


def run_each(run: Callable[[T], R], items: Sequence[T], *, threads: int, name: str) -> list[R]:
    """``run`` of each item, in order, on so many threads called ``thymus-NAME``."""
    if threads == 1 or len(items) <= 1:
        return [run(item) for item in items]
    # A pool of its own for each call: kept threads would not survive a fork.
    with ThreadPoolExecutor(min(threads, len(items)), thread_name_prefix=f"thymus-{name}") as pool:
        return list(pool.map(run, items))
