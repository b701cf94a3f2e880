# ruff: noqa: E501 - lines of the page, as its readers see them
"""Write ``docs/reference/judge.md`` from the judge's card, so that the page says what the file does.

python training/judge/page.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CARD = ROOT / "src/thymus/models/judge/card.json"
PAGE = ROOT / "docs/reference/judge.md"
LABELS = ("contradicts", "same", "compatible")
KINDS = ("fact", "preference", "instruction", "not_a_claim")


def main() -> None:
    card = json.loads(CARD.read_text(encoding="utf-8"))
    PAGE.write_text("\n".join(_lines(card)) + "\n", encoding="utf-8")


def _lines(card: dict[str, Any]) -> Iterator[str]:
    figures = card["figures"]
    yield from (
        "# The bundled judge",
        "",
        '`judge="local"`, the default, answers two questions without a key, a network or a model server: does an incoming',
        "statement *contradict* a stored one, say the *same*, or go together with it (*compatible*)? And is a statement a *fact*, a",
        "*preference*, an *instruction*, or no claim? The rules decide what follows; the judge decides nothing.",
        "",
        "This page is written from the card beside the weights (`src/thymus/models/judge/card.json`) by `training/judge/page.py`.",
        "",
        "## How it answers",
        "1. Typed values (times, dates, money, quantities, identifiers ...) are read and compared by rules.",
        "2. A logistic regression over shared words, typed values and the embeddings says whether two statements are about the same",
        "   thing. Most rivals that retrieval brings in are not, and are not read further.",
        "3. The network reads both statements together. Each piece of text carries who says it, and a mark: a word that the other",
        "   side has too, a value that the other side repeats, contradicts or lacks.",
        "4. Who only passes something on, doubts it or asks can contest a memory and never replaces one.",
        "",
        "`thymus explain ID` shows what it saw and how sure it was.",
        "",
        "## What it was made from",
        f"- {card['from']}.",
        f"- Trained on {card['trained_on']}.",
        f"- Attribution: {card['attribution']}.",
        f"- Licence of the weights: {card['licence']}. The word embeddings and the layers it started from: see `LICENSE` beside them.",
        f"- Never trained on: {', '.join(card['held_out_authors'])}, two authors with briefs of their own, and everything that is only",
        "  measured on.",
        *(f"- {line}" for line in card.get("labels", ())),
        "",
        "## Figures on the held-out authors, of the shipped file",
        "",
        "| pairs | n | accuracy | macro-F1 | " + " | ".join(f"F1 {label}" for label in LABELS) + " |",
        "|---|---|---|---|---|---|---|",
        *(_row(name, part, LABELS) for name, part in figures["pairs"].items()),
        "",
        "| statements | n | accuracy | macro-F1 | " + " | ".join(f"F1 {kind}" for kind in KINDS) + " |",
        "|---|---|---|---|---|---|---|---|",
        *(_row(name, part, KINDS) for name, part in figures["kinds"].items()),
        "",
    )
    error = "ECE, each author under the others' temperature"
    yield from (
        f"Calibration error (ECE, ten bins, each author under the temperature fitted on the other): {figures['pairs']['all'][error]} for",
        f"pairs, {figures['kinds']['all'][error]} for kinds.",
        "",
        "| threshold | precision | recall | false on same | false on compatible |",
        "|---|---|---|---|---|",
        *(
            f"| {name} ({at['from']}) | {at['precision']} | {at['recall']} | {at['false on same']} | {at['false on compatible']} |"
            for name, at in (("detected", figures["detected"]), ("confirmed", figures["confirmed"]))
        ),
        "",
        "A threshold t is right where a miss costs (1 - t) / t times as much as a false alarm: four times for *detected*, two thirds",
        "for *confirmed* (`thymus/core/relations.py` says what each mistake costs).",
        "",
    )
    for extra in card.get("tables", ()):
        yield from (f"### {extra['title']}", "", *extra["lines"], "")
    yield from (
        "### By phenomenon (right of all)",
        "",
        ", ".join(f"{kind} {share}" for kind, share in figures["by phenomenon"].items()) + ".",
        "",
        "### By language (right of all)",
        "",
        ", ".join(f"{name} {share}" for name, share in figures["by language"].items()) + ".",
        "",
        "## Limits",
        *(f"- {line}" for line in card.get("limits", ())),
    )


def _row(name: str, part: dict[str, Any], labels: tuple[str, ...]) -> str:
    scores = " | ".join(f"{part['F1'][label]:.2f}" for label in labels)
    return f"| {name} | {part['n']} | {part['accuracy']:.3f} | {part['macro F1']:.3f} | {scores} |"


if __name__ == "__main__":
    main()
