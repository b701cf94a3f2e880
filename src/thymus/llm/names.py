"""From the name of a model to the model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from thymus.errors import ConfigError
from thymus.llm.asking import ATTEMPTS, DEFAULT_TIMEOUT_S, AskingModel
from thymus.llm.cache import Cache
from thymus.llm.model import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thymus.llm.model import Backend, Completion, Model, Request

ECHO: Final = "echo"
DEFAULT_CACHE: Final = Path(".cache/llm")
OLLAMA_HOST: Final = "http://127.0.0.1:11434"
OTHER_KEY: Final = "THYMUS_LLM_API_KEY"
"""The key for a server that is named by its address: the key of a provider is never sent there."""

_KEYS: Final = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
_PROGRAMS: Final = ("claude-code", "codex")
"""What is installed on this machine and logged in: the model may be left to the account."""
_KNOWN: Final = (
    "anthropic:MODEL, openai:MODEL, openai:MODEL@http://HOST/v1, ollama:MODEL, claude-code, claude-code:MODEL, codex, "
    "codex:MODEL or echo"
)


def open_model(
    name: str,
    *,
    cache: Path | None = DEFAULT_CACHE,
    offline: bool = False,
    timeout: float = DEFAULT_TIMEOUT_S,
    attempts: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> Model:
    """Open a model.

    :param name: ``anthropic:MODEL``, ``openai:MODEL``, ``openai:MODEL@http://HOST/v1`` (any server that speaks OpenAI's
        chat completions), ``ollama:MODEL``, ``claude-code`` and ``codex`` (those programs, on the subscription that
        they are logged in with; also ``claude-code:MODEL``) or ``echo``.
    :param cache: folder that answers are kept in; ``None`` asks anew every time.
    :param offline: answer from the cache alone: needs no key, no extra and no network.
    :param timeout: seconds for one attempt at an answer; up to ``attempts`` (4) are made, with waits between them.
    :param environment: where keys, ``OLLAMA_HOST`` and programs are looked up: that of the process by default. Without
        ``ANTHROPIC_API_KEY``, a profile of ``ant auth login`` and what else Anthropic's library finds there serves.
    :raises ConfigError: for a name that cannot be read.
    :raises ModelError: where a key or a program is missing, or ``offline`` without a cache.
    :raises MissingExtraError: where ``pip install "thymus-memory[llm]"`` is needed.
    """
    environment = os.environ if environment is None else environment
    if offline and cache is None:
        raise ModelError("offline answers come from the cache: name its folder")
    if timeout <= 0:
        raise ConfigError(f"timeout is how many seconds an attempt may take, not {timeout}")
    backend = _Named(name) if offline and _checked(name)[0] != ECHO else open_backend(name, environment)
    return AskingModel(
        backend,
        cache=Cache(cache, read_only=offline) if cache is not None else None,
        offline=offline,
        timeout=timeout,
        attempts=attempts or ATTEMPTS,
    )


def names_model(name: str) -> bool:
    """Whether a name is meant for ``open_model``, be it well formed or not."""
    return name == ECHO or name.partition(":")[0] in (*_KEYS, "ollama", *_PROGRAMS)


def has_list_price(name: str) -> bool:
    """Whether answers of a model can have a list price: not on a server of one's own, nor where a subscription pays."""
    provider, _, address = _checked(name)
    return provider in (*_KEYS, "claude-code", ECHO) and address is None


class _Named:
    """Stands for a model that is never asked."""

    def __init__(self, name: str) -> None:
        self.name = name

    def complete(self, request: Request, *, timeout: float) -> Completion:  # noqa: ARG002
        raise ModelError(f"{self.name} is offline")

    def close(self) -> None:
        """Nothing to release."""


def _checked(name: str) -> tuple[str, str, str | None]:
    """The provider, model and address in a name."""
    provider, _, rest = name.partition(":")
    model, at, address = rest.partition("@")
    if name in (ECHO, *_PROGRAMS):
        return name, "", None
    if provider not in (*_KEYS, "ollama", *_PROGRAMS) or not model.strip():
        raise ConfigError(f"there is no model {name[:80]!r}: name one as {_KNOWN}")
    if not at:
        return provider, model, None
    parts = urlsplit(address)
    if provider != "openai" or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{name[:80]!r}: the address of a server goes with openai, as openai:{model}@http://HOST/v1")
    if parts.username or parts.password:
        raise ConfigError(f"names of models are shown and kept: leave the password out of it, and set {OTHER_KEY}")
    return provider, model, address


def open_backend(name: str, environment: Mapping[str, str]) -> Backend:
    """What is asked under a name, without cache and further attempts; the errors of ``open_model``."""
    provider, model, address = _checked(name)
    if provider == ECHO:
        from thymus.llm.echo import Echo

        return Echo()
    if provider == "claude-code":
        from thymus.llm.claude_code import ClaudeCodeBackend

        return ClaudeCodeBackend(name=name, model=model or None, environment=environment)
    if provider == "codex":
        from thymus.llm.codex import CodexBackend

        return CodexBackend(name=name, model=model or None, environment=environment)
    from thymus.llm.provider import ProviderBackend

    if provider == "ollama":
        host = _ollama(environment.get("OLLAMA_HOST", ""))
        return ProviderBackend(name=name, kind="ollama", model=model, key=None, address=host)
    if address:
        key = environment.get(OTHER_KEY)
        return ProviderBackend(name=name, kind="server", model=model, key=key, address=address)
    key = environment.get(_KEYS[provider]) or None
    if not key and not (provider == "anthropic" and _signed_in(environment)):
        login = ", sign in with `ant auth login`" if provider == "anthropic" else ""
        raise ModelError(f"{name} needs a key: set {_KEYS[provider]}{login}, or use a model of your own (ollama:MODEL)")
    address = environment.get(f"{provider.upper()}_BASE_URL")
    return ProviderBackend(name=name, kind=provider, model=model, key=key, address=address)


def _signed_in(environment: Mapping[str, str]) -> bool:
    """Whether Anthropic's library finds credentials that are no key: it looks for these, and resolves them itself."""

    def given(*names: str) -> bool:
        return all(environment.get(name) for name in names)

    if given("ANTHROPIC_AUTH_TOKEN") or given("ANTHROPIC_PROFILE"):
        return True
    if given("ANTHROPIC_FEDERATION_RULE_ID", "ANTHROPIC_ORGANIZATION_ID") and (
        given("ANTHROPIC_IDENTITY_TOKEN") or given("ANTHROPIC_IDENTITY_TOKEN_FILE")
    ):
        return True
    if given("ANTHROPIC_CONFIG_DIR"):
        folder = Path(environment["ANTHROPIC_CONFIG_DIR"])
    elif os.name == "nt" and given("APPDATA"):
        folder = Path(environment["APPDATA"], "Anthropic")
    elif given("HOME"):
        folder = Path(environment["HOME"], ".config", "anthropic")
    else:
        return False
    return (folder / "active_config").is_file() or (folder / "configs" / "default.json").is_file()


def _ollama(host: str) -> str:
    """The address that ``OLLAMA_HOST`` means: scheme and port may be left out, and 0.0.0.0 is where it listens."""
    host = host.strip().rstrip("/") or OLLAMA_HOST
    parts = urlsplit(host if "://" in host else f"http://{host}")
    where = parts.hostname or "127.0.0.1"
    where = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(where, f"[{where}]" if ":" in where else where)  # noqa: S104
    port = parts.port or (443 if parts.scheme == "https" else 11434 if "://" not in host else 80)
    return f"{parts.scheme}://{where}:{port}{parts.path}/v1"
