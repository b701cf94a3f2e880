"""How much one caller may ask of the server, so that none keeps it from the others: data and arithmetic, no IO.

Rates are token buckets (RFC 2697: a committed rate and a burst): so many acts at once, then so many a second. All of it
lives in one process; several workers each allow as much.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from typing import Final

from thymus.errors import ConfigError

MOST_KEYS: Final = 10_000
"""Callers that a rate remembers; of more, the one that was quiet for longest is forgotten."""
_ROUNDING: Final = 1e-6
"""So that whoever waits as long as it was told is not sent away again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """``burst`` acts at once, then ``per_second`` of them."""

    per_second: float
    burst: int

    def __post_init__(self) -> None:
        if not (math.isfinite(self.per_second) and self.per_second > 0 and self.burst >= 1):
            raise ConfigError("a rate is a number above 0 per second, and a burst of 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the server puts up with.

    ``body`` is in bytes, ``body_s`` in seconds. Memory needs are bounded by ``body`` times ``at_once``.
    """

    body: int = 1_048_576
    """Of one request; a longer one is answered with 413."""
    body_s: float = 20.0
    """From a request's head to the end of its body; then it is answered with 408."""
    requests: Rate = field(default_factory=lambda: Rate(per_second=10, burst=100))
    """Of one token; where there are none, of one address."""
    sessions: Rate = field(default_factory=lambda: Rate(per_second=1, burst=60))
    """That one caller opens; only the protocols before 2026 have them. One costs about 50 kB until it has been idle for
    ``session_idle_s``."""
    failures: Rate = field(default_factory=lambda: Rate(per_second=0.2, burst=20))
    """Requests without a valid token, of one address. They never keep out whoever has one: behind a proxy, or with a
    web page that knocks at the user's own machine, strangers share the address of the rightful."""
    at_once: int = 256
    """Requests under way; a question to the user keeps one under way until it is answered."""
    at_once_each: int = 32
    """The same, of one caller."""
    streams: int = 512
    """Streams open for what the server has to say (GET), which the older protocol keeps as long as it is connected."""
    streams_each: int = 64
    """The same, of one caller."""
    connections: int = 2_048
    """Open at the same time, idle ones among them; each costs a file handle."""
    session_idle_s: float = 900.0
    """After which a session of the older protocol is closed."""
    closing_s: float = 10.0
    """That requests under way have when the server is told to end."""


class Throttle:
    """One rate, kept for each key; safe from several threads.

    :param clock: seconds that only grow.
    """

    def __init__(self, rate: Rate, *, most: int = MOST_KEYS, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> int:
        """Ask for one act. 0 means yes; otherwise the whole seconds, 1 or more, until the answer would be yes."""
        rate = self._rate
        with self._lock:
            now = self._clock()
            left, at = self._left.pop(key, (float(rate.burst), now))
            left = min(rate.burst, left + (now - at) * rate.per_second)
            allowed = left >= 1 - _ROUNDING
            self._left[key] = (left - 1 if allowed else left, now)
            if len(self._left) > self._most:
                self._left.popitem(last=False)
        return 0 if allowed else max(1, math.ceil((1 - left) / rate.per_second))


class Slots:
    """Places for what is under way, ``total`` of them and ``each`` of one key; safe from several threads."""

    def __init__(self, total: int, each: int) -> None:
        if min(total, each) < 1:
            raise ConfigError("how many requests may be under way is a whole number, 1 or more")
        self._total = total
        self._each = each
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    @contextmanager
    def hold(self, key: str) -> Iterator[bool]:
        """A place for as long as the block lasts; ``False`` where none is free."""
        with self._lock:
            free = self._taken.total() < self._total and self._taken[key] < self._each
            if free:
                self._taken[key] += 1
        try:
            yield free
        finally:
            if free:
                with self._lock:
                    self._taken[key] -= 1
                    if not self._taken[key]:
                        del self._taken[key]


def network(host: str) -> str:
    """What counts as one address: of IPv6 the /64, because one subscriber has all of it."""
    try:
        address = ip_address(host)
    except ValueError:
        return host[:64]
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Address(int(address) >> 64 << 64)) + "/64"
