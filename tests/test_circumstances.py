"""What is found out about a claim: its owner, whom its speakers resemble, what is at stake; and who is known."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import a_claim
from thymus import MemoryGuard, Source, circumstances
from thymus.circumstances import Registries, owner_of
from thymus.core.claims import Scope
from thymus.core.policy import Circumstances
from thymus.embed import HashEmbedder
from thymus.ports import Store
from thymus.sources.registry import Registry
from thymus.stores.memory import MemoryStore
from thymus.stores.sqlite import SqliteStore

EMBEDDER = HashEmbedder()
ME = Source.user()
LIBRARY = Source.parse("email:desk@library.example", authenticated=True)
LOANS = Source.parse("email:loans@mail.library.example", authenticated=True)
GMAIL = Source.parse("email:ines@gmail.com", authenticated=True)
PAGE = Source.parse("web:library.example/hours", authenticated=True)
BROWSER = Source.parse("tool:browser", authenticated=True)
CALENDAR = Source.parse("tool:calendar", authenticated=True)
ASSISTANT = Source.parse("assistant")
CHAT = Source.parse("chat:ines@larkfield.example", authenticated=True)
SPOOF = Source.parse("email:desk@library.example")
LOOKALIKE = Source.parse("email:desk@1ibrary.example", authenticated=True)
SCOPE = Scope(tenant="default", user="me")


def known(*sources: Source) -> Registry:
    """A registry of sources that spoke in this order."""
    store = MemoryStore(embedder=EMBEDDER.name, dim=EMBEDDER.dim)
    guard = open_guard(store)
    for number, source in enumerate(sources):
        guard.remember(f"Shelf {number} is in room {number}.", source=source)
    return Registry(store.sources(SCOPE))


def open_guard(store: Store, **options: str) -> MemoryGuard:
    return MemoryGuard(store=store, judge="typed", embedder=EMBEDDER, **options)  # type: ignore[arg-type]


# Owners


@pytest.mark.parametrize(
    ("owner", "source", "derived_from"),
    [
        ("domain:library.example", LIBRARY, ()),
        ("domain:library.example", LOANS, ()),
        ("domain:library.example", PAGE, ()),
        ("email:ines@gmail.com", GMAIL, ()),
        ("chat:ines@larkfield.example", CHAT, ()),
        ("tool:calendar", CALENDAR, ()),
        ("user", ME, ()),
        ("", BROWSER, ()),
        ("", Source.parse("email"), ()),
        ("domain:library.example", BROWSER, (PAGE,)),
        ("domain:library.example", ASSISTANT, (LIBRARY, LOANS)),
        ("", ASSISTANT, (LIBRARY, GMAIL)),
        ("", ASSISTANT, (LIBRARY, BROWSER)),
    ],
)
def test_who_owns_what_a_claim_says(owner: str, source: Source, derived_from: tuple[Source, ...]) -> None:
    assert owner_of(a_claim(source=source, derived_from=derived_from)) == owner


@pytest.mark.parametrize(
    ("owner", "source", "derived_from"),
    [
        ("domain:library.example", LIBRARY, ()),
        ("domain:library.example", BROWSER, (PAGE,)),
        ("domain:library.example", Source.parse("tool:mcp__brave__web_search"), (LIBRARY, PAGE)),
        ("", BROWSER, (PAGE, GMAIL)),
        ("", BROWSER, ()),
        ("", CALENDAR, (PAGE,)),
        ("", ASSISTANT, (LIBRARY,)),
        ("", GMAIL, (LIBRARY,)),
        ("domain:library.example", LOANS, (LIBRARY,)),
        ("", ME, (LIBRARY,)),
    ],
)
def test_who_answers_for_an_incoming_claim(owner: str, source: Source, derived_from: tuple[Source, ...]) -> None:
    """An open-world tool only carries; everybody else who passes something on could have changed it."""
    claim = a_claim(source=source, derived_from=derived_from)
    assert circumstances.circumstances(claim, known()).owner == owner


def test_nothing_is_asked_of_the_users_own_words() -> None:
    claim = a_claim("Pay the rent to GB33 BUKB 2020 1555 5555 55.")
    assert circumstances.circumstances(claim, known(LIBRARY)) == Circumstances()


def test_what_is_at_stake() -> None:
    claim = a_claim("Pay the rent to GB33 BUKB 2020 1555 5555 55.", LIBRARY)
    assert circumstances.circumstances(claim, known()).stakes == {"payment"}
    assert circumstances.circumstances(a_claim("It is open.", LIBRARY), known()).stakes == frozenset()


# Whom its speakers resemble


def resembled(registry: Registry, source: Source, *derived_from: Source) -> tuple[str, ...]:
    found = circumstances.circumstances(a_claim(source=source, derived_from=derived_from), registry)
    return tuple(known.key for known in found.resembles)


def test_a_lookalike_of_a_known_source() -> None:
    assert resembled(known(LIBRARY), LOOKALIKE) == (LIBRARY.key,)
    assert resembled(known(LIBRARY), GMAIL) == ()
    assert resembled(known(), LOOKALIKE) == ()


def test_one_who_only_passes_a_lookalike_on() -> None:
    assert resembled(known(LIBRARY), ASSISTANT, LOOKALIKE) == (LIBRARY.key,)


def test_the_name_of_a_verified_source_that_is_not_verified_now() -> None:
    assert resembled(known(LIBRARY), SPOOF) == (LIBRARY.key,)
    assert resembled(known(LIBRARY), LIBRARY) == ()
    assert resembled(known(SPOOF), SPOOF) == ()
    assert resembled(known(SPOOF), LIBRARY) == ()


def test_a_source_whose_only_word_was_rejected_is_not_known() -> None:
    store = MemoryStore(embedder=EMBEDDER.name, dim=EMBEDDER.dim)
    guard = open_guard(store)
    [told] = guard.remember("The library closes at 6 pm.", source=LIBRARY).memories
    guard.resolve(told.id, accept=False)
    assert resembled(Registry(store.sources(SCOPE)), SPOOF) == ()


# Registries are kept up with the store


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = (
        MemoryStore(embedder=EMBEDDER.name, dim=EMBEDDER.dim)
        if request.param == "memory"
        else SqliteStore(tmp_path / "memory.db", embedder=EMBEDDER.name, dim=EMBEDDER.dim)
    )
    yield made
    made.close()


def counted(registry: Registry) -> dict[str, tuple[int, int, int, str]]:
    """What is held of each source, in short."""
    return {
        key: (voice.first, voice.last, sum(voice.counts.values()), voice.source.name)
        for key, voice in registry._voices.items()
    }


def test_it_hears_what_was_said_since_by_anybody(store: Store) -> None:
    registries = Registries()
    mine, other = open_guard(store), open_guard(store)
    mine.remember("The library closes at 6 pm.", source=LIBRARY)
    first = registries.of(store, SCOPE)
    named = Source(channel="email", identity="desk@library.example", assurance=LIBRARY.assurance, name="Desk")
    other.remember("The library has a cellar.", source=named)
    other.remember("Lunch is at noon.", source=GMAIL)
    mine.remember("Choir is at seven.", source=GMAIL)
    assert other.remember("The library closes at 8 pm now.", source=LIBRARY).effect == "replaced"
    then = registries.of(store, SCOPE)
    assert then is first
    assert counted(then) == counted(Registry(store.sources(SCOPE)))
    assert counted(then)[LIBRARY.key][2:] == (3, "Desk")


def test_what_was_revoked_resolved_or_undone_is_known_no_longer(store: Store) -> None:
    guard, registries = open_guard(store), Registries()
    [told] = guard.remember("The library closes at 6 pm.", source=LIBRARY).memories
    assert registries.of(store, SCOPE).known(LIBRARY)
    revoked = guard.revoke(LIBRARY.key)
    assert registries.of(store, SCOPE).known(LIBRARY) is None
    guard.undo(revoked.seq)
    assert registries.of(store, SCOPE).known(LIBRARY)
    guard.resolve(told.id, accept=False)
    assert registries.of(store, SCOPE).known(LIBRARY) is None


def test_a_revoked_source_protects_its_name_no_longer(store: Store) -> None:
    guard = open_guard(store)
    guard.remember("The library closes at 6 pm.", source=LIBRARY)
    first = guard.remember("The cellar is damp.", source=LOOKALIKE)
    assert first.reasons == ("lookalike",)
    guard.revoke(LIBRARY.key)
    assert guard.remember("The attic is dry.", source=LOOKALIKE).effect == "admitted"


def test_what_another_guard_over_the_same_file_hears_counts(tmp_path: Path) -> None:
    """Two guards as two processes have them: nothing is shared but the file."""
    one, other = (MemoryGuard(tmp_path / "memory.db", judge="typed", embedder="hash") for _ in range(2))
    with one, other:
        assert other.remember("The attic is dry.", source=GMAIL).effect == "admitted"
        one.remember("The library closes at 6 pm.", source=LIBRARY)
        assert other.remember("The cellar is damp.", source=LOOKALIKE).reasons == ("lookalike",)
        one.revoke(LIBRARY.key)
        assert other.remember("The roof is new.", source=LOOKALIKE).effect == "admitted"


def test_whom_one_user_knows_is_unknown_to_another(store: Store) -> None:
    mine = open_guard(store)
    mine.remember("The library closes at 6 pm.", source=LIBRARY)
    hers = mine.for_user("asha")
    assert hers.remember("The cellar is damp.", source=LOOKALIKE).effect == "admitted"
    assert mine.remember("The cellar is damp.", source=LOOKALIKE).reasons == ("lookalike",)


def test_a_store_that_was_put_back_is_read_anew(store: Store) -> None:
    guard, registries = open_guard(store), Registries()
    guard.remember("The library closes at 6 pm.", source=LIBRARY)
    guard.remember("Lunch is at noon.", source=GMAIL)
    registries.of(store, SCOPE)
    older = MemoryStore(embedder=EMBEDDER.name, dim=EMBEDDER.dim)
    open_guard(older).remember("Choir is on Monday.", source=CHAT)
    assert list(counted(registries.of(older, SCOPE))) == [CHAT.key]


def test_only_the_scopes_that_were_asked_about_last_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circumstances, "MOST_SCOPES", 2)
    open_guard(store).remember("The library closes at 6 pm.", source=LIBRARY)
    registries = Registries()
    others = [Scope(tenant="default", user=name) for name in ("a", "b", "c")]
    first = registries.of(store, SCOPE)
    for scope in others:
        registries.of(store, scope)
        assert registries.of(store, SCOPE) is first
    assert len(registries._kept) == 2
    for scope in others:
        registries.of(store, scope)
    assert registries.of(store, SCOPE) is not first
    assert registries.of(store, SCOPE).known(LIBRARY)


def test_threads_hear_everything_once(store: Store) -> None:
    """Readers ask while writers tell; in the end everything was taken in, and nothing twice."""
    registries, failed = Registries(), list[BaseException]()
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                registries.of(store, SCOPE).resembling(LOOKALIKE)
        except BaseException as error:  # noqa: BLE001  (told to the test)
            failed.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    guard = open_guard(store)
    for number in range(40):
        guard.remember(f"Shelf {number} is full.", source=f"email:desk{number}@library.example")
    done.set()
    for reader in readers:
        reader.join()
    assert failed == []
    assert counted(registries.of(store, SCOPE)) == counted(Registry(store.sources(SCOPE)))
