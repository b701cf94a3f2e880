"""The memory itself over HTTP: no user reads, settles or erases what is another's, in either era of the protocol."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from http_helpers import ERAS, call, client_of, listening, post, wait_for
from mcp.client import Client

from thymus import MemoryGuard
from thymus.access.tokens import Tokens
from thymus.mcp.http import build_app
from thymus.mcp.server import build_server

RAVIS = "My locker at the station opens with the word zephyr."
HELD = "Your locker at the station opens with the word monsoon."


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryGuard]:
    with MemoryGuard(tmp_path_factory.mktemp("memory") / "memory.db", judge="typed") as guard:
        yield guard


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    return Tokens(tmp_path_factory.mktemp("tokens") / "tokens")


@pytest.fixture(scope="module")
def base(guard: MemoryGuard, tokens: Tokens) -> Iterator[str]:
    tokens.issue("nobody", "x")
    with listening(build_app(partial(build_server, guard), tokens=tokens)) as found:
        yield found


@pytest.fixture(scope="module")
def asha(tokens: Tokens) -> str:
    return tokens.issue("asha", "laptop")[1]


@pytest.fixture(scope="module")
def ravis_ids(guard: MemoryGuard) -> tuple[str, str]:
    """Of a memory of his, and of a claim that waits for his decision."""
    his = guard.for_user("ravi")
    [known] = his.remember(RAVIS).memories
    [held] = his.remember(HELD, source="email:noreply@lockers.example", hold=True).memories
    return known.id, held.id


async def outcome(client: Client, tool: str, **arguments: Any) -> str:
    """What a call is answered with, whether as a result or as an error."""
    try:
        return str((await client.call_tool(tool, arguments)).model_dump_json())
    except Exception as error:  # noqa: BLE001  (every answer is looked at)
        return f"error {error}"


@pytest.mark.parametrize("mode", ERAS)
def test_another_users_id_is_as_good_as_an_invented_one(
    base: str, guard: MemoryGuard, asha: str, ravis_ids: tuple[str, str], mode: str
) -> None:
    his = guard.for_user("ravi")
    before = his.export()

    acts: list[tuple[str, dict[str, bool]]]
    acts = [("history", {}), ("forget", {}), ("resolve", {"accept": True}), ("resolve", {"accept": False})]

    async def pry() -> None:
        async with client_of(base, asha, mode) as client:
            for id_ in ravis_ids:
                invented = f"m_{'0' * 16}"
                for tool, arguments in acts:
                    found = await outcome(client, tool, memory_id=id_, **arguments)
                    assert found == (await outcome(client, tool, memory_id=invented, **arguments)).replace(
                        invented, id_
                    )
                    assert "zephyr" not in found
                    assert "monsoon" not in found
                with pytest.raises(Exception, match=r".") as caught:
                    await client.read_resource(f"memory://memories/{id_}")
                assert "zephyr" not in str(caught.value)
            for uri in ("memory://memories", "memory://inbox"):
                assert "locker" not in (await client.read_resource(uri)).model_dump_json()
            asked: dict[str, dict[str, str]] = {"recall": {"question": RAVIS}, "inbox": {}, "sources": {}}
            for tool, question in asked.items():
                found = await outcome(client, tool, **question)
                assert '"is_error":true' not in found
                assert not {"zephyr", "monsoon", "lockers"} & set(found.replace(".", " ").replace('"', " ").split())

    anyio.run(pry)
    assert his.export() == before


@pytest.mark.parametrize("mode", ERAS)
def test_what_the_user_confirms_is_kept_for_the_user_of_the_token(
    base: str, guard: MemoryGuard, tokens: Tokens, mode: str
) -> None:
    user = f"mira-{mode}"
    _, secret = tokens.issue(user, "laptop")

    async def talk() -> None:
        async with client_of(base, secret, mode, yes=True) as client:
            told = await client.call_tool("remember", {"text": "My dentist is Dr Okafor.", "said_by_user": True})
            assert not told.is_error, told

    anyio.run(talk)
    [kept] = guard.for_user(user).memories(status=None)
    assert "Okafor" in kept.text
    assert [] == guard.for_user("asha").memories(status=None) == guard.memories(status=None)


def test_a_user_named_by_the_request_is_not_believed(base: str, asha: str, ravis_ids: tuple[str, str]) -> None:
    body = call("history", {"memory_id": ravis_ids[0], "user": "ravi", "user_id": "ravi"})
    body["params"]["_meta"]["user"] = "ravi"
    headers = {"X-User": "ravi", "X-Forwarded-User": "ravi", "Mcp-Session-Id": "ravi"}
    assert "zephyr" not in post(base, asha, body, "history", **headers).text


# The program


@contextmanager
def program(*args: str, **more: str) -> Iterator[subprocess.Popen[str]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("THYMUS_")} | more
    command = [sys.executable, "-m", "thymus.mcp", "--http", *args]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as running:
        try:
            yield running
        finally:
            running.kill()


def test_the_program_refuses_strangers_and_says_what_would_do(tmp_path: Path) -> None:
    with program("--db", str(tmp_path / "memory.db"), "--port", "0", "--host", "0.0.0.0") as refused:
        _, said = refused.communicate(timeout=30)
    assert (refused.returncode, "thymus token new" in said, len(said.splitlines())) == (2, True, 1), said


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_the_program_serves_and_ends(tmp_path: Path) -> None:
    _, secret = Tokens(tmp_path / "memory.db.tokens").issue("asha", "laptop")
    with program("--db", str(tmp_path / "memory.db"), "--port", "0") as running:
        assert running.stderr is not None
        line = running.stderr.readline()
        base = f"http://{line.split('http://')[1].strip()}".removesuffix("/mcp")
        wait_for(lambda: httpx2.get(f"{base}/healthz", timeout=5).status_code == 200)
        assert post(base, None).status_code == 401
        assert post(base, secret, call("inbox"), "inbox").status_code == 200
        running.terminate()
        assert running.wait(20) == 0
        rest = running.stderr.read()
    assert "Traceback" not in rest
    assert secret not in line + rest
