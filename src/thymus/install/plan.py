"""What would be changed in which file, found out before anything is; then all of it, or nothing.

Uninstalling gives a file back to the letter: each copy that an earlier run made, and no file at all, is tried as what
stood there before, and taken where putting our part into it gives exactly what is there now. Where others wrote since,
our part alone is taken out.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from thymus.install import files, hooks, launch, servers
from thymus.install.client import Client, Scope
from thymus.install.edits import put
from thymus.install.files import File
from thymus.install.jsonc import BrokenJsonError, Document, Key, ShapeError, read
from thymus.install.launch import Options
from thymus.install.refusals import InstallError
from thymus.install.surroundings import Surroundings

NEW: Final = "{}\n"
"""What a file that does not exist yet begins as."""
Made = TypeVar("Made")
Steps = Iterator[tuple[tuple[Key, ...], Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file before and after.

    :param after: its bytes, ``None`` where it goes.
    :param ours: what of its words we put there: all others are kept from view.
    """

    file: File
    after: bytes | None
    ours: frozenset[str] = frozenset()

    @property
    def needed(self) -> bool:
        """Whether anything changes."""
        return self.after != self.file.raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The changes to a client's files in one scope.

    :param options: with which Thymus runs there afterwards.
    :param warnings: what its owner should look at in what stays as it is.
    """

    client: Client
    scope: Scope
    changes: tuple[Change, ...]
    options: Options = field(default_factory=Options)
    warnings: tuple[str, ...] = ()

    @property
    def needed(self) -> tuple[Change, ...]:
        """The changes that change something."""
        return tuple(change for change in self.changes if change.needed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Our part in one of a client's files, and what can be done with it."""

    path: Path
    comments: bool
    shown: Any
    is_there: Callable[[Any], bool]
    options: Callable[[Any], Options]
    env: Callable[[Any], Any]
    write: Callable[[str, Options], str]
    erase: Callable[[str, Any], str]
    steps: Callable[[Any], Steps]


def plan_install(client: Client, scope: Scope, given: Options, surroundings: Surroundings) -> Plan:
    """What connecting a client would change.

    :param given: what was asked for. What is not stays as it is in the client's files; where Thymus is not in them yet,
        the environment decides, since a program of a desktop does not see it. It decides for a project too, whose files
        may be anybody's: a cloned one must not choose the user's memory, nor a language model that reads it.
    :raises InstallError: where a file cannot be changed; none is then.
    :raises InputError: for options that no configuration may hold.
    """
    given = given.checked(surroundings.project)
    parts = _parts(client, scope, given, surroundings)
    opened = [(part, *_open(part)) for part in parts]
    there = Options()
    for part, _, document in opened if scope == "user" else ():
        there = there.over(part.options(document.value))
    if scope == "project" or not any(part.is_there(document.value) for part, _, document in opened):
        there = Options.from_variables(surroundings.variables).checked(surroundings.project)
    chosen = given.over(there)
    texts = [_edited(part, partial(part.write, document.text, chosen)) for part, _, document in opened]
    changes = [_change(*one, text) for one, text in zip(opened, texts, strict=True)]
    warnings = [
        f"{part.path} sets {', '.join(names)} for what it starts, Thymus too: take that out unless you put it there"
        for part, text in zip(parts, texts, strict=True)
        if (names := launch.swayed(part.env(read(text, comments=part.comments).value)))
    ]
    return Plan(client=client, scope=scope, changes=tuple(changes), options=chosen, warnings=tuple(warnings))


def plan_removal(client: Client, scope: Scope, surroundings: Surroundings) -> Plan:
    """What disconnecting a client would change.

    :raises InstallError: where a file cannot be changed; none is then.
    """
    changes = []
    for part in _parts(client, scope, Options(), surroundings):
        file = files.read(part.path)
        if file.raw is None:
            continue
        file, document = _open(part)
        if not part.is_there(document.value):
            continue
        certain, text = _before(part, file, document)
        if not certain:
            before = None if text is None else read(_begun(text)).value
            text = _edited(part, partial(part.erase, document.text, before))
        changes.append(_change(part, file, document, text))
    return Plan(client=client, scope=scope, changes=tuple(changes))


def carry_out(plan: Plan, *, now: datetime) -> list[Path]:
    """Make the changes; the copies that were made of what was there.

    :raises InstallError: where one fails: those made before it are undone.
    """
    done: list[tuple[Change, Path | None]] = []
    try:
        for change in plan.needed:
            copy = files.replace(change.file, change.after, now=now)
            done.append((change, copy))
    except InstallError:
        for change, made in reversed(done):
            with contextlib.suppress(InstallError):
                files.replace(File(path=change.file.path, raw=change.after), change.file.raw, now=None)
            if made:
                made.unlink(missing_ok=True)
        raise
    return [copy for _, copy in done if copy]


def _parts(client: Client, scope: Scope, given: Options, surroundings: Surroundings) -> list[_Part]:
    start, run, alone = launch.server(surroundings), launch.hook(surroundings), scope == "project"
    path = client.server_file(scope, surroundings)
    if path is None:
        raise InstallError(f"{client.title} has one configuration for all projects: leave --scope away")
    found = [
        _Part(
            path=path,
            comments=client.comments,
            shown={client.servers: {servers.NAME: servers.wanted(client, start, given)}},
            is_there=lambda value: servers.is_installed(value, client),
            options=lambda value: servers.options(value, client),
            env=lambda value: (servers.entry(value, client) or {}).get("env"),
            write=lambda text, chosen: servers.write(text, client, start, chosen, alone=alone),
            erase=lambda text, before: servers.erase(text, client, before),
            steps=lambda value: servers.steps(value, client),
        )
    ]
    path, set_up = client.hooks_file(scope, surroundings), client.hooks
    if path is not None and set_up is not None:
        wanted = hooks.wanted(set_up, run)
        groups = {event: [hooks.group(matcher, wanted)] for event, matcher in set_up.events.items()}
        found.append(
            _Part(
                path=path,
                comments=False,
                shown={hooks.HOOKS: groups, hooks.DENY[0]: {hooks.DENY[1]: [*set_up.deny]}},
                is_there=lambda value: bool(hooks.events(value)),
                options=hooks.options,
                env=lambda value: value.get(hooks.ENV),
                write=lambda text, chosen: hooks.write(text, set_up, run, chosen, alone=alone),
                erase=lambda text, before: hooks.erase(text, set_up, before),
                steps=lambda value: hooks.steps(value, set_up),
            )
        )
    return found


def _open(part: _Part) -> tuple[File, Document]:
    file = files.read(part.path)
    return file, _edited(part, lambda: read(_begun(file.text), comments=part.comments))


def _begun(text: str) -> str:
    return text if text.strip() else NEW


def _edited(part: _Part, edit: Callable[[], Made]) -> Made:
    """What an edit makes; where it cannot, its owner is told where to look and what to paste."""
    try:
        return edit()
    except (BrokenJsonError, ShapeError, InstallError) as error:
        if isinstance(error, InstallError):
            said = str(error) if error.path else f"{part.path}: {error}"
        elif isinstance(error, BrokenJsonError):
            said = f"{part.path}, {error}: its program reads nothing of it. Mend that, and run this again"
        else:
            said = f"{part.path}: {error}. Mend that and run this again, or put it there yourself"
        raise InstallError(said, path=part.path, snippet=json.dumps(part.shown, indent=2, ensure_ascii=False)) from None


def _change(part: _Part, file: File, was: Document, text: str | None) -> Change:
    after = file.raw if text == was.text and file.raw else None if text is None else file.encode(text)
    now = None if text is None else read(_begun(text)).value
    words = {word for value in (was.value, now) for _, step in part.steps(value) for word in _words(step)}
    return Change(file=file, after=after, ours=frozenset(words))


def _words(value: Any) -> Iterator[str]:
    """What may be shown of our part: all but the variables that its owner gave a value there."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            own = key == "env" and isinstance(inner, dict)
            yield from _words([word for word in inner.values() if str(word).startswith("${")] if own else inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _words(inner)


def _before(part: _Part, file: File, document: Document) -> tuple[bool, str | None]:
    """What stood there before our part, and whether that is certain; else the newest copy without it, if any."""
    likely: str | None = None
    for _, text in files.copies(file.path):
        try:
            value = read(_begun(text)).value
        except BrokenJsonError:
            continue
        if part.is_there(value):
            continue
        if _put_again(part, text, value, document) == document.text:
            return True, text
        likely = likely if likely is not None else text
    if likely is None and _put_again(part, NEW, {}, document) == document.text:
        return True, None
    return False, likely


def _put_again(part: _Part, text: str, was: Any, document: Document) -> str | None:
    text = _begun(text)
    try:
        for path, value in part.steps(document.value):
            if not _has(was, path, value):
                text = put(text, path, value)
    except ShapeError:
        return None
    return text


def _has(whole: Any, path: tuple[Key, ...], value: Any) -> bool:
    for key in path[:-1]:
        whole = whole.get(key) if isinstance(whole, dict) and isinstance(key, str) else None
    last = path[-1]
    if isinstance(last, str):
        return isinstance(whole, dict) and whole.get(last) == value
    return isinstance(whole, list) and value in whole
