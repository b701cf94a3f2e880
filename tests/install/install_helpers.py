"""A machine that is not this one: a home in a temporary folder, with an installation of Thymus in it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from thymus.install import CLIENTS, Client, Options, Plan, Surroundings, carry_out, plan_install, plan_removal
from thymus.install.surroundings import System

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def machine(home: Path, *, system: System = "linux", variables: Mapping[str, str] | None = None) -> Surroundings:
    scripts = home / "opt" / "thymus" / ("Scripts" if system == "windows" else "bin")
    scripts.mkdir(parents=True, exist_ok=True)
    for name in ("thymus", "thymus-mcp"):
        script = scripts / (f"{name}.exe" if system == "windows" else name)
        script.write_text("#!/bin/sh\necho thymus-mcp 9.9.9\n")
        script.chmod(0o755)
    project = home / "project"
    project.mkdir(exist_ok=True)
    given = dict(variables or {})
    return Surroundings(
        system=system, home=home, project=project, variables=given, scripts=(scripts,), python=scripts / "python"
    )


def connect(client: str, here: Surroundings, **options: str) -> Plan:
    scope = "project" if options.pop("scope", "user") == "project" else "user"
    plan = plan_install(CLIENTS[client], scope, Options(**options), here)  # type: ignore[arg-type]
    carry_out(plan, now=NOW)
    return plan


def disconnect(client: str, here: Surroundings, scope: str = "user") -> Plan:
    plan = plan_removal(CLIENTS[client], scope, here)  # type: ignore[arg-type]
    carry_out(plan, now=NOW)
    return plan


def config(client: Client | str, here: Surroundings) -> Path:
    known = CLIENTS[client] if isinstance(client, str) else client
    path = known.server_file("user", here)
    assert path is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def settings(here: Surroundings) -> Path:
    path = CLIENTS["claude-code"].hooks_file("user", here)
    assert path is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def lay_out(value: Any, choice: random.Random, *, comments: bool) -> str:
    """A value as some editor, formatter or person might write it."""
    line = choice.choice(["\n", "\n", "\r\n"])
    unit = choice.choice(["  ", "    ", "\t", " ", ""])
    many = choice.random() < 0.7
    colon = choice.choice([": ", ":", " : "]) if not many else choice.choice([": ", ": ", ":"])
    said = ["/* one */", "// to the end", '/* "quoted": { */', "// \"x\": 'y', }  ", "/**/", "/* two\nlines */"]

    def aside(before: str) -> str:
        if not comments or choice.random() > 0.25:
            return ""
        comment = choice.choice(said)
        return before + comment + (line if comment.startswith("//") else "")

    def write(inner: Any, depth: int) -> str:
        if not isinstance(inner, (dict, list)):
            return json.dumps(inner, ensure_ascii=choice.random() < 0.5)
        brackets = "{}" if isinstance(inner, dict) else "[]"
        if not inner:
            return brackets[0] + (aside(" ") or choice.choice(["", "", " "])) + brackets[1]
        spread = many and choice.random() < 0.9
        lead = line + unit * (depth + 1) if spread else choice.choice(["", " "])
        pairs = inner.items() if isinstance(inner, dict) else ((None, each) for each in inner)
        parts = []
        for key, each in pairs:
            name = "" if key is None else json.dumps(key) + colon
            parts.append(lead + aside("") + name + write(each, depth + 1) + aside(" "))
        last = "," if comments and choice.random() < 0.3 else ""
        end = line + unit * depth if spread else choice.choice(["", " "])
        return brackets[0] + ",".join(parts) + last + aside(" ") + end + brackets[1]

    return aside("") + write(value, 0) + aside(line) + choice.choice(["", line, line * 2])
