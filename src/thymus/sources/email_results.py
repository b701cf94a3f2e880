"""What an Authentication-Results field says (RFC 8601), read so that a sender's text in it cannot become a result.

``authres`` (the oracle of the tests) reads the standard's grammar only; this reads what servers write: no authserv-id,
``action=none`` without a property type, ``arc.chain=``. What is malformed, or says two things in one place, is a fault,
and the whole field then counts for nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_LONGEST: Final = 20_000
_TOKEN: Final = re.compile(
    r'(?P<blank>\s+)|(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<mark>[;=])|(?P<word>[^\s"();=]+)', re.DOTALL
)
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_BRACKET: Final = re.compile(r"[()]|\\.", re.DOTALL)
_METHODS: Final = frozenset(
    {"spf", "dkim", "dmarc", "arc", "compauth", "sender-id", "domainkeys", "dkim-adsp", "iprev", "auth", "bimi"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One method's result, all in lower case but the values of properties."""

    method: str
    value: str
    properties: tuple[tuple[str, str], ...] = ()
    comment: str = ""

    def get(self, name: str) -> str:
        """The value of a property; "" where it has none, or several that differ."""
        found = {value for key, value in self.properties if key == name}
        return found.pop() if len(found) == 1 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One field: who says so (``None``: the field does not tell), and what.

    :param fault: why nothing in it counts; "" where it can be read.
    """

    authserv_id: str | None = None
    results: tuple[Result, ...] = ()
    fault: str = ""


class _FaultError(ValueError):
    """The field is malformed; the message is a part of a sentence."""


def read_report(value: str) -> Report:
    """Read the value of an Authentication-Results field; never raises."""
    chunks: list[list[tuple[str, str]]] = [[]]
    fault = "is too long to be read" if len(value) > _LONGEST else ""
    try:
        for kind, text in _tokens(value[:_LONGEST]):
            if (kind, text) == ("mark", ";"):
                chunks.append([])
            else:
                chunks[-1].append((kind, text))
    except _FaultError as error:
        fault = fault or str(error)
    named = ("mark", "=") not in chunks[0]
    try:
        authserv_id = _authserv_id(chunks[0]) if named else None
    except _FaultError as error:
        return Report(fault=fault or str(error))
    if fault:
        return Report(authserv_id=authserv_id, fault=fault)
    try:
        results = tuple(result for chunk in chunks[named:] if (result := _result(chunk)))
    except _FaultError as error:
        return Report(authserv_id=authserv_id, fault=str(error))
    return Report(authserv_id=authserv_id, results=results)


def read_sealed_report(value: str) -> tuple[int, Report]:
    """Read an ARC-Authentication-Results field (RFC 8617, section 4.1.1): its instance, 0 where it has none."""
    instance, _, rest = value[: _LONGEST + 100].partition(";")
    found = re.fullmatch(r"\s*i\s*=\s*([0-9]{1,2})\s*", instance[:100])
    return (int(found[1]) if found else 0), read_report(rest)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        if text[at] == "(":
            end = _comment_end(text, at)
            yield "comment", text[at + 1 : end - 1]
            at = end
            continue
        found = _TOKEN.match(text, at)
        if found is None:
            raise _FaultError("has quotes or brackets that do not close")
        yield str(found.lastgroup), found[0]
        at = found.end()


def _comment_end(text: str, start: int) -> int:
    depth = 0
    for mark in _BRACKET.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(mark[0], 0)
        if not depth:
            return mark.end()
    raise _FaultError("has quotes or brackets that do not close")


def _authserv_id(chunk: Iterable[tuple[str, str]]) -> str:
    """``authserv-id [version]``; a version other than 1 is to be ignored (section 2.2)."""
    words = [_QUOTED.sub(r"\1", text) for kind, text in chunk if kind in ("word", "quoted")]
    if len(words) == 2 and words[1] != "1":
        raise _FaultError("is of an unknown version")
    if not words or len(words) > 2:
        raise _FaultError("does not say whose it is")
    return words[0].lower()


def _result(chunk: Sequence[tuple[str, str]]) -> Result | None:
    """``method[/version]=result [reason=…] [ptype.property=value …]``; None for ``none`` and for an empty place."""
    atoms = _atoms(chunk)
    if [atom.lower() for atom in atoms] in ([], ["none"]):
        return None
    pairs = [_pair(atom) for atom in atoms]
    method, _, version = pairs[0][0].partition("/")
    if any(name.partition("/")[0] in _METHODS for name, _ in pairs[1:]):
        raise _FaultError("has two results where one belongs")
    if version not in ("", "1"):
        return None
    comment = " ".join(text for kind, text in chunk if kind == "comment")
    return Result(method=method, value=pairs[0][1].lower(), properties=tuple(pairs[1:]), comment=comment)


def _atoms(chunk: Iterable[tuple[str, str]]) -> list[str]:
    """The words, each with all that belongs to it: blanks and comments may stand around ``=``, ``.`` and ``/``."""
    atoms: list[str] = []
    adjacent = False
    for kind, text in chunk:
        if kind in ("blank", "comment"):
            adjacent = False
            continue
        last = atoms[-1] if atoms else ""
        unnamed = bool(last) and "=" not in last and (text[0] in "=./" or last[-1] in "./")
        if adjacent or unnamed or last.find("=") == len(last) - 1 >= 0:
            atoms[-1] += text
        else:
            atoms.append(text)
        adjacent = True
    return atoms


def _pair(atom: str) -> tuple[str, str]:
    name, equals, value = atom.partition("=")
    if not equals or not name or '"' in name:
        raise _FaultError("has words where a result belongs")
    return name.lower(), _QUOTED.sub(lambda found: _ESCAPED.sub(r"\1", found[1]), value)
