"""The table of peers: what is installed, which driver speaks for it and how it is set up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from thymus import ThymusError

DRIVERS: Final = Path(__file__).parent / "drivers"
OURS: Final = "thymus"


class PeerError(ThymusError):
    """A peer that cannot be compared; the message says which, why and what would help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One row of the comparison.

    :param requirements: pinned; none for ours, which runs where this command runs, and for what needs no package.
    :param driver: the file below ``drivers``.
    :param variant: handed to the driver: another way to set the same peer up. The environment is shared.
    :param setting: how it is set up, for the reader of the table.
    """

    name: str
    driver: str
    setting: str
    requirements: tuple[str, ...] = ()
    variant: str = ""

    @property
    def path(self) -> Path:
        """Its driver."""
        return DRIVERS / self.driver


def _peer(name: str, pin: str, setting: str, *, driver: str = "", variant: str = "") -> Peer:
    file = driver or f"{name.replace('-', '_')}.py"
    return Peer(name=name, driver=file, setting=setting, requirements=(pin,), variant=variant)


PEERS: Final[tuple[Peer, ...]] = (
    Peer(name=OURS, driver="thymus.py", setting="`MemoryGuard()` as it comes"),
    _peer(
        "agent-memory-guard",
        "agent-memory-guard==0.3.3",
        "its hardened set-up (strict policy and the persistence detector), own keyed store, given the ideal key",
    ),
    _peer(
        "memward",
        "memward==0.1.0",
        "ordinary retrieval; a verified sender counts as a verified tool, an unverified one as the web",
    ),
    _peer(
        "memward-privileged",
        "memward==0.1.0",
        "the same, with the gate for tool choice (`privileged=True`)",
        driver="memward.py",
        variant="privileged",
    ),
    _peer(
        "memware",
        "memware==0.11.0",
        "`gate_conflicts`; reliability 1.0 the user, 0.7 verified, 0.3 unverified; given the ideal triple",
    ),
    _peer(
        "mem0",
        "mem0ai==2.2.1",
        "`infer=False`, its local vector store, the sentence model that Thymus uses; without its optional extras",
    ),
    _peer(
        "memguard-riffnel",
        "memguard-riffnel==0.1.1",
        "`balanced`; the user as user_input, verified as tool_output, unverified as external_content; ideal key",
    ),
    _peer(
        "thymus-ai",
        "thymus-ai==1.0.2",
        "its generic store; trusted the user, standard verified, untrusted unverified (no relation to this project)",
    ),
    _peer(
        "memorant",
        "memorant==1.0.0rc3",
        "its guide's trust policy; operator the user, verified, untrusted; searched from `verified` up",
    ),
    _peer(
        "typedmem",
        "typedmem==0.9.3",
        "authority 1.0 the user, 0.7 verified, 0.3 unverified; given the ideal key and value",
    ),
    _peer(
        "memd-engine",
        "memd-engine==0.5.2",
        "facts on the ideal entity key; source user, tool (verified) or web",
    ),
    _peer(
        "memory-firewall",
        "memory-firewall==0.4.0",
        "own store; the user first-party confirmed and attested, verified mail attested",
    ),
    _peer(
        "mnemosyne-guard",
        "mnemosyne-guard==0.1.5",
        "knowledge surface; user_direct, tool_output (verified), external_web; given the ideal key",
    ),
    _peer("memgar", "memgar==1.4.0", "`MemoryGuard`; in front of a keyed store, given the ideal key"),
    _peer("bastionmemory", "bastionmemory==0.2.0", "`review` holds a message; in front of a keyed store, ideal key"),
    _peer("acrf-memory-guard", "acrf-memory-guard==0.1.0", "signed entries in a keyed store, given the ideal key"),
    Peer(name="user-only", driver="user_only.py", setting="a dictionary that refuses all but the user: a base line"),
    Peer(name="keyed-store", driver="keyed_store.py", setting="a dictionary, given the ideal key: a base line"),
    _peer(
        "vector-store",
        "numpy==2.2.6",
        "texts and vectors of the sentence model that Thymus uses, the nearest eight: a base line",
    ),
)


def choose(names: list[str]) -> list[Peer]:
    """The named peers and ours, in the order of the table; all where none is named.

    :raises PeerError: no peer has that name.
    """
    known = {peer.name: peer for peer in PEERS}
    for name in names:
        if name not in known:
            raise PeerError(f"there is no peer {name!r}; choose among {', '.join(known)}")
    return [peer for peer in PEERS if not names or peer.name in names or peer.name == OURS]
