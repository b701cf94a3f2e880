"""Who is known to a user, and which known source stands against a lookalike."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from thymus.core.beliefs import Status
from thymus.core.provenance import Assurance, Source
from thymus.ports import Voice
from thymus.sources.lookalikes import resembles
from thymus.sources.registry import MOST, Registry
from timing import cpu_seconds

from .test_lookalikes import SOURCES, pairs, read

AT = datetime(2026, 1, 1, tzinfo=UTC)
ACTIVE = {Status.ACTIVE: 1}


def voice(
    source: Source | str, first: int = 1, *, proved: bool | None = None, counts: dict[Status, int] = ACTIVE
) -> Voice:
    """A source that spoke once."""
    known = read(source) if isinstance(source, str) else source
    known = Source.parse(known, authenticated=proved)
    return Voice(source=known, first=first, last=first, since=AT, until=AT, counts=counts)


def resembled(registry: Registry, source: str, *, proved: bool = False) -> list[str]:
    """The keys of those that it may be taken for."""
    asked = Source.parse(read(source), authenticated=proved)
    return [found.source.key for found in registry.resembling(asked)]


BANK = "email:info@northbank.example"
FAKE = "email:info@northbank-alerts.example"


def test_finds_who_is_resembled() -> None:
    """A stranger that may be taken for a known source is told whom; others are not."""
    registry = Registry([voice(BANK), voice("email:a@larkfield.example", 2)])
    assert resembled(registry, FAKE) == [BANK]
    assert resembled(registry, "email:a@brightwell.example") == []
    assert resembled(registry, "email:other@mail.northbank.example") == []
    assert resembled(registry, BANK) == []


def test_the_verified_are_never_held_back_for_the_unverified() -> None:
    """A known source that was never verified does not stand against a verified one, whoever spoke first."""
    assert resembled(Registry([voice(FAKE)]), BANK, proved=True) == []
    assert resembled(Registry([voice(FAKE)]), BANK) == [FAKE]


def test_the_better_proved_comes_before_the_earlier() -> None:
    """Who was verified stands against an unverified lookalike that spoke before."""
    registry = Registry([voice(FAKE, 1), voice(BANK, 2, proved=True)])
    assert resembled(registry, FAKE) == [BANK]
    assert resembled(registry, BANK, proved=True) == []
    assert resembled(registry, BANK) == [FAKE]


def test_who_spoke_first_stands_among_equals() -> None:
    """Of two equally proved the first stands against the second, and not the other way round."""
    registry = Registry([voice(BANK, 3, proved=True), voice(FAKE, 5, proved=True)])
    assert resembled(registry, FAKE, proved=True) == [BANK]
    assert resembled(registry, BANK, proved=True) == []


def test_a_retracted_source_is_not_known() -> None:
    """Nothing that counts is left of it: it is no stranger's double, and itself a stranger."""
    for gone in (Status.RETRACTED, Status.REJECTED):
        registry = Registry([voice(BANK, counts={gone: 2})])
        assert resembled(registry, FAKE) == []
        assert registry.known(read(BANK)) is None
        registry.add(voice(BANK, counts={gone: 2, Status.CONTESTED: 1}))
        assert resembled(registry, FAKE) == [BANK]


def test_knows_since_when() -> None:
    """``known`` tells since when and with how many claims; assurance does not matter."""
    registry = Registry([voice(BANK, 4)])
    found = registry.known(Source.parse(BANK, authenticated=True))
    assert found is not None
    assert (found.first, found.since, found.counts) == (4, AT, ACTIVE)
    assert registry.known(read(FAKE)) is None


def test_add_replaces() -> None:
    """The latest voice of a source counts, its name too."""
    registry = Registry([voice(BANK)])
    registry.add(voice(BANK, proved=True))
    assert resembled(registry, BANK.replace("north", "n0rth")) == [BANK]
    registry.add(voice(f'"Hollis & Co" {BANK}'))
    assert resembled(registry, '"Hollis & Co" email:x@evil.example') == [BANK]
    registry.add(voice(BANK))
    assert resembled(registry, '"Hollis & Co" email:x@evil.example') == []


def test_names_a_bounded_number() -> None:
    """A flood of known sources costs no more than ``MOST`` answers, the first ones."""
    registry = Registry(voice(f"email:p{at}@northbank.example", at) for at in range(1, 200))
    assert resembled(registry, FAKE) == [f"email:p{at}@northbank.example" for at in range(1, MOST + 1)]


def everyone(registry: list[Voice], source: Source) -> list[str]:
    """What looking at every voice would find."""
    return [known.source.key for known in registry if resembles(source, known.source)]


def test_the_index_finds_all_of_the_tables() -> None:
    """Each confusable pair is found through the index."""
    for line in pairs("confusable") + pairs("alarm"):
        source, known = map(read, line.split(" ~ "))
        assert [found.source.key for found in Registry([voice(known)]).resembling(source)] == [known.key]


def test_the_index_finds_what_looking_at_all_would() -> None:
    """Some sources of the tables against all before them."""
    sources = {
        source.key: source
        for line in pairs("confusable") + pairs("innocent")
        for source in map(read, line.split(" ~ "))
    }
    voices = [voice(source, at) for at, source in enumerate(sources.values(), 1)]
    registry = Registry(voices)
    for at, source in list(enumerate(sources.values()))[::12]:
        assert [found.source.key for found in registry.resembling(source)] == everyone(voices[:at], source)


@settings(max_examples=200, deadline=None)
@given(st.lists(SOURCES, max_size=6, unique_by=lambda source: source.key), SOURCES)
def test_the_index_misses_nothing(known: list[Source], source: Source) -> None:
    """Random sources too."""
    voices = [voice(one, at) for at, one in enumerate(known, 1)]
    asked = replace(source, assurance=Assurance.REPORTED)
    assert [found.source.key for found in Registry(voices).resembling(asked)] == everyone(voices, asked)


def test_quick_among_many() -> None:
    """With 3,000 known sources a lookup takes well under a millisecond (0.1 as measured), and so does an addition."""
    at = range(3000)
    registry = Registry(voice(f"email:p{n}@{n % 7}{'abcdefghij'[n % 10] * 4}-{n:o}x.example", n) for n in at)
    strangers = [read(f'"Someone New" email:s{n}@brightwell{n:o}z.example') for n in range(100)]
    most = 0.005 * len(strangers)
    assert cpu_seconds(lambda: [registry.resembling(stranger) for stranger in strangers], enough=most) < most
