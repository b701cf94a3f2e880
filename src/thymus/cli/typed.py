"""Commands for the user to type, as they work for the memory that was asked."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from thymus.core.quoting import one_line

if TYPE_CHECKING:
    from thymus.cli.frame import Session

_PASSWORD: Final = re.compile(r"(://[^:/@]*):[^/]*@")
_HIDDEN: Final = r"\1:***@"


def typed(chosen: Session, words: str) -> str:
    """``thymus WORDS``, with ``--user`` and ``--db`` where this call named others than would be taken without them.

    A password in a URL is not repeated: the command is shown, and may be logged.
    """
    given, usual = chosen.settings(), replace(chosen, user=None, db=None).settings()
    options = [
        f"--{option} {shlex.quote(_PASSWORD.sub(_HIDDEN, one_line(value)))}"
        for option, value, other in (("user", given.user, usual.user), ("db", given.db, usual.db))
        if value != other
    ]
    return " ".join([f"thymus {words}", *options])
