"""Our side of a comparison: a driver's process, requests in JSON lines, answers that are checked before use."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from thymus.embed import Role
from thymus_bench.compare.peers import PeerError

LOOP: Final = Path(__file__).parent / "loop.py"
OUTCOMES: Final = ("stored", "altered", "held", "refused")
_NOWHERE: Final = "http://127.0.0.1:9"  # the discard port: whatever honours a proxy reaches nothing
_KEPT: Final = ("PATH", "SYSTEMROOT", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP")

Embed = Callable[[Sequence[str], Role], Sequence[Sequence[float]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """What a driver says of its peer.

    :param keyed: it cannot tell facts apart by itself, so the comparison hands it the key of each.
    :param tells: how its user hears of what it holds back; ``""`` if in no way.
    """

    name: str
    version: str
    keyed: bool
    tells: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """What became of a message; ``ms`` is the peer's own time, without the pipe."""

    outcome: str
    flags: tuple[str, ...]
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a model would be given and what the peer has for its user."""

    context: tuple[str, ...]
    told: tuple[str, ...]
    ms: float


class Driver:
    """A peer that runs. Use it as a context manager; every failure is a ``PeerError`` that names the peer.

    :param command: the Python of its environment, up to the path of its driver.
    :param embed: vectors for peers without a sentence model of their own.
    :param seconds: how long one request may take.
    """

    def __init__(self, name: str, python: Path, driver: Path, *, variant: str = "", embed: Embed, seconds: float = 120):
        self.name, self._embed, self.seconds = name, embed, seconds
        self._place = tempfile.TemporaryDirectory(prefix="thymus-compare-", ignore_cleanup_errors=True)
        home = Path(self._place.name)
        self._errors = (home / "stderr").open("w+", encoding="utf-8", errors="replace")
        command = [str(python), "-I", str(LOOP), str(driver), str(home / "memories"), *([variant] if variant else [])]
        self._process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            errors="surrogatepass",
            env=_environment(home),
            cwd=home,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self.hello = self._greeting(self._next(time.monotonic() + seconds))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process and remove its files."""
        if self._process.stdin:
            with contextlib.suppress(OSError):  # it has ended before us
                self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._errors.close()
        self._place.cleanup()

    def said(self, most: int = 3) -> tuple[str, ...]:
        """The first distinct lines that it wrote to standard error: a peer that runs degraded says so there."""
        with contextlib.suppress(OSError, ValueError):
            self._errors.flush()
            text = (Path(self._place.name) / "stderr").read_text(encoding="utf-8", errors="replace")
            lines = dict.fromkeys(line.strip()[:300] for line in text.splitlines() if line.strip())
            return tuple(lines)[:most]
        return ()

    def reset(self) -> None:
        """An empty memory."""
        self._ask({"do": "reset"})

    def fill(self, messages: Sequence[Mapping[str, Any]], *, seconds: float) -> float:
        """Learn many messages; the milliseconds that it took.

        :raises PeerError: it took longer than ``seconds``; the driver is of no further use then.
        """
        return self._ms(self._ask({"do": "fill", "messages": list(messages)}, seconds=seconds))

    def remember(self, message: Mapping[str, Any]) -> Wrote:
        """Learn one message."""
        answer = self._ask({"do": "remember", "message": dict(message)})
        outcome = answer.get("outcome")
        if outcome not in OUTCOMES:
            raise self._broken(f"its outcome {outcome!r} is none of {', '.join(OUTCOMES)}")
        return Wrote(outcome=outcome, flags=self._texts(answer, "flags"), ms=self._ms(answer))

    def recall(self, question: Mapping[str, Any]) -> Found:
        """What a model would be given for a question."""
        answer = self._ask({"do": "recall", "question": dict(question)})
        return Found(context=self._texts(answer, "context"), told=self._texts(answer, "told"), ms=self._ms(answer))

    def read(self, key: str) -> str:
        """All that is usable of what was stored under a key."""
        text = self._ask({"do": "read", "key": key}).get("text")
        if not isinstance(text, str):
            raise self._broken("what it reads back is no text")
        return text

    def _ask(self, request: Mapping[str, Any], *, seconds: float | None = None) -> dict[str, Any]:
        until = time.monotonic() + (seconds or self.seconds)
        self._tell(request)
        while "embed" in (answer := self._next(until)):
            self._tell({"vectors": self._vectors(answer)})
        if "error" in answer:
            raise PeerError(f"{self.name}: {str(answer['error'])[:300]}; see its driver, or leave it out with --peer")
        return answer

    def _vectors(self, asked: Mapping[str, Any]) -> list[list[float]]:
        role = asked.get("role")
        if role not in ("passage", "query"):
            raise self._broken(f"it asks for vectors of role {role!r}, which is neither passage nor query")
        return [list(vector) for vector in self._embed(self._texts(asked, "embed"), role)]

    def _tell(self, line: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None  # noqa: S101
        try:
            self._process.stdin.write(json.dumps(line) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self._broken("it has ended") from None

    def _next(self, until: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            self._process.kill()
            raise PeerError(f"{self.name}: no answer in time; give it longer with --seconds, or leave it out") from None
        if not line:
            raise self._broken("it has ended")
        try:
            answer = json.loads(line)
        except json.JSONDecodeError:
            raise self._broken(f"it does not speak JSON: {line[:80]!r}") from None
        if not isinstance(answer, dict):
            raise self._broken(f"an object is expected, not {line[:80]!r}")
        return answer

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101
        try:
            for line in self._process.stdout:
                self._lines.put(line)
        except ValueError:
            pass  # closed under us, or not UTF-8: either way nothing more comes
        self._lines.put("")

    def _greeting(self, answer: Mapping[str, Any]) -> Hello:
        texts = all(isinstance(answer.get(field), str) for field in ("name", "version", "tells"))
        if not texts or not isinstance(answer.get("keyed"), bool):
            raise self._broken("it does not say its name, version, keyed and tells")
        return Hello(**{field: answer[field] for field in ("name", "version", "keyed", "tells")})

    def _texts(self, answer: Mapping[str, Any], field: str) -> tuple[str, ...]:
        value = answer.get(field)
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._broken(f"its {field} are no list of texts")
        return tuple(value)

    def _ms(self, answer: Mapping[str, Any]) -> float:
        value = answer.get("ms")
        if not isinstance(value, (int, float)):
            raise self._broken("it does not say how long it took")
        return float(value)

    def _broken(self, problem: str) -> PeerError:
        try:
            self._errors.flush()
            said = (Path(self._place.name) / "stderr").read_text(encoding="utf-8", errors="replace").strip()
        except (OSError, ValueError):
            said = ""
        last = f" (it said: {said.splitlines()[-1][:300]})" if said else ""
        return PeerError(f"{self.name}: the driver is broken: {problem}{last}; mend it, or leave it out with --peer")


def _environment(home: Path) -> dict[str, str]:
    """Nothing of the user's: no keys, no settings, a home of its own, no network."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "USERPROFILE": str(home),
        "PYTHONUTF8": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MEM0_TELEMETRY": "False",
        "ANONYMIZED_TELEMETRY": "False",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "http_proxy": _NOWHERE,
        "https_proxy": _NOWHERE,
        "all_proxy": _NOWHERE,
    }
