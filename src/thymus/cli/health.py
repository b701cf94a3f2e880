"""The command ``doctor``: is everything that Thymus needs here, and in order?"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from thymus.cli.costs import count
from thymus.cli.frame import PROBLEMS, Session, examples, in_commands, is_file, session
from thymus.errors import ThymusError

if TYPE_CHECKING:
    from thymus.config import Settings

OLDEST_SQLITE: Final = (3, 37, 0)
LITTLE_SPACE: Final = 200_000_000
"""Bytes free under which ``doctor`` warns."""
SLOW_LOAD: Final = 3.0
"""Seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at.

    :param state: ``ok``, ``warn`` or ``fail``.
    :param remedy: what to do about it; empty where it is ok.
    :param figures: what was measured, for programs.
    """

    name: str
    state: str
    found: str
    remedy: str = ""
    figures: Mapping[str, float | None] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The finding in JSON's types."""
        plain = {"name": self.name, "state": self.state, "found": self.found, "remedy": self.remedy}
        return plain | ({"figures": dict(self.figures)} if self.figures else {})


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "thymus doctor",
            "thymus doctor --llm anthropic:MODEL",
            "thymus doctor --json | jq '.checks[] | select(.state != \"ok\")'",
        )
    )(doctor)


def doctor(ctx: typer.Context) -> None:
    """Check that everything needed is here and in order.

    Python, SQLite, the bundled model, the memory file and its ledger; each fault comes with its remedy. A language
    model (--llm) is asked a few questions: whether it works, what a write costs and how long it takes, and whether it
    obeys orders that a message hides. The exit code is 1 if anything fails.
    """
    from thymus.cli import screen

    chosen = session(ctx)
    findings = list(examine(chosen))
    ok = all(finding.state != "fail" for finding in findings)
    if chosen.json:
        screen.write_json({"ok": ok, "checks": [finding.to_dict() for finding in findings]})
    else:
        listed = screen.table("", "", "")
        for finding in findings:
            listed.add_row(screen.word(finding.state), finding.name, screen.own(finding.found))
            if finding.remedy:
                listed.add_row("", "", screen.own(f"→ {finding.remedy}"))
        screen.open_screen().print(listed)
    if not ok:
        raise typer.Exit(PROBLEMS)


def examine(chosen: Session) -> Iterator[Finding]:
    """Look at everything; a check that cannot be made is itself a finding."""
    settings = chosen.settings()
    checks: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
        ("Python", _python),
        ("SQLite", _sqlite),
        ("bundled model", _model_files),
        ("first embedding", _model_runs),
        ("gate", lambda: _gate(settings.gate)),
        ("judge", lambda: _judge(settings.llm)),
        ("memory", lambda: _memory(chosen, settings.db)),
        ("clients", lambda: _clients(settings)),
    )
    for name, check in checks:
        try:
            yield from check()
        except ThymusError as error:
            yield Finding(name=name, state="fail", found="unusable", remedy=in_commands(error))
        except Exception as error:  # noqa: BLE001  (a doctor reports whatever ails)
            remedy = "install thymus-memory again; if that does not help, please report it"
            yield Finding(name=name, state="fail", found=f"{type(error).__name__}: {error}", remedy=remedy)


def _python() -> Iterator[Finding]:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield Finding(name="Python", state="ok", found=found)


def _sqlite() -> Iterator[Finding]:
    import sqlite3

    version = sqlite3.sqlite_version
    old = sqlite3.sqlite_version_info < OLDEST_SQLITE
    remedy = "use a Python that is built with SQLite 3.37 or later" if old else ""
    yield Finding(name="SQLite", state="fail" if old else "ok", found=version, remedy=remedy)


def _model_files() -> Iterator[Finding]:
    from thymus import config, embed

    models = Path(embed.__file__).parent / "models"
    for name in (config.DEFAULT_EMBEDDER, *sorted(folder.name for folder in models.glob("judge*") if folder.is_dir())):
        yield _model(models / name)


def _model(folder: Path) -> Finding:
    """Whether a bundled model's files are those that its card names by SHA-256."""
    name = folder.name
    card = json.loads((folder / "card.json").read_text(encoding="utf-8")) if (folder / "card.json").is_file() else {}
    files: dict[str, str] = card.get("files", {})
    wrong = [file for file, digest in files.items() if _sha256(folder / file) != digest]
    if not files or wrong:
        found = f"{name}: {', '.join(wrong) or 'its card'} missing or changed"
        remedy = "install thymus-memory again: its files are damaged or incomplete"
        return Finding(name="bundled model", state="fail", found=found, remedy=remedy)
    size = sum((folder / file).stat().st_size for file in files)
    return Finding(name="bundled model", state="ok", found=f"{name}, {_bytes(size)}, as its card says (SHA-256)")


def _sha256(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _model_runs() -> Iterator[Finding]:
    from thymus import config
    from thymus.embed import get_embedder

    begun = time.perf_counter()
    get_embedder(config.DEFAULT_EMBEDDER).embed(["My standup is at 9:15."], role="passage")
    took = time.perf_counter() - begun
    slow = took > SLOW_LOAD
    remedy = "the machine is busy, or the disk slow: only the first write of a process waits for this" if slow else ""
    state = "warn" if slow else "ok"
    yield Finding(name="first embedding", state=state, found=f"{took:.2f} s, with loading the model", remedy=remedy)


def _gate(name: str) -> Iterator[Finding]:
    from thymus.core.gates import get_gate

    gate = get_gate(name)
    remedy = "it is here to be compared with: leave --gate and THYMUS_GATE away for real use" if gate.unsafe else ""
    yield Finding(name="gate", state="warn" if gate.unsafe else "ok", found=gate.name, remedy=remedy)


def _judge(llm: str | None) -> Iterator[Finding]:
    from thymus import config
    from thymus.judges import ONLY
    from thymus.llm import names_model

    if llm and names_model(llm.removeprefix(ONLY)):
        from thymus.cli.model_health import examine_model

        yield from examine_model(llm.removeprefix(ONLY))
        return
    judge = config.open_judge(llm or config.DEFAULT_JUDGE, config.LazyEmbedder(config.DEFAULT_EMBEDDER))
    yield Finding(name="judge", state="ok", found=judge.name)


def _memory(chosen: Session, db: str) -> Iterator[Finding]:
    from thymus import config

    if is_file(db):
        path = Path(db)
        yield from _place(path)
        if not path.exists():
            yield Finding(name="memory", state="ok", found=f"{path}: not there yet, the first write begins it")
            return
    begun = time.perf_counter()
    with replace(chosen, llm=config.DEFAULT_JUDGE).guard() as guard:  # a model that fails is no fault of the memory
        yield Finding(name="memory", state="ok", found=f"{db}{_schema(db)}")
        checked = guard.verify()
    took = time.perf_counter() - begun
    users = _users(db, config.LazyEmbedder(config.DEFAULT_EMBEDDER))
    yield Finding(
        name="contents",
        state="ok",
        found=f"{count(checked.beliefs, 'memory', 'memories')} of {count(users, 'user', 'users')}",
    )
    if checked.ok:
        yield Finding(name="ledger", state="ok", found=f"{checked.entries:,} acts verified in {took:.1f} s")
    else:
        remedy = "`thymus verify` names each; restore a backup, and keep this file as evidence"
        yield Finding(name="ledger", state="fail", found=f"{len(checked.problems):,} problems", remedy=remedy)


def _place(path: Path) -> Iterator[Finding]:
    folder = next((parent for parent in path.absolute().parents if parent.is_dir()), Path.cwd())
    for place in (path, folder):
        if place.exists() and not os.access(place, os.W_OK):
            remedy = f"give yourself the right to write {place}, or name another file with --db or THYMUS_DB"
            yield Finding(name="place", state="fail", found=f"{place} is not writable", remedy=remedy)
            return
    free = shutil.disk_usage(folder).free
    short = free < LITTLE_SPACE
    remedy = f"free some space: under {_bytes(LITTLE_SPACE)} writes may soon fail" if short else ""
    state = "warn" if short else "ok"
    yield Finding(name="place", state=state, found=f"writable, {_bytes(free)} free", remedy=remedy)


def _schema(db: str) -> str:
    if not is_file(db) or db.endswith(".json"):
        return ""
    import sqlite3

    connection = sqlite3.connect(f"{Path(db).absolute().as_uri()}?mode=ro", uri=True)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    finally:
        connection.close()
    return f", schema {version}, {_bytes(Path(db).stat().st_size)}"


def _users(db: str, embedder: Any) -> int:
    from thymus import config

    store = config.open_store(db, embedder)
    try:
        return len(store.scopes())
    finally:
        store.close()


def _bytes(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _clients(settings: Settings) -> Iterator[Finding]:
    from thymus.cli.client_health import findings

    yield from findings(settings)
