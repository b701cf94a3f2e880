"""What an event of Claude Code means: whose words came in, under which name, and what is only read.

Pure. The fields are those of Claude Code 2.1, recorded from the program itself (tests/hooks/recorded.jsonl). Unknown
events, tools and fields are no error: a tool that is not listed here is read and not learned from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from thymus.core.provenance import UNPRINTABLE
from thymus.results import hands_on

LONGEST_LEARNED: Final = 20_000
"""Characters of a result that are learned from; the rest is read only. What is longer is rarely a statement."""
LONGEST_SHELL: Final = 4_000
LONGEST_READ: Final = 200_000
"""Characters of a result that are remembered, in a session, as what the assistant has seen."""
MOST_ORIGINS: Final = 20
_PROSE: Final = frozenset(
    ["md", "markdown", "txt", "text", "rst", "adoc", "org", "eml", "mbox", "html", "htm", "ics", "vcf"]
)
_OWN_SERVERS: Final = frozenset({"thymus", "thymus-memory", "thymus_memory"})
_DEEPEST: Final = 20
_LONGEST_HOST: Final = 253

PART: Final = 500
"""Characters that are learned from at once: about a tenth of a second, in which a prompt waits."""

MEMORY_ID: Final = re.compile(r"\bm_[0-9a-f]{16}\b")
SCHEDULERS: Final = frozenset({"CronCreate", "ScheduleWakeup"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a tool brought.

    :param source: ``tool:claude-code/<tool>`` or ``mcp:<server>/<tool>``.
    :param origins: whose words they were before: a page, a file.
    :param learn: how many characters of it are learned from; all of it was seen by the assistant.
    :param result: what an MCP tool returned, as its protocol has it: ``thymus.results`` tells whose words are in it.
    :param open_world: whether that tool hands on what anybody wrote.
    :param own: whether the tool is called like one of Thymus: what it shows is known, if it is one.
    """

    text: str
    source: str
    origins: tuple[str, ...] = ()
    learn: int = 0
    result: Mapping[str, Any] | None = None
    open_world: bool = False
    own: bool = False


def text_of(value: object, key: str) -> str:
    """A field that is text, or ""."""
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else ""


def heard(event: Mapping[str, Any]) -> Heard | None:
    """What a PostToolUse or PostToolUseFailure brought in; ``None`` where that is nothing, or the assistant's own."""
    tool, given, answer = text_of(event, "tool_name"), event.get("tool_input"), event.get("tool_response")
    if event.get("hook_event_name") == "PostToolUseFailure":
        told = Heard(text=text_of(event, "error"), source=source_of(tool))
    elif _own(tool):
        shown = dict.fromkeys(MEMORY_ID.findall(json.dumps(answer)))  # as fields that are no words, too
        told = Heard(text="\n".join((_words(_unpacked(answer)), *shown)), source=source_of(tool), own=True)
    elif tool.startswith("mcp__"):
        result = _result(answer)
        open_world = hands_on(tool.removeprefix("mcp__"))
        source = source_of(tool)
        told = Heard(text=_words(result), source=source, learn=LONGEST_LEARNED, result=result, open_world=open_world)
    else:
        told = _built_in(tool, given, answer)
    return told if told.text.strip() else None


def source_of(tool: str) -> str:
    """The name of a tool as a source. Two underscores part server and tool; a name may hold single ones."""
    if tool.startswith("mcp__"):
        server, _, name = tool.removeprefix("mcp__").partition("__")
        return f"mcp:{_named(server)}/{_named(name)}"
    return f"tool:claude-code/{_named(tool)}"


def _named(name: str) -> str:
    return "".join(UNPRINTABLE.sub("", name).split())[:200] or "unnamed"


def _own(tool: str) -> bool:
    """Whether it is called like a tool of Thymus: what such a one returned is remembered already."""
    server = tool.removeprefix("mcp__").partition("__")[0].lower() if tool.startswith("mcp__") else ""
    return server in _OWN_SERVERS or server.startswith("plugin_thymus_")


def _built_in(tool: str, given: object, answer: object) -> Heard:
    source = source_of(tool)
    if tool == "WebFetch":
        return _fetched(source, given, answer)
    if tool == "WebSearch":
        return _searched(source, answer)
    if tool == "Read":
        return _read(source, given, answer)
    if tool == "Bash":
        out = "\n".join(filter(None, (text_of(answer, "stdout"), text_of(answer, "stderr"))))
        return Heard(text=out, source=source, learn=LONGEST_SHELL if len(out) <= LONGEST_SHELL else 0)
    if tool == "ReadMcpResourceTool":
        origin = f"mcp:{_named(text_of(given, 'server'))}"
        return Heard(text=_words(answer), source=source, origins=(origin,), learn=LONGEST_LEARNED)
    if tool in ("Grep", "NotebookRead", "BashOutput", "TaskOutput"):
        return Heard(text=_words(answer), source=source)
    return Heard(text="", source=source)  # what the assistant wrote, planned or asked for


def _fetched(source: str, given: object, answer: object) -> Heard:
    """The page's origin has the word, not the tool. A redirect has two."""
    origins = tuple(dict.fromkeys(filter(None, map(origin_of, (text_of(given, "url"), text_of(answer, "url"))))))
    return Heard(text=text_of(answer, "result"), source=source, origins=origins or ("web",), learn=LONGEST_LEARNED)


def _searched(source: str, answer: object) -> Heard:
    """A search answers with links, and with a text that was made from them all. Titles are seen, and state nothing."""
    results = answer.get("results") if isinstance(answer, Mapping) else None
    told: list[str] = []
    origins: dict[str, None] = {}
    for result in results if isinstance(results, list) else ():
        if isinstance(result, str):
            told.append(result)
        for hit in _hits(result):
            origins[origin_of(text_of(hit, "url"))] = None
    found = tuple(origin for origin in origins if origin)[:MOST_ORIGINS]
    return Heard(text="\n\n".join(told), source=source, origins=found or ("web",), learn=LONGEST_LEARNED)


def _hits(result: object) -> Iterator[object]:
    content = result.get("content") if isinstance(result, Mapping) else None
    yield from content if isinstance(content, list) else ()


def origin_of(url: str) -> str:
    """``web:<host>`` of a URL, or "" where it has none, or one with signs that nobody sees."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return (
        f"web:{host}"
        if 0 < len(host) <= _LONGEST_HOST and not UNPRINTABLE.search(host) and host.split() == [host]
        else ""
    )


def _read(source: str, given: object, answer: object) -> Heard:
    """A file says what whoever wrote it says. Code states nothing about the world; prose may."""
    file = answer.get("file") if isinstance(answer, Mapping) else None
    path = text_of(file, "filePath") or text_of(given, "file_path")
    prose = path.rpartition(".")[2].lower() in _PROSE
    return Heard(
        text=text_of(file, "content"),
        source=source,
        origins=(f"file:{_named(path)[-900:]}",),
        learn=LONGEST_LEARNED if prose else 0,
    )


def _result(answer: object) -> Mapping[str, Any]:
    """What an MCP tool returned in the form of its protocol. Claude Code hands on the structured part alone, or else
    the content."""
    value = _unpacked(answer)
    if isinstance(value, str):
        return {"content": [{"type": "text", "text": value}]}
    if isinstance(value, Mapping) and isinstance(value.get("content"), list):
        return value
    blocks = isinstance(value, list) and all(isinstance(one, Mapping) and "type" in one for one in value)
    return {"content": value} if blocks else {"structuredContent": value}


def _unpacked(answer: object) -> object:
    """Servers with structured output have it handed on as JSON in a string."""
    if isinstance(answer, str) and answer[:1] in "{[":
        try:
            return json.loads(answer)
        except (ValueError, RecursionError):
            return answer
    return answer


def _words(answer: object) -> str:
    return "\n".join(said for said in _strings(answer, "", _DEEPEST) if said.strip())


_SILENT: Final = frozenset({"type", "mimeType", "data", "uri", "id", "mode"})


def _strings(value: object, key: str, deep: int) -> Iterator[str]:
    """Every text in it; a field with a telling name keeps the name, for "10:30" alone states nothing."""
    if isinstance(value, str):
        plain = key in ("", "text", "content", "result") or len(value) > 200
        yield value if plain else f"{key}: {value}"
    elif isinstance(value, Mapping) and deep:
        for name, inner in value.items():
            if name not in _SILENT:
                yield from _strings(inner, str(name)[:80], deep - 1)
    elif isinstance(value, list) and deep:
        for inner in value:
            yield from _strings(inner, key, deep - 1)


def scheduled(event: Mapping[str, Any]) -> tuple[str, ...]:
    """The prompts that the assistant has scheduled: they come back as prompts, and nobody typed them."""
    if event.get("tool_name") in SCHEDULERS:
        return tuple(filter(None, (text_of(event.get("tool_input"), "prompt"),)))
    crons = event.get("session_crons")
    return tuple(filter(None, (text_of(cron, "prompt") for cron in (crons if isinstance(crons, list) else ()))))


def in_parts(text: str) -> Iterator[str]:
    """A long text in parts of at most ``PART`` characters, parted where a paragraph, a line or a word ends."""
    at = 0
    while at < len(text):
        until = at + PART
        if until < len(text):
            ends = (text.rfind(mark, at + 1, until) for mark in ("\n\n", "\n", ". ", " "))
            until = next((end + 1 for end in ends if end > at), until)
        yield text[at:until]
        at = until
