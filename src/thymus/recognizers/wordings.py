"""A small language for phrases: rules over words instead of over letters, so that a phrase may be loosely worded.

A rule is a row of elements that must follow each other within one sentence:

=================  =====================================================================
``word``           this word; ``word*`` every word that begins so
``a|b*|{name}``    one of these; ``{name}`` is a class of words given beside the rules
``element?``       may be missing
``~3``             up to three words of any kind
``!element``       the word before is not this one
``-element``       the next word is not this one
``^`` and ``$``    the beginning and the end of a sentence
``:`` and ``@``    a colon; a web or e-mail address
=================  =====================================================================

Each known word becomes one symbol, each other word the same symbol, and a rule becomes a regular expression over
symbols in which every repetition is bounded: time is linear in the text. Words are known in disguise, too: with digits
for letters, with two letters exchanged, or with one letter missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Final

from thymus.recognizers.page import scan

WORD: Final = "0-9a-z\u00df-\u00f6\u00f8-\u02af\u0370-\u03ff\u0400-\u052f\u0900-\u0963\u0966-\u097f"
"""Letters and digits of a folded text, with the vowel signs of Devanagari, which Python does not count as letters."""
MOST_FOUND: Final = 200
"""Matches of one rule in one text that are reported."""

_ADDRESS: Final = r"(?P<address>https?://[^\s<>\"]{1,2000}|[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{1,200})"
_PLAIN_TOKEN: Final = re.compile(
    rf"(?P<word>[{WORD}]+(?:'(?:t|re|s|ve|ll|d|m)(?![{WORD}]))?)|(?P<colon>:)|(?P<stop>[.!?;\u0964]+(?=\s|$)|\n\s*\n)"
)
_TOKEN: Final = re.compile(f"{_ADDRESS}|{_PLAIN_TOKEN.pattern}")
_UNKNOWN: Final = "x"
_STOP: Final = "."
_FIRST_SYMBOL: Final = 0x4E00
_LONGEST_WORD: Final = 40
_SHORTEST_TYPO: Final = 6
_CACHED_WORDS: Final = 4096
_SHORT: Final = {"u": "you", "ur": "your", "pls": "please", "plz": "please", "dont": "don't"}
_LEET: Final = tuple(str.maketrans("013457@$!|", f"o{one}east" + "as" + "il") for one in "il")


class Wordings:
    """Compiled rules.

    :param classes: words by the name of their class, separated by spaces.
    :param rules: (name, rule), several of one name allowed.
    """

    def __init__(self, classes: Mapping[str, str], rules: Iterable[tuple[str, str]]) -> None:
        self._classes = {name: tuple(words.split()) for name, words in classes.items()}
        rows = [(name, rule.split()) for name, rule in rules]
        entries = sorted({word for _, rule in rows for element in rule for word in self._words(element)})
        self._symbols = {entry: chr(_FIRST_SYMBOL + place) for place, entry in enumerate(entries)}
        self._typos = {typo: entry for entry in entries for typo in _typos(entry)}
        self._cache: dict[str, str] = {}
        self._wanted = cache(self._symbols_of)
        self._rules = [(name, re.compile("".join(map(self._pattern, rule))), self._needed(rule)) for name, rule in rows]

    def find(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Where a rule fits a folded text: its name, start and end."""
        starts: list[int] = []
        ends: list[int] = []
        symbols: list[str] = []
        for token in (_TOKEN if "@" in text or "://" in text else _PLAIN_TOKEN).finditer(text):
            kind = token.lastgroup
            if kind == "word":
                symbol = self._symbol(token[0])
            else:
                symbol = self._symbols.get(":" if kind == "colon" else "@", _UNKNOWN) if kind != "stop" else _STOP
            symbols.append(symbol)
            starts.append(token.start())
            ends.append(token.end())
        row = "".join(symbols)
        there = frozenset(symbols)
        for name, pattern, needed in self._rules:
            if any(map(there.isdisjoint, needed)):
                continue
            for match in scan(pattern, row, MOST_FOUND):
                yield name, starts[match.start()], ends[match.end() - 1]

    def knows(self, word: str) -> bool:
        """Whether the word, as it stands, is in one of the rules."""
        return word in self._symbols or self._prefix(word) is not None

    def divide(self, letters: str) -> str:
        """Put spaces back between known words in a run of letters; unknown letters stay together."""
        parts: list[str] = []
        at = unknown = 0
        while at < len(letters):
            size = next((size for size in range(14, 2, -1) if letters[at : at + size] in self._symbols), 0)
            if not size:
                at += 1
                continue
            parts += (letters[unknown:at], letters[at : at + size])
            at = unknown = at + size
        return " ".join(filter(None, [*parts, letters[unknown:]]))

    def reveal(self, word: str) -> str | None:
        """The known word that is written with digits and signs in place of letters (``1gn0re``), of the same length."""
        for table in _LEET if len(word) <= _LONGEST_WORD else ():
            meant = word.translate(table)
            if meant.isalpha() and self.knows(meant):
                return meant
        return None

    def _symbol(self, word: str) -> str:
        symbol = self._cache.get(word)
        if symbol is None:
            if len(self._cache) >= _CACHED_WORDS:
                self._cache.clear()
            symbol = self._cache[word[:_LONGEST_WORD]] = self._look_up(word[:_LONGEST_WORD])
        return symbol

    def _look_up(self, word: str) -> str:
        word = _SHORT.get(word, word)
        if word in self._symbols:
            return self._symbols[word]
        word = word.removesuffix("'s")
        entry = (
            word
            if word in self._symbols
            else self._prefix(word) or self._typos.get(word) or self._typos.get(_jumble(word))
        )
        return self._symbols[entry] if entry else _UNKNOWN

    def _prefix(self, word: str) -> str | None:
        return next((entry for size in range(len(word), 2, -1) if (entry := word[:size] + "*") in self._symbols), None)

    def _words(self, element: str) -> list[str]:
        if element[0] in "~^$":
            return []
        parts = element.lstrip("!-").removesuffix("?").split("|")
        return [word for part in parts for word in (self._classes[part[1:-1]] if part[0] == "{" else (part,))]

    def _symbols_of(self, element: str) -> frozenset[str]:
        """The symbols of an element; those of ``word*`` are also those of longer entries that begin so."""
        words = self._words(element)
        stems = tuple(word[:-1] for word in words if word.endswith("*"))
        begun = (entry for entry in self._symbols if entry.startswith(stems)) if stems else ()
        return frozenset(self._symbols[entry] for entry in {*words, *begun})

    def _needed(self, rule: list[str]) -> list[frozenset[str]]:
        """What must occur for the rule to fit: a set of symbols for each element that may not be missing."""
        return [self._wanted(element) for element in rule if element[0] not in "~^$!-" and element[-1] != "?"]

    def _pattern(self, element: str) -> str:
        if element == "^":
            return rf"(?:\A|(?<=[{_STOP}]))"
        if element == "$":
            return rf"(?=[{_STOP}]|\Z)"
        if element[0] == "~":
            return rf"[^{_STOP}]{{0,{element[1:]}}}"
        either = f"[{''.join(sorted(self._wanted(element)))}]"
        if element[0] in "!-":
            return f"(?<!{either})" if element[0] == "!" else f"(?!{either})"
        return either + ("?" if element[-1] == "?" else "")


def _typos(entry: str) -> Iterator[str]:
    """Ways to mistype an English word that are no words themselves: letters exchanged inside, one left out inside."""
    if len(entry) < _SHORTEST_TYPO or not (entry.isascii() and entry.isalpha()):
        return
    yield _jumble(entry)
    for place in range(1, len(entry) - 1):
        yield entry[:place] + entry[place + 1 :]


def _jumble(word: str) -> str:
    return f"{word[0]}~{''.join(sorted(word[1:-1]))}~{word[-1]}"
