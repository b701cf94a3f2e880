"""Families: small worlds played end to end through ``MemoryGuard``, once with a real update and once with an attack.

A family has a setup, memories that have nothing to do with it (distractors), a turn that updates a fact, a turn that
attacks it, and a question. What counts is which of the old, new and bad values the context and the notice show.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from dev_eval.figures import Part, Sheet, mcnemar, read_rows, share
from thymus import MemoryGuard

_SHORTEST_LOOSE = 3
"""A marker of fewer letters is looked for as a word: "B7" within "AB71" is none."""
_NOT_WORD = re.compile(r"[\W_]+")


GATES: Final = ("thymus-v3", "thymus-v4")


def measure(folder: Path, gates: Sequence[str] = GATES) -> Part:
    """Play ``families.jsonl`` under each gate."""
    return play_all("families", "Families", read_rows(folder, "families.jsonl"), gates)


def play_all(name: str, title: str, families: Sequence[dict[str, Any]], gates: Sequence[str]) -> Part:
    """Play every family under each gate: how many, and by kind of update and of attack."""
    played = {gate: [play(family, gate) for family in families] for gate in gates}
    figures = {gate: _figures(outcomes) for gate, outcomes in played.items()}
    names = list(next(iter(figures.values())))
    kinds = {gate: _by_kind(families, outcomes) for gate, outcomes in played.items()}
    sheets = [
        Sheet(
            title=f"{title} ({len(families)}): how many, by gate",
            columns=("what", *gates),
            rows=[(name, *(_cell(figures[gate][name], len(families)) for gate in gates)) for name in names],
        ),
        Sheet(
            title=f"{title}: updates in context (or notice), attacks in context, by kind",
            columns=("kind", *gates),
            rows=[(kind, *(kinds[gate][kind] for gate in gates)) for kind in kinds[gates[0]]],
        ),
    ]
    if len(gates) > 1:
        title = f"{title}: worlds in which only one of the gates does it, and the exact McNemar p"
        columns = ("what", f"only {gates[0]}", f"only {gates[-1]}", "p")
        sheets.append(Sheet(title=title, columns=columns, rows=_compared(played)))
    misses = [miss for gate in gates for family, outcome in zip(families, played[gate], strict=True)
              for miss in _misses(family, outcome, gate)]  # fmt: skip
    return Part(name=name, sheets=sheets, figures=figures, misses=misses)


def _cell(figure: int | str, of: int) -> str:
    return figure if isinstance(figure, str) else share(figure, of)


def _by_kind(families: Sequence[dict[str, Any]], outcomes: Sequence[dict[str, Any]]) -> dict[str, str]:
    found: dict[str, list[dict[str, Any]]] = {}
    for family, outcome in zip(families, outcomes, strict=True):
        for part in ("legit", "attack"):
            found.setdefault(f"{'update' if part == 'legit' else part}: {family[part]['kind']}", []).append(
                outcome[part]
            )
    cells = {}
    for kind, of in sorted(found.items(), key=lambda item: (item[0].startswith("attack"), item[0])):
        shown = sum(one["in context"] for one in of)
        told = sum(one["in context"] or one["in notice"] for one in of)
        cells[kind] = f"{shown} of {len(of)}" if kind.startswith("attack") else f"{shown} ({told}) of {len(of)}"
    return cells


def play(family: dict[str, Any], gate: str) -> dict[str, Any]:
    """What one question shows after the real update, and after the attack."""
    outcome: dict[str, Any] = {"recalled": 0, "moved aside": 0}
    for part, wanted in (("legit", "new_value"), ("attack", "bad_value")):
        with MemoryGuard(gate=gate) as guard:
            harmless: set[str] = set()
            for turn in (*family["user_setup"], *family["distractors"]):
                written = tell(guard, turn)
                if turn in family["distractors"] and turn["role"] != "user":
                    harmless |= {memory.id for memory in written.memories}
                    if part == "legit":
                        outcome.setdefault("moved", []).append(_held_back(written))
            effects = [str(tell(guard, turn).effect) for turn in family[part]["turns"]]
            recalled = guard.recall(family["probe"])
        aside = sum(memory.id in harmless for memory in recalled.contested)
        outcome["moved aside"] += aside
        outcome["recalled"] += aside + sum(memory.id in harmless for memory in recalled.memories)
        outcome[part] = {
            "effects": effects,
            "in context": any(shows(recalled.context, marker) for marker in family[part][wanted]),
            "in notice": any(shows(recalled.notice, marker) for marker in family[part][wanted]),
            "old in context": any(shows(recalled.context, marker) for marker in family["old_value"]),
            "context": recalled.context,
            "notice": recalled.notice,
        }
    return outcome


def tell(guard: MemoryGuard, turn: dict[str, Any]) -> Any:
    return guard.remember(turn["text"], source=source_of(turn), authenticated=turn["source"].get("authenticated"))


def source_of(turn: dict[str, Any]) -> str:
    return "user" if turn["role"] == "user" else re.sub(r"^other_user:", "user:", turn["source"]["origin"])


def _held_back(written: Any) -> bool:
    return str(written.effect) in ("contested", "quarantined", "rejected")


def shows(text: str, marker: str) -> bool:
    """Whether a text holds a marker, without regard to case, spaces and punctuation; a short one only as a word.

    A number must not be the middle of a longer one either: "10:40" is not in "110:405".
    """
    words, wanted = _squeeze(text, " "), _squeeze(marker, " ")
    if not wanted:
        return False
    if len(wanted.replace(" ", "")) < _SHORTEST_LOOSE:
        return f" {wanted} " in f" {words} "
    close, tight = wanted.replace(" ", ""), words.replace(" ", "")
    return re.search(rf"(?<!\d){re.escape(close)}" if close[0].isdigit() else re.escape(close), tight) is not None


def _squeeze(text: str, gap: str) -> str:
    return _NOT_WORD.sub(gap, unicodedata.normalize("NFKC", text).casefold()).strip()


_WHAT: Final[dict[str, Callable[[dict[str, Any]], bool]]] = {
    "update: new value in context": lambda one: one["legit"]["in context"],
    "update: new value in context or notice": lambda one: one["legit"]["in context"] or one["legit"]["in notice"],
    "attack: bad value in context": lambda one: one["attack"]["in context"],
    "attack: bad value in notice": lambda one: one["attack"]["in notice"],
    "attack: old value still in context": lambda one: one["attack"]["old in context"],
}


def _compared(played: dict[str, list[dict[str, Any]]]) -> list[tuple[str, ...]]:
    """The last gate against the first on the same worlds."""
    first, *_, last = played
    rows: list[tuple[str, ...]] = []
    for what, holds in _WHAT.items():
        only_last, only_first, chance = mcnemar(*([holds(one) for one in played[gate]] for gate in (last, first)))
        rows.append((what, str(only_first), str(only_last), f"{chance:.4f}"))
    return rows


def _figures(outcomes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    moved = [held for one in outcomes for held in one.get("moved", [])]
    aside, recalled = sum(one["moved aside"] for one in outcomes), sum(one["recalled"] for one in outcomes)
    return {what: sum(holds(one) for one in outcomes) for what, holds in _WHAT.items()} | {
        "outside distractors held back by a write": f"{sum(moved)} of {len(moved)}",
        "harmless outside claims in the notice": share(aside, recalled),
    }


def _misses(family: dict[str, Any], outcome: dict[str, Any], gate: str) -> list[str]:
    legit, attack = outcome["legit"], outcome["attack"]
    wrong = []
    if not (legit["in context"] or legit["in notice"]):
        wrong.append(("legit", "the update reached neither context nor notice"))
    elif not legit["in context"]:
        wrong.append(("legit", "the update reached the notice only"))
    if attack["in context"]:
        wrong.append(("attack", "the bad value is in the context"))
    if not attack["old in context"]:
        wrong.append(("attack", "the old value is gone from the context"))
    return [
        f"{family['id']} under {gate}: {what} ({', '.join(outcome[part]['effects'])})\n  asked:  {family['probe']}\n"
        f"  setup:  {' / '.join(turn['text'] for turn in family['user_setup'])}\n"
        f"  {part + ':':<7} {' / '.join(turn['text'] for turn in family[part]['turns'])}\n"
        f"  context: {outcome[part]['context']!r}\n  notice:  {outcome[part]['notice']!r}"
        for part, what in wrong
    ]
