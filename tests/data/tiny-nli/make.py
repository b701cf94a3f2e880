"""Makes the tiny NLI models of this folder: run it with the packages ``onnx`` and ``tokenizers``.

They are not learnt; they compute. Of the hypothesis' words they count those that the premise lacks:

    contradiction = 4 * (missing values)
    neutral       = 2 + 3 * (missing words of the topic)
    entailment    = 4 - 8 * (missing words of either kind)

``model.onnx`` gives entailment, contradiction, neutral, told apart by ``token_type_ids``. ``untyped.onnx`` has
no such input and finds the hypothesis behind the first ``[SEP]``. ``two.onnx`` gives two numbers only.
"""

from __future__ import annotations

import json
from pathlib import Path

import onnx
from onnx import TensorProto, helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

HERE = Path(__file__).parent
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
SMALL = [*".:,'", "the", "is", "at", "in", "a", "s", "to", "now", "?"]
TOPIC = ["user", "my", "your", "i", "you", "standup", "pool", "open", "office", "rent", "moved", "sister", "heated"]
VALUES = [*(str(number) for number in range(60)), "monday", "friday", "berlin", "hamburg"]
FIRST_TOPIC = len(SPECIAL) + len(SMALL)
FIRST_VALUE = FIRST_TOPIC + len(TOPIC)
SEP = SPECIAL.index("[SEP]")


def make_model(*, typed: bool, order: tuple[str, ...]) -> onnx.ModelProto:
    constants = {
        "topic": FIRST_TOPIC,
        "value": FIRST_VALUE,
        "one": 1,
        "sep": SEP,
        "axis1": [1],
        "axis2": [2],
        "place": 1,
    }
    floats = {"two": 2.0, "three": 3.0, "four": 4.0, "eight": 8.0}
    node = helper.make_node
    nodes = [
        node("Equal", ["types", "one"], ["hypothesis"]),
        node("Not", ["hypothesis"], ["premise"]),
        node("Unsqueeze", ["input_ids", "axis2"], ["down"]),
        node("Unsqueeze", ["input_ids", "axis1"], ["across"]),
        node("Equal", ["down", "across"], ["alike"]),
        node("Unsqueeze", ["premise", "axis1"], ["in_premise"]),
        node("And", ["alike", "in_premise"], ["met"]),
        node("Cast", ["met"], ["met_number"], to=TensorProto.FLOAT),
        node("ReduceMax", ["met_number"], ["met_any"], axes=[2], keepdims=0),
        node("Cast", ["met_any"], ["present"], to=TensorProto.BOOL),
        node("Not", ["present"], ["absent"]),
        node("And", ["absent", "hypothesis"], ["missing"]),
        node("GreaterOrEqual", ["input_ids", "value"], ["is_value"]),
        node("GreaterOrEqual", ["input_ids", "topic"], ["is_word"]),
        node("And", ["missing", "is_value"], ["value_missing"]),
        node("And", ["missing", "is_word"], ["word_missing"]),
        node("Cast", ["value_missing"], ["value_number"], to=TensorProto.FLOAT),
        node("Cast", ["word_missing"], ["word_number"], to=TensorProto.FLOAT),
        node("ReduceSum", ["value_number", "axis1"], ["values"], keepdims=1),
        node("ReduceSum", ["word_number", "axis1"], ["words"], keepdims=1),
        node("Sub", ["words", "values"], ["topics"]),
        node("Mul", ["values", "four"], ["contradiction"]),
        node("Mul", ["topics", "three"], ["topics3"]),
        node("Add", ["topics3", "two"], ["neutral"]),
        node("Mul", ["words", "eight"], ["words8"]),
        node("Sub", ["four", "words8"], ["entailment"]),
        node("Concat", list(order), ["logits"], axis=1),
    ]
    if typed:
        nodes.insert(0, node("Identity", ["token_type_ids"], ["types"]))
    else:  # behind the first separator: so many were there before this piece
        nodes[:0] = [
            node("Equal", ["input_ids", "sep"], ["is_sep"]),
            node("Cast", ["is_sep"], ["sep_number"], to=TensorProto.INT64),
            node("CumSum", ["sep_number", "place"], ["types"], exclusive=1),
        ]
    used = {name for one in nodes for name in one.input}
    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if typed else [])]
    graph = helper.make_graph(
        nodes,
        "tiny-nli",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", len(order)])],
        [
            helper.make_tensor(
                name, TensorProto.INT64, [len(v)] if isinstance(v, list) else [], v if isinstance(v, list) else [v]
            )
            for name, v in constants.items()
            if name in used
        ]
        + [helper.make_tensor(name, TensorProto.FLOAT, [], [v]) for name, v in floats.items() if name in used],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def make_tokenizer() -> Tokenizer:
    vocabulary = {word: place for place, word in enumerate([*SPECIAL, *SMALL, *TOPIC, *VALUES])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", SPECIAL.index("[CLS]")), ("[SEP]", SEP)],
    )
    return tokenizer


def main() -> None:
    order = ("entailment", "contradiction", "neutral")
    onnx.save(make_model(typed=True, order=order), HERE / "model.onnx")
    onnx.save(make_model(typed=False, order=order), HERE / "untyped.onnx")
    onnx.save(make_model(typed=True, order=order[:2]), HERE / "two.onnx")
    make_tokenizer().save(str(HERE / "tokenizer.json"))
    config = {
        "id2label": {"0": "ENTAILMENT", "1": "contradiction", "2": "Neutral"},
        "max_position_embeddings": 512,
    }
    (HERE / "config.json").write_text(json.dumps(config, indent=1) + "\n")


if __name__ == "__main__":
    main()
