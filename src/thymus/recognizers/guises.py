"""What a text says besides what it shows: disguised letters, characters that nobody sees, encodings.

Sources of the tricks: Boucher et al., *Bad Characters* (2022, arXiv:2106.09898) for invisible, look-alike and reordered
letters; Unicode TS 39 for confusables; Unicode tag characters (U+E0000) and variation selectors as carriers of ASCII.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import Final
from urllib.parse import unquote_plus


class _Folding(dict[str, str]):
    """Each character as the plain small letters that a reader takes it for; nothing for what nobody sees."""

    def __missing__(self, char: str) -> str:
        folded = _fold(char)
        if len(self) < 4096:
            self[char] = folded
        return folded


_UNSEEN: Final = frozenset({"Cf", "Cc", "Co", "Cn", "Cs"})
_SMALL_CAPITALS: Final = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢıłøđ", "abcdefghijklmnoprstuvwyzilod", strict=True))
_ALIKE: Final = str.maketrans("аеорсухіјѕԁһԛвкмнтοανρικτυχεηβ", "aeopcyxijsdhqbkmhtoavpiktuxenb")
_MIXED: Final = re.compile(r"(?<![^\W\d_])(?=[^\W\d_]*[a-z])[^\W\d_]*[\u0370-\u03ff\u0400-\u052f][^\W\d_]*")


def _fold(char: str) -> str:
    if char in "\n\r\v\f\x85\u2028\u2029":
        return "\n"
    if char == "\t":
        return " "
    category = unicodedata.category(char)
    if category in _UNSEEN or 0xFE00 <= ord(char) <= 0xFE0F or 0xE0100 <= ord(char) <= 0xE01EF:
        return ""
    if char in "’‘ʼ′`´":
        return "'"
    if category == "Zs":
        return " "
    plain = "".join(c for c in unicodedata.normalize("NFKD", char) if not "\u0300" <= c <= "\u036f").lower()
    return _SMALL_CAPITALS.get(plain, plain)


_FOLDING: Final = _Folding()


@dataclass(frozen=True)
class Folded:
    """A text as compared: small plain letters, without marks and unseen characters; spans lead back."""

    original: str

    @cached_property
    def text(self) -> str:
        """The folded text."""
        if self.original.isascii():
            return self.original.lower()
        text = "".join(map(_FOLDING.__getitem__, self.original))
        return text if text.isascii() else _MIXED.sub(lambda word: word[0].translate(_ALIKE), text)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(len(_FOLDING[char]) for char in self.original))

    def source(self, start: int, end: int) -> tuple[int, int]:
        """The span in the original of a span in ``text`` that is not empty."""
        if self.original.isascii():
            return start, end
        return bisect_right(self._ends, start), bisect_right(self._ends, end - 1) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Guise:
    """A second reading of a passage.

    :param text: what it says when the trick is undone.
    :param trick: how it was hidden.
    :param telling: whether hiding it says enough, whatever it says.
    """

    text: str
    span: tuple[int, int]
    trick: str
    telling: bool = False


# -- characters that nobody sees

_TAGS: Final = re.compile("[\U000e0020-\U000e007e]{4,}")
_SELECTORS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
_ZERO_WIDTHS: Final = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u180e]{16,}")
_REVERSED: Final = re.compile("\u202e([^\u202c\n]{4,})")
_FLAG: Final = "\U0001f3f4"  # sub-divisions: a black flag followed by up to six tag characters (Unicode TS 51)


def unseen(text: str) -> Iterator[Guise]:
    """What unseen characters spell."""
    if text.isascii():
        return
    for match in _TAGS.finditer(text):
        if not (text[match.start() - 1 : match.start()] == _FLAG and len(match[0]) <= 6):
            yield _spelt(match, "".join(chr(ord(char) - 0xE0000) for char in match[0]))
    for match in _SELECTORS.finditer(text):
        numbers = (ord(c) - 0xFE00 if ord(c) < 0xE0000 else ord(c) - 0xE0100 + 16 for c in match[0])
        if readable(spelt := bytes(numbers).decode("latin-1")):
            yield _spelt(match, spelt)
    for match in _ZERO_WIDTHS.finditer(text):
        kinds = [char for char, _ in Counter(match[0]).most_common(2)]
        for zero in kinds if len(kinds) == 2 else ():
            bits = "".join("0" if char == zero else "1" for char in match[0] if char in kinds)
            spelt = "".join(chr(int(bits[at : at + 8], 2)) for at in range(0, len(bits) - 7, 8))
            if readable(spelt):
                yield _spelt(match, spelt)
    for match in _REVERSED.finditer(text):
        yield Guise(text=match[1][::-1], span=match.span(), trick="reordered")


def _spelt(match: re.Match[str], text: str) -> Guise:
    return Guise(text=text, span=match.span(), trick="invisible_text", telling=True)


def readable(text: str) -> bool:
    """Whether this is plain writing, not what noise decodes to."""
    return bool(text) and sum(" " <= char <= "~" or char == "\n" for char in text) >= 0.95 * len(text)


# -- encodings

_BASE64: Final = re.compile(r"(?<![\w+/-])[\w+/-]{16,}={0,2}(?:\r?\n[\w+/-]{4,}={0,2})*", re.ASCII)
_HEX: Final = re.compile(r"(?<![\da-fA-F])(?:[\da-fA-F]{2}[ :]?){8,}")
_ESCAPE: Final = re.compile(r"\\x([\da-f]{2})|\\u([\da-f]{4})|&#x([\da-f]{2,5});|&#(\d{2,6});", re.IGNORECASE)
_CLUES: Final = ("ignore", "instruction", "prompt", "disregard", "forget", "system", "rules")
_ROT13_CLUES: Final = tuple(codecs.encode(clue, "rot13") for clue in _CLUES)
_BACKWARD_CLUES: Final = tuple(clue[::-1] for clue in _CLUES if clue != "rules")
_SPACED: Final = re.compile(r"(?<![^\W_])(?:[^\W_][ .\-_*·/]{1,3}){4,}[^\W_](?![^\W_])")
_MASKED: Final = re.compile(r"[a-z][\d@$!|]+[a-z]|(?<![^\s(\"'])[\d@$!|][a-z]")
_LEET: Final = re.compile(r"(?<![\w@$!|])(?:[^\W\d_]|_)*+[\d@$!|][\w@$!|]*+")


def encoded(text: str, folded: str) -> Iterator[Guise]:
    """Passages that decode to plain writing."""
    for pattern, decode in ((_BASE64, _from_base64), (_HEX, _from_hex)):
        for match in pattern.finditer(text):
            if readable(said := decode(match[0])):
                yield Guise(text=said, span=match.span(), trick="encoded")
    if "%" in text:
        for match in re.finditer(r"\S+", text):
            if match[0].count("%") > 1 and (said := unquote_plus(match[0])) != match[0]:
                yield Guise(text=said.replace("?", " ").replace("=", " "), span=match.span(), trick="encoded")
    if ("\\" in text or "&#" in text) and (places := list(_ESCAPE.finditer(text))):
        span = (places[0].start(), places[-1].end())
        yield Guise(text=_ESCAPE.sub(_unescape, text), span=span, trick="encoded")
    for clues, turn in ((_ROT13_CLUES, _rot13), (_BACKWARD_CLUES, _backwards)):
        if any(map(folded.__contains__, clues)):
            yield Guise(text=turn(text), span=(0, len(text)), trick="encoded")


def _from_base64(text: str) -> str:
    letters = "".join(text.split()).rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(letters[: len(letters) - (len(letters) % 4 == 1)] + "=" * (-len(letters) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _from_hex(text: str) -> str:
    return bytes.fromhex(text.replace(":", "")).decode("latin-1")


def _unescape(match: re.Match[str]) -> str:
    code = int(match[4]) if match[4] else int(match[1] or match[2] or match[3], 16)
    return chr(code) if code < 0x110000 else "\ufffd"


def _rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


def _backwards(text: str) -> str:
    return text[::-1]


# -- disguised words

AFTER: Final = 160
"""Characters behind letter-spaced words that are read with them: the order may go on in plain words."""


def unspaced(folded: str, divide: Callable[[str], str]) -> Iterator[Guise]:
    """Words written letter by letter ("i g n o r e"); ``divide`` finds words in a run without gaps."""
    for match in _SPACED.finditer(folded):
        gaps = re.findall(r"[ .\-_*·/]+", match[0])
        usual = Counter(gaps).most_common(1)[0][0]
        words = "".join(
            chain.from_iterable(
                (char, "" if gap == usual else " ")
                for char, gap in zip(re.findall(r"[^\W_]", match[0]), [*gaps, usual], strict=True)
            )
        )
        text = " ".join(map(divide, words.split())) + folded[match.end() : match.end() + AFTER]
        yield Guise(text=text, span=match.span(), trick="spaced")


def unmask(folded: str, reveal: Callable[[str], str | None]) -> str:
    """The folded text, as long as before, with the words that ``reveal`` finds behind digits and signs."""
    if not _MASKED.search(folded):
        return folded
    return _LEET.sub(lambda word: reveal(word[0]) or _without_end(word[0], reveal), folded)


def _without_end(word: str, reveal: Callable[[str], str | None]) -> str:
    bare = word.rstrip("!|")
    return (reveal(bare) or bare) + word[len(bare) :] if bare != word else word
