"""Write ``src/thymus/models/judge`` from a trained network: int8 weights, the regression in front, and the card.

    python training/judge/ship.py --network student.pt --wheels WHEELS --strangers ../shared/data/public

Temperatures are fitted on the held-out authors; the calibration error in the card is that of one author under the
temperature of the other. All figures are of the int8 file, through the code that ships.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path[:0] = [str(Path(__file__).parents[1] / "embedder"), str(Path(__file__).parents[2] / "src")]

import subject  # noqa: E402
import torch  # noqa: E402
from export import export  # noqa: E402
from figures import calibration_error, f1s, softmax  # noqa: E402
from rows import SPEAKERS  # noqa: E402
from train import load  # noqa: E402

from data import HELD, KINDS, LABELS, parted, read, strangers  # noqa: E402
from thymus.core.provenance import Source  # noqa: E402
from thymus.core.relations import CONFIRMED, DETECTED  # noqa: E402
from thymus.judges.encoder import FOLDER, load_network  # noqa: E402
from thymus.judges.local import LocalJudge  # noqa: E402
from thymus.judges.marks import LAYOUT  # noqa: E402
from thymus.judges.reading import read as read_text  # noqa: E402
from thymus.ports import Statement  # noqa: E402

TOKENIZER = "../e5-small/tokenizer.json"
SUBJECT_PAIRS = 12_000  # more make the regression in front no better
SHOWN = 400  # rows that show how large the inputs of each product become
LANGUAGES = {
    "spanish": "es", "french": "fr", "german": "de", "hindi": "hi", "hinglish": "hi-Latn", "portuguese": "pt",
    "italian": "it", "crosslingual": "crosslingual",
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", type=Path, required=True)
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--strangers", type=Path, nargs="*", default=[], help="files and folders of real mail and SMS")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--about", type=json.loads, default={}, help="more entries for the card, as JSON")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    pairs, held_pairs = parted(read("pairs"))
    claims, held_claims = parted(read("claims"))
    net, rower = load(options.network, options.wheels)
    chance = random.Random(1)
    shown = [rower.pair(p["a"], p["b"], p["a_speaker"], p["b_speaker"]) for p in chance.sample(pairs, SHOWN)]
    shown += [rower.statement(c["text"], c["speaker"]) for c in chance.sample(claims, SHOWN // 4)]
    (options.out / "model.onnx").write_bytes(export(net, shown))
    some = chance.sample(pairs, min(len(pairs), SUBJECT_PAIRS))
    weights, about_subject = subject.fit(some, strangers(options.strangers))
    np.savez_compressed(options.out / "subject.npz", **weights)
    card: dict[str, Any] = {
        "name": "judge",
        "layout": LAYOUT,
        "tokenizer": TOKENIZER,
        "ends": [rower.ends["first"], rower.ends["last"]],
        "temperatures": {"relation": 1.0, "kind": 1.0},
        "subject": about_subject,
    }
    _write_card(options.out, card)
    related, kinds = _logits(options.out, held_pairs, held_claims)
    card["temperatures"] = {
        "relation": round(_temperature(related, _labels(held_pairs, LABELS)), 3),
        "kind": round(_temperature(kinds, _labels(held_claims, KINDS)), 3),
    }
    _write_card(options.out, card)
    load_network.cache_clear()
    card |= {
        "what": "a transformer that reads a stored and an incoming statement together: do they contradict, say the "
        "same, or go together? And what kind of statement is one? Read by thymus/judges/encoder.py",
        "licence": "MIT",
        "from": "multilingual-e5-small (MIT, arXiv 2402.05672), layers and vocabulary as in training/judge/README.md",
        "trained_on": f"{len(pairs)} pairs and {len(claims)} statements written for this project by a language model, "
        "sentence by sentence under the briefs in training/authored (synthetic, not templated)",
        "attribution": "the regression in front also saw real SMS (Mishra & Soni 2022, CC BY 4.0) and mail "
        "(SpamAssassin, public domain) as pairs about different things",
        "held_out_authors": list(HELD),
        "figures": _figures(held_pairs, related, held_claims, kinds),
        **options.about,
        "files": {
            name: hashlib.sha256((options.out / name).read_bytes()).hexdigest()
            for name in ("model.onnx", "subject.npz")
        },
    }
    _write_card(options.out, card)
    print(json.dumps(card["figures"], indent=1)[:4000])


def _write_card(folder: Path, card: dict[str, Any]) -> None:
    (folder / "card.json").write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _logits(folder: Path, pairs: Sequence[Any], claims: Sequence[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """What the shipped file says, before temperatures."""
    load_network.cache_clear()
    network = load_network(folder)
    related = network.relate(
        [((read_text(p["a"]), SPEAKERS[p["a_speaker"]]), (read_text(p["b"]), SPEAKERS[p["b_speaker"]])) for p in pairs]
    )
    kinds = network.classify([(read_text(c["text"]), SPEAKERS[c["speaker"]]) for c in claims])
    return np.log(related + 1e-12), np.log(kinds + 1e-12)


def _labels(rows: Sequence[Any], labels: Sequence[str]) -> NDArray[Any]:
    return np.array([labels.index(row["label"]) for row in rows])


def _temperature(logits: NDArray[Any], truth: NDArray[Any]) -> float:
    """The temperature of least negative log likelihood (Guo et al. 2017, arXiv 1706.04599)."""
    tried = np.exp(np.linspace(np.log(0.5), np.log(4), 120))
    losses = [-np.log(softmax(logits / one)[np.arange(len(truth)), truth] + 1e-12).mean() for one in tried]
    return float(tried[int(np.argmin(losses))])


def _figures(pairs: Sequence[Any], related: NDArray[Any], claims: Sequence[Any], kinds: NDArray[Any]) -> dict[str, Any]:
    truth, given = _labels(pairs, LABELS), related.argmax(axis=1)
    families: dict[str, list[bool]] = {}
    for pair, right in zip(pairs, given == truth, strict=True):
        families.setdefault(pair["kind"], []).append(bool(right))
    return {
        "pairs": _scores(pairs, related, LABELS),
        **_thresholds(pairs, truth),
        "confusion, rows true": _confusion(truth, given, len(LABELS)),
        "by phenomenon": {
            kind: f"{sum(right)}/{len(right)}"
            for kind, right in sorted(families.items(), key=lambda item: (-len(item[1]), item[0]))
        },
        "by language": _languages(pairs, given == truth),
        "kinds": _scores(claims, kinds, KINDS),
        "kinds' confusion, rows true": _confusion(_labels(claims, KINDS), kinds.argmax(axis=1), len(KINDS)),
    }


def _scores(rows: Sequence[Any], logits: NDArray[Any], labels: Sequence[str]) -> dict[str, Any]:
    truth, files = _labels(rows, labels), np.array([row["file"] for row in rows])
    found: dict[str, Any] = {}
    errors = []
    for file in [*sorted(set(files)), "all"]:
        own = (files == file) | (file == "all")
        scores = f1s(truth[own], logits[own].argmax(axis=1), len(labels))
        found[file] = {
            "n": int(own.sum()),
            "accuracy": round(float((logits.argmax(axis=1) == truth)[own].mean()), 3),
            "macro F1": round(float(np.mean(scores)), 3),
            "F1": dict(zip(labels, (round(score, 3) for score in scores), strict=True)),
        }
        if file != "all":
            other = files != file
            warm = softmax(logits[own] / _temperature(logits[other], truth[other]))
            errors.append((calibration_error(truth[own], warm), int(own.sum())))
    found["all"]["ECE, each author under the others' temperature"] = round(
        sum(error * n for error, n in errors) / sum(n for _, n in errors), 3
    )
    return found


def _thresholds(pairs: Sequence[Any], truth: NDArray[Any]) -> dict[str, dict[str, float]]:
    """What the judge as a whole detects and confirms, the regression in front included."""
    speakers = {"u": Source.user(), "t": Source.parse("email:")}
    relations = LocalJudge().relate(
        [tuple(Statement(text=p[side], speaker=speakers[p[f"{side}_speaker"]]) for side in "ab") for p in pairs]
    )
    seen = {
        "detected": (DETECTED, np.array([relation.detected for relation in relations])),
        "confirmed": (CONFIRMED, np.array([relation.confirmed for relation in relations])),
    }
    return {
        name: {
            "from": cut,
            "precision": round(float((truth[found] == 0).mean()), 3),
            "recall": round(float(found[truth == 0].mean()), 3),
            "false on same": round(float(found[truth == 1].mean()), 3),
            "false on compatible": round(float(found[truth == 2].mean()), 3),
        }
        for name, (cut, found) in seen.items()
    }


def _confusion(truth: NDArray[Any], given: NDArray[Any], width: int) -> list[list[int]]:
    return [[int(((truth == one) & (given == two)).sum()) for two in range(width)] for one in range(width)]


def _languages(pairs: Sequence[Any], right: NDArray[Any]) -> dict[str, str]:
    """Right of all, for the pairs whose tag names a language; the rest is all but wholly English."""
    found: dict[str, list[bool]] = {}
    for pair, good in zip(pairs, right, strict=True):
        name = next((short for tag, short in LANGUAGES.items() if pair["kind"].startswith(tag)), "en and unnamed")
        found.setdefault(name, []).append(bool(good))
    return {name: f"{sum(good)}/{len(good)}" for name, good in sorted(found.items())}


if __name__ == "__main__":
    main()
