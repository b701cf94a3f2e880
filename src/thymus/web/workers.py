"""Several processes that do the same work, for as long as the one that started them."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from thymus.errors import ConfigError
from thymus.web.logs import FIELDS

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_ENDING: Final = (signal.SIGINT, signal.SIGTERM)
_LOOK_EVERY_S: Final = 0.1
_log = logging.getLogger("thymus.web")


class Workers:
    """Starts workers, replaces one that dies, and has all of them end on SIGTERM or SIGINT.

    :param work: called in each of them, with what tells that it serves and with ``args``; all of it is sent there.
    :param closing_s: that a worker has to end.
    """

    def __init__(self, number: int, work: Callable[..., None], *args: Any, closing_s: float) -> None:
        self._number, self._work, self._args, self._closing_s = number, work, args, closing_s
        self._spawn = multiprocessing.get_context("spawn")
        self._running: list[tuple[BaseProcess, Connection]] = []
        self._asked = threading.Event()
        self._serving = 0

    def run(self, ready: Callable[[], None]) -> None:
        """Until a signal says to end.

        :param ready: called when all of them serve.
        :raises ConfigError: one could not start.
        """
        before = {number: signal.signal(number, lambda *_: self._asked.set()) for number in _ENDING}
        try:
            for _ in range(self._number):
                self._start()
            while not self._asked.wait(_LOOK_EVERY_S):
                for worker, told in list(self._running):
                    self._listen(told, ready)
                    if worker.exitcode is not None:
                        self._replace(worker, told)
        finally:
            self._end()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _start(self) -> None:
        mine, its = self._spawn.Pipe(duplex=False)
        worker = self._spawn.Process(target=_begin, args=(self._work, its, self._args))
        worker.start()
        its.close()
        self._running.append((worker, mine))

    def _listen(self, told: Connection, ready: Callable[[], None]) -> None:
        with suppress(EOFError, OSError):  # of one that died nothing more comes
            if self._serving < self._number and told.poll() and told.recv():
                self._serving += 1
                if self._serving == self._number:
                    ready()

    def _replace(self, worker: BaseProcess, told: Connection) -> None:
        if self._serving < self._number:
            raise ConfigError("a worker could not start: the lines above say why")
        _log.error("a worker died and is replaced", extra={FIELDS: {"exit": worker.exitcode}})
        self._running.remove((worker, told))
        told.close()
        self._start()

    def _end(self) -> None:
        for worker, _ in self._running:
            worker.terminate()
        for worker, told in self._running:
            worker.join(self._closing_s)
            worker.kill()
            worker.join()
            told.close()


def _begin(work: Callable[..., None], told: Connection, args: tuple[Any, ...]) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()
    work(lambda: told.send(True), *args)


def _end_after(parent: BaseProcess) -> None:
    """Nobody would end a worker whose parent was killed."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
