"""What every answer carries, what is refused before anything is done, and that logs and numbers hold nobody's words."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from starlette.testclient import TestClient
from web_helpers import FREE, MAIL, Place, fill, in_memory, routes

from thymus.access.limits import Limits, Rate
from thymus.access.listening import bind, transport_security
from thymus.access.tokens import Role
from thymus.errors import StoreError
from thymus.web import observing
from thymus.web.logs import JsonLines
from thymus.web.observing import Observing
from thymus.web.safety import CSP, HEADERS, SafeHeaders, Safety

SLOW = Rate(per_second=0.001, burst=3)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = in_memory(tmp_path)
    yield made
    made.guard.close()


def fail(*_: object, **__: object) -> None:
    raise RuntimeError("My zephyr standup is at 9:15.")


# Headers


def test_every_answer_carries_the_headers(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(place.guard), "sources", fail)
    with place.client() as client:
        answers = [
            client.get(path)
            for path in ("/", "/login", "/v1/me", "/v1/sources", "/nothing", "/healthz", "/openapi.json")
        ]
        answers += [client.put("/v1/me"), client.post("/v1/memories", content=b"x" * 2_000_000)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 500, 404, 200, 200, 405, 413]
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert "strict-transport-security" not in answer.headers
        assert "server" not in answer.headers
    for directive in ("default-src 'none'", "script-src 'self'", "form-action 'self'", "frame-ancestors 'none'"):
        assert directive in CSP
    assert "unsafe" not in CSP


def test_no_other_site_is_told_anything(place: Place) -> None:
    with place.client() as client:
        for headers in (
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"origin": "http://testserver.evil.example"},
        ):
            answer = client.get("/v1/me", headers=headers)
            assert answer.status_code == 403
            assert not [name for name in answer.headers if name.startswith("access-control")]
        assert client.get("/v1/me", headers={"origin": "http://testserver"}).status_code == 200
        own = {"origin": "null", "sec-fetch-site": "same-origin"}
        assert client.get("/v1/me", headers=own).status_code == 200


def test_a_site_that_was_named_may_call_with_a_token(tmp_path: Path) -> None:
    place = in_memory(tmp_path, options={"origins": ["https://app.example"]})
    named = {"origin": "https://app.example"}
    with place.client() as client:
        assert client.get("/v1/me", headers=named).headers["access-control-allow-origin"] == "https://app.example"
        asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
        answer = client.options("/v1/memories", headers=named | asked)
        assert (answer.status_code, "access-control-allow-credentials" in answer.headers) == (200, False)
        assert client.get("/v1/me", headers={"origin": "https://evil.example"}).status_code == 403


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("memory.example", 200),
        ("MEMORY.example:443", 200),
        ("127.0.0.1:8321", 200),
        ("localhost", 200),
        ("[::1]:8321", 200),
        ("evil.example", 421),
        ("memory.example.evil.example", 421),
        ("127.0.0.1.evil.example:80", 421),
        ("", 421),
    ],
)
def test_only_names_of_ours_are_answered_to(tmp_path: Path, host: str, status: int) -> None:
    """A page at a name that its owner points to this machine (DNS rebinding) gets nothing."""
    security = transport_security("127.0.0.1", ["memory.example"], [])
    place = in_memory(tmp_path, options={"hosts": security.allowed_hosts})
    with place.client() as client:
        for path in ("/v1/me", "/login", "/healthz"):
            assert client.get(path, headers={"host": host}).status_code == status


# Sizes and times


async def exchange(
    app: Any, messages: list[dict[str, Any]], secret: str, *, headers: dict[str, str] | None = None, stay: bool = False
) -> tuple[int, int]:
    """Send the parts of a body by hand; the status of the answer, and how many parts were taken."""
    sent: list[dict[str, Any]] = []
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        if taken < len(messages):
            taken += 1
            return messages[taken - 1]
        if stay:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    given = {"authorization": f"Bearer {secret}", "content-type": "application/json", "host": "x"} | (headers or {})
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/v1/recall",
        "raw_path": b"/v1/recall",
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "client": ("192.0.2.7", 1),
        "server": ("x", 80),
    }
    await app(scope, receive, send)
    return next((message["status"] for message in sent if message["type"] == "http.response.start"), 0), taken


def part(body: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_body_is_read_to_its_limit_whatever_its_head_says(tmp_path: Path) -> None:
    place = in_memory(tmp_path, limits=Limits(body=1_000))
    secret = place.secret("asha")

    def status(parts: list[dict[str, Any]], **headers: str) -> tuple[int, int]:
        return asyncio.run(
            exchange(place.app, parts, secret, headers={n.replace("_", "-"): v for n, v in headers.items()})
        )

    whole = [part(b'{"question": '), part(b'"When?"}', more=False)]
    assert status(whole) == (200, 2)
    assert status([part(b"x" * 400)] * 9) == (413, 3)
    assert status(whole, content_length="1001") == (413, 0)
    for wrong in ("-1", "x", "", "9" * 5_000, "٣"):
        assert status(whole, content_length=wrong) == (413, 0)
    assert status([part(b'{"question"')]) == (0, 1)  # the client went away: nobody is there to be answered


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    place = in_memory(tmp_path, limits=Limits(body_s=0.05))
    got = asyncio.run(exchange(place.app, [part(b'{"question"')], place.secret("asha"), stay=True))
    assert got == (408, 1)


def test_nothing_of_a_strangers_body_is_worked_on(place: Place) -> None:
    huge = [part(b"[" * 100_000)] * 3 + [part(b"", more=False)]
    assert asyncio.run(exchange(place.app, huge, "thy_nobody")) == (401, 0)


def test_so_many_requests_at_once_of_one_caller(tmp_path: Path) -> None:
    place = in_memory(tmp_path, limits=Limits(at_once_each=1))
    seen: list[int] = []

    async def both() -> None:
        waiting = asyncio.Event()

        async def receive() -> dict[str, Any]:
            seen.append((await exchange(place.app, [part(b"{}", more=False)], place.secret("asha")))[0])
            seen.append((await exchange(place.app, [part(b"{}", more=False)], place.secret("ravi")))[0])
            waiting.set()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            raise AssertionError(message)

        headers = [(b"authorization", f"Bearer {place.secret('asha')}".encode()), (b"host", b"x")]
        scope = {"type": "http", "method": "POST", "path": "/v1/recall", "headers": headers, "query_string": b""}
        await place.app(scope | {"client": ("192.0.2.7", 1), "scheme": "http", "server": ("x", 80)}, receive, send)
        assert waiting.is_set()

    asyncio.run(both())
    assert seen == [503, 422]


# Rates


def test_each_token_has_a_rate_of_its_own(tmp_path: Path) -> None:
    place = in_memory(tmp_path, limits=Limits(requests=SLOW))
    with place.client() as asha, place.client("ravi") as ravi:
        answers = [asha.get("/v1/me") for _ in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
        assert answers[3].headers["retry-after"] == "1000"
        assert ravi.get("/v1/me").status_code == 200


def test_an_invented_token_or_cookie_is_no_new_caller(tmp_path: Path) -> None:
    """Who shows nothing valid shares one rate with the address, whatever it makes up."""
    place = in_memory(tmp_path, limits=Limits(requests=SLOW))
    with place.client(None) as client:
        shown = [{"authorization": f"Bearer thy_aaaaaaaa_{n:064x}"} for n in range(4)]
        shown += [{"cookie": f"thymus_session={n}"} for n in range(4)]
        assert [client.get("/healthz", headers=one).status_code for one in shown] == [200] * 3 + [429] * 5
    with place.client() as asha:
        assert asha.get("/v1/me").status_code == 200


def test_failed_attempts_never_keep_out_whoever_has_a_token(tmp_path: Path) -> None:
    place = in_memory(tmp_path, limits=Limits(requests=FREE.requests, failures=SLOW))
    with place.client(None) as client:
        statuses = [client.post("/login", data={"token": "x"}).status_code for _ in range(5)]
        assert statuses == [401, 401, 401, 429, 429]
        assert client.get("/v1/me").status_code == 429
        last = client.post("/login", data={"token": "x"})
        assert last.headers["retry-after"] == "1000"
        assert client.post("/login", data={"token": place.secret("asha")}).status_code == 303
        assert client.get("/v1/me").status_code == 200


def test_tokens_that_cannot_be_read_let_nobody_in(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise StoreError("/secret/path is open to others")

    with place.client() as client, place.client(None) as stranger:
        monkeypatch.setattr(type(place.tokens), "check", gone)
        answer = client.get("/v1/me")
        assert (answer.status_code, "secret" in answer.text) == (503, False)
        assert stranger.post("/login", data={"token": place.secret("asha")}).status_code == 503
        assert stranger.get("/healthz").status_code == 200


# What is told of it


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the service logs, all of it."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    log = logging.getLogger("thymus")
    before = (root.handlers, log.handlers, log.propagate, log.level)
    root.handlers, log.handlers, log.propagate = [handler], [], True
    log.setLevel(logging.DEBUG)
    yield written
    root.handlers, log.handlers, log.propagate, _ = before
    log.setLevel(before[3])


def test_logs_and_numbers_hold_nobodys_words_and_no_secret(
    place: Place, lines: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, held = fill(place.guard, "zephyr")
    with place.browser() as browser, place.client() as client, place.client(None) as stranger:
        secret = place.secret("asha")
        cookie = next(iter(browser.cookies.jar)).value or ""
        client.post("/v1/memories", json={"text": "My zephyr is blue.", "source": "email:zephyr@zephyr.example"})
        client.post("/v1/recall", json={"question": "zephyr"})
        client.get(f"/v1/memories/{known}?zephyr=zephyr", headers={"user-agent": "zephyr", "referer": "zephyr"})
        client.get("/zephyr/zephyr?q=zephyr")
        client.get("/v1/memories/zephyr")
        client.request("ZEPHYR", "/v1/me")
        client.post("/v1/memories", json={"zephyr": "zephyr"})
        client.post("/v1/memories", content=b"zephyr", headers={"content-type": "application/json"})
        stranger.post("/login", data={"token": "zephyr"})
        browser.post(f"/inbox/{held}/reject", data={"csrf": place.csrf(browser)})
        monkeypatch.setattr(type(place.guard), "inbox", fail)
        assert client.get("/v1/inbox").status_code == 500
        numbers = place.app.state.metrics.page().decode()
    logged = lines.getvalue()
    for told in (logged, numbers):
        for word in (
            "zephyr",
            "standup",
            "9:15",
            MAIL,
            known,
            held,
            secret,
            secret[13:30],
            cookie,
            cookie.split(".")[0],
        ):
            assert word.lower() not in told.lower()
    assert "asha" not in numbers
    each = [json.loads(line) for line in logged.splitlines()]
    answered = [line for line in each if line["message"] == "answered"]
    assert {line["route"] for line in answered} >= {"/v1/memories/{memory_id}", "(none)", "/login", "/v1/recall"}
    token, _ = place.issued["asha", Role.OWNER]
    assert {line.get("token") for line in answered} == {token.id, None}
    assert {line["method"] for line in answered} == {"GET", "POST", "OTHER"}
    [failed] = [line for line in each if "error" in line]
    assert (failed["level"], failed["error"], failed["trace"][-1].endswith(" fail")) == ("error", "RuntimeError", True)
    assert 'thymus_messages_total{effect="admitted"} 1.0' in numbers
    assert 'method="OTHER",route="/v1/me",status="405"' in numbers


def test_what_other_packages_log_is_told_by_its_place(lines: io.StringIO) -> None:
    logging.getLogger("mcp.server").warning("zephyr %s", "zephyr")
    logging.getLogger("uvicorn.error").error("Exception in ASGI application")
    first, second = (json.loads(line) for line in lines.getvalue().splitlines())
    assert "zephyr" not in json.dumps(first)
    assert first["where"].startswith("test_web_safety:")
    assert second["message"] == "Exception in ASGI application"


class Span:
    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name, self.options = name, options
        self.told: dict[str, object] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update_name(self, name: str) -> None:
        self.name = name

    def set_attribute(self, name: str, value: object) -> None:
        self.told[name] = value


def test_a_span_names_the_route_and_nothing_that_was_said(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    spans: list[Span] = []

    class Tracer:
        def start_as_current_span(self, name: str, **options: Any) -> Span:
            spans.append(Span(name, options))
            return spans[-1]

    monkeypatch.setattr(observing, "_tracer", Tracer())
    monkeypatch.setattr(type(place.guard), "inbox", fail)
    with place.client() as client:
        client.get("/v1/memories/m_0123456789abcdef?zephyr")
        client.get("/v1/inbox")
    first, second = spans
    assert (first.name, second.name) == ("GET /v1/memories/{memory_id}", "GET /v1/inbox")
    expected = {"http.request.method": "GET", "http.route": "/v1/inbox", "http.response.status_code": 500}
    assert second.told == expected
    assert second.options == {"record_exception": False, "set_status_on_exception": False}


def test_the_frameworks_own_telemetry_is_off(place: Place) -> None:
    """It would put the texts of errors into spans and logs."""
    assert not place.app._native_telemetry.enabled()


def test_the_numbers_are_for_this_machine_and_for_auditors_of_who_runs_it(place: Place) -> None:
    def status(user: str | None, role: Role, **headers: str) -> int:
        with place.client(user, role) as client:
            return client.get("/metrics", headers={n.replace("_", "-"): v for n, v in headers.items()}).status_code

    assert status(None, Role.OWNER) == 401
    assert {(u, r): status(u, r) for u in ("asha", "ravi") for r in Role} == {
        ("asha", Role.OWNER): 403,
        ("asha", Role.REVIEWER): 403,
        ("asha", Role.AUDITOR): 200,
        ("ravi", Role.OWNER): 403,
        ("ravi", Role.REVIEWER): 403,
        ("ravi", Role.AUDITOR): 403,
    }
    with TestClient(place.app, client=("127.0.0.1", 1)) as local:
        assert local.get("/metrics").headers["content-type"].startswith("text/plain")
        for name in ("x-forwarded-for", "forwarded", "via", "x-real-ip"):
            assert local.get("/metrics", headers={name: "192.0.2.7"}).status_code == 401


def test_no_route_is_without_a_layer(place: Place) -> None:
    layers: list[Any] = [one.cls for one in place.app.user_middleware]
    assert layers == [SafeHeaders, Observing, Safety]
    assert ("GET", "/v1/me") in routes(place.app)


def test_an_answer_does_not_wait_for_the_client_to_acknowledge_its_headers() -> None:
    """It took 40 ms of every call: asyncio leaves Nagle's algorithm on where a socket does not name its protocol."""
    with (
        bind("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
