"""How results look: colours that mean one thing everywhere, and senders' words that stay words.

Whatever a sender wrote goes through ``thymus.core.quoting`` and into a ``Text``, never into markup, so it can neither
style nor steer the terminal. Colours are of the sixteen that every theme makes readable; rich drops them for
``NO_COLOR``, ``TERM=dumb`` and pipes.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from thymus.core.beliefs import Status
from thymus.core.provenance import UNPRINTABLE
from thymus.core.quoting import carrier, one_line, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thymus.core.disclose import Memory, Recall

STYLES: Final = {
    "admitted": "green",
    "active": "green",
    "ok": "green",
    "replaced": "cyan",
    "contested": "magenta",
    "quarantined": "magenta",
    "warn": "magenta",
    "rejected": "red",
    "fail": "red",
    "superseded": "dim",
    "known": "dim",
    "retracted": "dim",
}
MOST_SETTLED: Final = 10
"""Claims of a notice for which the command that settles them is shown."""


class _Screen(Console):
    def on_broken_pipe(self) -> None:
        """Let ``frame`` end the program; rich itself would exit with 1."""
        raise BrokenPipeError


def open_screen(*, stderr: bool = False) -> Console:
    """A console that takes no text for markup, emoji codes or something to highlight."""
    return _Screen(stderr=stderr, markup=False, emoji=False, highlight=False)


def write_json(data: Any) -> None:
    """One JSON document on stdout, with every invisible character escaped."""
    packed = json.dumps(data, indent=2, ensure_ascii=False)
    print(_escape(packed) if _speaks_unicode() else json.dumps(data, indent=2))


def _speaks_unicode() -> bool:
    return "utf" in (getattr(sys.stdout, "encoding", None) or "").lower()


def _escape(packed: str) -> str:
    return re.sub(UNPRINTABLE, lambda m: m[0] if m[0] == "\n" else f"\\u{ord(m[0]):04x}", packed)


def word(term: str) -> Text:
    """A status or outcome in its colour."""
    return Text(term, STYLES.get(term, ""))


def own(text: str) -> str:
    """The user's own words, on one line."""
    return one_line(text)


def said(memory: Memory) -> Text:
    """Who said what, and when: the sender's words quoted, with links that do not work."""
    teller = "you" if memory.source.is_user and not memory.lineage else carrier(memory.source)
    line = Text(f"{teller} said ")
    line.append(quote(memory.text), "bold")
    return line.append(f" on {memory.observed_at.date().isoformat()}")


def show_recall(screen: Console, found: Recall, typed: Callable[[str], str] = "thymus {}".format) -> None:
    """The context to the letter, then the notice.

    :param typed: from words such as ``inbox`` to the command that the user types.
    """
    screen.print(Text("What the model answers from", "bold"))
    screen.print(indent(Text(found.context) if found.context else Text("nothing: no memory bears on this", "dim")))
    if found.notice:
        screen.print()
        screen.print(Text("What you are told", "bold magenta"))
        screen.print(indent(found.notice))
        _show_settling(screen, found.contested, typed)


def _show_settling(screen: Console, contested: Sequence[Memory], typed: Callable[[str], str]) -> None:
    """How to settle what the notice tells of; apart from it, since it is of the command line and not of the guard."""
    screen.print()
    screen.print(Text("Settle it with --accept if it is right, with --reject if not:", "dim"))
    for memory in contested[:MOST_SETTLED]:
        over = memory.contradicts if memory.status is Status.ACTIVE else ()
        command = typed(" ".join(["resolve", memory.id, "--accept", *(f"--over {id_}" for id_ in over)]))
        if len(contested) > 1:
            screen.print(indent(Text(quote(memory.text), "dim")))
        before = "  " if len(contested) == 1 else "    "
        screen.print(Text(before + command, "dim"), soft_wrap=True)  # a command is copied whole
    if len(contested) > MOST_SETTLED:
        screen.print(indent(Text(f"and {len(contested) - MOST_SETTLED} more: --json has them all", "dim")))


def indent(content: RenderableType | str, by: int = 2) -> Padding:
    """Content moved to the right, wrapped within what is left of the width."""
    return Padding(Text(content) if isinstance(content, str) else content, (0, 0, 0, by), expand=False)


def table(*headings: str, numbers: Sequence[str] = ()) -> Table:
    """A table without rules; the columns named in ``numbers`` stand to the right."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=any(headings))
    for heading in headings:
        made.add_column(heading, justify="right" if heading in numbers else "left", overflow="fold")
    return made
