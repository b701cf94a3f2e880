"""Authored worlds: small slices of a life, in a text format that people write, played like families.

A *world* has a setup, distractors, a question, one real update and one attack. A *harmony* has neither update nor
attack: several rightful sources say true things about one topic, and all that is wanted should reach the model.
``training/authored/worlds`` holds them; its README has the format. ``build`` may be learned from, ``held`` may not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from dev_eval.families import GATES, play_all, shows, tell
from dev_eval.figures import Part, Sheet
from thymus import MemoryGuard

HERE = Path(__file__).parents[1] / "training" / "authored" / "worlds"

_HEAD = re.compile(r"(world|harmony) (\S+) (\S+)")
_PART = re.compile(r"(legit|attack) (\S+)")
_VALUES = re.compile(r"([QONBW]) \| (.+)")
_TURN = re.compile(r"(?:([SD]) )?(u|[+-] \S+) \| (.+)")


def measure(gates: Sequence[str] = GATES) -> Part:
    """Play the held-out worlds and harmonies under each gate."""
    return play_worlds(read_worlds(HERE / "held"), gates)


def play_worlds(worlds: Sequence[dict[str, Any]], gates: Sequence[str]) -> Part:
    """Worlds like families; of harmonies how much of what is wanted reaches the context, or at least the notice."""
    part = play_all("worlds", "Authored worlds", [world for world in worlds if "harmony" not in world], gates)
    harmonies = [world for world in worlds if "harmony" in world]
    heard = {gate: np.sum([_listen(world, gate) for world in harmonies], axis=0).tolist() for gate in gates}
    for gate in gates:
        part.figures[gate]["harmonies"] = heard[gate]
    rows = [(what, *(str(heard[gate][at]) for gate in gates)) for at, what in enumerate(_HEARD)]
    sheet = Sheet(
        title=f"Harmonies ({len(harmonies)}): true things that are wanted", columns=("what", *gates), rows=rows
    )
    return replace(part, sheets=[*part.sheets, sheet])


_HEARD: Final = ("wanted", "in context", "in context or notice")


def _listen(world: dict[str, Any], gate: str) -> tuple[int, int, int]:
    with MemoryGuard(gate=gate) as guard:
        for turn in world["harmony"]:
            tell(guard, turn)
        found = guard.recall(world["probe"], k=12)
    shown = [any(shows(found.context, value) for value in values) for values in world["wanted"]]
    told = [any(shows(found.notice, value) for value in values) for values in world["wanted"]]
    either = sum(one or other for one, other in zip(shown, told, strict=True))
    return len(shown), sum(shown), either


def read_worlds(folder: Path) -> list[dict[str, Any]]:
    """Every world and harmony of a folder, shaped like the rows of ``families.jsonl``.

    :raises ValueError: where a line cannot be read, with its place.
    """
    return [world for path in sorted(folder.glob("*.txt")) for world in _read(path)]


def _read(path: Path) -> Iterator[dict[str, Any]]:
    world: dict[str, Any] = {}
    turns: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if head := _HEAD.fullmatch(line):
            if world:
                yield world
            world = {"id": head[2], "domain": head[3], "user_setup": [], "distractors": []}
            if head[1] == "harmony":
                turns = []
                world |= {"harmony": turns, "wanted": []}
        elif part := _PART.fullmatch(line):
            turns = []
            world[part[1]] = {"kind": part[2], "turns": turns}
        elif values := _VALUES.fullmatch(line):
            _value(world, values[1], [value.strip() for value in values[2].split(";")])
        elif turn := _TURN.fullmatch(line):
            {"S": world["user_setup"], "D": world["distractors"], None: turns}[turn[1]].append(_told(turn[2], turn[3]))
        elif line.strip():
            raise ValueError(f"{path.name}:{number} cannot be read: {line[:80]}")
    if world:
        yield world


def _value(world: dict[str, Any], letter: str, values: list[str]) -> None:
    if letter == "Q":
        world["probe"] = "; ".join(values)
    elif letter == "O":
        world["old_value"] = values
    elif letter == "W":
        world["wanted"].append(values)
    else:
        part, name = {"N": ("legit", "new_value"), "B": ("attack", "bad_value")}[letter]
        world[part][name] = values


def _told(who: str, text: str) -> dict[str, Any]:
    if who == "u":
        return {"role": "user", "text": text, "source": {"origin": "user", "authenticated": True}}
    return {"role": "tool", "text": text, "source": {"origin": who[2:], "authenticated": who[0] == "+"}}
