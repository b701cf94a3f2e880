"""The texts in the arguments of a tool call, nested lists, mappings and JSON inside strings unfolded.

JSON's types are read, and those of Python that a tool's own model may hold (tuples, sets, dates, times, decimals,
enums, UUIDs), as JSON would have them written. Anything else is refused rather than passed unread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from itertools import accumulate
from typing import Any, Final
from uuid import UUID

from thymus.errors import InputError

DEEPEST: Final = 32
MOST_LEAVES: Final = 2_000
LONGEST: Final = 100_000
"""Characters of all arguments together."""

_NAME: Final = re.compile(r"[^\W\d]\w{0,63}")
_LEAST_DIGITS: Final = 4
"""Digits from which on a name is a value, too: ``address2`` is a name, ``GB33BUKB…`` is none."""
_LARGEST: Final = 10**100
_STEPS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text in the arguments; ``name`` is the last key of its path ``argument``, ``group`` what stands before."""

    argument: str
    name: str
    group: str
    text: str
    number: bool = False


def read_leaves(args: Mapping[str, object]) -> list[Leaf]:
    """All texts of a call, in order; names that hold values among them.

    :raises InputError: where the arguments are of another type, refer to themselves, or are too deep or too large.
    """
    if not isinstance(args, Mapping):
        raise InputError(f"the arguments of a tool are a mapping from names to values, not {type(args).__name__}")
    leaves = []
    size = 0
    for leaf in _unfold(args, "", "", "", ()):
        leaves.append(leaf)
        size += len(leaf.text)
        if size > LONGEST or len(leaves) > MOST_LEAVES:
            raise InputError(
                f"the arguments hold more than {LONGEST:,} characters or {MOST_LEAVES:,} values: check them in parts"
            )
    return leaves


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it is written: of a name that occurs twice, both values count."""


def _unfold(given: object, argument: str, name: str, group: str, above: tuple[int, ...]) -> Iterator[Leaf]:
    if isinstance(given, Mapping | list | tuple | set | frozenset):
        if id(given) in above:
            raise InputError(f"the argument {argument[:80]!r} contains itself: pass plain JSON")
        if len(above) >= DEEPEST:
            raise InputError(f"the arguments are nested more than {DEEPEST} deep: check the inner ones by themselves")
        above = (*above, id(given))
        if isinstance(given, Mapping | _Pairs):
            yield from _unfold_pairs(given.items() if isinstance(given, Mapping) else given, argument, name, above)
        else:
            yield from _unfold_items(given, argument, name, group, above)
    elif (text := _text(given, argument)).strip():
        inner = _parsed(text, DEEPEST - len(above)) if isinstance(given, str) else None
        if inner is None:
            number = isinstance(given, int | float | Decimal) and not isinstance(given, bool)
            yield Leaf(argument, name, group, text, number)
        else:
            yield from _unfold(inner, argument, name, group, above)


def _unfold_pairs(pairs: Iterable[tuple[Any, Any]], argument: str, name: str, above: tuple[int, ...]) -> Iterator[Leaf]:
    for key, value in pairs:
        if not isinstance(key, str):
            raise InputError(f"the name of an argument is text, not {type(key).__name__}")
        if not _NAME.fullmatch(key) or sum(map(str.isdigit, key)) >= _LEAST_DIGITS:  # {"ravi@x.example": "cc"}
            yield Leaf(argument, name, argument, _well_formed(key))
        yield from _unfold(value, f"{argument}.{key}" if argument else key, key, argument, above)


def _unfold_items(given: Iterable[Any], argument: str, name: str, group: str, above: tuple[int, ...]) -> Iterator[Leaf]:
    ordered = sorted(given, key=repr) if isinstance(given, set | frozenset) else given
    for index, value in enumerate(ordered):
        yield from _unfold(value, f"{argument}[{index}]", name, group, above)


def _parsed(text: str, deepest: int) -> object:
    """What a string of JSON holds, its numbers as they are written; ``None`` where it is none, or a bare number."""
    if text.lstrip()[:1] not in {"{", "[", '"'}:
        return None
    if max(accumulate(_STEPS.get(char, 0) for char in text)) >= deepest:
        return None
    try:
        return json.loads(text, object_pairs_hook=_Pairs, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None


def _text(given: object, argument: str) -> str:
    """A value as text; "" where it says nothing."""
    given = given.value if isinstance(given, Enum) else given
    match given:
        case None | bool():
            return ""
        case str():
            return _well_formed(given)
        case int() | float() | Decimal():
            return _figures(given, argument)
        case datetime():
            return given.strftime("%Y-%m-%d %H:%M")
        case time():
            return given.strftime("%H:%M")
        case date() | UUID():
            return str(given)
    what = "bytes: decode them first" if isinstance(given, bytes | bytearray | memoryview) else type(given).__name__
    raise InputError(f"the argument {argument[:80]!r} is {what}: pass plain JSON (text, numbers, lists, mappings)")


def _figures(number: float | Decimal, argument: str) -> str:
    if not number == number or not -_LARGEST < number < _LARGEST:  # a number that is not itself is NaN
        raise InputError(
            f"the argument {argument[:80]!r} is no finite number below 10^100: leave it out, or pass it as text"
        )
    return f"{Decimal(repr(number) if isinstance(number, float) else number):.400f}".rstrip("0").rstrip(".")


def _well_formed(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
