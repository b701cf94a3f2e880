"""What a long act shows while it runs: a bar on stderr, for whoever is there to see it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


LINE_EVERY: Final = 5.0
"""Seconds between lines of progress where there is no terminal to draw a bar on."""


def now_and_then(line: Callable[[], str]) -> Callable[[], None]:
    """A step that says on stderr how far it is, unless it has just done so."""
    last = time.monotonic()

    def step() -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_EVERY:
            last = time.monotonic()
            print(line(), file=sys.stderr, flush=True)

    return step


class Bar:
    """A bar at a terminal, and nothing elsewhere. It appears with the first step.

    :param what: what is counted, in the plural.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def __call__(self, done: int, of: int) -> None:
        """Show how far it is."""
        if not sys.stderr.isatty():
            return
        if self._progress is None:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            from thymus.cli import screen

            self._progress = Progress(
                TextColumn(self._what),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=screen.open_screen(stderr=True),
                transient=True,
            )
            self._progress.start()
            self._task = self._progress.add_task("")
        if self._task is not None:
            self._progress.update(self._task, completed=done, total=of)

    def clear(self) -> None:
        """Take it off the screen, before something is asked."""
        progress, self._progress, self._task = self._progress, None, None
        if progress is not None:
            progress.stop()
