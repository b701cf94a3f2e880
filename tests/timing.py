"""How long something takes on a machine that does other things too."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def cpu_seconds(work: Callable[[], object], *, enough: float = 0.0, tries: int = 5) -> float:
    """The least CPU time of some tries, of this process alone; no more tries once it is below `enough`.

    Whatever else the machine does, and the garbage of the tests before, only ever adds to a time: the least is the
    nearest to what the work itself costs. What truly grows as the square is slow in every try.
    """
    collects = gc.isenabled()
    least = float("inf")
    for _ in range(tries):
        gc.disable()
        try:
            began = time.process_time()
            work()
            least = min(least, time.process_time() - began)
        finally:
            if collects:
                gc.enable()
        if least < enough:
            break
    return least
