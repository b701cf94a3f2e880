"""Held-out authors: pairs and sayings by writers whose every line was kept from training, each apart and together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dev_eval import claims, pairs
from dev_eval.figures import DataMissingError, Part, Sheet
from dev_eval.labelled import Pair, Saying, read_pairs, read_sayings, relate
from dev_eval.phenomena import by_group, language

FOLDER = Path(__file__).parent.parent / "training" / "authored"


def measure(folder: Path = FOLDER, judges: Sequence[str] = ("local", "typed")) -> Part:
    """Measure the judges on ``hold*.pairs.jsonl`` and ``hold*.claims.jsonl``.

    :raises DataMissingError: where the folder has neither.
    """
    both, sayings = held_pairs(folder), _held_sayings(folder)
    if not both and not sayings:
        raise DataMissingError(f"{folder} has no hold*.jsonl: the held-out authors are left out")
    found = [_pairs(both, judges)] if both else []
    found += [_claims(sayings, judges)] if sayings else []
    return Part(
        name="heldout",
        sheets=[sheet for part in found for sheet in part.sheets],
        figures={part.name: part.figures for part in found},
        misses=[miss for part in found for miss in part.misses],
        notes=list(dict.fromkeys(note for part in found for note in part.notes)),
    )


def held_pairs(folder: Path = FOLDER) -> list[Pair]:
    """The pairs of all held-out authors; none where there are none."""
    return [pair for path in sorted(folder.glob("hold*.pairs.jsonl")) for pair in read_pairs(folder, path.name)]


def _held_sayings(folder: Path) -> list[Saying]:
    return [one for path in sorted(folder.glob("hold*.claims.jsonl")) for one in read_sayings(folder, path.name)]


def _pairs(items: Sequence[Pair], judges: Sequence[str]) -> Part:
    relations, notes = relate(judges, items)
    sheets: list[Sheet] = []
    figures: dict[str, Any] = {}
    for author, places in _by_author([one.author for one in items]).items():
        own = {name: [some[place] for place in places] for name, some in relations.items()}
        title = f"Held-out pairs, {author}"
        found, figures[author] = pairs.report(
            title, [items[place] for place in places], own, kinds=len(places) == len(items)
        )
        sheets += found
    name, first = next(iter(relations.items()))
    answers = pairs.pair_up([pair.label for pair in items], [str(one.label) for one in first])
    languages = [language(pair.kind) for pair in items]
    sheet, figures["languages"] = by_group(f"Held-out pairs by language: {name}", "language", languages, answers)
    sheets += [sheet, pairs.worst("Held-out pairs", items, first)]
    return Part(name="pairs", sheets=sheets, figures=figures, misses=pairs.misses(items, first), notes=notes)


def _claims(items: Sequence[Saying], judges: Sequence[str]) -> Part:
    given, notes = claims.classify(judges, [one.statement for one in items])
    sheets: list[Sheet] = []
    figures: dict[str, Any] = {}
    for author, places in _by_author([one.author for one in items]).items():
        own = {name: [some[place] for place in places] for name, some in given.items()}
        found, figures[author] = claims.report(f"Held-out claims, {author}", [items[place] for place in places], own)
        sheets += found
    first = list(zip(items, next(iter(given.values())), strict=True))
    sheets += claims.listings("Held-out claims", first)
    return Part(name="claims", sheets=sheets, figures=figures, notes=notes)


def _by_author(authors: Sequence[str]) -> dict[str, list[int]]:
    """The places of each author's items, and of all items where there are several authors."""
    places: dict[str, list[int]] = {}
    for place, author in enumerate(authors):
        places.setdefault(author, []).append(place)
    return places | ({"all": list(range(len(authors)))} if len(places) > 1 else {})
