"""Setting and removing one value in the text of a JSON file; everything else in it stays to the letter.

What is put in follows the file's own style: its indentation, line ends, one line or many, a comma after the last member
or none. ``take`` undoes a ``put`` to the letter, but for blanks in a container that was empty. Either reads its result
before it hands it out, so that no text leaves here that says something else than it should.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from thymus.install.jsonc import (
    BLANK,
    BrokenJsonError,
    Document,
    Item,
    Key,
    ShapeError,
    closing,
    find,
    items,
    read,
    root,
)

END: Final = 1 << 30
"""The key of an element that does not exist yet: it comes last."""
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)


def put(text: str, path: Sequence[Key], value: Any) -> str:
    """The text with a value at a path, unchanged where it says that already; missing containers on the way are made.

    :raises BrokenJsonError: where the text cannot be read.
    :raises ShapeError: where something else stands on the way.
    """
    document = read(text)
    start = root(document)
    for depth, key in enumerate(path):
        item = find(document, start, key, path[:depth])
        if item is None:
            new = _insert(document, start, key, _nested(path[depth + 1 :], value))
            break
        start, end = item.start, item.end
    else:
        if read(text[start:end]).value == value:
            return text
        indent, spread = _indent_at(text, start), _spread(document, start, end)
        new = text[:start] + _render(value, document, indent, spread=spread) + text[end:]
    return _checked(new, _with(document.value, path, value))


def take(text: str, path: Sequence[Key]) -> str:
    """The text without what stands at a path; unchanged where nothing does.

    :raises BrokenJsonError: where the text cannot be read.
    :raises ShapeError: where something else stands on the way.
    """
    document = read(text)
    start = root(document)
    for depth, key in enumerate(path[:-1]):
        item = find(document, start, key, path[:depth])
        if item is None:
            return text
        start = item.start
    item = find(document, start, path[-1], path[:-1])
    return text if item is None else _checked(_remove(document, start, item), _without(document.value, path))


def _nested(path: Sequence[Key], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value} if isinstance(key, str) else [value]
    return value


def _with(whole: Any, path: Sequence[Key], value: Any) -> Any:
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(key, str):
        return {**whole, key: _with(whole[key], rest, value) if key in whole else _nested(rest, value)}
    if key >= len(whole):
        return [*whole, _nested(rest, value)]
    return [*whole[:key], _with(whole[key], rest, value), *whole[key + 1 :]]


def _without(whole: Any, path: Sequence[Key]) -> Any:
    key, rest = path[0], path[1:]
    if rest:
        return _with(whole, (key,), _without(whole[key], rest))
    if isinstance(key, str):
        return {name: value for name, value in whole.items() if name != key}
    return [*whole[:key], *whole[key + 1 :]]


def _checked(new: str, expected: Any) -> str:
    try:
        right = read(new).value == expected
    except BrokenJsonError:
        right = False
    if not right:
        raise ShapeError("its layout is not understood")
    return new


# Putting in


def _insert(document: Document, start: int, key: Key, value: Any) -> str:
    held = items(document, start)
    if not held:
        return _insert_first(document, start, key, value)
    text, plain, last = document.text, document.plain, held[-1]
    comma = _comma_after(document, last.end)
    place = last.end if comma is None else comma + 1
    after, _ = _after_comments(text, place, on=" \t")  # what is said of the last member stays with it
    lead = plain[_blank_before(plain, last.begin) : last.begin]
    spread = "\n" in lead or "//" in text[place:after]
    indent = _indent_at(text, last.begin)
    new = _member(document, key, value, indent, spread=spread)
    before = _line_end(text) + indent if spread else lead or (" " if ": " in plain else "")
    if comma is not None:
        return text[:after] + before + new + "," + text[after:]
    return text[: last.end] + "," + text[last.end : after] + before + new + text[after:]


def _insert_first(document: Document, start: int, key: Key, value: Any) -> str:
    text, close = document.text, closing(document, start)
    inner, outer = text[start + 1 : close], _indent_at(text, start)
    if not inner.strip() and not _spread(document, start, close):
        return text[: start + 1] + _member(document, key, value, "", spread=False) + text[close:]
    indent = outer + _unit(document)
    new = _line_end(text) + indent + _member(document, key, value, indent, spread=True)
    kept = len(inner.rstrip(BLANK))  # comments
    tail = inner[kept:] if "\n" in inner[kept:] else _line_end(text) + outer
    return text[: start + 1 + kept] + new + tail + text[close:]


def _member(document: Document, key: Key, value: Any, indent: str, *, spread: bool) -> str:
    rendered = _render(value, document, indent, spread=spread)
    if isinstance(key, int):
        return rendered
    colon = ": " if spread or ": " in document.plain else ":"
    return f"{json.dumps(key, ensure_ascii=False)}{colon}{rendered}"


def _render(value: Any, document: Document, indent: str, *, spread: bool) -> str:
    if not spread:
        loose = ": " in document.plain
        return json.dumps(value, ensure_ascii=False, separators=(", ", ": ") if loose else (",", ":"))
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(document)).split("\n")
    return (_line_end(document.text) + indent).join(lines)


# Taking out


def _remove(document: Document, start: int, item: Item) -> str:
    text, held = document.text, items(document, start)
    at = next(place for place, one in enumerate(held) if one.begin == item.begin)
    between = start if at == 0 else document.bare.index(",", held[at - 1].end)
    begin, open_ = _after_comments(text, between + 1, on=BLANK)
    comma = _comma_after(document, item.end)
    after = text[item.end :] if comma is None else text[item.end : comma] + text[comma + 1 :]
    if len(held) == 1:
        rest = after[: len(after) - (len(text) - closing(document, start))]
        if not (text[start + 1 : begin] + rest).strip(BLANK):
            return text[: start + 1] + text[closing(document, start) :]
    elif comma is None:  # it was the last one: the comma before it goes too
        text, begin = text[:between] + text[between + 1 :], begin - 1
    blank = after[: len(after) - len(after.lstrip(BLANK))]
    return text[:begin] + ("\n" if open_ and "\n" not in blank else "") + after


# The file's own style


def _after_comments(text: str, at: int, *, on: str) -> tuple[int, bool]:
    """Where the comments end that stand at a position, and whether the last one goes on to the end of its line.

    :param on: the blanks that may stand before and between them.
    """
    open_, place = False, at
    while True:
        while place < len(text) and text[place] in on:
            place += 1
        comment = _COMMENT.match(text, place)
        if comment is None:
            return at, open_
        at = place = comment.end()
        open_ = comment[0].startswith("//")


def _comma_after(document: Document, end: int) -> int | None:
    at = end
    while at < len(document.bare) and document.bare[at] in BLANK:
        at += 1
    return at if document.bare[at : at + 1] == "," else None


def _blank_before(text: str, at: int) -> int:
    while at > 0 and text[at - 1] in BLANK:
        at -= 1
    return at


def _line_end(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def _indent_at(text: str, at: int) -> str:
    """The indentation of the line that a position is on."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(document: Document) -> str:
    """What one level is indented by: as the first member is, two spaces where that does not tell."""
    held = items(document, root(document)) if document.value else []
    lead = document.plain[_blank_before(document.plain, held[0].begin) : held[0].begin] if held else ""
    return (_indent_at(document.text, held[0].begin) if "\n" in lead else "") or "  "


def _spread(document: Document, start: int, end: int) -> bool:
    """Whether a value there is written over several lines: unless the whole file is one line with something on it."""
    return "\n" in document.text[start:end] or "\n" in document.text.strip() or not document.value
