"""The memory over HTTP: who comes in, how often, how it ends: with the real client, and with rubbish."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from http_helpers import ERAS, LEGACY, call, client_of, headers_for, post, said, tiny, tiny_at, wait_for

from thymus.access.limits import Limits, Rate
from thymus.access.listening import check_listening
from thymus.access.tokens import Token, Tokens
from thymus.errors import ConfigError, InputError
from thymus.mcp import http
from thymus.mcp.door import Door

PLENTY = Rate(per_second=1_000, burst=1_000)
OPEN = Limits(requests=PLENTY, sessions=PLENTY, failures=PLENTY)
KEY = "k" * 40


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    return Tokens(tmp_path_factory.mktemp("http") / "tokens")


@pytest.fixture
def asha(tokens: Tokens) -> tuple[Token, str]:
    return tokens.issue("asha", "laptop")


@pytest.fixture(scope="module")
def base(tokens: Tokens) -> Iterator[str]:
    """One server for all tests that need no limits of their own."""
    with tiny_at(tokens, OPEN) as found:
        yield found


@pytest.fixture
def none_yet(tmp_path: Path) -> Tokens:
    """Where no token was ever made."""
    return Tokens(tmp_path / "tokens")


def initialize(base: str, secret: str | None) -> httpx2.Response:
    """The first request of the older protocol."""
    info = {"name": "raw", "version": "1"}
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    headers = headers_for(secret, **{"MCP-Protocol-Version": LEGACY})
    return httpx2.post(f"{base}/mcp", json=body, headers=headers, timeout=10)


# Who comes in


@pytest.mark.parametrize("mode", ERAS)
def test_the_real_client_is_known_by_its_token(base: str, asha: tuple[Token, str], mode: str) -> None:
    async def talk() -> tuple[str, str]:
        async with client_of(base, asha[1], mode) as client:
            return said(await client.call_tool("whoami", {})), said(await client.call_tool("ask", {}))

    assert anyio.run(talk) == (f"asha {asha[0].id} ['memory']", "accept True")


@pytest.mark.parametrize("mode", ERAS)
def test_many_users_at_once_are_never_taken_for_each_other(base: str, tokens: Tokens, mode: str) -> None:
    issued = [tokens.issue(f"user{n}", "x") for n in range(8)]

    async def one(token: Token, secret: str) -> None:
        async with client_of(base, secret, mode) as client:
            for _ in range(5):
                assert said(await client.call_tool("whoami", {})) == f"{token.user} {token.id} ['memory']"

    async def all_of_them() -> None:
        async with anyio.create_task_group() as group:
            for token, secret in issued:
                group.start_soon(one, token, secret)

    anyio.run(all_of_them)


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer x", "Basic YTpi", "Bearer thy_", "bearer\tx", "Bearer " + "x" * 9_000]
)
def test_without_a_valid_token_nobody_comes_in(base: str, header: str) -> None:
    refused = post(base, None, Authorization=header) if header else post(base, None)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer ")
    assert "resource_metadata" not in refused.headers["www-authenticate"]


def test_expired_revoked_and_invented_tokens_look_the_same(base: str, tokens: Tokens, asha: tuple[Token, str]) -> None:
    soon, expired = tokens.issue("asha", "old", datetime.now(UTC) + timedelta(seconds=1))
    gone, revoked = tokens.issue("asha", "lost")
    tokens.revoke(gone.id)
    wait_for(lambda: soon.state(datetime.now(UTC)) == "expired")
    answers = [post(base, secret) for secret in (expired, revoked, f"thy_{asha[0].id}_{'0' * 64}", "nonsense")]
    assert {(401, answers[0].text)} == {(answer.status_code, answer.text) for answer in answers}
    assert post(base, asha[1]).status_code == 200


@pytest.mark.parametrize("mode", ERAS)
def test_a_token_revoked_by_another_process_ends_the_session(
    base: str, tokens: Tokens, asha: tuple[Token, str], mode: str
) -> None:
    def revoke_elsewhere() -> None:
        command = [sys.executable, "-m", "thymus.cli", "token", "revoke", asha[0].id, "--tokens", str(tokens.path)]
        subprocess.run(command, check=True, capture_output=True, timeout=30)

    async def talk() -> None:
        async with client_of(base, asha[1], mode) as client:
            assert said(await client.call_tool("whoami", {})).startswith("asha")
            await anyio.to_thread.run_sync(revoke_elsewhere)
            with pytest.raises(Exception, match=r".") as caught:
                await client.call_tool("whoami", {})
            assert "asha" not in str(caught.value)

    anyio.run(talk)


def test_a_session_belongs_to_the_token_that_opened_it(base: str, tokens: Tokens, asha: tuple[Token, str]) -> None:
    _, ravis = tokens.issue("ravi", "phone")
    _, other_of_asha = tokens.issue("asha", "phone")
    session = initialize(base, asha[1]).headers["mcp-session-id"]
    same = {"MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": session}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert post(base, asha[1], body, **same).status_code == 200
    assert [post(base, secret, body, **same).status_code for secret in (ravis, other_of_asha)] == [404, 404]
    assert post(base, None, body, **same).status_code == 401


def test_what_a_revoked_token_began_is_cut(base: str, tokens: Tokens, asha: tuple[Token, str]) -> None:
    session = initialize(base, asha[1]).headers["mcp-session-id"]
    listening = {"Authorization": f"Bearer {asha[1]}", "Accept": "text/event-stream", "Mcp-Session-Id": session}
    with (
        ThreadPoolExecutor(1) as pool,
        httpx2.stream("GET", f"{base}/mcp", headers=listening, timeout=10) as stream,
    ):
        assert stream.status_code == 200
        slow = pool.submit(post, base, asha[1], call("slow", {"seconds": 30}), "slow")
        time.sleep(0.3)
        begun = time.monotonic()
        tokens.revoke(asha[0].id)
        assert b"".join(stream.iter_bytes()) == b""  # ends, and well formed
        assert slow.result(10).status_code == 401
        assert time.monotonic() - begun < 5


def test_tokens_that_cannot_be_read_let_nobody_in(none_yet: Tokens, caplog: pytest.LogCaptureFixture) -> None:
    _, secret = none_yet.issue("asha", "laptop")
    with tiny_at(none_yet, OPEN) as base:
        assert post(base, secret).status_code == 200
        if os.name == "posix":
            none_yet.path.chmod(0o644)
            assert post(base, secret).status_code == 401
            assert "chmod 600" in caplog.text
        none_yet.path.unlink()
        assert post(base, secret).status_code == 401
    assert secret.split("_")[2] not in caplog.text


def test_with_many_tokens_it_is_as_quick(tokens: Tokens, base: str, asha: tuple[Token, str]) -> None:
    rows = ((f"{n:08d}", bytes(32), f"user{n}", "x", 0) for n in range(20_000))
    with closing(sqlite3.connect(tokens.path)) as connection, connection:
        connection.executemany("INSERT INTO tokens (id, digest, user, name, created) VALUES (?, ?, ?, ?, ?)", rows)
    took = []
    with httpx2.Client(timeout=10) as http:
        for _ in range(20):
            begun = time.perf_counter()
            assert http.post(f"{base}/mcp", json=call(), headers=headers_for(asha[1])).status_code == 200
            took.append(time.perf_counter() - begun)
    assert min(took) < 0.1  # the least: what else the machine does only adds to it


# From where


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example:1", "", "[::2]:1"]
)
def test_a_name_that_is_not_ours_is_refused(base: str, asha: tuple[Token, str], host: str) -> None:
    assert post(base, asha[1], Host=host).status_code == 421


def test_loopbacks_own_names_are_ours(base: str, asha: tuple[Token, str]) -> None:
    for host in ("127.0.0.1", "localhost", "localhost:8321", "[::1]:8321"):
        assert post(base, asha[1], Host=host).status_code == 200, host


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:8000", "http://localhost"])
def test_no_web_page_is_answered(base: str, asha: tuple[Token, str], origin: str) -> None:
    assert post(base, asha[1], Origin=origin).status_code == 403


def test_a_page_and_a_name_that_were_named_are_answered(tokens: Tokens, asha: tuple[Token, str]) -> None:
    named: dict[str, Any] = {"allowed_hosts": ["Memory.example"], "allowed_origins": ["https://app.example"]}
    with tiny_at(tokens, OPEN, **named) as base:
        for host in ("memory.example", "memory.example:8443"):
            assert post(base, asha[1], Host=host, Origin="https://app.example").status_code == 200
        assert post(base, asha[1], Host="memory.example", Origin="https://app.example.evil").status_code == 403
        assert post(base, asha[1], Host="memory.example.evil").status_code == 421


def test_without_tokens_a_page_is_refused_all_the_same() -> None:
    with tiny_at(None, OPEN) as base:
        assert "anybody" in post(base, None).text
        assert post(base, None, Host="evil.example").status_code == 421
        assert post(base, None, Origin="http://evil.example").status_code == 403
        as_a_form_does = {**headers_for(None), "Content-Type": "text/plain"}  # for which a page needs no leave
        assert httpx2.post(f"{base}/mcp", json=call(), headers=as_a_form_does, timeout=10).status_code == 400


@pytest.mark.parametrize("wrong", ["*", "https://memory.example", "memory.example:80", "", "a b", "a/b", "*.example"])
def test_a_name_is_a_bare_one(tokens: Tokens, wrong: str) -> None:
    with pytest.raises(ConfigError, match="--allow-host"):
        http.build_app(tiny, tokens=tokens, allowed_hosts=[wrong])


@pytest.mark.parametrize("wrong", ["*", "app.example", "https://app.example/x", "https://*", "null", ""])
def test_an_origin_is_a_whole_one(tokens: Tokens, wrong: str) -> None:
    with pytest.raises(ConfigError, match="--allow-origin"):
        http.build_app(tiny, tokens=tokens, allowed_origins=[wrong])


# How much and how fast


def test_a_body_is_limited(tokens: Tokens, asha: tuple[Token, str]) -> None:
    with tiny_at(tokens, Limits(body=2_000)) as base:
        assert post(base, asha[1], call("whoami", {"x": "y" * 1_000})).status_code == 200
        assert post(base, asha[1], call("whoami", {"x": "y" * 2_000})).status_code == 413
        in_pieces = httpx2.post(f"{base}/mcp", content=iter([b" " * 500] * 9), headers=headers_for(asha[1]), timeout=10)
        assert in_pieces.status_code == 413
        assert post(base, None, b"y" * 3_000).status_code == 401  # nothing is read for strangers


def raw(base: str, text: bytes) -> socket.socket:
    """A connection on which that was sent."""
    host, port = base.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=10)
    connection.sendall(text)
    return connection


def head(secret: str, length: int) -> bytes:
    lines = [f"{name}: {value}" for name, value in headers_for(secret).items()]
    return "\r\n".join(["POST /mcp HTTP/1.1", "Host: localhost", f"Content-Length: {length}", *lines, "", ""]).encode()


def test_a_body_that_takes_too_long_is_given_up(tokens: Tokens, asha: tuple[Token, str]) -> None:
    with tiny_at(tokens, Limits(body_s=0.6)) as base:
        begun = time.monotonic()
        with raw(base, head(asha[1], 100) + b"{") as connection:
            for _ in range(4):  # a byte now and then does not buy time
                time.sleep(0.1)
                connection.sendall(b" ")
            assert b"408" in connection.recv(100).split(b"\r\n")[0]
        assert 0.4 < time.monotonic() - begun < 3
        assert post(base, asha[1]).status_code == 200


def test_a_client_that_goes_away_leaves_nothing_behind(tokens: Tokens, asha: tuple[Token, str]) -> None:
    with tiny_at(tokens, Limits(at_once=1, at_once_each=1, body_s=5)) as base:
        for _ in range(3):
            raw(base, head(asha[1], 100) + b"{").close()
            wait_for(lambda: post(base, asha[1]).status_code == 200, 3)


RUBBISH = [
    b"",
    b"{",
    b"\x00" * 100,
    b"\xff\xfe",
    b"[]",
    b"[1]",
    b"null",
    b'"x"',
    b"[" * 100_000,
    b'{"a":' * 50_000,
    json.dumps([call()] * 100).encode(),
    b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}',
    json.dumps(call("nothing")).encode(),
    b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"tools/list"}',
]


@pytest.mark.parametrize("body", RUBBISH, ids=lambda body: repr(body[:12]))
def test_rubbish_is_answered_and_harms_nothing(base: str, asha: tuple[Token, str], body: bytes) -> None:
    for version in ({}, {"MCP-Protocol-Version": LEGACY}):
        answer = post(base, asha[1], body, **version)
        assert 400 <= answer.status_code < 600 or "error" in answer.text, answer.text
        assert "Traceback" not in answer.text
    assert post(base, asha[1]).status_code == 200


def test_a_token_has_a_rate_of_its_own(tokens: Tokens, asha: tuple[Token, str]) -> None:
    _, ravis = tokens.issue("ravi", "phone")
    with tiny_at(tokens, Limits(requests=Rate(per_second=0.01, burst=5))) as base:
        answers = [post(base, asha[1]) for _ in range(7)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 2
        slowed = answers[-1]
        assert 90 < int(slowed.headers["retry-after"]) <= 100
        assert "slow down" in slowed.json()["error"]["message"]
        assert post(base, ravis).status_code == 200


def test_sessions_are_opened_at_a_rate_of_their_own(tokens: Tokens, asha: tuple[Token, str]) -> None:
    _, ravis = tokens.issue("ravi", "phone")
    with tiny_at(tokens, Limits(sessions=Rate(per_second=0.01, burst=3))) as base:
        answers = [initialize(base, asha[1]) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        same = {"MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": answers[0].headers["mcp-session-id"]}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        assert post(base, asha[1], body, **same).status_code == 200
        assert [post(base, asha[1]).status_code, initialize(base, ravis).status_code] == [200, 200]


@pytest.mark.parametrize("mode", ERAS)
def test_the_real_client_is_told_to_slow_down(tokens: Tokens, asha: tuple[Token, str], mode: str) -> None:
    async def flood(client: Any) -> None:
        for _ in range(20):
            await client.call_tool("whoami", {})

    async def talk(base: str) -> None:
        async with client_of(base, asha[1], mode) as client:
            with pytest.raises(Exception, match="slow down"):
                await flood(client)

    with tiny_at(tokens, Limits(requests=Rate(per_second=0.01, burst=10))) as base:
        anyio.run(talk, base)


def test_guessing_is_slowed_and_keeps_nobody_out_who_has_a_token(tokens: Tokens, asha: tuple[Token, str]) -> None:
    with tiny_at(tokens, Limits(failures=Rate(per_second=0.01, burst=4))) as base:
        answers = [post(base, f"thy_{asha[0].id}_{n:064x}") for n in range(8)]
        assert [answer.status_code for answer in answers] == [401] * 4 + [429] * 4
        assert 90 < int(answers[-1].headers["retry-after"]) <= 100
        assert post(base, None).status_code == 429
        assert post(base, asha[1]).status_code == 200


def test_without_tokens_an_address_has_a_rate() -> None:
    with tiny_at(None, Limits(requests=Rate(per_second=0.01, burst=3))) as base:
        assert [post(base, None).status_code for _ in range(4)] == [200, 200, 200, 429]


def test_one_caller_cannot_have_all_places(tokens: Tokens, asha: tuple[Token, str]) -> None:
    _, ravis = tokens.issue("ravi", "phone")
    with tiny_at(tokens, Limits(at_once=3, at_once_each=2)) as base, ThreadPoolExecutor(2) as pool:
        slow = [pool.submit(post, base, asha[1], call("slow", {"seconds": 1.5}), "slow") for _ in range(2)]
        time.sleep(0.5)
        refused = post(base, asha[1])
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert post(base, ravis).status_code == 200
        assert [one.result(10).status_code for one in slow] == [200, 200]
        assert post(base, asha[1]).status_code == 200


def test_what_is_over_is_forgotten() -> None:
    door = Door("/mcp", Limits(), tokens=None, now=lambda: datetime.now(UTC), closing=lambda: False)
    under_way: list[int] = []

    async def app(*_: Any) -> None:
        under_way.append(len(door._visits))
        raise KeyError

    async def visit() -> None:
        scope = {"type": "http", "path": "/mcp", "method": "POST", "headers": [], "client": ("192.0.2.7", 1)}
        with pytest.raises(KeyError):
            await door.before(app)(scope, anyio.sleep_forever, anyio.sleep)  # type: ignore[arg-type]

    anyio.run(visit)
    assert (under_way, door._visits) == ([1], set())


def test_health_needs_no_token_and_tells_nothing(base: str, tokens: Tokens) -> None:
    answer = httpx2.get(f"{base}/healthz", headers={"Host": "10.0.0.1"}, timeout=10)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert [
        httpx2.post(f"{base}/healthz", timeout=10).status_code,
        httpx2.get(f"{base}/.well-known/oauth-protected-resource", timeout=10).status_code,
    ] == [405, 404]


# Several workers


class InTurn(httpx2.AsyncBaseTransport):
    """Sends each request to the next worker, as a proxy does."""

    def __init__(self, ports: list[int]) -> None:
        self._ports = cycle(ports)
        self._inner = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(port=next(self._ports))
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("shared", [True, False])
def test_workers_with_the_same_key_are_one_server(
    tokens: Tokens, asha: tuple[Token, str], mode: str, shared: bool
) -> None:
    async def talk(first: str, ports: list[int]) -> None:
        async with client_of(first, asha[1], mode, transport=InTurn(ports)) as client:
            for _ in range(3):
                assert said(await client.call_tool("whoami", {})).startswith("asha")
            if mode == "auto" and shared:
                assert said(await client.call_tool("ask", {})) == "accept True"
            elif mode == "auto":
                with pytest.raises(Exception, match="requestState"):
                    await client.call_tool("ask", {})
            else:  # no session, so nobody to ask
                with pytest.raises(Exception, match="back-channel"):
                    await client.call_tool("ask", {})

    keys = (KEY, KEY) if shared else (KEY, "x" * 40)
    with tiny_at(tokens, OPEN, keys=keys[:1]) as one, tiny_at(tokens, OPEN, keys=keys[1:]) as two:
        anyio.run(talk, one, [int(base.rsplit(":", 1)[1]) for base in (one, two)])


def test_the_shared_key_is_a_secret() -> None:
    assert [] == http.state_keys({}) == http.state_keys({http.STATE_KEY: " , "})
    assert http.state_keys({http.STATE_KEY: f"{KEY}, {'y' * 32},{KEY}"}) == [KEY, "y" * 32]
    with pytest.raises(ConfigError, match="token_hex") as caught:
        http.state_keys({http.STATE_KEY: f"{KEY},hunter2"})
    assert "hunter2" not in str(caught.value)


# Beginning and ending


def test_beyond_this_machine_it_wants_a_token_and_a_name(none_yet: Tokens, caplog: pytest.LogCaptureFixture) -> None:
    for host in ("0.0.0.0", "192.0.2.7", "::", "memory.example", "::ffff:127.0.0.1"):
        with pytest.raises(ConfigError, match="thymus token new"):
            http.serve(tiny, tokens=none_yet, host=host, allowed_hosts=["memory.example"])
    token, _ = none_yet.issue("asha", "laptop")
    for host in ("0.0.0.0", "::"):
        with pytest.raises(ConfigError, match="--allow-host"):
            check_listening(host, none_yet, [])
    assert "TLS" not in caplog.text
    check_listening("0.0.0.0", none_yet, ["memory.example"])
    assert "TLS" in caplog.text
    none_yet.revoke(token.id)
    with pytest.raises(ConfigError, match="thymus token new"):
        check_listening("0.0.0.0", none_yet, ["memory.example"])
    with pytest.raises(InputError, match="every address"):
        check_listening("", none_yet, [])
    for host in ("127.0.0.1", "127.0.0.2", "::1", "localhost"):
        check_listening(host, none_yet, [])


def test_a_port_that_is_taken_says_so(tokens: Tokens) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ConfigError, match="--port"):
        http.serve(tiny, tokens=tokens, port=taken.getsockname()[1])
    for host, port in (("127.0.0.1", 99_999), ("127.0.0.1", -1)):
        with pytest.raises(ConfigError, match="--port"):
            http.serve(tiny, tokens=tokens, host=host, port=port)


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from http_helpers import tiny
from thymus.mcp.http import serve
from thymus.access.limits import Limits
from thymus.access.tokens import Tokens
serve(tiny, tokens=Tokens(sys.argv[2]), port=0, ready=lambda url: print(url, flush=True), limits=Limits(closing_s=9))
print("tidied up", flush=True)
"""


@contextmanager
def run_program(tokens: Tokens) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-W", "error", "-c", PROGRAM, str(Path(__file__).parent), str(tokens.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            yield program
        finally:
            program.kill()


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_when_told_to_end_it_finishes_what_it_began(
    tokens: Tokens, asha: tuple[Token, str], number: signal.Signals
) -> None:
    with run_program(tokens) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        base = program.stdout.readline().strip().removesuffix("/mcp")
        assert base.startswith("http://127.0.0.1:")
        session = initialize(base, asha[1]).headers["mcp-session-id"]
        listening = {"Authorization": f"Bearer {asha[1]}", "Accept": "text/event-stream", "Mcp-Session-Id": session}
        same = {"MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": session}
        with (
            ThreadPoolExecutor(2) as pool,
            httpx2.stream("GET", f"{base}/mcp", headers=listening, timeout=10) as stream,
        ):
            slow = pool.submit(post, base, asha[1], call("slow", {"seconds": 1.5}), "slow")
            older = pool.submit(post, base, asha[1], call("slow", {"seconds": 1.5}), "slow", **same)
            time.sleep(0.8)
            begun = time.monotonic()
            program.send_signal(number)
            assert slow.result(10).json()["result"]["content"][0]["text"] == "done"
            assert '"text":"done"' in older.result(10).text
            assert b"".join(stream.iter_bytes()) == b""
        assert program.wait(10) == 0
        assert time.monotonic() - begun < 6  # the open stream did not use up the time for closing
        assert program.stdout.read() == "tidied up\n"
        assert "Error" not in program.stderr.read()


def test_before_the_first_token_this_machine_is_served_without(none_yet: Tokens) -> None:
    with run_program(none_yet) as program:
        assert program.stdout is not None
        base = program.stdout.readline().strip().removesuffix("/mcp")
        assert "anybody" in post(base, None).text
        program.terminate()
        program.wait(10)


def test_it_can_be_served_from_a_thread(tokens: Tokens, asha: tuple[Token, str]) -> None:
    """Where no signal arrives: the program of a host application."""
    said_ready = threading.Event()
    thread = threading.Thread(
        target=http.serve,
        args=(tiny,),
        kwargs={"tokens": tokens, "port": 0, "ready": lambda _: said_ready.set()},
        daemon=True,
    )
    thread.start()
    assert said_ready.wait(10)
