"""Scenarios: short scripted histories of one memory and a question, and the rules that a file of them must keep.

A *scenario* is a list of turns, a probe (the question asked in a fresh session) and the ways in which its values may be
written. A *family* is one fact of real life that expands into three scenarios with the same setup: ``--recall``,
``--legit`` (a real update) and ``--attack`` (a fake one). Files are JSON; every error names the file and the field.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from thymus import Source, ThymusError
from thymus_bench.markers import first_held, pieces

_SLUG: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PHONE: Final = re.compile(r"(?<![\w-])\+?\d[\d ().-]{7,}\d(?![\w-])")
_HOST: Final = re.compile(r"(?:https?://|@|\bwww\.)([\w.-]+\.[a-z]{2,})", re.IGNORECASE)
_SHORTEST_TEXT, _LONGEST_TEXT = 3, 4_000


class ScenarioError(ThymusError):
    """A scenario that cannot be used; the message names the file, the field and what would help."""


class Category(StrEnum):
    """What a scenario asks of a memory."""

    ATTACK = "attack"
    UPDATE = "update"
    BENIGN = "benign"


class Part(StrEnum):
    """What a turn is there for."""

    SETUP = "setup"
    DISTRACTOR = "distractor"
    UPDATE = "update"
    ATTACK = "attack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message that reaches the assistant.

    :param source: who said it, as the application sees it: ``user``, ``email:a@b.example``, ``user:ravi`` …
    :param authenticated: whether the application verified that it is that identity; ``None`` leaves the default.
    :param derived_from: sources that the application knows it was made from (a summary, an echo).
    :param user: whose memory it goes to; ``""`` is the one whose question is asked.
    """

    source: str
    text: str
    part: Part
    authenticated: bool | None = None
    derived_from: tuple[str, ...] = ()
    user: str = ""

    @property
    def outside(self) -> bool:
        """Whether somebody other than the user speaks."""
        return self.source != "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A history, a question and the values that an answer may give.

    :param kind: of update or attack (``lookalike``, ``same_source`` …); ``recall`` where there is neither.
    :param old_value: ways to write the value before the update or attack; of a benign scenario, the value itself.
        Empty where nothing was said before (an attacker who speaks first).
    :param new_value, bad_value: ways to write the updated and the planted value.
    :param family: what it has its setup in common with; its own id where it stands alone. Statistics cluster by it.
    """

    id: str
    category: Category
    kind: str
    domain: str
    suite: str
    family: str
    turns: tuple[Turn, ...]
    probe: str
    old_value: tuple[str, ...] = ()
    new_value: tuple[str, ...] = ()
    bad_value: tuple[str, ...] = ()
    note: str = ""
    origin: Mapping[str, str] = field(default_factory=dict)

    @property
    def target(self) -> tuple[str, ...]:
        """The value that the scenario is about: planted, updated or plainly told."""
        return {
            Category.ATTACK: self.bad_value,
            Category.UPDATE: self.new_value,
            Category.BENIGN: self.old_value,
        }[self.category]


UPDATE_KINDS: Final = ("same_source", "user", "other_source")
ATTACK_KINDS: Final = ("lookalike", "other_user", "other_channel", "spoof", "instruction")
DOMAINS: Final = ("work", "orders", "travel", "money", "health-education", "home")
"""Of the core suite; others may add kinds, not domains."""


class _Reader:
    """One JSON object, read field by field: knows where it is, so that every complaint can say so."""

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise ScenarioError(f"{where}: an object in braces is expected, not {_shown(value)}")
        self._value, self.where = value, where

    def refuse(self, name: str, problem: str) -> ScenarioError:
        return ScenarioError(f"{self.where}: {name}: {problem}")

    def only(self, allowed: Iterable[str]) -> None:
        allowed = list(allowed)
        for name in self._value:
            if name not in allowed:
                raise self.refuse(name, f"no such field; there are {', '.join(allowed)}")

    def text(self, name: str, *, default: str | None = None) -> str:
        value = self._value.get(name, default)
        if value is None:
            raise self.refuse(name, "is missing")
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.refuse(name, f"a text that is not empty is expected, not {_shown(value)}")
        return value

    def choice(self, name: str, allowed: Iterable[str]) -> str:
        value, allowed = self.text(name), list(allowed)
        if value not in allowed:
            raise self.refuse(name, f"{_shown(value)} is none of {', '.join(allowed)}")
        return value

    def slug(self, name: str) -> str:
        value = self.text(name)
        if not _SLUG.fullmatch(value):
            raise self.refuse(name, f"{_shown(value)}: use lower-case words joined by single hyphens")
        return value

    def flag(self, name: str) -> bool | None:
        value = self._value.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.refuse(name, f"true or false is expected, not {_shown(value)}")
        return value

    def texts(self, name: str, *, required: bool = False) -> tuple[str, ...]:
        value = self._value.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
            raise self.refuse(name, f"a list of texts is expected, not {_shown(value)}")
        if required and not value:
            raise self.refuse(name, "is missing: list the ways in which the value may be written")
        return tuple(value)

    def objects(self, name: str, *, required: bool = False) -> list[_Reader]:
        value = self._value.get(name, [])
        if not isinstance(value, list):
            raise self.refuse(name, f"a list is expected, not {_shown(value)}")
        if required and not value:
            raise self.refuse(name, "is missing: at least one turn is needed")
        return [_Reader(one, f"{self.where}: {name}[{at}]") for at, one in enumerate(value)]

    def object(self, name: str) -> _Reader:
        if name not in self._value:
            raise self.refuse(name, "is missing")
        return _Reader(self._value[name], f"{self.where}: {name}")

    def mapping(self, name: str) -> dict[str, str]:
        value = self._value.get(name, {})
        if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
            raise self.refuse(name, f"an object of texts is expected, not {_shown(value)}")
        return value


def _shown(value: Any) -> str:
    written = json.dumps(value, ensure_ascii=False)
    return written if len(written) <= 60 else written[:57] + "..."


_TURN_FIELDS: Final = ("source", "authenticated", "text", "derived_from", "user")
_VALUES: Final = ("old_value", "new_value", "bad_value")


def _turn(reader: _Reader, part: Part | None) -> Turn:
    reader.only((*_TURN_FIELDS, *(() if part else ("part",))))
    turn = Turn(
        source=reader.text("source"),
        text=reader.text("text"),
        part=part or Part(reader.choice("part", Part)),
        authenticated=reader.flag("authenticated"),
        derived_from=reader.texts("derived_from"),
        user=reader.text("user", default=""),
    )
    for name, sources in (("source", (turn.source,)), ("derived_from", turn.derived_from)):
        for source in sources:
            try:
                Source.parse(source)
            except ThymusError as error:
                raise reader.refuse(name, str(error)) from None
    if turn.outside and turn.authenticated is None:
        raise reader.refuse("authenticated", "is missing: say whether the application verified this sender")
    if not _SHORTEST_TEXT <= len(turn.text) <= _LONGEST_TEXT:
        raise reader.refuse("text", f"{len(turn.text)} characters: use {_SHORTEST_TEXT} to {_LONGEST_TEXT}")
    return turn


def _turns(reader: _Reader, name: str, part: Part, *, required: bool = False) -> tuple[Turn, ...]:
    return tuple(_turn(one, part) for one in reader.objects(name, required=required))


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One fact of real life with a real update and a fake one."""

    id: str
    domain: str
    setup: tuple[Turn, ...]
    distractors: tuple[Turn, ...]
    probe: str
    old_value: tuple[str, ...]
    legit_kind: str
    legit: tuple[Turn, ...]
    new_value: tuple[str, ...]
    attack_kind: str
    attack: tuple[Turn, ...]
    bad_value: tuple[str, ...]
    note: str = ""

    def expand(self, suite: str) -> tuple[Scenario, Scenario, Scenario]:
        """``--recall``, ``--legit`` and ``--attack``, over the same setup and distractors."""
        before = (*self.setup, *self.distractors)
        common: dict[str, Any] = {
            "domain": self.domain,
            "suite": suite,
            "family": self.id,
            "probe": self.probe,
            "old_value": self.old_value,
            "note": self.note,
        }
        recall = Scenario(id=f"{self.id}--recall", category=Category.BENIGN, kind="recall", turns=before, **common)
        legit = Scenario(
            id=f"{self.id}--legit",
            category=Category.UPDATE,
            kind=self.legit_kind,
            turns=(*before, *self.legit),
            new_value=self.new_value,
            **common,
        )
        attack = Scenario(
            id=f"{self.id}--attack",
            category=Category.ATTACK,
            kind=self.attack_kind,
            turns=(*before, *self.attack),
            bad_value=self.bad_value,
            **common,
        )
        return recall, legit, attack


def read_family(value: Any, where: str) -> Family:
    """Read one family.

    :raises ScenarioError: names the field that is wrong.
    """
    top = _Reader(value, where)
    top.where = f"{where} ({top.text('id')})"
    top.only(("id", "domain", "setup", "distractors", "probe", "old_value", "legit", "attack", "note"))
    legit, attack = top.object("legit"), top.object("attack")
    legit.only(("kind", "turns", "new_value"))
    attack.only(("kind", "turns", "bad_value"))
    family = Family(
        id=top.slug("id"),
        domain=top.choice("domain", DOMAINS),
        setup=_turns(top, "setup", Part.SETUP, required=True),
        distractors=_turns(top, "distractors", Part.DISTRACTOR),
        probe=top.text("probe"),
        old_value=top.texts("old_value", required=True),
        legit_kind=legit.choice("kind", UPDATE_KINDS),
        legit=_turns(legit, "turns", Part.UPDATE, required=True),
        new_value=legit.texts("new_value", required=True),
        attack_kind=attack.choice("kind", ATTACK_KINDS),
        attack=_turns(attack, "turns", Part.ATTACK, required=True),
        bad_value=attack.texts("bad_value", required=True),
        note=top.text("note", default=""),
    )
    for one in family.expand("families"):
        check(one, top.where)
    _check_kinds(family, top)
    return family


def _check_kinds(family: Family, reader: _Reader) -> None:
    """That the sources are what the kinds say."""
    owners = {turn.source for turn in family.setup}
    legit, attack = {turn.source for turn in family.legit}, {turn.source for turn in family.attack}
    if family.legit_kind == "user" and legit != {"user"}:
        raise reader.refuse("legit", "kind user: every turn of it must be of source user")
    if family.legit_kind == "same_source" and not (legit <= owners and "user" not in legit):
        raise reader.refuse("legit", "kind same_source: its source must be an outside source of the setup")
    if family.legit_kind == "other_source" and legit & {*owners, "user"}:
        raise reader.refuse("legit", "kind other_source: its source must be neither the user nor of the setup")
    if "user" in attack:
        raise reader.refuse("attack", "an attacker cannot be the user")
    if family.attack_kind == "other_user" and not all(source.startswith("user:") for source in attack):
        raise reader.refuse("attack", "kind other_user: its source must be user:NAME")
    spoofed = [turn for turn in family.attack if turn.source in owners]
    if family.attack_kind == "spoof" and (not spoofed or any(turn.authenticated for turn in spoofed)):
        raise reader.refuse("attack", "kind spoof: a source of the setup, with authenticated false")
    if family.attack_kind in ("lookalike", "other_channel") and spoofed:
        raise reader.refuse("attack", f"kind {family.attack_kind}: its source must be none of the setup")


def read_scenario(value: Any, where: str, *, suite: str) -> Scenario:
    """Read one scenario that stands alone.

    :raises ScenarioError: names the field that is wrong.
    """
    top = _Reader(value, where)
    top.where = f"{where} ({top.text('id')})"
    top.only(("id", "category", "kind", "domain", "turns", "probe", *_VALUES, "note", "family", "origin"))
    identity = top.slug("id")
    scenario = Scenario(
        id=identity,
        category=Category(top.choice("category", Category)),
        kind=top.text("kind"),
        domain=top.text("domain"),
        suite=suite,
        family=top.text("family", default="") or identity,
        turns=tuple(_turn(one, None) for one in top.objects("turns", required=True)),
        probe=top.text("probe"),
        old_value=top.texts("old_value"),
        new_value=top.texts("new_value"),
        bad_value=top.texts("bad_value"),
        note=top.text("note", default=""),
        origin=top.mapping("origin"),
    )
    check(scenario, top.where)
    return scenario


_BELONGS: Final[Mapping[Category, tuple[str, str | None]]] = {
    Category.ATTACK: ("bad_value", "new_value"),
    Category.UPDATE: ("new_value", "bad_value"),
    Category.BENIGN: ("old_value", None),
}


def check(scenario: Scenario, where: str, *, addresses: bool = True) -> None:
    """Refuse what would make the markers tell the values apart wrongly.

    :param addresses: also refuse hosts and telephone numbers that may be real: texts of ours point nowhere.
    :raises ScenarioError: names the field.
    """

    def refuse(name: str, problem: str) -> ScenarioError:
        return ScenarioError(f"{where}: {name}: {problem}")

    values = {name: getattr(scenario, name) for name in _VALUES}
    needed, unwanted = _BELONGS[scenario.category]
    if not values[needed]:
        raise refuse(needed, f"is missing: a scenario of category {scenario.category} needs it")
    if unwanted and values[unwanted]:
        raise refuse(unwanted, f"does not belong in a scenario of category {scenario.category}")
    _check_markers(values, refuse)
    _check_texts(scenario, values, refuse)
    for turn in scenario.turns if addresses else ():
        _check_addresses(turn, refuse)


def _check_markers(values: Mapping[str, Sequence[str]], refuse: Any) -> None:
    """Two characters at least, and none of one value within one of another."""
    for name, markers in values.items():
        for marker in markers:
            if len("".join(pieces(marker))) < 2:
                raise refuse(name, f"{_shown(marker)} has fewer than two letters or digits: it would be found anywhere")
        for other, others in values.items():
            if other == name:
                continue
            for marker in markers:
                overlapping = [one for one in others if first_held(one, [marker])]
                if overlapping:
                    raise refuse(
                        name,
                        f"{_shown(marker)} overlaps {_shown(overlapping[0])} of {other}: an answer with the one would "
                        "count as both",
                    )


def _check_texts(scenario: Scenario, values: Mapping[str, Sequence[str]], refuse: Any) -> None:
    """Each value is said where it belongs and nowhere else."""
    said_in = {"old_value": Part.SETUP, "new_value": Part.UPDATE, "bad_value": Part.ATTACK}
    for name, markers in values.items():
        part = said_in[name]
        of_part = [turn for turn in scenario.turns if turn.part is part]
        if markers and of_part and not any(first_held(turn.text, markers) for turn in of_part):
            raise refuse(name, f"no {part} turn says any of it: {_shown(list(markers))}")
        if markers and not of_part:
            raise refuse(name, f"there is no turn of part {part} that could say it")
        if held := first_held(scenario.probe, markers):
            raise refuse("probe", f"gives {_shown(held)} of {name} away")
        for turn in scenario.turns:
            if held := first_held(turn.source, markers):
                raise refuse(name, f"{_shown(held)} is in the source {turn.source}, which labels and notices show")
        foreign = [turn for turn in scenario.turns if turn.part is not part and not _may_hold(name, turn.part)]
        for turn in foreign:
            if held := first_held(turn.text, markers):
                raise refuse(name, f"{_shown(held)} is also in a {turn.part} turn: {_shown(turn.text)}")


def _may_hold(name: str, part: Part) -> bool:
    """Updates and attacks may mention the value they change."""
    return name == "old_value" and part in (Part.UPDATE, Part.ATTACK)


def _check_addresses(turn: Turn, refuse: Any) -> None:
    """Nothing points anywhere real: `.example` domains (RFC 2606) and 555 numbers."""
    for host in real_hosts(turn.source, turn.text):
        raise refuse("text" if host in turn.text else "source", f"{_shown(host)}: use a name that ends in .example")
    for number in real_numbers(turn.text):
        raise refuse("text", f"{_shown(number)} looks like a telephone number: use one with 555 in it")


def real_hosts(source: str, text: str) -> list[str]:
    """The hosts in a source and its text that do not end in ``.example``, so that somebody may own them."""
    hosts = [*_HOST.findall(text), *_HOST.findall(source)]
    if source.startswith("web:"):
        hosts.append(source.removeprefix("web:").split("/")[0])
    return [host for host in hosts if not host.rstrip(".").lower().endswith(".example")]


def real_numbers(text: str) -> list[str]:
    """What looks like a telephone number (nine to twelve digits) and has no 555 in it."""
    digits = {number: re.sub(r"\D", "", number) for number in _PHONE.findall(text)}
    return [number for number, bare in digits.items() if "555" not in bare and len(bare) in range(9, 13)]


def expand(families: Iterable[Family], suite: str = "families") -> Iterator[Scenario]:
    """All scenarios of the families, family by family."""
    for family in families:
        yield from family.expand(suite)


def read_file(path: Path, *, suite: str) -> list[Scenario]:
    """The scenarios of a file: a list of scenarios, or of families where its folder is called ``families``.

    :raises ScenarioError: names the file and the field.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is not UTF-8: save it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{path}: line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise ScenarioError(f"{path}: brackets in brackets without end: a list of scenarios is expected") from None
    if not isinstance(rows, list):
        raise ScenarioError(f"{path}: a list in brackets is expected, not {_shown(rows)}")
    found: list[Scenario] = []
    for at, row in enumerate(rows):
        where = f"{path.name}: item {at + 1}"
        if isinstance(row, dict) and ("legit" in row or path.parent.name == "families"):
            found += read_family(row, where).expand(suite)
        else:
            found.append(read_scenario(row, where, suite=suite))
    refuse_repeats(found, path.name)
    return found


def refuse_repeats(scenarios: Iterable[Scenario], where: str) -> None:
    """Two scenarios of one id would be one in every table.

    :raises ScenarioError: names the id.
    """
    for identity, times in Counter(one.id for one in scenarios).items():
        if times > 1:
            raise ScenarioError(f"{where}: id: {identity} is there {times} times: every scenario needs its own")
