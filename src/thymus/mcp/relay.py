"""Between a client and a wrapped server: every message passes as it was sent, and what tools answered is noted.

A message is changed in three places only: our tools are added to the list of tools, servers without tools are said to
have some, and names that begin with ``thymus_`` are ours alone. A wrapped server's tools, prompts and addresses of such
names are left out of every list, and what is asked under them never reaches it, listed or not. So whatever the protocol
has and will have (asking the user, sampling, progress, cancellation, subscriptions, tasks, either era) works as without
us.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from thymus.mcp.beside import Beside, is_our_address, is_ours, key_of, pack, unpack
from thymus.mcp.watching import HELLO, LISTS, Request, Seen, Watch

if TYPE_CHECKING:
    from thymus.mcp.pipes import Peer

FLUSH_S: Final = 2.0
"""Seconds in which a server may still answer after its client is gone."""
_METHOD_NOT_FOUND: Final = -32601
_INVALID_PARAMS: Final = -32602
_INTERNAL_ERROR: Final = -32603
_ENDED: Final = "the memory beside this server has ended"

_log = logging.getLogger("thymus.mcp.proxy")


class Relay:
    """One client, one wrapped server, and our own tools beside it.

    :param note: called with what passed, after it has; it must not block.
    :param settled: awaited before a call of ours: what passed before it has then entered the conversation.
    """

    def __init__(
        self,
        client: Peer,
        wrapped: Peer,
        beside: Beside | None,
        *,
        note: Callable[[Seen], None],
        settled: Callable[[], Awaitable[None]],
    ) -> None:
        self._client, self._wrapped, self._beside = client, wrapped, beside
        self._note, self._settled = note, settled
        self._watch = Watch()
        self._has_tools = True
        self._ours: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Relay until either side is gone."""
        upstream = asyncio.ensure_future(self._from_client())
        downstream = asyncio.ensure_future(self._from_wrapped())
        ours = asyncio.ensure_future(self._from_beside())
        try:
            await asyncio.wait({upstream, downstream}, return_when=asyncio.FIRST_COMPLETED)
            if upstream.done():
                self._wrapped.hang_up()
                await asyncio.wait({downstream}, timeout=FLUSH_S)
            for done in (upstream, downstream):
                if done.done():
                    done.result()
        finally:
            tasks = (upstream, downstream, ours, *self._ours.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # From the client

    async def _from_client(self) -> None:
        while (line := await self._client.receive()) is not None:
            message = unpack(line)
            if isinstance(message, list):
                await self._on_batch(message, line)
            elif not isinstance(message, dict):
                await self._wrapped.send(line)
            elif "method" in message and "id" in message:
                await self._on_request(message, line)
            elif "method" in message:
                await self._on_notification(message, line)
            elif self._beside is None or not await self._beside.reply(message):
                await self._wrapped.send(line)

    async def _on_batch(self, batch: list[Any], line: bytes) -> None:
        """Several messages at once; those that are for us are taken out, and answered one by one."""
        theirs = [one for one in batch if not _asks_for_ours(one)]
        for one in theirs:
            self._watch.await_answer(one)
        if len(theirs) == len(batch):
            await self._wrapped.send(line)
            return
        for one in batch:
            if _asks_for_ours(one) and "id" in one:
                await self._on_request(one, pack(one))
        if theirs:
            await self._wrapped.send(_pack_all(theirs))

    async def _on_request(self, request: dict[str, Any], line: bytes) -> None:
        ours = _asks_for_ours(request)
        if ours and (self._beside is None or request["method"] != "tools/call"):
            why = (
                _ENDED if self._beside is None else "names that begin with thymus_ are kept for the memory's own tools"
            )
            await self._answer_error(request["id"], _INVALID_PARAMS, why)
            return
        if self._beside is None or not (ours or self._lists_only_ours(request)):
            self._watch.await_answer(request)
            await self._wrapped.send(line)
            return
        work = self._call_ours(self._beside, request) if ours else self._list_ours(self._beside, request)
        key = key_of(request["id"])
        self._beside.take(request["id"])
        self._ours[key] = asyncio.ensure_future(work)  # messages go on passing meanwhile
        self._ours[key].add_done_callback(lambda _: self._ours.pop(key, None))

    def _lists_only_ours(self, request: Mapping[str, Any]) -> bool:
        return request["method"] == "tools/list" and not self._has_tools

    async def _call_ours(self, beside: Beside, request: dict[str, Any]) -> None:
        await self._settled()
        try:
            await beside.call(request)
        except ValueError:
            await self._refuse(beside, request["id"], _INVALID_PARAMS, "this is not a call as the protocol has them")

    async def _list_ours(self, beside: Beside, request: dict[str, Any]) -> None:
        ours = await beside.tools(request.get("params"))
        beside.drop(request["id"])
        await self._client.send(pack({"jsonrpc": "2.0", "id": request["id"], "result": ours or {"tools": []}}))

    async def _refuse(self, beside: Beside, request_id: object, code: int, why: str) -> None:
        beside.drop(request_id)
        await self._answer_error(request_id, code, why)

    async def _answer_error(self, request_id: object, code: int, why: str) -> None:
        await self._client.send(pack({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": why}}))

    async def _on_notification(self, notification: dict[str, Any], line: bytes) -> None:
        method, params = notification["method"], notification.get("params")
        if method == "notifications/cancelled" and isinstance(params, dict):
            cancelled = params.get("requestId")
            key = key_of(cancelled)
            if self._beside is not None and self._beside.has_call(cancelled):
                if key in self._ours:
                    self._ours[key].cancel()
                self._beside.drop(cancelled)
                await self._beside.notify(line)
                return
            self._watch.take(cancelled)
        elif method == "notifications/initialized" and self._beside is not None:
            await self._beside.notify(line)
        await self._wrapped.send(line)

    # To the client

    async def _from_beside(self) -> None:
        """Our tools must not be able to break the wrapped ones: where they end, the rest goes on."""
        if (beside := self._beside) is None:
            return
        try:
            while (line := await beside.receive()) is not None:
                await self._client.send(line)
        except Exception:  # noqa: BLE001
            _log.warning("our own tools failed: they are left out from now on", exc_info=True)
        self._beside = None
        for request_id in beside.unanswered:
            await self._refuse(beside, request_id, _INTERNAL_ERROR, _ENDED)

    async def _from_wrapped(self) -> None:
        while (line := await self._wrapped.receive()) is not None:
            message = unpack(line)
            seen: list[Seen] = []
            if message is None:  # what is not read here, and may be by the client, would be nobody's
                _log.warning("the wrapped server sent a line that is no message: it was dropped")
                continue
            if self._usurps(message):
                _log.warning("the wrapped server answered a call that it was not asked: its answer was dropped")
                continue
            if _is_answer(message):
                request = self._watch.take(message["id"])
                if request is not None:
                    line = await self._changed(request, message) or line
                    seen = self._watch.seen(request, message)
            elif isinstance(message, list):
                kept = []
                for one in message:
                    request = self._watch.take(one.get("id")) if isinstance(one, dict) else None
                    seen += self._watch.seen(request, one) if request else ()
                    kept.append(_theirs(request, one) if request else one)
                if any(one is not came for one, came in zip(kept, message, strict=True)):
                    line = _pack_all(kept)
            for one in seen:  # before the client has it, which may be gone or ask on in the next moment
                self._note(one)
            await self._client.send(line)

    def _usurps(self, message: Any) -> bool:
        """Whether it answers a call of ours, by itself or among others."""
        beside = self._beside
        every = message if isinstance(message, list) else [message]
        return beside is not None and any(_is_answer(one) and beside.has_call(one["id"]) for one in every)

    async def _changed(self, request: Request, response: dict[str, Any]) -> bytes | None:
        """The line in the place of the one that came, where it must be another one."""
        kept = _theirs(request, response)
        result = kept.get("result")
        changed = None
        if self._beside is not None and request.method in HELLO and isinstance(result, dict):
            changed = await self._with_tools(self._beside, request, kept, result)
        elif self._beside is not None and request.method == "tools/list" and not request.params.get("cursor"):
            changed = await self._with_ours(self._beside, request, kept, result)
        return changed or (None if kept is response else pack(kept))

    async def _with_tools(
        self, beside: Beside, request: Request, response: dict[str, Any], result: dict[str, Any]
    ) -> bytes | None:
        if request.method == "initialize":
            asked = {**request.params, "protocolVersion": result.get("protocolVersion")}
            if await beside.ask("initialize", asked) is None:
                self._beside = None
                return None
        has = result.get("capabilities")
        self._has_tools = not isinstance(has, dict) or "tools" in has
        if self._has_tools:
            return None
        return pack({**response, "result": {**result, "capabilities": {**(has or {}), "tools": {}}}})

    async def _with_ours(
        self, beside: Beside, request: Request, response: dict[str, Any], result: object
    ) -> bytes | None:
        error = response.get("error")
        if isinstance(error, dict) and error.get("code") == _METHOD_NOT_FOUND:
            ours = await beside.tools(dict(request.params))
            return None if ours is None else pack({"jsonrpc": "2.0", "id": response["id"], "result": ours})
        if not isinstance(result, dict) or not isinstance(result.get("tools"), list):
            return None
        ours = await beside.tools(dict(request.params))
        if ours is None:
            return None
        return pack({**response, "result": {**result, "tools": [*result["tools"], *ours["tools"]]}})


def _asks_for_ours(message: Any) -> bool:
    """Whether it asks for something under a name or address that is ours alone."""
    if not isinstance(message, dict) or not isinstance(params := message.get("params"), dict):
        return False
    if message.get("method") in ("tools/call", "prompts/get"):
        return is_ours(params.get("name"))
    if message.get("method") == "completion/complete" and isinstance(ref := params.get("ref"), dict):
        return is_ours(ref.get("name")) or is_our_address(ref.get("uri"))
    return str(message.get("method")).startswith("resources/") and is_our_address(params.get("uri"))


def _theirs(request: Request, response: dict[str, Any]) -> dict[str, Any]:
    """The response to what lists something, without what goes by a name or address that is ours alone."""
    result, field = response.get("result"), LISTS.get(request.method)
    listed = result.get(field) if isinstance(result, dict) and field else None
    if not isinstance(result, dict) or not field or not isinstance(listed, list):
        return response
    kept = [one for one in listed if not (isinstance(one, dict) and _poses(field, one))]
    if len(kept) == len(listed):
        return response
    _log.warning("the wrapped server has %s named as ours are: they are left out", field)
    return {**response, "result": {**result, field: kept}}


def _poses(field: str, one: Mapping[str, Any]) -> bool:
    if field in ("tools", "prompts"):
        return is_ours(one.get("name"))
    return is_our_address(one.get("uri")) or is_our_address(one.get("uriTemplate"))


def _pack_all(messages: list[Any]) -> bytes:
    return json.dumps(messages, separators=(",", ":")).encode("ascii") + b"\n"


def _is_answer(message: Any) -> bool:
    """Whether a client could take it for one: some do whatever else stands in it."""
    if not isinstance(message, dict) or "id" not in message:
        return False
    return "method" not in message or "result" in message or "error" in message
