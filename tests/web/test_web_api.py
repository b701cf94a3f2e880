"""The API: every endpoint does what it says, and says what was wrong with what it was asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from web_helpers import MAIL, PLACES, Place, fill, in_memory, routes

from thymus.access.tokens import Role
from thymus.core.beliefs import Status
from thymus.errors import (
    ConfigError,
    StaleVersionError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    TransitionError,
)
from thymus.web.problems import MEDIA_TYPE

UNKNOWN = "m_0000000000000000"


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made = PLACES[request.param](tmp_path)
    yield made
    made.guard.close()


@pytest.fixture
def client(place: Place) -> Iterator[TestClient]:
    with place.client() as client:
        yield client


def problem(answer: Any, status: int) -> str:
    """The detail of a problem, which is well formed."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, MEDIA_TYPE), answer.text
    told = answer.json()
    assert set(told) == {"type", "title", "status", "detail"}
    assert told["status"] == status
    return str(told["detail"])


# What is remembered


def test_a_message_is_learned_and_recalled(client: TestClient, place: Place) -> None:
    made = client.post("/v1/memories", json={"text": "My standup is at 9:15."})
    assert (made.status_code, made.json()["effect"]) == (201, "admitted")
    [memory] = made.json()["memories"]
    assert (memory["text"], memory["source"], memory["outcome"]) == ("My standup is at 9:15.", "user", "admitted")
    assert place.guard.get(memory["id"]).text == "My standup is at 9:15."
    found = client.post("/v1/recall", json={"question": "When is my standup?", "k": 3}).json()
    assert "My standup is at 9:15." in found["context"]


def test_what_is_known_is_answered_with_200(client: TestClient) -> None:
    for expected in (201, 200):
        assert client.post("/v1/memories", json={"text": "My standup is at 9:15."}).status_code == expected
    assert client.post("/v1/memories", json={"text": "Hello!"}).status_code == 200


def test_everything_that_the_guard_takes_arrives_there(client: TestClient, place: Place) -> None:
    [first] = client.post("/v1/memories", json={"text": "My locker opens with 4411."}).json()["memories"]
    body = {
        "text": "Your locker opens with 9922.",
        "source": MAIL,
        "authenticated": True,
        "observed_at": "2026-02-01T09:00:00",
        "derived_from": ["web:lockers.example"],
        "message_id": "<1@lockers.example>",
        "hold": True,
    }
    [held] = client.post("/v1/memories", json=body).json()["memories"]
    found = place.guard.get(held["id"])
    assert found.status is Status.QUARANTINED
    assert found.source.key == MAIL
    assert [source.key for source in found.lineage] == ["web:lockers.example"]
    assert found.observed_at.isoformat() == "2026-02-01T09:00:00+00:00"
    assert client.post("/v1/memories", json=body).status_code == 200
    [new] = client.post("/v1/memories", json={"text": "My locker opens with 5.", "over": [first["id"]]}).json()[
        "memories"
    ]
    assert (place.guard.get(first["id"]).status, place.guard.get(new["id"]).status) == ("superseded", "active")


# What is read


def test_memories_and_one_of_them(client: TestClient, place: Place) -> None:
    known, held = fill(place.guard, "zephyr")
    listed = client.get("/v1/memories").json()["memories"]
    assert [memory["id"] for memory in listed] == [held, known]
    by_status = client.get("/v1/memories", params={"status": "active", "limit": 1}).json()["memories"]
    assert [memory["id"] for memory in by_status] == [known]
    assert client.get("/v1/memories", params={"status": "repeated"}).json() == {"memories": []}
    one = client.get(f"/v1/memories/{held}").json()
    assert one == place.guard.get(held).to_dict() | {"because": list(place.guard.explain(held).lines)}
    told = client.get(f"/v1/memories/{held}/history").json()["acts"]
    assert told == [event.to_dict() for event in place.guard.history(held)]


def test_inbox_sources_counts_ledger_export_and_me(client: TestClient, place: Place) -> None:
    _, held = fill(place.guard, "zephyr")
    assert [claim["id"] for claim in client.get("/v1/inbox").json()["memories"]] == [held]
    assert {record["source"] for record in client.get("/v1/sources").json()["sources"]} == {"user", MAIL}
    counts = client.get("/v1/counts").json()["memories"]
    assert (counts["active"], counts["contested"], sum(counts.values())) == (1, 1, 2)
    assert client.get("/v1/export").json() == place.guard.export()
    first = client.get("/v1/ledger", params={"limit": 1}).json()
    assert (first["next"], [act["seq"] for act in first["acts"]]) == (1, [1])
    rest = client.get("/v1/ledger", params={"after": 1}).json()
    assert (rest["next"], [act["seq"] for act in rest["acts"]]) == (None, [2])
    token, _ = place.issued["asha", Role.OWNER]
    assert client.get("/v1/me").json() == {"tenant": "default", "user": "asha", "role": "owner", "token": token.id}


def test_everyone_verifies_their_own_and_whoever_runs_the_service_all(place: Place) -> None:
    fill(place.guard, "zephyr")
    fill(place.of("ravi"), "blue")
    with place.client() as asha, place.client("ravi", Role.AUDITOR) as ravi:
        own = {"ok": True, "entries": 2, "memories": 2, "problems": []}
        assert asha.get("/v1/verify").json() == ravi.get("/v1/verify").json() == own
        assert asha.get("/v1/verify?everyone=true").json() == {**own, "entries": 4, "memories": 4}
        assert "who runs the service" in problem(ravi.get("/v1/verify?everyone=true"), 403)


# What is settled


def test_a_claim_is_accepted_after_a_look_and_that_is_undone(client: TestClient, place: Place) -> None:
    known, held = fill(place.guard, "zephyr")
    looked = client.post(f"/v1/memories/{held}/resolve", json={"accept": True, "over": [known], "dry_run": True})
    assert (looked.json()["seq"], place.guard.get(held).status) == (0, "contested")
    done = client.post(f"/v1/memories/{held}/resolve", json={"accept": True, "over": [known]}).json()
    assert (place.guard.get(known).status, place.guard.get(held).status) == ("superseded", "active")
    assert client.post(f"/v1/acts/{done['seq']}/undo").status_code == 200
    assert (place.guard.get(known).status, place.guard.get(held).status) == ("active", "contested")


def test_a_claim_is_declined_and_a_memory_erased(client: TestClient, place: Place) -> None:
    known, held = fill(place.guard, "zephyr")
    assert client.post(f"/v1/memories/{held}/resolve", json={"accept": False}).status_code == 200
    assert place.guard.get(held).status == "rejected"
    assert client.delete(f"/v1/memories/{known}").status_code == 200
    assert place.guard.get(known).text == ""


def test_a_source_is_revoked_after_a_look(client: TestClient, place: Place) -> None:
    _, held = fill(place.guard, "zephyr")
    looked = client.post("/v1/sources/revoke", json={"source": MAIL, "dry_run": True}).json()
    assert ([change["memory"] for change in looked["changes"]], looked["seq"]) == ([held], 0)
    assert place.guard.get(held).status == "contested"
    assert client.post("/v1/sources/revoke", json={"source": MAIL, "since": "2026-02-28"}).json()["seq"] > 0
    assert place.guard.get(held).status == "retracted"


def test_a_call_is_checked(client: TestClient, place: Place) -> None:
    fill(place.guard, "zephyr")
    found = client.post("/v1/check", json={"tool": "send_money", "args": {"to": "notzephyr"}, "said": ["Pay."]}).json()
    assert found == place.guard.check_action("send_money", {"to": "notzephyr"}, said=["Pay."]).to_dict()


# Roles

OF_OWNERS = {
    ("POST", "/v1/memories"): {"text": "My dog is Rex."},
    ("POST", "/v1/recall"): {"question": "Who is my dog?"},
    ("DELETE", f"/v1/memories/{UNKNOWN}"): None,
    ("GET", "/v1/export"): None,
    ("POST", "/v1/check"): {"tool": "x"},
}
OF_READERS = {
    ("GET", "/v1/memories"): None,
    ("GET", f"/v1/memories/{UNKNOWN}"): None,
    ("GET", f"/v1/memories/{UNKNOWN}/history"): None,
    ("GET", "/v1/inbox"): None,
    ("GET", "/v1/sources"): None,
    ("POST", f"/v1/memories/{UNKNOWN}/resolve"): {"accept": True},
    ("POST", "/v1/sources/revoke"): {"source": MAIL},
    ("POST", "/v1/acts/1/undo"): None,
}
OF_ALL = {
    ("GET", "/v1/ledger"): None,
    ("GET", "/v1/counts"): None,
    ("GET", "/v1/me"): None,
    ("GET", "/v1/verify"): None,
}


def test_every_endpoint_is_among_those_whose_roles_are_tested(place: Place) -> None:
    asked = {*OF_OWNERS, *OF_READERS, *OF_ALL}
    known = {(m, p.replace(UNKNOWN, "{memory_id}").replace("/acts/1/", "/acts/{seq}/")) for m, p in asked}
    assert known == {(m, p) for m, p in routes(place.app) if p.startswith("/v1")}


def test_roles_bind_what_a_token_may_do(place: Place) -> None:
    before = place.guard.export()
    for role, not_theirs in ((Role.REVIEWER, OF_OWNERS), (Role.AUDITOR, OF_OWNERS | OF_READERS)):
        with place.client("asha", role) as client:
            for (method, path), body in not_theirs.items():
                detail = problem(client.request(method, path, json=body), 403)
                assert detail.startswith("This takes a token of the role owner")
            for (method, path), body in {**OF_OWNERS, **OF_READERS, **OF_ALL}.items():
                if (method, path) not in not_theirs:
                    assert client.request(method, path, json=body).status_code in (200, 404, 422)
    assert place.guard.export() == before


def test_a_reviewer_settles(place: Place) -> None:
    _, held = fill(place.guard, "zephyr")
    with place.client("asha", Role.REVIEWER) as client:
        done = client.post(f"/v1/memories/{held}/resolve", json={"accept": False})
        assert done.status_code == 200
        assert client.post(f"/v1/acts/{done.json()['seq']}/undo").status_code == 200
        assert client.post("/v1/sources/revoke", json={"source": MAIL}).status_code == 200
    assert place.guard.get(held).status == "retracted"


def test_a_tenant_is_part_of_who_one_is(place: Place) -> None:
    fill(place.guard, "zephyr")
    place.issue("asha", tenant="acme")
    with place.client() as client:
        assert client.get("/v1/me").json()["tenant"] == "acme"
        assert client.get("/v1/memories").json() == {"memories": []}
        assert client.get("/v1/verify").json()["entries"] == 0
        assert client.get("/v1/verify?everyone=true").status_code == 403
        client.post("/v1/memories", json={"text": "My standup is at 9:15."})
    assert len(place.guard.for_user("asha", tenant="acme").memories()) == 1
    assert len(place.guard.memories(status=None)) == 2


# What goes wrong


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"/v1/memories/{UNKNOWN}", None),
        ("GET", f"/v1/memories/{UNKNOWN}/history", None),
        ("DELETE", f"/v1/memories/{UNKNOWN}", None),
        ("POST", f"/v1/memories/{UNKNOWN}/resolve", {"accept": True}),
        ("POST", "/v1/memories", {"text": "My dog is Rex.", "derived_from": [UNKNOWN]}),
        ("POST", "/v1/memories", {"text": "My dog is Rex.", "over": [UNKNOWN]}),
    ],
)
def test_an_unknown_id(client: TestClient, method: str, path: str, body: Any) -> None:
    assert problem(client.request(method, path, json=body), 404) == "No memory of this user has that id."


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/memories", {}),
        ("POST", "/v1/memories", {"text": ""}),
        ("POST", "/v1/memories", {"text": "   "}),
        ("POST", "/v1/memories", {"text": "x" * 200_001}),
        ("POST", "/v1/memories", {"text": "Hi", "source": "nonsense of no channel"}),
        ("POST", "/v1/memories", {"text": "Hi", "hold": True}),
        ("POST", "/v1/memories", {"text": "Hi", "observed_at": "0001-01-01T00:00:00+14:00"}),
        ("POST", "/v1/memories", {"text": "Hi", "observed_at": "9999-12-31T23:59:59-14:00"}),
        ("POST", "/v1/memories", {"text": "Hi", "user": "ravi"}),
        ("POST", "/v1/memories", ["text"]),
        ("POST", "/v1/recall", {"question": " "}),
        ("POST", "/v1/recall", {"question": "x", "k": 51}),
        ("GET", "/v1/memories?status=nonsense", None),
        ("GET", "/v1/memories?limit=501", None),
        ("GET", "/v1/memories/nonsense", None),
        ("GET", "/v1/ledger?after=-1", None),
        ("POST", f"/v1/memories/{UNKNOWN}/resolve", {"accept": "perhaps"}),
        ("POST", "/v1/sources/revoke", {"source": "user"}),
        ("POST", "/v1/acts/99/undo", None),
        ("POST", "/v1/acts/0/undo", None),
        ("POST", "/v1/check", {"tool": "x", "args": [1]}),
    ],
)
def test_what_means_nothing(client: TestClient, method: str, path: str, body: Any) -> None:
    assert problem(client.request(method, path, json=body), 422)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"text": ' + b"9" * 5_000 + b"}",
        b'{"text": "\\ud800"}',
        b"null",
        b"\0" * 9,
    ],
)
def test_a_body_that_is_not_json(client: TestClient, body: bytes) -> None:
    answer = client.post("/v1/memories", content=body, headers={"content-type": "application/json"})
    assert problem(answer, answer.status_code)
    assert answer.status_code in (400, 422)


def test_no_other_form_of_body_is_read(client: TestClient, place: Place) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = client.post("/v1/memories", content=b'{"text": "My dog is Rex."}', headers={"content-type": kind})
        assert problem(answer, 422)
    assert place.guard.memories(status=None) == []


def test_arguments_that_nobody_could_mean(client: TestClient) -> None:
    deep = b'{"tool": "x", "args": {"a": ' + b"[" * 400 + b"]" * 400 + b"}}"
    for body in (deep, b'{"tool": "x", "args": {"a": NaN}}', b'{"tool": "x", "args": {"a": 1e999}}'):
        answer = client.post("/v1/check", content=body, headers={"content-type": "application/json"})
        assert problem(answer, 422)


def test_what_is_not_there(client: TestClient) -> None:
    assert problem(client.get("/v1/nothing"), 404)
    assert problem(client.put("/v1/memories"), 405)
    for gone in ("/docs", "/redoc", "/v1", "/v1/", "/static/../app.py", "/static/%2e%2e/app.py"):
        assert client.get(gone).status_code == 404


@pytest.mark.parametrize(
    ("error", "status", "wait"),
    [
        (StoreLockedError("/secret/path is locked"), 503, "1"),
        (StoreFullError("/secret/path is full"), 507, None),
        (StaleVersionError("m_1 of ravi"), 409, None),
        (StoreError("/secret/path"), 503, "5"),
        (TransitionError("secret"), 500, None),
        (ConfigError("give another secret"), 422, None),
        (RuntimeError("My locker opens with the word zephyr: secret"), 500, None),
    ],
)
def test_what_fails_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, wait: str | None
) -> None:
    place = in_memory(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(type(place.guard), "inbox", fail)
    with place.client() as client:
        answer = client.get("/v1/inbox")
        assert problem(answer, status)
        assert answer.headers.get("retry-after") == wait
        assert answer.headers["content-security-policy"]
        if status != 422:
            assert "secret" not in answer.text


# What is open


def test_health(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with place.client(None) as client:
        assert client.get("/healthz").json() == {"status": "ok"}

        def gone(*_: object) -> None:
            raise StoreError("/secret/path")

        monkeypatch.setattr(place.guard._parts.store, "version", gone)
        assert problem(client.get("/healthz"), 503)


def test_the_description_is_whole(place: Place) -> None:
    with place.client(None) as client:
        told = client.get("/openapi.json").json()
    described = {(m.upper(), path) for path, found in told["paths"].items() for m in found}
    assert described == {(m, p) for m, p in routes(place.app) if p.startswith("/v1") or p in ("/healthz", "/metrics")}
    assert told["components"]["securitySchemes"] == {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "Made with `thymus token new`. Browsers sign in at /login instead.",
        }
    }
    for path, found in told["paths"].items():
        for method in found.values():
            assert bool(method.get("security")) == path.startswith("/v1")
            assert method["summary"]
            assert MEDIA_TYPE in method["responses"]["422"]["content"]
