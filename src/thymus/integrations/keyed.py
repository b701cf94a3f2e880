"""What a value under a key states: the values of a key-value store as messages for a guard.

A value holds statements ("My standup is at 9:15", whatever its key) and fields (``theme: dark``, said of its key
alone). A statement is compared with all that the memory holds. A field bears a label, its path in the store, and is
compared with statements and with fields of the same path: two records under two keys are of two things, so ``n: 1`` and
``n: 2`` there do not contradict. The label's brackets are taken out of all values, so that no value can pose as one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from thymus.core.claims import Kind
from thymus.core.quoting import one_line
from thymus.core.relations import Label, Relation
from thymus.integrations.adapter import plain
from thymus.ports import Judge, Passage, Statement

if TYPE_CHECKING:
    from thymus.core.claims import Claim
    from thymus.core.provenance import Source
    from thymus.ports import Extractor

LONGEST: Final = 20_000
"""Characters of a value's text that are read. Of a longer one nobody knows what it states."""
_LONGEST_PATH: Final = 200
_DEEPEST: Final = 20
_STATEMENT: Final = re.compile(r"\S+\s+\S+\s+\S")
_PROSE_KEY: Final = re.compile(r"(?:[^\W\d_]{2,}[\W_]+){2,}\w")
_PLAIN_FIELDS: Final = re.compile(
    "text|contents?|memor(y|ies)|value|data|facts?|notes?|message|body|description|summary|page_content|statement",
    re.IGNORECASE,
)
_ENOUGH_WORDS: Final = 6
_OPEN, _CLOSE = "⟦⟧"
_LABELLED: Final = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE} ")
_UNLABEL: Final = str.maketrans({_OPEN: "[", _CLOSE: "]"})
_PROSE: Final = f"{_OPEN}text{_CLOSE} "
_DATA: Final = f"{_OPEN}data{_CLOSE} kept by "


def label(namespace: Sequence[str], key: str) -> str:
    """The path of a value as the label of what its fields say."""
    path = one_line("/".join((*namespace, key))).translate(_UNLABEL)[:_LONGEST_PATH]
    return f"{_OPEN}{path}{_CLOSE} "


def text_of(namespace: Sequence[str], key: str, value: Mapping[str, Any]) -> str:
    """All that a value says: its short fields on one line under its label, then its statements, a line each.

    A key that is a sentence itself is one of them: whoever reads a value reads its key.
    """
    fields: list[str] = []
    statements = [key.replace("_", " ")] if _PROSE_KEY.match(key) else []
    for name, said in _leaves(plain(value), "", _DEEPEST):
        if not _STATEMENT.search(said):
            fields.append(f"{name}: {said}" if name else said)
        elif _PLAIN_FIELDS.fullmatch(name.rpartition(".")[2]) or len(said.split(None, _ENOUGH_WORDS)) > _ENOUGH_WORDS:
            statements.append(said)
        else:
            statements.append(f"{name}: {said}")
    head = [label(namespace, key) + one_line(", ".join(fields)).translate(_UNLABEL)] if fields else []
    return "\n".join((*head, *(said.translate(_UNLABEL) for said in statements)))


def data_text(namespace: Sequence[str], key: str, source: Source, text: str) -> str:
    """What stands in memory for a value in which the judge finds no claim.

    For prose that is the prose, marked as such: it is compared with what the memory holds, since a model will read it
    all the same, but not with other such prose. For a counter or a blob it says whose it is, and no more.
    """
    prose = " ".join(one_line(line) for line in text.splitlines() if not is_labelled(line)).strip()
    return label(namespace, key) + (f"{_PROSE}{prose}" if prose else f"{_DATA}{source.key}")


def whole(value: Mapping[str, Any]) -> str:
    """A value as it is written down, for the user to see what was withheld."""
    return json.dumps(plain(value), ensure_ascii=False).translate(_UNLABEL)


def is_labelled(text: str) -> bool:
    """Whether it is said of a key, and not a statement."""
    return _LABELLED.match(text) is not None


def _leaves(value: Any, name: str, deep: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, one in value.items() if deep else ():
            yield from _leaves(one, f"{name}.{key}" if name else str(key), deep - 1)
    elif isinstance(value, list):
        short = [str(one) for one in value if isinstance(one, (str, int, float)) and not _STATEMENT.search(str(one))]
        if short:
            yield name, ", ".join(short)
        for one in value if deep else ():
            if not isinstance(one, (int, float)) and not (isinstance(one, str) and not _STATEMENT.search(one)):
                yield from _leaves(one, name, deep - 1)
    elif value is not None and str(value).strip():
        yield name, str(value).strip()


class Lines:
    """An extractor that leaves a labelled line whole, and splits the rest as the guard's own does."""

    def __init__(self, inner: Extractor) -> None:
        self._inner = inner

    def extract(self, text: str, *, source: Source) -> list[Passage]:
        """The labelled line, if there is one, and what the guard's own extractor finds in the rest."""
        found: list[Passage] = []
        start = 0
        if _LABELLED.match(text):
            line = text.partition("\n")[0]
            start = min(len(line) + 1, len(text))
            kind = Kind.FACT if _is_data(line) else None
            found.append(Passage(text=one_line(line), span=(0, len(line)), kind=kind))
        rest = self._inner.extract(text[start:], source=source) if text[start:].strip() else ()
        found += [replace(one, span=(one.span[0] + start, one.span[1] + start)) for one in rest]
        return found


class Whole:
    """An extractor that takes a message for one fact, whatever it says: for what must not go unrecorded."""

    def extract(self, text: str, *, source: Source) -> list[Passage]:  # noqa: ARG002  (the port's signature)
        """The message."""
        return [Passage(text=one_line(text), span=(0, len(text)), kind=Kind.FACT)]


class ByPath:
    """A judge that knows labels: fields of two paths go together, so does marked prose, and data with everything."""

    def __init__(self, inner: Judge) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """The judge's behind it."""
        return self._inner.name

    def relate(self, pairs: Sequence[tuple[str | Claim | Statement, str | Claim | Statement]]) -> list[Relation]:
        """The judge's answers, for the pairs that it is asked about."""
        read = [(Statement.of(stored), Statement.of(incoming)) for stored, incoming in pairs]
        apart = [_apart(stored.text, incoming.text) for stored, incoming in read]
        asked = [(_bare(one), _bare(other)) for (one, other), known in zip(read, apart, strict=True) if not known]
        given = iter(self._inner.relate(asked) if asked else ())
        return [_TOGETHER if known else next(given) for known in apart]

    def classify(self, statements: Sequence[str | Claim | Statement]) -> list[Kind]:
        """The judge's answers, without labels; data is a fact."""
        read = [Statement.of(one) for one in statements]
        asked = [_bare(one) for one in read if not _is_data(one.text)]
        given = iter(self._inner.classify(asked) if asked else ())
        return [Kind.FACT if _is_data(one.text) else next(given) for one in read]


_TOGETHER: Final = Relation(
    label=Label.COMPATIBLE,
    confidence=1.0,
    contradiction=0.0,
    judge="keys",
    because="they are said of two keys, or state nothing",
)


def _is_data(text: str) -> bool:
    return _unlabelled(text).startswith(_DATA)


def _apart(one: str, other: str) -> bool:
    if (
        _is_data(one)
        or _is_data(other)
        or (_unlabelled(one).startswith(_PROSE) and _unlabelled(other).startswith(_PROSE))
    ):
        return True
    first, second = _LABELLED.match(one), _LABELLED.match(other)
    return first is not None and second is not None and first[1] != second[1]


def _unlabelled(text: str) -> str:
    """What stands after the label; nothing where there is none."""
    found = _LABELLED.match(text)
    return text[found.end() :] if found else ""


def _bare(statement: Statement) -> Statement:
    """A field with the last part of its path as a plain word before it; marked prose as it is."""
    found = _LABELLED.match(statement.text)
    if found is None:
        return statement
    said = statement.text[found.end() :]
    key = found[1].rpartition("/")[2].replace("_", " ")
    return replace(statement, text=said.removeprefix(_PROSE) if said.startswith(_PROSE) else f"{key}: {said}")
