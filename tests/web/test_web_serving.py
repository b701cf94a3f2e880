"""``thymus serve`` itself: what it refuses, how it starts and ends, and several workers over one database."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from thymus import MemoryGuard
from thymus.access.tokens import Role, Tokens, open_tokens
from thymus.cli import serving
from thymus.cli.program import app
from thymus.config import Settings
from thymus.conversation import UNKNOWN
from thymus.errors import ConfigError
from thymus.mcp.callers import Caller
from thymus.mcp.conversation import Conversations
from thymus.web.serving import Service, build, serve

sys.path.append(str(Path(__file__).parent.parent / "stores"))

posix = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")


@contextmanager
def program(*args: str, **more: str) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, which never outlives the block."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("THYMUS_")} | more
    command = [sys.executable, "-m", "thymus.cli", "serve", "--port", "0", *args]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as running:
        try:
            yield running
        finally:
            running.kill()


def started(running: subprocess.Popen[str]) -> tuple[str, list[str]]:
    """The URL at which it serves, and the lines before that one."""
    assert running.stdout is not None
    before: list[str] = []
    while line := running.stdout.readline():
        if line.startswith("Thymus is at "):
            return line.split()[3], before
        before.append(line.strip())
    assert running.stderr is not None
    raise AssertionError(running.stderr.read())


def ended(running: subprocess.Popen[str], how: signal.Signals = signal.SIGTERM) -> list[dict[str, Any]]:
    """What it logged, after it was told to end and did so well."""
    running.send_signal(how)
    _, logged = running.communicate(timeout=60)
    assert running.returncode == 0, logged
    return [json.loads(line) for line in logged.splitlines()]


def answering(running: subprocess.Popen[str]) -> int:
    """The process that answered next, from the log."""
    assert running.stderr is not None
    while line := running.stderr.readline():
        if (told := json.loads(line))["message"] == "answered":
            return int(told["process"])
    raise AssertionError("it ended")


def http(secret: str | None) -> httpx2.Client:
    return httpx2.Client(headers={"authorization": f"Bearer {secret}"} if secret else {}, timeout=30)


def call_of_tool(base: str, secret: str, tool: str, **arguments: Any) -> httpx2.Response:
    """One call of MCP's, in the protocol of 2026."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    }
    headers = {
        "Authorization": f"Bearer {secret}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return httpx2.post(f"{base}/mcp", json=body, headers=headers, timeout=30)


# One process


@posix
def test_it_serves_the_api_the_inbox_and_mcp_and_ends(tmp_path: Path) -> None:
    db = str(tmp_path / "memory.db")
    with program("--db", db, "--user", "asha") as running:
        base, before = started(running)
        [told, secret] = before
        assert f"{base}/login" in told
        assert httpx2.get(f"{base}/healthz").json() == {"status": "ok"}
        assert httpx2.get(f"{base}/v1/me").status_code == 401
        with http(secret) as asha:
            assert asha.get(f"{base}/v1/me").json()["user"] == "asha"
            assert asha.post(f"{base}/v1/memories", json={"text": "My standup is at 9:15."}).status_code == 201
            assert "9:15" in asha.post(f"{base}/v1/recall", json={"question": "When is my standup?"}).json()["context"]
        with httpx2.Client(timeout=30) as browser:
            signed_in = browser.post(f"{base}/login", data={"token": secret}, headers={"origin": base})
            assert signed_in.headers["location"] == "/"
            assert "Inbox" in browser.get(f"{base}/").text
            assert "9:15" in browser.get(f"{base}/memories?q=standup").text  # whose query no log repeats
        assert "9:15" in call_of_tool(base, secret, "recall", question="When is my standup?").text
        assert httpx2.get(f"{base}/v1/me", headers={"host": "evil.example"}).status_code == 421
        assert 'route="/v1/recall"' in httpx2.get(f"{base}/metrics").text
        logged = ended(running)
    said = json.dumps(logged)
    for word in ("9:15", "standup", secret, secret.split("_")[2]):
        assert word not in said
    assert {line["route"] for line in logged if line["message"] == "answered"} >= {"/v1/memories", "/login", "/mcp"}
    assert "listening" in {line["message"] for line in logged}
    with program("--db", db, "--user", "asha") as running:
        base, before = started(running)
        assert before == []  # the first token was shown once
        with http(secret) as asha:
            assert len(asha.get(f"{base}/v1/memories").json()["memories"]) == 1
        ended(running, signal.SIGINT)


@posix
def test_mcp_is_for_owners(tmp_path: Path) -> None:
    db = str(tmp_path / "memory.db")
    tokens = Tokens(f"{db}.tokens")
    secrets = {role: tokens.issue("asha", role, role=role)[1] for role in Role}
    _, of_acme = tokens.issue("asha", "x", tenant="acme")
    with program("--db", db) as running:
        base, _ = started(running)
        statuses = {role: call_of_tool(base, secret, "inbox").status_code for role, secret in secrets.items()}
        assert statuses == {Role.OWNER: 200, Role.REVIEWER: 401, Role.AUDITOR: 401}
        with http(secrets[Role.OWNER]) as asha:
            asha.post(f"{base}/v1/memories", json={"text": "My standup is at 9:15."})
        assert "9:15" in call_of_tool(base, secrets[Role.OWNER], "recall", question="When is my standup?").text
        assert "9:15" not in call_of_tool(base, of_acme, "recall", question="When is my standup?").text
        ended(running)


@posix
def test_what_is_under_way_is_finished_before_it_ends(tmp_path: Path) -> None:
    db = str(tmp_path / "memory.db")
    _, secret = Tokens(f"{db}.tokens").issue("asha", "laptop")
    body = b'{"text": "My standup is at 9:15."}'
    head = (
        "POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {secret}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with program("--db", db) as running:
        base, _ = started(running)
        port = int(base.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as slow:
            slow.sendall(head.encode() + body[:10])
            assert httpx2.get(f"{base}/healthz").status_code == 200
            running.terminate()
            assert running.stderr is not None
            while "Shutting down" not in running.stderr.readline():
                pass
            slow.sendall(body[10:])
            answer = slow.recv(100_000)
        assert answer.startswith(b"HTTP/1.1 201 ")
        assert running.wait(60) == 0
    with MemoryGuard(db, user_id="asha") as guard:
        assert [memory.text for memory in guard.memories()] == ["My standup is at 9:15."]


# What it refuses


def refusal(*args: str) -> str:
    done = CliRunner().invoke(app, ["serve", "--port", "0", *args])
    assert done.exit_code == 2, done.output
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


def test_it_is_never_open_to_strangers(tmp_path: Path) -> None:
    db = str(tmp_path / "memory.db")
    for opening in (
        ["--host", "0.0.0.0"],
        ["--allow-host", "memory.example"],
        ["--allow-origin", "https://app.example"],
    ):
        assert "thymus token new" in refusal("--db", db, *opening)
        assert not Path(f"{db}.tokens").exists()
    token, _ = Tokens(f"{db}.tokens").issue("asha", "laptop")
    assert "--allow-host" in refusal("--db", db, "--host", "0.0.0.0")
    assert "bare name" in refusal("--db", db, "--allow-host", "https://memory.example")
    Tokens(f"{db}.tokens").revoke(token.id)
    assert "thymus token new" in refusal("--db", db, "--host", "192.0.2.7")


def test_what_cannot_be_served_says_what_would_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = str(tmp_path / "memory.db")
    assert "PostgreSQL" in refusal("--db", db, "--workers", "2")
    assert "1 to 64" in refusal("--db", "postgresql://x/y", "--workers", "65")
    assert "there is no file of tokens" in refusal("--db", db, "--tokens", str(tmp_path / "nowhere"))
    assert "--tokens" in refusal("--db", ":memory:")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "cannot listen" in refusal("--db", db, "--port", str(taken.getsockname()[1]))
    assert not Path(f"{db}.tokens").exists()  # a token that nobody was shown would be lost
    found = importlib.util.find_spec
    for missing in serving.NEEDED:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name, _of=missing: None if name == _of else found(name))
        assert "pip install 'thymus-memory[server]'" in refusal("--db", db)


def test_the_command_line_and_the_library_load_nothing_of_it() -> None:
    code = "import sys, thymus, thymus.cli.program; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert set() == {"fastapi", "uvicorn", "starlette", "jinja2", "mcp", "prometheus_client"} & set(done.stdout.split())


# Several workers


def test_with_several_workers_a_conversation_may_have_read_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What entered it is known to another worker: so what a model writes there derives from something unknown."""
    tokens = Tokens(tmp_path / "tokens")
    tokens.issue("asha", "laptop")
    guard = MemoryGuard(None, embedder="hash", judge="typed")
    begun: list[Any] = []

    def noting(whose: MemoryGuard, *, before: Any) -> Conversations:
        begun.append(before)
        return Conversations(whose, before=before)

    monkeypatch.setattr("thymus.web.serving.Conversations", noting)
    for workers in (1, 2):
        build(Service(settings=Settings(db="postgresql://x/y"), workers=workers), guard, tokens, lambda: False)
    assert begun == [(), (UNKNOWN,)]
    talk = Conversations(guard, before=(UNKNOWN,)).of(Caller(user="asha", conversation="x"))
    [memory] = talk.write("My dentist is Dr Ellis.").memories
    assert [source.key for source in memory.lineage] == [UNKNOWN.key]


@posix
@pytest.mark.xdist_group("postgres")
def test_two_workers_serve_one_database(tmp_path: Path) -> None:
    from postgres_helpers import database

    url = database(tmp_path)
    with program("--workers", "2", "--user", "asha", THYMUS_DB=url) as running:
        base, [_, secret] = started(running)
        answered_by: set[int] = set()
        for _ in range(500):  # until each of them has taken a connection
            httpx2.get(f"{base}/v1/me", headers={"authorization": f"Bearer {secret}"}, timeout=30)
            answered_by.add(answering(running))
            if len(answered_by) == 2:
                break
        assert len(answered_by) == 2
        with httpx2.Client(timeout=30) as browser:
            assert browser.post(f"{base}/login", data={"token": secret}).status_code == 303
            session = browser.cookies["thymus_session"]
        for number in range(12):  # each on a connection of its own, which any worker may take
            with http(secret) as asha:
                made = asha.post(f"{base}/v1/memories", json={"text": f"My locker {number} opens with 44{number:02}."})
                assert made.status_code == 201
            cookie = {"cookie": f"thymus_session={session}"}
            assert httpx2.get(f"{base}/v1/me", headers=cookie, timeout=30).json()["user"] == "asha"
            assert call_of_tool(base, secret, "inbox").status_code == 200
        with http(secret) as asha:
            assert len(asha.get(f"{base}/v1/memories").json()["memories"]) == 12
        numbers = httpx2.get(f"{base}/metrics").text
        assert 'thymus_messages_total{effect="admitted"} 12.0' in numbers
        tokens = open_tokens(url)
        [token] = tokens.all()
        tokens.revoke(token.id)
        for _ in range(6):
            assert httpx2.get(f"{base}/v1/me", headers={"authorization": f"Bearer {secret}"}).status_code == 401
        logged = ended(running)
        tokens.close()
    assert "locker" not in json.dumps(logged)
    with MemoryGuard(url, user_id="asha") as guard:
        assert guard.verify().ok


@posix
@pytest.mark.xdist_group("postgres")
def test_a_worker_that_dies_is_replaced_and_none_outlives_the_first_process(tmp_path: Path) -> None:
    from postgres_helpers import database

    with program("--workers", "2", THYMUS_DB=database(tmp_path)) as running:
        base, [_, secret] = started(running)
        with http(secret) as asha:
            asha.get(f"{base}/v1/me")
        assert running.stderr is not None
        os.kill(answering(running), signal.SIGKILL)
        while json.loads(running.stderr.readline())["message"] != "a worker died and is replaced":
            pass
        started_anew = json.loads(running.stderr.readline())
        assert started_anew["message"].startswith("Started server process")
        for _ in range(4):
            with http(secret) as asha:
                assert asha.get(f"{base}/v1/me").status_code == 200
        running.kill()
        assert running.wait(30) == -signal.SIGKILL
        for line in running.stderr:  # until the last worker has closed it
            assert "error" not in json.loads(line)
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{base}/healthz")


def test_a_service_takes_a_database_for_several_workers() -> None:
    for db in ("memory.db", "memory.json", ":memory:"):
        with pytest.raises(ConfigError, match="several workers"):
            serve(Service(settings=Settings(db=db), workers=2), first=print, ready=print)
