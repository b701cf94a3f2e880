"""What is found out about a claim before it is decided on: who owns it, whom its sources resemble, what is at stake.

``core`` decides and knows neither the public suffix list nor the shapes of account numbers; it is handed the answers.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from thymus.core.beliefs import Act
from thymus.core.policy import Circumstances
from thymus.core.provenance import TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from thymus.core.claims import Claim, Scope
    from thymus.core.provenance import Source
    from thymus.ports import Store
    from thymus.sources.registry import Registry

MOST_SCOPES: Final = 256
"""Scopes whose known sources are kept; the one that was used longest ago goes first."""


def circumstances(claim: Claim, registry: Registry) -> Circumstances:
    """Everything about a claim that no rival is needed for."""
    if claim.from_user:
        return Circumstances()
    from thymus.recognizers.stakes import find_stakes

    resembled = {known.key: known for source in claim.speakers for known in _resembled(source, registry)}
    return Circumstances(
        owner=_single_owner(_answerable(claim)),
        resembles=tuple(resembled.values()),
        stakes=frozenset(stake.kind for stake in find_stakes(claim.text)),
    )


def _resembled(source: Source, registry: Registry) -> list[Source]:
    """The known sources that this one may be taken for: those that it resembles, and the one whose name it bears where
    that was proved before and is not now."""
    own = registry.known(source)
    spoofed = [own] if own is not None and own.source.assurance > source.assurance else []
    return [voice.source for voice in (*spoofed, *registry.resembling(source))]


def owner_of(claim: Claim) -> str:
    """Who controls the identities that own what a stored claim says; "" where nobody single does."""
    return _single_owner(claim.lineage or (claim.source,))


def _answerable(claim: Claim) -> tuple[Source, ...]:
    """The speakers who answer for a claim.

    A tool that fetches from the open world only carries: where the page's origin is known, that alone is asked. Any
    other tool, and a person or model who passes something on, could have changed it, so both are asked.
    """
    from thymus.sources.domains import owner

    carried = claim.lineage and claim.source.channel in TOOLS and not owner(claim.source)
    return claim.lineage if carried else claim.speakers


def _single_owner(sources: Iterable[Source]) -> str:
    from thymus.sources.domains import owner

    owners = {owner(source) for source in sources}
    return owners.pop() if len(owners) == 1 else ""


@dataclass(slots=True)
class _Known:
    """The known sources of one scope, at a version of it."""

    version: int = 0
    registry: Registry | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def keep_up(self, store: Store, scope: Scope) -> Registry:
        from thymus.sources.registry import Registry

        with self.lock:
            version = store.version(scope)
            registry, seen = self.registry, self.version
            if registry is None or seen > version or not _extend(registry, store, scope, seen, version):
                registry = Registry(store.sources(scope))
            self.registry, self.version = registry, version
            return registry


class Registries:
    """The known sources of the scopes that were asked about last, kept up with a store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Scope, _Known] = OrderedDict()

    def of(self, store: Store, scope: Scope) -> Registry:
        """The registry of a scope as it stands now."""
        with self._lock:
            known = self._kept.setdefault(scope, _Known())
            self._kept.move_to_end(scope)
            while len(self._kept) > MOST_SCOPES:
                self._kept.popitem(last=False)
        return known.keep_up(store, scope)


def _extend(registry: Registry, store: Store, scope: Scope, seen: int, version: int) -> bool:
    """Add who has spoken since; whether that was all that happened."""
    if seen == version:
        return True
    born: list[str] = []
    for entry in store.entries(scope, after=seen):
        if entry.seq > version:  # told while this was read: it is heard next time
            break
        if entry.act is not Act.REMEMBER:
            return False
        born += [change.belief for change in entry.changes if change.before is None]
    for belief in sorted(store.get(scope, born).values(), key=lambda belief: belief.seq):
        registry.hear(belief)
    return True
