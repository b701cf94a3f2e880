"""Write a trained network as the int8 ONNX file that is shipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from calibrate import damp_layers
from graph import build_judge
from network import Network
from rows import stack
from weights import Affine

from thymus.judges.marks import Row

_PRODUCTS = ("qkv", "attention_out", "feed_in", "feed_out")


def export(net: Network, rows: Sequence[Row]) -> bytes:
    """The bytes of ``model.onnx``; ``rows`` show how large the inputs of each product become."""
    peaks = _peaks(net, rows)
    encoder = net.encoder()
    by_weight = {
        id(getattr(layer, name)): peaks[place, name] for place, layer in enumerate(encoder.layers) for name in _PRODUCTS
    }
    damped = damp_layers(encoder, lambda affine: by_weight[id(affine)])
    tables = {"sides": _array(net.side.weight), "marks": _array(net.mark.weight)}
    heads = {"relation": _head(net.relate), "kind": _head(net.classify)}
    return bytes(build_judge(damped, tables, heads).SerializeToString())


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
