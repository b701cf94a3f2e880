"""Links to act on: what is done behind them hands over money, a secret, an identity or the device.

Log in, pay, verify, confirm, update details, download a program, track, claim, apply, unlock; or the address itself is
disguised or says so. What is read there is not: an article, an album, a document, a map; and neither is a newsletter's
furniture (unsubscribe, view in browser, shop, sale of tickets).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from thymus.recognizers.stake_reading import Reading

FURNITURE: Final = re.compile(
    r"subscri|opt.?out|abmelden|desabonn|mailing list|listinfo|to (?:be )?remove|be removed"
    r"|removal|taken off|off (?:of )?our list|no longer wish|ne plus|stop receiving|[\"']remove[\"']|-remove|/remove"
)
"""How to leave a list: on every newsletter, and nothing that anybody would look up."""
_READABLE: Final = re.compile(
    r"(?<!\w)(?:slides|papers?|pdf|reports?|recording|brochure|agenda|minutes|programme|menu|map|photos"
    r"|transcript|abstract)(?!\w)"
)
_DISGUISED: Final = re.compile(
    r"hxxp|\[\.\]|\[:\]|\(\.\)|//[^/\s]{0,80}@|(?:^|//|\.)xn--|//(?:\d{1,3}\.){3}\d{1,3}"
    r"|\.(?:exe|apk|msi|dmg|scr|bat|cmd|iso|jar|ps1|vbs)(?:$|[?#])"
)
_TELLING: Final = re.compile(
    r"(?<![a-z])(?:log-?in|sign-?in|signon|verify|verification|confirm|reset|password|unlock|refund|kyc|webscr|billing"
    r"|redeliver\w{0,3}|suspended|reactivate)(?![a-z])"
)
_NAMED: Final = re.compile(r"[a-z0-9-]{2,60}(?:\.[a-z0-9-]{2,60}){1,4}")
_LED: Final = re.compile(
    r"(?:(?<!\w)(?:at|on|(?<!sent )via|to|visit|through|using|use|is|now|open|under|here|website|site|page|url|link"
    r"|unter|auf|bei|sur|chez|ici|en|em|su|pa|hier|aqui|qui|par|goto)|[:>(»\u2192\[])\s*$"
)
"""What a bare name of a site follows when it is a place to go, not just a name ("thank you, shop.example")."""
_BARE: Final = re.compile(
    r"(?<![\w.@/:-])[\w-]{2,60}(?:\.[\w-]{2,60}){0,3}\.(?:[a-z]{2,18}/[^\s<>\"]{1,200}|icu|vip|win|buzz|cc|su|tk|ml|ga|cf"
    r"|gq|pw|bid|loan|click|rest|monster|cyou|cfd|sbs|lol|mom|world|life|support|services|support|pro|email|tools)(?![\w@.-])"
)
"""Addresses without a scheme that `links` does not know by their ending."""
_STATEMENT: Final = 300
"""Characters of the longest statement: longer texts are whole messages."""
_SPELT_DOT: Final = re.compile(
    r"(?<![\w.\])}])[\w-]{2,60}(?: ?[\[({]dot[\])}] ?[\w-]{2,60}){1,4}(?:/[^\s<>\"]{0,200})?"
)


def read_links(reading: Reading) -> Iterator[tuple[int, int]]:
    """Spans of links that are to be acted on."""
    text = reading.text
    mails = frozenset(end for _, end in reading.mails)
    spelt = [span for span in reading.find(_SPELT_DOT) if span[1] not in mails] if "dot" in text else []
    for span in (*reading.links, *reading.find(_BARE), *spelt):
        overt = any(pattern.search(text, *span) for pattern in (_DISGUISED, _TELLING, _SPELT_DOT))
        if overt or _is_acted(reading, span):
            yield span


def _is_acted(reading: Reading, span: tuple[int, int]) -> bool:
    text = reading.text
    if reading.near(span, "reading", before=60, after=40):
        return False
    if _NAMED.fullmatch(text, *span) and not _LED.search(text, max(0, span[0] - 14), span[0]):
        return False
    if _READABLE.search(text, *reading.sentence(span, 60, 20)) or FURNITURE.search(
        text, max(0, span[0] - 80), span[1] + 20
    ):
        return False
    return reading.near(span, "act", before=120, after=80) or _is_addressed(reading, span)


def _is_addressed(reading: Reading, span: tuple[int, int]) -> bool:
    """A statement to the reader, one line of it, that holds a link for no other end."""
    first, last = max(0, span[0] - _STATEMENT), span[1] + _STATEMENT
    return bool(reading.cues("you")) and "\n" not in reading.text[first:last] and len(reading.text) < _STATEMENT
