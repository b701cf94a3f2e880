"""What went wrong, as a client is told: problem details (RFC 9457), with the remedy and without anybody's text."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from fastapi.responses import JSONResponse

from thymus.errors import (
    ConfigError,
    InputError,
    MemoryNotFoundError,
    SourceError,
    StaleVersionError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    ThymusError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

MEDIA_TYPE: Final = "application/problem+json"
_NO_MEMORY: Final = "No memory of this user has that id."


class Problem(Exception):  # noqa: N818  (RFC 9457's word)
    """An answer other than the one that was asked for."""

    def __init__(self, status: int, title: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail, self.headers = status, title, detail, dict(headers or {})

    @classmethod
    def of(cls, error: ThymusError) -> Problem:
        """What an error of the library is over HTTP. One for an id of another user is the same as for none."""
        if isinstance(error, MemoryNotFoundError):
            return cls(404, "No such memory", _NO_MEMORY)
        if isinstance(error, StoreLockedError):
            return cls(503, "Busy", "The store is locked by another writer: try again.", {"retry-after": "1"})
        if isinstance(error, StoreFullError):
            return cls(507, "Full", "The disk of the store is full: nothing was written.")
        if isinstance(error, StaleVersionError):
            return cls(409, "Changed meanwhile", "Others wrote at the same time: try again.")
        if isinstance(error, StoreError):
            return cls(
                503,
                "No store",
                "The store cannot be used now. Try again: what was learned of a message before is not learned twice.",
                {"retry-after": "5"},
            )
        if isinstance(error, (InputError, SourceError, ConfigError)):
            return cls(422, "Not usable", str(error))
        return cls.failed()

    @classmethod
    def failed(cls) -> Problem:
        """Where the service itself is at fault. What failed is told to nobody but the log."""
        return cls(500, "Failed", "The service failed. Its log says where.")

    def response(self) -> JSONResponse:
        """It as an answer."""
        headers = self.headers | ({"www-authenticate": "Bearer"} if self.status == HTTPStatus.UNAUTHORIZED else {})
        return JSONResponse(self.to_dict(), self.status, headers, MEDIA_TYPE)

    def to_dict(self) -> dict[str, Any]:
        """Its fields (RFC 9457, section 3)."""
        detail = self.detail.encode("utf-8", "replace").decode("utf-8")  # which a lone surrogate of a client's is not
        return {"type": "about:blank", "title": self.title, "status": self.status, "detail": detail}
