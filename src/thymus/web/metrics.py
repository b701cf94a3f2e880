"""What Prometheus reads at ``/metrics``: requests by route, and what was decided. No user, no text.

Several workers of one machine write their numbers into files of the folder that ``PROMETHEUS_MULTIPROC_DIR`` names,
and each of them answers for all.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from thymus._version import __version__

if TYPE_CHECKING:
    from thymus.records import Written

SHARED: Final = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """The numbers of this process, and of those that it shares a folder with."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Histogram(
            "thymus_request_seconds",
            "Seconds from a request to its answer.",
            ("method", "route", "status"),
            registry=self.registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
        )
        self._decided = Counter(
            "thymus_messages", "Messages by what became of them.", ("effect",), registry=self.registry
        )
        self._fallbacks = Counter("thymus_fallbacks", "Messages for which something stood in.", registry=self.registry)
        info = Gauge(
            "thymus_info", "The version that runs.", ("version",), registry=self.registry, multiprocess_mode="max"
        )
        info.labels(__version__).set(1)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note an answer. ``route`` is the template, never a path with ids in it."""
        self._requests.labels(method, route, str(status)).observe(seconds)

    def written(self, written: Written) -> None:
        """Note what became of a message."""
        self._decided.labels(written.effect.value).inc()
        if written.fallbacks:
            self._fallbacks.inc()

    def page(self) -> bytes:
        """In Prometheus's text format."""
        if not os.environ.get(SHARED):
            return generate_latest(self.registry)
        shared = CollectorRegistry()
        MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
        return generate_latest(shared)
