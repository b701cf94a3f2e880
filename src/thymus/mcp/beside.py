"""Our own tools beside those of a wrapped server, under names that only we answer to."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import secrets
import unicodedata
from typing import TYPE_CHECKING, Any, Final

from thymus.core.provenance import UNPRINTABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thymus.mcp.pipes import Peer

PREFIX: Final = "thymus_"
SCHEME: Final = "thymus:"
"""Of addresses that nobody but us may offer."""
WITHIN_S: Final = 20.0
"""Seconds within which our own server answers what only the proxy asks; after that its tools are left out."""

_log = logging.getLogger("thymus.mcp.proxy")


def pack(message: Mapping[str, Any]) -> bytes:
    """A message as a line. In ASCII, since a name may hold what UTF-8 cannot."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def unpack(line: bytes) -> Any:
    """What a line says; ``None`` where it cannot be read."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def key_of(request_id: object) -> str:
    """What tells ids apart, as far as clients do: many take 1.0 and "1" for the 1 that they asked under."""
    if isinstance(request_id, float) and request_id.is_integer():
        request_id = int(request_id)
    if isinstance(request_id, int) and not isinstance(request_id, bool):
        request_id = str(request_id)
    return json.dumps(request_id)


def is_ours(name: object) -> bool:
    """Whether a name is kept for our own tools and prompts, or comes out as one of them where a host writes it in
    letters, digits and underscores only."""
    if not isinstance(name, str):
        return False
    plain = unicodedata.normalize("NFKC", UNPRINTABLE.sub("", name)).casefold()
    return re.sub(r"[\W_]+", "_", plain).lstrip("_").startswith(PREFIX)


def is_our_address(uri: object) -> bool:
    """Whether an address is of the scheme that is kept for us."""
    return isinstance(uri, str) and UNPRINTABLE.sub("", uri).strip().casefold().startswith(SCHEME)


class Beside:
    """The server whose tools are offered beside the wrapped ones, each with ``PREFIX`` before its name.

    Ids of what it asks the client are made unguessable: a wrapped server cannot have an answer that the user gave to a
    question of its own taken for an answer to ours, nor answer in our name.
    """

    def __init__(self, server: Peer) -> None:
        self._server = server
        self._nonce = f"thymus-{secrets.token_hex(12)}-"
        self._asked: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._asks: dict[str, object] = {}
        self._calls: dict[str, object] = {}
        self._count = 0

    def has_call(self, request_id: object) -> bool:
        """Whether it is at work on a call of the client under this id."""
        return key_of(request_id) in self._calls

    def take(self, request_id: object) -> None:
        """From now on a call under this id is its own to answer."""
        self._calls[key_of(request_id)] = request_id

    def drop(self, request_id: object) -> None:
        """Nobody waits for its answer any more."""
        self._calls.pop(key_of(request_id), None)

    @property
    def unanswered(self) -> list[object]:
        """Ids of the calls that it was to answer and has not."""
        return list(self._calls.values())

    async def call(self, request: Mapping[str, Any]) -> None:
        """Hand on a call of one of its tools.

        :raises ValueError: where it is no request as the protocol has them.
        """
        params = request["params"]
        own = {**params, "name": params["name"].removeprefix(PREFIX)}
        await self._server.send(pack({**request, "params": own}))

    async def notify(self, line: bytes) -> None:
        """Hand on a notification; one that cannot be read is none."""
        with contextlib.suppress(ValueError):
            await self._server.send(line)

    async def reply(self, response: Mapping[str, Any]) -> bool:
        """Hand on what the client answered, where it was asked by this server."""
        asked = response.get("id")
        if not isinstance(asked, str) or asked not in self._asks:
            return False
        with contextlib.suppress(ValueError):
            await self._server.send(pack({**response, "id": self._asks.pop(asked)}))
        return True

    async def ask(self, method: str, params: object) -> dict[str, Any] | None:
        """What it answers to a request that the proxy makes; ``None`` where it does not, or refuses."""
        self._count += 1
        asked = f"{self._nonce}{self._count}"
        answer = self._asked[asked] = asyncio.get_running_loop().create_future()
        request: dict[str, Any] = {"jsonrpc": "2.0", "id": asked, "method": method}
        try:
            await self._server.send(pack(request if params is None else {**request, "params": params}))
            response = await asyncio.wait_for(answer, WITHIN_S)
        except (TimeoutError, ValueError) as error:
            _log.warning("our own tools did not answer %s and are left out: %.300r", method, error)
            return None
        finally:
            del self._asked[asked]
        result = response.get("result")
        if not isinstance(result, dict):
            _log.warning("our own tools refused %s: %.300r", method, response.get("error"))
            return None
        return result

    async def tools(self, params: object) -> dict[str, Any] | None:
        """Its answer to ``tools/list``, with the names under which the tools are offered."""
        answer = await self.ask("tools/list", params)
        if answer is None:
            return None
        return {**answer, "tools": [{**tool, "name": PREFIX + tool["name"]} for tool in answer["tools"]]}

    async def receive(self) -> bytes | None:
        """The next message of it that is for the client."""
        while (line := await self._server.receive()) is not None:
            message = json.loads(line)
            if "method" in message:
                return self._ask_client(message) if "id" in message else line
            if (waiting := self._asked.get(message.get("id"))) is not None:
                if not waiting.done():
                    waiting.set_result(message)
                continue
            self.drop(message.get("id"))
            return line
        return None

    def _ask_client(self, request: dict[str, Any]) -> bytes:
        self._count += 1
        asked = f"{self._nonce}{self._count}"
        self._asks[asked] = request["id"]
        return pack({**request, "id": asked})
