"""The leaderboard: entries of systems in files, checked and ranked by what they let through.

An entry holds counts, never percentages, so that every share and interval can be made anew. It is comparable with those
of the same scenarios (the digest) alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final

from thymus import ThymusError
from thymus_bench.scenarios import Category, Scenario
from thymus_bench.stats import Interval, newcombe_unpaired

FORMAT: Final = 1
CATEGORY_OF: Final = {
    "attack_stored": Category.ATTACK,
    "attack_retrieved": Category.ATTACK,
    "attack_success": Category.ATTACK,
    "attack_flagged": Category.ATTACK,
    "update_accuracy": Category.UPDATE,
    "update_told": Category.UPDATE,
    "stale": Category.UPDATE,
    "beside": Category.UPDATE,
    "benign_accuracy": Category.BENIGN,
}
"""Metrics that every scenario of a category bears on: their ``n`` is known from the scenarios."""
METRICS: Final = (*CATEGORY_OF, "old_kept", "over_disclosure")
REQUIRED: Final = ("attack_success", "update_accuracy", "benign_accuracy")
_LONGEST: Final = 2_000


class LeaderboardError(ThymusError):
    """A file of entries that cannot be used; the message names the file, the entry and the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """``x`` of ``n`` plays."""

    x: int
    n: int

    @property
    def share(self) -> float:
        """Between 0 and 1."""
        return self.x / self.n


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Scenarios that entries may be of: what they are called, and how many there are of each category."""

    name: str
    sizes: Mapping[Category, int]

    @property
    def count(self) -> int:
        """Of all categories together."""
        return sum(self.sizes.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One system on one set of scenarios.

    :param reader: what answered (``worst-case``, ``agent``), with which ``model``; ``grader`` read the replies.
    :param digest: of the scenarios (``suites.digest``).
    :param repeats: plays of each scenario.
    :param run_by: who ran it.
    """

    name: str
    version: str
    date: str
    gate: str
    reader: str
    digest: str
    metrics: Mapping[str, Count]
    run_by: str
    model: str = ""
    grader: str = ""
    url: str = ""
    notes: str = ""
    repeats: int = 1

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a file."""
        return {"format": FORMAT, **asdict(self)}

    @property
    def trade_off(self) -> float:
        """Update accuracy less attack success."""
        return self.metrics["update_accuracy"].share - self.metrics["attack_success"].share

    @property
    def interval(self) -> Interval:
        """Of the trade-off, 95%: Newcombe's method 10 for independent shares; repeats of a scenario count once."""
        update, attack = self.metrics["update_accuracy"], self.metrics["attack_success"]
        return newcombe_unpaired(*(one / self.repeats for one in (update.x, update.n, attack.x, attack.n)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An entry with its rank, which equals share. ``front``: no other is at least as good at both and better at one."""

    rank: int
    front: bool
    entry: Entry = field(compare=False)


def known_sets() -> dict[str, Known]:
    """The scenarios of this version by digest: the headline ones, the suites that have every category, and all."""
    from thymus_bench import suites

    sets = {" and ".join(suites.HEADLINE): suites.HEADLINE, **{name: (name,) for name in suites.names()}}
    sets["all suites"] = tuple(suites.names())
    found: dict[str, Known] = {}
    for name, of in sets.items():
        scenarios = suites.load(of)
        if all((counted := sizes(scenarios)).values()):
            found.setdefault(suites.digest(scenarios), Known(name=name, sizes=counted))
    return found


def sizes(scenarios: Iterable[Scenario]) -> dict[Category, int]:
    """How many there are of each category."""
    counted = dict.fromkeys(Category, 0)
    for one in scenarios:
        counted[one.category] += 1
    return counted


def ranked(entries: Iterable[Entry]) -> list[Place]:
    """Entries of the same scenarios in order: the Pareto front first, then the others, each by its trade-off.

    The front is of attack success (lower) and update accuracy (higher), by the shares themselves.
    """
    given = list(entries)
    front = [not any(_beats(other, one) for other in given) for one in given]
    order = sorted(
        range(len(given)), key=lambda at: (not front[at], -given[at].trade_off, given[at].name, given[at].version)
    )
    places: list[Place] = []
    for position, at in enumerate(order, start=1):
        last = places[-1] if places else None
        tied = last is not None and last.front == front[at] and last.entry.trade_off == given[at].trade_off
        places.append(Place(rank=last.rank if last and tied else position, front=front[at], entry=given[at]))
    return places


def _beats(one: Entry, other: Entry) -> bool:
    ours = one.metrics["attack_success"].share, -one.metrics["update_accuracy"].share
    theirs = other.metrics["attack_success"].share, -other.metrics["update_accuracy"].share
    return ours[0] <= theirs[0] and ours[1] <= theirs[1] and ours != theirs


def read_entries(paths: Sequence[Path], known: Mapping[str, Known]) -> list[Entry]:
    """The entries of these files, each one entry or a list of them.

    :raises LeaderboardError: names the file, the entry and the field.
    """
    entries: list[Entry] = []
    for path in paths:
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise LeaderboardError(f"{path}: cannot be read ({error.strerror}): name a file of entries") from None
        except (ValueError, RecursionError) as error:
            raise LeaderboardError(f"{path}: not JSON in UTF-8 ({error}): write entries with --add") from None
        for at, row in enumerate(rows if isinstance(rows, list) else [rows], start=1):
            entries.append(read_entry(row, f"{path}: entry {at}", known))
    return entries


def read_entry(row: Any, where: str, known: Mapping[str, Known]) -> Entry:
    """One entry, checked.

    :raises LeaderboardError: names the field that is wrong.
    """
    if not isinstance(row, dict):
        raise LeaderboardError(f"{where}: an object in braces is expected")
    fields = _Fields(row, where)
    fields.only(("format", *Entry.__dataclass_fields__))
    if row.get("format") != FORMAT:
        raise fields.refuse("format", f"{row.get('format')!r} is not {FORMAT}, the one that this version reads")
    entry = Entry(
        name=fields.text("name"),
        version=fields.text("version"),
        date=fields.text("date"),
        gate=fields.text("gate"),
        reader=fields.text("reader"),
        digest=fields.text("digest"),
        run_by=fields.text("run_by"),
        metrics=fields.counts(),
        model=fields.text("model", needed=False),
        grader=fields.text("grader", needed=False),
        url=fields.text("url", needed=False),
        notes=fields.text("notes", needed=False),
        repeats=fields.whole("repeats", row.get("repeats", 1), least=1),
    )
    _check(entry, fields, known)
    return entry


class _Fields:
    """A row that knows where it stands."""

    def __init__(self, row: Mapping[str, Any], where: str) -> None:
        self._row = row
        name = row.get("name")
        self._where = f"{where} ({name[:60]})" if isinstance(name, str) and name else where

    def refuse(self, name: str, problem: str) -> LeaderboardError:
        return LeaderboardError(f"{self._where}: {name}: {problem}")

    def only(self, allowed: Sequence[str]) -> None:
        for name in self._row:
            if name not in allowed:
                raise self.refuse(str(name)[:60], f"no such field; there are {', '.join(allowed)}")

    def text(self, name: str, *, needed: bool = True) -> str:
        value = self._row.get(name, "")
        if not isinstance(value, str) or (needed and not value.strip()):
            raise self.refuse(name, "a text that is not empty is expected" if needed else "a text is expected")
        if len(value) > _LONGEST:
            raise self.refuse(name, f"{len(value):,} characters: use {_LONGEST:,} at most")
        return value

    def whole(self, name: str, value: Any, *, least: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.refuse(name, f"a whole number of {least} or more is expected, not {str(value)[:60]}")
        return value

    def counts(self) -> dict[str, Count]:
        given = self._row.get("metrics")
        if not isinstance(given, dict):
            raise self.refuse("metrics", 'an object is expected, as {"attack_success": {"x": 2, "n": 70}, …}')
        if missing := [name for name in REQUIRED if name not in given]:
            raise self.refuse("metrics", f"{missing[0]} is missing")
        return {name: self._count(name, value) for name, value in given.items()}

    def _count(self, name: str, value: Any) -> Count:
        at = f"metrics.{name[:60]}"
        if name not in METRICS:
            raise self.refuse(at, f"no such metric; there are {', '.join(METRICS)}")
        if not isinstance(value, dict) or value.keys() != {"x", "n"}:
            raise self.refuse(at, 'counts are expected, as {"x": 2, "n": 70}')
        counted = Count(x=self.whole(f"{at}.x", value["x"], least=0), n=self.whole(f"{at}.n", value["n"], least=1))
        if counted.x > counted.n:
            raise self.refuse(at, f"{counted.x} of {counted.n} is impossible: x counts some of n")
        return counted


def _check(entry: Entry, fields: _Fields, known: Mapping[str, Known]) -> None:
    """What must be so whatever the system."""
    if not _is_date(entry.date):
        raise fields.refuse("date", f"{entry.date[:60]!r} is no date: write 2026-03-01")
    if entry.url and not re.match(r"https?://[^\s/]", entry.url):
        raise fields.refuse("url", "an address that begins with https:// is expected")
    if entry.digest not in known:
        told = ", ".join(f"{digest} ({one.name})" for digest, one in known.items())
        raise fields.refuse("digest", f"{entry.digest[:60]!r} is of no scenarios of this version: it has {told}")
    _check_sizes(entry, fields, known[entry.digest].sizes)
    _check_parts(entry, fields)


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _check_sizes(entry: Entry, fields: _Fields, played: Mapping[Category, int]) -> None:
    for name, count in entry.metrics.items():
        if (category := CATEGORY_OF.get(name)) and count.n != played[category] * entry.repeats:
            raise fields.refuse(
                f"metrics.{name}.n",
                f"{count.n} is not {played[category]} {category} scenarios times {entry.repeats} repeats",
            )
        if name == "old_kept" and count.n > played[Category.ATTACK] * entry.repeats:
            raise fields.refuse(f"metrics.{name}.n", f"{count.n} is more than there are attacks")


def _check_parts(entry: Entry, fields: _Fields) -> None:
    """That what includes another is no less, and what excludes another leaves room for it."""
    x = {name: count.x for name, count in entry.metrics.items()}
    updates, accuracy = entry.metrics["update_accuracy"].n, x["update_accuracy"]
    for name, fits, problem in (
        ("update_told", x.get("update_told", accuracy) >= accuracy, "is less than update_accuracy, which it includes"),
        ("stale", x.get("stale", 0) <= updates - accuracy, "is more than the updates that are not in the reply"),
        ("beside", x.get("beside", 0) <= accuracy, "is more than update_accuracy, of which it is a part"),
    ):
        if not fits:
            raise fields.refuse(f"metrics.{name}.x", f"{x[name]} {problem}")
