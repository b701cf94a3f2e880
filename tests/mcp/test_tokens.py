"""Bearer tokens: what opens and what does not, who may touch the file, and that no process undoes another's work."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from thymus.access.token_file import PATH, TokenFile
from thymus.access.tokens import USED_EVERY, Token, Tokens, tokens_path
from thymus.cli.program import app
from thymus.errors import ConfigError, InputError, SchemaError, StoreCorruptError, StoreError, StoreFullError

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
posix = pytest.mark.skipif(os.name != "posix", reason="file modes and owners are POSIX's")


class Watch:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def tokens(tmp_path: Path, watch: Watch) -> Tokens:
    return Tokens(tmp_path / "memory.db.tokens", clock=watch)


# What opens


def test_a_secret_opens_its_users_memory_and_no_other_does(tokens: Tokens) -> None:
    asha, hers = tokens.issue("asha", "laptop")
    ravi, his = tokens.issue("ravi", "phone")
    assert (tokens.check(hers).user, tokens.check(his).user) == ("asha", "ravi")  # type: ignore[union-attr]
    swapped = f"thy_{asha.id}_{his.split('_')[2]}"
    assert (tokens.check(swapped), tokens.check(f"thy_{ravi.id}_{'0' * 64}")) == (None, None)


def test_a_secret_has_256_random_bits_and_tells_its_id(tokens: Tokens) -> None:
    secrets = {tokens.issue("asha", "laptop") for _ in range(50)}
    assert len({secret.split("_")[2] for _, secret in secrets}) == 50
    for token, secret in secrets:
        assert re.fullmatch(rf"thy_{token.id}_[0-9a-f]{{64}}", secret)


def test_no_secret_is_kept(tokens: Tokens) -> None:
    token, secret = tokens.issue("asha", "laptop")
    kept = tokens.path.read_bytes()
    assert token.id.encode() in kept
    assert secret.encode() not in kept
    assert secret.split("_")[2].encode() not in kept
    assert bytes.fromhex(secret.split("_")[2]) not in kept


@given(st.text(max_size=100) | st.from_regex(r"thy_[a-z2-7]{8}_[0-9a-f]{60,64}", fullmatch=True))
def test_what_is_no_secret_opens_nothing(tmp_path: Path, given: str) -> None:
    tokens = Tokens(tmp_path / "tokens")
    if not tokens.exist():
        tokens.issue("asha", "laptop")
    assert tokens.check(given) is None


@pytest.mark.parametrize(
    "change", [str.upper, lambda s: s + " ", lambda s: s + "\n", lambda s: s[:-1], lambda s: s * 9]
)
def test_a_secret_counts_to_the_letter(tokens: Tokens, change: Callable[[str], str]) -> None:
    assert tokens.check(change(tokens.issue("asha", "laptop")[1])) is None


def test_an_expired_token_opens_nothing(tokens: Tokens, watch: Watch) -> None:
    _, secret = tokens.issue("asha", "laptop", NOON + timedelta(hours=1))
    watch.now = NOON + timedelta(minutes=59, seconds=59)
    assert tokens.check(secret)
    watch.now = NOON + timedelta(hours=1)
    assert tokens.check(secret) is None
    assert tokens.all()[0].state(watch.now) == "expired"


def test_a_revoked_token_opens_nothing_and_stays_in_the_list(tokens: Tokens, watch: Watch) -> None:
    token, secret = tokens.issue("asha", "laptop")
    other, others = tokens.issue("asha", "phone")
    assert tokens.check(secret)
    elsewhere = Tokens(tokens.path)
    assert elsewhere.revoke(token.id).state(NOON) == "revoked"
    assert tokens.check(secret) is None
    assert tokens.check(others)
    assert [token.id, other.id] == [found.id for found in tokens.all()]


def test_revoking_again_changes_nothing_and_a_leaked_secret_names_its_token(tokens: Tokens, watch: Watch) -> None:
    _, secret = tokens.issue("asha", "laptop")
    first = tokens.revoke(secret)
    watch.now += timedelta(days=1)
    assert first == tokens.revoke(first.id)
    assert first.revoked == NOON


@pytest.mark.parametrize("unknown", ["k7vq2mzd", "", "thy_", "thy_k7vq2mzd_" + "0" * 64, "%", "'; --", "\ud800"])
def test_revoking_what_is_not_there_says_so_without_a_secret(tokens: Tokens, unknown: str) -> None:
    for _ in range(2):
        with pytest.raises(InputError, match="thymus token list") as caught:
            tokens.revoke(unknown)
        assert "0" * 64 not in str(caught.value)
        tokens.issue("asha", "laptop")


def test_when_it_was_last_used_is_noted_coarsely(tokens: Tokens, watch: Watch) -> None:
    _, secret = tokens.issue("asha", "laptop")
    assert tokens.all()[0].last_used is None
    tokens.check(secret)
    assert tokens.all()[0].last_used == NOON
    changed = tokens.path.stat().st_mtime_ns
    watch.now += USED_EVERY - timedelta(seconds=1)
    tokens.check(secret)
    assert (NOON, changed) == (tokens.all()[0].last_used, tokens.path.stat().st_mtime_ns)
    watch.now += timedelta(seconds=1)
    tokens.check(secret)
    assert tokens.all()[0].last_used == watch.now


def test_a_wrong_secret_is_no_use(tokens: Tokens) -> None:
    token, _ = tokens.issue("asha", "laptop")
    tokens.check(f"thy_{token.id}_{'0' * 64}")
    assert tokens.all()[0].last_used is None


@pytest.mark.parametrize(
    "bad", ["", "  ", "a\nb", "a\x00", "a\x1b[31m", "x" * 201, "\ud800", "a\u202eb", "a\u200bb", None, 7]
)
def test_names_can_be_shown(tokens: Tokens, bad: Any) -> None:
    with pytest.raises(InputError, match="visible"):
        tokens.issue(bad, "laptop")
    with pytest.raises(InputError, match="visible"):
        tokens.issue("asha", bad)
    assert not tokens.exist()
    assert tokens.issue(" Zoë 日本 ", "x")[0].user == "Zoë 日本"


def test_a_token_that_would_open_nothing_is_not_made(tokens: Tokens) -> None:
    for past in (NOON, NOON - timedelta(days=1), NOON.replace(tzinfo=None)):
        with pytest.raises(InputError, match="a time to come"):
            tokens.issue("asha", "laptop", past)


def test_many_tokens_are_as_quick_as_few(tokens: Tokens) -> None:
    _, secret = tokens.issue("asha", "laptop")
    with closing(sqlite3.connect(tokens.path)) as connection, connection:
        rows = ((f"{n:08d}", bytes(32), f"user{n}", "x", 0) for n in range(20_000))
        connection.executemany("INSERT INTO tokens (id, digest, user, name, created) VALUES (?, ?, ?, ?, ?)", rows)
    assert tokens.check(secret)
    assert len(tokens.all()) == 20_001
    with closing(sqlite3.connect(tokens.path)) as connection:
        [plan] = connection.execute("EXPLAIN QUERY PLAN SELECT * FROM tokens WHERE id = 'a'").fetchall()
    assert "SEARCH" in plan[3]


# The file


def test_nobody_comes_in_where_no_token_was_made(tokens: Tokens) -> None:
    assert not tokens.exist()
    assert tokens.check(f"thy_k7vq2mzd_{'0' * 64}") is None
    assert (tokens.get("k7vq2mzd"), tokens.all()) == (None, [])
    assert not tokens.path.exists()  # looking makes no file


def test_a_file_that_was_deleted_lets_nobody_in(tokens: Tokens) -> None:
    _, secret = tokens.issue("asha", "laptop")
    assert tokens.check(secret)
    tokens.path.unlink()
    assert tokens.check(secret) is None
    _, new = tokens.issue("asha", "laptop")
    assert (tokens.check(secret) is None, tokens.check(new) is not None) == (True, True)


@posix
def test_the_file_is_for_its_owner_alone_whatever_the_umask(tokens: Tokens) -> None:
    before = os.umask(0)
    try:
        tokens.issue("asha", "laptop")
    finally:
        os.umask(before)
    assert stat.S_IMODE(tokens.path.stat().st_mode) == 0o600


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o666, 0o777])
def test_a_file_that_others_may_use_is_refused_from_then_on(tokens: Tokens, mode: int) -> None:
    _, secret = tokens.issue("asha", "laptop")
    tokens.path.chmod(mode)
    for act in (
        lambda: tokens.check(secret),
        tokens.all,
        lambda: tokens.issue("a", "b"),
        lambda: tokens.revoke(secret),
    ):
        with pytest.raises(StoreError, match="chmod 600"):
            act()
    tokens.path.chmod(0o600)
    assert tokens.check(secret)


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_account_is_refused(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret = tokens.issue("asha", "laptop")
    monkeypatch.setattr(os, "geteuid", lambda: 1_234)
    with pytest.raises(StoreError, match="another account"):
        tokens.check(secret)


def test_what_is_no_file_of_tokens_is_left_alone(tmp_path: Path) -> None:
    memory = tmp_path / "memory.db"
    with closing(sqlite3.connect(memory)) as connection, connection:
        connection.execute("CREATE TABLE beliefs (text)")
    text = tmp_path / "notes.txt"
    text.write_text("This is a note and no database. " * 9)
    for path in (memory, text):
        path.chmod(0o600)
        before = path.read_bytes()
        with pytest.raises(StoreCorruptError):
            Tokens(path).issue("asha", "laptop")
        with pytest.raises(StoreCorruptError):
            Tokens(path).all()
        assert before == path.read_bytes()
    for wrong in (tmp_path, tmp_path / "nowhere" / "tokens", tmp_path / "a\0b"):
        with pytest.raises(StoreError):
            Tokens(wrong).issue("asha", "laptop")


def test_a_newer_file_is_refused(tokens: Tokens) -> None:
    tokens.issue("asha", "laptop")
    with closing(sqlite3.connect(tokens.path)) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(SchemaError, match="upgrade"):
        tokens.all()


def test_a_full_disk_makes_no_token_and_locks_nobody_out(
    tokens: Tokens, watch: Watch, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _, secret = tokens.issue("asha", "laptop")
    opened = TokenFile._open

    def full(self: TokenFile, wait_s: float) -> sqlite3.Connection:
        connection = opened(self, wait_s)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(TokenFile, "_open", full)
    with pytest.raises(StoreFullError, match="free some space"):
        _issue_some(tokens.path, "x" * 200, 200)
    made = tokens.all()
    assert made[0].name == "laptop"
    assert tokens.check(secret)

    def broken(self: TokenFile, wait_s: float) -> sqlite3.Connection:
        connection = opened(self, wait_s)
        connection.execute("PRAGMA query_only = 1")
        return connection

    monkeypatch.setattr(TokenFile, "_open", broken)
    watch.now += USED_EVERY * 2
    assert tokens.check(secret)
    assert "could not be noted" in caplog.text
    assert secret not in caplog.text


def test_a_file_that_is_held_does_not_keep_readers_waiting_for_a_note(tokens: Tokens, watch: Watch) -> None:
    _, secret = tokens.issue("asha", "laptop")
    with closing(sqlite3.connect(tokens.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert tokens.check(secret)
        other.execute("ROLLBACK")
    assert tokens.all()[0].last_used is None


def _issue_some(path: Path, user: str, number: int) -> None:
    tokens = Tokens(path)
    for at in range(number):
        token, secret = tokens.issue(user, f"n{at}")
        assert tokens.check(secret)
        if at % 2:
            tokens.revoke(token.id)


def test_processes_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_issue_some, args=(path, f"user{n}", 12)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    found = Tokens(path).all()
    assert {f"user{n}": 12 for n in range(4)} == {u: sum(t.user == u for t in found) for u in {t.user for t in found}}
    assert sum(token.revoked is not None for token in found) == 24


def test_where_the_tokens_of_a_memory_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PATH, raising=False)
    assert Path("data/memory.db.tokens") == tokens_path("data/memory.db")
    for nowhere in (":memory:", "postgresql://db/thymus"):
        with pytest.raises(ConfigError, match="--tokens"):
            tokens_path(nowhere)
        assert Path("t") == tokens_path(nowhere, "t")
    monkeypatch.setenv(PATH, "of-the-environment")
    assert Path("of-the-environment") == tokens_path("memory.db")
    assert Path("t") == tokens_path("memory.db", "t")


def test_they_need_neither_mcp_nor_numpy() -> None:
    code = "import sys, thymus.access.tokens; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert set() == {"mcp", "numpy", "uvicorn", "starlette", "pydantic", "rich"} & set(done.stdout.split())


# The command


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    for name in (PATH, "THYMUS_USER", "THYMUS_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("THYMUS_DB", str(tmp_path / "memory.db"))

    def run(*args: str, code: int = 0) -> Result:
        done = CliRunner().invoke(app, ["token", *args])
        assert (code, done.exit_code) == (done.exit_code, code), done.output
        return done

    return run


def test_a_new_token_prints_its_secret_once(cli: Callable[..., Result], tmp_path: Path) -> None:
    made = cli("new", "--user", "asha", "--name", "laptop")
    secret = made.stdout.strip()
    assert made.stdout == f"{secret}\n"
    assert secret not in made.stderr
    token = Tokens(tmp_path / "memory.db.tokens").check(secret)
    assert token is not None
    assert (token.user, token.name, token.expires) == ("asha", "laptop", None)
    shown = cli("list").stdout
    assert token.id in shown
    assert secret.split("_")[2][:8] not in shown + cli("list", "--json").stdout


@pytest.mark.parametrize(("given", "days"), [("90d", 90), ("2w", 14), ("1y", 365), ("48h", 2)])
def test_a_token_expires_when_it_was_told_to(cli: Callable[..., Result], given: str, days: int) -> None:
    made = json.loads(cli("new", "--name", "x", "--expires", given, "--json").stdout)
    left = datetime.fromisoformat(made["expires"]) - datetime.now(UTC)
    assert days * 86_400 - 60 < left.total_seconds() <= days * 86_400


@pytest.mark.parametrize("bad", ["soon", "0d", "-1d", "90", "9999y", "2020-01-01", "", "90d90d", "٩d"])
def test_a_time_that_means_nothing_is_refused(cli: Callable[..., Result], bad: str, tmp_path: Path) -> None:
    assert "thymus: " in cli("new", "--name", "x", f"--expires={bad}", code=2).stderr
    assert not (tmp_path / "memory.db.tokens").exists()


def test_list_and_revoke(cli: Callable[..., Result]) -> None:
    assert "thymus token new" in cli("list").stdout
    assert json.loads(cli("list", "--json").stdout) == []
    made = json.loads(cli("new", "--name", "laptop", "--json").stdout)
    assert json.loads(cli("revoke", made["id"], "--json").stdout)["state"] == "revoked"
    [listed] = json.loads(cli("list", "--json").stdout)
    expected = set(Token.__slots__) | {"state"}
    assert (made["id"], "revoked", expected) == (listed["id"], listed["state"], set(listed))
    assert "opens nothing any more" in cli("revoke", made["secret"]).stdout
    assert "thymus token list" in cli("revoke", "zzzzzzzz", code=2).stderr
    assert "revoked" in cli("list").stdout


def test_the_tokens_file_may_be_elsewhere(cli: Callable[..., Result], tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    cli("new", "--name", "laptop", "--tokens", str(elsewhere))
    assert len(Tokens(elsewhere).all()) == 1
    assert "--tokens" in cli("list", "--db", ":memory:", code=2).stderr
