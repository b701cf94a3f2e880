"""How often a user may be asked: a model that asks until somebody gives in has been told no."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from thymus.core.claims import fold

_MOST_REFUSED: Final = 1_000


class Patience:
    """How often a user may be asked within a conversation, so that nobody wears them down.

    :param most: questions in a row; one more is allowed for every ``every_s`` seconds.
    """

    def __init__(self, *, most: int = 10, every_s: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._every_s, self._clock = most, every_s, clock
        self._lock = threading.Lock()
        self._left, self._at = float(most), clock()
        self._refused: OrderedDict[bytes, None] = OrderedDict()

    def take(self) -> bool:
        """Whether one more question is allowed now; it counts then."""
        with self._lock:
            now = self._clock()
            self._left = min(float(self._most), self._left + (now - self._at) / self._every_s)
            self._at = now
            if self._left < 1:
                return False
            self._left -= 1
            return True

    def refuse(self, words: str) -> None:
        """The user said no to these words: they are not asked about them again."""
        with self._lock:
            self._refused[_digest(words)] = None
            while len(self._refused) > _MOST_REFUSED:
                self._refused.popitem(last=False)

    def refused(self, words: str) -> bool:
        """Whether the user said no to these words, however they are spaced and capitalised."""
        return _digest(words) in self._refused


def _digest(words: str) -> bytes:
    return hashlib.blake2b(fold(words).encode("utf-8", "replace"), digest_size=16).digest()
