"""The tables, in Markdown, and the same as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeVar

from thymus_bench.compare.cases import FAKES, UPDATES
from thymus_bench.compare.judge import Alone, Matched
from thymus_bench.compare.latency import Pace
from thymus_bench.compare.suite import Card
from thymus_bench.compare.talk import Hello
from thymus_bench.report.render import plain

_NONE: Final = "–"
_T = TypeVar("_T")
_NAMED: Final = 6


@dataclass(slots=True, kw_only=True)
class Result:
    """All that was found out about one peer; it grows while the peer is measured.

    :param failed: why it was left out, or why parts are missing.
    :param said: what it wrote to standard error: its figures may be those of a degraded product.
    """

    peer: str
    setting: str
    hello: Hello | None = None
    matched: list[Matched] = field(default_factory=list)
    injections: list[Alone] = field(default_factory=list)
    controls: list[Alone] = field(default_factory=list)
    paces: list[Pace] = field(default_factory=list)
    card: Card | None = None
    failed: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The record in JSON's types."""
        return asdict(self)


def markdown(results: Sequence[Result], *, machine: str = "") -> str:
    """Every table, and below them who was left out and how each was set up.

    :param machine: where it was measured, in a line.
    """
    ran = [one for one in results if one.hello]
    parts = [
        _section("Matched cases", _MATCHED, [_matched(one) for one in ran if one.matched]),
        _section("Overt injections and benign controls", _SINGLES, [_singles(one) for one in ran if one.controls]),
        _paces([one for one in ran if one.paces]),
        machine,
        _section("amg-bench, the suite of Agent Memory Guard", _CARDS, [_graded(one) for one in ran if one.card]),
        "\n".join(["## Set-up", "", *(f"- **{one.peer}**: {one.setting}{_tells(one)}" for one in ran)]),
    ]
    if out := [f"- {failed}" for one in results for failed in one.failed]:
        parts.append("\n".join(["## Left out or cut short", "", *out]))
    if said := [f"- **{one.peer}**: `{_quoted(line)}`" for one in results for line in one.said]:
        parts.append("\n".join(["## Said on standard error while it ran", "", *said]))
    return "\n\n".join(part for part in parts if part) + "\n"


_MATCHED: Final = (
    "peer",
    "worlds all right",
    "sender's update: given / told only",
    "user's update: given / told only / old beside it",
    "lookalike's fake: given / original lost / told",
    "fake against the user: given / original lost / told",
)


def _matched(result: Result) -> list[str]:
    by_kind = {kind: [one for one in result.matched if one.kind == kind] for kind in (*UPDATES, *FAKES)}
    worlds = sorted({one.world for one in result.matched})
    right = sum(all(one.right for one in result.matched if one.world == world) for world in worlds)
    same, user = by_kind["same sender"], by_kind["user"]

    def given_and_told(found: list[Matched]) -> str:
        return f"{_count(found, lambda one: one.given)} / {_count(found, lambda one: one.told and not one.given)}"

    def fakes(kind: str) -> str:
        found = by_kind[kind]
        lost = _count(found, lambda one: not one.kept)
        return f"{_count(found, lambda one: one.given)} / {lost} / {_count(found, lambda one: one.told)}"

    return [
        result.peer,
        f"{right} of {len(worlds)}",
        given_and_told(same),
        f"{given_and_told(user)} / {_count(user, lambda one: one.given and one.beside)}",
        *(fakes(kind) for kind in FAKES),
    ]


_SINGLES: Final = (
    "peer",
    "injections flagged",
    "injections given to the model",
    "controls given as they are",
    "controls flagged",
    "altered",
    "held or refused",
    "stored, not found",
)


def _singles(result: Result) -> list[str]:
    attacks, benign = result.injections, result.controls
    stopped = [one for one in benign if one.outcome in ("held", "refused") and not one.given]
    altered = [one for one in benign if one.outcome == "altered" and not one.given]
    lost = [one for one in benign if one.outcome == "stored" and not one.given]
    return [
        result.peer,
        f"{_count(attacks, lambda one: one.flagged)} of {len(attacks)}",
        str(_count(attacks, lambda one: one.given)),
        f"{_count(benign, lambda one: one.given)} of {len(benign)}",
        str(_count(benign, lambda one: one.flagged)),
        *(_named(some) for some in (altered, stopped, lost)),
    ]


def _paces(results: Sequence[Result]) -> str:
    sizes = sorted({pace.size for one in results for pace in one.paces})
    head = ["peer", *(f"{what} at {size:,}" for size in sizes for what in ("write", "read"))]
    rows = []
    for one in results:
        known = {pace.size: pace for pace in one.paces}
        cells = [cell for size in sizes for cell in _pace(known.get(size))]
        rows.append([one.peer, *cells])
    return _section("Write and read, median milliseconds", head, rows)


def _pace(pace: Pace | None) -> tuple[str, str]:
    if pace is None:
        return _NONE, _NONE
    if pace.write_ms is None or pace.read_ms is None:
        return "given up", "given up"
    return f"{pace.write_ms:.2f}", f"{pace.read_ms:.2f}"


_CARDS: Final = ("peer", "grade", "score", "attacks defended", "benign over-blocked", "not passed")


def _graded(result: Result) -> list[str]:
    card = result.card
    if card is None:
        return []
    return [
        result.peer,
        card.grade,
        f"{card.score:.1f}",
        f"{card.defended} of {card.attacks}",
        f"{card.over_blocked} of {card.benign}",
        _some(card.failed),
    ]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more or _NONE


def _tells(result: Result) -> str:
    if result.hello is None:
        return ""
    heard = result.hello.tells or "not at all"
    return f". Version {result.hello.version}. Its user hears of what is held back by: {heard}."


def _named(some: Sequence[Alone]) -> str:
    return f"{len(some)}: {_some([one.id for one in some])}" if some else "0"


def _quoted(line: str) -> str:
    """What a peer wrote, as one piece of code: nothing in it ends the quotation or moves a terminal."""
    return plain(line).replace("`", "'")


def _count(some: Iterable[_T], test: Callable[[_T], bool]) -> int:
    return sum(map(test, some))


def _section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join([f"## {title}", "", *("| " + " | ".join(line) + " |" for line in lines)])
