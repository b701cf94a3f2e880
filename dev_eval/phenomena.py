"""Phenomena: what makes a pair hard, as its author tagged it, and the families that tags of few pairs are read in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dev_eval.figures import Answers, Sheet, accuracy, of, scores
from dev_eval.labelled import Pair

FAMILIES = {
    "values": """amount_change time_change date_change identifier_change lookalike_value number_format time_format
        date_format identifier_format currency_format unit_conversion timezone number_coincidence""",
    "entity": """other_entity other_person other_attribute other_scope other_leg different_scope additive multi_valued
        refinement""",
    "modality": """plan wish question hypothetical conditional reported_or_quoted exception one_off temporary past
        warning limited_evidence""",
    "implicit": "implicit_update entailment",
    "negation": "negation negation_equiv antonym denial confirmed",
    "language": "spanish french german hindi hinglish crosslingual",
    "noise": "noisy_update noisy_other noisy_same typo_casual terse",
}
REST = "plain"
"""The family of every other tag: places, states, roles and policies that change in so many words, paraphrases."""
LANGUAGES = {tag: tag.capitalize() for tag in FAMILIES["language"].split()} | {"crosslingual": "two languages"}
UNTAGGED = "English or untagged"

_FAMILY = {kind: family for family, kinds in FAMILIES.items() for kind in kinds.split()}


def family(kind: str) -> str:
    """The family of a tag."""
    return _FAMILY.get(kind, REST)


def language(kind: str) -> str:
    """The language, where the tag says so."""
    return LANGUAGES.get(kind, UNTAGGED)


def by_phenomenon(
    title: str, pairs: Sequence[Pair], answers: Sequence[tuple[str, str]], *, kinds: bool
) -> tuple[Sheet, dict[str, Any]]:
    """Each family, and within it (where ``kinds``) each tag, worst first.

    Most tags are of one label, so F1 alone would mislead: missed and falsely seen contradictions stand beside it.
    """
    families = _group([family(pair.kind) for pair in pairs], answers)
    tags = _group([pair.kind for pair in pairs], answers)
    rows = []
    for name in _ranked(families):
        rows.append(_row(name, families[name]))
        own = {tag: some for tag, some in tags.items() if family(tag) == name}
        rows += [_row(f"  {tag}", own[tag]) for tag in _ranked(own)] if kinds else []
    figures = {
        "families": {name: _figures(some) for name, some in families.items()},
        "kinds": {tag: _figures(some) for tag, some in tags.items()},
    }
    return _sheet(f"{title}: by phenomenon, worst first", "phenomenon", rows), figures


def by_group(
    title: str, column: str, names: Sequence[str], answers: Sequence[tuple[str, str]]
) -> tuple[Sheet, dict[str, Any]]:
    """The same columns for any other grouping of the items (a name each): authors, languages."""
    groups = _group(names, answers)
    rows = [_row(name, groups[name]) for name in sorted(groups)]
    return _sheet(title, column, rows), {name: _figures(some) for name, some in groups.items()}


def _group(names: Sequence[str], answers: Sequence[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, answer in zip(names, answers, strict=True):
        groups.setdefault(name, []).append(answer)
    return groups


def _ranked(groups: dict[str, list[tuple[str, str]]]) -> list[str]:
    return sorted(groups, key=lambda name: (accuracy(groups[name]), -len(groups[name]), name))


def _sheet(title: str, column: str, rows: list[tuple[str, ...]]) -> Sheet:
    columns = (column, "n", "accuracy", "F1 contradicts", "contradictions missed", "taken for one")
    return Sheet(title=title, columns=columns, rows=rows)


def _row(name: str, answers: Answers) -> tuple[str, ...]:
    found = _figures(answers)
    f1 = found["f1_contradicts"]
    return (
        name,
        str(found["n"]),
        f"{found['accuracy']:.2f}",
        "–" if f1 is None else f"{f1:.2f}",
        of(found["missed"], found["contradictions"]),
        of(found["false"], found["n"] - found["contradictions"]),
    )


def _figures(answers: Answers) -> dict[str, Any]:
    items = list(answers)
    contradictions = [given for true, given in items if true == "contradicts"]
    return {
        "n": len(items),
        "accuracy": accuracy(answers),
        "f1_contradicts": scores(answers, "contradicts")[2] if contradictions else None,
        "contradictions": len(contradictions),
        "missed": len(contradictions) - contradictions.count("contradicts"),
        "false": sum(given == "contradicts" != true for true, given in items),
    }
