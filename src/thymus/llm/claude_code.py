"""Claude Code (``claude -p``) as a model: on the user's Claude subscription, with no API key.

It is an agent that is kept from being one: no tools, no files, no memory, hooks, plugins or servers of the user's. Two
things of it read what is in a prompt, and both are switched off: ``@path`` would show the model a file of this machine,
and a slash at the very start would be a command.
"""

from __future__ import annotations

import json
import re
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
)
from thymus.llm.model import Completion, ModelError, Request, TransientError, UnanswerableError, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_USD: Final = 0.5
"""List price in US dollars that one answer may have."""

CLAUDE: Final = Program(
    name="claude",
    variable="THYMUS_CLAUDE_BIN",
    remedy="install Claude Code (https://claude.com/claude-code)",
    places=(
        "~/.claude/local/claude",
        "~/.claude/local/node_modules/.bin/claude",
        "~/Library/Application Support/Claude/claude-code/*/claude.app/Contents/MacOS/claude",
        "~/Library/Application Support/Claude/claude-code/*/claude",
        "%APPDATA%/Claude/claude-code/*/claude.exe",
        "%APPDATA%/npm/node_modules/@anthropic-ai/claude-code/bin/claude.exe",
    ),
    # No ANTHROPIC_API_KEY: it would go before the subscription, and the API would be billed.
    variables=frozenset(
        {
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_GIT_BASH_PATH",
            "CLAUDE_CODE_CERT_STORE",
            "CLAUDE_CODE_CLIENT_CERT",
            "CLAUDE_CODE_CLIENT_KEY",
            "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
        }
    ),
)
_UPDATE: Final = "claude update"

_ALONE: Final = (
    "--tools",
    "",
    "--strict-mcp-config",
    "--setting-sources",
    "",
    "--safe-mode",
    "--disable-slash-commands",
    "--no-session-persistence",
    # Without this, "@/some/file" in a prompt is the content of that file; so does DISABLE_ATTACHMENTS.
    "--settings",
    '{"permissions":{"deny":["Read(//**)"]}}',
)
_SETTINGS: Final = {
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",  # they are made here, where their time is known
    "MAX_STRUCTURED_OUTPUT_RETRIES": "1",
    "MAX_THINKING_TOKENS": "0",
}
_LEAD: Final = "Answer what follows.\n\n"
"""Stands before every prompt, so that none begins with a slash."""
_UNINSTRUCTED: Final = "Answer the question."
"""An empty system prompt would be replaced by that of a programmer's assistant."""

_LOGGED_OUT: Final = re.compile(r"(?i)not logged in|/login|failed to authenticate|invalid api key")
_USED_UP: Final = re.compile(
    r"(?i)you've (hit|reached) your|limit reached|out of (usage|extra) |credit balance is too low|requires? usage cred"
)
_NO_SUCH_MODEL: Final = re.compile(r"(?i)issue with the selected model")
_TOO_LONG: Final = re.compile(r"(?i)^prompt is too long")
_CUT: Final = re.compile(r"(?i)exceeded the \d+ output token maximum")


class ClaudeCodeBackend:
    """One model of Claude Code; every attempt is a process of its own.

    :param model: a name or an alias such as ``haiku``; ``None`` for the account's own choice.
    :param environment: where ``THYMUS_CLAUDE_BIN`` and ``PATH`` are looked up; the login and the network's variables
        are handed on, keys are not.
    :raises ModelError: where ``claude`` is not installed.
    """

    def __init__(self, *, name: str, model: str | None, environment: Mapping[str, str]) -> None:
        self.name = name
        self._model, self._environment = model, environment
        self._binary = find(CLAUDE, environment)

    def complete(self, request: Request, *, timeout: float) -> Completion:
        """Make one attempt; see ``Backend.complete``."""
        with temporary_folder() as folder:
            ended = run(
                CLAUDE,
                self._binary,
                self._arguments(request),
                name=self.name,
                prompt=_LEAD + request.prompt,
                folder=Path(folder),
                environment=self._environment,
                settings=_SETTINGS | {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(request.max_tokens)},
                timeout=timeout,
            )
        result = _result(ended)
        if result is None:
            raise outdated_or_broken(CLAUDE, self.name, ended, update=_UPDATE)
        return self._completion(request, result)

    def close(self) -> None:
        """Nothing to release."""

    def _arguments(self, request: Request) -> list[str]:
        arguments = ["-p", "--output-format=json", *_ALONE, f"--max-budget-usd={MOST_USD}"]
        arguments.append(f"--system-prompt={request.instructions.strip() or _UNINSTRUCTED}")
        if self._model:
            arguments.append(f"--model={self._model}")
        if request.form is not None:
            arguments.append(f"--json-schema={json.dumps(request.form)}")
        return arguments

    def _completion(self, request: Request, result: Mapping[str, Any]) -> Completion:
        said, stop = str(result.get("result") or ""), result.get("stop_reason")
        usage = _usage(result)
        if stop == "refusal":
            return Completion(text="", usage=usage, refusal=reason(said))
        if result.get("is_error") or str(result.get("subtype", "")).startswith("error"):
            if _CUT.search(said):
                return Completion(text="", usage=usage, cut=True)
            error = self._failure(result, said)
            error.usage = usage if usage.tokens_out or usage.usd else None
            raise error
        given = result.get("structured_output")
        if request.form is not None and given is not None:
            said = json.dumps(given, ensure_ascii=False)
        return Completion(text=said, usage=usage, cut=stop == "max_tokens")

    def _failure(self, result: Mapping[str, Any], said: str) -> ModelError:
        """What became of an answer that is an error."""
        status, kind = result.get("api_error_status"), result.get("subtype")
        status = status if isinstance(status, int) else 0
        if kind == "error_max_budget_usd":
            return UnanswerableError(
                f"{self.name} would take more than ${MOST_USD:.2f} for one answer: shorten the text, or use a cheaper "
                "model"
            )
        if kind == "error_max_structured_output_retries":
            return TransientError(
                f"{self.name} did not keep to the form: use a larger model if it stays so", answered=True
            )
        if _LOGGED_OUT.search(said) or status in (401, 403):
            return logged_out(CLAUDE, self.name, said, login="claude auth login")
        if _USED_UP.search(said):
            return used_up(self.name, said)
        if _NO_SUCH_MODEL.search(said) or status == 404:
            return ModelError(f"{self.name} is not there, or not for this account: check the name of the model")
        if _TOO_LONG.search(said) or result.get("terminal_reason") == "prompt_too_long":
            return too_long(self.name)
        if status == 429:
            return TransientError(f"{self.name} is asked too often for this account: run fewer at once, or later")
        if 400 <= status < 500:
            return UnanswerableError(f"{self.name} rejects the request ({excerpt(said)})")
        why = said or "; ".join(str(one) for one in result.get("errors") or [kind])
        return TransientError(f"{self.name} failed ({excerpt(why)}): try again later")


def _result(ended: Ended) -> Mapping[str, Any] | None:
    """What ``--output-format json`` printed; with ``verbose`` switched on, it is the last event of a list."""
    try:
        value = json.loads(ended.out)
    except (ValueError, RecursionError):
        return None
    events = value if isinstance(value, list) else [value]
    results = [event for event in events if isinstance(event, dict) and event.get("type") == "result"]
    return results[-1] if results else None


def _usage(result: Mapping[str, Any]) -> Usage:
    used = result.get("usage")
    counts = used if isinstance(used, dict) else {}

    def count(*names: str) -> int:
        return sum(value for name in names if isinstance(value := counts.get(name), int))

    usd = result.get("total_cost_usd")
    return Usage(
        tokens_in=count("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        tokens_out=count("output_tokens"),
        usd=float(usd) if isinstance(usd, int | float) else None,
    )
