"""Find the inputs of each matrix product that are far larger than the rest, and damp them.

BERT has "massive activations": a few channels that reach ten to sixty times the median channel, for any text. With one
scale for all channels, they cost the others most of their precision. Each is divided by a constant and its weights
multiplied by it, as in SmoothQuant (Xiao et al. 2023, arXiv:2211.10438), but only where a channel exceeds the rest.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import reference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray
    from weights import Affine, Encoder

LARGEST_PEAK = 4  # medians: a channel whose peak is higher is damped down to it


def sentences(prefixes: Mapping[str, str]) -> list[str]:
    """The calibration texts, written for this purpose, with each prefix in turn."""
    lines = Path(__file__).with_name("calibration.txt").read_text(encoding="utf-8").splitlines()
    return [prefix + line for line in lines for prefix in prefixes.values()]


def damp(encoder: Encoder, texts: Sequence[Sequence[int]]) -> Encoder:
    """`encoder` with the damping that its products need on `texts`, each a list of token numbers."""
    word = encoder.word.dense()
    peaks: dict[int, NDArray[np.float32]] = {}

    def observe(affine: Affine, x: NDArray[np.float32]) -> None:
        peaks[id(affine)] = np.maximum(peaks.get(id(affine), np.float32(0)), np.abs(x).max(axis=0))

    for ids in texts:
        reference.embed_ids(encoder, word, ids, observe=observe)

    return damp_layers(encoder, lambda affine: peaks[id(affine)])


def damp_layers(
    encoder: Encoder, peak_of: Callable[[Affine], NDArray[np.float32]], *, largest: int = LARGEST_PEAK
) -> Encoder:
    """`encoder` with the damping that follows from the largest input that each channel of a product ever has."""

    def damped(affine: Affine) -> Affine:
        peak = peak_of(affine)
        # Powers of two, so that the same damping comes out wherever the calibration is run.
        factor = np.exp2(np.ceil(np.log2(np.maximum(1, peak / (largest * np.median(peak))))))
        return replace(affine, damping=factor.astype(np.float32)) if factor.max() > 1 else affine

    return replace(
        encoder,
        layers=tuple(
            replace(
                layer,
                qkv=damped(layer.qkv),
                attention_out=damped(layer.attention_out),
                feed_in=damped(layer.feed_in),
                feed_out=damped(layer.feed_out),
            )
            for layer in encoder.layers
        ),
    )
