"""A relay between a client and a wrapped server, both played by a test, with our own beside it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

from thymus.mcp.beside import Beside
from thymus.mcp.relay import Relay
from thymus.mcp.watching import Seen


class Wire:
    """One side of the relay, which a test plays."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.got: asyncio.Queue[bytes] = asyncio.Queue()

    async def receive(self) -> bytes | None:
        return await self.said.get()

    async def send(self, line: bytes) -> None:
        await self.got.put(line)

    def hang_up(self) -> None:
        self.said.put_nowait(None)

    def says(self, message: Any) -> None:
        self.said.put_nowait(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    async def hears(self) -> Any:
        return json.loads(await asyncio.wait_for(self.got.get(), 2))


def request(number: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def answer(number: Any, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result}


class Table:
    """A client, a wrapped server, and our own, with a relay between them."""

    def __init__(self) -> None:
        self.client, self.wrapped, self.ours = Wire(), Wire(), Wire()
        self.seen: list[Seen] = []

    async def settled(self) -> None:
        await asyncio.sleep(0)

    async def list_tools(self, *theirs: Any, more: str | None = None) -> list[str]:
        self.client.says(request("l", "tools/list"))
        assert (await self.wrapped.hears())["method"] == "tools/list"
        self.wrapped.says(answer("l", tools=[*theirs], **({"nextCursor": more} if more else {})))
        asked = await self.ours.hears()
        self.ours.says(answer(asked["id"], tools=[{"name": "recall"}, {"name": "remember"}]))
        return [tool["name"] for tool in (await self.client.hears())["result"]["tools"]]


def at_table(work: Callable[[Table], Coroutine[Any, Any, None]]) -> Table:
    table = Table()

    async def sit() -> None:
        relay = Relay(table.client, table.wrapped, Beside(table.ours), note=table.seen.append, settled=table.settled)
        running = asyncio.ensure_future(relay.run())
        await work(table)
        table.client.hang_up()
        await asyncio.wait_for(running, 5)

    asyncio.run(sit())
    return table
