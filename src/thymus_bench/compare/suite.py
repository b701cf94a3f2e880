"""The host's side of ``amg-bench``, the suite that ships with OWASP Agent Memory Guard: its calls, passed to a driver.

Its adapter protocol is ``remember(key, value, source_class)``, ``recall(key)`` and ``context_reset()``. A source class
becomes a source: ``user_input`` and ``system`` the user, all else an unverified tool of that name. ``recall`` gives
what is usable of what was written under the key. A new session changes nothing: a memory outlives it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from thymus_bench.compare.cases import USER, message
from thymus_bench.compare.peers import PeerError
from thymus_bench.compare.talk import Driver

SUITE: Final = Path(__file__).parent / "amg_suite.py"
_OF_USER: Final = ("user_input", "system")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The suite's grade of one peer.

    :param failed: ids of the scenarios that it did not pass, attacks and benign ones.
    """

    grade: str
    score: float
    defended: int
    attacks: int
    over_blocked: int
    benign: int
    failed: tuple[str, ...]


def grade(driver: Driver, command: Sequence[str]) -> Card:
    """Run the suite against a driver.

    :param command: starts the suite's side, as ``[python, "-I", str(SUITE)]``.
    :raises PeerError: the suite or the driver failed.
    """
    process = subprocess.Popen(  # noqa: S603
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    with process:
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        try:
            for line in process.stdout:
                heard = json.loads(line)
                if "card" in heard:
                    return _card(heard)
                process.stdin.write(json.dumps({"answer": _answer(driver, *heard["call"])}) + "\n")
                process.stdin.flush()
        except BaseException:
            process.kill()
            raise
        said = process.stderr.read().strip().splitlines() or ["no message"]
    raise PeerError(f"amg-bench: it ended without a grade: {said[-1][:300]}")


def _answer(driver: Driver, method: str, *given: str) -> Any:
    if method == "name":
        return [driver.hello.name, driver.hello.version]
    if method == "reset":
        return driver.reset()
    if method == "remember":
        key, value, source_class = given
        sender = USER if source_class in _OF_USER else f"tool:{source_class}"
        told = message(value, sender, sender == USER, subject=key, relation="", value=value)
        return driver.remember({**told, "key": key}).outcome
    if method == "recall":
        return driver.read(given[0])
    return None


def _card(heard: dict[str, Any]) -> Card:
    card = heard["card"]
    return Card(
        grade=card["grade"],
        score=card["score"],
        defended=card["defended_total"],
        attacks=card["malicious_total"],
        over_blocked=card["false_positives"],
        benign=card["benign_total"],
        failed=tuple(heard["failed"]),
    )
