"""A proxy as a program, without models; a host that answers what servers ask; and everything that a server can do."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitResult,
    PromptReference,
    TextContent,
)
from pydantic import BaseModel

from mcp import Client, StdioServerParameters
from thymus import MemoryGuard
from thymus.core.disclose import Memory

ERAS = ("auto", "legacy")
HERE = Path(__file__).parent
EVERYTHING = (sys.executable, str(HERE / "proxy_server.py"))
OURS = {f"thymus_{name}" for name in ("remember", "recall", "inbox", "resolve", "history", "forget", "sources")}


def open_guard(db: Path | str) -> MemoryGuard:
    return MemoryGuard(db, embedder="hash", judge="typed")


def proxied(db: Path, *command: str, config: Path | None = None, name: str | None = None) -> StdioServerParameters:
    """The command of a proxy in front of a command, or of a configuration."""
    given = json.dumps({"db": str(db), "command": command, "config": config and str(config), "name": name})
    return StdioServerParameters(command=sys.executable, args=[__file__, given])


def plain(*command: str) -> StdioServerParameters:
    return StdioServerParameters(command=command[0], args=list(command[1:]))


@dataclass
class Host:
    """A client's host: what it was asked, told and shown."""

    log: list[Any] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    progress: list[Any] = field(default_factory=list)
    answer: dict[str, Any] = field(default_factory=lambda: {"colour": "green"})

    def connect(self, server: StdioServerParameters | str, era: str) -> Client:
        return Client(
            server,
            mode=era,
            elicitation_callback=self.elicit,
            sampling_callback=self.sample,
            logging_callback=self.on_log,
            message_handler=self.on_message,
            cache=None,
            read_timeout_seconds=30,
        )

    async def elicit(self, context: object, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.log.append((params.message, params.requested_schema))
        return ElicitResult(action="accept", content=self.answer)

    async def sample(self, context: object, params: Any) -> CreateMessageResult:
        self.log.append(dump(params))
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="hi"), model="m")

    async def on_log(self, params: Any) -> None:
        self.log.append(dump(params))

    async def on_message(self, message: Any) -> None:
        self.messages.append(type(message).__name__)

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))


def dump(model: BaseModel) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


async def tried(work: Callable[[], Any]) -> Any:
    """What comes of it, or the error as a client sees it."""
    try:
        return dump(await work())
    except MCPError as error:
        return dump(error.error)


async def use_everything(client: Client, host: Host) -> dict[str, Any]:
    """Everything that the server can do, by what was done; the same for whoever stands between."""
    done: dict[str, Any] = {
        "info": dump(client.server_info) if client.server_info else None,
        "instructions": client.instructions,
        "capabilities": dump(client.server_capabilities),
        "version": client.protocol_version,
    }

    async def call(tool: str, **arguments: Any) -> None:
        done[tool] = await tried(lambda: client.call_tool(tool, arguments, progress_callback=host.on_progress))

    tools = dump(await client.list_tools())
    done["ours"] = sorted(tool["name"] for tool in tools["tools"] if tool["name"] in OURS)
    tools["tools"] = [tool for tool in tools["tools"] if tool["name"] not in OURS]
    done["tools"] = json.dumps(tools)
    await call("place", name="Asha")
    await call("note", text="The café’s Wi-Fi is called “Möwe” \u202e\x00 1️⃣.")
    await call("fetch", url="https://www.museum.example/hours?x=1")
    await call("list_mail")
    await call("unannotated")
    await call("ask")
    await call("sample")
    await call("steps")
    await call("fail", how="protocol")
    done["of a protocol error"] = done.pop("fail")
    await call("fail", how="inside")
    await call("nobody")
    await call("place")
    await call("media")
    await call("large")
    done["resources"] = dump(await client.list_resources())
    done["templates"] = dump(await client.list_resource_templates())
    for uri in ("note://here", "bytes://here", "note://of/asha", "note://none"):
        done[uri] = await tried(lambda uri=uri: client.read_resource(uri))  # type: ignore[misc]
    done["prompts"] = dump(await client.list_prompts())
    done["prompt"] = await tried(lambda: client.get_prompt("greet", {"name": "Asha"}))
    done["completion"] = await tried(
        lambda: client.complete(PromptReference(type="ref/prompt", name="greet"), {"name": "name", "value": "A"})
    )
    if client.protocol_version < "2026":
        done["ping"] = await tried(client.send_ping)
        done["level"] = await tried(lambda: client.set_logging_level("error"))
    done["log"], done["messages"], done["progress"] = host.log, sorted(host.messages), host.progress
    return done


async def call_off(client: Client, tool: str, mark: Path) -> str:
    """Call something that takes long, and call it off; what the server says of that."""
    with anyio.move_on_after(0.5):
        await client.call_tool(tool, {"mark": str(mark)})
    with anyio.move_on_after(5):
        while not mark.exists():
            await anyio.sleep(0.02)
    return mark.read_text() if mark.exists() else "it went on"


def learned(db: Path) -> list[Memory]:
    with open_guard(db) as guard:
        return guard.memories(status=None)


def by_source(db: Path) -> dict[str, list[tuple[str, list[str]]]]:
    """What was learned: by its source's name, each text with the names of what it is derived from."""
    found: dict[str, list[tuple[str, list[str]]]] = {}
    for memory in reversed(learned(db)):
        found.setdefault(memory.source.key, []).append((memory.text, [one.key for one in memory.lineage]))
    return found


def main() -> int:
    from thymus.mcp import proxy

    logging.basicConfig(format="%(message)s")
    given = json.loads(sys.argv[1])
    with open_guard(given["db"]) as guard:
        return proxy.run(guard, given["command"], config=given["config"], name=given["name"])


if __name__ == "__main__":
    sys.exit(main())
