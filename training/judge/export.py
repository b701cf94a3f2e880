"""Write a trained network as the int8 ONNX file that is shipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from calibrate import damp_layers
from graph import build_judge
from network import Network
from rows import stack
from weights import Affine, Layer

from thymus.judges.marks import Row

LARGEST_PEAK = 16
"""Medians: four as for the embedder answers no better here, and costs two multiplications more a layer."""
_PRODUCTS = ("qkv", "attention_out", "feed_in", "feed_out")


def export(net: Network, rows: Sequence[Row]) -> bytes:
    """The bytes of ``model.onnx``; ``rows`` show how large the inputs of each product become."""
    peaks = _peaks(net, rows)
    encoder = net.encoder()
    by_weight = {
        id(getattr(layer, name)): peaks[place, name] for place, layer in enumerate(encoder.layers) for name in _PRODUCTS
    }
    damped = damp_layers(encoder, lambda affine: by_weight[id(affine)], largest=LARGEST_PEAK)
    damped = replace(damped, layers=tuple(_fold(layer) for layer in damped.layers))
    tables = {"sides": _array(net.side.weight), "marks": _array(net.mark.weight)}
    heads = {"relation": _head(net.relate), "kind": _head(net.classify)}
    return bytes(build_judge(damped, tables, heads).SerializeToString())


def _fold(layer: Layer) -> Layer:
    """What damps the mixed values is done by the weights that make them: between the two, all is linear."""
    damping = layer.attention_out.damping
    if damping is None:
        return layer
    values = np.concatenate([np.ones(2 * len(damping), np.float32), damping])
    qkv, out = layer.qkv, layer.attention_out
    return replace(
        layer,
        qkv=replace(qkv, weight=qkv.weight / values[:, None], bias=qkv.bias / values),
        attention_out=replace(out, weight=out.weight * damping, damping=None),
    )


def _peaks(net: Network, rows: Sequence[Row]) -> dict[tuple[int, str], Any]:
    net.eval()
    peaks: dict[tuple[int, str], Any] = {}
    hooks = []
    for place, block in enumerate(net.blocks):
        for name in _PRODUCTS:

            def observe(_: Any, given: tuple[torch.Tensor], key: tuple[int, str] = (place, name)) -> None:
                seen = given[0].detach().abs().amax(dim=(0, 1)).numpy()
                peaks[key] = np.maximum(peaks.get(key, np.float32(0)), seen)

            hooks.append(getattr(block, name).register_forward_pre_hook(observe))
    with torch.no_grad():
        for row in rows:
            net(*stack([row]))
    for hook in hooks:
        hook.remove()
    return peaks


def _head(head: torch.nn.Linear) -> Affine:
    return Affine(weight=_array(head.weight), bias=_array(head.bias))


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().float().numpy().copy()
