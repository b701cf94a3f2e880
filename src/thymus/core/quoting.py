"""Making a sender's words safe to show: on one line, inside quotes they cannot close, with links that do not work.

What a sender wrote is data. In the model's context it is contained (one line, closed quotes, cut), and its identifiers
stay to the letter. In front of the user it is also defanged, so that a notice cannot be used to phish.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from thymus.core.provenance import UNPRINTABLE, USER, Assurance

if TYPE_CHECKING:
    from thymus.core.provenance import Source

LONGEST_QUOTE: Final = 400
LONGEST_LINE: Final = 1_000
LONGEST_NAME: Final = 80

# Quotation marks would close our quotes; < > and ` open markup in terminals, browsers and Markdown.
_OURS = str.maketrans({"“": "'", "”": "'", "„": "'", "‟": "'", '"': "'", "«": "'", "»": "'", "＂": "'"})
_MARKUP = str.maketrans({"<": "‹", ">": "›", "`": "'", "*": "∗", "\\": "/"})
_BRACKETS = str.maketrans({"[": "(", "]": ")"})
_WEB_SCHEME = re.compile(r"(?i)\b(h)tt(ps?)(\s*:\s*/)")
_SCHEME = re.compile(r"(?i)\b(?!hxxps?:)([a-z][a-z0-9+-]{1,30}):(?=[^\s:)\]])")
_HOST_DOT = re.compile(r"(?<=\S)[.\u2024\u3002\uff0e\uff61](?=[^\W\d_]{2})|(?<=\d)\.(?=\d{1,3}\.\d{1,3}\b)")
_NAME_MARKS = _OURS | _MARKUP | str.maketrans("()[]", "{}{}")


def one_line(text: str) -> str:
    """The text on one line, without control, bidi and zero-width characters."""
    spaced = " ".join(text.replace("\x00", " ").split())
    return " ".join(UNPRINTABLE.sub("", spaced).split())


def cut(text: str, longest: int) -> str:
    """The text, shortened at a word where it is longer than ``longest`` characters."""
    if len(text) <= longest:
        return text
    head = text[: longest - 1]
    at_word = head.rsplit(" ", 1)[0]
    return (at_word if len(at_word) > longest // 2 else head).rstrip() + "…"


def defang(text: str) -> str:
    """Break links so that no reader, terminal or mail program makes them clickable (``hxxps://evil[.]example``)."""
    return _HOST_DOT.sub("[.]", _break_scheme(text))


def _break_scheme(text: str) -> str:
    return _SCHEME.sub(r"\1(:)", _WEB_SCHEME.sub(r"\1xx\2\3", text))


def contain(text: str) -> str:
    """A sender's words inside our quotes, for the model: identifiers unchanged."""
    return f"“{cut(one_line(text), LONGEST_LINE).translate(_OURS)}”"


def quote(text: str) -> str:
    """A sender's words inside our quotes, for the user: cut and defanged."""
    safe = cut(one_line(text), LONGEST_QUOTE).translate(_OURS).translate(_MARKUP).translate(_BRACKETS)
    return f"“{defang(safe).removesuffix('.')}”"


def name(source: Source) -> str:
    """A source as users and models see it; an identity cannot pose as our wording or be a link.

    An address stays whole, since the user must recognise it.
    """
    if source.anonymous or source.names_user:
        return source.key
    whole = cut(one_line(source.identity), LONGEST_NAME).translate(_NAME_MARKS)
    shown = (_break_scheme(whole) if "@" in whole else defang(whole)).replace("(:)", "{:}")
    return f"“{source.channel}:{shown}”" if " " in shown else f"{source.channel}:{shown}"


def standing(source: Source) -> str:
    """In words, how the identity of a source is known."""
    if source.channel == USER and not source.identity:
        return "the user" if source.is_user else "says it is the user, unverified"
    return {
        Assurance.REPORTED: "reported by a model",
        Assurance.CLAIMED: "unverified sender",
        Assurance.AUTHENTICATED: "verified sender",
    }[source.assurance]


_CARRIER: Final = {
    "email": ("an e-mail", "from"),
    "sms": ("a text message", "from"),
    "chat": ("a chat message", "from"),
    "web": ("a web page", "at"),
    "tool": ("a result", "of"),
    "mcp": ("a result", "of"),
    "doc": ("a document,", ""),
    "user": ("another person,", ""),
    "assistant": ("an assistant,", ""),
}


def carrier(source: Source) -> str:
    """``an e-mail from email:a@b.example (unverified sender)``."""
    if source.is_user:
        return "you"
    if source.names_user:
        return f"a message under your name ({standing(source)})"
    what, by = _CARRIER.get(source.channel, ("a message", "from"))
    if source.anonymous:
        return f"{what.rstrip(',')} ({name(source)}, {standing(source)})"
    return f"{' '.join(filter(None, (what, by, name(source))))} ({standing(source)})"
