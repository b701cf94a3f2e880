"""A server that others can reach asks who they are: what would open it by mistake is refused before it listens."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from thymus.errors import ConfigError
from thymus.mcp.listening import check_listening
from thymus.mcp.program import app
from thymus.mcp.tokens import Tokens


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
