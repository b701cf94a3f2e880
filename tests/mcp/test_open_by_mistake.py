"""A server that others can reach asks who they are: what would open it by mistake is refused before it listens."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp_types import ElicitResult
from typer.testing import CliRunner

from thymus import MemoryGuard
from thymus.access.listening import check_listening
from thymus.access.tokens import Tokens
from thymus.errors import ConfigError
from thymus.mcp.callers import only
from thymus.mcp.program import app
from thymus.mcp.server import build_server


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(("hosts", "origins"), [(["memory.example"], []), ([], ["https://app.example"])])
def test_who_names_other_hosts_or_origins_needs_a_token(tmp_path: Path, hosts: list[str], origins: list[str]) -> None:
    """Behind a reverse proxy a server on loopback is reached by everybody."""
    tokens = Tokens(tmp_path / "memory.db.tokens")
    with pytest.raises(ConfigError, match="thymus token new"):
        check_listening("127.0.0.1", tokens, hosts, origins)
    tokens.issue("asha", "laptop")
    check_listening("127.0.0.1", tokens, hosts, origins)


def test_a_file_of_tokens_that_was_named_and_is_not_there_is_an_error(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["--http", "--db", str(tmp_path / "memory.db"), "--tokens", str(tmp_path / "memory.db.token")]
    )
    assert isinstance(done.exception, ConfigError)
    assert "there is no file of tokens" in str(done.exception)


@pytest.mark.parametrize("option", [["--port", "8400"], ["--host", "0.0.0.0"]])
def test_where_to_listen_is_for_http(tmp_path: Path, option: list[str]) -> None:
    done = CliRunner().invoke(app, ["--db", str(tmp_path / "memory.db"), *option])
    assert isinstance(done.exception, ConfigError)
    assert "--http" in str(done.exception)


@pytest.mark.anyio
async def test_nobody_is_vouched_for_where_anybody_may_call() -> None:
    """Over HTTP without tokens whoever calls answers their own question: no yes of theirs is the user's."""
    guard = MemoryGuard(embedder="hash", judge="typed")
    asked: list[str] = []

    async def yes(_: object, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"confirm": True})

    for vouched_for, sources in ((False, {"assistant"}), (True, {"user"})):
        server = build_server(guard.for_user(str(vouched_for)), whose=only(vouched_for=vouched_for))
        async with Client(server, elicitation_callback=yes) as client:  # type: ignore[arg-type]
            await client.call_tool("remember", {"text": "My rent is 900 euros.", "said_by_user": True})
        with contextlib.closing(guard.for_user(str(vouched_for))) as mine:
            found = mine.memories(status=None)
        assert {memory.source.channel for memory in found} == sources
    assert len(asked) == 1
