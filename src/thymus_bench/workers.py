"""Worker processes: each opens once what it works with, and what they find comes back as it comes."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from typing import Any, TypeVar

from thymus import ThymusError

Plan = TypeVar("Plan")
Parts = TypeVar("Parts")
Task = TypeVar("Task")
Result = TypeVar("Result")


def spread(
    lanes: Iterable[tuple[Sequence[Task], int]],
    work: Callable[[Parts, Task], Result],
    *,
    opened: Callable[[Plan], Parts],
    plan: Plan,
    refusal: type[ThymusError],
    lost: str,
) -> Iterator[Result]:
    """Do every task, and yield what comes of each when it is done.

    Functions, plan and tasks go to other processes: they must be picklable.

    :param lanes: tasks, and how many processes share them; a lane without a task costs nothing.
    :param opened: gives each process what it works with, from the plan.
    :param lost: what to say where a process dies.
    :raises ThymusError: a ``refusal``, where a process dies or ``opened`` raises a ``ThymusError``.
    """
    waiting: set[Future[Result]] = set()
    with ExitStack() as stack:
        for tasks, workers in lanes:
            if not tasks:
                continue
            pool = ProcessPoolExecutor(
                min(workers, len(tasks)),
                mp_context=multiprocessing.get_context("spawn"),  # the models' threads would not survive a fork
                initializer=_open,
                initargs=(opened, plan),
            )
            stack.callback(pool.shutdown, wait=False, cancel_futures=True)
            waiting |= {pool.submit(_work, work, refusal, task) for task in tasks}
        try:
            while waiting:
                ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in ready)
        except BrokenProcessPool:
            raise refusal(lost) from None


_PARTS: list[Any] = []
"""Of this process."""
_UNOPENED: list[str] = []
"""Why there are none: a worker that cannot begin breaks the pool, and with it the reason is lost."""


def _open(opened: Callable[[Plan], Any], plan: Plan) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops us
    try:
        _PARTS[:] = [opened(plan)]
    except ThymusError as error:
        _UNOPENED.append(str(error))


def _work(work: Callable[[Any, Task], Result], refusal: type[ThymusError], task: Task) -> Result:
    if _UNOPENED:
        raise refusal(_UNOPENED[0])
    return work(_PARTS[0], task)
