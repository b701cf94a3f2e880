"""The lines of a message that its sender wrote here and now.

Left out: quoted replies and mail headers (RFC 3676 quoting, the attribution lines of the usual mail programs in several
languages), signatures (RFC 3676 section 4.3 and the block after a closing formula), list footers, code, encoded data.
Where it is doubtful the line stays: a lost statement is worse than one too many, which the judge can still refuse.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from thymus.extract.history import WROTE, inline_history
from thymus.extract.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterator


class Line(NamedTuple):
    """A line without the white space around it, and [start, end) in the message."""

    start: int
    end: int
    text: str


_Lines = list[Line | None]  # None stands for one or more empty lines

_WORDLIKE = re.compile(r"[^\W_]")
_QUOTE = re.compile(r">|[A-Z][A-Za-z]{0,3}>\s")
_HEADERS: Final = (
    "from|sent|to|cc|bcc|subject|date|reply-to|importance|priority|attachments?|message-id|return-path|"
    "received|organization|mime-version|x-[a-z-]{1,30}|content-[a-z-]{1,30}|list-[a-z-]{1,30}|von|gesendet|an|betreff|"
    "datum|de|envoyé|à|objet|enviado(?: el)?|para|asunto|fecha|da|inviato|a|oggetto|data|van|verzonden|aan|onderwerp|"
    "enviada|assunto|från|skickat|till|ämne"
)
HEADER: Final = re.compile(rf"\*?(?:{_HEADERS})\s?:\*?(?:\s|$)", re.IGNORECASE)
MAIL_ONLY: Final = re.compile(
    r"\*?(?:subject|betreff|objet|asunto|oggetto|onderwerp|assunto|ämne|message-id|return-path|received|mime-version|"
    r"content-type|reply-to)\s?:|[^@]{0,200}@",
    re.IGNORECASE,
)
SUBJECT: Final = re.compile(
    r"\*?(?:subject|betreff|objet|asunto|oggetto|onderwerp|assunto|ämne)\s?:\*?\s*", re.IGNORECASE
)
_ATTRIBUTION = re.compile(
    rf"(?:on|am|le|el|il|op|em|den|w dniu|at)\b.{{0,200}}\d.{{0,200}}\b{WROTE}\b.{{0,120}}:$", re.IGNORECASE
)
_SAYS = re.compile(rf"[\d@<]|\b{WROTE}\b|^(?:\S+\s){{0,5}}\S+$", re.IGNORECASE)
_ORIGINAL = re.compile(
    r"[-_*\s]{2,40}(?:begin )?(?:original message|original appointment|ursprüngliche nachricht|message d['’]origine|"
    r"mensaje original|messaggio originale|oorspronkelijk bericht|mensagem original|ursprungligt meddelande)\b",
    re.IGNORECASE,
)
FORWARDED: Final = re.compile(
    r"^(?:[-_*]|[^\S\n]){0,40}+(?:begin |start )?(?:forwarded (?:message|mail|text)|weitergeleitete nachricht|"
    r"message (?:transféré|réexpédié)|mensaje reenviado|messaggio inoltrato|doorgestuurd bericht|"
    r"mensagem encaminhada)\b.{0,80}$",
    re.IGNORECASE | re.MULTILINE,
)
_TRACKED = re.compile(
    r"[<(\[]?https?://(?:\S{80,}|\S{1,2000}[?&](?:utm_\w+|u|id|uid|cid|mid|token|unsub\w*|email)=\S*)$", re.IGNORECASE
)
CLOSING: Final = (
    r"(?:(?:with |many |in )?(?:best|kind|kindest|warm|warmest|my best|all my|all the|very best) (?:regards|wishes|"
    r"love|best)|regards|rgds|kr|best|cheers|thanks(?: again| so much| a lot| and regards| in advance)?|many thanks|"
    r"thank you|thx|sincerely|cordially|respectfully|(?:yours|ever yours|sincerely yours)(?: sincerely| faithfully|"
    r" truly| ever| aye)?|(?:lots of |much |with )?love|hugs|xx+|ciao|take care|talk soon|mit (?:freundlichen|besten|"
    r"herzlichen|lieben) grüßen|(?:viele|liebe|beste|schöne|herzliche) grüße|lg|vg|mfg|gruß|(?:bien )?cordialement|"
    r"bien à vous|à bientôt|bises|bisous|amicalement|(?:un |muchos )?(?:cordial |cordiales )?(?:saludos?|"
    r"abrazos?)(?: cordiales?)?|besos|atentamente|(?:cordiali|distinti) saluti|un abbraccio|"
    r"met vriendelijke groet(?:en)?|groetjes|groeten|atenciosamente|abraços?|(?:med )?vänlig(?:a)? hälsning(?:ar)?|"
    r"hälsningar|hilsen)"
)
_SIGN_OFF = re.compile(rf"{CLOSING}(?: from \w+)?\s?[,.!–—-]{{0,3}}$", re.IGNORECASE)
_POSTSCRIPT = re.compile(r"p\.?\s?(?:p\.?\s?)?s\b|nb\b", re.IGNORECASE)
_CONTACT = re.compile(
    r"(?:tel|telefon|téléphone|phone|ph|mobile|mob|mobil|cell|fax|e-?mail|web|www|[tmpfew])\b\s?[.:]|www\.|https?:|"
    r"[^\s@]{1,64}@[^\s@]{1,200}$|\(?\+?[\d(][\d\s()./-]{6,24}$",
    re.IGNORECASE,
)
_NAME = re.compile(r"[-–—~]?\s?[A-ZÀ-Þ][^\W\d_'’.]{0,20}\.?(?: [A-ZÀ-Þ][^\W\d_]{0,20}\.?)?\s?x{0,3}")
_SMALL_WORDS: Final = listed("of the and for at in de la du von van der und & et y e")
_SENT_FROM = re.compile(
    r"(?:sent|gesendet|envoyé|enviado|inviato|verzonden|skickat) (?:from|von|vom|de|desde|da|dal|via|vanaf|från|"
    r"using) \S|get outlook for|von meinem \w+ gesendet|diese nachricht wurde von meinem",
    re.IGNORECASE,
)
_RULE = re.compile(r"[-_=*~#. ]{16,}[~>|-]*$|\S{0,2}[-_=~]{10,}.{0,40}[-_=~]{8,}\S{0,4}$")
_FOOTER = re.compile(
    r".{0,80}\b(?:mailing list|unsubscribe|sponsor(?:ed)?|newsletter|yahoo!?|hotmail|sf\.net|sourceforge)\b|"
    r"(?:get your free|do you|join the world|this (?:e-?mail|message|sf|communication)|the information (?:contained|"
    r"in)|confidential|disclaimer)\b",
    re.IGNORECASE,
)
_ENCODED = re.compile(r"[A-Za-z0-9+/=_-]{64,}$")
_ARMOUR = re.compile(r"-----\s?BEGIN ([A-Z0-9 ]{3,40}?)\s?-----")
_CODE = re.compile(
    r"[{}()\[\];,]+$|.*[;{}]$|\s*@\w+(?:\(|$)|(?:def|class|function|const|let|var|public|private|static|return|if|"
    r"for|while|elif|except|print|echo|sudo)\b.*[({=;:].{0,80}[)};:]$|(?:import|from) [\w.]+(?: import .+)?$|"
    r"#include\b|"
    r"(?:SELECT|INSERT|UPDATE|CREATE) [\w*(,]|(?:at [\w$.<>]+\(|File \").*|</?[a-z][^>]{0,300}>$|\$ \S|"
    r"[\w.\[\]\"']{1,60}\s?[+*-]?=\s?\S.*[)\]}\"';,]$"
)
_CODE_MARKS: Final = re.compile(r"[{};=()<>$@\[]|^(?:import|from|#)")
_LAST_LINES = 12
_MOST_LINES = 10_000


def own_lines(text: str) -> Iterator[Line | None]:
    """Yield what is left, in order; ``None`` for empty lines, and two of them where something was left out."""
    lines = _split(text)
    _strip_name(lines)
    remaining = _remaining(lines)
    begun = False  # whether the sender has said something: headers after that belong to a quoted mail
    at = 0
    while at < len(lines):
        line = lines[at]
        if line is None:
            yield None
            at += 1
            continue
        following = lines[at + 1] if at + 1 < len(lines) else None
        skip = _skip_block(lines, at, line)
        if not skip and _ends_own_part(line, following, lines, at, remaining[at], begun=begun):
            return
        if not skip:
            skip = _skip_noise(lines, at, line, following) or _skip_signature(lines, at, line, remaining[at])
        if skip:
            begun = begun or bool(_SIGN_OFF.match(line.text))  # who only says thanks has said something
            yield None
            yield None
            at += skip
            continue
        begun = True
        at += 1
        if (length := inline_history(line.text)) is None:
            yield line
        else:
            yield from (line._replace(end=line.start + length, text=line.text[:length]), None, None)


def _split(text: str) -> _Lines:
    lines: _Lines = []
    start = 0
    for raw in text.splitlines(keepends=True):
        bare = raw.strip()
        if (bare and _WORDLIKE.search(bare)) or (
            bare and (_RULE.match(bare) or bare[:3] == "```" or bare in ("--", ">"))
        ):
            left = start + len(raw) - len(raw.lstrip())
            lines.append(Line(left, left + len(bare), bare))
        elif lines and lines[-1] is not None:
            lines.append(None)
        start += len(raw)
        if len(lines) >= _MOST_LINES:
            break
    return lines


def _strip_name(lines: _Lines) -> None:
    """Take off the writer's name on the last line, where it follows a finished sentence or an empty line."""
    while lines and lines[-1] is None:
        lines.pop()
    if len(lines) < 2 or (last := lines[-1]) is None or not _NAME.fullmatch(last.text):
        return
    before = lines[-2] or (lines[-3] if len(lines) > 2 else None)
    if before is not None and before.text[-1] in ".!?)" and not _QUOTE.match(before.text):
        lines.pop()


def _remaining(lines: _Lines) -> list[int]:
    """For each line how many come after it that are neither empty nor quoted."""
    counts, seen = [0] * len(lines), 0
    for at in range(len(lines) - 1, -1, -1):
        counts[at] = seen
        line = lines[at]
        seen += line is not None and not _QUOTE.match(line.text)
    return counts


def _next_line(lines: _Lines, at: int) -> Line | None:
    """The next line that is not empty (empty ones are never adjacent)."""
    for line in lines[at + 1 : at + 3]:
        if line is not None:
            return line
    return None


def _skip_block(lines: _Lines, at: int, line: Line) -> int:
    """How many lines a fence, an armoured block or a run of code takes."""
    words = line.text
    if words[:3] == "```":
        close = next((to for to in range(at + 1, min(len(lines), at + 2_000)) if _starts(lines[to], "```")), at)
        return close - at + 1 if close - at > 3 else 1
    if words[:5] == "-----" and (armour := _ARMOUR.match(words)):
        if armour[1] == "PGP SIGNED MESSAGE":
            return 2 if _starts(lines[at + 1] if at + 1 < len(lines) else None, "Hash:") else 1
        to = at + 1
        while to < len(lines) and not _starts(lines[to], "-----END") and to - at < 2_000:
            to += 1
        return to - at + 1 if to < len(lines) and "-----END" not in words else 0
    if _CODE_MARKS.search(words):
        to = at
        while to < len(lines) and ((found := lines[to]) is None or _CODE.match(found.text)):
            to += 1
        if sum(found is not None for found in lines[at:to]) > 2:
            return to - at
    return 0


def _starts(line: Line | None, prefix: str) -> bool:
    return line is not None and line.text.startswith(prefix)


def _ends_own_part(line: Line, following: Line | None, lines: _Lines, at: int, remaining: int, *, begun: bool) -> bool:
    """Whether from here on everything is a quoted mail, a signature or a footer."""
    words = line.text
    if words in ("--", "—"):
        return remaining <= _LAST_LINES
    if _ORIGINAL.match(words):
        return True
    if _RULE.match(words) and remaining <= 2 * _LAST_LINES:
        after = _next_line(lines, at)
        return after is None or bool(_FOOTER.match(after.text))
    if begun and HEADER.match(words) and _header_block(lines, at):
        return True
    if words[-1] == ":" and _ATTRIBUTION.match(words):
        after = _next_line(lines, at)
        return after is not None and not _QUOTE.match(after.text)
    if following is not None and following.text[-1] == ":" and len(words) < 200 and words[-1] not in ".!?":
        after = _next_line(lines, at + 1)
        joined = f"{words} {following.text}"
        return after is not None and not _QUOTE.match(after.text) and bool(_ATTRIBUTION.match(joined))
    return False


def _skip_noise(lines: _Lines, at: int, line: Line, following: Line | None) -> int:
    """How many lines to skip here that are quotes, headers, rules, encoded data."""
    words = line.text
    if len(words) < 120 and FORWARDED.match(words):
        gap = 2 if following is None else 1
        return gap + _header_block(lines, at + gap)
    if (_QUOTE.match(words) and len(lines) > 1) or _RULE.match(words) or words == "--":
        return 1
    if len(words) <= 30 and following is not None and _quoted(lines, at - 1) and _quoted(lines, at + 1):
        return 1  # the end of a quoted line that was wrapped
    if words[-1] == ":" and (after := _next_line(lines, at)) and _QUOTE.match(after.text) and _SAYS.search(words):
        return 1
    if following is not None and following.text[-1] == ":" and (after := _next_line(lines, at + 1)):
        joined = f"{words} {following.text}"
        if _QUOTE.match(after.text) and len(joined) < 300 and _ATTRIBUTION.match(joined):
            return 2
    if HEADER.match(words) and (count := _header_block(lines, at)):
        return count
    if (len(words) >= 64 and _ENCODED.match(words)) or (words[-1:].isalnum() and _TRACKED.match(words)):
        return 1
    return 1 if len(words) < 120 and _SENT_FROM.match(words) else 0


def _quoted(lines: _Lines, at: int) -> bool:
    return 0 <= at < len(lines) and (line := lines[at]) is not None and bool(_QUOTE.match(line.text))


def _header_block(lines: _Lines, at: int) -> int:
    """How many lines of mail headers start here: two or more, of which one occurs in mail only."""
    to, headers, mail_only = at, 0, False
    while to < min(len(lines), at + 12) and (line := lines[to]) is not None:
        if HEADER.match(line.text):
            headers += 1
            mail_only = mail_only or bool(MAIL_ONLY.match(line.text))
        elif to == at or headers < 2 or len(line.text) < 50:  # a folded header is long
            break
        to += 1
    return to - at if headers > 1 and mail_only else 0


def _skip_signature(lines: _Lines, at: int, line: Line, remaining: int) -> int:
    """How many lines a closing formula takes with the name and address block after it."""
    if remaining > _LAST_LINES or len(line.text) > 60 or not _SIGN_OFF.match(line.text):
        return 0
    to, named = at + 1, False
    while to < len(lines):
        found = lines[to]
        if found is not None:
            if _POSTSCRIPT.match(found.text) or not _in_signature(found.text, named=named):
                break
            named = True
        to += 1
    return to - at


def _in_signature(words: str, *, named: bool) -> bool:
    if len(words) > 80 or _ORIGINAL.match(words) or _RULE.match(words) or FORWARDED.match(words) or HEADER.match(words):
        return False
    if _CONTACT.match(words) or _SENT_FROM.match(words):
        return True
    if ":" in words or (not named and any(mark.isdigit() for mark in words)):
        return False
    parts = words.split()
    if not named and len(parts) <= 2:
        return words[-1] not in "?!:"
    capitals = all(part[0].isupper() or not part[0].isalpha() or part in _SMALL_WORDS for part in parts)
    return capitals and len(parts) <= 8 and words[-1] not in "?!:"
