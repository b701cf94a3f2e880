"""A block of text split into sentences, by rule, in any of the usual scripts.

A full stop ends a sentence unless there is a reason why not: an abbreviation, an initial, an ordinal, a number (the
classes of Kiss and Strunk, Unsupervised Multilingual Sentence Boundary Detection, 2006; here from short lists).
"""

from __future__ import annotations

import re
from typing import Final

from thymus.extract.text import listed

_END = re.compile(r"[.!?…;‼⁇⁈⁉。！？｡।॥؟۔]+[\"'”’»)\]」』）]{0,3}")
_FULL: Final = frozenset("。！？｡।॥؟۔")  # need no space after them
_QUOTED = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”]{1,300}”|«[^»]{1,300}»|\([^()]{1,300}\)|„[^“”]{1,300}[“”]|「[^」]{1,300}」"
)
# Always followed by what they belong to.
_TITLES: Final = listed(
    """
    dr mr mrs ms mx prof st rev fr hon capt lt col gen sgt messrs mme mlle sr sra srta dra dña ing dipl hr fru art
    nr nº no nos núm num vol fig pp cf vs e.g i.e eg ie z.b z.hd d.h u.a bzw ca approx c.f tel ext p.ej av avda apdo
    bl pl kl rm pvt flt fl apt dept wg ph
    """
)
# May end a sentence; whether they do is told by the next word.
_SHORT: Final = listed(
    """
    a.m p.m am pm etc usw inc ltd co corp jr sr bros plc p.a u.s u.k e.v str rd ave blvd ln ct sq terr jan feb mar
    apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun min mins hr hrs sec max est
    incl excl no. gmbh s.a s.l b.v ph.d m.d r.s.v.p p.s
    """
)
_STARTERS: Final = listed(
    """
    i i'm i've i'll it it's he she we we're they they're you your you're the this that these those my our there here
    please if when but and so see let no not yes a an in on at all any as for from to call bring use reply after
    before since then thanks thank also just do don't what who where why how ich wir sie es der die das bitte je
    nous vous il elle el la los las por si yo es
    """
)
_NUMBERED: Final = listed(
    """
    room gate terminal plan vitamin group block hall section option part appendix class team line type wing building
    platform bay unit flat zone grade hepatitis exit tier row seat level plate annex schedule site depot
    """
)
_MONTHS: Final = re.compile(
    r"(?:jan|feb|mär|mar|apr|mai|may|juni?|juli?|aug|sep|okt|oct|nov|dez|dec|geburtstag|etage|stock|og|klasse|juni|"
    r"juli)",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&#?\w{1,8}$")
_LAST_WORD = re.compile(r"[^\s(\"'“«]+$")
_WORD = re.compile(r"\w[\w'’.-]*")
_VERB: Final = (
    r"(?:is|are|was|were|isn['’]t|aren['’]t|will|won['’]t|has|have|can|can['’]t|must|comes?|goes|starts?|begins?|"
    r"ends?|opens?|"
    r"closes?|costs?|meets?|runs?|leaves?|takes?|works?|lives?|moved|moves|changed|changes|arrives?|departs?|needs?|"
    r"stays?|expires?)"
)
_SUBJECT: Final = rf"(?:the|my|our|your)\s(?:[\w'’-]+\s){{1,3}}?{_VERB}\b"
_CLAUSE = re.compile(
    rf"[^,.:;]{{0,24}}?\b(?:{_SUBJECT}|[A-Z][\w'’-]*\s{_VERB}\b|(?:i|we)(?:['’](?:ve|m|re))?\s\w+)", re.IGNORECASE
)
_SECOND = re.compile(rf",?\s+and\s+(?={_SUBJECT})", re.IGNORECASE)
# With one of these the halves are not independent, or not told as facts.
_BINDS = re.compile(
    r"\b(?:if|when|whenever|because|since|as|that|which|who|whose|where|before|after|until|till|unless|while|whether|"
    r"both|between|"
    r"either|so|though|although|but|said|says|say|told|tells?|thinks?|thought|believes?|heard|hope|wish|please|it|"
    r"its|they|"
    r"their|each|than|me|us|he|him|his|she|her|them|hers|theirs|still|also|too|same|both|neither|not|\w+n['’]t)\b|"
    r"[?\"“«:;()]",
    re.IGNORECASE,
)
_LONGEST_COMPOUND = 200
_LONGEST = 1_000
_MOST = 5_000


def split(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the sentences of ``text[start:end]`` as [start, end), in order, white space around them left out.

    Of a block with more than 5,000 of them, which nobody writes, the rest is left out.
    """
    piece = text[start:end]
    shut = [found.span() for found in _QUOTED.finditer(piece)] if any(mark in piece for mark in '"“«(„「') else []
    spans: list[tuple[int, int]] = []
    begin = next_shut = 0
    for mark in _END.finditer(piece):
        while next_shut < len(shut) and shut[next_shut][1] <= mark.start():
            next_shut += 1
        within = next_shut < len(shut) and shut[next_shut][0] < mark.start() and mark.end() < shut[next_shut][1]
        if within or not _ends(piece, mark, begin):
            continue
        _add(spans, piece, begin, mark.start() if mark[0] == ";" else mark.end())
        begin = mark.end()
        if len(spans) >= _MOST:
            break
    else:
        _add(spans, piece, begin, len(piece))
    return [(start + left, start + right) for left, right in spans]


def _add(spans: list[tuple[int, int]], piece: str, left: int, right: int) -> None:
    stretch = piece[left:right]
    left += len(stretch) - len(stretch.lstrip())
    right -= len(stretch) - len(stretch.rstrip())
    if left < right:
        spans.append((left, right))


def _ends(piece: str, mark: re.Match[str], begin: int) -> bool:
    """Whether a mark that can end a sentence does."""
    sign, end = mark[0], mark.end()
    if sign[0] in _FULL or end == len(piece):
        return True
    after = _WORD.search(piece, end, end + 60)
    word = after[0] if after and piece[end : after.start()].strip("\"'“‘«(¿¡ \t\r\n-–—•*") == "" else ""
    if not piece[end].isspace():  # help.We
        before = piece[max(begin, mark.start() - 3) : mark.start()]
        return sign in (".", "!", "?") and before.islower() and word[:1].isupper() and word.lower() in _STARTERS
    if sign[0] == ";":
        return not _ENTITY.search(piece, max(begin, mark.start() - 10), mark.start())
    if sign[0] != ".":
        return sign[0] != "…" or not word[:1].islower()
    return not word[:1].islower() if sign.startswith("..") else _full_stop_ends(piece, begin, mark.start(), word)


def _full_stop_ends(piece: str, begin: int, stop: int, word: str) -> bool:
    """Whether a single full stop ends a sentence, by the word before it and the ``word`` after."""
    found = _LAST_WORD.search(piece, max(begin, stop - 40), stop)
    last = found[0] if found else ""
    bare = last.lower()
    if bare in _TITLES:
        return bare == "no" and word.lower() in _STARTERS
    if bare in _SHORT or (len(bare) == 3 and bare[1:2] == "."):
        return word.lower().rstrip(".") in _STARTERS and word[:1].isupper()
    if len(last) == 1 and last.isupper() and last != "I":
        before = piece[max(begin, stop - 30) : max(begin, stop - 1)].split()
        return not word[:1].isupper() or (bool(before) and before[-1].lower() in _NUMBERED) or word.lower() in _STARTERS
    if last.isdigit():
        if found is not None and not piece[begin : found.start()].strip():  # 1. the number of an item
            return False
        return not (len(last) <= 2 and (_MONTHS.match(word) or word[:1].islower()))
    return True


def cut(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return [start, end) in pieces of at most 1,000 characters, cut between words where there are any."""
    pieces: list[tuple[int, int]] = []
    while end - start > _LONGEST:
        at = max(text.rfind(sign, start + _LONGEST // 2, start + _LONGEST) for sign in (", ", " ", "\n"))
        at = at + 1 if at > start else start + _LONGEST
        _add(pieces, text, start, at)
        start = at
    _add(pieces, text, start, end)
    return pieces


def halves(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the two facts of *The code is 2046 and the cleaner comes on Tuesdays*, else [start, end) alone.

    English only, and only where each half has its own subject and verb and nothing ties them together.
    """
    piece = text[start:end]
    if len(piece) > _LONGEST_COMPOUND or " and " not in piece or _BINDS.search(piece):
        return [(start, end)]
    joints = list(_SECOND.finditer(piece))
    if len(joints) != 1 or not _CLAUSE.match(piece[: joints[0].start()]):
        return [(start, end)]
    return [(start, start + joints[0].start()), (start + joints[0].end(), end)]
