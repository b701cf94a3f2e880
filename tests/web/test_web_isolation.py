"""No endpoint lets one user read, count, guess or time what is another's, and none shows an auditor anybody's words.

Every route of the application is asked, so that a new one is covered from its first day: one that takes a body without
an entry in ``BODIES`` fails here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from web_helpers import MAIL, NOON, PLACES, Place, fill, in_memory, routes

from thymus import MemoryGuard
from thymus.access.tokens import Role, Tokens
from thymus.core.claims import Scope
from thymus.web.app import create_app

ROUTES = routes(create_app(MemoryGuard(None, embedder="hash", judge="typed"), Tokens("nowhere"), key=b"k" * 32))
OPEN = {("GET", "/login"), ("POST", "/login"), ("POST", "/logout"), ("GET", "/healthz"), ("GET", "/openapi.json")}
UNKNOWN = {"id": "m_00000000000000ff", "seq": "77777", "source": "email:nobody@nowhere.example"}
WORD = "zephyr"
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/v1/memories"): {"text": "My dog is Rex.", "derived_from": ["{id}"], "over": ["{id}"]},
    ("POST", "/v1/recall"): {"question": f"When is the {WORD} standup?"},
    ("POST", "/v1/memories/{memory_id}/resolve"): {"accept": True, "over": ["{id}"]},
    ("POST", "/v1/sources/revoke"): {"source": "{source}"},
    ("POST", "/v1/check"): {"tool": "send", "args": {"at": "10:30", "what": f"{WORD} standup", "id": "{id}"}},
}
NO_BODY = {("POST", "/v1/acts/{seq}/undo")}
FORM = {"source": "{source}", "replaces": "{id}", "expected": "0", "back": "", "token": "thy_{id}"}
QUERY = {"source": "{source}", "q": WORD, "status": "all"}


class Spy:
    """A store that notes which scope it was asked for what."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.calls: list[tuple[str, Scope | None]] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found):
            return found

        def noted(*given: Any, **named: Any) -> Any:
            first = given[0] if given else None
            scope = first if isinstance(first, Scope) else getattr(first, "scope", None)
            self.calls.append((name, scope))
            return found(*given, **named)

        return noted


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = in_memory(tmp_path)
    yield made
    made.guard.close()


def spied(place: Place) -> tuple[Place, Spy]:
    """The same place, over a store that notes what it is asked."""
    spy = Spy(place.guard._parts.store)
    place.guard._parts = replace(place.guard._parts, store=spy)
    return Place(place.guard, place.tokens), spy


def filled(given: Any, names: dict[str, str]) -> Any:
    """A body with the ids in their places."""
    if isinstance(given, dict):
        return {name: filled(value, names) for name, value in given.items()}
    if isinstance(given, list):
        return [filled(value, names) for value in given]
    return re.sub(r"\{(\w+)\}", lambda found: names[found[1]], given) if isinstance(given, str) else given


def ask(client: TestClient, method: str, path: str, names: dict[str, str]) -> Any:
    """Ask a route about an id, an act or a source."""
    where = path.replace("{memory_id}", names["id"]).replace("{seq}", names["seq"])
    assert "{" not in where, f"{path} has a new parameter: say here what a foreign and an unknown one are"
    if method == "GET":
        return client.get(where, params={} if path.startswith("/v1") else filled(QUERY, names))
    if path.startswith("/v1"):
        assert method == "DELETE" or (method, path) in BODIES or (method, path) in NO_BODY, f"{path} has no body here"
        body = BODIES.get((method, path))
        return client.request(method, where, json=None if body is None else filled(body, names))
    return client.request(method, where, data=filled(FORM, names))


def told(answer: Any, names: dict[str, str], *secrets: str) -> tuple[int, str, dict[str, str]]:
    """All of an answer, without what the asker said, and without ``secrets`` of its own."""

    said = {quote(value, safe="") for value in names.values()} | set(names.values()) | set(secrets)

    def bare(text: str) -> str:
        for one in said - {names.get("seq")}:
            text = text.replace(one, "…")
        text = re.sub(r"(acts?[ /])\d+", r"\1…", text)
        return re.sub(r'(name="csrf" value=")[^"]*', r"\1…", text)

    headers = {
        name: re.sub("expires=[^;]*", "", bare(value))
        for name, value in answer.headers.items()
        if name != "content-length"
    }
    return answer.status_code, bare(answer.text), headers


def whole(answer: Any) -> str:
    """Everything that an answer says."""
    return f"{answer.text} {answer.headers}".lower()


@pytest.mark.parametrize("made", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_what_is_anothers_is_as_good_as_nothing(
    tmp_path: Path, made: Callable[[Path], Place], method: str, path: str
) -> None:
    """The same answer, from the same work on nobody's scope but the caller's own."""
    place = made(tmp_path)
    fill(place.of("ravi"), "monsoon")
    known, held = fill(place.guard, WORD)
    act = place.guard.resolve(held, accept=False)
    place.guard.undo(act.seq)
    place.guard.remember(f"My dentist is Dr Ellis, and on Mondays the {WORD} is closed.")
    last = place.guard.ledger()[-1].seq
    foreign = [{"id": id_, "seq": str(last), "source": MAIL.replace("noreply", "other")} for id_ in (known, held)]
    place.guard.remember("The lockers close at 18:00.", source=foreign[0]["source"])
    before = place.guard.export()
    place, spy = spied(place)
    with place.client("ravi") as client:
        ask(client, method, path, UNKNOWN)  # what is kept of the caller's own memory is kept from now on
        spy.calls.clear()
        expected = told(ask(client, method, path, UNKNOWN), UNKNOWN)
        work = list(spy.calls)
        for names in foreign:
            spy.calls.clear()
            answer = ask(client, method, path, names)
            assert told(answer, names) == expected
            assert spy.calls == work
            for word in ("ellis", "18:00", "mondays"):  # of what was not asked
                assert word not in whole(answer)
    if path != "/healthz":
        assert {scope for _, scope in work} <= {place.of("ravi")._scope}
    assert place.guard.export() == before


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_nothing_tells_that_another_has_any_memory(tmp_path: Path, method: str, path: str) -> None:
    """A service where somebody else keeps a lot answers to the letter as one where nobody does."""
    answers = []
    for number in range(2):
        (folder := tmp_path / str(number)).mkdir()
        place = in_memory(folder)
        known, held = fill(place.of("ravi"), "monsoon")
        if number:
            for word in ("zephyr", "sirocco", "monsoon", "mistral"):
                fill(place.guard, word)
            place.guard.remember("My monsoon standup is at 9:15 on Mondays.")
        with place.client("ravi") as client:
            for own in (known, held):
                names = {"id": own, "seq": "1", "source": MAIL}
                answers.append(told(ask(client, method, path, names), {}, place.issued["ravi", Role.OWNER][0].id))
    assert answers[:2] == answers[2:]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_an_auditor_reads_nobodys_words(place: Place, method: str, path: str) -> None:
    known, held = fill(place.guard, WORD)
    place.guard.revoke(MAIL)
    last = place.guard.ledger()[-1].seq
    with place.client("asha", Role.AUDITOR) as client:
        for id_, seq in ((known, "1"), (held, str(last))):
            names = {"id": id_, "seq": seq, "source": "email:asked@nowhere.example"}
            said = whole(ask(client, method, path, names)).replace(f'value="{WORD}"', "")
            for word in (WORD, "standup", "9:15", "10:30", "noreply", "lockers"):
                assert word not in said
    assert place.guard.get(known).status == "active"


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_strangers_are_told_nothing_and_nothing_is_looked_up_for_them(place: Place, method: str, path: str) -> None:
    known, _ = fill(place.guard, WORD)
    place, spy = spied(place)
    names = {"id": known, "seq": "1", "source": MAIL}
    with place.client(None) as client:
        spy.calls.clear()
        answer = ask(client, method, path, names)
        if (method, path) not in OPEN:
            assert answer.status_code == (401 if path.startswith("/v1") or path == "/metrics" else 303)
            assert spy.calls == []
            assert told(answer, names) == told(ask(client, method, path, UNKNOWN), UNKNOWN)
        assert WORD not in whole(answer)


@pytest.mark.parametrize(("method", "path"), [route for route in ROUTES if route[0] not in ("GET", "HEAD")])
def test_a_form_or_call_that_changes_something_needs_the_sessions_own_word(
    place: Place, method: str, path: str
) -> None:
    """With a cookie alone, which any page could make a browser send, nothing is changed."""
    known, held = fill(place.guard, WORD)
    before = place.guard.export()
    with place.browser() as client:
        for id_ in (known, held):
            names = {"id": id_, "seq": "1", "source": MAIL}
            for headers in ({}, {"x-csrf-token": "wrong"}, {"sec-fetch-site": "cross-site"}):
                client.headers = headers
                answer = ask(client, method, path, names)
                assert answer.status_code == (401 if path == "/login" else 403), answer.text
    assert place.guard.export() == before


def test_the_routes_are_found() -> None:
    assert len(ROUTES) > 30
    assert {("GET", "/"), ("POST", "/login"), ("GET", "/v1/memories"), ("GET", "/metrics")} <= set(ROUTES)
    assert NOON.year == 2026
