"""Signing in to Anthropic without a key: what its library finds by itself is enough to open a model."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from providers import serving

from thymus.llm import ModelError
from thymus.llm.asking import AskingModel
from thymus.llm.names import open_backend

pytest.importorskip("pydantic_ai")


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like that of ``ant auth login``, which Anthropic's library looks for in the environment itself."""
    for name in list(os.environ):
        if name.startswith("ANTHROPIC_"):
            monkeypatch.delenv(name)
    for name, value in (
        ("configs/default.json", {"version": "1.0", "authentication": {"type": "user_oauth"}}),
        ("credentials/default.json", {"version": "1.0", "type": "oauth_token", "access_token": "token-of-ant"}),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(json.dumps(value))
        (tmp_path / name).chmod(0o600)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    return tmp_path


def test_a_profile_of_ant_serves_where_there_is_no_key(profile: Path) -> None:
    with serving("Hello.") as server:
        known = {"ANTHROPIC_CONFIG_DIR": str(profile), "ANTHROPIC_BASE_URL": server.url}
        model = AskingModel(open_backend("anthropic:claude-haiku-5-5", known))
        assert model.ask("", "Hi", str, prompt_version="1").value == "Hello."
        model.close()
    headers = server.sent[0].headers
    assert (headers["authorization"], headers.get("x-api-key")) == ("Bearer token-of-ant", None)


def test_a_broken_profile_says_how_to_sign_in_again(profile: Path) -> None:
    (profile / "credentials" / "default.json").unlink()
    with serving("Hello.") as server:
        known = {"ANTHROPIC_CONFIG_DIR": str(profile), "ANTHROPIC_BASE_URL": server.url}
        model = AskingModel(open_backend("anthropic:claude-haiku-5-5", known))
        with pytest.raises(ModelError, match=r"cannot sign in .*run `ant auth login`"):
            model.ask("", "Hi", str, prompt_version="1")
        model.close()
    assert server.sent == []


@pytest.mark.parametrize(
    "known",
    [
        {"ANTHROPIC_AUTH_TOKEN": "t"},
        {"ANTHROPIC_PROFILE": "work"},
        {
            "ANTHROPIC_FEDERATION_RULE_ID": "r",
            "ANTHROPIC_ORGANIZATION_ID": "o",
            "ANTHROPIC_IDENTITY_TOKEN_FILE": "f",
        },
    ],
)
def test_other_credentials_of_anthropic_need_no_key(known: dict[str, str]) -> None:
    open_backend("anthropic:m", known).close()


def test_without_any_the_error_names_both_ways(tmp_path: Path) -> None:
    half = {"ANTHROPIC_FEDERATION_RULE_ID": "r", "HOME": str(tmp_path), "ANTHROPIC_API_KEY": ""}
    with pytest.raises(ModelError, match=r"set ANTHROPIC_API_KEY, sign in with `ant auth login`"):
        open_backend("anthropic:m", half)
