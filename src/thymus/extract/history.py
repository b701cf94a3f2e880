"""Where in a line a quoted mail begins: some programs take the line breaks out of what they hand on."""

from __future__ import annotations

import re
from typing import Final

WROTE: Final = r"(?:wrote|writes|said|schrieb|écrit|escribió|scritto|schreef|escreveu|skrev|napisał|napsal)"
"""What the line before a quotation says, in the languages of the usual mail programs."""

_INLINE_HISTORY = re.compile(
    rf"\s(?:-{{3,20}}\s?(?:begin )?(?:original message|ursprüngliche nachricht|message d['’]origine|"
    rf"mensaje original)\s?-{{3,20}}|_{{10,40}}\s?From:\s|"
    rf"(?:>\s?)?(?:on|am|le|el)\s[^\n>]{{3,90}}?\b{WROTE}\b[^\n>:]{{0,40}}:\s?>)",
    re.IGNORECASE,
)
_LONGEST: Final = 20_000


def inline_history(words: str) -> int | None:
    """Return the length of what stands before a quoted mail in the same line; ``None`` where there is none.

    Only the beginning of a huge line is looked at.
    """
    if ">" not in words and "--" not in words and "__" not in words:
        return None
    found = _INLINE_HISTORY.search(words, 0, _LONGEST)
    return len(words[: found.start()].rstrip()) or None if found else None
