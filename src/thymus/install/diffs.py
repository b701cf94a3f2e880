"""What would change in a file, to be shown to its owner: without the values of others, which may be keys.

A configuration is shown on terminals, in recordings and to agents that run the command. So every value that Thymus did
not put there is shown as ``…``, and so are comments; names of members stay.
"""

from __future__ import annotations

import difflib
import json
import re
from typing import Final

from thymus.core.provenance import UNPRINTABLE
from thymus.install.jsonc import TOKEN, BrokenJsonError, read
from thymus.install.plan import Change

CONTEXT: Final = 3
LONGEST: Final = 160
"""Characters of a line; where one of a file is longer, the file is shown laid out anew."""
_NAME: Final = re.compile(r"[ \t\r\n]*:")


def diff(change: Change) -> list[str]:
    """The lines of a unified diff, without its header; each begins with ``+``, ``-``, ``@`` or a blank."""
    before, after = (_masked(raw, change.ours) for raw in (change.file.raw, change.after))
    if any(len(line) > LONGEST for text in (before, after) for line in text.splitlines()):
        before, after = _laid_out(before), _laid_out(after)
    old, new = before.splitlines(), after.splitlines()
    head = tail = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    head, tail = max(head - CONTEXT, 0), max(tail - CONTEXT, 0)
    found = list(difflib.unified_diff(old[head : len(old) - tail], new[head : len(new) - tail], n=CONTEXT, lineterm=""))
    return [_moved(line, head) if line.startswith("@@") else _shown(line) for line in found[2:]]


def _masked(raw: bytes | None, ours: frozenset[str]) -> str:
    text = (raw or b"").decode("utf-8-sig", "replace")

    def hide(found: re.Match[str]) -> str:
        token = found[0]
        if token.startswith("//"):
            return "// …"
        if token.startswith("/*"):
            return "/* … */"
        if _NAME.match(text, found.end()):
            return token
        try:
            kept = json.loads(token) in ours
        except ValueError:
            kept = False
        return token if kept else '"…"'

    return TOKEN.sub(hide, text)


def _laid_out(text: str) -> str:
    try:
        return json.dumps(json.loads(read(text).plain), indent=2, ensure_ascii=False) if text.strip() else text
    except (BrokenJsonError, ValueError):
        return text


def _moved(line: str, by: int) -> str:
    """The header of a hunk, counted from the start of the file."""
    return re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + by}", line, count=2)


def _shown(line: str) -> str:
    line = UNPRINTABLE.sub("", line.expandtabs(4))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
