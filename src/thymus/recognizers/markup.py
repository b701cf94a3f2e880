"""Structure that a message has no business to have: turns of a chat, roles, and HTML that a reader does not see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from thymus.recognizers.page import scan
from thymus.recognizers.wordings import MOST_FOUND

_ROLES: Final = (
    # tokens and tags of chat templates: ChatML, Llama 2 and 3, Gemma, Mistral, and made-up XML in their manner
    re.compile(
        r"<\|[a-z_]{2,30}\|>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>"
        r"|</?(?:system|assistant|developer|human)(?:[_-]?(?:message|prompt|reminder|instructions?|note|notice))?>"
        r"|</?(?:user_(?:message|input|query)|instructions?|important|information|tool_(?:output|results?|call)"
        r"|function_(?:results?|calls?)|function_call [^>\n]{0,80})>",
        re.IGNORECASE,
    ),
    re.compile(
        r"^[ \t>]{0,4}(?:#{2,5} ?(?:system|instructions?|response|assistant|human)[ \w]{0,20}(?::|#{2,5})"
        r"|\[(?:system|admin|developer)(?: \w{1,20}){1,8}\]"
        r"|\[/?(?:end of (?:document|e-?mail|message|text|input|data|context)|system (?:message|prompt|note"
        r"|notice|instruction"
        r"|override)s?)\b[^\]\n]{0,80}\]"
        r"|(?:system|developer) (?:message|prompt|note|notice|override|instructions?|alert) ?:)",
        re.IGNORECASE | re.MULTILINE,
    ),
    re.compile(r"(?:^|(?<=[\n.!?>\"'-] )|(?<=\n))\[?/?SYSTEM\]?(?:(?<=\])|:)", re.MULTILINE),
    re.compile(
        r"^[ \t>*]{0,4}(?:system|developer)\**: ?(?:you(?:r|'re)?|the user|the assistant|ignore|disregard"
        r"|forget|always|never|do not)\b",
        re.IGNORECASE | re.MULTILINE,
    ),
    re.compile(r"^[ \t>*]{0,4}(?:assistant|ai)\**:(?=\**\s{0,3}(?:\S{1,40}\s{1,3}){4})", re.IGNORECASE | re.MULTILINE),
    re.compile(
        r"^[ \t]{0,3}[-=*#]{1,6} ?(?:new|updated|revised|real|override) (?:system )?(?:tasks?|instructions?"
        r"|goal|objective|prompt|directives?)\b",
        re.IGNORECASE | re.MULTILINE,
    ),
    re.compile(r"[\"']role[\"']\s{0,4}:\s{0,4}[\"'](?:system|assistant|developer|tool)[\"']", re.IGNORECASE),
    re.compile(
        r"[-=*#<\[]{2,6} ?(?:begin|start|end) (?:of )?(?:new )?(?:override|system|instructions?|prompt|admin)\b",
        re.IGNORECASE,
    ),
    re.compile(r"\[system\]\(#", re.IGNORECASE),
)
_ROLE_CLUES: Final = re.compile(
    r"<[|</]|<(?:sys|ass|dev|hum|user_|instr|import|inform|tool_|func|start|end)|inst\]|[-=*#]|system"
    r"|assistant|ai\**:|role|\[end|developer|\[admin",
    re.IGNORECASE,
)


def find_roles(text: str) -> Iterator[tuple[str, int, int]]:
    """Role tags and turns that pretend to be the conversation: name, start and end."""
    if _ROLE_CLUES.search(text):
        for pattern in _ROLES:
            for match in scan(pattern, text, MOST_FOUND):
                yield "role_tag", *match.span()


_TAG: Final = re.compile(
    r"<(?P<tag>[a-z][a-z0-9]{0,15})\b(?P<attributes>(?:[^<>\"']|\"[^\"<>]{0,2000}\"|'[^'<>]{0,2000}'){1,2000})>"
    r"(?P<inside>[^<]{0,4000})",
    re.IGNORECASE,
)
_INVISIBLE: Final = re.compile(
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}(?:hidden|collapse)"
    r"|font-size\s{0,3}:\s{0,3}[01](?:\.\d{1,3})?(?:px|pt|em|rem|%)?(?![\d.])"
    r"|opacity\s{0,3}:\s{0,3}0(?:\.0\d{0,2})?(?![\d.])|(?:max-)?height\s{0,3}:\s{0,3}0(?:px)?(?![\d.])"
    r"|(?:left|top|right|text-indent|margin-left)\s{0,3}:\s{0,3}-\d{3,5}|color\s{0,3}:\s{0,3}transparent"
    r"|aria-hidden\s{0,3}=\s{0,3}[\"']?true|clip\s{0,3}:\s{0,3}rect\(0",
    re.IGNORECASE,
)
_VALUE: Final = re.compile(r"\"[^\"]*+\"|'[^']*+'")
_HIDDEN: Final = re.compile(r"(?<!\S)hidden(?!\S)(?!=)|(?<!\S)hidden=(?!false)", re.IGNORECASE)
_WHITE: Final = r"(?:white|#fff(?:fff)?|rgb\(255, ?255, ?255\))(?![\da-f])"
_WHITE_TEXT: Final = re.compile(rf"(?<![-\w])color\s{{0,3}}[:=]\s{{0,3}}[\"']?{_WHITE}", re.IGNORECASE)
_COLOURED: Final = re.compile(
    rf"(?:background(?:-color)?|bgcolor)\s{{0,3}}[:=]\s{{0,3}}[\"']?(?!{_WHITE}|transparent|none|inherit)[#\w]",
    re.IGNORECASE,
)
_MARKDOWN_COMMENT: Final = re.compile(r"^\[//\]: # [(\"'](?P<said>[^\n]{1,2000})", re.MULTILINE)
ADDRESSEE: Final = re.compile(
    r"\b(?:ais?|assistants?|agents?|llms?|(?:chat)?bots?|(?:chat)?gpt|copilot|language models?)\b", re.IGNORECASE
)
"""Whom a comment speaks to that is not meant for people."""
_LETTERS: Final = re.compile(r"[^\W\d_]{2}")


_BEACON: Final = re.compile(
    r"\]\(\s?https?://[^\s()]{1,500}[?&][\w.-]{1,40}=(?:[\[{<$]|%7[Bb]|[A-Z][A-Z_]{4,40}(?![\w-]))"
)


def find_beacons(text: str) -> Iterator[tuple[int, int]]:
    """Links and images of Markdown whose address has a gap for the assistant to fill: reading it sends it away."""
    if "](" in text:
        for match in scan(_BEACON, text, MOST_FOUND):
            yield match.span()


def find_hidden(text: str) -> Iterator[tuple[int, int]]:
    """Text inside an element that is not shown: start and end with its tag. White on white counts as not shown.

    Text on a coloured ground anywhere in the document makes white letters ordinary (buttons of newsletters).
    """
    if "<" not in text:
        return
    coloured: bool | None = None
    for match in _TAG.finditer(text):
        inside, attributes = match["inside"], match["attributes"]
        if not _LETTERS.search(inside):
            continue
        hidden = bool(_INVISIBLE.search(attributes) or _HIDDEN.search(_VALUE.sub("", attributes)))
        if not hidden and _WHITE_TEXT.search(attributes):
            coloured = _COLOURED.search(text) is not None if coloured is None else coloured
            hidden = not coloured
        if hidden:
            yield match.span()


def find_comments(text: str) -> Iterator[tuple[str, int, int]]:
    """What comments in HTML and Markdown say: text, start and end."""
    at = text.find("<!--")
    while at >= 0 and (end := text.find("-->", at + 4)) >= 0:
        yield text[at + 4 : end], at, end + 3
        at = text.find("<!--", end)
    if "[//]" in text:
        for match in scan(_MARKDOWN_COMMENT, text, MOST_FOUND):
            yield match["said"], *match.span()
