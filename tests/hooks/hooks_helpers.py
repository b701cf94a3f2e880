"""A host that runs ``thymus hook`` as Claude Code does: one process an event, JSON on standard input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAM = str(Path(sys.executable).with_name("thymus"))


@dataclass
class Ran:
    """What one event came to."""

    code: int
    out: bytes
    err: bytes
    seconds: float

    @property
    def answer(self) -> dict[str, Any]:
        found = json.loads(self.out) if self.out else {}
        assert isinstance(found, dict)
        return found

    @property
    def context(self) -> str:
        return str(self.answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    @property
    def notice(self) -> str:
        return str(self.answer.get("systemMessage", ""))


@dataclass
class Host:
    """An account of its own: home, runtime folder, memory."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    limit: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        for name in ("home", "run", "tmp"):
            (self.root / name).mkdir(mode=0o700)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("THYMUS", "CLAUDE", "XDG"))}
        self.environment = {
            **kept,
            "HOME": str(self.root / "home"),
            "XDG_RUNTIME_DIR": str(self.root / "run"),
            "TMPDIR": str(self.root / "tmp"),
            "THYMUS_DB": str(self.db),
            "THYMUS_HOOK_LOG": str(self.root / "log"),
            "THYMUS_HOOK_IDLE": "20",
            "CLAUDE_CODE_ENTRYPOINT": "cli",
        }

    @property
    def db(self) -> Path:
        return self.root / "memory.db"

    def run(self, event: dict[str, Any] | bytes, *arguments: str, env: dict[str, str] | None = None) -> Ran:
        """Run it on an event."""
        given = event if isinstance(event, bytes) else json.dumps(event).encode()
        began = time.perf_counter()
        done = subprocess.run(
            [PROGRAM, "hook", *arguments],
            input=given,
            env={**self.environment, **(env or {})},
            capture_output=True,
            timeout=20,
            check=False,
            preexec_fn=self.limit,
        )
        return Ran(done.returncode, done.stdout, done.stderr, time.perf_counter() - began)

    def prompt(self, text: str, session: str = "s1", **env: str) -> Ran:
        event = {"session_id": session, "cwd": str(self.root), "hook_event_name": "UserPromptSubmit", "prompt": text}
        return self.run(event, env=env)

    def result(self, tool: str, response: Any, given: Any = None, session: str = "s1", **env: str) -> Ran:
        event = {
            "session_id": session,
            "cwd": str(self.root),
            "hook_event_name": "PostToolUse",
            "tool_name": tool,
            "tool_input": given or {},
            "tool_response": response,
            "tool_use_id": f"toolu_{time.time_ns()}",
        }
        return self.run(event, env=env)

    def status(self) -> dict[str, Any]:
        found = json.loads(self.run(b"", "--status").out)
        assert isinstance(found, dict)
        return found

    def waiting(self) -> int:
        """Events that are not learned yet."""
        return len(list((self.root / "home/.local/state/thymus/hooks/waiting").glob("*.json")))

    def settle(self, within: float = 60.0) -> None:
        """Wait until everything that was handed over is learned."""
        until = time.monotonic() + within
        while self.waiting() and time.monotonic() < until:
            time.sleep(0.02)
        assert self.waiting() == 0, self.log()

    def memories(self, user: str = "me") -> list[dict[str, Any]]:
        from thymus import MemoryGuard

        with MemoryGuard(self.db, user_id=user) as guard:
            return [memory.to_dict() for memory in guard.memories(status=None)]

    def log(self) -> str:
        path = self.root / "log"
        return path.read_text() if path.exists() else ""

    def residents(self) -> list[int]:
        """Processes that serve this account (Linux: from /proc)."""
        found = []
        for process in Path("/proc").iterdir():
            if process.name.isdigit():
                try:
                    ours = f"HOME={self.root}/home".encode() in (process / "environ").read_bytes().split(b"\0")
                    if ours and b"--serve" in (process / "cmdline").read_bytes():
                        found.append(int(process.name))
                except OSError:
                    continue
        return found

    def start(self, session: str = "s", **env: str) -> Ran:
        """A session that begins: the cheapest event that starts a resident."""
        return self.run({"hook_event_name": "SessionStart", "session_id": session, "source": "startup"}, env=env)

    def stop(self) -> None:
        self.run(b"", "--stop")
        until = time.monotonic() + 10
        while self.residents() and time.monotonic() < until:
            time.sleep(0.02)
        assert self.residents() == [], "a resident outlived its test"


def recorded() -> list[dict[str, Any]]:
    """Events of Claude Code 2.1.197, as it sent them (only paths were changed)."""
    lines = Path(__file__).with_name("recorded.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]
