"""BERT's forward pass in plain numpy and float32: the yardstick for the quantised graphs."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from weights import Affine, Encoder

    Array = NDArray[np.float32]
    Observer: TypeAlias = Callable[[Affine, Array], None]


def embed_ids(encoder: Encoder, word: Array, ids: Sequence[int], *, observe: Observer | None = None) -> Array:
    """The mean of the last layer's tokens at length one.

    Args:
        encoder: its layers, normalisations and positions.
        word: word embeddings, (vocabulary, hidden).
        ids: the text's tokens.
        observe: called with every matrix product and its input, (tokens, inputs).
    """

    def product(x: Array, affine: Affine) -> Array:
        if observe:
            observe(affine, x)
        return x @ affine.weight.T + affine.bias

    x = _normalise(word[np.asarray(ids)] + encoder.position[: len(ids)], encoder.embedding_norm, encoder.epsilon)
    for layer in encoder.layers:
        query, key, value = (
            part.reshape(len(ids), encoder.heads, -1).swapaxes(0, 1)
            for part in np.split(product(x, layer.qkv), 3, axis=1)
        )
        scores = query @ key.swapaxes(1, 2) / np.float32(sqrt(query.shape[2]))
        shares = np.exp(scores - scores.max(axis=2, keepdims=True))
        mixed = (shares / shares.sum(axis=2, keepdims=True) @ value).swapaxes(0, 1).reshape(len(ids), -1)
        x = _normalise(x + product(mixed, layer.attention_out), layer.attention_norm, encoder.epsilon)
        inner = _gelu(product(x, layer.feed_in))
        x = _normalise(x + product(inner, layer.feed_out), layer.feed_norm, encoder.epsilon)
    mean = x.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean), np.float32)


def _normalise(x: Array, affine: Affine, epsilon: float) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + np.float32(epsilon))
    return centred / spread * affine.weight + affine.bias


def _gelu(x: Array) -> Array:
    """x * Phi(x), with the error function by Abramowitz and Stegun 7.1.26 (error below 1.5e-7)."""
    z = np.abs(x) / np.float32(sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(x) * (1 - series * np.exp(-z * z))
    return np.asarray(x * (1 + erf) / 2, np.float32)
