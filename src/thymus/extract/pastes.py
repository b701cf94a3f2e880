"""Which words of a prompt are the user's own, and which were only handed on.

A hook sees the prompt as one text: nothing in it says what was typed and what was pasted. So what looks like somebody
else's text is taken for that. It is not lost: it is learned as handed on by the user, derived from a paste, and has no
more authority than any other outside text. Quoted lines, code and forwarded mail are ``thymus.extract``'s business.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from thymus.extract.lines import HEADER, MAIL_ONLY

LONGEST_TYPED: Final = 2_000
"""Characters. Of a longer prompt nothing says where a paste begins: all of it counts as pasted."""
_COMMAND: Final = re.compile(r"/[A-Za-z][\w:.-]{0,80}(?=\s|$)")
_ENVELOPE: Final = re.compile(r"\s*<[A-Za-z!?/]")
_ANNOUNCED: Final = re.compile(
    r"\s*(?:another claude session sent a message|a peer session sent a message|a message arrived from"
    r"|the coordinator sent|\[message from non-user source|<<autonomous-loop|this session is being continued from"
    r"|stop hook feedback|caveat: the messages below)",
    re.IGNORECASE,
)
_GREETING: Final = re.compile(  # with a name: who greets nobody, or the assistant, is the user
    r"(?:dear|hi|hello|hey|good (?:morning|afternoon|evening)|liebe[rs]?|sehr geehrte[rs]?|hallo|guten tag|bonjour"
    r"|chère?|madame|monsieur|hola|estimad[oa]s?|querid[oa]|caro|cara|gentile|ciao|beste|geachte|prezad[oa]|hei|hej)"
    r"\s+(?!claude\b|there\b)[^.?!:;]{1,60}[,!:]?",
    re.IGNORECASE,
)
_CLOSING: Final = re.compile(
    r"(?:(?:best|kind|warm|many)?\s?(?:regards|wishes|thanks)|sincerely|yours(?: truly| sincerely| faithfully)?|cheers"
    r"|thank you|(?:mit )?(?:freundlichen|besten|viele|liebe|herzliche) grüßen?|cordialement|bien à vous|saludos"
    r"|un saludo|atentamente|cordiali saluti|met vriendelijke groet|atenciosamente|vennlig hilsen|vänliga hälsningar)"
    r"[,.!]?$",
    re.IGNORECASE,
)


class Words(NamedTuple):
    """The parts of a prompt; either may be empty."""

    own: str
    pasted: str


def machine_made(prompt: str) -> bool:
    """Whether the host, and not the user, worded a prompt: results of background tasks, messages of other sessions.

    They come as prompts that open with a tag. Whoever types one is not heard as the user, which is the safe mistake.
    """
    return bool(_ENVELOPE.match(prompt) or _ANNOUNCED.match(prompt))


def split(prompt: str) -> Words:
    """What the user says in a prompt, and what the user hands on with it. The name of a command is neither."""
    command = _COMMAND.match(prompt)
    words = prompt[command.end() :] if command else prompt
    if len(words) > LONGEST_TYPED:
        return Words("", words)
    lines = words.splitlines(keepends=True)
    at = _pasted_from(lines)
    return Words("".join(lines[:at]), "".join(lines[at:]))


def _pasted_from(lines: list[str]) -> int:
    """The line at which somebody else's text begins: a mail's headers, or a letter with greeting and closing."""
    bare = [line.strip() for line in lines]
    closings = [at for at, line in enumerate(bare) if _CLOSING.fullmatch(line)]
    for at, line in enumerate(bare):
        following = bare[at + 1] if at + 1 < len(bare) else ""
        if HEADER.match(line) and (MAIL_ONLY.match(line) or HEADER.match(following)):
            return at
        if _GREETING.fullmatch(line) and closings and closings[-1] > at:
            return at
    return len(lines)
