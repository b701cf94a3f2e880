"""Write an encoder as an ONNX graph that onnxruntime runs fast with no further optimisation.

The choices that make it fast and faithful; each was measured against its plain form:

* Matrix products are `DynamicQuantizeMatMul`: int8 weights with one scale an output, uint8 activations with one scale
  a product. That scale depends on every token in the product, so the runner embeds one text at a time: a text's vector
  then never depends on its companions in a batch.
* Weights stay within seven bits, [-63, 63]: on processors without VNNI, two eight-bit products can overflow the 16-bit
  sums of onnxruntime's kernel, and the same text would get another vector there.
* A few inputs are ten times as large as the rest, whatever the text, and would leave the others little of the uint8
  range. They are damped first (calibrate.py), at the price of one multiplication.
* onnxruntime's LayerNormalization is not vectorised and its SimplifiedLayerNormalization (root mean square) is. The
  first is the second after the mean is subtracted; the shift is folded into the biases that follow it.

Word embeddings are looked up in four bits, as published. Operators of the domain `com.microsoft` are described in
onnxruntime's docs/ContribOperators.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from weights import BLOCK, Affine, Encoder, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto

    Array = NDArray[np.float32]

LARGEST = 63  # seven bits, signed and symmetric
_CONTRIB = "com.microsoft"


class _Graph:
    """Nodes and initialisers in the order in which they are added; each method returns the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initialisers: list[Any] = []

    def constant(self, name: str, value: NDArray[Any]) -> str:
        self.initialisers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, op: str, inputs: list[str], *outputs: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, list(outputs), outputs[0], domain=domain, **attributes))
        return outputs[0]

    def product(self, x: str, affine: Affine, output: str, *, bias: Array) -> str:
        """`x @ affine.weight.T + bias`, in seven-bit weights."""
        weight = affine.weight
        if affine.damping is not None:
            factor = self.constant(f"{output}.damping", (1 / affine.damping).astype(np.float32))
            x = self.node("Mul", [x, factor], f"{output}.damped")
            weight = weight * affine.damping
        scale = np.maximum(np.abs(weight).max(axis=1), np.float32(1e-12)) / np.float32(LARGEST)
        codes = np.rint(weight / scale[:, None]).astype(np.int8)
        inputs = [
            x,
            self.constant(f"{output}.weight", codes.T),
            self.constant(f"{output}.scale", scale.astype(np.float32)),
            "",
            self.constant(f"{output}.bias", bias.astype(np.float32)),
        ]
        return self.node("DynamicQuantizeMatMul", inputs, output, domain=_CONTRIB)

    def lookup(self, ids: str, table: Table, output: str) -> str:
        """The rows of `table` that `ids` number, as float32."""
        nibbles = table.codes.reshape(-1).astype(np.uint8) & 15
        packed = (nibbles[::2] | nibbles[1::2] << 4).tobytes()
        name = f"{output}.table"
        self.initialisers.append(helper.make_tensor(name, TensorProto.INT4, table.codes.shape, packed, raw=True))
        inputs = [name, ids, self.constant(f"{output}.scale", table.scales)]
        half = f"{output}.half"
        sizes = {"gather_axis": 0, "quantize_axis": 1, "block_size": BLOCK}
        self.node("GatherBlockQuantized", inputs, half, domain=_CONTRIB, **sizes)
        return self.node("Cast", [half], output, to=TensorProto.FLOAT)

    def normalise(self, x: str, gamma: Array, epsilon: float, output: str) -> str:
        """Layer normalisation of `x` without its shift."""
        mean = self.node("ReduceMean", [x, "last"], f"{output}.mean", keepdims=1)
        centred = self.node("Sub", [x, mean], f"{output}.centred")
        scale = self.constant(f"{output}.gamma", gamma)
        return self.node("SimplifiedLayerNormalization", [centred, scale], output, axis=-1, epsilon=epsilon)


def build_model(encoder: Encoder) -> ModelProto:
    """`input_ids` (texts, tokens) int64, without padding -> `sentence_embedding` (texts, hidden) float32, unit rows."""
    graph = _Graph()
    x, shift = _encode(graph, encoder, "input_ids")
    mean = graph.node("ReduceMean", [x, "one"], "mean", keepdims=0)
    shifted = graph.node("Add", [mean, graph.constant("shift", shift)], "shifted")
    graph.node("LpNormalization", [shifted], "sentence_embedding", axis=-1, p=2)
    return _model("sentence_encoder", graph, ["input_ids"], {"sentence_embedding": len(shift)})


def build_judge(encoder: Encoder, tables: dict[str, Array], heads: dict[str, Affine]) -> ModelProto:
    """`pieces` and the inputs that `tables` are named after, (1, tokens) int64 -> logits of each head, (1, answers).

    A table's rows are added to the word embeddings. A head reads the first piece beside the mean of all pieces.
    """
    graph = _Graph()
    x, shift = _encode(graph, encoder, "pieces", tables)
    mean = graph.node("ReduceMean", [x, "one"], "mean", keepdims=0)
    first = graph.node("Squeeze", [graph.node("Slice", [x, "zero", "one", "one"], "first.piece"), "one"], "first")
    pooled = graph.node("Concat", [first, mean], "pooled", axis=-1)
    for name, head in heads.items():
        weight = graph.constant(f"{name}.weight", head.weight.T.astype(np.float32))
        bias = head.bias + head.weight @ np.concatenate([shift, shift])
        product = graph.node("MatMul", [pooled, weight], f"{name}.product")
        graph.node("Add", [product, graph.constant(f"{name}.bias", bias.astype(np.float32))], name)
    return _model("judge", graph, ["pieces", *tables], {name: len(head.bias) for name, head in heads.items()})


def _encode(graph: _Graph, encoder: Encoder, ids: str, tables: dict[str, Array] | None = None) -> tuple[str, Array]:
    """The last layer's rows, and the shift that they lack."""
    positions, hidden = encoder.position.shape
    for name, value in (("zero", 0), ("one", 1), ("last", -1)):
        graph.constant(name, np.array([value], np.int64))

    # `x` lacks the shift of the normalisation that made it: the bias of each product that reads `x` makes up for it,
    # and so does the bias of the product that is added to `x`.
    def expand(x: str, shift: Array, affine: Affine, output: str) -> str:
        return graph.product(x, affine, output, bias=affine.bias + affine.weight @ shift)

    def contract(y: str, affine: Affine, x: str, shift: Array, norm: Affine, output: str) -> str:
        product = graph.product(y, affine, f"{output}.product", bias=affine.bias + shift)
        total = graph.node("Add", [x, product], f"{output}.sum")
        return graph.normalise(total, norm.weight, encoder.epsilon, output)

    word = graph.lookup(ids, encoder.word, "word")
    length = graph.node("Shape", [ids], "length", start=1, end=2)
    table = graph.constant("position.table", encoder.position.reshape(1, positions, hidden))
    position = graph.node("Slice", [table, "zero", length, "one"], "position")
    total = graph.node("Add", [word, position], "embedding.sum")
    for name, rows in (tables or {}).items():
        added = graph.node("Gather", [graph.constant(f"{name}.table", rows), name], f"{name}.rows")
        total = graph.node("Add", [total, added], f"{name}.sum")
    x = graph.normalise(total, encoder.embedding_norm.weight, encoder.epsilon, "embedding")
    shift = encoder.embedding_norm.bias
    for n, layer in enumerate(encoder.layers):
        at = f"layer{n}"
        qkv = expand(x, shift, layer.qkv, f"{at}.qkv")
        parts = [f"{at}.{part}" for part in ("query", "key", "value")]
        graph.node("Split", [qkv], *parts, axis=-1, num_outputs=3)
        mixed = graph.node("MultiHeadAttention", parts, f"{at}.mixed", domain=_CONTRIB, num_heads=encoder.heads)
        x = contract(mixed, layer.attention_out, x, shift, layer.attention_norm, f"{at}.attended")
        shift = layer.attention_norm.bias
        inner = graph.node("Gelu", [expand(x, shift, layer.feed_in, f"{at}.in")], f"{at}.gelu", domain=_CONTRIB)
        x = contract(inner, layer.feed_out, x, shift, layer.feed_norm, at)
        shift = layer.feed_norm.bias
    return x, shift


def _model(title: str, graph: _Graph, inputs: list[str], outputs: dict[str, int]) -> ModelProto:
    return helper.make_model(
        helper.make_graph(
            graph.nodes,
            title,
            [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in inputs],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["texts", size]) for n, size in outputs.items()],
            graph.initialisers,
        ),
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(_CONTRIB, 1)],
        ir_version=10,
        producer_name="thymus",
    )
