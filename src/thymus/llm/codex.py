"""Codex (``codex exec``) as a model: on the user's ChatGPT subscription, with no API key.

It is an agent that is kept from being one: no shell, no helpers, no search, no files, servers or skills of the user's.
What cannot be switched off is ``~/.codex/AGENTS.md``, which is the user's own. Should it use a tool all the same, its
answer is not used.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from thymus.llm.commands import (
    Ended,
    Program,
    excerpt,
    find,
    logged_out,
    outdated_or_broken,
    reason,
    run,
    temporary_folder,
    too_long,
    used_up,
    write_private,
)
from thymus.llm.model import Completion, ModelError, Request, TransientError, UnanswerableError, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN_KEYS: Final = ("CODEX_API_KEY", "CODEX_ACCESS_TOKEN")
CODEX: Final = Program(
    name="codex",
    variable="THYMUS_CODEX_BIN",
    remedy="install Codex (https://developers.openai.com/codex/cli)",
    places=(
        "~/.cargo/bin/codex",
        "/Applications/ChatGPT.app/Contents/Resources/codex",
        "/Applications/Codex.app/Contents/Resources/codex",
        "~/Applications/ChatGPT.app/Contents/Resources/codex",
        "~/Applications/Codex.app/Contents/Resources/codex",
        "%LOCALAPPDATA%/OpenAI/Codex/bin/codex.exe",
        "%LOCALAPPDATA%/OpenAI/Codex/bin/*/codex.exe",
        "%APPDATA%/npm/node_modules/@openai/codex/node_modules/@openai/codex-win32-*/vendor/*/bin/codex.exe",
    ),
    variables=frozenset(("CODEX_HOME", "CODEX_CA_CERTIFICATE", *_OWN_KEYS)),
)
_UPDATE: Final = "codex update"

_OFF: Final = (
    "shell_tool",
    "unified_exec",
    "view_image",
    "image_generation",
    "multi_agent",
    "apps",
    "plugins",
    "hooks",
    "goals",
    "memories",
    "skill_search",
    "tool_suggest",
    "sleep_tool",
    "browser_use",
    "in_app_browser",
    "computer_use",
    "shell_snapshot",
    "unbounded_connection_retries",
)
"""Features that are switched off. As settings, a version that does not know one passes over it."""
_SETTINGS: Final = (
    *(f"features.{feature}=false" for feature in _OFF),
    "agents.enabled=false",
    'web_search="disabled"',
    "project_doc_max_bytes=0",
    "skills.include_instructions=false",
    "skills.bundled.enabled=false",
    "include_environment_context=false",
    "include_permissions_instructions=false",
    "include_apps_instructions=false",
    "include_collaboration_mode_instructions=false",
    'history.persistence="none"',
    "analytics.enabled=false",
    "feedback.enabled=false",
    "check_for_update_on_startup=false",
    'model_reasoning_effort="low"',
)
_ALONE: Final = (
    "--sandbox=read-only",
    "--ephemeral",
    "--ignore-user-config",
    "--ignore-rules",
    "--skip-git-repo-check",
    "--color=never",
)
_SAYS: Final = frozenset({"agent_message", "reasoning", "error", "todo_list"})
"""Kinds of items that are no use of a tool."""

_LOGGED_OUT: Final = re.compile(
    r"(?i)not logged in|401 unauthorized|403 forbidden|(log|sign) ?in again|access token could not be refreshed"
)
_USED_UP: Final = re.compile(r"(?i)hit your usage limit|usage limit|quota exceeded|out of credits|spend(ing)? cap")
_TOO_LONG: Final = re.compile(r"(?i)ran out of room|context window|input exceeds")
_NO_SUCH_MODEL: Final = re.compile(r"(?i)model.{0,80}(does not exist|not found|not supported)|\b404\b")
_REFUSED: Final = re.compile(r"(?i)content_filter|usage polic|flagged")
_CUT: Final = re.compile(r"max_output_tokens")
_REJECTED: Final = re.compile(r"^\s*\{|unexpected status 4(?!08|25|29)\d\d")


class CodexBackend:
    """One model of Codex; every attempt is a process of its own.

    It has no limit on the tokens of an answer, and its costs in dollars are not known.

    :param model: a name; ``None`` for the account's own choice.
    :param environment: where ``THYMUS_CODEX_BIN`` and ``PATH`` are looked up; the login and the network's variables
        are handed on, the keys of others are not.
    :raises ModelError: where ``codex`` is not installed.
    """

    def __init__(self, *, name: str, model: str | None, environment: Mapping[str, str]) -> None:
        self.name = name
        self._model, self._environment = model, environment
        self._binary = find(CODEX, environment)
        self._logged_in = any(environment.get(key) for key in _OWN_KEYS)

    def complete(self, request: Request, *, timeout: float) -> Completion:
        """Make one attempt; see ``Backend.complete``."""
        started = time.monotonic()
        with temporary_folder() as made:
            folder = Path(made)
            self._check_login(folder, timeout)
            answer = write_private(folder / "answer.txt", "")
            left = max(timeout - (time.monotonic() - started), 0.01)
            ended = self._run(self._arguments(request, folder, answer), request.prompt, folder, left)
            said = answer.read_text("utf-8", "replace") if answer.exists() else ""
        return self._completion(request, ended, said)

    def close(self) -> None:
        """Nothing to release."""

    def _check_login(self, folder: Path, timeout: float) -> None:
        """Ask once: without a login, Codex would try to connect until its time is up."""
        if self._logged_in:
            return
        status = self._run(["login", "status"], "", folder, timeout)
        if status.code and _LOGGED_OUT.search(status.out + status.err):
            raise self._logged_out(status.out + status.err)
        self._logged_in = True

    def _run(self, arguments: list[str], prompt: str, folder: Path, timeout: float) -> Ended:
        return run(
            CODEX,
            self._binary,
            arguments,
            name=self.name,
            prompt=prompt,
            folder=folder,
            environment=self._environment,
            settings={},
            timeout=timeout,
        )

    def _arguments(self, request: Request, folder: Path, answer: Path) -> list[str]:
        settings = [*_SETTINGS, f"sqlite_home={_toml(str(folder))}", f"log_dir={_toml(str(folder))}"]
        if request.instructions.strip():
            settings.append(f"developer_instructions={_toml(request.instructions)}")
        arguments = ["exec", "--json", f"--output-last-message={answer}", *_ALONE]
        arguments += [f"--config={setting}" for setting in settings]
        if self._model:
            arguments.append(f"--model={self._model}")
        if request.form is not None:
            form = write_private(folder / "form.json", json.dumps(request.form))
            arguments.append(f"--output-schema={form}")
        return [*arguments, "-"]

    def _completion(self, request: Request, ended: Ended, said: str) -> Completion:
        events = list(_events(ended.out))
        failed = _failure_of(events)
        done = [event for event in events if event.get("type") == "turn.completed"]
        if failed is None and (ended.code or not done):
            if _LOGGED_OUT.search(ended.err):
                raise self._logged_out(ended.err)
            raise outdated_or_broken(CODEX, self.name, ended, update=_UPDATE)
        items = [event["item"] for event in events if isinstance(event.get("item"), dict)]
        used = sorted({str(item.get("type")) for item in items} - _SAYS)
        if used:
            raise UnanswerableError(
                f"{self.name} used a tool ({', '.join(used)[:80]}), so its answer is not used: update it"
            )
        usage = _usage(request, done[-1].get("usage") if done else None, said)
        if failed is None:
            messages = [str(item.get("text") or "") for item in items if item.get("type") == "agent_message"]
            return Completion(text=said if said.strip() else "".join(messages[-1:]), usage=usage)
        if _REFUSED.search(failed):
            return Completion(text="", usage=usage, refusal=reason(failed))
        if _CUT.search(failed):
            return Completion(text="", usage=usage, cut=True)
        raise self._failure(failed)

    def _failure(self, said: str) -> ModelError:
        if _USED_UP.search(said):
            return used_up(self.name, said)
        if _LOGGED_OUT.search(said):
            return self._logged_out(said)
        if _TOO_LONG.search(said):
            return too_long(self.name)
        if _NO_SUCH_MODEL.search(said):
            return ModelError(f"{self.name} is not there ({excerpt(said)}): check the name of the model")
        if _REJECTED.search(said):
            return UnanswerableError(f"{self.name} rejects the request ({excerpt(said)})")
        return TransientError(f"{self.name} failed ({excerpt(said)}): try again later")

    def _logged_out(self, said: str) -> ModelError:
        return logged_out(CODEX, self.name, said, login="codex login")


def _events(out: str) -> list[dict[str, Any]]:
    """The lines of ``--json`` that are events; a last line that was cut is none."""
    events = []
    for line in out.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def _failure_of(events: list[dict[str, Any]]) -> str | None:
    """Why the turn failed; an ``error`` that was got over is no failure."""
    for event in reversed(events):
        if event.get("type") == "turn.failed":
            error = event.get("error")
            return str(error.get("message") if isinstance(error, dict) else error)
    return None


def _usage(request: Request, used: object, said: str) -> Usage:
    counts = used if isinstance(used, dict) else {}

    def count(name: str, text: str) -> int:
        value = counts.get(name)
        return value if isinstance(value, int) and value else len(text) // 4

    asked = request.instructions + request.prompt
    return Usage(tokens_in=count("input_tokens", asked), tokens_out=count("output_tokens", said), usd=None)


def _toml(text: str) -> str:
    """A basic string of TOML, which is one of JSON but for a character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
