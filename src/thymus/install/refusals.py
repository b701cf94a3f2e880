"""Why a client's configuration is left as it is, and what its owner can put there by hand."""

from __future__ import annotations

from pathlib import Path

from thymus.errors import ThymusError


class InstallError(ThymusError):
    """A configuration cannot be changed, and was not; the message says why and what to do.

    :param path: the file.
    :param snippet: what would have been put there, to be pasted; may be empty.
    """

    def __init__(self, message: str, *, path: Path | None = None, snippet: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.snippet = snippet
