"""A server to stand in front of: it does everything that the protocol has, and hands on what others wrote."""

from __future__ import annotations

import base64
import json
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import anyio
from mcp.server import MCPServer
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.shared.exceptions import MCPError
from mcp_types import (
    AudioContent,
    CallToolResult,
    Completion,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel

warnings.simplefilter("ignore")  # of what newer protocols call deprecated, and clients still use

LARGE = 5_000_000
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n\x00").decode()
server: MCPServer[Any] = MCPServer(
    "everything", title="Everything", instructions="Say please.", version="7.7.7", log_level="CRITICAL"
)
closed, opened = ToolAnnotations(open_world_hint=False, read_only_hint=True), ToolAnnotations(open_world_hint=True)


class Place(BaseModel):
    name: str
    desk: str
    floors: list[int]


class Answer(BaseModel):
    colour: str


async def ask_user() -> Elicit[Answer]:
    return Elicit("Which colour?", Answer)


@server.tool(annotations=closed, title="Where it is", structured_output=True)
def place(name: str) -> Place:
    """Where somebody sits."""
    return Place(name=name, desk=f"{name} sits at the desk by the big window.", floors=[1, 2])


@server.tool(annotations=closed)
def note(text: str) -> str:
    """Says what it is given."""
    return text


@server.tool(annotations=opened)
def fetch(url: str) -> str:
    """What stands on a page."""
    return f"Contents of {url}:\nThe museum opens at nine on Sundays."


@server.tool(annotations=opened)
def list_mail() -> CallToolResult:
    """Mails, as data."""
    mails = [
        {"from": "Couriers <moves@parcels.example>", "body": "Your delivery moved to Friday the third."},
        {"from": "it@office.example", "body": "The printer on the second floor is broken."},
    ]
    return CallToolResult(
        content=[TextContent(type="text", text=json.dumps({"mails": mails}))], structured_content={"mails": mails}
    )


@server.tool()
def unannotated() -> str:
    """Says nothing of where its words come from."""
    return "The cat of the neighbours is called Mog."


@server.tool(annotations=closed)
async def ask(answer: Annotated[ElicitationResult[Answer], Resolve(ask_user)]) -> str:
    """Asks the user."""
    return answer.data.colour if isinstance(answer, AcceptedElicitation) else answer.action


@server.tool(annotations=closed)
async def sample(ctx: Context[Any, Any]) -> str:
    """Asks the client's model."""
    said = await ctx.session.create_message(
        [SamplingMessage(role="user", content=TextContent(type="text", text="Say hi."))], max_tokens=5
    )
    return f"{said.model}: {said.content.text}"


@server.tool(annotations=closed)
async def steps(ctx: Context[Any, Any]) -> str:
    """Tells how far it is."""
    for done in (1, 2, 3):
        await ctx.report_progress(done, 3, f"step {done}")
    await ctx.info({"any": ["shape", 1.5]}, logger_name="of its own")
    await ctx.session.send_tool_list_changed()
    return "done"


@server.tool(annotations=closed)
def fail(how: str) -> str:
    """Fails."""
    if how == "protocol":
        raise MCPError(code=-32042, message="of its own making", data={"detail": [1, 2.5]})
    raise ValueError("The vault code is 1234-5678.")


@server.tool(annotations=closed)
def media() -> list[Any]:
    """Everything but text, and a text that is a resource."""
    key = TextResourceContents(uri="note://1", text="The spare key is under the mat.", mime_type="text/plain")
    return [
        ImageContent(type="image", data=PIXEL, mime_type="image/png"),
        AudioContent(type="audio", data=PIXEL, mime_type="audio/wav"),
        ResourceLink(type="resource_link", uri="file:///x", name="x", description="A link"),
        EmbeddedResource(type="resource", resource=key),
    ]


@server.tool(annotations=closed)
def large() -> CallToolResult:
    """Five megabytes."""
    return CallToolResult(content=[TextContent(type="text", text="lorem " * (LARGE // 6))])


@server.tool(annotations=closed)
async def wait(mark: str) -> str:
    """Takes its time, and leaves a mark where it was called off."""
    try:
        await anyio.sleep(30)
    except anyio.get_cancelled_exc_class():
        Path(mark).write_text("cancelled")
        raise
    return "never"


@server.resource("note://here", title="A note", mime_type="text/markdown", description="Written")
def here() -> str:
    return "# The meeting room is 4B."


@server.resource("bytes://here", mime_type="application/octet-stream")
def some_bytes() -> bytes:
    return b"\x00\xff"


@server.resource("note://of/{whom}")
def of(whom: str) -> str:
    return f"A note of {whom}."


@server.prompt(title="Greet")
def greet(name: str) -> str:
    """Greets."""
    return f"Greet {name}."


@server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
async def complete(ref: object, argument: Any, context: object) -> Completion:
    return Completion(values=[f"{argument.value}sha", f"{argument.value}nna"], total=2, has_more=False)


if __name__ == "__main__":
    sys.exit(server.run("stdio"))
