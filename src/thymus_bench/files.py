"""Files of results: JSON that every file can hold, read back whatever a kill left of it, and written whole."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from pathlib import Path
from typing import Any


def json_text(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """JSON that every file can hold: a lone surrogate, which UTF-8 has no place for, stays an escape."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=sort_keys)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def read_rows(path: Path) -> list[Any]:
    """The lines of a JSON Lines file, parsed; a last one that was cut off, be it within a letter, is left out.

    :raises ValueError: where another line is no JSON in UTF-8.
    :raises OSError: where the file cannot be read.
    """
    lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
    found = []
    for at, line in enumerate(lines):
        last = at == len(lines) - 1
        try:
            found.append(json.loads(getincrementaldecoder("utf-8")().decode(line, final=not last)))
        except json.JSONDecodeError:
            if not last:
                raise
    return found


def write_whole(path: Path, text: str) -> None:
    """All of it or nothing: a kill leaves the old file."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
