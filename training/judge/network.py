"""The judge's network in PyTorch: a BERT encoder with two more embeddings a piece, and two heads.

``Encoder`` of ``training/embedder/weights.py`` goes in and comes out, so that ``training/embedder/graph.py`` can write
what was learned. The word embeddings stay as they are, in four bits: they are shared with nothing, and to train them
would cost more time than the rest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from weights import Affine, Encoder, Layer

from thymus.judges.marks import MARKS, SIDES

LABELS, KINDS = 3, 4


class Block(nn.Module):
    """One transformer layer."""

    def __init__(self, layer: Layer, heads: int, epsilon: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.attention_out = _linear(layer.qkv), _linear(layer.attention_out)
        self.feed_in, self.feed_out = _linear(layer.feed_in), _linear(layer.feed_out)
        self.attention_norm = _norm(layer.attention_norm, epsilon)
        self.feed_norm = _norm(layer.feed_norm, epsilon)

    def forward(self, x: Tensor, mask: Tensor, drop: float) -> Tensor:
        n, length, hidden = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        # Written out: the fused kernel's backward pass takes longer than all products together on a processor.
        weights = torch.softmax(q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5) + mask, -1, dtype=q.dtype)
        mixed = weights @ v
        mixed = self.attention_out(mixed.transpose(1, 2).reshape(n, length, hidden))
        x = self.attention_norm(x + _drop(mixed, drop))
        inner = self.feed_out(functional.gelu(self.feed_in(x)))
        return self.feed_norm(x + _drop(inner, drop))

    def layer(self) -> Layer:
        """As ``weights.Layer``."""
        return Layer(
            qkv=_affine(self.qkv),
            attention_out=_affine(self.attention_out),
            attention_norm=_affine(self.attention_norm),
            feed_in=_affine(self.feed_in),
            feed_out=_affine(self.feed_out),
            feed_norm=_affine(self.feed_norm),
        )


class Network(nn.Module):
    """Rows of ``thymus.judges.marks`` -> logits of the three labels and of the four kinds."""

    def __init__(self, encoder: Encoder, *, layers: list[int] | None = None, dropout: float = 0.1) -> None:
        """Start from an encoder, or from some of its layers."""
        super().__init__()
        self.source, self.dropout = encoder, dropout
        hidden = encoder.position.shape[1]
        self.register_buffer("word", torch.tensor(encoder.word.dense()), persistent=False)
        self.position = nn.Parameter(torch.tensor(np.array(encoder.position)))
        self.side, self.mark = nn.Embedding(SIDES, hidden), nn.Embedding(MARKS, hidden)
        for table in (self.side, self.mark):
            nn.init.normal_(table.weight, std=0.01)
        self.embedding_norm = _norm(encoder.embedding_norm, encoder.epsilon)
        kept = layers if layers is not None else range(len(encoder.layers))
        self.blocks = nn.ModuleList(Block(encoder.layers[n], encoder.heads, encoder.epsilon) for n in kept)
        self.relate, self.classify = nn.Linear(2 * hidden, LABELS), nn.Linear(2 * hidden, KINDS)
        for head in (self.relate, self.classify):
            nn.init.normal_(head.weight, std=0.02)
            nn.init.zeros_(head.bias)

    def forward(self, pieces: Tensor, sides: Tensor, marks: Tensor, lengths: Tensor) -> Tensor:
        """Pooled rows (n, 2 hidden): the first piece beside the mean of all."""
        drop = self.dropout if self.training else 0.0
        length = pieces.shape[1]
        there = torch.arange(length)[None] < lengths[:, None]
        x = self.word[pieces] + self.position[:length] + self.side(sides) + self.mark(marks)
        x = _drop(
            self.embedding_norm(x).bfloat16() if torch.is_autocast_enabled("cpu") else self.embedding_norm(x), drop
        )
        mask = torch.zeros(there.shape, dtype=x.dtype).masked_fill(~there, -1e4)[:, None, None, :]
        for block in self.blocks:
            x = block(x, mask, drop)
        mean = (x * there[..., None]).sum(1) / lengths[:, None]
        return functional.dropout(torch.cat([x[:, 0], mean], 1), drop, self.training)

    def encoder(self) -> Encoder:
        """What was learned, without side, mark and heads, as ``weights.Encoder``."""
        return replace(
            self.source,
            position=_array(self.position),
            embedding_norm=_affine(self.embedding_norm),
            layers=tuple(block.layer() for block in self.blocks),
        )


def _drop(x: Tensor, share: float) -> Tensor:
    """Dropout of whole features of a row, the same for all of its pieces: as good here, and a third faster to draw."""
    if not share:
        return x
    kept = torch.rand(x.shape[0], 1, x.shape[2]) >= share
    return x * (kept / (1 - share)).to(x.dtype)


def _linear(affine: Affine) -> nn.Linear:
    outputs, inputs = affine.weight.shape
    made = nn.Linear(inputs, outputs)
    made.weight.data, made.bias.data = torch.tensor(affine.weight.copy()), torch.tensor(affine.bias.copy())
    return made


def _norm(affine: Affine, epsilon: float) -> nn.LayerNorm:
    made = nn.LayerNorm(len(affine.bias), eps=epsilon)
    made.weight.data, made.bias.data = torch.tensor(affine.weight.copy()), torch.tensor(affine.bias.copy())
    return made


def _affine(module: Any) -> Affine:
    return Affine(weight=_array(module.weight), bias=_array(module.bias))


def _array(tensor: Tensor) -> Any:
    return tensor.detach().float().numpy().copy()
