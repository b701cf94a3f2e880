"""Signing in: what a cookie says and how it is set, what a form has to bring along, and when a session ends."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from itsdangerous import URLSafeTimedSerializer
from starlette.testclient import TestClient
from web_helpers import MAIL, Place, fill, in_file, in_memory

from thymus.access.tokens import Role, Tokens
from thymus.web import callers
from thymus.web.callers import COOKIE, SESSION_S, People

HTTPS = "https://memory.example"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = in_memory(tmp_path)
    yield made
    made.guard.close()


def cookie_of(client: TestClient) -> str:
    [cookie] = client.cookies.jar
    assert cookie.value is not None
    return cookie.value


# The cookie


def test_a_token_is_handed_in_once(place: Place) -> None:
    with place.client(None) as client:
        assert client.get("/v1/me").status_code == 401
        answer = client.post("/login", data={"token": f"  {place.secret('asha')}\n"})
        assert (answer.status_code, answer.headers["location"], answer.text) == (303, "/", "")
        assert client.get("/v1/me").json()["user"] == "asha"
        assert client.get("/").status_code == 200


def test_the_cookie_is_for_this_site_alone_and_no_script(place: Place) -> None:
    with place.client(None) as client:
        set_ = client.post("/login", data={"token": place.secret("asha")}).headers["set-cookie"]
    name, *flags = set_.split("; ")
    assert name.startswith(f"{COOKIE}=")
    assert flags == ["HttpOnly", f"Max-Age={SESSION_S}", "Path=/", "SameSite=strict"]
    with place.client(None, base=HTTPS) as client:
        answer = client.post("/login", data={"token": place.secret("asha")})
        name, *flags = answer.headers["set-cookie"].split("; ")
        assert name.startswith(f"__Host-{COOKIE}=")
        assert flags == ["HttpOnly", f"Max-Age={SESSION_S}", "Path=/", "SameSite=strict", "Secure"]
        assert answer.headers["strict-transport-security"]


def test_the_cookie_holds_no_secret(place: Place) -> None:
    token, secret = place.issued["asha", Role.OWNER]
    with place.browser() as client:
        kept = json.loads(base64.urlsafe_b64decode(cookie_of(client).split(".")[0] + "=="))
    assert kept == {"token": token.id, "csrf": kept["csrf"]}
    assert len(kept["csrf"]) == 32
    assert secret.split("_")[2] not in json.dumps(kept)


def test_each_session_has_a_word_of_its_own(place: Place) -> None:
    with place.browser() as one, place.browser() as other:
        assert place.csrf(one) != place.csrf(other)
        assert one.post("/v1/acts/9/undo", headers={"x-csrf-token": place.csrf(other)}).status_code == 403


def test_over_tls_a_cookie_of_a_neighbouring_site_counts_for_nothing(place: Place) -> None:
    with place.browser() as client:
        mine = cookie_of(client)
    with place.client(None, base=HTTPS) as client:
        assert client.get("/v1/me", headers={"cookie": f"{COOKIE}={mine}"}).status_code == 401
        assert client.get("/v1/me", headers={"cookie": f"__Host-{COOKIE}={mine}"}).status_code == 200


@pytest.mark.parametrize("given", ["", "x", "thy_aaaaaaaa_" + "0" * 64, "Bearer x", "x" * 200, "\u202e", "%00"])
def test_what_is_no_token_signs_nobody_in(place: Place, given: str) -> None:
    with place.client(None) as client:
        answer = client.post("/login", data={"token": given})
        assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)
        assert client.post("/login", data={"token": "x" * 201}).status_code == 422
        assert client.post("/login").status_code == 401


def test_no_cookie_is_made_for_what_another_site_sends(place: Place) -> None:
    """Or else a page could sign its visitor in as somebody else, and read what they then say (login CSRF)."""
    with place.client(None) as client:
        for headers in (
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
            {"origin": "https://evil.example"},
        ):
            answer = client.post("/login", data={"token": place.secret("asha")}, headers=headers)
            assert (answer.status_code in (401, 403), "set-cookie" in answer.headers) == (True, False)
        for headers in ({"sec-fetch-site": "same-origin"}, {"origin": "http://testserver"}, {}):
            assert client.post("/login", data={"token": place.secret("asha")}, headers=headers).status_code == 303


# Forgeries


def test_a_forged_or_changed_cookie_is_nobodys(place: Place) -> None:
    token, _ = place.issued["asha", Role.OWNER]
    kept = {"token": token.id, "csrf": "c" * 32}
    forged = [
        URLSafeTimedSerializer(b"k" * 32, salt="thymus session").dumps(kept),
        URLSafeTimedSerializer(place.tokens.key(), salt="another").dumps(kept),
        URLSafeTimedSerializer(place.tokens.key(), salt="thymus session").dumps(kept),  # with SHA-1
        base64.urlsafe_b64encode(json.dumps(kept).encode()).decode(),
        "",
        ".",
        "..",
        "x" * 3_000,
        place.secret("asha"),
        token.id,
    ]
    with place.browser() as client:
        mine = cookie_of(client)
        body, at, signature = mine.split(".")
        others = json.dumps(kept | {"token": place.issued["ravi", Role.OWNER][0].id}).encode()
        changed = base64.urlsafe_b64encode(others).decode().rstrip("=")
        forged += [f"{changed}.{at}.{signature}", f"{body}.{at}A.{signature}", mine[:-1], mine + "A", mine.upper()]
    with place.client(None) as client:
        for one in forged:
            assert client.get("/v1/me", headers={"cookie": f"{COOKIE}={one}"}).status_code == 401, one
        assert client.get("/v1/me", headers={"cookie": f"{COOKIE}={mine}"}).status_code == 200


def test_what_is_signed_and_says_something_else_is_nobodys(place: Place) -> None:
    token, _ = place.issued["asha", Role.OWNER]
    cookies = place.app.state.people._cookies
    wrong = ["text", 7, None, [token.id], {}, {"token": token.id}, {"csrf": "x"}, {"token": token.id, "csrf": ""}]
    with place.client(None) as client:
        for kept in (*wrong, {"token": "zzzzzzzz", "csrf": "x"}, {"token": "'; --", "csrf": "x"}):
            cookie = f"{COOKIE}={cookies.dumps(kept)}"
            assert client.get("/v1/me", headers={"cookie": cookie}).status_code == 401


def test_a_session_ends_after_its_time(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with place.browser() as client:
        assert client.get("/v1/me").status_code == 200
        monkeypatch.setattr(callers, "SESSION_S", -1)
        assert client.get("/v1/me").status_code == 401
        assert client.get("/").headers["location"] == "/login"


def test_a_session_ends_with_its_token(place: Place) -> None:
    token, _ = place.issued["asha", Role.OWNER]
    with place.browser() as client:
        assert client.get("/v1/me").status_code == 200
        Tokens(place.tokens.path).revoke(token.id)  # as another process does
        assert client.get("/v1/me").status_code == 401
        assert client.get("/memories").headers["location"] == "/login"


def test_a_session_ends_when_its_token_expires(tmp_path: Path) -> None:
    place = in_memory(tmp_path)
    moments = [datetime.now(UTC)]
    tokens = Tokens(place.tokens.path, clock=lambda: moments[0])
    _, secret = tokens.issue("asha", "soon", moments[0] + timedelta(hours=1))
    people = People(place.guard, tokens, b"k" * 32)
    cookie = people.sign_in(secret)
    assert cookie is not None
    assert people.by_cookie(cookie) is not None
    moments[0] += timedelta(hours=2)
    assert people.by_cookie(cookie) is None


def test_every_worker_knows_the_cookie_and_another_service_does_not(tmp_path: Path) -> None:
    place = in_file(tmp_path)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    with place.browser() as client:
        cookie = cookie_of(client)
    other = People(place.guard, Tokens(place.tokens.path), Tokens(place.tokens.path).key())
    assert other.by_cookie(cookie) is not None
    assert len(place.tokens.key()) == 32
    foreign = in_file(elsewhere)
    assert foreign.tokens.key() != place.tokens.key()
    assert foreign.app.state.people.by_cookie(cookie) is None


# Forms and calls of a browser


def test_a_call_with_a_cookie_brings_the_sessions_word_along(place: Place) -> None:
    with place.browser() as client:
        right = {"x-csrf-token": place.csrf(client)}
        for headers in ({}, {"x-csrf-token": ""}, {"x-csrf-token": "ü"}, right | {"sec-fetch-site": "cross-site"}):
            raw = {name.encode(): value.encode() for name, value in headers.items()}
            assert client.post("/v1/memories", json={"text": "My dog is Rex."}, headers=raw).status_code == 403
        assert place.guard.memories(status=None) == []
        assert client.post("/v1/memories", json={"text": "My dog is Rex."}, headers=right).status_code == 201


def test_a_form_brings_it_along_as_a_field(place: Place) -> None:
    _, held = fill(place.guard, "zephyr")
    with place.browser() as client:
        for csrf in ("", "wrong", "ü"):
            assert client.post(f"/inbox/{held}/reject", data={"csrf": csrf}).status_code == 403
        assert place.guard.get(held).status == "contested"
        assert client.post(f"/inbox/{held}/reject", data={"csrf": place.csrf(client)}).status_code == 303
    assert place.guard.get(held).status == "rejected"


def test_a_bearer_token_needs_none_and_counts_before_a_cookie(place: Place) -> None:
    with place.browser() as client:
        headers = {"authorization": f"Bearer {place.secret('ravi')}"}
        assert client.post("/v1/memories", json={"text": "My dog is Rex."}, headers=headers).status_code == 201
        assert client.get("/v1/me", headers=headers).json()["user"] == "ravi"
        for wrong in ("", "Bearer", "Bearer x", "Basic YTpi", place.secret("asha"), f"Token {place.secret('asha')}"):
            assert client.get("/v1/me", headers={"authorization": wrong}).status_code == 401
    assert place.guard.memories(status=None) == []
    assert len(place.of("ravi").memories()) == 1


def test_no_secret_is_taken_from_an_address(place: Place) -> None:
    with place.client(None) as client:
        secret = place.secret("asha")
        for name in ("token", "access_token", "key"):
            assert client.get("/v1/me", params={name: secret}).status_code == 401
        assert client.get(f"/login?token={secret}").text.count(secret) == 0


# Signing out


def test_signing_out_takes_the_sessions_word_and_forgets_the_cookie(place: Place) -> None:
    with place.browser() as client:
        assert client.post("/logout").status_code == 403
        assert client.get("/v1/me").status_code == 200
        answer = client.post("/logout", data={"csrf": place.csrf(client)})
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
        assert 'thymus_session=""' in answer.headers["set-cookie"]
        assert client.get("/v1/me").status_code == 401
        assert client.post("/logout").status_code == 303


def test_roles_are_those_of_the_token_for_a_browser_too(place: Place) -> None:
    fill(place.guard, "zephyr")
    with place.browser(role=Role.AUDITOR) as client:
        headers = {"x-csrf-token": place.csrf(client)}
        assert client.get("/v1/memories").status_code == 403
        assert client.post("/v1/sources/revoke", json={"source": MAIL}, headers=headers).status_code == 403
        assert client.get("/v1/ledger").status_code == 200
