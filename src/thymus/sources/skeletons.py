"""What a name looks like: skeletons under which confusable names meet, the words in it, and edits the eye passes over.

The skeleton follows Unicode Technical Standard 39 (confusables), with what readers also mistake: ``0`` for ``o``,
``1`` and ``i`` for ``l``, other digits for letters, and, in names long enough, ``rn`` for ``m``, ``vv`` for ``w``,
``cl`` for ``d``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

LONGEST: Final = 120
"""Characters of a name that are compared."""
_MOST_WORDS: Final = 12

_LIKE = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "!": "l", "$": "s"})
_LEET = str.maketrans({"2": "z", "3": "e", "4": "a", "5": "s", "6": "g", "7": "t", "8": "b", "9": "g"})
_PAIRS: Final = (("rn", "m"), ("vv", "w"), ("cl", "d"))
_SHORTEST_LIKE: Final = 4
_SHORTEST_DEEP: Final = {"rn": 5, "vv": 5, "cl": 7}
_WORD: Final = re.compile(r"[^\W_]+")
_NUMBERED: Final = re.compile(r"(.*[^\W\d_])([0-9]+)")

_SERVICE = (
    "access account accounts alert alerts assistance assistenza atencion atendimento auth authentication aviso "
    "avisos bill billing card cards care claim claims client cliente clientes clienti clients colis compte "
    "confirm confirmation consegna conta conto cuenta cuentas customer customers deliveries delivery entrega "
    "envio envios factura facturas facture factures fattura fatura fraud help helpdesk helpline hilfe id identity "
    "invoice invoices konto kundenservice lieferung livraison login logon message messages notice notices "
    "notification notifications notify order orders pagamenti pagamento pagamentos pago pagos paiement paket "
    "parcel parcels password pay payment payments payout payroll portal protect protection rechnung rechnungen "
    "recovery refund refunds renewal reset safe safety secure secured securite security seguranca seguridad "
    "service services servicio servicios servico servicos shipment shipping sicherheit sicurezza signin soporte "
    "statement statements status suporte support team track tracking transfer transfers trust update updates "
    "validation verificacion verification verified verify wallet zahlung "
)
_FORMS = (
    "a accounting admin administrator ag an and app apps assist at banco bank banking banque bot by careers "
    "center central centre chat cloud co community company connect contact corp corporate corporation courier "
    "dept desk digital direct do donotreply e email emails eu europe express feed feeds finance for free from get "
    "global gmbh go group groups hello help holdings home hq hr https in inc info int international intl it jobs "
    "legal limited list lists live llc ltd mail mailbox mailer mailing mails main marketing media member members "
    "mobile my net network new news newsletter no noreply not now of office official online our page pages plc "
    "post press private pro pty public reply rss sa sales server shop site sms staff store system systems tech "
    "the to uk us usa use user users via we web website welcome www your "
)
_SUFFIXES = "ac biz co com edu eu example gov info int io me mil mobi name net org test uk us xyz"

_ROWS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def _neighbours() -> frozenset[frozenset[str]]:
    at = {key: (row, column + row / 2) for row, keys in enumerate(_ROWS) for column, key in enumerate(keys)}
    return frozenset(
        frozenset({one.translate(_LIKE), other.translate(_LIKE)})
        for one, (row, column) in at.items()
        for other, (row2, column2) in at.items()
        if one != other and abs(row - row2) <= 1 and abs(column - column2) <= 1
    )


_NEIGHBOURS: Final = _neighbours()


def _words(text: str) -> frozenset[str]:
    return frozenset(word.translate(_LIKE) for word in text.split())


SERVICE: Final = _words(_SERVICE)
"""What senders of the same name do; as skeletons, like the next two."""
SUFFIXES: Final = _words(_SUFFIXES)
GENERIC: Final = SERVICE | SUFFIXES | _words(_FORMS)
"""Words that many names hold: they never make one distinctive."""
_GLUED: Final = tuple(
    [(word, 3 if len(word) >= 5 else 5) for word in sorted(SERVICE, key=len, reverse=True) if len(word) >= 4]
    + [
        (word, 6)
        for word in sorted(_words("app direct get global go group hq my official online shop store the uk us"))
    ]
)
"""Words that may be written together with a name, and how long the name must then be."""


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    """The ASCII letters or digits that a character looks like, in lower case; itself where it looks like none."""
    if char.isascii():
        return char.lower()
    base = unicodedata.normalize("NFKD", char)
    letters = "".join(part for part in base if not unicodedata.combining(part))
    if letters.isascii():
        return letters.lower()
    from confusable_homoglyphs.confusables import confusables_data  # type: ignore[import-untyped]

    for form in (char, letters, char.casefold()):
        for like in confusables_data.get(form, ()):
            if like["c"].isascii() and like["c"].isalnum():
                return str(like["c"].lower())
    return letters.casefold()


def fold(text: str) -> str:
    """The text as ASCII where its characters look like ASCII, in lower case."""
    text = text[:LONGEST]
    return text.lower() if text.isascii() else "".join(map(_plain, unicodedata.normalize("NFC", text)))[: 2 * LONGEST]


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to part a name into what is distinctive and the words that many names hold."""

    core: tuple[str, ...]
    extras: frozenset[str]

    @property
    def joined(self) -> str:
        """The distinctive part as one word."""
        return "".join(self.core)


@dataclass(frozen=True, slots=True)
class Look:
    """A name as the eye sees it.

    ``raw`` is the name itself in lower case, ``words`` its words as skeletons, ``flat`` these joined, ``deep`` the
    skeleton in which pairs of letters meet too; ``generic`` says whether no word of it is distinctive.
    """

    raw: str
    words: tuple[str, ...]
    flat: str
    deep: str
    generic: bool
    readings: tuple[Reading, ...]


@lru_cache(maxsize=32_768)
def look(name: str) -> Look:
    """Read a name: a domain label, local part, handle or display name."""
    words = tuple(word.translate(_LIKE) for word in _WORD.findall(fold(name)))[:_MOST_WORDS]
    flat = "".join(words)
    parts = [part for word in _WORD.findall(fold(name))[:_MOST_WORDS] for part in _unnumbered(word)]
    parted = tuple(part for part in parts)
    generic = all(word in GENERIC or word.isdigit() for word in parted)
    readings = dict.fromkeys(filter(None, (_reading(words), _reading(parted), *map(_stripped, (words, parted)))))
    return Look(
        raw=unicodedata.normalize("NFC", name[:LONGEST]).casefold(),
        words=words,
        flat=flat,
        deep=_deepen(flat),
        generic=generic,
        readings=() if generic else tuple(readings),
    )


def _unnumbered(word: str) -> tuple[str, ...]:
    """A word without the digits after it, and these; the digits stay digits."""
    found = _NUMBERED.fullmatch(word)
    return (found[1].translate(_LIKE), found[2]) if found else (word if word.isdigit() else word.translate(_LIKE),)


def _reading(words: tuple[str, ...]) -> Reading | None:
    core = tuple(word for word in words if word not in GENERIC and not word.isdigit())
    extras = frozenset(words) - set(core)
    return Reading(core, extras) if core else None


def _stripped(words: tuple[str, ...]) -> Reading | None:
    """``securenorthbank``: a word that says what senders do, written together with the name."""
    found = _reading(words)
    if found is None or len(found.core) != 1:
        return None
    rest, extras = found.core[0], set(found.extras)
    for word, shortest in _GLUED:
        for shorter in (rest.removeprefix(word), rest.removesuffix(word)):
            if len(rest) > len(shorter) >= shortest and shorter not in GENERIC:
                rest, extras = shorter, extras | {word}
                break
    return Reading((rest,), frozenset(extras)) if rest != found.core[0] else None


def _deepen(flat: str) -> str:
    deep = flat.translate(_LEET) if not flat.isdigit() else flat
    for pair, single in _PAIRS:
        if len(flat) >= _SHORTEST_DEEP[pair]:
            deep = deep.replace(pair, single)
    return deep


def same_look(one: Look, other: Look) -> bool:
    """Whether two different names look the same, by their letters or but for dots, dashes and spaces."""
    if one.raw == other.raw or not one.flat:
        return False
    if one.flat == other.flat:
        foreign = not (one.raw.isascii() and other.raw.isascii())
        return foreign or len(one.flat) >= _SHORTEST_LIKE or _letters(one.raw) == _letters(other.raw)
    return one.deep == other.deep and len(one.deep) >= _SHORTEST_LIKE and not _numbers_differ(one.flat, other.flat)


def _letters(raw: str) -> str:
    return "".join(_WORD.findall(raw))


def _numbers_differ(one: str, other: str) -> bool:
    """Whether both hold digits, and others: two of a series."""
    ours, theirs = re.findall("[0-9]", one), re.findall("[0-9]", other)
    return bool(ours and theirs) and ours != theirs


def near(one: tuple[str, ...], other: tuple[str, ...], *, person: bool = False) -> bool:
    """Whether two names, word by word, differ by one slip that the eye passes over.

    That is a letter doubled, left out, put in, or exchanged with its neighbour in the word or on the keyboard; never
    the first letter, which is read, and only in words long enough that few others are one letter away.

    :param person: whether these are people's names, of which many differ by a letter (Marian, Marina; Daniel, Daniela).
    """
    if len(one) != len(other):
        return False
    differing = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    if len(differing) != 1:
        return False
    short, long = sorted(differing[0], key=len)
    total = min(sum(map(len, one)), sum(map(len, other)))
    return _slip(short, long, total if person else None)


def _slip(short: str, long: str, person: int | None) -> bool:
    """Whether two words differ by one slip; ``person`` is the number of letters in the whole of a person's name."""
    if len(long) - len(short) > 1 or len(short) < 3:
        return False
    start = _shared(short, long)
    end = _shared(short[start:][::-1], long[start:][::-1])
    ours, theirs = short[start : len(short) - end], long[start : len(long) - end]
    if any(char.isdigit() for char in ours + theirs):
        return False
    if not ours and theirs in (long[start - 1 : start], short[start : start + 1]):  # doubled
        return (person or len(short)) >= (5 if person is None else 6)
    if len(ours) == 2 and ours == theirs[::-1]:  # exchanged
        return len(short) >= (5 if start else 6) if person is None else person >= 9
    if start == 0 or len(theirs) > 1 or (person is not None and (person < 9 or end == 0)):
        return False
    if not ours:
        return len(short) >= (5 if end else 7 if theirs == "s" else 8)
    beside = frozenset({ours, theirs}) in _NEIGHBOURS
    if person is not None or end == 0:
        return beside and len(short) >= 6
    return len(short) >= (6 if beside else 8)


def _shared(one: str, other: str) -> int:
    """Letters that two words share at their start."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def keys(seen: Look) -> Iterable[str]:
    """Strings of which two names that are the same to the eye, near or of one core share at least one."""
    found = {seen.deep}
    for word in {seen.flat, *(reading.joined for reading in seen.readings)}:
        found.add(word)
        found.update(word[:at] + word[at + 1 :] for at in range(min(len(word), 40)))
    return found
