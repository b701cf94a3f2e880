"""Tokens with a tenant and a role, the key beside them, and the same in PostgreSQL for servers on several machines."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thymus.access.token_file import PATH
from thymus.access.tokens import Role, Tokens, open_tokens
from thymus.cli.program import app
from thymus.errors import ConfigError, InputError, MissingExtraError, StoreError

sys.path.append(str(Path(__file__).parent.parent / "stores"))

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
VERSION_1 = """
CREATE TABLE tokens (
    id TEXT PRIMARY KEY, digest BLOB NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,
    created INTEGER NOT NULL, expires INTEGER, revoked INTEGER, used INTEGER
) STRICT;
PRAGMA application_id = 0x7468796D;
PRAGMA user_version = 1;
"""


@pytest.fixture
def file(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "tokens", clock=lambda: NOON)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tokens]:
    from postgres_helpers import database

    from thymus.access.token_table import TokenTable

    monkeypatch.delenv(PATH, raising=False)
    tokens = Tokens(TokenTable(database(tmp_path)), clock=lambda: NOON)
    yield tokens
    tokens.close()


in_postgres = pytest.mark.xdist_group("postgres")
both = pytest.mark.parametrize("kept", ["file", pytest.param("table", marks=in_postgres)])


# What holds wherever they are kept


@both
def test_a_token_says_whose_memory_it_opens_and_in_which_role(request: pytest.FixtureRequest, kept: str) -> None:
    tokens: Tokens = request.getfixturevalue(kept)
    assert (tokens.exist(), tokens.all(), tokens.get("aaaaaaaa")) == (False, [], None)
    _, plain = tokens.issue("asha", "laptop")
    _, audit = tokens.issue("asha", "audit", tenant="acme", role="auditor")
    found = tokens.check(plain), tokens.check(audit)
    assert [(t.tenant, t.user, t.role) for t in found if t] == [
        ("default", "asha", Role.OWNER),
        ("acme", "asha", Role.AUDITOR),
    ]
    assert tokens.exist()
    assert [token.name for token in tokens.all()] == ["laptop", "audit"]
    assert tokens.check(plain[:-1] + ("0" if plain[-1] != "0" else "1")) is None


@both
def test_an_id_finds_what_opens_something_now(request: pytest.FixtureRequest, kept: str) -> None:
    tokens: Tokens = request.getfixturevalue(kept)
    token, _ = tokens.issue("asha", "laptop", NOON + timedelta(hours=1))
    other, _ = tokens.issue("asha", "phone")
    found = tokens.find(token.id)
    assert found is not None
    assert (found.id, found.last_used, found.expires) == (token.id, None, NOON + timedelta(hours=1))
    assert tokens.all()[0].last_used == NOON
    assert tokens.revoke(token.id).revoked == NOON
    assert tokens.revoke(token.id).revoked == NOON
    assert (tokens.find(token.id), tokens.find(other.id) is not None) == (None, True)
    for unknown in ("", "x", "zzzzzzzz", "'; --", "\ud800"):
        assert tokens.find(unknown) is None
    with pytest.raises(InputError, match="thymus token list"):
        tokens.revoke("zzzzzzzz")


@both
def test_the_key_is_made_once(request: pytest.FixtureRequest, kept: str) -> None:
    tokens: Tokens = request.getfixturevalue(kept)
    tokens.issue("asha", "laptop")
    assert len(tokens.key()) == 32
    assert tokens.key() == tokens.key() == Tokens(tokens._book).key()


@in_postgres
def test_closed_tokens_stay_closed(table: Tokens) -> None:
    """A connection opened after that would never be closed."""
    table.issue("asha", "laptop")
    table.close()
    table.close()
    with pytest.raises(StoreError, match="open them again"):
        table.all()


@both
@pytest.mark.parametrize(("tenant", "role"), [("", "owner"), ("a\nb", "owner"), ("x", "admin"), ("x", "")])
def test_a_tenant_that_cannot_be_shown_and_a_role_that_is_none(
    request: pytest.FixtureRequest, kept: str, tenant: str, role: str
) -> None:
    tokens: Tokens = request.getfixturevalue(kept)
    with pytest.raises(InputError):
        tokens.issue("asha", "laptop", tenant=tenant, role=role)
    assert tokens.all() == []


# In a file


def test_a_file_of_version_1_is_read_as_it_is_and_brought_up_to_date_by_the_next_write(
    tmp_path: Path, file: Tokens
) -> None:
    _, secret = file.issue("asha", "laptop")
    with closing(sqlite3.connect(file.path)) as made:
        row = made.execute("SELECT id, digest, user, name, created FROM tokens").fetchone()
    old = Tokens(tmp_path / "old", clock=lambda: NOON)
    with closing(sqlite3.connect(old.path)) as connection, connection:
        connection.executescript(VERSION_1)
        connection.execute("INSERT INTO tokens (id, digest, user, name, created) VALUES (?, ?, ?, ?, ?)", row)
    old.path.chmod(0o400)
    [found] = old.all()
    assert (found.tenant, found.role, found.user) == ("default", Role.OWNER, "asha")
    old.path.chmod(0o600)
    assert old.check(secret) is not None
    assert len(old.key()) == 32
    old.issue("ravi", "phone", role=Role.REVIEWER)
    assert [(token.user, token.role) for token in old.all()] == [("asha", Role.OWNER), ("ravi", Role.REVIEWER)]
    with closing(sqlite3.connect(old.path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_role_that_nobody_knows_opens_nothing(file: Tokens) -> None:
    _, secret = file.issue("asha", "laptop")
    with closing(sqlite3.connect(file.path)) as connection, connection:
        connection.execute("UPDATE tokens SET role = 'emperor'")
    with pytest.raises(InputError):
        file.check(secret)


def test_the_command_makes_and_lists_roles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PATH, raising=False)
    monkeypatch.setenv("THYMUS_DB", str(tmp_path / "memory.db"))

    def run(*args: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["token", *args])
        assert done.exit_code == code, done.output
        return done.output

    made = json.loads(run("new", "--user", "asha", "--name", "x", "--role", "Auditor", "--tenant", "acme", "--json"))
    assert (made["tenant"], made["user"], made["role"]) == ("acme", "asha", "auditor")
    assert "as reviewer" in run("new", "--user", "ravi", "--name", "x", "--role", "reviewer")
    shown = run("list")
    assert "acme/asha" in shown
    assert "reviewer" in shown
    assert "owner, reviewer, auditor" in run("new", "--name", "x", "--role", "admin", code=2)


# In PostgreSQL


def test_where_tokens_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from thymus.access.token_table import TokenTable

    monkeypatch.delenv(PATH, raising=False)
    assert open_tokens(str(tmp_path / "memory.db")).path == tmp_path / "memory.db.tokens"
    assert isinstance(open_tokens("postgresql://db.example/agents")._book, TokenTable)
    assert open_tokens("postgresql://db.example/agents", tmp_path / "t").path == tmp_path / "t"
    monkeypatch.setenv(PATH, str(tmp_path / "named"))
    assert open_tokens("postgresql://db.example/agents").path == tmp_path / "named"
    monkeypatch.delenv(PATH)
    with pytest.raises(ConfigError, match="--tokens"):
        open_tokens(":memory:")
    with pytest.raises(ConfigError, match="database"):
        _ = open_tokens("postgresql://db.example/agents").path


def test_a_database_that_is_not_there_lets_nobody_in() -> None:
    with pytest.raises(StoreError):
        open_tokens("postgresql://127.0.0.1:1/agents?connect_timeout=2").all()
    with pytest.raises(ConfigError):
        open_tokens("postgresql://host/db?nonsense=1").all()


def test_without_the_driver_the_error_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg_pool", None)
    with pytest.raises(MissingExtraError, match=r"thymus-memory\[postgres\]"):
        open_tokens("postgresql://127.0.0.1:1/agents")._book.rows()


@in_postgres
def test_the_roles_of_memories_see_no_token(table: Tokens, tmp_path: Path) -> None:
    from postgres_helpers import admin, database
    from psycopg import errors

    table.issue("asha", "laptop")
    table.key()
    with admin(database(tmp_path)) as connection:
        for role in ("thymus_app", "thymus_audit"):
            connection.execute(f"SET ROLE {role}".encode())
            for query in (
                "SELECT * FROM thymus.tokens",
                "SELECT * FROM thymus.keys",
                "UPDATE thymus.tokens SET revoked = NULL",
                "INSERT INTO thymus.keys VALUES ('cookies', 'x')",
                "DELETE FROM thymus.tokens",
            ):
                with pytest.raises(errors.InsufficientPrivilege):
                    connection.execute(query.encode())
            connection.execute(b"RESET ROLE")


@in_postgres
def test_a_database_of_version_1_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from postgres_helpers import admin, database

    from thymus import MemoryGuard
    from thymus.stores.postgres import schema

    url = database(tmp_path)
    migrations = schema.MIGRATIONS
    monkeypatch.setattr(schema, "MIGRATIONS", migrations[:1])
    MemoryGuard(url, judge="typed").close()
    with admin(url) as connection:
        connection.execute(
            "INSERT INTO thymus.scopes (tenant, owner, version, beliefs, hash) VALUES ('t', 'o', 0, 0, '')"
        )
    monkeypatch.setattr(schema, "MIGRATIONS", migrations)
    monkeypatch.delenv(PATH, raising=False)
    tokens = open_tokens(url)
    _, secret = tokens.issue("asha", "laptop")
    assert tokens.check(secret) is not None
    with MemoryGuard(url, judge="typed") as guard:
        guard.remember("My standup is at 9:15.")
        assert [memory.text for memory in guard.memories()] == ["My standup is at 9:15."]
    with admin(url) as connection:
        version = connection.execute("SELECT value FROM thymus.settings WHERE name = 'version'").fetchone()
        kept = connection.execute("SELECT count(*) FROM thymus.scopes").fetchone()
    assert (version, kept) == ((str(len(migrations)),), (2,))
    tokens.close()


@in_postgres
def test_a_connection_that_was_lost_is_made_anew(table: Tokens, tmp_path: Path) -> None:
    from postgres_helpers import admin, database

    _, secret = table.issue("asha", "laptop")
    with admin(database(tmp_path)) as connection:
        connection.execute(
            b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'thymus tokens' "
            b"AND datname = current_database()"
        )
    found = table.check(secret)
    assert found is not None
    assert found.user == "asha"
