"""Markers: the ways in which a value may be written, looked for without case, spaces or punctuation.

A text is read as a row of pieces: runs of letters, runs of digits (a clock time is one), every CJK character alone. A
marker is found where its pieces stand in a row: ``555-0199`` in ``+1 555 0199``, ``10:40`` in ``10.40am`` but not in
``110:405``. One of six characters or more may also lie within longer pieces: ``5550199`` in ``+15550199``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

_LOOSE: Final = 6
"""Characters from which on a marker need not begin and end where a piece does."""
_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PIECE: Final = re.compile(rf"\d+(?::\d+)*|[{_CJK}]|[^\W\d_{_CJK}]+")


@lru_cache(maxsize=4_096)
def pieces(text: str) -> tuple[str, ...]:
    """The letters and digits of a text in their compatible, case-folded form; accents count, invisible marks do not."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    visible = "".join(letter for letter in folded if unicodedata.category(letter) != "Cf")
    return tuple(piece.replace(":", "") for piece in _PIECE.findall(visible))


def holds(text: str, marker: str) -> bool:
    """Whether a text holds a marker; an empty marker is in none."""
    wanted = "".join(pieces(marker))
    if not wanted:
        return False
    row = pieces(text)
    tight = "".join(row)
    if wanted not in tight:
        return False
    if len(wanted) >= _LOOSE:
        return True
    edges, at = {0}, 0
    for piece in row:
        edges.add(at := at + len(piece))
    start = tight.find(wanted)
    while start >= 0:
        if start in edges and start + len(wanted) in edges:
            return True
        start = tight.find(wanted, start + 1)
    return False


def first_held(text: str, markers: Iterable[str]) -> str:
    """The first of the markers that a text holds, or ``""``."""
    return next((marker for marker in markers if holds(text, marker)), "")
