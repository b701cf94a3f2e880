"""The hooks in a client's settings, and what comes with them: written, recognised, removed.

With them come the variables that they run with, and rules that the assistant may not run ``thymus`` itself: whoever
may run it speaks for the user.

Our hook stands in a group of its own after the groups of others. One that its owner has moved, or given a matcher or
another time limit, stays where and as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from thymus.install.client import Hooks
from thymus.install.edits import END, put, take
from thymus.install.jsonc import Key, read
from thymus.install.launch import VARIABLES, Launch, Options, runs_hook

HOOKS: Final = "hooks"
ENV: Final = "env"
DENY: Final = ("permissions", "deny")


def places(value: Any, event: str) -> list[tuple[int, int]]:
    """Where our hook stands under an event: in which group, and there in which place."""
    groups = _inner(_inner(value, HOOKS), event)
    return [
        (at, place)
        for at, one in enumerate(_list(groups))
        for place, hook in enumerate(_list(_inner(one, HOOKS)))
        if runs_hook(hook)
    ]


def hook(value: Any, event: str) -> Any:
    """Our hook of an event, ``None`` where there is none."""
    found = places(value, event)
    return value[HOOKS][event][found[0][0]][HOOKS][found[0][1]] if found else None


def events(value: Any) -> list[str]:
    """The events that our hook is called for, in the file's order."""
    named = _inner(value, HOOKS)
    return [event for event in named if places(value, event)] if isinstance(named, dict) else []


def options(value: Any) -> Options:
    """With which options our hooks run; none where there are none."""
    env = _inner(value, ENV)
    return Options.from_variables(env) if events(value) and isinstance(env, dict) else Options()


def wanted(client: Hooks, launch: Launch) -> dict[str, Any]:
    """What a hook says."""
    return {"type": "command", "command": launch.command, "args": [*launch.args], "timeout": client.within}


def write(text: str, client: Hooks, launch: Launch, chosen: Options, *, alone: bool = False) -> str:
    """The text with our hook under each event, and the variables for the options.

    :param alone: whether variables of ours that are not chosen go: where others may have written them.
    """
    for event, matcher in client.events.items():
        text = _write_event(text, event, matcher, wanted(client, launch))
    for rule in client.deny:
        if rule not in _denied(read(text).value):
            text = put(text, (*DENY, END), rule)
    env = _inner(read(text).value, ENV)
    for name in list(env) if alone and isinstance(env, dict) else ():
        if name.startswith("THYMUS_") and name not in chosen.variables():
            text = take(text, (ENV, name))
    for name, value in chosen.variables().items():
        if not isinstance(env, dict) or env.get(name) != value:
            text = put(text, (ENV, name), value)
    return text


def group(matcher: str, hook: dict[str, Any]) -> dict[str, Any]:
    """A group with our hook alone."""
    return ({"matcher": matcher} if matcher else {}) | {HOOKS: [hook]}


def _write_event(text: str, event: str, matcher: str, new: dict[str, Any]) -> str:
    value = read(text).value
    found = places(value, event)
    if not found:
        return put(text, (HOOKS, event, END), group(matcher, new))
    for at, place in reversed(found[1:]):
        text = _take_hook(text, event, at, place)
    (at, place), had = found[0], hook(value, event)
    for key, said in new.items():
        if key not in had or (key != "timeout" and had[key] != said):
            text = put(text, (HOOKS, event, at, HOOKS, place, key), said)
    return text


def erase(text: str, client: Hooks, before: Any) -> str:
    """The text without our hooks, whatever events an older version had, and without what came with them.

    :param before: what the file said before they were put there, as far as that is known.
    """
    ours = events(read(text).value)
    for event in ours:
        for at, place in reversed(places(read(text).value, event)):
            text = _take_hook(text, event, at, place)
        text = _take_empty(text, (HOOKS, event), before)
    if not ours:
        return text
    text = _take_empty(text, (HOOKS,), before)
    for rule in client.deny:
        denied = _denied(read(text).value)
        if rule in denied and rule not in _denied(before):
            text = take(text, (*DENY, denied.index(rule)))
    text = _take_empty(_take_empty(text, DENY, before), DENY[:1], before)
    had, now = _inner(before, ENV), _inner(read(text).value, ENV)
    for name in VARIABLES.values():
        if not isinstance(now, dict) or name not in now:
            continue
        if not isinstance(had, dict) or name not in had:
            text = take(text, (ENV, name))
        elif had[name] != now[name]:
            text = put(text, (ENV, name), had[name])
    return _take_empty(text, (ENV,), before)


def _take_hook(text: str, event: str, at: int, place: int) -> str:
    alone = len(read(text).value[HOOKS][event][at][HOOKS]) == 1
    path: tuple[Key, ...] = (HOOKS, event, at)
    return take(text, path if alone else (*path, HOOKS, place))


def _take_empty(text: str, path: tuple[str, ...], before: Any) -> str:
    now = read(text).value
    for key in path:
        now, before = _inner(now, key), _inner(before, key)
    return take(text, path) if now in ({}, []) and before is None else text


def steps(value: Any, client: Hooks) -> Iterator[tuple[tuple[Key, ...], Any]]:
    """What was put where, so that it can be put once more, in the order of ``write``."""
    for event in dict.fromkeys([*client.events, *events(value)]):
        for at, place in places(value, event):
            whole = value[HOOKS][event][at]
            alone = len(whole[HOOKS]) == 1
            yield ((HOOKS, event, END), whole) if alone else ((HOOKS, event, at, HOOKS, END), whole[HOOKS][place])
    for rule in client.deny:
        if rule in _denied(value):
            yield (*DENY, END), rule
    env = _inner(value, ENV)
    for name in env if isinstance(env, dict) else ():
        if name in VARIABLES.values():
            yield (ENV, name), env[name]


def missing(value: Any, client: Hooks) -> list[str]:
    """The rules against speaking for the user that are not there."""
    return [rule for rule in client.deny if rule not in _denied(value)]


def _denied(value: Any) -> list[Any]:
    return _list(_inner(_inner(value, DENY[0]), DENY[1]))


def _inner(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
