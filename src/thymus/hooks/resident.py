"""The resident: one process of this account that keeps memories open between events.

It takes events from the spool, one at a time: the host waits only for a prompt's, which goes before the others. It ends
after ``IDLE_S`` without an event, when a client of another version asks, or when somebody removed its socket. At most
one runs: it holds a lock, which the kernel releases however it ends.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from thymus._version import __version__
from thymus.errors import InputError
from thymus.hooks import places, spool, wire
from thymus.hooks.places import log
from thymus.hooks.spool import LaterError

if TYPE_CHECKING:
    from thymus.hooks.listening import Listener

IDLE_S: Final = 30 * 60.0
READ_S: Final = 2.0
"""Seconds for a client to say what it wants."""
ANSWER_S: Final = 10.0
"""Seconds after which nobody waits for an answer any more."""
RETRY_S: Final = 5.0
"""Seconds before events that could not be learned are tried again."""
MOST_AT_ONCE: Final = 64
"""Connections; one more is closed."""
TAKEOVER_S: Final = 10.0


class _Ask:
    """A request that somebody waits for."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.answer: dict[str, Any] = {}
        self.answered = threading.Event()
        wait = request.get("wait")
        self.until = time.monotonic() + (min(wait, ANSWER_S) if isinstance(wait, (int, float)) else 0.0)

    def give(self, answer: dict[str, Any]) -> None:
        """Answer it; a second answer is none."""
        if not self.answered.is_set():
            self.answer = answer
            self.answered.set()

    @property
    def late(self) -> bool:
        """Whether nobody will hear an answer any more."""
        return self.answered.is_set() or time.monotonic() >= self.until


class Resident:
    """The thread that accepts, and the one that works."""

    def __init__(self, path: str, line: socket.socket, secret: str, idle: float) -> None:
        self._path, self._line, self._secret, self._idle = path, line, secret, idle
        self._asks: deque[_Ask] = deque()
        self._woken = threading.Condition()
        self._over = False
        self._last = time.monotonic()
        self._connections = threading.Semaphore(MOST_AT_ONCE)
        self._put_off: dict[str, tuple[float, str]] = {}
        self._learned = 0

    def run(self) -> None:
        """Serve until it is over."""
        worker = threading.Thread(target=self._work, name="thymus-hooks")
        worker.start()
        own = self._inode()
        self._line.settimeout(min(1.0, self._idle))
        try:
            while not self._over:
                if time.monotonic() - self._last > self._idle or self._inode() != own:
                    break
                with suppress(TimeoutError):
                    self._accept(self._line.accept()[0])
        finally:
            self._line.close()
            self._end()
            worker.join()
            if self._inode() == own:
                with suppress(OSError):
                    Path(self._path).unlink()

    def _inode(self) -> int:
        try:
            return Path(self._path).stat().st_ino
        except OSError:
            return 0

    def _end(self, *_: object) -> None:
        with self._woken:
            self._over = True
            self._woken.notify_all()

    def _accept(self, line: socket.socket) -> None:
        if not self._connections.acquire(blocking=False):
            line.close()
            return
        threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        try:
            with line:
                line.settimeout(READ_S)
                wire.check_client(line, self._secret)
                request = wire.receive(line)
                self._last = time.monotonic()
                wire.send(line, {"version": __version__, **self._reply(request)})
        except OSError as error:
            log(f"a connection ended: {error!r}")
        finally:
            self._connections.release()

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("do") == "status":
            return {
                "pid": os.getpid(),
                "learned": self._learned,
                "failures": [why for _, why in self._put_off.values()],
            }
        if request.get("do") == "stop" or request.get("version") != __version__:
            self._end()
            return {}
        if request.get("do") == "learn" and not request.get("wait"):
            with self._woken:
                self._woken.notify_all()
            return {} if not self._over else {"version": "ending"}
        ask = _Ask(request)
        with self._woken:
            self._asks.append(ask)
            self._woken.notify_all()
        ask.answered.wait(max(0.0, ask.until - time.monotonic()))
        # One that has just come to its end heeds nobody: the client is to start another.
        return {"answer": ask.answer} if not self._over else {"version": "ending"}

    def _work(self) -> None:
        from thymus.hooks.listening import Listener  # takes half a second, in which clients can already wait in line

        try:
            listener = Listener(lambda: self._heed_asks(listener))
        except OSError as error:
            log(f"no state folder: {error!r}")
            self._end()
            return
        try:
            while not self._over:
                ask, name = self._next()
                self._urgent(listener)
                if ask is not None:
                    self._heed(listener, ask)
                elif name:
                    self._learn(listener, name, _Ask({}))
        except BaseException as error:  # noqa: BLE001  (the next event starts another resident; nothing is lost)
            log(f"the resident fails: {error!r}")
        finally:
            self._end()
            for ask in self._asks:
                ask.give({})
            listener.close()

    def _next(self) -> tuple[_Ask | None, str]:
        """What to do now: a prompt, then what waits longest. Sleeps while there is neither."""
        with self._woken:
            if self._asks:
                return self._asks.popleft(), ""
            with suppress(OSError):
                for name in spool.waiting():
                    if not self._is_put_off(name):
                        return None, name
            if not self._over:
                self._woken.wait(RETRY_S)
            return None, ""

    def _is_put_off(self, name: str) -> bool:
        return time.monotonic() < self._put_off.get(spool.memory_of(name), (0.0, ""))[0]

    def _urgent(self, listener: Listener) -> None:
        """What says that a prompt will not be the user's is heard before any prompt."""
        with suppress(OSError):
            for name in spool.waiting():
                if spool.urgent(name):
                    self._learn(listener, name, _Ask({}))

    def _heed_asks(self, listener: Listener) -> None:
        """Between the parts of something long: who waits is answered."""
        while self._asks:
            self._heed(listener, self._asks.popleft())

    def _heed(self, listener: Listener, ask: _Ask) -> None:
        item = ask.request.get("item")
        try:
            if ask.request.get("do") == "learn":
                self._learn(listener, str(ask.request.get("name")), ask)
            elif isinstance(item, dict):
                ask.give(listener.tell(item))
        except LaterError as error:
            if isinstance(item, dict) and not ask.late:
                ask.give(listener.failed(item, str(error)))
        except Exception as error:  # noqa: BLE001  (a session goes on without us)
            log(f"{ask.request.get('do')} fails: {error!r}")
        finally:
            ask.give({})

    def _learn(self, listener: Listener, name: str, ask: _Ask) -> None:
        """Learn one event of the spool; it leaves the spool when the memory has it, or when it never will."""
        memory = spool.memory_of(name)
        try:
            item = json.loads(spool.take(name))
            if spool.begin(name) >= spool.ATTEMPTS:
                raise InputError("it ended every process that learned it")  # noqa: TRY301
            if self._is_put_off(name) and not ask.late:  # told at once, not after another wait for a lock
                ask.give(listener.failed(item, self._put_off[memory][1]))
            else:
                listener.hear(item, ask.give, name=name, at=spool.said_at(name))
                self._put_off.pop(memory, None)
                self._learned += 1
                self._last = time.monotonic()
                spool.done(name)
        except FileNotFoundError:
            log(f"{name} was learned already")
        except LaterError as error:
            log(f"{name} is learned later: {error}")
            self._put_off[memory] = time.monotonic() + RETRY_S, str(error)
            if not ask.late:
                ask.give(listener.failed(item, str(error)))
        except Exception as error:  # noqa: BLE001  (an event that fails is kept apart, and the others go on)
            log(f"{name} can never be learned: {error!r}")
            spool.set_aside(name)
        spool.ended()


def serve() -> int:
    """Run the resident in this process, unless one runs already; returns when it is over."""
    try:
        path = places.socket_path()
        held = _lock(path)
        if held is None:
            return 0
        with held:
            line, secret = wire.listen(path)
            resident = Resident(path, line, secret, float(os.environ.get(places.IDLE) or IDLE_S))
            signal.signal(signal.SIGTERM, resident._end)  # noqa: SLF001  (of this module)
            log("resident begins")
            resident.run()
            log("resident ends")
    except Exception as error:  # noqa: BLE001  (nobody reads a traceback of it)
        log(f"no resident: {error!r}")
        return 1
    return 0


def _lock(path: str) -> Any:
    """The lock of the one resident, or ``None`` where another one runs and is of use."""
    fd = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    file = os.fdopen(fd, "r+")
    until = time.monotonic() + TAKEOVER_S
    while time.monotonic() < until:
        try:
            _claim(fd)
        except OSError:
            try:
                if wire.ask(path, {"do": "status"}, 1.0).get("version") == __version__:
                    break
            except OSError:
                pass  # it is on its way out
            time.sleep(0.05)
        else:
            return file
    file.close()
    return None


def _claim(fd: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
