"""The letters of a text: what two spellings of an identifier have in common."""

from __future__ import annotations

import unicodedata
from typing import Final

_MONEY_SIGNS: Final = frozenset("£€₹¥$₩₽₺₪₫₦₱฿₴")


class _Letters(dict[int, str | None]):
    """Deletes all but letters, digits, signs of currencies and ends of lines."""

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        digit = unicodedata.decimal(char, None)
        kept = str(digit) if digit is not None else char if _counts(char) else None
        if len(self) < 100_000:
            self[code] = kept
        return kept


def _counts(char: str) -> bool:
    return char.isalnum() or char in _MONEY_SIGNS or char == "\n"


_LETTERS: Final = _Letters()


def letters(text: str) -> str:
    """The text in small letters, compatibility forms and digits of any script as plain ones, without punctuation."""
    return unicodedata.normalize("NFKC", text.replace("\n", " ")).casefold().translate(_LETTERS)
