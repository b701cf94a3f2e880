"""What a tool returned, taken into a conversation and into memory: under the tool's own name, and as the words of the
pages and senders that it hands on.

Reading comes before learning: whatever is learned, and whenever, all that the model was shown has entered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from thymus.core.provenance import TOOL, UNPRINTABLE, Source
from thymus.sources.domains import is_open_world
from thymus.sources.origins import NOBODY, Piece, pieces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thymus.conversation import Conversation
    from thymus.records import Written

LONGEST: Final = 100_000
"""Characters of one result that are told apart; what follows them is only known to have been there."""


def hands_on(tool: str) -> bool:
    """Whether tools of this name hand on what others wrote, whatever is said of them (``read_email``, ``search``)."""
    return is_open_world(Source(channel=TOOL, identity=UNPRINTABLE.sub("", tool)[:300]))


def read(
    talk: Conversation,
    result: Mapping[str, Any],
    *,
    source: Source,
    arguments: object = None,
    open_world: bool = True,
    longest: int = LONGEST,
) -> list[Piece]:
    """Note that the model is shown a result; what of it can be learned, each piece with whose words it hands on.

    :param result: in the form of MCP's ``CallToolResult`` (``content``, ``structuredContent``).
    :param open_world: whether the tool hands on what anybody wrote. If not, it speaks for itself.
    :param longest: characters that are read; nothing tells an echo of what follows them.
    """
    talk.read("", source=source)  # whatever goes wrong from here on, that much has entered
    found: list[Piece] = []
    room = longest
    for piece in pieces(result, arguments, attribute=open_world):
        origins = piece.origins or ((NOBODY,) if open_world else ())
        text, all_of_it = piece.text[:room], f"{piece.text}\n{piece.heading}"  # a model reads what is no statement too
        for origin in origins or (source,):
            talk.read(all_of_it[:room].strip(), source=origin, all_of_it=len(all_of_it) <= room)
        room = max(0, room - len(all_of_it))
        if text.strip():
            found.append(Piece(text=text, origins=origins))
    return found


def learn(talk: Conversation, piece: Piece, *, source: Source, **known: Any) -> Written:
    """Learn a piece of what a tool returned. Takes what ``MemoryGuard.remember`` takes."""
    if piece.origins and NOBODY not in piece.origins:
        return talk.guard.remember(piece.text, source=source, derived_from=piece.origins, **known)
    return talk.learn(piece.text, source=source, **known)  # from nobody who can be named: perhaps from what was read
