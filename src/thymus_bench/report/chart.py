"""The chart of the trade-off, as data: where each gate stands, and where its name can stand without touching another.

Attack success goes to the right and update accuracy up, so that the upper left corner is best. Whoever draws it
(``plot`` for files, ``page`` for HTML) takes positions from here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

from thymus_bench.metrics import VERSIONS

WIDTH, HEIGHT = 720.0, 480.0
"""Of a panel's plotting area, in pixels."""
LETTER, LINE = 8.4, 18.0
"""Width of a letter and height of a line of a label, in pixels."""

Box: TypeAlias = tuple[float, float, float, float]
"""Left, bottom, right, top; pixels, y upwards."""


class Role(StrEnum):
    """What a mark's colour says."""

    NEWEST = "newest"
    EARLIER = "earlier"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One gate: attack success and update accuracy with their intervals, as shares; ``told`` counts the notice too."""

    label: str
    role: Role
    x: float
    x_low: float
    x_high: float
    y: float
    y_low: float
    y_high: float
    told: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """Where a mark's name stands: its box, and whether it is so far off that a line should lead to it."""

    box: Box
    led: bool

    @property
    def anchor(self) -> tuple[float, float]:
        """The middle of the box."""
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The gates of one reader and model; ``right`` and ``bottom`` are how far the axes reach, as shares."""

    title: str
    marks: tuple[Mark, ...]
    labels: tuple[Label, ...]
    right: float
    bottom: float

    def at(self, x: float, y: float) -> tuple[float, float]:
        """A point of the plot in pixels from the lower left corner."""
        return _at(x, y, self.right, self.bottom)


_MARGIN: Final = 0.02
_NEEDED: Final = {"attack_success", "update_accuracy", "update_told"}


def _at(x: float, y: float, right: float, bottom: float) -> tuple[float, float]:
    left, top = -_MARGIN, 1 + _MARGIN
    return (x - left) / (right - left) * WIDTH, (y - bottom) / (top - bottom) * HEIGHT


def panels(summary: Mapping[str, Any]) -> list[Panel]:
    """One panel for each reader and model of the first section that has attacks and updates."""
    for section in summary["sections"]:
        rows = [row for row in section["rows"] if row["figures"].keys() >= _NEEDED]
        if rows:
            groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
            for row in rows:
                groups.setdefault((row["reader"], row["model"]), []).append(row)
            return [_panel(" · ".join(filter(None, key)), of) for key, of in groups.items()]
    return []


def _panel(title: str, rows: Sequence[Mapping[str, Any]]) -> Panel:
    there = [name for name in VERSIONS if any(row["gate"] == name for row in rows)]
    marks = tuple(_mark(row, newest=there[-1] if there else "") for row in rows)
    right = min(1.0, _tenth(max(mark.x_high for mark in marks) + 0.05)) + _MARGIN
    bottom = max(0.0, 0.9 - _tenth(0.95 - min(mark.y_low for mark in marks))) - _MARGIN
    return Panel(title=title, marks=marks, labels=_placed(marks, right, bottom), right=right, bottom=bottom)


def _tenth(share: float) -> float:
    return math.ceil(share * 10) / 10


def _mark(row: Mapping[str, Any], *, newest: str) -> Mark:
    attack, update, told = (row["figures"][name] for name in ("attack_success", "update_accuracy", "update_told"))
    gate = row["gate"]
    return Mark(
        label=gate,
        role=Role.NEWEST if gate == newest else Role.EARLIER if gate in VERSIONS else Role.OTHER,
        x=attack["share"],
        x_low=attack["low"],
        x_high=attack["high"],
        y=update["share"],
        y_low=update["low"],
        y_high=update["high"],
        told=told["share"] if told["share"] > update["share"] else None,
    )


_DISTANCES: Final = (12, 20, 30, 44, 60, 80, 104, 132)
_DIRECTIONS: Final = 16
_LED: Final = 26
"""Pixels between a mark and its name from which on a line leads to it."""


def _placed(marks: Sequence[Mark], right: float, bottom: float) -> tuple[Label, ...]:
    """Names placed one by one, the most crowded first, each where it covers least."""
    spots = [_at(mark.x, mark.y, right, bottom) for mark in marks]
    taken: list[Box] = []
    for mark, spot in zip(marks, spots, strict=True):
        taken.append(_around(spot, 7, 7))
        if mark.told is not None:
            taken.append(_around(_at(mark.x, mark.told, right, bottom), 7, 7))
    lines = [box for mark in marks for box in _whiskers(mark, right, bottom)]
    crowd = {place: sum(math.dist(spot, other) < 90 for other in spots) for place, spot in enumerate(spots)}
    found: dict[int, Label] = {}
    for place in sorted(crowd, key=lambda one: (-crowd[one], one)):
        found[place] = _best(marks[place].label, spots[place], taken, lines)
        taken.append(found[place].box)
    return tuple(found[place] for place in range(len(marks)))


def _whiskers(mark: Mark, right: float, bottom: float) -> list[Box]:
    left, low = _at(mark.x_low, mark.y, right, bottom)
    far, _ = _at(mark.x_high, mark.y, right, bottom)
    middle, under = _at(mark.x, mark.y_low, right, bottom)
    _, over = _at(mark.x, max(mark.y_high, mark.told or 0.0), right, bottom)
    return [(left, low - 1, far, low + 1), (middle - 1, under, middle + 1, over)]


def _best(text: str, spot: tuple[float, float], taken: Iterable[Box], lines: Iterable[Box]) -> Label:
    width, height = len(text) * LETTER, LINE
    best: tuple[float, Label] | None = None
    for distance in _DISTANCES:
        for step in range(_DIRECTIONS):
            angle = 2 * math.pi * step / _DIRECTIONS
            dx, dy = math.cos(angle), math.sin(angle)
            # the box's nearest edge, not its middle, is so far away
            middle = spot[0] + dx * (distance + width / 2), spot[1] + dy * (distance + height / 2)
            box = _around(middle, width / 2, height / 2)
            cost = (
                distance
                + 40 * sum(_overlap(box, other) for other in taken)
                + 2.5 * sum(_overlap(box, line) for line in lines)
                + 40 * _outside(box)
            )
            if best is None or cost < best[0]:
                best = cost, Label(box=box, led=distance > _LED)
    assert best is not None  # noqa: S101  (there are distances)
    return best[1]


def _around(middle: tuple[float, float], across: float, up: float) -> Box:
    return middle[0] - across, middle[1] - up, middle[0] + across, middle[1] + up


def _overlap(one: Box, other: Box) -> float:
    """The covered area, in square pixels."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    up = min(one[3], other[3]) - max(one[1], other[1])
    return across * up if across > 0 and up > 0 else 0.0


def _outside(box: Box) -> float:
    """Pixels by which a box leaves the panel."""
    return max(0.0, 4 - box[0]) + max(0.0, 4 - box[1]) + max(0.0, box[2] - WIDTH + 4) + max(0.0, box[3] - HEIGHT + 4)
