"""Public sets, where they are at hand: what the judges say of sentences that nobody wrote for this project.

Pairs are read by one rule. The *premise* of an inference set is what comes in, its *hypothesis* is what is stored: a
premise that entails the hypothesis says the *same* by the label policy ("re-expresses or entails it"), whether or not
the hypothesis entails it back; one that contradicts it *contradicts*; a neutral one is *compatible*. Judges are not
told who speaks.

* SICK, corrected (Marelli et al. 2014; Kalouli et al. 2023): captions, all three labels.
* FEVER-Symmetric (Schuster et al. 2019): evidence and a claim that it supports (*same*) or refutes (*contradicts*); no
  pair is *compatible*, so that answer is always wrong and macro F1 is the mean of two.
* ConjNLI (Saha et al. 2020): sentences with "and", "or", "but", all three labels.
* NotInject (Li & Liu 2024): harmless prompts with words of injections. False alarms are prompts taken for instructions,
  and detected contradictions among prompts paired at random.
"""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dev_eval import claims
from dev_eval.figures import SEED, DataMissingError, Part, Sheet, confusion, of, read_rows
from dev_eval.labelled import OUTSIDE, USER, Pair, relate, sample
from dev_eval.pairs import LABELS, overview, pair_up
from thymus.ports import Statement

MOST = 1_500
"""Items of a set at most, drawn at random with a seed."""
_LABELS = {
    "contradiction": "contradicts",
    "refutes": "contradicts",
    "entailment": "same",
    "supports": "same",
    "neutral": "compatible",
}


def measure(folder: Path, judges: Sequence[str] = ("local", "typed"), *, most: int = MOST) -> Part:
    """Measure the judges on every set that the folder has; the others are left out with a note."""
    sheets: list[Sheet] = []
    figures: dict[str, Any] = {}
    notes: list[str] = []
    readers: dict[str, Callable[[Path], list[Pair]]] = {"SICK": _sick, "FEVER-Symmetric": _fever, "ConjNLI": _conjnli}
    try:
        for name, reader in readers.items():
            try:
                pairs = sample(reader(folder / "nli"), most)
            except DataMissingError as error:
                notes.append(f"{name} is left out: {error}")
                continue
            relations, left_out = relate(judges, pairs)
            notes += left_out
            found, figures[name] = _inference(name, pairs, relations)
            sheets += found
        found, figures["NotInject"], left_out = _notinject(folder / "injection", judges, most)
        sheets += found
        notes += left_out
    except DataMissingError as error:
        notes.append(f"NotInject is left out: {error}")
    if not sheets:
        raise DataMissingError(f"{folder} has none of the public sets: they are left out")
    notes.append("Public pairs: hypothesis stored, premise incoming; entailed is same, neutral is compatible.")
    return Part(name="public", sheets=sheets, figures=figures, notes=list(dict.fromkeys(notes)))


def _inference(name: str, pairs: Sequence[Pair], relations: dict[str, Any]) -> tuple[list[Sheet], dict[str, Any]]:
    table, figures = overview(name, pairs, relations)
    first, found = next(iter(relations.items()))
    answers = pair_up([pair.label for pair in pairs], [str(one.label) for one in found])
    return [table, confusion(f"{name}: confusion of {first}", answers, LABELS)], figures


def _pair(place: int, premise: str, hypothesis: str, label: str) -> Pair:
    return Pair(
        name=str(place),
        stored=Statement(text=hypothesis),
        incoming=Statement(text=premise),
        label=_LABELS[label.strip().casefold()],
    )


def _sick(folder: Path) -> list[Pair]:
    rows = _table(folder / "sick_corrected.csv")
    return [_pair(n, row["sentence_A"], row["sentence_B"], row["entailment_label"]) for n, row in enumerate(rows)]


def _conjnli(folder: Path) -> list[Pair]:
    rows = _table(folder / "conjnli_dev.tsv")
    return [_pair(n, row["Premise"], row["Hypothesis"], row["Label"]) for n, row in enumerate(rows)]


def _fever(folder: Path) -> list[Pair]:
    rows = read_rows(folder, "fever_symmetric_dev.jsonl")
    return [_pair(n, row["evidence"], row["claim"], row["gold_label"]) for n, row in enumerate(rows)]


def _table(path: Path) -> list[dict[str, str]]:
    _need(path)
    with path.open(encoding="utf-8-sig", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def _need(path: Path) -> None:
    if not path.is_file():
        raise DataMissingError(f"{path} is not there")


def _notinject(folder: Path, judges: Sequence[str], most: int) -> tuple[list[Sheet], dict[str, Any], list[str]]:
    texts = []
    for path in sorted(folder.glob("NotInject_*.json")) or [folder / "NotInject_one.json"]:
        _need(path)
        texts += [row["prompt"] for row in json.loads(path.read_text(encoding="utf-8"))]
    texts = sample(texts, most)
    others = random.Random(SEED).sample(texts, len(texts))
    pairs = [
        Pair(name=str(n), stored=Statement(text=one), incoming=Statement(text=two), label="compatible")
        for n, (one, two) in enumerate(zip(texts, others, strict=True))
        if one != two
    ]
    relations, notes = relate(judges, pairs)
    figures: dict[str, Any] = {
        name: {"pairs": len(pairs), "detected": sum(one.detected for one in some)} for name, some in relations.items()
    }
    for speaker, told in ((USER, "user"), (OUTSIDE, "others")):
        given, _ = claims.classify(judges, [Statement(text=text, speaker=speaker) for text in texts])
        for name, kinds in given.items():
            figures[name][told] = dict(Counter(kinds))
    sheet = Sheet(
        title=f"NotInject ({len(texts)} harmless prompts): false alarms",
        columns=("judge", "instruction, said by the user", "instruction, said by others", "random pairs detected"),
        rows=[
            (
                name,
                *(of(found[told].get("instruction", 0), len(texts)) for told in ("user", "others")),
                of(found["detected"], found["pairs"]),
            )
            for name, found in figures.items()
        ],
    )
    return [sheet], figures, notes
