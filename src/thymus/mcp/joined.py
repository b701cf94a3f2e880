"""Several wrapped servers as one: one list of all their tools, and each call to the server that it is for.

They are spoken to in the protocol's handshake era, which those of either era understand: a client that offers the later
one first falls back, as it does for any server of before. Names of tools and prompts get their server's name in front
(``memory_read_graph``); addresses of resources stay.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from thymus._version import __version__
from thymus.mcp.beside import key_of, pack, unpack

if TYPE_CHECKING:
    from thymus.mcp.pipes import Peer

WITHIN_S: Final = 30.0
"""Seconds in which each server answers a request that is made to all; one that does not is left out of the answer."""
MOST_PAGES: Final = 200
_METHOD_NOT_FOUND: Final = -32601
_INVALID_PARAMS: Final = -32602
_INTERNAL_ERROR: Final = -32603
_LISTS: Final = {
    "tools/list": ("tools", "tools"),
    "prompts/list": ("prompts", "prompts"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("resourceTemplates", "resources"),
}
"""Methods that list something, with the field of their answer and the capability of a server that has some."""
_KEPT: Final = ("tools", "prompts", "resources", "completions", "logging")
"""Capabilities that survive: tasks and extensions say more of a single server than can be said of several."""

_log = logging.getLogger("thymus.mcp.proxy")


class _Member:
    """One of the servers."""

    def __init__(self, name: str, peer: Peer) -> None:
        self.name, self.peer = name, peer
        self.prefix = f"{name}_"
        self.has: Mapping[str, Any] = {}
        self.gone = False
        self.waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}

    async def ask(self, method: str, params: object) -> dict[str, Any]:
        """Its response, or an error in the place of one that does not come."""
        if self.gone:
            return self.gone_error()
        asked = f"joined-{secrets.token_hex(8)}"
        answer = self.waiting[asked] = asyncio.get_running_loop().create_future()
        request: dict[str, Any] = {"jsonrpc": "2.0", "id": asked, "method": method}
        try:
            await self.peer.send(pack(request if params is None else {**request, "params": params}))
            return await asyncio.wait_for(answer, WITHIN_S)
        except (TimeoutError, ValueError) as error:
            return {
                "error": {"code": _INTERNAL_ERROR, "message": f"{self.name} did not answer: {type(error).__name__}"}
            }
        finally:
            del self.waiting[asked]

    def give_up(self) -> None:
        """It ended: nothing that was asked of it will be answered."""
        self.gone, self.has = True, {}
        for answer in self.waiting.values():
            if not answer.done():
                answer.set_result(self.gone_error())

    def gone_error(self) -> dict[str, Any]:
        """What is answered in its place."""
        return {"error": {"code": _INTERNAL_ERROR, "message": f"the server {self.name} has ended"}}


class Joined:
    """Several servers behind one face.

    :param peers: by the names that their tools get in front.
    """

    def __init__(self, peers: Mapping[str, Peer]) -> None:
        self._members = [_Member(name, peer) for name, peer in peers.items()]
        self._out: asyncio.Queue[bytes | None] = asyncio.Queue(16)
        self._asked_of: dict[str, tuple[_Member, object]] = {}
        self._asks: dict[str, tuple[_Member, object]] = {}
        self._home: dict[str, _Member] = {}
        self._nonce = secrets.token_hex(8)
        self._tasks = {asyncio.ensure_future(self._listen(member)) for member in self._members}
        self._left = len(self._members)

    async def receive(self) -> bytes | None:
        """The next message of any of them, or of all."""
        return await self._out.get()

    def hang_up(self) -> None:
        """Tell all of them that nothing more will come."""
        for member in self._members:
            member.peer.hang_up()

    async def send(self, line: bytes) -> None:
        """A message of the client, to whom it is for."""
        message = unpack(line)
        if not isinstance(message, dict):
            return
        if "method" in message and "id" in message:
            self._spawn(self._answer(message))
        elif "method" in message:
            await self._on_notification(message, line)
        elif (asked := self._asks.pop(str(message.get("id")), None)) is not None:
            member, own_id = asked
            await member.peer.send(pack({**message, "id": own_id}))

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _on_notification(self, message: dict[str, Any], line: bytes) -> None:
        params = message.get("params")
        if message["method"] == "notifications/cancelled" and isinstance(params, dict):
            asked = self._asked_of.pop(key_of(params.get("requestId")), None)
            if asked is not None:
                await asked[0].peer.send(line)
            return
        for member in self._members:
            await member.peer.send(line)

    # Answering the client

    async def _answer(self, request: dict[str, Any]) -> None:
        method = request["method"]
        given = request.get("params")
        params: dict[str, Any] = given if isinstance(given, dict) else {}
        answer: dict[str, Any]
        if method == "initialize":
            answer = await self._initialize(params)
        elif method == "ping":
            answer = {"result": {}}
        elif method in _LISTS:
            answer = {"result": await self._list(method, params)}
        elif method == "logging/setLevel":
            await asyncio.gather(*(one.ask(method, params) for one in self._having("logging")))
            answer = {"result": {}}
        elif method in ("tools/call", "prompts/get"):
            return await self._pass_by_name(request, params)
        elif method == "completion/complete" and isinstance(ref := params.get("ref"), dict) and "name" in ref:
            return await self._pass_by_name(request, params, ref)
        elif method in ("resources/read", "resources/subscribe", "resources/unsubscribe", "completion/complete"):
            answer = await self._by_address(method, params)
        else:
            answer = {"error": {"code": _METHOD_NOT_FOUND, "message": f"several servers at once have no {method}"}}
        answer = {key: answer[key] for key in ("result", "error") if key in answer}
        await self._out.put(pack({"jsonrpc": "2.0", "id": request["id"], **answer}))
        return None

    async def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        answers = await asyncio.gather(*(member.ask("initialize", params) for member in self._members))
        results = []
        for member, answer in zip(self._members, answers, strict=True):
            if isinstance(result := answer.get("result"), dict):
                member.has = result.get("capabilities") or {}
                results.append((member, result))
            else:
                _log.warning("the server %r did not start up and is left out: %.300r", member.name, answer.get("error"))
        if not results:
            return answers[0]
        told = [f"{one.name}: {result['instructions']}" for one, result in results if result.get("instructions")]
        merged: dict[str, Any] = {
            "protocolVersion": min(str(result.get("protocolVersion")) for _, result in results),
            "capabilities": {key: _merged(key, [one.has for one, _ in results]) for key in _KEPT if self._having(key)},
            "serverInfo": {"name": ", ".join(one.name for one, _ in results), "version": __version__},
        }
        return {"result": {**merged, "instructions": "\n\n".join(told)} if told else merged}

    def _having(self, capability: str) -> list[_Member]:
        return [member for member in self._members if capability in member.has]

    async def _list(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        what, capability = _LISTS[method]
        members = self._having(capability)
        lists = await asyncio.gather(*(self._all_of(member, method, what, params) for member in members))
        return {what: [item for items in lists for item in items]}

    async def _all_of(self, member: _Member, method: str, what: str, params: dict[str, Any]) -> list[Any]:
        """All pages of a list, with the server's name before what is called by name."""
        found: list[Any] = []
        asked: dict[str, Any] = {key: value for key, value in params.items() if key != "cursor"}
        for _ in range(MOST_PAGES):
            answer = (await member.ask(method, asked)).get("result")
            items = answer.get(what) if isinstance(answer, dict) else None
            if not isinstance(answer, dict) or not isinstance(items, list):
                break
            found += [item for item in items if isinstance(item, dict)]
            if not answer.get("nextCursor"):
                break
            asked = {**asked, "cursor": answer["nextCursor"]}
        for item in found if what == "resources" else ():
            self._home.setdefault(str(item.get("uri")), member)
        if what in ("tools", "prompts"):
            return [{**item, "name": f"{member.prefix}{item.get('name')}"} for item in found]
        return found

    async def _pass_by_name(
        self, request: dict[str, Any], params: dict[str, Any], ref: dict[str, Any] | None = None
    ) -> None:
        """Hand a request on to the server that its name begins with, which then answers it itself."""
        name = str((ref or params).get("name"))
        member = next((one for one in self._members if name.startswith(one.prefix)), None)
        if member is None or member.gone:
            error = {"error": {"code": _INVALID_PARAMS, "message": f"no server has what is called {name[:200]!r}"}}
            failed = member.gone_error() if member else error
            await self._out.put(pack({"jsonrpc": "2.0", "id": request["id"], **failed}))
            return
        own = name.removeprefix(member.prefix)
        changed = {**params, "name": own} if ref is None else {**params, "ref": {**ref, "name": own}}
        self._asked_of[key_of(request["id"])] = (member, request["id"])
        await member.peer.send(pack({**request, "params": changed}))

    async def _by_address(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask the server that has a resource; where it is not known which, one after the other."""
        ref = params.get("ref")
        uri = str(ref.get("uri") if isinstance(ref, dict) else params.get("uri"))
        home = self._home.get(uri)
        answer: dict[str, Any] = {"error": {"code": _INVALID_PARAMS, "message": "no server has resources"}}
        for member in [home] if home else self._having("resources"):
            answer = await member.ask(method, params)
            if "result" in answer:
                break
        return answer

    # Listening to the servers

    async def _listen(self, member: _Member) -> None:
        try:
            while (line := await member.peer.receive()) is not None:
                await self._hear(member, line)
        except Exception as error:  # noqa: BLE001  (one server must not end the others)
            _log.warning("the server %r failed: %s", member.name, type(error).__name__)
        await self._give_up(member)

    async def _give_up(self, member: _Member) -> None:
        member.give_up()
        for key, (asked, request_id) in list(self._asked_of.items()):
            if asked is member:
                del self._asked_of[key]
                await self._out.put(pack({"jsonrpc": "2.0", "id": request_id, **member.gone_error()}))
        self._left -= 1
        if not self._left:
            await self._out.put(None)

    async def _hear(self, member: _Member, line: bytes) -> None:
        message = unpack(line)
        if not isinstance(message, dict):
            return
        if "method" in message and "id" in message:
            asked = f"{self._nonce}-{member.name}-{key_of(message['id'])}"
            self._asks[asked] = (member, message["id"])
            await self._out.put(pack({**message, "id": asked}))
        elif "method" in message:
            await self._out.put(line)
        elif (answer := member.waiting.get(str(message.get("id")))) is not None:
            if not answer.done():
                answer.set_result(message)
        elif self._asked_of.get(key := key_of(message.get("id")), (None, None))[0] is member:
            del self._asked_of[key]
            await self._out.put(line)


def _merged(key: str, capabilities: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A capability of several: what any of them can, with every flag that one of them has."""
    merged: dict[str, Any] = {}
    for has in capabilities:
        given = has.get(key)
        for flag, value in given.items() if isinstance(given, dict) else ():
            merged[flag] = merged.get(flag) or value
    return merged
