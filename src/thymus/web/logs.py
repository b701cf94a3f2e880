"""Logs as lines of JSON on stderr. Never a message's text: an exception is told by its kind and where it arose.

What other packages log is told by where they logged it: what they say may quote what a client sent.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Final

FIELDS: Final = "thymus"
"""The attribute of a record with fields of its own."""
_SPEAK: Final = ("thymus", "uvicorn")
"""Loggers whose words are known to hold no text of anybody's."""
_LONGEST: Final = 1_000
_DEEPEST: Final = 8


class JsonLines(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "from": record.name,
            "process": record.process,
        }
        if record.name.partition(".")[0] in _SPEAK:
            line["message"] = record.getMessage()[:_LONGEST]
        else:
            line["where"] = f"{record.module}:{record.lineno}"
        line |= getattr(record, FIELDS, {})
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            frames = traceback.extract_tb(record.exc_info[2])[-_DEEPEST:]
            line["trace"] = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
        return json.dumps(line)


def log_to_stderr(*, debug: bool = False) -> None:
    """Have all logging of this process go to stderr, as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in _SPEAK:
        log = logging.getLogger(name)
        log.handlers, log.propagate = [], True
        log.setLevel(logging.DEBUG if debug else logging.INFO)
