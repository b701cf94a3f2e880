"""One line of clean text out of whatever a sender wrote."""

from __future__ import annotations

import re
from typing import Final

from thymus.core import quoting

# Beyond what ``core.quoting`` takes out: letters without a glyph, and tag characters (U+E00xx), which spell whole
# sentences that a model reads and no person sees.
_SMUGGLED: Final = re.compile("[\u034f\u17b4\u17b5\u3164\uffa0\U000e0000-\U000e007f]+")


def one_line(text: str) -> str:
    """The text without invisible characters, each run of white space made one space.

    Every passage is ``one_line`` of the stretch it points at, and nothing else: evidence never says something other.
    """
    return quoting.one_line(text if text.isascii() else _SMUGGLED.sub("", text))


def listed(words: str) -> frozenset[str]:
    """The set of the words that are listed, parted by white space."""
    return frozenset(words.split())
