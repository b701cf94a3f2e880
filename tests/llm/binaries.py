"""Fake ``claude`` and ``codex``: programs that keep what they were given and say what the real ones were seen to say.

The outputs are those of Claude Code 2.1.197 and Codex 0.171.0, run without a login and against servers that fail.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_CODE = """\
import json, os, subprocess, sys, time
home = {home!r}
with open(os.path.join(home, "script.json")) as file:
    script = json.load(file)
arguments = sys.argv[1:]
if arguments == ["login", "status"]:
    sys.stderr.write(script["login"] + "\\n")
    sys.exit(0 if script["login"].startswith("Logged in") else 1)
value = dict(one[2:].split("=", 1) for one in arguments if one.startswith("--") and "=" in one)
paths = [value[name] for name in ("output-schema", "output-last-message") if name in value]
call = {{
    "arguments": arguments,
    "stdin": sys.stdin.buffer.read().decode(),
    "environment": dict(os.environ),
    "folder": os.getcwd(),
    "beside": os.listdir("."),
    "modes": [oct(os.stat(path).st_mode & 0o777) for path in [*paths, os.path.dirname(os.getcwd())]],
    "form": json.load(open(value["output-schema"])) if "output-schema" in value else None,
    "pids": [os.getpid()],
}}
calls = os.path.join(home, "calls")
number = len(os.listdir(calls))
step = script["steps"][min(number, len(script["steps"]) - 1)]
if step["sleep"]:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    call["pids"].append(child.pid)
with open(os.path.join(calls, f"{{time.time_ns()}}-{{os.getpid()}}.part"), "w") as file:
    json.dump(call, file)
os.rename(file.name, file.name[:-5] + ".json")
time.sleep(step["sleep"])
if step["signal"]:
    os.kill(os.getpid(), step["signal"])
sys.stdout.write(step["out"])
sys.stderr.write(step["err"])
if step["answer"] is not None:
    with open(value["output-last-message"], "w") as file:
        file.write(step["answer"])
sys.exit(step["code"])
"""


@dataclass
class Step:
    """What the program does once."""

    out: str = ""
    err: str = ""
    code: int = 0
    answer: str | None = None
    sleep: float = 0.0
    signal: int = 0


@dataclass
class Call:
    """What the program was given once.

    :param modes: permissions of the files among its arguments, and of the folder around the one it stands in.
    :param pids: of itself and of what it started.
    """

    arguments: list[str]
    stdin: str
    environment: dict[str, str]
    folder: str
    beside: list[str]
    modes: list[str]
    form: dict[str, Any] | None
    pids: list[int]

    def value(self, option: str) -> str:
        """What an argument is set to."""
        (found,) = [one.partition("=")[2] for one in self.arguments if one.startswith(f"{option}=")]
        return found


@dataclass
class Binary:
    """A program that does ``steps`` in order, the last one for ever."""

    home: Path
    name: str
    login: str = "Logged in using ChatGPT"
    path: Path = field(init=False)

    def __post_init__(self) -> None:
        (self.home / "calls").mkdir(parents=True)
        self.path = self.home / "bin" / self.name
        self.path.parent.mkdir()
        # -I and -S: nothing of this Python's environment, and a quick start
        self.path.write_text(f"#!{sys.executable} -IS\n{_CODE.format(home=str(self.home))}")
        self.path.chmod(0o755)
        self.does(Step())

    def does(self, *steps: Step) -> None:
        script = {"steps": [vars(step) for step in steps], "login": self.login}
        (self.home / "script.json").write_text(json.dumps(script))

    @property
    def calls(self) -> list[Call]:
        return [Call(**json.loads(path.read_text())) for path in sorted((self.home / "calls").glob("*.json"))]


# What Claude Code prints


def claude_result(**changes: Any) -> str:
    """``claude -p --output-format json`` after an answer in a form."""
    usual = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "api_error_status": None,
        "duration_ms": 68,
        "duration_api_ms": 44,
        "ttft_ms": 41,
        "num_turns": 2,
        "result": '{"label":"same","sure":true}',
        "stop_reason": "tool_use",
        "session_id": "2334b976-2b2d-47fb-a4a0-274bd0aeceaa",
        "total_cost_usd": 0.00031275,
        "usage": {
            "input_tokens": 21,
            "cache_creation_input_tokens": 5,
            "cache_read_input_tokens": 3,
            "output_tokens": 7,
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
        },
        "modelUsage": {"claude-opus-4-8[1m]": {"inputTokens": 21, "outputTokens": 7, "costUSD": 0.00031275}},
        "permission_denials": [],
        "structured_output": {"label": "same", "sure": True},
        "terminal_reason": "completed",
        "uuid": "77447313-4686-4c3e-b0f8-c520ced959a5",
    }
    return json.dumps(usual | changes, ensure_ascii=False)


def claude_text(text: str, **changes: Any) -> Step:
    """An answer in free text."""
    changes = {"result": text, "stop_reason": "end_turn", "num_turns": 1, "structured_output": None} | changes
    return Step(out=claude_result(**changes))


def claude_error(said: str, *, status: int | None = None, **changes: Any) -> Step:
    """An error, which comes as a success that is one."""
    unanswered = {"is_error": True, "api_error_status": status, "num_turns": 1, "structured_output": None}
    ended = {"result": said, "stop_reason": "stop_sequence", "total_cost_usd": 0}
    return Step(out=claude_result(**(unanswered | ended | changes)), code=1)


def claude_stopped(subtype: str, *errors: str) -> Step:
    """An error of the session itself, which has no result."""
    changes = {"subtype": subtype, "is_error": True, "structured_output": None, "errors": list(errors)}
    value = json.loads(claude_result(**changes))
    del value["result"], value["api_error_status"], value["terminal_reason"]
    return Step(out=json.dumps(value), code=1)


# What Codex prints

_STARTED = {"type": "thread.started", "thread_id": "01a22c49-1402-77e2-b94b-bcf07188c850"}


def codex_events(*events: dict[str, Any]) -> str:
    """``codex exec --json``."""
    return "".join(json.dumps(event) + "\n" for event in (_STARTED, {"type": "turn.started"}, *events))


def codex_item(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "item_0", "type": kind, **fields}}


CODEX_DONE: dict[str, Any] = {
    "type": "turn.completed",
    "usage": {
        "input_tokens": 21,
        "cached_input_tokens": 3,
        "cache_write_input_tokens": 0,
        "output_tokens": 7,
        "reasoning_output_tokens": 2,
    },
}


def codex_answer(text: str) -> Step:
    """An answer, which is also written to the file."""
    return Step(out=codex_events(codex_item("agent_message", text=text), CODEX_DONE), answer=text)


def codex_error(said: str) -> Step:
    """A turn that failed."""
    events = codex_events({"type": "error", "message": said}, {"type": "turn.failed", "error": {"message": said}})
    return Step(out=events, code=1)
