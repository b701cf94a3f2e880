"""``thymus hook``: what the host runs on each event. Whatever fails, it ends with 0, and soon.

It keeps the event in the spool and asks the resident, which it starts where there is none. An answer that does not come
in time is gone without; the event is not: it waits in the spool. Standard library only, and without ``pathlib``,
``typing`` and ``contextlib``: each takes 5 to 15 ms to import, on every event.
"""

from __future__ import annotations

import json
import os
import sys
import time
from binascii import crc32

from thymus._version import __version__
from thymus.hooks import places, spool, wire

WITHIN_S = 1.5
"""Seconds in which an event that injects context is answered, from the start of this module; then it goes without."""
NUDGE_S = 0.25
"""Seconds for telling the resident of an event that needs no answer."""
AT_MOST_S = 4.0
"""Seconds after which this process ends whatever it is doing: a disk or a socket that hangs must not hang the host."""
LONGEST_EVENT = 64_000_000
"""Bytes; a longer event is not read, and the user told of it."""
LONGEST_TEXT = 200_000
"""Characters of a text in an event that are kept: the start of a result of megabytes says what it is."""
USAGE = """\
Usage: thymus hook            read one hook event of Claude Code on standard input
       thymus hook --status   what waits to be learned, and whether the resident runs
       thymus hook --stop     end the resident; the next event starts another
See docs/how-to/claude-code.md. Settings: THYMUS_DB, THYMUS_USER, THYMUS_GATE, THYMUS_LLM, THYMUS_HOOK_LOG.
"""
HOSTS = "THYMUS_HOOK_HOSTS"
"""Names further programs, beside those that Claude Code comes as, in which a person types the prompts."""
UNREAD = "Unread"
"""The event that is made of one that could not be read: something unknown has entered the session."""

_ANSWERED = ("SessionStart", "UserPromptSubmit")
_LEARNED = ("UserPromptSubmit", "PostToolUse", "PostToolUseFailure")
_SCHEDULERS = ("CronCreate", "ScheduleWakeup")
_SETTINGS = {"db": "THYMUS_DB", "user": "THYMUS_USER", "gate": "THYMUS_GATE", "llm": "THYMUS_LLM"}
_STARTED = time.monotonic()


def main(arguments: list[str]) -> None:
    """Run ``thymus hook``; never returns, and never fails."""
    if arguments == ["--serve"]:
        from thymus.hooks.resident import serve

        sys.exit(serve())
    if arguments:
        sys.exit(_command(arguments))
    try:
        _end_soon()
        _say(_answer(_read()))
    except BaseException as error:  # noqa: BLE001  (whatever fails, the host goes on)
        places.log(f"client: {error!r}")
    _leave(0)


def _leave(code: int) -> None:
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        pass
    os._exit(code)  # nothing is left to close, and Python's own end takes 5 ms


def _end_soon() -> None:
    """Have this process end in time even where a system call never returns."""
    import signal

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda *_: _leave(0))
        signal.setitimer(signal.ITIMER_REAL, AT_MOST_S)


def _read() -> bytes:
    """The event, or nothing where it is too long; all of it is read, so that the host's pipe does not break."""
    if sys.stdin is None or sys.stdin.isatty():
        sys.stderr.write(USAGE)
        return b""
    given, length = [], 0
    while part := os.read(sys.stdin.fileno(), 1_000_000):
        length += len(part)
        if length <= LONGEST_EVENT:
            given.append(part)
    if length > LONGEST_EVENT:
        return _unread(given[0], f"{length} bytes")
    return b"".join(given)


def _unread(begins: bytes, why: str) -> bytes:
    """Count an event that cannot be read; what stands for it, where it is plain which session it was of.

    Whatever it brought is in that session now: a result that is nested deep enough must not get past us unseen.
    """
    import re

    places.log(f"an event could not be read: {why}")
    spool.count_unread()
    found = re.search(rb'"session_id"\s*:\s*"([\w.-]{1,100})"', begins[:10_000])
    return json.dumps({"hook_event_name": UNREAD, "session_id": found[1].decode()}).encode() if found else b""


def _answer(given: bytes) -> dict[str, object]:
    if not given.strip():
        return {}
    try:
        event = json.loads(given)
    except (ValueError, RecursionError) as error:
        event = json.loads(_unread(given, str(error)) or b"{}")
    if not isinstance(event, dict):
        return {}
    name = str(event.get("hook_event_name"))
    if name == "Stop" and not event.get("session_crons"):
        return {}
    if name in _LEARNED or name in ("Stop", UNREAD):
        answer = _hand_over(event, name)
    elif name in ("SessionStart", "SessionEnd"):
        start = name == "SessionStart"
        answer = _ask({"do": "tell", "item": _item(event)}, wait=start, start=start)
    else:
        return {}
    return _with_notices(answer) if name in _ANSWERED else answer


def _with_notices(answer: dict[str, object]) -> dict[str, object]:
    """An answer with what the user does not know yet of events that were lost, and of a folder that is not theirs."""
    told = [str(answer["systemMessage"])] if "systemMessage" in answer else []
    try:
        if lost := spool.newly_unread():
            many = f"{lost} events" if lost > 1 else "1 event"
            told.append(
                f"{many} could not be read by thymus (too long, nested too deep, or damaged): nothing of it was "
                "learned. Run `thymus doctor`."
            )
        path = places.socket_path()
        if os.path.dirname(path) == places.state_dir() and (others := places.refused()) and places.once("refused"):
            told.append(
                f"{' and '.join(others)}: made by somebody else, or open to others, so that thymus keeps its socket in "
                f"{path}. Run `thymus doctor`."
            )
    except OSError as error:
        places.log(f"no notices: {error!r}")
    return {**answer, "systemMessage": "\n".join(told)} if told else answer


def _item(event: dict[str, object]) -> dict[str, object]:
    """An event with what the resident cannot see: how this process was set up."""
    settings = {name: os.environ[key] for name, key in _SETTINGS.items() if key in os.environ}
    if settings.get("db") and "://" not in settings["db"] and settings["db"] != ":memory:":
        settings["db"] = os.path.abspath(settings["db"])
    return {
        "settings": settings,
        "host": os.environ.get("CLAUDE_CODE_ENTRYPOINT", ""),
        "hosts": os.environ.get(HOSTS, ""),
        # Claude Code gives it to the commands that its model runs, and to no hook: who has it was started by one.
        "nested": "CLAUDE_CODE_EXECPATH" in os.environ,
        "trusts_programs": os.environ.get("THYMUS_HOOK_PROGRAMS") == "user",
        "event": event,
    }


def _hand_over(event: dict[str, object], name: str) -> dict[str, object]:
    schedules = name == "Stop" or event.get("tool_name") in _SCHEDULERS
    try:
        # Lone surrogates are legal in JSON's escapes; written back as escapes they are no trouble to any encoding.
        cut: list[int] = []
        item = _item(_cut(event, 40, cut))  # type: ignore[arg-type]
        item["cut"] = bool(cut)
        memory = crc32(json.dumps(item["settings"], sort_keys=True).encode())
        kept = spool.put(json.dumps(item).encode(), spool.URGENT if schedules else spool.ORDINARY, memory)
    except OSError as error:
        places.log(f"not kept: {error!r}")
        return _once(event, f"thymus could not keep what was said ({_why(error)}): nothing of it was remembered")
    return _ask({"do": "learn", "name": kept}, wait=name in _ANSWERED, start=True)


def _cut(value: object, deep: int, cut: list[int]) -> object:
    """The event without what is too long, or too deep, to be of use.

    :param cut: gets the length of whatever was cut.
    """
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            cut.append(len(value))
        return value[:LONGEST_TEXT]
    if isinstance(value, (dict, list)) and not deep:
        cut.append(len(value))
        return type(value)()
    if isinstance(value, dict):
        return {key: _cut(inner, deep - 1, cut) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cut(inner, deep - 1, cut) for inner in value]
    return value


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def _once(event: dict[str, object], message: str) -> dict[str, object]:
    """A message to the user, once a session; where that cannot be noted, at the start of a session only."""
    try:
        told = f"{places.socket_path()}.told-{crc32(str(event.get('session_id')).encode('utf-8', 'replace')):08x}"
        if not places.make_new(told):
            return {}
    except OSError:
        if event.get("hook_event_name") != "UserPromptSubmit":
            return {}
    return {"systemMessage": f"{message}. Run `thymus doctor`."}


def _ask(request: dict[str, object], *, wait: bool, start: bool) -> dict[str, object]:
    """The resident's answer; started where it is not there, and given up where it takes too long."""
    path = places.socket_path()
    until = _STARTED + WITHIN_S if wait else time.monotonic() + NUDGE_S
    asked_for = False
    while (left := until - time.monotonic()) > 0:
        try:
            answer = wire.ask(path, {**request, "wait": left if wait else 0}, left)
            if answer.get("version") == __version__:
                found = answer.get("answer")
                return found if isinstance(found, dict) else {}
            places.log("a resident of another version makes way")
            asked_for = False
        except TimeoutError:
            break
        except OSError as error:
            places.log(f"no resident yet: {error!r}")
        if not start:
            break
        if not asked_for:
            _start()
            asked_for = True
        if not wait:
            break
        time.sleep(0.03)
    return {}


def _start() -> None:
    """Start the resident, so that it outlives this process and holds nothing of it open."""
    import subprocess

    # -P: the folder that the host works in may hold anybody's `json.py`.
    command = [sys.executable, "-P", "-m", "thymus.cli", "hook", "--serve"]
    apart = {"creationflags": 0x00000208} if sys.platform == "win32" else {"start_new_session": True}
    subprocess.Popen(  # noqa: S603  (our own command)
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=True,
        cwd=os.path.expanduser("~") if os.path.isdir(os.path.expanduser("~")) else os.sep,
        **apart,
    )


def _say(answer: dict[str, object]) -> None:
    if answer:
        sys.stdout.write(json.dumps(answer) + "\n")


def status() -> dict[str, object]:
    """What waits, what was set aside, and what the resident says of itself (``None`` where none runs).

    :raises OSError: where the folders cannot be used.
    """
    resident: dict[str, object] | None = None
    try:
        resident = wire.ask(places.socket_path(), {"do": "status"}, 2.0)
    except OSError as error:
        places.log(f"no resident: {error!r}")
    return {
        "state": places.state_dir(),
        "socket": places.socket_path(),
        "waiting": len(spool.waiting()),
        "failed": len(spool.failed()),
        "unread": spool.unread(),
        "refused": places.refused(),
        "resident": resident,
    }


def stop(within: float = 10.0) -> bool:
    """End the resident, if one runs; whether none runs any more. What waits stays in the spool."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            wire.ask(places.socket_path(), {"do": "stop"}, 2.0)
        except (FileNotFoundError, ConnectionRefusedError):
            return True
        except OSError:
            pass
        time.sleep(0.05)
    return False


def _command(arguments: list[str]) -> int:
    try:
        if arguments == ["--status"]:
            sys.stdout.write(json.dumps(status(), indent=2) + "\n")
            return 0
        if arguments == ["--stop"]:
            return 0 if stop() else 1
    except OSError as error:
        sys.stderr.write(f"{_why(error)}\n")
        return 1
    helped = arguments in (["--help"], ["-h"])
    (sys.stdout if helped else sys.stderr).write(USAGE)
    return 0 if helped else 2
