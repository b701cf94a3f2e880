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
_NAME: Final = re.compile(r"[^\W\d_][\w'’.-]*(?:\s+[\w'’.-]+){0,3}[,.]?")
_ASKS: Final = (
    r"(?:^|[.!?,;:]\s+|\b(?:please|kindly|you(?: to)?|and|then|bitte|mir|peux-tu|pouvez-vous|puedes|por favor|puoi"
    r"|per favore|kun je|pode)\s+)"
)
_HANDLE: Final = "|".join(  # what is asked to be done with somebody's words, in the languages of the greetings
    (
        r"summari[sz]e|sum up|translate|reply to|respond to|answer(?! me\b)|forward(?!-)|proofread|paraphrase",
        r"rephrase|rewrite",
        r"tl;?dr|what (?:does|do|did)\b[^:\n]{0,40}\b(?:say|mean|want|write)",
        r"is (?:this|that)\b[^:\n]{0,20}\b(?:spam|phishing|a scam|legit\w*|genuine)",
        r"(?:i )?(?:just )?(?:got|received) (?:this|the following|an? (?:e-?mail|mail|message|letter|text))",
        r"(?:fasse?|fassen sie)\b(?=[^:\n]{0,60}\bzusammen)|übersetzen?|beantworten?|antworten? auf",
        r"leiten?\b(?=[^:\n]{0,60}\bweiter)|was (?:steht|bedeutet|will|schreibt|sagt)",
        r"r[ée]sume[rz]?|traduis|traduire|traduisez|r[ée]pond(?:s|re|ez) à|transf[èé]re[rz]?|que (?:dit|veut dire)",
        r"resum[ea]|resumir|traduc[ei]r?|traduzca|responde a|responder a|reenv[ií]a|qu[ée] dice",
        r"riassumi|traduci|rispondi a|inoltra|cosa dice",
        r"vat\b(?=[^:\n]{0,60}\bsamen)|vertaal|beantwoord|antwoord op|stuur\b(?=[^:\n]{0,60}\bdoor)|wat (?:staat|zegt)",
        r"traduz|traduza|resuma|responda a|encaminhe|o que diz",
    )
)
_OF_OTHERS: Final = re.compile(
    r"\b(?:this|that|these|following|below|e-?mail|mail|message|letter|text|note|thread|post|article|review|comment"
    r"|dies(?:e[mnrs]?)?|das|folgende[mnrs]?|nachricht|brief|ceci|ce|cet|cette|suivant\w*|courriel|lettre|esto|est[ea]"
    r"|siguiente|correo|mensaje|carta|questo|questa|seguente|messaggio|lettera|dit|deze|volgende|bericht|isto"
    r"|seguinte|mensagem)\b",
    re.IGNORECASE,
)
_HANDED_OVER: Final = re.compile(rf"{_ASKS}(?:{_HANDLE})\b[^:：\n]{{0,100}}[:：](?=\s|$)", re.IGNORECASE)
_HANDED_OVER_BELOW: Final = re.compile(rf"{_ASKS}(?:{_HANDLE})\b[^:：\n]{{0,100}}$", re.IGNORECASE)
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
    at = _pasted_from(words)
    return Words(words[:at], words[at:])


def _pasted_from(words: str) -> int:
    """The character at which somebody else's text begins: what is handed over to be summarised or answered, a mail's
    headers, a letter with greeting and closing, or one with a closing and a name alone."""
    lines = words.splitlines(keepends=True)
    bare = [line.strip() for line in lines]
    closings = [at for at, line in enumerate(bare) if _CLOSING.fullmatch(line)]
    begins, found = 0, []
    for at, line in enumerate(bare):
        following = bare[at + 1] if at + 1 < len(bare) else ""
        if HEADER.match(line) and (MAIL_ONLY.match(line) or HEADER.match(following)):
            found.append(begins)
        if closings and closings[-1] > at:
            if _GREETING.fullmatch(line):
                found.append(begins)
            colon = line.rfind(":", 0, -1) + 1  # "Summarise this: Hi Sam,"
            if colon and _GREETING.fullmatch(line[colon:].strip()):
                found.append(begins + lines[at].index(line) + colon)
        if (handed := _HANDED_OVER.search(lines[at])) and words[begins + handed.end() :].strip():
            found.append(begins + handed.end())
        if any(bare[at + 1 :]) and (below := _HANDED_OVER_BELOW.search(line)) and _OF_OTHERS.search(below[0]):
            found.append(begins + len(lines[at]))
        begins += len(lines[at])
    if found:
        return min(found)
    signed = [at for at in closings if _is_name("".join(bare[at + 1 : at + 2]))]
    return _letter_before(lines, bare, signed[-1]) if signed else len(words)


def _is_name(line: str) -> bool:
    """Whether a line is a short name alone, as under a letter."""
    return len(line) <= 40 and bool(_NAME.fullmatch(line)) and line[0].isupper()


def _letter_before(lines: list[str], bare: list[str], closing: int) -> int:
    """Where a letter may begin that ends there and greets nobody: with its one paragraph, or else after the first line,
    which is where a request stands if there is one."""
    first = next(at for at, line in enumerate(bare) if line)
    alone = all(bare[first : closing + 1])
    return sum(map(len, lines[: first if alone else first + 1]))
