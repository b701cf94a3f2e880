"""What the server says in its own words: to the user in questions and notices, to the model in errors.

No model words any of it. Whatever somebody else wrote stands in it on one line, in quotes that it cannot close.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from thymus import config
from thymus.core.beliefs import HELD_BACK
from thymus.core.quoting import LONGEST_QUOTE, carrier, contain, one_line, quote
from thymus.records import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from thymus.core.disclose import Memory
    from thymus.errors import ThymusError
    from thymus.records import Written

_MOST_QUOTED: Final = 3

IN_TOOLS: Final = {
    "memories() and inbox() give the ids": "the tools recall and inbox give the ids",
    "(see inbox())": "(see the tool inbox)",
    ", resolve(memory_id, accept=True, over=[id])": " with `thymus resolve ID --accept --over ID2`",
    "k is how many memories": "limit is how many memories",
}
"""What the library's errors say to a program, as they say it to a model that has tools."""

NO_WAY_TO_ASK: Final = "this client has no way to ask you (MCP elicitation)"
TOO_LONG: Final = f"it is too long to be shown to you in full (more than {LONGEST_QUOTE} characters)"
NOT_AS_SHOWN: Final = "it is markup that reads differently from how it is written"
NOBODY_KNOWN: Final = (
    "whoever calls this server could answer in your name: use it over stdio, or give the client a token "
    "(`thymus token new`)"
)
TOO_MANY: Final = "you have been asked too often in a short time"
CHANGED: Final = "it or what it contradicts has changed since you were asked"
SAID_NO: Final = "you said no to these words before"


def error(fault: ThymusError) -> str:
    """What an error of the library says, on one line and in terms of tools."""
    said = str(fault)
    for before, after in IN_TOOLS.items():
        said = said.replace(before, after)
    return one_line(said)


_TYPES: Final = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "a text"}


def wrong_arguments(tool: str, names: Iterable[str], schema: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Which arguments of a call cannot be used, and what is expected in their place; nothing of what was given."""
    known: Mapping[str, Any] = schema.get("properties", {})
    told = [
        f"{name} {'must be' if name in given else 'is missing:'} {_expected(known[name])}"
        for name in names
        if name in known
    ]
    return f"{tool} was not called: {'; '.join(told) or 'its arguments cannot be read'}. Correct that and call again."


def _expected(field: Mapping[str, Any]) -> str:
    """What an argument is to be, as its schema says it."""
    kind = str(field.get("type"))
    a_text = kind == "string"
    low, high = (field.get(bound) for bound in (("minLength", "maxLength") if a_text else ("minimum", "maximum")))
    if low is None or high is None:
        return _TYPES.get(kind, "what its schema asks for")
    return f"{_TYPES[kind]} {'of' if a_text else 'from'} {low:,} to {high:,}{' characters' if a_text else ''}"


def plain(text: str) -> str:
    """The words as they can be shown and kept alike: on one line, as a person reads them, nothing invisible in them."""
    return one_line(config.readable(text))


def said(memory: Memory) -> str:
    """A memory's words: the user's own bare, another's in quotes, and what is held back with its links broken too."""
    if memory.status in HELD_BACK:
        return quote(memory.text)
    return one_line(memory.text) if memory.source.is_user and not memory.lineage else contain(memory.text)


def teller(memory: Memory) -> str:
    """Who said it and how that is known: ``an e-mail from email:a@b.example (unverified sender)``."""
    return carrier(memory.source)


def ask_to_save(words: str) -> str:
    """May this be saved as the user's own statement?"""
    return (
        f"An assistant asks to save this in your memory as your own words: {quote(words)} "
        "Say yes only if you said or mean exactly that: it will count as yours, and replace what contradicts it."
    )


def ask_to_settle(memory: Memory, rivals: Sequence[Memory], *, accept: bool) -> str:
    """May this claim be settled so?"""
    claim = f"{_capital(teller(memory))} said {quote(memory.text)} on {memory.observed_at.date().isoformat()}."
    if not accept:
        return f"{claim} An assistant asks to reject it. Say yes if it is wrong: it will not be used."
    many = f"{len(rivals)} memories: " if len(rivals) > 1 else ""
    instead = f" It takes the place of {many}{_quoted(rivals)}." if rivals else ""
    return f"{claim} An assistant asks to accept it as true. Say yes only if it is right.{instead}"


def ask_to_forget(memory: Memory) -> str:
    """May this memory be erased?"""
    return (
        f"An assistant asks to erase this memory for good: {quote(memory.text)} "
        f"({teller(memory)}; {memory.status.value}). Say yes only if its text is to be gone; this cannot be undone."
    )


def command(words: str, user: str) -> str:
    """A command for the user to type, for the memory that it is about."""
    other = "" if user == config.DEFAULT_USER else f" --user {shlex.quote(one_line(user))}"
    return f"`thymus {words}{other}`"


def not_saved_as_yours(written: Written, words: str, why: str, user: str) -> str:
    """The notice about a statement as the user's own that they did not confirm; empty where it was theirs before."""
    if written.memories and all(memory.source.is_user and not memory.lineage for memory in written.memories):
        return ""
    held = [memory.id for memory in written.memories if memory.status in HELD_BACK]
    told = f"An assistant wanted to save {quote(words)} as your own words. You have not confirmed it"
    told += f", because {why}." if why else "."
    if not held:
        return f"{told} It was not saved as yours."
    return f"{told} It is kept back and not used. If it is right: {command(f'resolve {held[0]} --accept', user)}" + (
        f" (and {len(held) - 1} more of it in {command('inbox', user)})." if len(held) > 1 else "."
    )


def stood_in(written: Written) -> str:
    """The notice that a language model was not to be had; empty where none was missed."""
    return f"No answer came from the language model: {one_line(written.fallbacks[0])}." if written.fallbacks else ""


def held_back(written: Written) -> str:
    """The notice about what a model wrote and a gate held back; empty where nothing was."""
    kept = [
        memory
        for memory, outcome in zip(written.memories, written.outcomes, strict=True)
        if outcome in (Outcome.CONTESTED, Outcome.QUARANTINED)
    ]
    if not kept:
        return ""
    one = len(kept) == 1
    return (
        f"I have kept back what an assistant wanted to save: {_quoted(kept)}. "
        f"{'It' if one else 'They'} will not be used until you settle {'it' if one else 'them'}: see the inbox."
    )


def not_learned(lost: int) -> str:
    """The notice that results of tools were not learned; empty where all were."""
    if not lost:
        return ""
    what = "A result of a tool was" if lost == 1 else f"{lost:,} results of tools, or parts of them, were"
    return (
        f"{what} not learned: the memory was busy, or more came than could be read. Ask for it again if it matters; "
        "the log of the server says which."
    )


def not_settled(memory_id: str, accept: bool, why: str, user: str) -> str:
    """The notice that a claim stays as it is."""
    yourself = command(f"resolve {one_line(memory_id)} --{'accept' if accept else 'reject'}", user)
    return f"Nothing was settled, because {why}. To settle it yourself: {yourself}."


def not_forgotten(memory_id: str, why: str, user: str) -> str:
    """The notice that a memory stays."""
    return f"Nothing was erased, because {why}. To erase it yourself: {command(f'forget {one_line(memory_id)}', user)}."


def _quoted(memories: Sequence[Memory]) -> str:
    more = len(memories) - _MOST_QUOTED
    named = ", ".join(quote(memory.text) for memory in memories[:_MOST_QUOTED])
    return f"{named} and {more} more" if more > 0 else named


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
